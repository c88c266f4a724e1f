# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""rdma-core's own tests on hcasim0, against the committed lists of expected results.

rdma_core_tests.yaml names every test of the modules that run: `pass`, or `skip` with our reason, or
`pass_or_skip` with what the machine must have; rdma_core_tests_65.yaml has the differences of 65.0. A test
with any other result fails here. So does a test that is missing in the list or in rdma-core, and a module
that is neither listed nor in NOT_RUN.
"""
import os
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from conftest import HERE, RDMA_CORE_BUILD, TOP, Machine
from huge_pages import huge_pages

# `test_x (tests.test_m.Class.test_x)`, the first line of its docstring if it has one, then ` ... ok`.
RESULT = re.compile(
    r"^\w+ \((tests\.[\w.]+)\)(?:\n[^\n]*?)? \.\.\. (ok|skipped '.*'|skipped \".*\"|FAIL|ERROR)$", re.M
)
NOT_RUN = {
    "test_mlx5_*": "needs an adapter that libmlx5 drives",
    "test_efa*": "needs an adapter that libefa drives",
}


def expected_of(differences):
    """The common list, with the differences of a release."""
    modules = yaml.safe_load((HERE / "rdma_core_tests.yaml").read_text())
    for module, tests in differences.items():
        modules[module] = {**modules.get(module, {}), **tests}
    return {
        (module, test): result
        for module, tests in modules.items()
        for test, result in tests.items()
        if result != "absent"
    }


class Release:
    """A build of rdma-core and the results of its tests."""

    def __init__(self, build, differences, options=()):
        self.build = build
        self.options = options
        self.expected = expected_of(differences)
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
                result = self.run_tests("--dev", "hcasim0", "-v", "-b", f"tests.{module}")
            self.runs[module] = dict(RESULT.findall(result.output)), result.output
        return self.runs[module]


NEWER_BUILD = Path(os.environ.get("RDMA_CORE_NEWER_BUILD", TOP / "build/rdma-core-65"))
RELEASES = {
    "56": Release(RDMA_CORE_BUILD, {}),
    "65": Release(NEWER_BUILD, yaml.safe_load((HERE / "rdma_core_tests_65.yaml").read_text())),
}


def failure_text(test, output):
    """What unittest printed about this test after its list."""
    parts = output.split("=" * 70 + "\n")
    return "\n".join(part for part in parts[1:] if test in part) or output


@pytest.mark.parametrize(
    "release, module, test",
    [(name, *test) for name, release in RELEASES.items() for test in release.expected],
)
def test_expected(release, module, test):
    release = RELEASES[release]
    results, output = release.run_module(module)
    name = f"tests.{module}.{test}"
    expected = release.expected[module, test]
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


@pytest.mark.parametrize("release", RELEASES)
def test_the_list_is_complete(release):
    result = RELEASES[release].run_tests("--list-tests")
    listed = {name for name in re.findall(r"^tests\.(\w+\.\w+\.\w+)$", result.output, re.M)}
    known = {f"{module}.{test}" for module, test in RELEASES[release].expected}
    others = {name.split(".")[0] for name in listed - known}
    assert not [module for module in others if not any(fnmatch(module, pattern) for pattern in NOT_RUN)]
    assert known <= listed
