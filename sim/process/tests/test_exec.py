# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Programs that a program starts: those that stay on the machine, and what is said of those that cannot."""
import os
import shutil
import struct
import tempfile
from pathlib import Path

import pytest

from conftest import BUILD, CLIENT, DEVINFO, hcasim_run

PYTHON = "/usr/bin/python3"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
SENTENCE = "no library can be preloaded into it, and it will not see the simulated adapters"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which takes root")


def sees_an_adapter(*command):
    result = hcasim_run(*command)
    return result.returncode == 0 and "hcasim0" in result.stdout and result.stderr == ""


WAYS = {
    "env": ["env", "-i", DEVINFO, "-l"],
    "execve": [PYTHON, "-c", f"import os; os.execve('{DEVINFO}', ['i', '-l'], {{}})"],
    "execv": [PYTHON, "-c", f"import os; os.execve('/bin/sh', ['sh', '-c', 'exec {DEVINFO} -l'], {{}})"],
    "fexecve": [PYTHON, "-c", f"import os; os.execve(os.open('{DEVINFO}', 0), ['i', '-l'], {{}})"],
    "spawn": [PYTHON, "-c", f"import os; os.waitpid(os.posix_spawn('{DEVINFO}', ['i', '-l'], {{}}), 0)"],
    "other libraries": ["env", "LD_PRELOAD=libm.so.6", DEVINFO, "-l"],
    "execl": [CLIENT, "execl", DEVINFO],
    "execlp": [CLIENT, "execlp", DEVINFO],
    "execle": [CLIENT, "execle", DEVINFO],
}


@pytest.mark.parametrize("way", WAYS)
def test_an_empty_environment_leads_to_the_machine(way):
    assert sees_an_adapter(*WAYS[way])


def test_a_program_may_leave_the_machine():
    result = hcasim_run("env", "-u", "LD_PRELOAD", "sh", "-c", "test -e /sys/class/infiniband/hcasim0")
    assert result.returncode == 1


def test_the_environment_is_otherwise_the_callers():
    result = hcasim_run("env", "-i", "A=1", "B=2", "env")
    names = [line.split("=")[0] for line in result.stdout.splitlines()]
    assert names[:2] == ["A", "B"] and "HOME" not in names and len(names) == len(set(names))


@as_root
@pytest.mark.parametrize("become", [NOBODY, ["su", "-s", "/bin/sh", "nobody", "-c"]], ids=["setpriv", "su"])
def test_another_user_sees_the_adapters(become):
    command = [DEVINFO, "-l"] if become is NOBODY else [f"{DEVINFO} -l"]
    assert sees_an_adapter(*become, *command)
    assert hcasim_run(*NOBODY, CLIENT, "threads").returncode == 0  # system calls, registers, fork


@as_root
def test_a_machine_of_another_user_says_so(tmp_path):
    tmp_path.chmod(0o700)
    environment = [f"LD_PRELOAD={BUILD}/lib/libhcasim_preload.so", f"HCASIM_RUNTIME={tmp_path}"]
    result = hcasim_run("env", *environment, *NOBODY, "/bin/true")
    assert f"user 65534 may not enter {tmp_path}" in result.stderr


# ---- what no library gets into

# struct vfs_cap_data of <linux/capability.h>, revision 2: CAP_NET_RAW, permitted and effective
CAPABILITY = struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0)


@pytest.fixture
def program():
    """A program that another user may execute."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(shutil.copy("/bin/true", folder))


def set_mode(mode):
    return lambda path: path.chmod(mode)


def set_capability(path):
    os.setxattr(path, "security.capability", CAPABILITY)


MARKED = {
    "is a set-user-ID program": set_mode(0o4755),
    "is a set-group-ID program": set_mode(0o2755),
    "has file capabilities": set_capability,
}


@as_root
@pytest.mark.parametrize("reason", MARKED)
def test_a_privileged_program_is_named(program, reason):
    MARKED[reason](program)
    result = hcasim_run(*NOBODY, program)
    assert result.stderr.startswith(f"hcasim: '{program}' {reason}") and SENTENCE in result.stderr
    assert hcasim_run(program).stderr == ""  # to root it is a program like any other
    assert hcasim_run(*NOBODY, "--no-new-privs", program).stderr == ""


@pytest.mark.parametrize(
    "command", [["busybox", "true"], ["sh", "-c", "busybox true; busybox true"]], ids=len
)
def test_a_static_program_is_named_once(command):
    result = hcasim_run(*command)
    assert result.returncode == 0 and result.stderr.count(SENTENCE) == 1
    assert "busybox' is statically linked" in result.stderr


@pytest.mark.parametrize("command", [["busybox", "true"], ["sh", "-c", "busybox true"]], ids=len)
def test_a_quiet_machine_does_not_name_it(command):
    result = hcasim_run(*command, options=["--quiet"])
    assert (result.returncode, result.stderr) == (0, "")
    result = hcasim_run("/no/such/program", options=["--quiet"])
    assert result.returncode == 127 and "/no/such/program" in result.stderr


def test_a_program_of_another_processor_is_named(program):
    image = bytearray(program.read_bytes())
    image[18:20] = (183).to_bytes(2, "little")  # e_machine: EM_AARCH64
    program.write_bytes(image)
    result = hcasim_run(program)
    assert (
        result.returncode == 126
        and f"'{program}' is not a program for 64-bit x86: {SENTENCE}" in result.stderr
    )


def test_a_program_run_by_the_loader_is_like_any_other():
    assert sees_an_adapter("/lib64/ld-linux-x86-64.so.2", DEVINFO, "-l")
