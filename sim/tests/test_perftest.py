# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Debian's perftest, unmodified, with its defaults except device, port and size; all of it in the night."""
import re

import pytest

from conftest import BUILD, CONNECTIONS, NIGHTLY, Machine, free_port

SIZES = [2, 64, 1024, 4096, 65536] if NIGHTLY else [64]
APIS = ["ibv_wr", "ibv_post_send"] if NIGHTLY else ["ibv_wr"]
KNOWN_PART = BUILD / "sim/tests/libhcasim_known_part.so"
ROW = re.compile(r"^\s*(\d+)\s+(\d+)((?:\s+\d+\.\d+)+)", re.M)


def run_ends(program, *flags, machine=None, preload=None):
    """Runs server and client; returns their output."""
    machine = machine or Machine(hcas=2)
    server_device, client_device = machine.pair_devices()
    common = ["-p", free_port(), *flags]
    start = ["/bin/sh", "-c", f'LD_PRELOAD="$LD_PRELOAD:{preload}" exec "$@"', "sh"] if preload else []
    start.append(f"/usr/bin/{program}")
    return machine.run_pair(
        [*start, "-d", server_device, *common], [*start, "-d", client_device, *common, "localhost"]
    )


def perftest(program, *flags, machine=None):
    """Runs server and client; returns (size, iterations, figures) of the client's table."""
    ends = run_ends(program, *flags, machine=machine)
    rows = ROW.findall(ends.client)
    assert len(rows) == 1, ends.client
    size, iterations, figures = rows[0]
    return int(size), int(iterations), [float(figure) for figure in figures.split()]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("program", ["ib_write_lat", "ib_write_bw", "ib_read_lat", "ib_send_bw"])
def test_sizes(program, size):
    reported, iterations, figures = perftest(program, "-s", size)
    assert reported == size
    assert iterations >= 1000
    assert all(figure >= 0 for figure in figures) and any(figure > 0 for figure in figures)


@pytest.mark.parametrize("operation", ["FETCH_AND_ADD", "CMP_AND_SWAP"])
def test_atomics(operation):
    size, iterations, _ = perftest("ib_atomic_bw", "-A", operation)
    assert (size, iterations) == (8, 1000)


@pytest.mark.parametrize("program", ["ib_write_lat", "ib_send_bw"])
def test_with_the_library_it_was_built_for(program):
    perftest(program, machine=Machine(hcas=2, system=True))


COMBINATIONS = [  # of each verb and connection, by day one of the two figures
    (f"ib_{verb}_{kind}", connection)
    for verb, connections in CONNECTIONS.items()
    for n, connection in enumerate(connections)
    for kind in (("lat", "bw") if NIGHTLY else ("lat", "bw")[n % 2 :][:1])
]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("program, connection", COMBINATIONS)
def test_every_connection(program, connection, api):
    """perftest's new mode (ibv_wr_*) is the default only on adapters that it knows."""
    flags = ["-c", connection, "-n", 50, *([] if "atomic" in program else ["-s", 1024])]
    if api == "ibv_wr":
        ends = run_ends(program, *flags, preload=KNOWN_PART)
    else:
        ends = run_ends(program, *flags, "--use_old_post_send")
    modes = re.findall(r"ibv_wr\* API +: (\w+)", ends.client + ends.server)
    assert modes == [{"ibv_wr": "ON", "ibv_post_send": "OFF"}[api]] * 2
    assert len(ROW.findall(ends.client)) == 1, ends.client


def some(*values):
    """All of these in the night, one of them by day."""
    return values if NIGHTLY else values[-1:]


VERBS = ("send", "write", "read", "atomic")
OPTIONS = [
    *(
        f"ib_send_{kind} -c {connection} --use-srq"
        for kind in some("lat", "bw")
        for connection in ("RC", "UD", "XRC")
    ),
    "ib_send_bw --use-srq -q 4",
    "ib_send_bw --recv_post_list=8 --use-srq -n 64",
    *(f"ib_write_lat -I {size} -s {size}" for size in (*some(2, 64), 256, *some(257, 768))),
    "ib_write_lat -I 64 -s 65",
    "ib_send_lat -c UD -I 128 -s 128",
    *(
        f"ib_{program} -e"
        for program in (*some("send_lat", "send_bw"), *some("read_lat", "read_bw", "atomic_lat", "atomic_bw"))
    ),
    *(f"ib_send_lat -e -c {connection}" for connection in some("UC", "UD", "XRC")),
    *(f"ib_{verb}_bw -b --report-both" for verb in some(*VERBS)),
    *(f"ib_send_bw -b -c {connection}" for connection in some("UC", "UD", "XRC")),
    *(f"ib_{verb}_bw -q 4 -b" for verb in some(*VERBS)),
    *(f"ib_send_bw -q 3 -c {connection}" for connection in some("UC", "UD", "XRC")),
    *(f"ib_{verb}_bw -l 8 -n 64" for verb in some(*VERBS)),
    *(f"ib_send_bw -l 8 -n 64 -c {connection}" for connection in some("UC", "UD", "XRC")),
    "ib_send_bw -Q 1",
    "ib_send_bw -t 1 -r 1",
    "ib_read_bw -o 1",
    "ib_read_bw --perform_warm_up -Q 1",
    "ib_send_bw --mr_per_qp -q 2",
    "ib_send_bw -m 256 -s 4096",
    "ib_send_bw --reversed",
    "ib_send_lat -c UD -g",
    "ib_send_bw -c UD -g --ipv6",  # its check of GIDs treats the group's GID as IPv6
]


@pytest.mark.parametrize("command", OPTIONS)
def test_option(command):
    program, *flags = command.split()
    size = [] if "atomic" in program or "-s" in flags else ["-s", 1024]
    iterations = [] if "-n" in flags else ["-n", 50]
    ends = run_ends(program, *flags, *iterations, *size)
    assert len(ROW.findall(ends.client)) == (3 if "--report-both" in flags else 1), ends.client


@pytest.mark.once
@pytest.mark.parametrize(
    "program", ["ib_write_lat", "ib_write_bw", "ib_read_lat", "ib_send_bw", "ib_atomic_bw"]
)
def test_once(program):
    perftest(program, "-n", 100)
