# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ci/rdma-core-build: what it refuses before it builds."""
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "rdma-core-build"


@pytest.mark.parametrize("names", [("sp ace", "build"), ("source", "sp ace")])
def test_a_path_with_a_space(names, tmp_path):
    source, build = (tmp_path / name for name in names)
    source.mkdir()
    (source / "CMakeLists.txt").write_text('set(PACKAGE_VERSION "56.1")\n')
    result = subprocess.run([SCRIPT, source, build], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert f"'{tmp_path}/sp ace': rdma-core cannot be built in a folder with a space" in result.stderr
    assert not (build / "build-libraries.log").exists()
