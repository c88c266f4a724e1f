# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Time limits count time that a cell's processes could run: a busy host fails no cell, and a hang ends on any host."""
import multiprocessing
import os
import time

import pytest

from hcasim_conform.run import drive
from hcasim_conform.run.watchdog import LEAST, SLICES, Watchdog, held_up
from test_driver import FIRST, SECOND, conform, outcomes, row_of  # noqa: F401


def spin(parent):
    """Until it is killed, or the test was."""
    os.setpgid(0, 0)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    while os.getppid() == parent:
        pass


@pytest.fixture
def crowd():
    """Busy processes, all on the first processor, each in its own process group."""
    others = [multiprocessing.Process(target=spin, args=(os.getpid(),), daemon=True) for _ in range(4)]
    for other in others:
        other.start()
    yield others
    for other in others:
        other.kill()
        other.join()


def test_waiting_for_a_processor_is_seen(crowd):
    one = crowd[0].pid
    while one not in {os.getpgid(other.pid) for other in crowd}:  # the process has started
        pass
    before, begin = held_up([one]), time.monotonic()
    crowd[1].join(1)  # the process does not end, so this waits a second
    after = held_up([one])
    assert set(after) == {str(one)}  # and no others
    assert after[str(one)] - before[str(one)] > 0.5 * (time.monotonic() - begin)


def test_silence_of_processes_that_could_run():
    """The group is empty, so no process waits for a processor."""
    watchdog = Watchdog([2**30], 8)
    assert watchdog.slice * SLICES == 8
    assert [watchdog.expired() for _ in range(SLICES)] == [False] * (SLICES - 1) + [True]


def test_silence_of_processes_that_could_not_run(monkeypatch):
    """The processes wait for a processor all the time; the limit is reached nevertheless."""
    held = 0.0

    def starving(_):
        nonlocal held
        held += 1
        return {"1": held}

    monkeypatch.setattr("hcasim_conform.run.watchdog.held_up", starving)
    watchdog, slices = Watchdog([1], SLICES), 1
    while not watchdog.expired():
        slices += 1
    assert SLICES / 2 / LEAST < slices <= SLICES / LEAST


def test_a_slow_cell_on_a_busy_host_is_no_hang(crowd, conform, monkeypatch):  # noqa: F811
    make = drive.GroupRun.__init__

    def impatient(self, *args):
        make(self, *args)
        self.silence = 0.6  # more than the cell needs of a free processor, less than of a shared one

    monkeypatch.setattr(drive.GroupRun, "__init__", impatient)
    status, data = conform(FAKE_SLOW=SECOND)
    assert row_of(data, SECOND)["outcome"] == "pass"
    assert status == 0
    assert set(outcomes(data).values()) == {"pass"}
