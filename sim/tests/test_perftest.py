# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Debian's perftest, unmodified, with its defaults but for device, port and size."""
import re

import pytest

from conftest import Machine, free_port

SIZES = [2, 64, 1024, 4096, 65536]
ROW = re.compile(r"^\s*(\d+)\s+(\d+)((?:\s+\d+\.\d+)+)", re.M)


def perftest(program, *flags, machine=None):
    """Runs server and client; returns (size, iterations, figures) of the client's table."""
    machine = machine or Machine(hcas=2)
    server_device, client_device = machine.pair_devices()
    common = ["-p", free_port(), *flags]
    path = f"/usr/bin/{program}"
    ends = machine.run_pair(
        [path, "-d", server_device, *common], [path, "-d", client_device, *common, "localhost"]
    )
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


@pytest.mark.once
@pytest.mark.parametrize(
    "program", ["ib_write_lat", "ib_write_bw", "ib_read_lat", "ib_send_bw", "ib_atomic_bw"]
)
def test_once(program):
    perftest(program, "-n", 100)
