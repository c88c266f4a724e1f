# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The suite as a pytest session: spec/wr.yaml is the test file, a row of it on a QP type is a test.

Cells run in the background, a group per runner process, as many at a time as there are cores. There may be
hundreds of thousands: pytest waits for the cells of a row, counts it and gives the exit status.

A cell that fails is repeated in another process. If it fails only sometimes, it is flaky.
"""
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from hcasim_conform.run import drive
from hcasim_conform.run.device import Device, DeviceError
from hcasim_conform.model.tables import SPEC
from hcasim_conform.report.results import RED, observations

MANY = 25000  # above this number, cells that pass have no list of calls
NAMED = 10  # failing cells named in a test's message
NOT_RUN = "not run"  # the outcome of a cell that has none, for --maxfail


class CellsFailed(Exception):
    """Cells had an unexpected outcome."""


class RowItem(pytest.Item):
    """The cells of one API, row of the table and QP type."""

    def __init__(self, *, cells, **kwargs):
        super().__init__(**kwargs)
        self.cells = cells

    def runtest(self):
        bad = list(filter(None, map(self._complaint, self.cells)))
        if bad:
            more = [f"and {len(bad) - NAMED} more"] if len(bad) > NAMED else []
            raise CellsFailed("\n".join(bad[:NAMED] + more))

    def _complaint(self, cell):
        outcome, result, reason = self.config.conform.wait(cell)
        if outcome == "fail":
            return f"{cell.id}: {'; '.join(result.faults)}"
        if outcome == "unexpected":
            return f"{cell.id}: passes, but the DUT file lists it as a known difference: {reason}"
        return None

    def repr_failure(self, excinfo):
        return str(excinfo.value)

    def reportinfo(self):
        return self.path, None, self.name


class CellFile(pytest.File):
    def collect(self):
        rows = {}
        for cell in self.config.conform.cells:
            rows.setdefault(f"{cell.api}/{cell.short}/{cell.qpt.lower()}", []).append(cell)
        for name, cells in rows.items():
            yield RowItem.from_parent(self, name=name, cells=cells)


class Lacks:
    """Dut.lacks(), cached for cells of a block that do not differ in its inputs."""

    def __init__(self, dut):
        self.dut = dut
        self.known = {}

    def __call__(self, cell):
        block = getattr(cell, "block", None)
        if not block:
            return self.dut.lacks(cell)
        key = (id(block), cell.where[0], cell.flags, cell.region.id)
        if key not in self.known:
            self.known[key] = self.dut.lacks(cell)
        return self.known[key]


class Session:
    """The plugin: collects the selected cells, runs them, keeps the outcomes."""

    def __init__(self, selection, dut, bin_dir, jobs, progress, repeat=1, maxfail=None):
        self.cells = selection.cells
        self.dut = dut
        self.bin_dir = bin_dir
        # runners on the same device would receive each other's raw Ethernet frames
        self.jobs = jobs if dut.start else 1
        self.progress = progress
        self.repeat = repeat
        self.maxfail = maxfail
        self._failing = set()  # ids
        self.how = {"seed": selection.seed, "brief": len(self.cells) > MANY}
        self.faults = []  # faults that belong to no cell
        self.outcomes = {}  # id -> (outcome, Result, reason)
        self.skipped = {}  # id -> reason: the device cannot run it
        self._results = {}  # id -> results of the cell so far
        self.device = Device(dut, bin_dir)
        self.error = None  # why there is no device
        self.ready = lambda: None  # called when there is one
        self._ready = threading.Condition()
        self._pool = None

    # -- pytest hooks
    def pytest_configure(self, config):
        config.conform = self

    def pytest_collect_file(self, file_path, parent):
        if file_path == SPEC:
            return CellFile.from_parent(parent, path=file_path)
        return None

    def pytest_collection_finish(self, session):
        try:
            self.faults += self.device.start()
        except DeviceError as error:
            self.error = str(error)
            pytest.exit(self.error)
        self.ready()
        self.progress.start(len(self.cells))
        self._pool = ThreadPoolExecutor(self.jobs)
        groups = drive.groups(self._supported(), self.jobs)
        # The suites' take the longest: first, so that no core waits for one of them at the end.
        for group in sorted(groups, key=lambda cells: cells[0].api != "suite"):
            self._pool.submit(self._run_group, group)

    def pytest_sessionfinish(self):
        if self._pool:
            self._pool.shutdown(cancel_futures=True)
            self.progress.stop()
        self.device.stop()

    # -- outcomes
    def _supported(self):
        """The cells that the device can run; the others are skipped, with the reason."""
        supported, lacks = [], Lacks(self.dut)
        for cell in self.cells:
            reason = lacks(cell)
            if reason is None:
                supported.append(cell)
            else:
                self.skipped[cell.id] = reason
                self._settle(cell, "skipped", drive.Result(True), reason)
        return supported

    def _run_group(self, cells):
        try:
            runs = [self._drive(cells) for _ in range(self.repeat)]
            red = [cell for cell in cells if cell.id in self._results]
            if self.repeat == 1 and red and not runs[0].stuck.hopeless:
                self._drive(red, again=True)
        except Exception as error:  # every cell needs an outcome, even after an error of the suite
            for cell in cells:
                if cell.id not in self.outcomes:
                    self._decide(cell, [drive.failed(f"the suite itself failed: {error!r}")])
        finally:
            self._settle_rest(cells)

    def _drive(self, cells, again=False):
        run = drive.GroupRun(self.dut, self.bin_dir, cells, self._report, self.faults.append, self.how)
        if not again:
            run.enough, run.stop = self._enough, self._full
        run.run()
        return run

    def _settle_rest(self, cells):
        """Cells that fail and were not repeated; after --maxfail also those that were not run as often as they should be."""
        for cell in (cell for cell in cells if cell.id not in self.outcomes):
            results = self._results.pop(cell.id, [])
            if any(self._outcome(cell, result) in RED for result in results):
                self._decide(cell, results)
            else:
                self._settle(cell, NOT_RUN, drive.Result(True), None)

    def _full(self):
        return self.maxfail is not None and len(self._failing) >= self.maxfail

    def _enough(self, cell, result):
        """The taps may still have to judge the result: they find only more faults."""
        if self.maxfail is not None and self._outcome(cell, result) in RED:
            self._failing.add(cell.id)
        return self._full()

    def _report(self, cell, result):
        results = self._results.setdefault(cell.id, [])
        results.append(result)
        self._enough(cell, result)
        wanted = self.repeat
        if wanted == 1 and self._outcome(cell, results[0]) in RED:
            wanted = 2
        if len(results) == wanted:
            self._decide(cell, self._results.pop(cell.id))

    def _outcome(self, cell, result):
        difference = self.dut.difference(cell)
        if difference:
            return difference.outcome(result)
        return "pass" if result.passed else "fail"

    def _decide(self, cell, results):
        outcomes = [self._outcome(cell, result) for result in results]
        red = sum(outcome in RED for outcome in outcomes)
        if 0 < red < len(results):
            outcome, result = "flaky", self._of_all_runs(outcomes, results)
        else:
            result = drive.worst(results)
            outcome = self._outcome(cell, result)
        explained = outcome in ("known", "unexpected")
        if explained and self.dut.difference(cell).race:
            result.observed = None  # what such a cell sees differs from run to run
        self._settle(cell, outcome, result, self.dut.difference(cell).reason if explained else None)

    @staticmethod
    def _of_all_runs(outcomes, results):
        """The result of a flaky cell: that of the first run that fails, and what each run has seen."""
        runs = [
            {"outcome": outcome, "seen": r.seen, "faults": r.faults, "observed": observations(r)}
            for outcome, r in zip(outcomes, results)
        ]
        first = next(r for outcome, r in zip(outcomes, results) if outcome in RED)
        return replace(first, observed=None, runs=runs)

    def _settle(self, cell, outcome, result, reason):
        with self._ready:
            self.outcomes[cell.id] = (outcome, result, reason)
            self._ready.notify_all()
        if outcome != NOT_RUN:
            self.progress.advance(outcome)

    def failures(self, cell):
        """How many runs of a cell failed."""
        outcome, result, _ = self.outcomes[cell.id]
        if outcome == "flaky":
            return sum(run["outcome"] in RED for run in result.runs)
        return self.repeat if outcome in RED else 0

    def wait(self, cell):
        with self._ready:
            self._ready.wait_for(lambda: cell.id in self.outcomes)
            return self.outcomes[cell.id]


def run(session):
    """Runs a pytest session of these cells; returns pytest's exit status, 0 when there is nothing to run."""
    if not session.cells:
        session.ready()
        return 0
    args = [str(SPEC), f"--rootdir={SPEC.parent}", "--noconftest", "-c", "/dev/null", "--capture=no"]
    args += ["-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:warnings", "-p", "no:faulthandler"]
    return int(pytest.main(args, plugins=[session]))
