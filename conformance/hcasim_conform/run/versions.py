# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Versions that a result depends on: of the suite, the rdma-core libraries and the machine."""
import ctypes
import json
import os
import platform
import re
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
UNKNOWN = "unknown"


def _about(bin_dir):
    """What the build in `bin_dir` says of itself."""
    try:
        return json.loads((Path(bin_dir).parent / "build.json").read_text(encoding="utf-8"))
    except OSError:
        return {}


def hcasim(bin_dir, top=TOP):
    """The commit of a checkout; of an installed copy, the one that it was installed from, or its version."""
    if (top / ".git").exists():
        git = ["git", "-C", str(top), "describe", "--always", "--dirty", "--tags"]
        try:
            return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            pass
    about = _about(bin_dir)
    return about.get("commit") or about.get("version") or UNKNOWN


def _release(library):
    """The rdma-core of a libibverbs, by its file name: libibverbs.so.1.14.44.0 belongs to rdma-core 44.0."""
    match = re.search(r"\.so\.\d+\.\d+\.(\d[\d.]*)$", os.path.realpath(library))
    return match and match[1]


def _system():
    """The libibverbs that the loader finds by itself, or ''."""
    try:
        ctypes.CDLL("libibverbs.so.1")
    except OSError:
        return ""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    return re.search(r"/\S*/libibverbs\.so\.\S+", maps)[0]


def rdma_core(bin_dir, env):
    """The version in LD_LIBRARY_PATH of a DUT file or of the user, or the one of the build in `bin_dir`, or the system's."""
    folders = {**os.environ, **env}.get("LD_LIBRARY_PATH", "").split(":")
    if ours := _about(bin_dir).get("rdma_core"):
        folders.append(Path(bin_dir).parent / ours / "lib")
    found = [_release(f"{folder}/libibverbs.so.1") for folder in folders if folder]
    return next(filter(None, found), None) or _release(_system()) or UNKNOWN


def collect(bin_dir, env):
    return {
        "hcasim": hcasim(bin_dir),
        "rdma-core": rdma_core(bin_dir, env),
        "kernel": os.uname().release,
        "python": platform.python_version(),
    }
