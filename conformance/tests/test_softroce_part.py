# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A part of the cells on soft-RoCE, different for each commit; the nightly run has all (docs/ci.md)."""
import subprocess

from commit_part import part
from hcasim_conform.report import results

PARTS = 4


def test_a_part_on_soft_roce(build, tmp_path):
    shard = f"{part(PARTS)}/{PARTS}"
    command = [build / "bin/hcasim", "conform", "--dut", "soft-roce", "--shard", shard, "--out", tmp_path]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    summary = results.load(tmp_path / "results.json")["summary"]
    assert summary["pass"] > 500 and summary["known"] > 500 and not summary["fail"], summary
