# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Versions that a result depends on: of the suite, the rdma-core libraries and the machine."""
import os
import platform
import re
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
UNKNOWN = "unknown"


def _found(path, pattern):
    try:
        match = re.search(pattern, path.read_text(encoding="utf-8"), re.M)
    except OSError:
        return None
    return match and match[1]


def hcasim(top=TOP):
    """The commit of a checkout; of an unpacked archive, the version that its build file names."""
    try:
        git = ["git", "-C", str(top), "describe", "--always", "--dirty", "--tags"]
        done = subprocess.run(git, capture_output=True, text=True, check=True)
        return done.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return _found(top / "CMakeLists.txt", r"^project\(hcasim VERSION ([\d.]+)") or UNKNOWN


def _installed(folder):
    """The installed rdma-core, by file name: libibverbs.so.1.14.44.0 belongs to rdma-core 44.0."""
    match = re.search(r"\.so\.\d+\.\d+\.(\d[\d.]*)$", os.path.realpath(f"{folder}/libibverbs.so.1"))
    return match and match[1]


def rdma_core(bin_dir, env):
    """The version in LD_LIBRARY_PATH of a DUT file or of the user, or of the source tree that the build in `bin_dir` uses."""
    for folder in filter(None, {**os.environ, **env}.get("LD_LIBRARY_PATH", "").split(":")):
        if _installed(folder):
            return _installed(folder)
    source = _found(Path(bin_dir).parent / "CMakeCache.txt", r"^RDMA_CORE_SOURCE:PATH=(.*)$")
    return source and _found(Path(source) / "CMakeLists.txt", r'^set\(PACKAGE_VERSION "([^"]+)"\)') or UNKNOWN


def collect(bin_dir, env):
    return {
        "hcasim": hcasim(),
        "rdma-core": rdma_core(bin_dir, env),
        "kernel": os.uname().release,
        "python": platform.python_version(),
    }
