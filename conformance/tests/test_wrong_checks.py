# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Each scenario of the suites reports a check that has the wrong result, or a line of DOCTORED makes it fail.

The argument `wrong` of a cell's line names a check of its scenario by number (conformance/runner/suites/kit.h); its
result is turned round. So each check that is tried here is reached, and a device that fails it makes the cell fail.
"""
from pathlib import Path

import pytest

from hcasim_conform import suites
from hcasim_conform.run import dut
from test_suites_on_device import DOCTORED, run

TOO_MANY = 10**6
HAS = "the scenario has "
NEWER = {"completion_counters", "ep_resolve_name"}  # a capability, a scenario


def line(case, number):
    line = case.line()
    line["args"]["wrong"] = number
    return line


@pytest.fixture(scope="module")
def scenarios(tables):
    """The first case of each scenario that needs no wire with faults and has no line in DOCTORED."""
    cases = suites.cases(tables)
    by_id = {c.id: c.scenario for c in cases}
    doctored = {by_id[f"suite/{case}"] for case, *_ in DOCTORED}
    found = {}
    for case in cases:
        if not case.wire and case.scenario not in doctored:
            found.setdefault(case.scenario, case)
    return found


def run_all(build, scenarios, number):
    """The answers of all cases; those that need a newer libibverbs have one, where it was built."""
    newer = [case for case in scenarios.values() if NEWER & {case.scenario, *case.needs}]
    usual = [case for case in scenarios.values() if case not in newer]
    answers = run(build, [line(case, number) for case in usual])
    if Path(dut.load("native-65").env["LD_LIBRARY_PATH"]).exists():
        answers += run(build, [line(case, number) for case in newer], "native-65")
    return answers


def test_the_first_check_with_the_wrong_result_is_reported(build, scenarios):
    answers = run_all(build, scenarios, 1)
    silent = [a["end"] for a in answers if not a["faults"] or HAS in a["faults"][0]]
    assert not silent


def test_a_check_that_does_not_exist_is_reported(build, scenarios):
    """And nothing else: no other check has the wrong result."""
    answers = run_all(build, scenarios, TOO_MANY)
    assert all(len(a["faults"]) == 1 and HAS in a["faults"][0] for a in answers)
