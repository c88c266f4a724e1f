# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim doctor and --version: what they find, and that they find what is wrong."""
import ctypes
import errno
import json
import os
import re
import resource
import subprocess

import pytest
from conftest import TOP, hcasim

from hcasim_cli import doctor, exits, machine_folder


def found(**more):
    """({name: check}, exit status)"""
    result = hcasim("doctor", "--json", **more)
    data = json.loads(result.stdout)
    assert data["works"] == (result.returncode == exits.OK) and not result.stderr, result.stderr
    return {check["name"]: check for check in data["checks"]}, result.returncode


def test_a_host_where_it_works():
    checks, status = found()
    assert status == exits.OK and {"kernel", "memory", "run", "conform", "ports", "memlock"} <= set(checks)
    assert all(bool(check["change"]) == (check["status"] != "ok") for check in checks.values())
    text = hcasim("doctor").stdout.splitlines()
    assert text[-1] == "hcasim run and hcasim conform work"
    assert f"ok       run: {checks['run']['text']}" in text


# ---- A container whose seccomp profile refuses a system call ----

REFUSED = 310  # process_vm_readv(2) on x86_64
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000


class Statement(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_ushort),
        ("yes", ctypes.c_ubyte),
        ("no", ctypes.c_ubyte),
        ("k", ctypes.c_uint),
    ]


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("statements", ctypes.POINTER(Statement))]


def refuse():
    rows = [
        (LOAD, 0, 0, 0),
        (IF_EQUAL, 0, 1, REFUSED),
        (RETURN, 0, 0, FAIL | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    statements = (Statement * len(rows))(*rows)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(Filter(len(rows), statements)), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def test_a_container_that_refuses_to_read_memory():
    checks, status = found(preexec_fn=refuse)
    assert "Operation not permitted" in checks["memory"]["text"] and checks["memory"]["status"] == "note"
    assert "/proc/self/mem" in checks["memory"]["text"]
    assert status == exits.OK and checks["conform"]["status"] == "ok"


def test_memory_that_cannot_be_passed(monkeypatch):
    monkeypatch.setattr(doctor, "memory_error", lambda: errno.EPERM)
    monkeypatch.setattr(doctor, "passes_memory", lambda: False)
    monkeypatch.setattr(doctor, "ptrace_scope", lambda: 0)
    assert doctor.memory().status == "problem" and "seccomp" in doctor.memory().change
    monkeypatch.setattr(doctor, "ptrace_scope", lambda: 2)
    assert doctor.memory().status == "problem" and "kernel.yama.ptrace_scope=1" in doctor.memory().change


# ---- What else can be missing ----


def test_a_missing_module_of_the_suite(tmp_path):
    (tmp_path / "jinja2.py").write_text(
        "raise ModuleNotFoundError('No module named jinja2', name='jinja2')\n"
    )
    checks, status = found(env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert status == exits.FAILED and checks["run"]["status"] == "ok"
    assert checks["conform"]["change"] == "install python3-jinja2"


def test_missing_programs_are_notes(tmp_path):
    checks, status = found(env={**os.environ, "PATH": str(tmp_path)})
    assert status == exits.OK
    assert checks["wave -o FILE.fst"]["change"] == "install gtkwave"
    assert checks["wave -o FILE.fst"]["status"] == "note"


def test_few_descriptors():
    few = (doctor.FILES // 2,) * 2
    checks, _ = found(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few))
    assert checks["files"]["status"] == "note" and f"hard limit {few[1]}" in checks["files"]["text"]


@pytest.mark.parametrize("base, words", [("/proc", "no folder"), ("/nowhere", "no folder")])
def test_no_folder_for_machines(monkeypatch, base, words):
    monkeypatch.setattr(machine_folder, "bases", lambda: [base])
    assert (
        doctor.folder().status == "problem"
        and words in doctor.folder().text
        and base in doctor.folder().change
    )


def test_a_build_without_its_programs(tmp_path):
    class Build:
        build = str(tmp_path)

    check = doctor.run(Build)
    assert check.status == "problem" and f"{tmp_path}/bin/hcasim: No such file" in check.text


def test_version():
    first, second = hcasim("--version").stdout.splitlines()
    commit = subprocess.run(
        ["git", "-C", TOP, "describe", "--always", "--dirty", "--tags"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    version = re.search(r"project\(hcasim VERSION (\S+)", (TOP / "CMakeLists.txt").read_text())[1]
    assert first == f"hcasim {version}, commit {commit or 'unknown'}"
    assert re.fullmatch(r"rdma-core \d+\.\d+ of this build(, \d+\.\d+ of the system)?", second)
