# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Machines where process_vm_readv and process_vm_writev are refused: programs pass a descriptor of /proc/self/mem."""
import subprocess

from conftest import BUILD, CLIENT, HCASIM, HERE

NOTE = "hcasim-device: process_vm_readv is refused here"


def refused(*command, hcas=1):
    command = [
        "/usr/bin/python3",
        HERE / "refuse.py",
        HCASIM,
        "run",
        "--hcas",
        str(hcas),
        "--",
        *map(str, command),
    ]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def test_conform(tmp_path):
    """Data, atomics, windows, completion channels, which a command returns as descriptors; the note comes once a machine."""
    cells = "wr/send/rc/sge or wr/rdma_read/rc/sge or suite/notify"
    command = ["/usr/bin/python3", HERE / "refuse.py", HCASIM, "conform", "-k", cells, "--out", tmp_path]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0 and " 0 fail" in result.stdout, result.stdout


def test_the_note_comes_once():
    result = refused("sh", "-c", "ibv_devinfo && ibv_devinfo -v")
    assert result.returncode == 0 and result.stderr.count(NOTE) == 1, result.stderr


def test_bad_pointers_are_refused_as_by_a_kernel():
    """Also read-only memory, which /proc/self/mem would write to."""
    result = refused(BUILD / "bin/hcasim-hostile-uverbs", hcas=2)
    assert result.returncode == 0, result.stdout + result.stderr


def test_after_fork_and_exec():
    for action in ("fork", "exec"):
        result = refused(CLIENT, action)
        assert result.returncode == 0, result.stdout + result.stderr
