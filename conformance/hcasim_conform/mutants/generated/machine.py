# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The device with mutants: a machine that runner processes start on, and the map by which a mutant is chosen."""
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
SIZE = 1 << 19  # switch.h: the number that is chosen, then a byte for each mutant
HEAD = 4
START = 30  # seconds in which it starts
HOLD = [
    "sh",
    "-c",
    "env -0; exec cat",
]  # says what a program on the machine is started with; lives until stdin ends


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
        self.map[:HEAD] = struct.pack("=I", number)

    def take(self, ranges):
        """What was reached, a byte a mutant, for (first number, count) ranges; and forgets it."""
        found = b"".join(self.map[HEAD + first : HEAD + first + count] for first, count in ranges)
        self.map[HEAD:] = bytes(SIZE - HEAD)
        return found

    def close(self):
        self.map.close()
        self.file.close()


def on(dut, machine):
    """The device for runners on this machine: it is there already, and what they wait for needs a processor, too."""
    there = copy.copy(dut)
    there.env, there.start, there.faults_start = machine.env, [], []
    there.groups = machine.groups()
    return there


class Machine:
    """What the DUT file starts, kept; runners are started on it with the environment that it gives."""

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
        self.env = dict(line.split("=", 1) for line in self._said().split("\0") if "=" in line)
        if "HCASIM_RUNTIME" not in self.env:
            self.end()
            raise MachineError("the machine did not start")

    def _said(self):
        """The environment; what was read ends with a variable that is whole."""
        said = b""
        while select.select([self.process.stdout], [], [], START)[0]:
            chunk = os.read(self.process.stdout.fileno(), 65536)
            said += chunk
            if not chunk or (b"HCASIM_RUNTIME=" in said and said.endswith(b"\0")):
                break
        return said.decode(errors="replace")

    def groups(self):
        """The process groups of all that it consists of."""
        found = {self.process.pid}
        for pid in descendants(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                found.add(os.getpgid(pid))
        return sorted(found)

    def alive(self):
        return self.process.poll() is None

    def end(self):
        """At once, whatever a mutant keeps it from doing."""
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
        """The device's own, which it cannot remove any more."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            shutil.rmtree(words[words.index("--runtime") + 1], ignore_errors=True)


def descendants(pid):
    """proc(5): the parent is the second word behind the name, which is in parentheses and may hold anything."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            parent = stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(stat.parent.name))
    found = [pid]
    for process in found:
        found += children.get(process, [])
    return found[1:]
