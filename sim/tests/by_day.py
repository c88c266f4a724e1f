# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""pytest marks of what ci/test leaves to ci/nightly, which sets HCASIM_PROGRAMS=nightly (docs/testing.md).

night: the test, or this value of its parameter, runs in the night only.
cover(n): by day it runs with some of its parameters: each n values that occur together are in one of them.
A test that is named on the command line runs in any case, and with another engine than c all do.
"""
import itertools
import os

NIGHTLY = os.environ.get("HCASIM_PROGRAMS") == "nightly"
ENGINE = os.environ.get("HCASIM_ENGINE", "c")


def pytest_configure(config):
    config.addinivalue_line("markers", "night: only in the nightly run")
    config.addinivalue_line(
        "markers", "cover(n): by day with each n values of n parameters, not with all of them"
    )


def covering(rows, n):
    """Some of these rows, {key: {parameter: value}}: keys of such a choice that has what `cover` promises."""
    parts = {
        key: set(itertools.combinations(sorted(row.items()), min(n, len(row)))) for key, row in rows.items()
    }
    chosen, needed = set(), set().union(*parts.values())
    while needed:
        best = max(parts, key=lambda key: len(parts[key] & needed))
        chosen.add(best)
        needed -= parts[best]
    return chosen


def pytest_collection_modifyitems(config, items):
    if NIGHTLY or ENGINE != "c" or any("::" in argument for argument in config.args):
        return
    left = {item for item in items if item.get_closest_marker("night")}
    tests = {}
    for item in items:
        if (mark := item.get_closest_marker("cover")) and item not in left:
            values = {name: repr(value) for name, value in item.callspec.params.items()}
            tests.setdefault((item.path, item.originalname, *mark.args), {})[item] = values
    for (*_, n), rows in tests.items():
        left |= rows.keys() - covering(rows, n)
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]
