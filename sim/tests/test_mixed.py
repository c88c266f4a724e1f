# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Adapters of two families on one wire: rdma-core's pingpongs and perftest between them.

In the night (HCASIM_PROGRAMS) with all of perftest in both directions, and with Debian's rdma-core.
"""
import itertools
import json
import re
import subprocess
from pathlib import Path

import pytest

from conftest import BUILD, CONNECTIONS, SYSTEM_VERBS, Machine, free_port

DEVICES = {"hcasim": "hcasim0", "mlx5": "mlx5_0", "rxe": "rxe0"}
GIDS = {"hcasim": 1, "mlx5": 3, "rxe": 1}  # RoCEv2 over IPv4
NO_XRC = ("rxe",)
PLUGINS = Path("/usr/lib/x86_64-linux-gnu/libibverbs")
ITERATIONS = 50

pytestmark = pytest.mark.skipif(
    SYSTEM_VERBS and not all((PLUGINS / f"lib{name}-rdmav34.so").exists() for name in ("mlx5", "rxe")),
    reason="Debian's ibverbs-providers is not installed",
)


def cases(*kinds):
    """(server, client), *kind: each kind on each pair of families that have its transport, in both directions."""
    for pair, kind in itertools.product(itertools.combinations(DEVICES, 2), kinds):
        if kind[-1] == "xrc" and set(pair) & set(NO_XRC):
            continue
        for ends in (pair, pair[::-1]):
            yield pytest.param(ends, *kind, id="-".join(map(str, (*ends, *kind))))


def run_pair(pair, program, *flags, options=()):
    machine = Machine(hcas=",".join(DEVICES), options=options)
    folder, gid = (machine.bin, "-g") if program.startswith("ibv_") else (Path("/usr/bin"), "-x")
    common = [folder / program, "-p", free_port(), *flags]
    server, client = (["-d", DEVICES[family], gid, GIDS[family]] for family in pair)
    return machine.run_pair([*common, *server], [*common, *client, "localhost"])


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_trace_names_each_adapter(tmp_path):
    """Those of one family are numbered on their own; every log and view has the names that programs see."""
    machine = Machine(hcas="mlx5,hcasim,rxe,mlx5", options=["--trace", str(tmp_path)])
    command = [machine.bin / "ibv_rc_pingpong", "-p", free_port(), "-n", ITERATIONS]
    machine.run_pair([*command, "-d", "hcasim0", "-g", 1], [*command, "-d", "mlx5_1", "-g", 3, "localhost"])
    assert {"hcasim0", "mlx5_1"} <= {tlp["hca"] for tlp in records(tmp_path / "tlp.log")}
    for name in ("wqe.log", "cqe.log"):
        assert {record["hca"] for record in records(tmp_path / name)} == {"hcasim0", "mlx5_1"}, name
    head, *events = records(tmp_path / "events.log")
    assert head["hcas"] == ["mlx5_0", "hcasim0", "rxe0", "mlx5_1"]
    assert {event["hca"] for event in events if event["event"] == "range"} == set(head["hcas"])
    assert {event["hca"] for event in events if event["event"] == "sent"} == {"hcasim0", "mlx5_1"}
    stat = subprocess.run([BUILD / "bin/hcasim", "stat", "--json", tmp_path], capture_output=True, check=True)
    adapters = json.loads(stat.stdout)["adapters"]
    assert list(adapters) == head["hcas"]
    assert adapters["mlx5_1"]["stages"]["tx"]["count"] and not adapters["mlx5_0"]["stages"]["tx"]["count"]


def pingpong(pair, transport, *flags, options=()):
    """Both ends check the contents (-c), but for XRC's, which cannot."""
    program = f"ibv_{'xsrq' if transport == 'xrc' else transport}_pingpong"
    check = [] if transport == "xrc" else ["-c"]
    ends = run_pair(pair, program, "-n", ITERATIONS, *check, *flags, options=options)
    for output in (ends.server, ends.client):
        assert ("success" if transport == "xrc" else "iters in") in output, output
        assert "invalid data" not in output, output


@pytest.mark.cover(1)
@pytest.mark.parametrize(
    "pair, transport", cases(*((transport,) for transport in ("rc", "uc", "ud", "srq", "xrc")))
)
def test_pingpong(pair, transport):
    pingpong(pair, transport, "-s", 1000)


@pytest.mark.cover(1)
@pytest.mark.parametrize("pair, transport", cases(("rc",), ("srq",), ("xrc",)))
def test_many_packets_out_of_order(pair, transport):
    """Nothing is lost: an end of a pingpong that has all it needs leaves, and its last ACK must arrive."""
    faults = ["--fault", "reorder=0.003,dup=0.01"]
    pingpong(pair, transport, "-e", "-s", 100000, "-m", 1024, options=faults)


PERFTEST = [
    (f"ib_{verb}_{figure}", connection.lower())
    for verb, connections in CONNECTIONS.items()
    for figure in ("bw", "lat")
    for connection in connections
]


@pytest.mark.night
@pytest.mark.skipif(not Path("/usr/bin/ib_write_bw").exists(), reason="perftest is not installed")
@pytest.mark.parametrize("pair, program, transport", cases(*PERFTEST))
def test_perftest(pair, program, transport):
    size = [] if "atomic" in program else ["-s", 1024]
    ends = run_pair(pair, program, "-F", "-n", ITERATIONS, "-c", transport.upper(), *size)
    assert len(re.findall(r"^ *\d+ +\d+ +\d+\.\d+ ", ends.client, re.M)) == 1, ends.client


@pytest.mark.cover(1)
@pytest.mark.skipif(not Path("/usr/bin/ib_write_bw").exists(), reason="perftest is not installed")
@pytest.mark.parametrize("pair, transport", cases(("rc",), ("xrc",)))
def test_a_wire_with_losses(pair, transport):
    """Perftest's ends leave together."""
    flags = ["-F", "-n", ITERATIONS, "-c", transport.upper(), "-s", 100000, "-m", 1024]
    ends = run_pair(pair, "ib_send_bw", *flags, options=["--fault", "loss=0.003"])
    assert re.search(r"^ *100000 +50 ", ends.client, re.M), ends.client
