# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Programs under valgrind: registers, memory, and the message if an option of valgrind prevents it."""
import pytest

from conftest import Machine

VALGRIND = ["valgrind", "-q", "--error-exitcode=9"]
STALE = ["--px-default=sp-at-mem-access", "--px-file-backed=sp-at-mem-access"]


@pytest.mark.parametrize("system, posting", [(False, []), (False, ["-N"]), (True, [])], ids=str)
def test_memcheck_has_no_errors(system, posting, gid_index):
    """Short requests are pushed through BlueFlame, receives and longer ones ring a doorbell."""
    machine = Machine(hcas=2, system=system)
    program = [*VALGRIND, machine.bin / "ibv_rc_pingpong", *posting, "-g", gid_index, "-n", "20", "-c"]
    ends = machine.run_pair([*program, "-d", "hcasim0"], [*program, "-d", "hcasim1", "localhost"])
    assert "20 iters" in ends.client
    for word in ("==", "hcasim: "):  # prefixes of memcheck's messages and ours
        assert word not in ends.server + ends.client


def test_an_option_that_makes_registers_stale_is_named():
    machine = Machine()
    result = machine.run(*VALGRIND, *STALE, machine.bin / "ibv_devinfo", "-v")
    assert "--px-default=allregs-at-mem-access" in result.output and result.status not in (0, 9)
