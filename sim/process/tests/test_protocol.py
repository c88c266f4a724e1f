# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Hostile messages on the control channel, hostile entries in the ring: the device process goes on."""
import sys

import pytest

from conftest import HERE, hcasim_run

FUZZ = HERE / "fuzz.py"


@pytest.mark.parametrize("traced", [False, True])
def test_fuzz(traced, tmp_path):
    trace = ["--trace", tmp_path] if traced else []
    result = hcasim_run(sys.executable, FUZZ, "20260", options=["--hcas", "2", *trace])
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.endswith("alive\n")


def test_wrong_messages_are_named():
    result = hcasim_run(sys.executable, FUZZ, "0")
    assert result.returncode == 0
    assert "control message of 7 bytes" in result.stderr
