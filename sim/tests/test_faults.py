# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""--fault and --seed: the n-th frame has the same fault in every run, regardless of its content."""
import json
from collections import defaultdict

import pytest
from scapy.utils import PcapReader

from conftest import BUILD, Machine
from test_pingpong import pingpong

FAULTS = "loss=0.01,dup=0.05,reorder=0.05,corrupt=0.01"
OUI = b"\x02hca"  # followed by the adapter's number plus 1


def fates(folder):
    """For each frame, in the order of sending, the faults that --fault injected."""
    met, out = defaultdict(list), []
    with open(folder / "fault.log") as log:
        for entry in map(json.loads, log):
            met[entry["ps"] // 1000, int(entry["from"].removeprefix("hcasim"))].append(entry["what"])
    with PcapReader(str(folder / "wire.pcap")) as reader:
        for packet in reader:
            raw = bytes(packet)
            assert raw[6:10] == OUI
            sender = int.from_bytes(raw[10:12], "big") - 1
            out.append(met.pop((round(packet.time * 10**9), sender), []))
    assert not met
    return out


@pytest.fixture(name="run")
def _run(tmp_path, gid_index):
    """The faults of a pingpong with messages of `size` bytes."""

    def run(name, seed, size):
        options = ["--trace", str(tmp_path / name), "--fault", FAULTS, "--seed", str(seed)]
        pingpong(Machine(hcas=2, options=options), "rc", gid_index, size, "-c", iterations=100)
        return fates(tmp_path / name)

    return run


def test_the_nth_frame_meets_the_same_fate(run):
    """With other messages and at other times, which also depend on the host's load."""
    one, other, seeded = run("one", 5, 10000), run("other", 5, 6000), run("seeded", 6, 6000)
    common = min(len(one), len(other), len(seeded))
    assert common > 1000
    assert {kind for fate in one for kind in fate} == {"loss", "dup", "reorder", "corrupt"}
    assert one[:common] == other[:common]
    assert one[:common] != seeded[:common]


FAMILIES = ["native", "mlx5", "rxe"]
READS = ["read_ur", "read_poison", "read_lost", "read_late"]


def faulty(op, faults, family="native", engine="c", rounds=25):
    """Work requests that succeeded, and that ended with an error; each of them did one or the other."""
    options = ["--fault", faults, "--set", "pcie.completion_timeout=50", "--engine", engine]
    if family != "native":
        options += ["--device", family]
    result = Machine(hcas=2, options=options).run(BUILD / "bin/hcasim-faulty", op, rounds)
    assert result.status == 0, result.output
    good, bad = map(int, result.output.split()[-2:])
    assert good + bad == 8 * rounds
    return good, bad


@pytest.mark.cover(1)
@pytest.mark.parametrize("op", ["write", "send"])
@pytest.mark.parametrize("kind", READS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_read_that_fails_ends_in_a_completion(family, kind, op):
    """Only the connection whose read it was is in error: new ones work, and what succeeded is right, on any family."""
    good, bad = faulty(op, f"{kind}=0.01", family)
    assert good > 20 and bad > 5, (good, bad)


@pytest.mark.cover(1)
@pytest.mark.parametrize("op", ["write", "send"])
@pytest.mark.parametrize("kind", READS)
def test_the_same_with_the_rtl_engine(kind, op):
    good, bad = faulty(op, f"{kind}=0.01", engine="rtl")
    assert good > 20 and bad > 5, (good, bad)


@pytest.mark.cover(1)
@pytest.mark.parametrize("op", ["write", "send"])
@pytest.mark.parametrize("family, engine", [("native", "c"), ("native", "rtl"), ("mlx5", "c")])
def test_poisoned_stores_lose_nothing(family, engine, op):
    """The adapter does not use them; what they announced is in the records of the queues."""
    assert faulty(op, "store_poison=0.2", family, engine)[1] == 0


def test_all_stores_and_loads_are_bad():
    assert faulty("send", "store_poison=1,load_ur=1")[1] == 0


def test_loads_that_are_refused_stop_nobody():
    machine = Machine(hcas=2, options=["--fault", "load_ur=1"])
    assert machine.run(BUILD / "bin/hcasim-bench", "write", 64, 1, 500).status == 0
