# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Versions of hcasim and of rdma-core; hcasim --version."""
import ctypes
import os
import re

LIBRARY = "libibverbs.so.1"


def release(library):
    """The rdma-core of a libibverbs, by its file name: libibverbs.so.1.14.44.0 belongs to rdma-core 44.0."""
    match = re.search(r"\.so\.\d+\.\d+\.(\d[\d.]*)$", os.path.realpath(library))
    return match and match[1]


def of_build(build):
    """The release of the rdma-core that this build has, or None."""
    return build.rdma_core and release(f"{build.rdma_core_lib}/{LIBRARY}")


def system_library():
    """The libibverbs that the loader finds by itself, or None."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    with open("/proc/self/maps") as maps:
        return next(line.split()[-1] for line in maps if "/libibverbs.so." in line)


def of_system():
    """Its release, or None."""
    library = system_library()
    return library and release(library)


def text(build):
    found = {"of this build": of_build(build), "of the system": of_system()}
    libraries = ", ".join(f"{number} {where}" for where, number in found.items() if number)
    commit = f", commit {build.commit}" if build.commit else ""
    return f"hcasim {build.version}{commit}\nrdma-core {libraries or 'not found'}"
