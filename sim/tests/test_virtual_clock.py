# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim run --clock virtual: what a program does takes the same simulated time on an idle and on a loaded host."""
import collections
import contextlib
import json
import re
import subprocess

import pytest

from conftest import BUILD, Machine, free_port
from host_load import load

PROGRAM = BUILD / "bin/hcasim-virtual-clock"
# Where the host puts memory is its own choice; where in a page is not. The data of a WQE names such places.
ADDRESSES = re.compile(r'"(data|raw|remote_addr|addr)":"[^"]*?([0-9a-f]{0,3})"')


def machine(folder, *options):
    return Machine(2, options=["--clock", "virtual", "--trace", str(folder), *options])


def events(folder):
    """What the adapters did, and when, without where the host's memory is."""
    found = {}
    for name in ("tlp.log", "wqe.log", "cqe.log", "events.log"):
        text = (folder / name).read_text()
        found[name] = ADDRESSES.sub(r'"\1":"\2"', text).splitlines()
    return found


def assert_same(first, second):
    one, other = events(first), events(second)
    for name, lines in one.items():
        assert lines, name
        for a, b in zip(lines, other[name]):
            assert a == b, name
        assert len(lines) == len(other[name]), name


def last(folder):
    """When the last event of a run was, in picoseconds."""
    return json.loads((folder / "cqe.log").read_text().splitlines()[-1])["ps"]


@pytest.mark.once
@pytest.mark.parametrize(
    "arguments",
    [
        [],
        pytest.param(["threads"], marks=pytest.mark.night),
        ["shared"],
        pytest.param(["compute"], marks=pytest.mark.night),
    ],
    ids=["one", "four", "shared", "compute"],
)
def test_threads(tmp_path, arguments):
    for name in ("idle", "again", "loaded"):
        with load() if name == "loaded" else contextlib.nullcontext():
            result = machine(tmp_path / name).run(PROGRAM, *arguments)
        assert result.status == 0, result.output
    assert_same(tmp_path / "idle", tmp_path / "again")
    assert_same(tmp_path / "idle", tmp_path / "loaded")


def pushes(folder, figure):
    """Sizes of the TLPs of BlueFlame pushes of four threads on one QP, and when the last completion came."""
    result = machine(folder, "--set", f"root.shared_line={figure}").run(
        BUILD / "bin/hcasim-mt-post", "shared"
    )
    assert result.status == 0, result.output
    sizes = collections.Counter()
    for tlp in map(json.loads, (folder / "tlp.log").read_text().splitlines()):
        if tlp["type"] == "MWr" and tlp["dir"] == "down" and tlp["bar"] == 2:
            if int(tlp["addr"], 16) % 4096 >= 0x800:
                sizes[tlp["len"]] += 1
    return sizes, last(folder)


def test_a_processor_that_stalls_holds_its_thread(tmp_path):
    """A thread leaves the lock behind its push when the stores are done: each push stays one TLP."""
    runs = {figure: pushes(tmp_path / str(figure), figure) for figure in (0, 100, 200)}
    for sizes, _ in runs.values():
        assert sizes == {64: 2000}, runs
    assert runs[0][1] < runs[100][1] < runs[200][1], runs


# Room for 12 work requests of one packet between the CPU and a wire on which each takes 12 us, of 64 that are posted.
NARROW = ["wire.rate=0.1", "wire.tx_buffer=1", "fifo.tx=1", "fifo.gather=1", "fifo.doorbell=1"]
NARROW += ["fifo.doorbell_waits=1", "pcie.store_headers=1", "root.store_queue=1", "root.wc_buffers=1"]


def burst(folder, posted):
    """Picoseconds that 64 posts take on a slow wire, and for which causes the adapter and its CPU stalled how long."""
    sets = [word for figure in [*NARROW, f"fifo.posted={posted}"] for word in ("--set", figure)]
    result = machine(folder, *sets).run(PROGRAM, "burst")
    assert result.status == 0, result.output
    stat = subprocess.run(
        [BUILD / "bin/hcasim", "stat", "--json", folder], capture_output=True, text=True, check=True
    )
    stalls = collections.defaultdict(int)
    for row in json.loads(stat.stdout)["adapters"]["hcasim0"]["stalls"]:
        stalls[row["where"], row["cause"]] = row["ps"]
    return int(result.output.split()[-1]), stalls


def test_a_slow_wire_stalls_the_processor(tmp_path):
    """Frames wait for the wire, doorbells for the pipeline, stores for the doorbells, the program for its stores."""
    free, few = burst(tmp_path / "free", 0)
    held, stalls = burst(tmp_path / "held", 2)
    frame = 148 * 8 * 10_000  # 64 B of payload, with all headers, on 100 Mb/s
    assert few["packetise", "gather_fifo"] > 40 * frame and not few["doorbell", "posted"], few
    assert few["cpu", "store_queue"] < 20 * frame and free < 20 * frame, (few, free)
    assert 50 * frame < held < 64 * frame, held
    for cause in [("doorbell", "posted"), ("store", "store_credits"), ("cpu", "store_queue")]:
        assert stalls[cause] > 40 * frame, stalls


def test_lost_frames(tmp_path):
    """Retransmission timers are due while the program only polls: they take simulated time, and none of the host's."""
    for name in ("one", "other"):
        result = machine(tmp_path / name, "--fault", "loss=0.05").run(PROGRAM)
        assert result.status == 0, result.output
    assert_same(tmp_path / "one", tmp_path / "other")
    assert (tmp_path / "one/fault.log").read_text().count('"loss"') > 2
    assert last(tmp_path / "one") > 100_000_000_000


def completions(folder):
    """When which completions came: without PSNs, which pingpong draws by the time of day."""
    lines = (folder / "cqe.log").read_text().splitlines()
    return [{key: value for key, value in json.loads(line).items() if key != "raw"} for line in lines]


@pytest.mark.parametrize("flags", [[], ["-e"]], ids=["poll", "events"])
def test_two_processes(tmp_path, flags, gid_index):
    for name in ("idle", "loaded"):
        m = machine(tmp_path / name)
        common = [m.bin / "ibv_rc_pingpong", "-p", free_port(), "-g", gid_index, "-n", 50, *flags]
        with load() if name == "loaded" else contextlib.nullcontext():
            m.run_pair([*common, "-d", "hcasim0"], [*common, "-d", "hcasim1", "localhost"])
    assert len(completions(tmp_path / "idle")) == 200
    assert completions(tmp_path / "idle") == completions(tmp_path / "loaded")


def test_a_program_that_looks_at_memory(tmp_path):
    """ib_write_lat never polls for what it waits for. Time passes for it, and it ends."""
    m = machine(tmp_path)
    common = ["/usr/bin/ib_write_lat", "-F", "-p", free_port(), "-n", 20]
    m.run_pair([*common, "-d", "hcasim0"], [*common, "-d", "hcasim1", "localhost"])


COSTS = {"wqe": 100, "store_wc": 1, "poll_empty": 1, "poll_found": 50}  # ns


def rounds(folder, **costs):
    """Of each WRITE: from the completion before it to its first store; from there to its completion, in ps."""
    options = [word for key, value in (COSTS | costs).items() for word in ("--set", f"cpu.{key}={value}")]
    result = machine(folder, *options).run(PROGRAM, "ping_pong")
    assert result.status == 0, result.output
    done = [entry["ps"] for entry in completions(folder)]
    tlps = map(json.loads, (folder / "tlp.log").read_text().splitlines())
    stores = [tlp["ps"] for tlp in tlps if tlp["type"] == "MWr" and tlp["dir"] == "down"]
    first = [next(store for store in stores if store > before) for before in [0, *done[:-1]]]
    return [b - a for a, b in zip(done, first[1:])], [b - a for a, b in zip(first, done)]


@pytest.mark.parametrize("figure, times", [("wqe", 1), ("store_wc", 8), ("poll_found", 1)])
def test_a_figure_of_the_processor_moves_the_next_store(tmp_path, figure, times):
    """For each WQE, each of the eight stores of its BlueFlame copy, each completion; and nothing else."""
    before, latency = rounds(tmp_path / "one")
    later, same = rounds(tmp_path / "other", **{figure: 2 * COSTS[figure]})
    assert later == [gap + 1000 * COSTS[figure] * times for gap in before]
    assert same == latency and len(before) == 39


def test_polls_are_so_far_apart(tmp_path):
    """Between two first stores are as many polls as the completion took."""
    for poll in (500, 1000):
        gaps, latency = rounds(tmp_path / str(poll), wqe=0, store_wc=0, poll_found=0, poll_empty=poll)
        steps = [gap + wait for gap, wait in zip(gaps, latency)]
        assert all(step % (1000 * poll) == 0 for step in steps), steps
        assert len(set(steps)) > 1, steps  # longer messages take more polls


def test_a_record_replays(tmp_path):
    record = tmp_path / "f.rec"
    result = Machine(2, options=["--clock", "virtual", "--record", str(record)]).run(PROGRAM)
    assert result.status == 0, result.output
    replay = subprocess.run(
        [BUILD / "bin/hcasim", "replay", record], capture_output=True, text=True, check=False
    )
    assert replay.returncode == 0, replay.stderr
