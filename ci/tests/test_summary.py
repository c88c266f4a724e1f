# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ci/summary: how each kind of ctest result is counted."""
import subprocess
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

SUMMARY = Path(__file__).parent.parent / "summary"

CUNIT = """
Run Summary:    Type  Total    Ran Passed Failed Inactive
              suites      2      2    n/a      0        0
               tests     12     12     11      1        3
             asserts     99     99     98      1      n/a
"""


def summary(tmp_path, *cases, line=-1):
    """Runs ci/summary on (status, output, inner XML) results; returns its exit status and last line."""
    junit = tmp_path / "junit.xml"
    body = "".join(
        f'<testcase name="t{index}" status="{status}">{inner}<system-out>{escape(output)}</system-out></testcase>'
        for index, (status, output, inner) in enumerate(cases)
    )
    junit.write_text(f"<testsuite>{body}</testsuite>")
    result = subprocess.run([SUMMARY, junit], capture_output=True, text=True)
    return result.returncode, result.stdout.splitlines()[line]


@pytest.mark.parametrize(
    "status, output, inner, expected",
    [
        ("run", "anything", "", (0, "1 passed, 0 failed, 0 skipped")),
        ("fail", "anything", "<failure/>", (1, "0 passed, 1 failed, 0 skipped")),
        ("fail", CUNIT, "<failure/>", (1, "11 passed, 1 failed, 3 skipped")),
        ("run", "= 4 passed, 2 skipped in 1.25s =", "", (0, "4 passed, 0 failed, 2 skipped")),
        ("run", "4 passed in 61.25s (0:01:01)", "", (0, "4 passed, 0 failed, 0 skipped")),
        ("fail", "3 failed, 4 passed, 1 error in 1.25s", "<failure/>", (1, "4 passed, 4 failed, 0 skipped")),
        ("fail", "= 4 passed in 1.25s =", "<failure/>", (1, "4 passed, 1 failed, 0 skipped")),
        ("notrun", "", '<skipped message="SKIP_RETURN_CODE=77"/>', (1, "0 passed, 0 failed, 1 skipped")),
        (
            "notrun",
            "",
            '<skipped message="Unable to find executable"/>',
            (1, "0 passed, 1 failed, 0 skipped"),
        ),
    ],
)
def test_one(tmp_path, status, output, inner, expected):
    assert summary(tmp_path, (status, output, inner)) == expected


def test_sum(tmp_path):
    status, line = summary(tmp_path, ("run", "", ""), ("fail", CUNIT, "<failure/>"))
    assert (status, line) == (1, "12 passed, 1 failed, 3 skipped")


@pytest.mark.parametrize(
    "line", ["109 of 109 mutants caught in 61.5 s", "81 of 100 generated mutants caught in 70.1 s"]
)
def test_mutants_are_counted(tmp_path, line):
    assert summary(tmp_path, ("run", f"caught  one: a/cell\n{line}\n", ""), line=0) == (0, line)


def test_without_results():
    assert subprocess.run([SUMMARY], capture_output=True).returncode != 0
