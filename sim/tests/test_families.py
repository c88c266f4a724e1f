# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Device families: unmodified providers of rdma-core on adapters of theirs, alone and with others on one wire."""
import re
import subprocess

import pytest

from conftest import BUILD, RDMA_CORE_BUILD, Machine, free_port

ITERATIONS = 50


def pingpong(machine, devices, transport, *flags):
    common = [machine.bin / f"ibv_{transport}_pingpong", "-p", free_port(), "-g", 1, "-n", ITERATIONS, *flags]
    ends = machine.run_pair([*common, "-d", devices[0]], [*common, "-d", devices[1], "localhost"])
    for output in (ends.server, ends.client):
        assert "iters in" in output and "invalid data" not in output, output


def test_rxe_devinfo(release):
    machine = Machine(options=["--device", "rxe"], release=release)
    result = machine.run(machine.bin / "ibv_devinfo", "-v")
    assert result.status == 0, result.output
    assert re.search(r"hca_id:\s+rxe0", result.output)
    assert re.search(r"max_sge:\s+32", result.output) and "MEM_WINDOW_TYPE_2B" in result.output


@pytest.mark.cover(1)
@pytest.mark.parametrize("flags", [[], ["-e"]], ids=["poll", "events"])
@pytest.mark.parametrize("transport", ["rc", "uc", "ud", "srq"])
def test_rxe_pingpong(transport, flags, release):
    size = [] if transport == "srq" else ["-c", "-s", 1000]
    pingpong(
        Machine(hcas=2, options=["--device", "rxe"], release=release),
        ("rxe0", "rxe1"),
        transport,
        *flags,
        *size,
    )


def test_rxe_messages_of_many_packets(release):
    pingpong(
        Machine(hcas=2, options=["--device", "rxe"], release=release),
        ("rxe0", "rxe1"),
        "rc",
        "-c",
        "-s",
        100000,
    )


def test_rxe_new_post_api():
    pingpong(Machine(hcas=2, options=["--device", "rxe"], system=False), ("rxe0", "rxe1"), "rc", "-c", "-N")


@pytest.mark.parametrize(
    "family, levels, inline",
    [("native", (9, 10), None), ("mlx5", (9, 10), "RC 828, UD 956"), ("rxe", (0, 0), None)],
)
def test_datagrams(family, levels, inline):
    """`wc.sl` tells IPv6 (9) from IPv4 (10) where the adapter says so; rdma_rxe leaves it 0."""
    result = Machine(hcas=2, options=["--device", family]).run(BUILD / "bin/hcasim-datagram")
    assert result.status == 0, result.output
    assert re.findall(r"IPv(\d): sl (\d+)", result.output) == [("6", f"{levels[0]}"), ("4", f"{levels[1]}")]
    assert not inline or f"inline: {inline}\n" in result.output


CELLS = [  # what the driver itself has to refuse, to report, and to keep
    "suite/state/rc/reset-wr",
    "suite/mw/rc/type-1-refused",
    "suite/create/rc/limits",
    "suite/objects/rc/srq-sizes",
    "suite/cq/rc/resize",
    "suite/cq/rc/resize-armed",
    "suite/cq/rc/resize-full",
    "suite/cq/rc/resize-refused",
]


def test_rxe_cells(tmp_path):
    command = [
        BUILD / "bin/hcasim",
        "conform",
        "--strict",
        "--dut",
        "rxe",
        "--jobs",
        "1",
        "--no-tap",
        "--out",
        tmp_path,
    ]
    done = subprocess.run([*command, "-k", " or ".join(CELLS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and f"{len(CELLS)} pass" in done.stdout, done.stdout + done.stderr


def test_names_count_by_family():
    result = Machine(hcas="rxe,native,rxe").run(RDMA_CORE_BUILD / "bin/ibv_devinfo", "-l")
    assert result.output.split()[3:] == ["rxe0", "hcasim0", "rxe1"], result.output


@pytest.mark.parametrize(
    "options, words",
    [
        (["--device", "none"], ["'none'", "native", "rxe"]),
        (["--hcas", "rxe,none"], ["'none'", "native", "rxe"]),
    ],
)
def test_unknown_family(options, words):
    done = subprocess.run(
        [BUILD / "bin/hcasim", "run", *options, "--", "true"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and all(word in done.stderr for word in words), done.stderr


def test_replay_of_a_mixed_wire(tmp_path):
    """The record names the family of each adapter."""
    record = tmp_path / "mixed.rec"
    pingpong(Machine(hcas="hcasim,rxe", options=["--record", record]), ("hcasim0", "rxe0"), "rc", "-c")
    done = subprocess.run(
        [BUILD / "bin/hcasim", "replay", record], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
