# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The worked example of docs/spec.md, "Add an operation": its diffs are applied and the operation works."""
import json
import re
import shutil
import subprocess

import pytest

from conftest import REPO
from hcasim_conform.report import results

PAGE = REPO / "docs" / "spec.md"
MOST_FILES = 14
TARGETS = ("hcasim-device", "hcasim_preload", "hcasim-rdmav34", "hcasim-conform-runner")
KEPT = ("RDMA_CORE_SOURCE", "RDMA_CORE_BUILD", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER")


@pytest.fixture(scope="module")
def diffs():
    """File -> the page's diff for it."""
    section = re.search(r"^## Add an operation\n(.*?)^## ", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    found = re.findall(r"^```diff\n(--- a/(.*?)\n.*?)^```$", section.group(1), re.M | re.S)
    assert len(found) == section.group(1).count("```diff") == len({name for _, name in found})
    return {name: diff for diff, name in found}


def run(*command, **more):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **more
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def tree(build, diffs):
    """A copy of the sources with the diffs applied, in a fixed place, so that unchanged files are not built again."""
    tree = build / "add-operation"
    tree.mkdir(exist_ok=True)
    for path in REPO.iterdir():
        if path.name in ("build", ".git"):
            continue
        if path.is_file():
            shutil.copy2(path, tree / path.name)
            continue
        shutil.rmtree(tree / path.name, ignore_errors=True)
        shutil.copytree(path, tree / path.name, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
    for name, diff in diffs.items():
        done = subprocess.run(
            ["patch", "-p1", "--fuzz=0", "--batch", "--no-backup-if-mismatch"],
            input=diff, cwd=tree, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{PAGE}: the diff of {name} does not apply any more:\n{done.stdout}"
    return tree


@pytest.fixture(scope="module")
def built(build, tree):
    """The programs that the cells need, built with the options of `build`, without optimisation."""
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    kept = dict(re.findall(rf"^({'|'.join(KEPT)}):\w+=(.+)$", cache, re.M))
    folder = tree / "build" / "debug"
    run("cmake", "-S", tree, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DRDMA_CORE_NEWER_SOURCE=",
        *(f"-D{name}={value}" for name, value in kept.items()))  # fmt: skip
    run("cmake", "--build", folder, "--target", *TARGETS)
    return folder


def test_no_more_files_than_that(diffs):
    assert all((REPO / name).is_file() for name in diffs)
    assert len(diffs) <= MOST_FILES


def test_the_operation_works(built, tmp_path):
    """The runner posts it through libibverbs and provider to the device: memory, completions, packets, host link."""
    run(built / "bin" / "hcasim", "conform", "--strict", "-k", "driver1", "--tap", "--out", tmp_path)
    data = results.load(tmp_path / "results.json")
    outcome = {row["id"]: row["outcome"] for row in data["cells"]}
    assert outcome["post/driver1/rc/none/-/signaled"] == "pass"
    assert set(outcome.values()) == {"pass"} and len(outcome) > 100, json.dumps(data["summary"])
