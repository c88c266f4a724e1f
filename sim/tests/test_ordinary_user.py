# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The programs of test_mlx5.py, test_rdmacm.py and test_apps.py on `--device mlx5` by an ordinary user, who starts the
machine, too; with --system-verbs, libmlx5 of Debian 12, and in the night also with that of 56.1. A few each time, all of
them in the night."""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import conftest
import test_apps
import test_mlx5
import test_rdmacm
from conftest import BUILD, NIGHTLY, NOBODY, Machine
from test_perftest import COMBINATIONS

DEVICE = ["--device", "mlx5"]


def nobody_can_enter():
    if os.getuid():
        return False
    return not subprocess.run([*NOBODY, "test", "-r", BUILD / "bin/hcasim"], check=False).returncode


pytestmark = pytest.mark.skipif(
    not nobody_can_enter(), reason="no other user, or none that may read the build folder"
)


# What XRC programs of rdma-core and perftest leave behind; another user may not open them, nor root, if /tmp is sticky.
XRC_FILES = [Path(f"/tmp/xrc_domain{end}") for end in ("", "_server", "_client")]


def remove_xrc_files():
    for file in XRC_FILES:
        file.unlink(missing_ok=True)


@pytest.fixture(autouse=True)
def ordinary(monkeypatch):
    monkeypatch.setattr(conftest, "USER", NOBODY)
    remove_xrc_files()
    yield
    remove_xrc_files()


@pytest.fixture(
    params=[True, False] if NIGHTLY else [True], ids=lambda system: "debian" if system else "56.1"
)
def system(request, monkeypatch):
    if request.param and not test_mlx5.DEBIAN.exists():
        pytest.skip("not installed")
    monkeypatch.setattr(conftest, "SYSTEM_VERBS", request.param)
    return request.param


@pytest.fixture
def machine(system):
    return Machine(hcas=2, options=DEVICE)


def some(first, rest=()):
    """What runs each time, and what only the night has."""
    return first + (list(rest) if NIGHTLY else [])


def test_the_user(system):
    """Program and adapters are all of one user who is not root."""
    result = Machine(options=DEVICE).run("sh", "-c", "id -u; ps -o uid= -p $PPID")
    assert result.output.split() == ["65534", "65534"], result.output


def test_devinfo(machine):
    result = machine.run(machine.bin / "ibv_devinfo", "-v")
    assert result.status == 0, result.output
    assert re.findall(r"hca_id:\s+(\S+)", result.output) == list(test_mlx5.DEVICES)


@pytest.mark.parametrize("family", ["native", "mlx5", "rxe"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_program_that_is_not_dumpable(family, when):
    result = Machine(hcas=2, options=["--device", family]).run(BUILD / "bin/hcasim-dumpable", when)
    assert result.status == 0 and result.output == "dumpable: 1\n", result.output


def test_a_program_that_its_user_may_not_read():
    """The kernel makes it one that is not dumpable."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        program = Path(folder) / "program"
        shutil.copyfile(BUILD / "bin/hcasim-dumpable", program)
        program.chmod(0o711)
        result = Machine(hcas=2, options=DEVICE).run(program, "never")
    assert result.status == 0 and result.output == "dumpable: 0\n", result.output


PINGPONGS = some(
    [("rc", "-c", "-e"), ("srq",)],
    [(t, "-c", *e) for t in ("rc", "uc", "ud") for e in ((), ("-e",)) if (t, e) != ("rc", ("-e",))]
    + [("srq", "-e")],
)


@pytest.mark.parametrize("test", PINGPONGS, ids=" ".join)
def test_pingpong(machine, test):
    test_mlx5.pingpong(machine, *test)


def test_pingpong_of_each_release(release):
    test_mlx5.pingpong(Machine(hcas=2, options=DEVICE, release=release), "rc", "-c")


@pytest.mark.parametrize("flags", some([["-e"]], [[]]), ids=" ".join)
def test_xrc(machine, flags):
    test_mlx5.test_xrc(machine, flags)


@test_mlx5.installed
@pytest.mark.parametrize("program, connection", COMBINATIONS if NIGHTLY else [("ib_write_lat", "XRC")])
def test_perftest_by_default(machine, program, connection):
    test_mlx5.perftest(machine, program, "-c", connection)


@pytest.mark.parametrize("name", some(["rping"], ["rping-two-adapters"]))
def test_rping(system, name):
    test_rdmacm.on_machine(*test_rdmacm.PROGRAMS[name], system, "mlx5")


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
    """Where another user may read it."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        program = Path(folder) / "mpi_exchange"
        test_apps.compile_mpi(program, "mpicc.openmpi")
        yield program


@pytest.mark.skipif(not NIGHTLY, reason="ci/setup test installs no MPI: in the night")
@pytest.mark.parametrize("transports", ["rc_x", "ud_x", "rc_v"])
def test_open_mpi(system, open_mpi_program, transports):
    test_apps.run_open_mpi("mlx5", transports, open_mpi_program)
