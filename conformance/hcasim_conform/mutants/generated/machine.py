# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The device with mutants: a machine for runner processes, and the map that selects a mutant."""
import contextlib
import copy
import mmap
import os
import select
import shutil
import signal
import struct
import subprocess
import tempfile
from pathlib import Path

from hcasim_conform.run import drive

SWITCH = "HCASIM_MUTANT_MAP"
SIZE = (
    1 << 19
)  # switch.h: the selected number, whether it is recorded what is reached, then a byte for each mutant
HEAD = 8
REACH, TRIES = 1, 2  # switch.h: records what is reached; with probes
START = 30  # seconds for its start
GUARDIAN, DEVICE = "hcasim-guard", "hcasim-device"  # names of processes (sim/process/device/guardian.c)
HOLD = [
    "sh",
    "-c",
    "env -0; exec cat",
]  # prints the environment of programs on the machine; runs until stdin ends


class MachineError(Exception):
    """The machine did not start."""


class Map:
    """struct hcasim_mutants of mutants/generated/switch.h, in a file."""

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile(prefix="hcasim-mutants-", dir="/dev/shm")
        self.file.truncate(SIZE)
        self.map = mmap.mmap(self.file.fileno(), SIZE)
        self.path = self.file.name

    def choose(self, number):
        self.map[:HEAD] = struct.pack("=II", number, 0)

    def record(self, how):
        """Selects no mutant and records which ones are reached: REACH or TRIES."""
        self.map[:HEAD] = struct.pack("=II", 0, how)

    def take(self, ranges):
        """Returns and clears what was reached, a byte for each mutant, for (first number, count) ranges."""
        found = b"".join(self.map[HEAD + first : HEAD + first + count] for first, count in ranges)
        self.map[HEAD:] = bytes(SIZE - HEAD)
        return found

    def close(self):
        self.map.close()
        self.file.close()


def on(dut, machine):
    """The DUT for runners on this machine: it is not started again, and its processes count for the watchdog."""
    there = copy.copy(dut)
    there.env, there.start, there.faults_start, there.narrow_start = machine.env, [], [], []
    there.groups = machine.groups()
    return there


class Machine:
    """The machine that the DUT file's command starts; it stays, and runners are started with its environment."""

    def __init__(self, dut, bin_dir, switch, wire=""):
        env = {**drive.environment(dut, bin_dir), SWITCH: switch.path}
        self.process = subprocess.Popen(
            [*dut.start_for(wire), *HOLD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            start_new_session=True,
        )
        self.device = None
        self.env = dict(line.split("=", 1) for line in self._said().split("\0") if "=" in line)
        if "HCASIM_RUNTIME" not in self.env:
            self.end()
            raise MachineError("the machine did not start")

    def _said(self):
        """The environment; the output that was read ends with a complete variable."""
        said = b""
        while select.select([self.process.stdout], [], [], START)[0]:
            chunk = os.read(self.process.stdout.fileno(), 65536)
            said += chunk
            if not chunk or (b"HCASIM_RUNTIME=" in said and said.endswith(b"\0")):
                break
        return said.decode(errors="replace")

    def groups(self):
        """The process groups of all processes of the machine."""
        found = {self.process.pid}
        for pid in descendants(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                found.add(os.getpgid(pid))
        return sorted(found)

    def alive(self):
        return self.process.poll() is None

    def restart(self):
        """Kills the copy that serves (mutants/generated/restart.c): the next one is as the machine was at its start.

        Returns whether there was one. Connections wait for the next copy.
        """
        copy = self._copy()
        if not copy:
            return False
        with contextlib.suppress(ProcessLookupError):
            ended = os.pidfd_open(copy)
            signal.pidfd_send_signal(ended, signal.SIGKILL)
            select.select([ended], [], [])
            os.close(ended)
        return True

    def _copy(self):
        """The process that serves, a child of the one that was initialised."""
        if not self.device:
            guardians = {pid for pid in descendants(self.process.pid) if name(pid) == GUARDIAN}
            found = [child for pid in guardians for child in children(pid) if name(child) == DEVICE]
            self.device = found[0] if found else None
        copies = children(self.device) if self.device else []
        return copies[0] if copies else None

    def end(self):
        """Kills the machine, since a mutant may prevent an orderly end."""
        for pid in descendants(self.process.pid):
            self._forget_folder(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    @staticmethod
    def _forget_folder(pid):
        """Removes the device's folder, which a killed device cannot do."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            shutil.rmtree(words[words.index("--runtime") + 1], ignore_errors=True)


def name(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def children(pid):
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_bytes().split()]
    except OSError:
        return []


def descendants(pid):
    """proc(5): the parent is the second word behind the name, which is in parentheses and may hold anything."""
    of = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            parent = stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[1]
            of.setdefault(int(parent), []).append(int(stat.parent.name))
    found = [pid]
    for process in found:
        found += of.get(process, [])
    return found[1:]
