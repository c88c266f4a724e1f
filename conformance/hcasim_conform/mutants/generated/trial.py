# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs a mutant on the cells that reach it until one is red."""
import time
from collections import deque
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from zlib import crc32

from hcasim_conform.run import drive
from hcasim_conform.run import dut as duts
from hcasim_conform.run.device import ask
from hcasim_conform.run.watchdog import held_up
from hcasim_conform.model.axes import SIGNALED
from hcasim_conform.taps import judge as taps

from .machine import Machine, MachineError, Map, on

WAIT = 1.0  # processor seconds until a wait of a cell expires
SILENCE = 6.0  # and until the answer to the query of the device
LIMIT = 30.0  # seconds for all cells of a mutant, some of which only make the device slow; waits for a processor do not count
MOST, TAPPED, WIRED = (
    800,
    60,
    40,
)  # cells that are run for a mutant: plain ones, with taps, on a wire with faults
REMEMBERED = 12  # catching cells remembered for each function
HOW = {"seed": 0, "brief": True}
TRIES = 3  # of a mutant that is listed as equivalent, until the same cell has caught it twice
RENEW = 40  # most runners on one machine, if the device itself has no mutant


@dataclass
class Verdict:
    mutant: object
    outcome: str = "survived"  # caught, survived, unreached, equivalent
    cell: str = ""
    fault: str = ""
    reach: int = 0  # cells that reach it
    run: int = 0
    seconds: float = 0
    kind: str = ""  # of an equivalent one: docs/mutants.md
    reason: str = ""

    def record(self):
        return {**vars(self), "mutant": vars(self.mutant)}


class Catchers:
    """Cells that caught mutants of a function: the most likely to catch the next one."""

    def __init__(self):
        self.of = {}

    def add(self, mutant, cell):
        known = self.of.setdefault((mutant.file, mutant.function), deque(maxlen=REMEMBERED))
        if cell in known:
            known.remove(cell)
        known.appendleft(cell)

    def known(self, mutant):
        return list(self.of.get((mutant.file, mutant.function), ()))


def kind(cell):
    """The kind of a cell; cells of one kind are similar. What must be refused shows other faults than what is executed."""
    return cell.api, cell.short, getattr(cell, "scenario", ""), cell.expect.post


def special(cell):
    """Whether a cell of the matrix has a region or flags of its own: those of its kind that have none come first."""
    return cell.api != "suite" and (cell.variant != "" or cell.flags != SIGNALED)


def order(cells, catchers, most, cost):
    """At most `most` cells: first those that caught others, then one of each kind, cheapest first, then another of each."""
    there = {id(cell) for cell in cells}
    chosen = {cell.id: cell for cell in catchers if id(cell) in there}
    kinds = {}
    for cell in sorted(cells, key=lambda cell: (special(cell), crc32(cell.id.encode()))):  # a fixed order
        kinds.setdefault(kind(cell), []).append(cell)
    for row in zip_longest(*kinds.values()):
        if len(chosen) >= most:
            break
        chosen |= {cell.id: cell for cell in sorted(filter(None, row), key=lambda cell: cost[cell.id])}
    return list(chosen.values())[:most]


class Trial:
    """One machine and one map: mutants one after the other."""

    def __init__(self, name, bin_dir, tables, folder, reached, catchers, most=MOST):
        self.dut = duts.load(name)
        self.dut.timeout = WAIT
        self.dut.runner_line["dut"]["timeout_ms"] = int(WAIT * 1000)
        self.tapped = duts.load(name)
        self.tapped.timeout, self.tapped.runner_line["dut"]["timeout_ms"] = WAIT, int(WAIT * 1000)
        taps.enable(self.tapped, tables, Path(folder))
        self.bin_dir, self.reached, self.catchers, self.most = bin_dir, reached, catchers, most
        self.map = Map()
        self.machine, self.runs, self.wire = None, 0, None

    def twice(self, mutant):
        """As judge(), but caught is what the same cell catches twice: a cell that fails once proves nothing about a reason.

        The cell that caught it is the first of the next trial (Catchers)."""
        found = []
        for _ in range(TRIES):
            verdict = self.judge(mutant)
            if verdict.outcome != "caught" or verdict.cell in found:
                return verdict
            found.append(verdict.cell)
            print(f"once      #{mutant.number} {mutant} by {verdict.cell}: {verdict.fault}", flush=True)
        verdict.outcome = "survived"
        return verdict

    def judge(self, mutant):
        begin = time.monotonic()
        verdict = Verdict(mutant)
        cells = self.reached.cells(mutant.number)
        verdict.reach = len(cells)
        if not cells and not self.reached.when_asked(mutant.number):
            verdict.outcome = "unreached"
            return verdict
        self.until, self.waited, self.stopped = begin + LIMIT, 0, False
        self.map.choose(mutant.number)
        others = self.reached.others(mutant.number)
        for wire, some in chain(self._batches(mutant, cells), self._batches(mutant, others)):
            if verdict.outcome == "caught" or self._late():
                break
            self._plain(verdict, wire, some)
        if verdict.outcome != "caught" and self.reached.when_asked(mutant.number):
            self._ask(verdict)
        if verdict.outcome != "caught" and not self._late():
            self._taps(verdict, self._order(mutant, [c for c in cells if not drive.wire_of(c)], TAPPED))
        self.map.choose(0)
        verdict.seconds = time.monotonic() - begin
        return verdict

    def _late(self):
        if time.monotonic() < self.until:
            return False
        groups = set(self.machine.groups()) if self.machine else set()
        waited = max(held_up(groups).values(), default=0)
        self.until += max(waited - self.waited, 0)
        self.waited = waited
        return time.monotonic() > self.until

    def _order(self, mutant, cells, most):
        return order(cells, self.catchers.known(mutant), most, self.reached.cost)

    def _batches(self, mutant, cells):
        """(wire, cells): the plain wire first."""
        for wire in sorted({drive.wire_of(cell) for cell in cells}):
            part = [cell for cell in cells if drive.wire_of(cell) == wire]
            yield wire, self._order(mutant, part, WIRED if wire else self.most)

    def _taken(self, verdict):
        """Callbacks for results, and for complaints about a runner that failed after its last cell."""

        def take(cell, result):
            verdict.run += 1
            if not result.passed and verdict.outcome != "caught":
                verdict.outcome, verdict.cell, verdict.fault = "caught", cell.id, "; ".join(result.faults)
                self.catchers.add(verdict.mutant, cell)
                self.broken |= result.late
                self.current.left.clear()

        def complain(text):
            if verdict.outcome != "caught" and not self.stopped:
                verdict.outcome, verdict.cell, verdict.fault = "caught", "", text
                self.broken = True

        return take, complain

    def _enough(self, _, result):
        self.stopped = self._late()  # its runner is then ended, which says nothing about the mutant
        return self.stopped or not result.passed

    def _plain(self, verdict, wire, cells):
        self.broken = False
        take, complain = self._taken(verdict)
        dut = self._on_machine(verdict, wire, complain)
        if not dut:
            return
        self._run(dut, cells, take, complain, self._enough)
        self._renew(verdict.mutant)

    def _renew(self, mutant):
        """After a mutant of the device nothing of its state stays; a device without one serves many runners."""
        if self.reached.at_start(mutant.number):
            self._end_machine()
        elif (self.broken or mutant.part != "provider") and not self.machine.restart():
            self._end_machine()

    def _on_machine(self, verdict, wire, complain):
        """None if a mutant prevents the machine's start."""
        if self.reached.at_start(verdict.mutant.number):
            self._end_machine()
        try:
            return self._machine(wire)
        except MachineError as error:
            complain(str(error))
        self.map.choose(0)
        self._machine(wire)  # without a mutant the device must start, else the run ends here with an error
        self._end_machine()
        self.map.choose(verdict.mutant.number)
        return None

    def _machine(self, wire):
        self.runs += 1
        if self.machine and (self.wire != wire or not self.machine.alive()):
            self._end_machine()
        if self.machine and self.runs > RENEW:
            self.runs = 0
            if not self.machine.restart():
                self._end_machine()
        if not self.machine:
            self.machine, self.wire, self.runs = Machine(self.dut, self.bin_dir, self.map, wire), wire, 0
        return on(self.dut, self.machine)

    def _end_machine(self):
        if self.machine:
            self.machine.end()
        self.machine = None

    def _ask(self, verdict):
        """Whether the device reports what the DUT file declares: a run checks this before its cells."""
        self.broken = self.stopped = False
        complain = self._taken(verdict)[1]
        dut = self._on_machine(verdict, "", complain)
        if not dut:
            return
        answer = ask(dut, self.bin_dir, SILENCE)
        found = dut.learn(answer.reported) + dut.new_findings() if answer.reported else [answer.complaint]
        if found:
            complain(f"the device's own report: {found[0]}")
        self._renew(verdict.mutant)

    def _taps(self, verdict, cells):
        """Runs cells again with wire and host link judged: one machine for each runner, since it writes the traces."""
        self.broken = False
        take, complain = self._taken(verdict)
        self.tapped.env["HCASIM_MUTANT_MAP"] = self.map.path
        if cells:
            self._run(self.tapped, cells, take, complain, self._enough)

    def _run(self, dut, cells, take, complain, enough):
        run = self.current = drive.GroupRun(dut, self.bin_dir, cells, take, complain, HOW)
        run.enough = enough
        run.run()

    def end(self):
        self._end_machine()
        self.map.close()
