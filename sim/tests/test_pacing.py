# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Rate limits of RAW_PACKET QPs: when the frames of hcasim-pacing leave, in simulated time."""
from collections import defaultdict

import pytest
from scapy.utils import PcapReader

from conftest import BUILD, Machine

FRAMES = 40
LIMITED, UNLIMITED, FASTER, REMOVED, BURSTS = range(5)
MS = 1_000_000  # ns: a frame of the program at its first rate
NEAR = MS // 50  # from when a frame may leave to its first bit: WQE and payload are read then


@pytest.fixture(scope="module")
def times(tmp_path_factory):
    """The times of the frames of each step of the program, in nanoseconds."""
    folder = tmp_path_factory.mktemp("pacing")
    result = Machine(options=["--trace", str(folder)]).run(BUILD / "bin/hcasim-pacing")
    assert result.status == 0, result.output
    found = defaultdict(list)
    with PcapReader(str(folder / "wire.pcap")) as reader:
        for packet in reader:
            data = bytes(packet)
            if data[12:14] == b"\x88\xb5":
                found[data[14]].append(int(packet.time * 1_000_000_000))
    assert {step: len(of_step) for step, of_step in found.items()} == dict.fromkeys(range(5), FRAMES)
    return found


def gaps(of_step):
    return [later - earlier for earlier, later in zip(of_step, of_step[1:])]


@pytest.mark.once
def test_frames_leave_at_the_rate(times):
    assert gaps(times[LIMITED]) == pytest.approx([MS] * (FRAMES - 1), abs=NEAR)
    assert times[LIMITED][-1] - times[LIMITED][0] == pytest.approx((FRAMES - 1) * MS, abs=NEAR)


def test_another_queue_is_not_held_up(times):
    assert times[UNLIMITED][-1] - times[UNLIMITED][0] < MS


def test_another_rate(times):
    assert gaps(times[FASTER]) == pytest.approx([MS / 4] * (FRAMES - 1), abs=NEAR)


def test_no_rate(times):
    assert times[REMOVED][-1] - times[REMOVED][0] < MS / 4


def test_bursts(times):
    assert times[BURSTS][9] - times[BURSTS][0] < MS
    assert gaps(times[BURSTS][10:]) == pytest.approx([MS] * (FRAMES - 11), abs=NEAR)
    # The full bucket pays for ten frames.
    assert times[BURSTS][-1] - times[BURSTS][0] == pytest.approx((FRAMES - 10) * MS, abs=NEAR)
