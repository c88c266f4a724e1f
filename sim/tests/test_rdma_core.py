# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""rdma-core's own tests on hcasim0 and mlx5_0, against the committed lists of expected results.

rdma_core_tests.yaml names every test of the modules that run: `pass`, or `skip` with our reason, or
`pass_or_skip` with what the machine must have, or `fail` with the reason. rdma_core_tests_65.yaml has the
differences of 65.0, rdma_core_tests_mlx5.yaml those of mlx5_0, rdma_core_tests_mlx5_65.yaml those of both. A test with any other result fails here. So
does a test that is missing in the list or in rdma-core, and a module that is neither listed nor in NOT_RUN.
"""
import os
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from conftest import ENGINE, HERE, NIGHTLY, RDMA_CORE_BUILD, TOP, Machine
from huge_pages import huge_pages

# `test_x (tests.test_m.Class.test_x)`, the first line of its docstring if it has one, then ` ... ok`.
RESULT = re.compile(
    r"^\w+ \((tests\.[\w.]+)\)(?:\n[^\n]*?)? \.\.\. (ok|skipped '.*'|skipped \".*\"|FAIL|ERROR)$", re.M
)
NOT_RUN = {
    "hcasim0": {
        "test_mlx5_*": "needs an adapter that libmlx5 drives",
        "test_efa*": "needs an adapter that libefa drives",
    },
    "mlx5_0": {"test_efa*": "needs an adapter that libefa drives"},
}
OUTCOMES = {"pass": ["ok"], "skip": ["skipped"], "fail": ["FAIL", "ERROR"], "pass_or_skip": ["ok", "skipped"]}


def expected_of(*differences):
    """The common list, with the differences of a release or of an adapter: {(module, test): (outcome, reason)}."""
    modules = yaml.safe_load((HERE / "rdma_core_tests.yaml").read_text())
    for name in differences:
        for module, tests in yaml.safe_load((HERE / name).read_text()).items():
            modules[module] = {**modules.get(module, {}), **tests}
    return {
        (module, test): (result, None) if isinstance(result, str) else next(iter(result.items()))
        for module, tests in modules.items()
        for test, result in tests.items()
        if result != "absent"
    }


class Suite:
    """The tests of a build of rdma-core on an adapter, and their results."""

    def __init__(self, build, adapter, options, *differences):
        self.build = build
        self.adapter = adapter
        self.options = options
        self.expected = expected_of(*differences)
        self.runs = {}

    def run_tests(self, *arguments):
        program = self.build / "bin/run_tests.py"
        if not program.exists():
            pytest.skip(f"{program} is not there: ci/setup did not get this rdma-core")
        # Python loads pyverbs: nothing in the program says which libraries it needs.
        environment = dict(os.environ, LD_LIBRARY_PATH=str(self.build / "lib"))
        return Machine(options=self.options).run(program, *arguments, env=environment)

    def run_module(self, module):
        """Results of a module, run once: {test: "ok", "skipped '...'", "FAIL" or "ERROR"}, and output."""
        if module not in self.runs:
            with huge_pages(16):
                result = self.run_tests("--dev", self.adapter, "-v", "-b", f"tests.{module}")
            self.runs[module] = dict(RESULT.findall(result.output)), result.output
        return self.runs[module]


NEWER_BUILD = Path(os.environ.get("RDMA_CORE_NEWER_BUILD", TOP / "build/rdma-core-65"))
SUITES = {"56": Suite(RDMA_CORE_BUILD, "hcasim0", [])}
if NIGHTLY:
    SUITES["newer"] = Suite(NEWER_BUILD, "hcasim0", [], "rdma_core_tests_65.yaml")
if ENGINE == "c":  # the others have not been tested with that family
    SUITES["mlx5"] = Suite(RDMA_CORE_BUILD, "mlx5_0", ["--device", "mlx5"], "rdma_core_tests_mlx5.yaml")
    if NIGHTLY:
        lists = [f"rdma_core_tests_{name}.yaml" for name in ("65", "mlx5", "mlx5_65")]
        SUITES["newer_mlx5"] = Suite(NEWER_BUILD, "mlx5_0", ["--device", "mlx5"], *lists)


def failure_text(test, output):
    """What unittest printed about this test after its list."""
    parts = output.split("=" * 70 + "\n")
    return "\n".join(part for part in parts[1:] if test in part) or output


@pytest.mark.parametrize(
    "suite, module, test", [(name, *test) for name, suite in SUITES.items() for test in suite.expected]
)
def test_expected(suite, module, test):
    suite = SUITES[suite]
    results, output = suite.run_module(module)
    name = f"tests.{module}.{test}"
    expected, reason = suite.expected[module, test]
    assert name in results, f"{name} gave no result:\n{output}"
    word = results[name].split(" ", 1)[0]
    assert (
        word in OUTCOMES[expected]
    ), f"expected {expected} ({reason}), got {results[name]}\n{failure_text(name, output)}"
    if word != "ok":
        pytest.skip(f"fails: {reason}" if expected == "fail" else reason)


@pytest.mark.parametrize("suite", SUITES)
def test_the_list_is_complete(suite):
    suite = SUITES[suite]
    result = suite.run_tests("--list-tests")
    listed = {name for name in re.findall(r"^tests\.(\w+\.\w+\.\w+)$", result.output, re.M)}
    known = {f"{module}.{test}" for module, test in suite.expected}
    others = {name.split(".")[0] for name in listed - known}
    not_run = NOT_RUN[suite.adapter]
    assert not [module for module in others if not any(fnmatch(module, pattern) for pattern in not_run)]
    assert known <= listed
