# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Cells that fail only sometimes: repeated, reported apart, and compared with a baseline by how often they fail."""
import json
from xml.etree import ElementTree

import jsonschema
import pytest
from test_driver import FIRST, SECOND, conform, outcomes, row_of  # noqa: F401  (conform: a fixture)

from hcasim_conform.report import results


def test_a_cell_that_fails_once_is_flaky(conform, tmp_path, capsys):
    """Its first process: the second finds the file gone."""
    mark = tmp_path / "mark"
    mark.touch()
    status, data = conform(FAKE_FAIL_SECOND=SECOND, FAKE_MARK=str(mark))
    assert status == 0 and data["summary"]["flaky"] == 1 and data["summary"]["fail"] == 0
    assert outcomes(data)[SECOND] == "flaky"
    runs = row_of(data, SECOND)["runs"]
    assert [(run["outcome"], run["faults"]) for run in runs] == [
        ("fail", ["byte 3 <is> wrong"]),
        ("pass", []),
    ]
    said = capsys.readouterr().out
    assert f"flaky {SECOND}: 1 of 2 runs fail: byte 3 <is> wrong; another run is pass: this and that" in said
    root = ElementTree.parse(tmp_path / "out" / "junit.xml").getroot()
    assert not root.findall(".//failure")
    (flaky,) = root.findall(".//flakyFailure")
    assert "run 1: fail" in flaky.text and "run 2: pass" in flaky.text
    jsonschema.validate(results.pack(data), json.loads(results.SCHEMA.read_text(encoding="utf-8")))


def test_a_flaky_cell_is_fatal_with_strict(conform, tmp_path):
    mark = tmp_path / "mark"
    mark.touch()
    status, data = conform(more=["--strict"], FAKE_FAIL_SECOND=SECOND, FAKE_MARK=str(mark))
    assert status == 1 and data["strict"] and outcomes(data)[SECOND] == "flaky"
    root = ElementTree.parse(tmp_path / "out" / "junit.xml").getroot()
    assert [failure.get("type") for failure in root.findall(".//failure")] == ["flaky"]
    assert "✗ 1 of 7 cells" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_a_cell_that_fails_twice_fails(conform):
    status, data = conform(FAKE_FAIL=SECOND)
    assert status == 1 and outcomes(data)[SECOND] == "fail" and row_of(data, SECOND)["runs"] == []


def test_a_cell_that_fails_in_some_repetitions_is_flaky(conform, tmp_path):
    mark = tmp_path / "mark"
    status, data = conform(more=["--repeat", "3"], FAKE_FAIL_SECOND=SECOND, FAKE_MARK=str(mark))
    assert status == 0 and data["repeat"] == 3
    assert [i for i, o in outcomes(data).items() if o == "flaky"] == [SECOND]
    assert [run["outcome"] for run in row_of(data, SECOND)["runs"]] == ["pass", "fail", "pass"]


@pytest.mark.parametrize(
    "fails, status, words", [("half", 1, "10 of 20 more runs fail"), ("once", 0, "0 of 20")]
)
def test_a_cell_that_has_become_flaky_is_run_often(conform, tmp_path, capsys, fails, status, words):
    baseline = tmp_path / "baseline"
    assert conform(more=["--out", str(baseline)])[0] == 0
    mark = tmp_path / "mark"
    mark.touch()
    name = "FAKE_FAIL_SECOND" if fails == "half" else "FAKE_FAIL_ONCE"
    assert conform(more=["--diff", str(baseline)], FAKE_MARK=str(mark), **{name: SECOND})[0] == status
    kind = "worse " if status else "flaky "
    assert (
        f"{kind} {SECOND}: pass -> flaky in 1 of 2 runs: byte 3 <is> wrong; {words}"
        in capsys.readouterr().out
    )


def test_a_cell_as_flaky_on_the_libraries_of_the_baseline_is_no_regression(conform, tmp_path, capsys):
    baseline, mark, libraries = tmp_path / "baseline", tmp_path / "mark", tmp_path / "lib"
    assert conform(more=["--out", str(baseline)])[0] == 0
    mark.touch()
    options = ["--diff", str(baseline), "--baseline-libs", str(libraries)]
    assert conform(more=options)[0] == 2
    assert f"--baseline-libs '{libraries}': there is no libibverbs.so.1" in capsys.readouterr().err
    libraries.mkdir()
    (libraries / "libibverbs.so.1").touch()
    assert conform(more=options, FAKE_MARK=str(mark), FAKE_FAIL_SECOND=SECOND)[0] == 0
    assert "10 of 20 more runs fail, 10 of 20 with the baseline's libraries" in capsys.readouterr().out
    assert conform(more=[*options, "--strict"], FAKE_MARK=str(mark), FAKE_FAIL_SECOND=SECOND)[0] == 1


def test_the_libraries_of_the_baseline_are_those_that_run(conform, tmp_path, monkeypatch):
    from hcasim_conform.run import device

    seen = []
    ask = device.ask
    monkeypatch.setattr(
        device, "ask", lambda dut, *a: seen.append(dut.env.get("LD_LIBRARY_PATH")) or ask(dut, *a)
    )
    baseline, mark = tmp_path / "baseline", tmp_path / "mark"
    conform(more=["--out", str(baseline)])
    (tmp_path / "libibverbs.so.1").touch()
    mark.touch()
    options = ["--diff", str(baseline), "--baseline-libs", str(tmp_path)]
    conform(more=options, FAKE_MARK=str(mark), FAKE_FAIL_SECOND=SECOND)
    assert seen == [None, None, None, str(tmp_path)]


def test_a_run_that_a_flaky_cell_has_ended_fails(conform, tmp_path):
    mark = tmp_path / "mark"
    mark.touch()
    status, data = conform(more=["-x"], FAKE_FAIL_SECOND=FIRST, FAKE_MARK=str(mark))
    assert status == 1 and outcomes(data) == {FIRST: "flaky"}
