# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Which mutants each cell reaches: one run of all cells without a mutant, in which the build records them.

The runner writes its lines to a pipe that holds one of them, so that it waits after each cell until its map has been
read. Each cell creates its own QPs, so that mutants in their creation count for every cell that needs it.
"""
import fcntl
import os
import select
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from hcasim_conform.run import drive
from hcasim_conform.run.device import ask

from .machine import REACH, TRIES, Machine, Map, on

HOW = {"seed": 0, "brief": True, "fresh": True, "ready": True}
GROUP = 200  # cells per runner


DIGITS = bytes.maketrans(b"\0\1", b"01")


def packed(seen):
    """One bit for each byte, to save memory: there are thousands of cells."""
    return int(seen.translate(DIGITS)[::-1] or b"0", 2).to_bytes(len(seen) // 8 + 1, "little")


def holds(bits, place):
    return bits[place // 8] >> place % 8 & 1


class Stepped(drive.Process):
    """A runner that stops after each line until it is read: the pipe is O_DIRECT (pipe(2)) and holds one line."""

    @staticmethod
    def pipe():
        read, write = os.pipe2(os.O_CLOEXEC | os.O_DIRECT)
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 1)
        return read, write

    def written(self, seconds):
        """Waits until there is a line, without reading it: the runner cannot continue before it is read."""
        select.select([self.stdout], [], [], seconds)


@dataclass
class Reached:
    """Cells by the set of mutants that they reach; cells with equal sets form a class."""

    ranges: list  # (first number, count) of each file's mutants
    classes: dict = field(default_factory=dict)  # bits, one a mutant -> cells
    always: int = 0  # bits: reached before the first cell or after the last one
    asked: bytes = b""  # bits: reached when the device is queried
    started: bytes = b""  # bits: reached when the machine starts
    cost: dict = field(default_factory=dict)  # id -> microseconds
    red: list = field(default_factory=list)  # (id, fault) of cells that fail without a mutant

    def __post_init__(self):
        self.lock = threading.Lock()
        self.place, at = {}, 0
        for first, count in self.ranges:
            self.place.update((first + i, at + i) for i in range(count))
            at += count

    def add(self, cell, seen, result):
        with self.lock:
            if not result.passed:
                self.red.append((cell.id, "; ".join(result.faults)))
                return
            self.classes.setdefault(packed(seen), []).append(cell)
            self.cost[cell.id] = result.us

    def add_always(self, seen):
        with self.lock:
            self.always |= int.from_bytes(packed(seen), "little")

    def cells(self, number):
        """The cells that reach the mutant; all cells if it is reached before the first one."""
        place = self.place[number]
        found = [cells for seen, cells in self.classes.items() if holds(seen, place)]
        if not found and self.always >> place & 1:
            found = self.classes.values()
        return [cell for cells in found for cell in cells]

    def others(self, number):
        """The remaining ones, if the mutant is reached before the first cell, too: what it did then may show in any."""
        place = self.place[number]
        if not self.always >> place & 1:
            return []
        left = [cells for seen, cells in self.classes.items() if not holds(seen, place)]
        return [cell for cells in left for cell in cells] if len(left) < len(self.classes) else []

    def at_start(self, number):
        return bool(holds(self.started, self.place[number]))

    def when_asked(self, number):
        """Also what the machine's start reaches: the kernel keeps attributes of the device from then on."""
        return bool(holds(self.asked, self.place[number])) or self.at_start(number)


def ranges_of(mutants):
    """(first number, count) of each file, whose numbers have no gaps."""
    files = {}
    for mutant in mutants:
        files.setdefault(mutant.file, []).append(mutant.number)
    return [(min(numbers), max(numbers) - min(numbers) + 1) for numbers in files.values()]


class Run:
    """One machine and its runners."""

    def __init__(self, dut, bin_dir, reached, wire, how=TRIES):
        self.reached = reached
        self.bin_dir = bin_dir
        self.map = Map()
        self.map.record(how)
        self.machine = Machine(dut, bin_dir, self.map, wire)
        self.dut = on(dut, self.machine)

    def group(self, cells):
        left = list(cells)
        while left:
            before = len(left)
            self._once(left)
            if len(left) == before:
                self.reached.add(left.pop(0), b"", drive.failed("the runner did not begin"))

    def _once(self, left):
        process = Stepped(self.dut, self.bin_dir, left, HOW)
        process.written(60)  # "ready": it cannot write "begin" of the first cell yet
        self.reached.add_always(self.map.take(self.reached.ranges))
        seen = current = None
        for line in process.lines(2 + 4 * self.dut.timeout):
            if "begin" in line:
                current = left.pop(0)
                process.written(2 + 4 * self.dut.timeout)
                seen = self.map.take(self.reached.ranges)
            elif "end" in line:
                self.reached.add(current, seen, drive.GroupRun.result(line))
                current = None
        code = process.end()
        if current:
            self.reached.add(current, seen, drive.failed(drive.died(code)))
        self.reached.add_always(self.map.take(self.reached.ranges))

    def ask(self):
        """Records what is reached when the machine starts, and when the device is queried."""
        self.reached.started = packed(self.map.take(self.reached.ranges))
        ask(self.dut, self.bin_dir)
        self.reached.asked = packed(self.map.take(self.reached.ranges))

    def end(self):
        self.machine.end()
        self.map.close()


def pieces(cells):
    """Groups of cells that share a wire; cells of one operation and QP type are spread over all groups."""
    by_wire = {}
    for cell in cells:
        by_wire.setdefault(drive.wire_of(cell), []).append(cell)
    for wire, kind in sorted(by_wire.items()):
        for start in range(0, len(kind), GROUP):
            yield wire, kind[start : start + GROUP]


def reach(dut, bin_dir, cells, mutants, jobs):
    reached = Reached(ranges_of(mutants))

    def one(piece, how=TRIES):
        wire, part = piece
        run = Run(dut, bin_dir, reached, wire, how)
        try:
            run.group(part)
        finally:
            run.end()

    asking = Run(dut, bin_dir, reached, "")
    asking.ask()
    asking.end()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, pieces(cells)))
    # Probes slow the device down: too much for a cell that keeps it busy. Such cells only record what they reach.
    slow, reached.red = {cell for cell, _ in reached.red}, []
    for piece in pieces([cell for cell in cells if cell.id in slow]):
        one(piece, REACH)
    return reached
