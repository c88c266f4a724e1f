# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The soft-RoCE machine: cells run in it, and a crash of it fails only the cell that caused it."""
import os
import subprocess

import pytest
import yaml

from hcasim_conform.run import dut
from hcasim_conform.report import results

GOOD = ("wr/send/rc/sge/-/signaled", "wr/send/rc/sge/-/solicited", "wr/send/rc/sge/-/fence")
CELL = GOOD[1]


@pytest.fixture
def conform(build, tmp_path):
    def run(*args, **env):
        command = [
            str(build / "bin" / "hcasim"),
            "conform",
            "--strict",
            "--out",
            str(tmp_path),
            "--jobs",
            "1",
            *args,
        ]
        command += ["-k", " or ".join(GOOD)]
        env = {**os.environ, **env}
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=env, check=False)
        data = results.load(tmp_path) if (tmp_path / "results.json").exists() else None
        return done, data

    return run


def failing(data):
    chosen = [row for row in data["cells"] if row["id"] in GOOD]
    assert len(chosen) == len(GOOD)
    return {row["id"]: row["faults"][0] for row in chosen if row["outcome"] != "pass"}


def test_cells_pass_in_the_machine(conform):
    done, data = conform("--dut", "soft-roce")
    assert failing(data) == {}, done.stderr
    assert data["dut"]["name"] == "soft-roce"
    assert "amd64" in data["versions"]["soft-roce kernel"]
    assert {f["capability"] for f in data["findings"]} >= {"operations/RC/FLUSH", "attributes/ATOMIC_WRITE"}
    assert all(f["reason"] for f in data["findings"])


@pytest.mark.parametrize(
    "variable, words",
    [("HCASIM_CONFORM_TEST_CRASH", "SIGABRT"), ("HCASIM_CONFORM_TEST_PANIC", "sysrq triggered crash")],
)
def test_a_crash_of_the_runner_or_the_kernel_costs_its_cell(conform, variable, words):
    done, data = conform("--dut", "soft-roce", **{variable: CELL})
    assert done.returncode == 1
    assert list(failing(data)) == [CELL]
    assert words in failing(data)[CELL]


def test_a_machine_that_stands_still_costs_its_cell(conform, tmp_path):
    doc = {"extends": str(dut.DUTS / "soft-roce.yaml"), "timeout_ms": 2000, "differences": []}
    path = tmp_path / "quick.yaml"
    path.write_text(yaml.safe_dump(doc), encoding="utf-8")
    done, data = conform("--dut", str(path), HCASIM_CONFORM_TEST_HANG=CELL)
    assert done.returncode == 1
    assert list(failing(data)) == [CELL]
    assert "no progress" in failing(data)[CELL]
