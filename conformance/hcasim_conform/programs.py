# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Where the programs of the build are."""
import os
from pathlib import Path

RUNNER = "hcasim-conform-runner"


def folder():
    """That of HCASIM_BUILD, or of the release build."""
    build = os.environ.get("HCASIM_BUILD")
    return Path(build) / "bin" if build else Path(__file__).resolve().parents[2] / "build" / "release" / "bin"
