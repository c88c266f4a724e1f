# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim doctor: whether hcasim works on this host, found out by trying, and what to change."""
import ctypes
import ctypes.util
import importlib.util
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from . import exits, machine_folder, versions
from .parser import Parser

OK, NOTE, PROBLEM = "ok", "note", "problem"
PR_SET_PTRACER = 0x59616D61  # prctl(2)
LEAST_KERNEL = (5, 3)  # pidfd_open(2)
ELSE = "see the lines above, and docs/troubleshooting.md"
WITHIN = 60  # seconds for each trial
FILES = 1024  # descriptors that a machine with a few programs can need
CELL = "wr/rdma_write/rc/sge/-/signaled"
END = {"port": 1, "gid_index": 0}
QUERY = {"dut": {"requester": {"device": "hcasim0", **END}, "responder": {"device": "hcasim1", **END}}}


class Check(NamedTuple):
    name: str
    status: str
    text: str
    change: str = ""


class Need(NamedTuple):
    command: str
    what: str
    package: str
    found: object  # a function without arguments


def module(name):
    return lambda: importlib.util.find_spec(name)


def program(name):
    return lambda: shutil.which(name)


NEEDS = (
    Need("calibrate --against", "Python module numpy", "python3-numpy", module("numpy")),
    Need("calibrate --fit", "Python module scipy", "python3-scipy", module("scipy")),
    Need("calibrate --html", "Python module matplotlib", "python3-matplotlib", module("matplotlib")),
    Need("wave -o FILE.fst", "program vcd2fst", "gtkwave", program("vcd2fst")),
    Need("run --system-verbs", "the system's libibverbs", "ibverbs-providers", versions.of_system),
    Need(
        "conform --dut soft-roce",
        "program qemu-system-x86_64",
        "qemu-system-x86",
        program("qemu-system-x86_64"),
    ),
    Need("conform --dut soft-roce", "program busybox", "busybox-static", program("busybox")),
)


# ---- The host ----


def kernel():
    about = os.uname()
    text = f"Linux {about.release}, {about.machine}"
    number = tuple(int(word) for word in about.release.split("-")[0].split(".")[:2])
    if about.machine != "x86_64":
        return Check("kernel", PROBLEM, text, "use a host with x86_64 processors")
    if number < LEAST_KERNEL:
        return Check("kernel", PROBLEM, text, f"use Linux {'.'.join(map(str, LEAST_KERNEL))} or later")
    return Check("kernel", OK, text)


def ptrace_scope():
    try:
        return int(Path("/proc/sys/kernel/yama/ptrace_scope").read_text())
    except OSError:
        return 0  # no Yama


class Piece(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def read_parent(libc, source):
    """errno of a read from the parent's memory, in a child process."""
    copy = ctypes.create_string_buffer(len(source))
    here, there = (Piece(ctypes.addressof(b), len(source)) for b in (copy, source))
    count = libc.process_vm_readv(os.getppid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    return ctypes.get_errno() if count != len(source) else 0 if copy.raw == source.raw else 255


def memory_error():
    """errno if a process to which this one gives its memory, as programs give theirs to the device, cannot read it."""
    libc = ctypes.CDLL(None, use_errno=True)
    source = ctypes.create_string_buffer(b"hcasim")
    wait, go = os.pipe()
    child = os.fork()
    if not child:
        os.read(wait, 1)
        os._exit(read_parent(libc, source))
    libc.prctl(PR_SET_PTRACER, child, 0, 0, 0)
    os.write(go, b"x")
    os.close(go)
    os.close(wait)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def passes_memory():
    """Whether a program can open its own memory, to give the descriptor to the device."""
    return os.access("/proc/self/mem", os.R_OK | os.W_OK)


def memory():
    scope, error = ptrace_scope(), memory_error()
    text = (
        f"process_vm_readv: {os.strerror(error) if error else 'works'}; kernel.yama.ptrace_scope is {scope}"
    )
    if not error:
        return Check("memory", OK, text)
    if passes_memory():
        return Check("memory", NOTE, f"{text}; programs pass a descriptor of /proc/self/mem instead")
    if scope > 1:
        return Check(
            "memory", PROBLEM, text, "sysctl kernel.yama.ptrace_scope=1, or give the capability SYS_PTRACE"
        )
    allow = "allow process_vm_readv and process_vm_writev in the container's seccomp profile"
    return Check("memory", PROBLEM, text, allow)


def limits():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = f"{soft} open files, hard limit {hard}"
    if 0 <= hard < FILES:
        yield Check(
            "files",
            NOTE,
            text,
            f"raise the hard limit to {FILES} or more, for machines with several programs",
        )
    else:
        yield Check("files", OK, text)
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    text = "no limit" if locked == resource.RLIM_INFINITY else f"{locked >> 10} KiB"
    yield Check(
        "memlock",
        OK,
        f"{text}: what programs without CAP_IPC_LOCK can register, as on Linux (hcasim run --no-memlock: no limit)",
    )


def folder():
    """Where the socket and the part of /sys of a machine go."""
    bases = machine_folder.bases()
    base = next(filter(machine_folder.has_room, bases), None)
    change = f"free {machine_folder.ROOM >> 20} MiB in one of {', '.join(bases)}"
    if not base:
        return Check("folder", PROBLEM, "no folder for machines has room", change)
    try:
        with tempfile.TemporaryDirectory(prefix=machine_folder.PREFIX, dir=base) as path:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                listener.bind(f"{path}/socket")
    except OSError as error:
        return Check("folder", PROBLEM, f"{base}: {error.strerror}", f"make {base} writable")
    free = shutil.disk_usage(base).free >> 20
    if base == "/tmp":
        return Check("folder", NOTE, f"{base}, {free} MiB free; on a disk machines start slowly", change)
    return Check("folder", OK, f"{base}, {free} MiB free")


def ports():
    text = "hcasim uses no TCP or UDP port"
    try:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
            return Check("ports", OK, f"{text}; programs can connect over 127.0.0.1")
    except OSError as error:
        more = f"{text}; ibv_rc_pingpong and others need 127.0.0.1: {error.strerror}"
        return Check("ports", NOTE, more, "ip link set lo up")


# ---- The parts ----


def libraries(build):
    return Check("versions", OK, versions.text(build).replace("\n", "; "))


def sanitizer(build):
    if build.sanitizer_runtime:
        yield Check(
            "sanitizer",
            NOTE,
            f"programs run with {build.sanitizer_runtime}",
            "use another build if they fail",
        )


def run(build):
    """Starts a machine on which a program opens both adapters and creates objects."""
    lines = "".join(json.dumps(line) + "\n" for line in (QUERY, {"query": True}))
    command = [
        f"{build.build}/bin/hcasim",
        "run",
        "--hcas",
        "2",
        "--",
        f"{build.build}/bin/hcasim-conform-runner",
    ]
    try:
        done = subprocess.run(
            command, input=lines, capture_output=True, text=True, timeout=WITHIN, check=False
        )
    except subprocess.TimeoutExpired:
        return Check("run", PROBLEM, f"no answer within {WITHIN} s", ELSE)
    except OSError as error:
        return Check("run", PROBLEM, f"{error.filename}: {error.strerror}", "build or install hcasim again")
    if done.returncode or '"reported"' not in done.stdout:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        return Check("run", PROBLEM, said[-1], ELSE)
    return Check("run", OK, "a program has opened two simulated adapters")


def conform(build):
    """Runs one cell of the conformance suite, in which data is sent."""
    sys.path += build.modules
    faults = []
    try:
        import hcasim_conform.cli  # has all that the command needs
        from hcasim_conform.model.tables import Tables
        from hcasim_conform.run import drive, dut
        from hcasim_conform.select.enumeration import Enumerator
    except ImportError as error:
        return Check("conform", PROBLEM, str(error), f"install python3-{error.name}")
    cell = Enumerator(Tables()).find(CELL)
    device = dut.load("native")
    drive.GroupRun(
        device, f"{build.build}/bin", [cell], lambda _, r: faults.extend(r.faults), faults.append
    ).run()
    if faults:
        return Check("conform", PROBLEM, f"cell {CELL}: {faults[0]}", ELSE)
    return Check("conform", OK, f"cell {CELL} passes")


def needs():
    """What commands need beyond the main ones."""
    for need in NEEDS:
        if not need.found():
            yield Check(need.command, NOTE, f"{need.what} is missing", f"install {need.package}")


def checks(build):
    yield kernel()
    yield memory()
    yield from limits()
    yield folder()
    yield ports()
    yield libraries(build)
    yield from sanitizer(build)
    yield run(build)
    yield conform(build)
    yield from needs()


# ---- The command ----


def works(found):
    return all(check.status != PROBLEM for check in found if check.name in ("run", "conform"))


def parser(_build):
    p = Parser(
        prog="hcasim doctor",
        description="Tries whether hcasim works on this host: starts a machine, opens its adapters, runs a conformance "
        "cell, and looks at what they need. Says what to change. Exits with 0 if run and conform work.",
        epilog="More: docs/troubleshooting.md.",
    )
    p.add_argument("--json", action="store_true", help="print the checks as JSON")
    return p


def show(check):
    print(f"{check.status:8} {check.name}: {check.text}")
    if check.change:
        print(f"{'':8} change: {check.change}")


def main(build, args):
    options = parser(build).parse_args(args)
    found = []
    for check in checks(build):
        found.append(check)
        if not options.json:
            show(check)
    good = works(found)
    if options.json:
        print(json.dumps({"works": good, "checks": [check._asdict() for check in found]}, indent=1))
    else:
        print(
            "hcasim run and hcasim conform work"
            if good
            else "hcasim does not work here: see the problems above"
        )
    return exits.OK if good else exits.FAILED
