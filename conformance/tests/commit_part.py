# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Which part of a long run a commit has: the nightly run has all of them (docs/ci.md)."""
import subprocess

from conftest import REPO


def part(parts):
    """The number of the part, from 1, which depends on the commit. A tree without history has the first."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=REPO, capture_output=True, text=True, check=False)
    return int(done.stdout, 16) % parts + 1 if done.returncode == 0 else 1
