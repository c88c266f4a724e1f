# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Scheduling elements and packet pacing of mlx5dv: when the packets of hcasim-sched leave, in simulated time."""
import re
from collections import defaultdict

import pytest
from scapy.utils import PcapReader

from conftest import BUILD, Machine

FRAMES = 40
LEAF, LEAF_TOO, UNLIMITED, PACED = range(4)
MS = 1_000_000  # ns: a frame of a queue with a limit
NEAR = MS // 50  # from when a frame may leave to its first bit: WQE and payload are read then
NODE = 400_000_000  # bit/s
PACKET = 4096


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Times in nanoseconds and lengths: of each kind of raw frames, and of packets by their destination."""
    folder = tmp_path_factory.mktemp("sched")
    options = ["--device", "mlx5", "--clock", "virtual", "--trace", str(folder)]
    result = Machine(hcas=2, options=options).run(BUILD / "bin/hcasim-sched")
    assert result.status == 0, result.output
    frames, packets = defaultdict(list), defaultdict(list)
    with PcapReader(str(folder / "wire.pcap")) as reader:
        for packet in reader:
            data, at = bytes(packet), int(packet.time * 1_000_000_000)
            if data[12:14] == b"\x88\xb5":
                frames[data[14]].append(at)
            elif len(data) > PACKET:
                bth = 14 + (20 if data[12:14] == b"\x08\x00" else 40) + 8
                packets[int.from_bytes(data[bth + 5 : bth + 8], "big")].append((at, len(data)))
    assert {kind: len(times) for kind, times in frames.items()} == dict.fromkeys(range(4), FRAMES)
    numbers = {
        word: list(map(int, re.findall(rf"{word} (\d+)", result.output))) for word in ("share", "read")
    }
    return frames, packets, numbers


def gaps(times):
    return [later - earlier for earlier, later in zip(times, times[1:])]


def rate(packets):
    """Bits per second between the first packet and the last."""
    return sum(length for _, length in packets[1:]) * 8e9 / (packets[-1][0] - packets[0][0])


@pytest.mark.once
def test_two_queues_of_a_leaf_have_its_rate_together(run):
    both = sorted(run[0][LEAF] + run[0][LEAF_TOO])
    # A leaf that was idle begins with two frames.
    assert gaps(both[1:]) == pytest.approx([MS] * (2 * FRAMES - 2), abs=NEAR)
    middle = both[len(both) // 2]
    assert sum(at < middle for at in run[0][LEAF_TOO]) == pytest.approx(FRAMES / 2, abs=2)


def test_other_queues_are_not_held_up(run):
    assert run[0][UNLIMITED][-1] - run[0][UNLIMITED][0] < MS


def test_an_index_of_packet_pacing_is_a_rate(run):
    assert gaps(run[0][PACED]) == pytest.approx([MS] * (FRAMES - 1), abs=NEAR)


def test_leaves_share_what_their_node_may_send(run):
    _, packets, numbers = run
    small, great = (packets[number] for number in numbers["share"])
    assert len(small) == len(great) == 256
    # While both send, after the node's first limit.
    start, end = great[4][0], great[-1][0]
    both = sorted(p for p in small + great if start <= p[0] <= end)
    assert sum(start <= at <= end for at, _ in small) * 3 == pytest.approx(len(great) - 4, rel=0.03)
    assert rate(both) == pytest.approx(NODE, rel=0.02)
    # The rest has all of it.
    assert rate([p for p in small if p[0] > end]) == pytest.approx(NODE, rel=0.02)


def test_responses_have_a_leaf_of_their_own(run):
    _, packets, numbers = run
    answers = packets[numbers["read"][0]]
    assert len(answers) == 16
    assert rate(answers[1:]) == pytest.approx(NODE, rel=0.02)
