# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A part of the cells on other devices than hcasim's own; the nightly run has all (docs/testing.md)."""
import subprocess

import pytest

from parts import part
from hcasim_conform.report import results

# DUT, number of parts, the fewest cells of a part that pass, and that are known differences
DUTS = [("soft-roce", 32, 60, 60), ("mlx5", 16, 500, 350), ("rxe", 16, 250, 125)]


@pytest.mark.parametrize("row", DUTS, ids=[row[0] for row in DUTS])
def test_a_part(row, build, tmp_path):
    name, parts, least_pass, least_known = row
    shard = f"{part(parts)}/{parts}"
    command = [
        build / "bin/hcasim",
        "conform",
        "--strict",
        "--dut",
        name,
        "--shard",
        shard,
        "--out",
        tmp_path,
    ]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    summary = results.load(tmp_path / "results.json")["summary"]
    assert summary["pass"] > least_pass and summary["known"] >= least_known and not summary["fail"], summary
