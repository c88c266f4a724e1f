# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What an ordinary user has otherwise than root, and UCX, libfabric and Open MPI on `--device mlx5`, with --system-verbs; in
the night also with rdma-core 56.1. Run by one, as many other tests are (sim/tests/installed)."""
import os
import shutil
import tempfile
from pathlib import Path

import pytest

import conftest
import test_apps
import test_mlx5
from conftest import BUILD, NIGHTLY, Machine

DEVICE = ["--device", "mlx5"]


pytestmark = pytest.mark.skipif(not os.getuid(), reason="root is no ordinary user")


@pytest.fixture(
    params=[True, False] if NIGHTLY else [True], ids=lambda system: "debian" if system else "56.1"
)
def system(request, monkeypatch):
    if request.param and not test_mlx5.DEBIAN.exists():
        pytest.skip("not installed")
    monkeypatch.setattr(conftest, "SYSTEM_VERBS", request.param)
    return request.param


def some(first, rest=()):
    """What runs each time, and what only the night has."""
    return first + (list(rest) if NIGHTLY else [])


def test_the_user(system):
    """Program and adapters are all of one user who is not root."""
    result = Machine(options=DEVICE).run("sh", "-c", "id -u; ps -o uid= -p $PPID")
    assert result.output.split() == [str(os.getuid())] * 2, result.output


@pytest.mark.parametrize("family", ["native", "mlx5", "rxe"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_program_that_is_not_dumpable(family, when):
    result = Machine(hcas=2, options=["--device", family]).run(BUILD / "bin/hcasim-dumpable", when)
    assert result.status == 0 and result.output == "dumpable: 1\n", result.output


def test_a_program_that_its_user_may_not_read():
    """The kernel makes it one that is not dumpable."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        shutil.copyfile(BUILD / "bin/hcasim-dumpable", program)
        program.chmod(0o111)
        result = Machine(hcas=2, options=DEVICE).run(program, "never")
    assert result.status == 0 and result.output == "dumpable: 0\n", result.output


UCX = some(
    [("tag_bw", 100000, "rc_x")],
    [
        ("tag_bw", 100000, "ud_x"),
        ("ucp_get", 100000, "rc_x"),
        ("ucp_fadd", 8, "rc_x"),
        ("tag_lat", 1000, "ib"),
    ],
)


@pytest.mark.parametrize("test, size, transports", UCX)
def test_ucx(system, test, size, transports):
    assert max(test_apps.ucx_perftest("mlx5", test, size, 200, transports)) > 200


@pytest.mark.parametrize(
    "provider, endpoint",
    some([("verbs", "dgram")], [("verbs;ofi_rxd", "rdm"), ("verbs;ofi_rxm", "rdm"), ("verbs", "msg")]),
)
def test_libfabric(system, provider, endpoint):
    sizes = test_apps.FABRIC_SIZES[: 4 if endpoint == "dgram" else None]
    assert max(test_apps.fi_pingpong("mlx5", provider, endpoint, sizes)) > 4 * 50


@pytest.fixture(scope="module")
def open_mpi_program():
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "mpi_exchange"
        test_apps.compile_mpi(program, "mpicc.openmpi")
        yield program


@pytest.mark.skipif(not NIGHTLY, reason="ci/setup test installs no MPI: in the night")
@pytest.mark.parametrize("transports", ["rc_x", "ud_x", "rc_v"])
def test_open_mpi(system, open_mpi_program, transports):
    test_apps.run_open_mpi("mlx5", transports, open_mpi_program)
