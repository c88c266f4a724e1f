# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim timeline, wave and stat: views of traced runs, against arithmetic on the logs and as other tools read them."""
import json
import shutil
import subprocess
from collections import defaultdict

import pytest

from conftest import BUILD, Machine
from test_perftest import perftest
from test_pingpong import pingpong

HCASIM = BUILD / "bin/hcasim"
WRITES = ["store", "doorbell", "fetch", "decode", "packetise", "gather", "tx", "sent", "rx"]


def hcasim(*args):
    return subprocess.run([HCASIM, *map(str, args)], capture_output=True, text=True, check=False)


def log(folder, name):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def events(folder, kind):
    return [record for record in log(folder, "events.log") if record["event"] == kind]


def totals(records, *keys):
    """{values of keys: picoseconds}"""
    table = defaultdict(int)
    for record in records:
        table[tuple(record[key] for key in keys)] += record["end"] - record["ps"]
    return table


# Stages whose steps overlap, and a root port with room for one store.
NARROW = ["pcie.store_headers=1", "root.store_queue=1", "fifo.doorbell=1", "fifo.doorbell_waits=1"]
NARROW += ["engine.stages.rx.fixed=300", "engine.stages.rx.interval=3", "engine.stages.rx.units=4"]
NARROW += ["engine.stages.packetise.fixed=200", "engine.stages.packetise.interval=2"]


@pytest.fixture(scope="module", params=["rc", "ib_read_bw", "lossy", "narrow"])
def trace(request, tmp_path_factory, gid_index):
    folder = tmp_path_factory.mktemp(request.param)
    faults = ["--fault", "loss=0.05", "--seed", "3"] if request.param == "lossy" else []
    sets = [word for figure in NARROW for word in ("--set", figure)] if request.param == "narrow" else []
    machine = Machine(hcas=2, options=["--trace", str(folder), *faults, *sets])
    if request.param in ("ib_read_bw", "narrow"):
        perftest("ib_read_bw", "-n", 20, "-s", 16384, machine=machine)
    else:
        pingpong(machine, "rc", gid_index, 10000, "-c", iterations=20)
    return folder


@pytest.fixture(scope="module")
def stat(trace):
    result = hcasim("stat", "--json", trace)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def timeline(trace):
    result = hcasim("timeline", trace, "-o", trace / "t.json")
    assert result.returncode == 0, result.stderr
    return json.loads((trace / "t.json").read_text())["traceEvents"]


# ---- stat ----


def test_busy_times_are_sums_of_the_steps(trace, stat):
    steps = totals(events(trace, "step"), "hca", "stage")
    wire = totals(events(trace, "sent"), "hca")
    spans = stat["time"]["active_ps"]
    for hca, entry in stat["adapters"].items():
        for stage, row in entry["stages"].items():
            assert row["busy_ps"] == steps[hca, stage], (hca, stage)
            assert row["utilisation"] == pytest.approx(row["busy_ps"] / spans) and row["utilisation"] <= 1
        assert entry["wire"]["busy_ps"] == wire[(hca,)]
        assert sum(entry["wire"]["count"] for entry in stat["adapters"].values()) == len(
            events(trace, "sent")
        )


def cqe_arrivals(trace):
    """[(CQE, arrival of its TLP)]: both logs have the order of each adapter."""
    written = defaultdict(list)
    for tlp in log(trace, "tlp.log"):
        if tlp.get("class") == "cqe":
            written[tlp["hca"]].append(tlp)
    return [(cqe, written[cqe["hca"]].pop(0)["arrival"]) for cqe in log(trace, "cqe.log")]


def pushes(trace):
    """When the TLP left with which each work request was whole in the adapter: a push may take several."""
    times, sizes, open_at = [], defaultdict(list), {}
    for wqe in log(trace, "wqe.log"):
        sizes[wqe["hca"]].append(len(wqe["raw"]) // 2)
    for tlp in log(trace, "tlp.log"):
        hca, offset = tlp["hca"], int(tlp["addr"], 16) % 4096
        if tlp["dir"] != "down" or tlp["type"] != "MWr" or not 0x800 <= offset < 0xA00:
            continue
        if offset % 0x100 == 0:
            open_at[hca] = sizes[hca].pop(0)
        if hca in open_at and offset % 0x100 + tlp["len"] >= open_at[hca]:
            times.append(tlp["ps"])
            del open_at[hca]
    return times


def torn(trace):
    """Doorbells without a store: a program that lost the processor within a push, which the adapter does not wait for."""
    return [e for e in events(trace, "step") if e["stage"] == "doorbell" and "store" not in e]


def test_latencies_are_those_of_the_tlps(trace, stat):
    """With a store for each work request the sum of latencies is the difference of two sums."""
    ends = [arrival for cqe, arrival in cqe_arrivals(trace) if cqe["op"] == "REQ"]
    works = stat["operations"].values()
    assert sum(row["count"] for row in works) == len(log(trace, "wqe.log"))
    assert bool(torn(trace)) == any(row["measured"] < row["count"] for row in works)
    if torn(trace) or trace.name.startswith("ib_read_bw"):  # several work requests share a doorbell
        return
    stores = pushes(trace)
    assert len(ends) == len(stores) == sum(row["measured"] for row in works)
    total = sum(row["mean_ps"] * row["measured"] for row in works)
    assert total == pytest.approx(sum(ends) - sum(stores), abs=1)


def test_the_largest_latency_is_one_of_the_trace(trace, stat):
    ends = {arrival for _, arrival in cqe_arrivals(trace)}
    stores = [tlp["ps"] for tlp in log(trace, "tlp.log") if tlp["dir"] == "down"]
    for row in stat["operations"].values():
        assert row["p50_ps"] <= row["p99_ps"] <= row["max_ps"]
        assert any(store + row["max_ps"] in ends for store in stores)


def test_levels(trace, stat):
    """Each queue is empty and each credit is back at the end."""
    for hca, entry in stat["adapters"].items():
        changes = [r for r in events(trace, "change") if r["hca"] == hca]
        for name in {r["name"] for r in changes}:
            assert sum(r["by"] for r in changes if r["name"] == name) == 0
            assert entry["levels"][name]["max"] == entry["levels"][name]["limit"]
            assert 0 <= entry["levels"][name]["min"] < entry["levels"][name]["max"]
        for name in {r["name"] for r in events(trace, "level") if r["hca"] == hca}:
            last = [r for r in events(trace, "level") if r["hca"] == hca and r["name"] == name][-1]
            assert last["value"] == 0 or name == "rx_fifo"
            assert entry["levels"][name]["max"] <= (entry["levels"][name]["limit"] or 1 << 32)


def test_stat_of_a_command():
    result = hcasim("stat", "--json", "--hcas", 2, "--", BUILD / "bin/hcasim-bench", "read", 64, 1, 10)
    assert result.returncode == 0, result.stderr
    assert '"RDMA_READ"' in result.stdout
    assert hcasim("stat", "--", "/bin/false").returncode == 1


# ---- timeline ----


def test_tracks_do_not_overlap(timeline):
    tracks = defaultdict(list)
    for event in timeline:
        assert event["ph"] in "MXCstf"
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    named = {(e["pid"], e["tid"]) for e in timeline if e["ph"] == "M" and e["name"] == "thread_name"}
    assert set(tracks) == named
    for slices in tracks.values():
        slices.sort()
        assert all(a[1] <= b[0] + 0.0005 for a, b in zip(slices, slices[1:]))


def test_every_work_request_can_be_followed(trace, timeline):
    """An arrow starts at the store, ends at COMPLETE, never goes back, and is inside a slice at each point."""
    slices, flows = defaultdict(list), defaultdict(list)
    for event in timeline:
        if event["ph"] == "X":
            slices[event["pid"], event["tid"]].append(event)
        elif event["ph"] in "stf":
            flows[event["id"]].append(event)
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in timeline if e["name"] == "thread_name"}
    assert len(flows) == len(log(trace, "wqe.log"))
    for points in flows.values():
        assert "".join(p["ph"] for p in points) == "s" + "t" * (len(points) - 2) + "f"
        times = [p["ts"] for p in points]
        assert times == sorted(times)
        for p in points:
            assert any(s["ts"] <= p["ts"] <= s["ts"] + s["dur"] for s in slices[p["pid"], p["tid"]]), p
        way = [names[p["pid"], p["tid"]] for p in points]
        if torn(trace) and way[0] == "doorbell":
            way.insert(0, "BAR stores")
        assert way[0] == "BAR stores" and way[1] == "doorbell" and way[-1] == "complete", way
        assert [s for s in way if s in ("decode", "packetise", "gather")][:3] == [
            "decode",
            "packetise",
            "gather",
        ]
        assert way.count("wire") == way.count("rx") == 2 or trace.name.startswith("lossy"), way
        assert points[0]["pid"] == points[-1]["pid"]


# ---- wave ----


def waveform(trace, name):
    """{signal: [(ps, value)]} as fst2vcd or the file has it."""
    path = trace / name
    result = hcasim("wave", trace, "-o", path)
    assert result.returncode == 0, result.stderr
    text = path.read_text() if name.endswith("vcd") else None
    text = text or subprocess.run(["fst2vcd", path], capture_output=True, text=True, check=True).stdout
    scope, ids, values, now = [], {}, defaultdict(list), 0
    for line in text.splitlines():
        words = line.split()
        if line.startswith("$scope"):
            scope.append(words[2])
        elif line.startswith("$upscope"):
            scope.pop()
        elif line.startswith("$var"):
            ids[words[3]] = ".".join([*scope, words[4]])
        elif line.startswith("#"):
            now = int(line[1:])
        elif line.startswith("b"):
            values[ids[words[1]]].append((now, int(words[0][1:], 2)))
        elif line[:1] in ("0", "1"):
            values[ids[line[1:]]].append((now, int(line[0])))
    return values


@pytest.mark.parametrize("name", ["w.fst", "w.vcd"])
def test_waveform(trace, stat, name):
    values = waveform(trace, name)
    for hca, entry in stat["adapters"].items():
        for stage, row in entry["stages"].items():
            edges = values[f"{hca}.busy.{stage}"]
            high = sum(b[0] - a[0] for a, b in zip(edges, edges[1:]) if a[1])
            assert high == row["busy_ps"], (hca, stage)
        for level, row in entry["levels"].items():
            seen = [value for _, value in values[f"{hca}.levels.{level}"]]
            assert max(seen) == row["max"] and min(seen) == row["min"], (hca, level)


# ---- pcap ----


def test_packets_have_simulated_nanoseconds(trace):
    sent = sorted(events(trace, "sent"), key=lambda record: record["pcap"])
    magic = (trace / "wire.pcap").read_bytes()[:4]
    assert int.from_bytes(magic, "little") == 0xA1B23C4D
    info = subprocess.run(
        ["capinfos", trace / "wire.pcap"], capture_output=True, text=True, check=True
    ).stdout
    assert "nanoseconds (9)" in info and f"Number of packets:   {len(sent)}" in info, info
    fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "infiniband.bth.psn"]
    out = subprocess.run(
        ["tshark", "-r", trace / "wire.pcap", "--disable-protocol", "rpcordma", *fields],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    read = [line.split("\t") for line in out.splitlines()]
    times = [int(seconds.replace(".", "")) for seconds, _, _ in read]
    assert times == [record["ps"] // 1000 for record in sent]
    assert [(int(size), int(psn)) for _, size, psn in read] == [(r["len"], r["psn"]) for r in sent]


# ---- bad input ----


def drop_end(lines):
    return lines[:-1]


def cut_line(lines):
    return [*lines[:-1], lines[-1][: len(lines[-1]) // 2]]


def drop_one(lines):
    return [*lines[:50], *lines[51:]]


def change(old, new):
    def apply(lines):
        at = next(i for i, line in enumerate(lines) if old in line)
        return [*lines[:at], lines[at].replace(old, new), *lines[at + 1 :]]

    return apply


BAD = {
    "no end": ("events.log", drop_end, "the last record is not 'end'"),
    "half a line": ("events.log", cut_line, "truncated or foreign"),
    "a record is missing": ("events.log", drop_one, "'events' is "),
    "empty": ("events.log", lambda lines: [], "the last record is not 'end'"),
    "version": ("events.log", change('"version":4', '"version":3'), "events.log:1: 'version' is 3"),
    "names": (
        "events.log",
        change('"hcas":["hcasim0","hcasim1"]', '"hcas":[0,1]'),
        "events.log:1: 'hcas' is [0, 1], not a list of names",
    ),
    "foreign": ("events.log", lambda lines: ["hello"], "events.log:1: 'hello' is not a JSON object"),
    "foreign object": ("events.log", lambda lines: ["{}"], "events.log:1: 'format' is null"),
    "event": (
        "events.log",
        change('"event":"sent"', '"event":"lost"'),
        "'event' is \"lost\", which is unknown",
    ),
    "stage": ("events.log", change('"stage":"tx"', '"stage":"ty"'), "'stage' is \"ty\", which is unknown"),
    "type": ("events.log", change('"items":1', '"items":"1"'), "'items' is \"1\", not a number"),
    "negative": ("events.log", change('"bytes":', '"bytes":-'), "'bytes' is -"),
    "member": ("tlp.log", change('"arrival"', '"departure"'), "tlp.log:1: 'arrival' is missing"),
    "another run": ("wqe.log", drop_end, "files of two runs"),
    "another format": ("cqe.log", lambda lines: ["[1]"], "cqe.log:1: '[1]' is not a JSON object"),
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    result = Machine(hcas=2, options=["--trace", str(folder)]).run(
        BUILD / "bin/hcasim-bench", "write", 64, 1, 10
    )
    assert result.status == 0, result.output
    return folder


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_named(small, tmp_path, name):
    file, apply, message = BAD[name]
    shutil.copytree(small, tmp_path / "t")
    path = tmp_path / "t" / file
    path.write_text("".join(line + "\n" for line in apply(path.read_text().splitlines())))
    for command in (["stat"], ["timeline", "-o", tmp_path / "o"], ["wave", "-o", tmp_path / "o.vcd"]):
        result = hcasim(*command, tmp_path / "t")
        if command == ["wave", "-o", tmp_path / "o.vcd"] and name == "another run":
            continue  # it does not read what work requests did
        assert result.returncode == 2 and message in result.stderr and file in result.stderr, result
        assert "Traceback" not in result.stderr and not (tmp_path / "o").exists()


def test_a_trace_without_events(tmp_path):
    result = Machine(options=["--trace", str(tmp_path), "--no-events"]).run("/bin/true")
    assert result.status == 0, result.output
    for command in (["stat"], ["timeline", "-o", tmp_path / "o"], ["wave", "-o", tmp_path / "o.vcd"]):
        result = hcasim(*command, tmp_path)
        assert result.returncode == 2 and "without --no-events" in result.stderr, result
    result = hcasim("stat", "--no-events", "--", "/bin/echo", "ran")
    assert (
        result.returncode == 2 and not result.stdout and "--no-events leaves out events.log" in result.stderr
    )


@pytest.mark.parametrize("options", [[], ["--no-events"]])
def test_failed_completions(tmp_path, options):
    """A peer that does not answer: the request that times out, and what is flushed behind it, by their first."""
    options = ["--trace", str(tmp_path), "--fault", "loss=1", *options]
    machine = Machine(hcas=2, options=options)
    result = machine.run(BUILD / "bin/hcasim-faulty", "write", 1)
    assert result.status == 0, result.output
    cqes = [cqe for cqe in log(tmp_path, "cqe.log") if cqe["status"] != "OK"]
    result = hcasim("stat", "--json", tmp_path)
    rows = json.loads(result.stdout)["failures"]
    assert sum(row["count"] for row in rows) == len(cqes) > 1
    assert [row["status"] for row in rows][0] == cqes[0]["status"] == "RETRY_EXC_ERR"
    assert rows[0]["first_ps"] == cqes[0]["ps"]
    result = hcasim("stat", tmp_path)
    assert "failed completions" in result.stdout and "RETRY_EXC_ERR" in result.stdout
    assert result.returncode == (2 if "--no-events" in options else 0), result.stderr


def test_frames_that_the_switch_drops(tmp_path):
    """A switch with a smaller MTU than the ports: what fits comes through, what does not is counted."""
    options = ["--set", "wire.switch_mtu=1500", "--trace", str(tmp_path)]
    machine = Machine(hcas=2, options=options)
    result = machine.run(BUILD / "bin/hcasim-faulty", "write", 1)
    assert result.status == 0, result.output
    dropped = [
        fault for fault in log(tmp_path, "fault.log") if fault["what"] == "larger than wire.switch_mtu"
    ]
    rows = json.loads(hcasim("stat", "--json", tmp_path).stdout)["faults"]
    assert [(row["what"], row["count"]) for row in rows] == [("larger than wire.switch_mtu", len(dropped))]
    assert dropped and "larger than wire.switch_mtu" in hcasim("stat", tmp_path).stdout


def test_a_folder_without_a_trace(tmp_path):
    result = hcasim("stat", tmp_path)
    assert result.returncode == 2 and "it is no folder of hcasim run --trace" in result.stderr


@pytest.mark.parametrize("where, cause", [("store", "store_credits"), ("cpu", "store_queue")])
def test_what_waits_for_the_root_port(small, tmp_path, where, cause):
    folder = tmp_path / "t"
    shutil.copytree(small, folder)
    *records, end = log(folder, "events.log")
    first = next(r["ps"] for r in records if r["event"] == "step")
    stall = {"event": "stall", "ps": first, "end": first + 3000}
    stall |= {"hca": "hcasim0", "where": where, "cause": cause}
    end["events"] += 1
    lines = [json.dumps(record, separators=(",", ":")) + "\n" for record in [*records, stall, end]]
    (folder / "events.log").write_text("".join(lines))
    for view, file in (("timeline", "t.json"), ("wave", "t.vcd")):
        result = hcasim(view, folder, "-o", folder / file)
        assert result.returncode == 0, result.stderr
    slices = [e for e in json.loads((folder / "t.json").read_text())["traceEvents"] if e["name"] == cause]
    assert [(e["ph"], e["dur"]) for e in slices] == [("X", pytest.approx(0.003, abs=0.0002))]
    assert f" {where} $end" in (folder / "t.vcd").read_text()
    result = hcasim("stat", "--json", folder)
    row = {"where": where, "cause": cause, "count": 1, "ps": 3000}
    assert row in json.loads(result.stdout)["adapters"]["hcasim0"]["stalls"]


def test_bad_command_lines(small, tmp_path):
    for args, message in {
        ("stat", tmp_path / "no"): f"{tmp_path}/no: does not exist",
        ("stat", small / "tlp.log"): "not a folder",
        ("stat",): "expects one folder",
        ("timeline", small): "-o",
        ("timeline", small, "-o", tmp_path / "no/t.json"): "No such file",
        ("wave", small, "-o", tmp_path / "no/w.fst"): "w.fst",
    }.items():
        result = hcasim(*args)
        assert result.returncode == 2 and message in result.stderr, (args, result)
