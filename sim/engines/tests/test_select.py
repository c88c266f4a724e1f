# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Send engines by name: which ones there are, what is refused, and what a difference of two looks like."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("HCASIM_BUILD", Path(__file__).resolve().parents[3] / "build/release"))
HCASIM = BUILD / "bin/hcasim"
OTHER = BUILD / "sim/engines/tests"
PLANTED = BUILD / "sim/core/tests/libcore_planted.so"  # retries once too often
COUNTERS = BUILD / "bin/hcasim-counters"  # checks the adapter's counters after RC transfers


def run(engine, *command, hcas="1"):
    words = [HCASIM, "run", "--engine", engine, "--hcas", hcas, "--", *command]
    return subprocess.run(words, capture_output=True, text=True)


@pytest.mark.parametrize(
    "engine, status, message",
    [
        ("none", 2, "'none' is unknown; available: c, c:plugin"),
        ("lockstep:none", 2, "'none' is unknown"),
        ("./none.so", 2, "there is no file './none.so'"),
        (f"{BUILD}/bin/hcasim-device", 2, "hcasim-device': cannot be loaded: "),
        (f"{BUILD}/lib/libhcasim_preload.so", 2, "the library has no symbol hcasim_engine_plugin"),
        (f"{OTHER}/other-abi.so", 2, "has ABI version 99 of the engine port, needed is "),
        (f"lockstep:{OTHER}/other-abi.so", 2, "has ABI version 99 of the engine port, needed is "),
        (f"{OTHER}/other-size.so", 2, "was built with another core/engine.h (sizes 8 and "),
        (f"{OTHER}/no-ops.so", 2, "its hcasim_engine_plugin has no ops"),
    ],
)
def test_what_is_no_engine_is_refused(engine, status, message):
    result = run(engine, "/bin/true")
    assert result.returncode == status and message in result.stderr, result.stderr


@pytest.mark.parametrize("engine", ["c", "c:plugin", "lockstep:c", "lockstep:c:plugin"])
def test_engines_work(engine):
    result = run(engine, COUNTERS, hcas="2")
    assert result.returncode == 0, result.stdout + result.stderr


def conform(tmp_path, engine, cell, *options):
    words = [HCASIM, "conform", "--engine", engine, "-k", cell, "--out", tmp_path, "--jobs", "1", *options]
    return subprocess.run(words, capture_output=True, text=True)


def test_a_difference_ends_the_machine_and_is_in_the_report(tmp_path):
    cell = "suite/retry/rc/retry_cnt-1"
    result = conform(tmp_path, f"lockstep:{PLANTED}", cell)
    assert result.returncode == 1, result.stdout + result.stderr
    data = json.loads((tmp_path / "results.json").read_text())
    assert data["dut"]["name"] == "native-libcore-planted-so"
    (record,) = data["cells"]
    # Of the run, or of the cell, if its runner waited for a completion longer than hcasim run for the runner.
    # A cell that fails is repeated, so it may be said of both.
    fault, *_ = [text for text in data["faults"] + record["faults"] if "lockstep" in text]
    assert record["outcome"] == "fail"
    assert "engines c and the second differ: timer: the second calls now, c calls failed" in fault
    assert re.search(r"state of QP \d+ ", fault) and re.search(r"retries +1 +2  <", fault), fault
    assert re.search(r"WQE of QP \d+, index \d+:", fault) and "op SEND" in fault, fault


@pytest.mark.parametrize(
    "dut, message",
    [
        ("device:hcasim0", "--engine c: device:hcasim0 is no simulated adapter"),
        ("soft-roce", "--engine c: DUT 'soft-roce' has no {engine} in its start command"),
    ],
)
def test_devices_without_a_choice_of_engine(tmp_path, dut, message):
    result = conform(tmp_path, "c", "suite/retry/rc/retry_cnt-1", "--dut", dut)
    assert result.returncode == 2 and message in result.stderr, result.stderr
