# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A program whose device list lacks an adapter says why, whatever the cause is."""
import os
import shutil
import subprocess

import pytest

from conftest import RDMA_CORE_BUILD, Machine

VERBS = RDMA_CORE_BUILD / "lib/libibverbs.so.1"
RXE = next((RDMA_CORE_BUILD / "lib").glob("librxe-rdmav*.so"))
LISTED = "is not in the device list: "


def devices(folder, *options, command=("ibv_devices",)):
    """What `ibv_devices` says with the libibverbs and the providers of `folder`."""
    if not (folder / VERBS.name).exists():
        (folder / VERBS.name).symlink_to(VERBS)
    machine = Machine(options=options or ["--device", "rxe"], system=False)
    return machine.run(*command, env=dict(os.environ, LD_LIBRARY_PATH=str(folder))).output


def provider(path, source):
    """A shared library in place of librxe."""
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=source, text=True, check=True
    )


def test_no_provider(tmp_path):
    output = devices(tmp_path)
    assert f"rxe0 {LISTED}{tmp_path}/libibverbs.so.1 has no provider 'rxe': build it" in output


def test_a_message_for_each_provider(tmp_path):
    output = devices(tmp_path, "--hcas", "mlx5,mlx5,rxe,native")
    assert output.count(LISTED) == 2 and "hcasim0" in output, output
    assert f"mlx5_0 {LISTED}" in output and f"rxe0 {LISTED}" in output


def test_a_provider_of_another_release(tmp_path):
    shutil.copy(RXE, tmp_path / "librxe-rdmav99.so")
    output = devices(tmp_path)
    assert f"has not loaded {tmp_path}/librxe-rdmav99.so" in output and "couldn't load driver" in output


def test_a_provider_that_does_not_load(tmp_path):
    provider(tmp_path / RXE.name, "extern int nowhere(void); int (*p)(void) = nowhere;")
    output = devices(tmp_path)
    assert f"has not loaded {tmp_path}/{RXE.name}" in output and "undefined symbol: nowhere" in output


def test_a_provider_that_takes_other_devices(tmp_path):
    provider(tmp_path / RXE.name, "int nothing;")
    output = devices(tmp_path)
    assert f"{tmp_path}/{RXE.name} does not take a device" in output
    assert "with this name, PCI ID 1af4:1000, ABI version 2" in output


def test_a_program_that_names_other_providers(tmp_path):
    output = devices(RDMA_CORE_BUILD / "lib", command=("env", "RDMAV_DRIVERS=/none/libx", "ibv_devices"))
    assert f"has not loaded {RXE}" in output and "RDMAV_DRIVERS is '/none/libx'" in output


PYVERBS = "import pyverbs.device as d; print([x.name.decode() for x in d.get_device_list()])"


def test_a_program_that_loads_libibverbs_late(tmp_path):
    """pyverbs: neither the interpreter nor a library that is loaded at its start is linked to libibverbs."""
    python = RDMA_CORE_BUILD / "python"
    if not python.exists():
        pytest.skip("pyverbs is not built")
    command = ("env", f"PYTHONPATH={python}", "/usr/bin/python3", "-c", PYVERBS)
    assert "rxe0" in devices(RDMA_CORE_BUILD / "lib", command=command)
    assert f"rxe0 {LISTED}{tmp_path}/libibverbs.so.1 has no provider 'rxe'" in devices(
        tmp_path, command=command
    )


@pytest.mark.parametrize(
    "options", [["--device", "mlx5"], ["--device", "rxe"], ["--hcas", "native,mlx5,rxe"]]
)
def test_nothing_is_said_of_a_full_list(options, release):
    machine = Machine(options=options, release=release)
    assert LISTED not in machine.run(machine.bin / "ibv_devices").output


def test_quiet(tmp_path):
    assert LISTED not in devices(tmp_path, "--quiet", "--device", "rxe")


TWICE = """
#include <infiniband/verbs.h>
int main(void) { return !ibv_get_device_list(NULL) + !ibv_get_device_list(NULL); }
"""


def test_once_for_a_program(tmp_path):
    program = tmp_path / "twice"
    options = [f"-I{RDMA_CORE_BUILD}/include", f"-L{RDMA_CORE_BUILD}/lib", "-o", program]
    subprocess.run(["cc", "-x", "c", "-", *options, "-libverbs"], input=TWICE, text=True, check=True)
    assert devices(tmp_path, command=(program,)).count(LISTED) == 1
