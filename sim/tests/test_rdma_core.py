# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""rdma-core's own tests on hcasim0, against the committed list of expected results.

rdma_core_tests.yaml names every test of the modules that run: `pass`, or `skip` with our reason, or
`pass_or_skip` with what the machine must have. A test that gives anything else fails here; so does one that
the list does not know, or that rdma-core no longer has, and a module that is neither listed nor in NOT_RUN.
"""
import contextlib
import os
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from conftest import HERE, RDMA_CORE_BUILD, Machine

EXPECTED = yaml.safe_load((HERE / "rdma_core_tests.yaml").read_text())
RUN_TESTS = RDMA_CORE_BUILD / "bin/run_tests.py"
# `test_x (tests.test_m.Class.test_x)`, the first line of its docstring if it has one, then ` ... ok`.
RESULT = re.compile(
    r"^\w+ \((tests\.[\w.]+)\)(?:\n[^\n]*?)? \.\.\. (ok|skipped '.*'|skipped \".*\"|FAIL|ERROR)$", re.M
)
NOT_RUN = {
    "test_mlx5_*": "needs an adapter that libmlx5 drives",
    "test_efa*": "needs an adapter that libefa drives",
    "test_rss_traffic": "takes an adapter without work queues (ibv_create_wq) for an error",
}

HUGE_PAGES = Path("/proc/sys/vm/nr_hugepages")

_runs = {}


@contextlib.contextmanager
def huge_pages(count):
    """At least so many are set aside, where that is permitted."""
    before = HUGE_PAGES.read_text() if HUGE_PAGES.exists() else ""
    if not before or int(before) >= count or not os.access(HUGE_PAGES, os.W_OK):
        yield
        return
    try:
        with contextlib.suppress(OSError):  # a container's may be read-only
            HUGE_PAGES.write_text(str(count))
        yield
    finally:
        with contextlib.suppress(OSError):
            HUGE_PAGES.write_text(before)


def run_module(module):
    """Results of one module, run once: {test: "ok" | "skipped '...'" | "FAIL" | "ERROR"} and the output."""
    if module not in _runs:
        with huge_pages(16):
            result = Machine().run(RUN_TESTS, "--dev", "hcasim0", "-v", "-b", f"tests.{module}")
        _runs[module] = dict(RESULT.findall(result.output)), result.output
    return _runs[module]


def failure_text(test, output):
    """What unittest printed of this test below its list."""
    parts = output.split("=" * 70 + "\n")
    return "\n".join(part for part in parts[1:] if test in part) or output


@pytest.mark.parametrize(
    "module, test", [(module, test) for module, tests in EXPECTED.items() for test in tests]
)
def test_expected(module, test):
    results, output = run_module(module)
    name = f"tests.{module}.{test}"
    expected = EXPECTED[module][test]
    assert name in results, f"{name} gave no result:\n{output}"
    word = results[name].split(" ", 1)[0]
    if expected == "pass" or (word == "ok" and "pass_or_skip" in expected):
        assert word == "ok", f"{results[name]}\n{failure_text(name, output)}"
    else:
        (reason,) = expected.values()
        assert (
            word == "skipped"
        ), f"expected a skip ({reason}), got {results[name]}\n{failure_text(name, output)}"
        pytest.skip(reason)


def test_the_list_is_complete():
    result = Machine().run(RUN_TESTS, "--list-tests")
    listed = {name for name in re.findall(r"^tests\.(\w+\.\w+\.\w+)$", result.output, re.M)}
    known = {f"{module}.{test}" for module, tests in EXPECTED.items() for test in tests}
    others = {name.split(".")[0] for name in listed - known}
    assert not [module for module in others if not any(fnmatch(module, pattern) for pattern in NOT_RUN)]
    assert known <= listed
