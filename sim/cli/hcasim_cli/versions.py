# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim --version."""
import ctypes
import os
import re

LIBRARY = "libibverbs.so.1"


def release(library):
    """The rdma-core of a libibverbs, by its file name: libibverbs.so.1.14.44.0 belongs to rdma-core 44.0."""
    match = re.search(r"\.so\.\d+\.\d+\.(\d[\d.]*)$", os.path.realpath(library))
    return match and match[1]


def of_build(build):
    """The release of the rdma-core that programs get by default, or None."""
    return release(f"{build.rdma_core_lib}/{LIBRARY}")


def of_system():
    """The release of the one that the loader finds by itself, or None."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    with open("/proc/self/maps") as maps:
        return release(next(line.split()[-1] for line in maps if "/libibverbs.so." in line))


def text(build):
    found = {"of this build": of_build(build), "of the system": of_system()}
    libraries = ", ".join(f"{number} {where}" for where, number in found.items() if number)
    return f"hcasim {build.version}, commit {build.commit}\nrdma-core {libraries or 'not found'}"
