# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "tests")]

from by_day import pytest_collection_modifyitems, pytest_configure  # noqa: E402, F401  (hooks of pytest)

BUILD = Path(os.environ["HCASIM_BUILD"])
HCASIM = BUILD / "bin/hcasim"


def hcasim(*words, **more):
    more = {"stdin": subprocess.DEVNULL, **more}
    return subprocess.run([HCASIM, *map(str, words)], capture_output=True, text=True, check=False, **more)
