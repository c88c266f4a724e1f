# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Parts that ci/demo does not build: built at their first use, in a build folder."""
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from hcasim_cli import build as builds  # noqa: E402

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(small NONE)
add_custom_target(hcasim-replay COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/bin/hcasim-replay)
"""
ABOUT = {"top": "..", "rdma_core": "", "sanitizer_runtime": "", "version": "0", "commit": "", "families": []}


@pytest.fixture
def build(tmp_path):
    folder = tmp_path / "build"
    (folder / "bin").mkdir(parents=True)
    (folder / "build.json").write_text(json.dumps(ABOUT))
    return builds.load(str(folder))


def configure(build):
    Path(build.top, "CMakeLists.txt").write_text(PROJECT)
    subprocess.run(["cmake", "-S", build.top, "-B", build.build], check=True, capture_output=True)


def test_a_program_is_built_once(build, capfd):
    configure(build)
    assert Path(build.program("hcasim-replay")).exists()
    assert capfd.readouterr().err == "hcasim: building hcasim-replay, once\n"
    build.program("hcasim-replay")
    assert capfd.readouterr().err == ""


def test_a_failed_build_says_why(build, capfd):
    configure(build)
    build.engine("rtl:small")
    assert "engine-rtl-small" in capfd.readouterr().err.split("once\n")[1]


def test_a_copied_build_folder_does_not_build_the_original(build, capfd):
    configure(build)
    copy = Path(build.build).with_name("copy")
    shutil.copytree(build.build, copy)
    copied = builds.load(str(copy))
    assert not Path(copied.program("hcasim-replay")).exists()
    assert f"hcasim-replay is not built, and {copy} is a copy of {build.build}" in capfd.readouterr().err
    assert not Path(f"{build.build}/bin/hcasim-replay").exists()


def test_an_installed_copy_builds_nothing(build, capfd):
    assert not Path(build.program("hcasim-replay")).exists()
    assert capfd.readouterr().err == ""
