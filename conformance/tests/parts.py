# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Which part of a long run is run: ci/test has the first one, ci/nightly another one each night (docs/testing.md)."""
import os


def part(parts):
    """The number of the part, from 1. ci/nightly sets HCASIM_NIGHT to the number of the day."""
    return int(os.environ.get("HCASIM_NIGHT", "0")) % parts + 1
