# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The suite as a pytest session: spec/wr.yaml is the test file, a cell is a test.

pytest gives selection (-k), outcome counting and the exit status; cells run in the background, a group
per runner process, as many at a time as there are cores.
"""
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from . import drive
from .device import Device, DeviceError
from .tables import SPEC


class CellFailure(Exception):
    """A cell did not come out as it must."""


class CellItem(pytest.Item):
    def __init__(self, *, cell, **kwargs):
        super().__init__(**kwargs)
        self.cell = cell

    def runtest(self):
        outcome, result, reason = self.config.conform.wait(self.cell)
        if outcome == "fail":
            raise CellFailure("; ".join(result.faults))
        if outcome == "unexpected":
            raise CellFailure(f"passes, but the DUT file lists it as a known difference: {reason}")
        if outcome == "skipped":
            pytest.skip(reason)

    def repr_failure(self, excinfo):
        return str(excinfo.value)

    def reportinfo(self):
        return self.path, None, self.cell.id


class CellFile(pytest.File):
    def collect(self):
        for cell in self.config.conform.cells:
            yield CellItem.from_parent(self, name=cell.id, cell=cell)


class Session:
    """The plugin: collects the cells, runs what is selected, keeps the outcomes."""

    def __init__(self, cells, dut, bin_dir, jobs, progress):
        self.cells = cells
        self.dut = dut
        self.bin_dir = bin_dir
        # runners that meet on one device would receive each other's raw Ethernet frames
        self.jobs = jobs if dut.start else 1
        self.progress = progress
        self.selected = []
        self.faults = []  # that no cell can be charged with
        self.outcomes = {}  # id -> (outcome, Result, reason)
        self.device = Device(dut, bin_dir)
        self.error = None  # why there is no device
        self._ready = threading.Condition()
        self._pool = None
        self._futures = []

    # -- pytest hooks
    def pytest_configure(self, config):
        config.conform = self

    def pytest_collect_file(self, file_path, parent):
        if file_path == SPEC:
            return CellFile.from_parent(parent, path=file_path)
        return None

    def pytest_collection_finish(self, session):
        self.selected = [item.cell for item in session.items]
        if session.config.option.collectonly:
            return
        try:
            self.faults += self.device.start()
        except DeviceError as error:
            self.error = str(error)
            pytest.exit(self.error)
        self.progress.start(len(self.selected))
        self._pool = ThreadPoolExecutor(self.jobs)
        for group in drive.groups(self._supported()):
            self._futures.append(self._pool.submit(self._run_group, group))

    def pytest_sessionfinish(self):
        if self._pool:
            self._pool.shutdown(cancel_futures=True)
            self.progress.stop()
        self.device.stop()

    # -- outcomes
    def _supported(self):
        """The selected cells that the device can run; the others are skipped, with the reason."""
        supported = []
        for cell in self.selected:
            reason = self.dut.lacks(cell)
            if reason is None:
                supported.append(cell)
            else:
                self._settle(cell, "skipped", drive.Result(True), reason)
        return supported

    def _run_group(self, cells):
        try:
            drive.GroupRun(self.dut, self.bin_dir, cells, self._report, self.faults.append).run()
        except Exception as error:  # a fault of the suite must not leave a cell without an outcome
            for cell in cells:
                if cell.id not in self.outcomes:
                    self._report(cell, drive.failed(f"the suite itself failed: {error!r}"))

    def _report(self, cell, result):
        difference = self.dut.difference(cell)
        if difference:
            outcome = "unexpected" if result.passed else "known"
        else:
            outcome = "pass" if result.passed else "fail"
        self._settle(cell, outcome, result, difference.reason if difference else None)

    def _settle(self, cell, outcome, result, reason):
        with self._ready:
            self.outcomes[cell.id] = (outcome, result, reason)
            self._ready.notify_all()
        self.progress.advance(outcome)

    def wait(self, cell):
        with self._ready:
            self._ready.wait_for(lambda: cell.id in self.outcomes)
            return self.outcomes[cell.id]


def run(session, expression, collect_only=False):
    """Runs a pytest session of these cells; returns pytest's exit status."""
    args = [str(SPEC), f"--rootdir={SPEC.parent}", "--noconftest", "-c", "/dev/null", "--capture=no"]
    args += ["-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:warnings", "-p", "no:faulthandler"]
    if expression:
        args += ["-k", expression]
    if collect_only:
        args += ["--collect-only"]
    return int(pytest.main(args, plugins=[session]))
