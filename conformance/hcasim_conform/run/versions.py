# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Versions that a result depends on: of the suite, the rdma-core libraries and the machine."""
import os
import platform

from hcasim_cli import versions
from hcasim_cli.build import load

UNKNOWN = "unknown"


def hcasim(build):
    """The commit that was built, or else the version."""
    return build.commit or build.version if build else UNKNOWN


def rdma_core(build, env):
    """The version in LD_LIBRARY_PATH of a DUT file or of the user, or the one of the build, or the system's."""
    folders = {**os.environ, **env}.get("LD_LIBRARY_PATH", "").split(":")
    named = [versions.release(f"{folder}/{versions.LIBRARY}") for folder in folders if folder]
    ours = versions.of_build(build) if build else None
    return next(filter(None, [*named, ours]), None) or versions.of_system() or UNKNOWN


def collect(bin_dir, env):
    build = load(os.path.dirname(bin_dir))
    return {
        "hcasim": hcasim(build),
        "rdma-core": rdma_core(build, env),
        "kernel": os.uname().release,
        "python": platform.python_version(),
    }
