# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A part of the cells on other devices than hcasim's own; the nightly run has all (docs/testing.md)."""
import subprocess

import pytest

from parts import part
from hcasim_conform.report import results

# DUT, number of parts, the fewest cells of a part that pass, and that are known differences
DUTS = [("soft-roce", 16, 125, 125), ("mlx5", 8, 1000, 700), ("rxe", 4, 1000, 500)]
# Two device families on one wire: one of these at a time. 5 and 7 have no factor in common with their number, so that
# each part has its turn.
MIXED = [
    ("native-mlx5", 7, 2500, 0),
    ("native-rxe", 1, 6000, 5),
    ("mlx5-native", 7, 1200, 800),
    ("mlx5-rxe", 5, 500, 350),
    ("rxe-native", 1, 4000, 2000),
    ("rxe-mlx5", 1, 3500, 2000),
]


def run_a_part(name, parts, least_pass, least_known, build, out):
    shard = f"{part(parts)}/{parts}"
    command = [build / "bin/hcasim", "conform", "--dut", name, "--shard", shard, "--out", out]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    summary = results.load(out / "results.json")["summary"]
    assert summary["pass"] > least_pass and summary["known"] >= least_known and not summary["fail"], summary


@pytest.mark.parametrize("row", DUTS, ids=[row[0] for row in DUTS])
def test_a_part(row, build, tmp_path):
    run_a_part(*row, build, tmp_path)


def test_a_mixed_wire(build, tmp_path):
    run_a_part(*MIXED[part(len(MIXED)) - 1], build, tmp_path)
