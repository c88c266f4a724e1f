# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A part of --exhaustive, another one each night."""
import subprocess

from parts import part
from hcasim_conform.report import results

PARTS = 50


def test_a_part_of_the_exhaustive_set(build, tmp_path):
    shard = f"{part(PARTS)}/{PARTS}"
    command = [
        build / "bin" / "hcasim",
        "conform",
        "--strict",
        "--exhaustive",
        "--tap",
        "--shard",
        shard,
        "--out",
        tmp_path,
    ]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    data = results.load(tmp_path / "results.json")
    assert data["mode"] == "exhaustive" and data["shard"] == [part(PARTS), PARTS]
    assert data["summary"]["cells"] == data["summary"]["pass"] > 4000
    # the parts together are all cells that are defined
    undefined = sum(n for reason, n in data["counts"]["left_out"].items() if reason.startswith("UNDEFINED"))
    assert data["counts"]["exist"] - undefined >= PARTS * (data["summary"]["cells"] - 1)
