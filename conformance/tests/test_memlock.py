# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The limit of locked memory in a conformance run."""
import resource
from types import SimpleNamespace

import pytest

from hcasim_conform.run import memlock


@pytest.fixture(name="limit")
def limits(monkeypatch):
    """Sets the limit that the run finds, and returns what it sets."""
    done = []

    def find(hard, mighty=False):
        monkeypatch.setattr(resource, "getrlimit", lambda what: (65536, hard))
        monkeypatch.setattr(resource, "setrlimit", lambda what, pair: done.append(pair))
        monkeypatch.setattr(memlock, "_may_lock_any", lambda: mighty)
        return done

    return find


def device(*words):
    return SimpleNamespace(
        start=[*words, "--"], tap_start=[*words, "t", "--"], faults_start=None, narrow_start=None
    )


@pytest.mark.parametrize("hard, mighty", [(1 << 30, False), (resource.RLIM_INFINITY, False), (8 << 20, True)])
def test_enough(limit, hard, mighty):
    done, dut = limit(hard, mighty), device("hcasim", "run")
    assert memlock.allow(dut) is None
    assert done == [(hard, hard)] and dut.start == ["hcasim", "run", "--"]


def test_not_enough(limit):
    limit(8 << 20)
    dut = device("hcasim", "run")
    assert memlock.allow(dut) == (
        "RLIMIT_MEMLOCK is 8192 KiB here, cells register more: hcasim run --no-memlock"
    )
    assert dut.start == ["hcasim", "run", "--no-memlock", "--"]
    assert dut.tap_start == ["hcasim", "run", "--no-memlock", "t", "--"]


def test_another_device(limit):
    limit(8 << 20)
    dut = device("softroce", "run")
    assert memlock.allow(dut) is None and dut.start == ["softroce", "run", "--"]
