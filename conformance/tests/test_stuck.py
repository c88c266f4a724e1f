# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Cells of a group that time out one after another for the same reason: the rest is not run."""
import pytest

from hcasim_conform.run import drive
from hcasim_conform.run import dut

OPERATIONS = ("send", "send_imm", "rdma_write")


@pytest.fixture
def twelve(by_id):
    return [
        by_id[f"wr/{op}/rc/{data}/-/{flags}"]
        for op in OPERATIONS
        for data in ("sge", "inline")
        for flags in ("-", "signaled")
    ]


@pytest.fixture
def run(fake_bin, write_dut, twelve, monkeypatch):
    """Runs the cells as one group: their faults, in order, and the number of processes."""

    def run_group(differences=(), **env):
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        results, starts, make = {}, [], drive.Process.__init__

        def start(self, *args):
            starts.append(1)
            make(self, *args)

        monkeypatch.setattr(drive.Process, "__init__", start)
        device = dut.load(str(write_dut(differences)))
        group = drive.GroupRun(
            device, fake_bin, twelve, lambda c, r: results.setdefault(c.id, r), lambda t: None
        )
        group.silence = 0.5
        group.run()
        assert list(results) == [cell.id for cell in twelve]
        return ["; ".join(result.faults) for result in results.values()], len(starts)

    return run_group


FAULT = "byte 3 <is> wrong"
NOT_RUN = f"not run: cells before it timed out, each for the same reason: {FAULT}"


def ids(cells):
    return " ".join(cell.id for cell in cells)


def test_the_rest_of_a_group_is_not_run(run, twelve):
    """The device is tried once more in a new process."""
    faults, processes = run(FAKE_FAIL=ids(twelve), FAKE_LATE="1")
    assert faults == [FAULT] * 6 + [NOT_RUN] * 6
    assert processes == 2


def test_a_device_that_works_again_in_a_new_process(run, twelve):
    faults, processes = run(FAKE_FAIL=ids(twelve[2:5]), FAKE_LATE="1")
    assert faults == [""] * 2 + [FAULT] * 3 + [""] * 7
    assert processes == 2


def test_cells_that_pass_between(run, twelve):
    faults, _ = run(FAKE_FAIL=ids(twelve[::2] + twelve[1:3]), FAKE_LATE="1")
    assert not [fault for fault in faults if fault.startswith("not run")]


def test_failures_that_are_no_time_out(run, twelve):
    faults, processes = run(FAKE_FAIL=ids(twelve))
    assert faults == [FAULT] * 12 and processes == 1


def test_known_time_outs_do_not_count(run, twelve):
    known = {"clause": "*", "cells": [cell.id for cell in twelve[:11]], "reason": "nothing arrives"}
    faults, processes = run([known], FAKE_FAIL=ids(twelve[:11]), FAKE_LATE="1")
    assert faults == [FAULT] * 11 + [""] and processes == 1


def test_runners_that_hang(run, twelve):
    faults, processes = run(FAKE_HANG=ids(twelve))
    hang = "no progress for 0.5 s, the runner was killed"
    assert faults[:3] == [hang] * 3 and processes == 3
    assert faults[3:] == [NOT_RUN.replace(FAULT, hang)] * 9


def test_faults_that_differ_in_figures_only():
    stuck = drive.Stuck()
    for number in range(drive.Stuck.GIVE_UP):
        assert not stuck.hopeless
        stuck.add(drive.Result(False, faults=[f"wr_id 0x{number}a did not come in {number} ms"], late=True))
    assert stuck.hopeless
    stuck.add(drive.Result(False, faults=["another one"], late=True))
    assert not stuck.hopeless
