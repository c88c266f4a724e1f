# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A part of the cells on other devices than hcasim's own, different for each commit; the nightly run has all (docs/ci.md)."""
import subprocess
from pathlib import Path

import pytest

from commit_part import part
from hcasim_conform.report import results
from hcasim_conform.run import dut

# DUT, number of parts, the fewest cells of a part that pass, and that are known differences
DUTS = [("soft-roce", 4, 500, 500), ("mlx5", 8, 1000, 700), ("rxe", 1, 4000, 2000)]
# Two device families on one wire: a commit has one of these. 5 and 7 have no factor in common with their number, so that
# each part has its turn.
MIXED = [
    ("native-mlx5", 1, 18000, 20),
    ("native-rxe", 1, 6000, 5),
    ("mlx5-native", 7, 1200, 800),
    ("mlx5-rxe", 5, 500, 350),
    ("rxe-native", 1, 4000, 2000),
    ("rxe-mlx5", 1, 3500, 2000),
]
# The providers of other releases of rdma-core: a commit has one of these.
RELEASES = [
    ("mlx5-44", 25, 300, 200),
    ("rxe-44", 3, 1000, 500),
    ("mlx5-65", 25, 300, 200),
    ("rxe-65", 3, 1000, 500),
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


def test_another_release(build, tmp_path):
    row = RELEASES[part(len(RELEASES)) - 1]
    libraries = Path(dut.load(row[0]).env["LD_LIBRARY_PATH"])
    if not [*libraries.glob("libmlx5-rdmav*"), *libraries.glob("libibverbs/libmlx5-rdmav*")]:
        pytest.skip(f"{row[0]}: that release is not here")
    run_a_part(*row, build, tmp_path)
