# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ci/gate, the step of action.yml: hcasim conform on the libraries of an rdma-core tree."""
import os
import subprocess
from pathlib import Path

from conftest import REPO

BUILD = Path(os.environ["HCASIM_BUILD"])
TREE = Path(os.environ["RDMA_CORE_BUILD"])
CELL = "suite/cq/rc/resize"


def gate(*arguments):
    env = {**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}
    command = [str(REPO / "ci/gate"), *map(str, arguments)]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_build_folder_and_baseline(tmp_path):
    options = ["--no-tap", "-k", CELL, "--jobs", "1"]
    accepted = gate(TREE, "mlx5", *options, "--out", tmp_path / "accepted")
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    again = gate(TREE, "mlx5", *options, "--out", tmp_path / "again", "--diff", tmp_path / "accepted")
    assert again.returncode == 0 and "worse" in again.stdout, again.stdout + again.stderr


def test_libraries_of_the_tree(tmp_path):
    """One that cannot be loaded is not replaced by another one."""
    library = tmp_path / "lib/libibverbs.so.1"
    library.parent.mkdir()
    library.write_text("no library")
    done = gate(tmp_path, "mlx5", "--no-tap", "-k", CELL, "--out", tmp_path / "out")
    assert done.returncode and "libibverbs.so.1" in done.stdout + done.stderr, done.stdout + done.stderr


def test_no_tree(tmp_path):
    for arguments, words in (
        ([tmp_path, "mlx5"], f"RDMA-CORE '{tmp_path}': neither a build folder"),
        ([tmp_path], "usage: gate RDMA-CORE DUT"),
        ([TREE, "mlx7"], "mlx7"),
    ):
        done = gate(*arguments)
        assert done.returncode == 2 and words in done.stderr, done.stderr
