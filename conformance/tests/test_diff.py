# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim conform --diff: what became worse, and the exit status that a CI can use."""
import gzip

import pytest
import records

from hcasim_conform import cli
from hcasim_conform.report import diff as differences
from hcasim_conform.report import results

BASE = "wr/send/rc/sge/-/signaled"
OTHER = "wr/send/rc/sge/-/fence"


@pytest.fixture
def diff(tmp_path, capsys):
    """Status and lines of --diff between two runs, each given as {cell id: outcome}."""

    def run(before, after, was=None, now=None):
        for name, cells, more in (("a", before, was), ("b", after, now)):
            folder = tmp_path / name
            folder.mkdir(exist_ok=True)
            rows = [records.row(cell_id, outcome) for cell_id, outcome in cells.items()]
            results.write_json(records.record(rows, **more or {}), folder / "results.json")
        status = cli.main(None, ["--diff", str(tmp_path / "a"), str(tmp_path / "b" / "results.json")])
        return status, capsys.readouterr().out.splitlines()

    return run


def test_the_same_run(diff):
    status, lines = diff({BASE: "pass"}, {BASE: "pass"})
    assert status == 0
    assert lines == ["same   1 cells compared: 0 worse, 0 better, 0 new, 0 gone"]


def test_a_renamed_cell_is_compared_with_its_old_result():
    old = records.record([records.row(OTHER, "pass")])
    new = records.record([{**records.row(BASE, "fail"), "was": OTHER}])
    found = differences.compare(old, new)
    assert found.common == 1 and not found.gone and found.worse[0].startswith(f"{BASE}: pass -> fail")


@pytest.mark.parametrize(
    "was, now",
    [
        ("pass", "fail"),
        ("pass", "known"),
        ("pass", "skipped"),
        ("pass", "unexpected"),
        ("known", "fail"),
        ("skipped", "fail"),
        ("unexpected", "fail"),
        ("flaky", "fail"),
        ("pass", "fail"),
    ],
)
def test_worse_and_back(diff, was, now):
    status, lines = diff({BASE: was, OTHER: "pass"}, {BASE: now, OTHER: "pass"})
    assert status == 1
    assert lines[0].startswith(f"worse  {BASE}: {was} -> {now}")
    assert lines[-1] == "worse  2 cells compared: 1 worse, 0 better, 0 new, 0 gone"
    status, lines = diff({BASE: now, OTHER: "pass"}, {BASE: was, OTHER: "pass"})
    assert status == 0
    assert lines[0] == f"better {BASE}: {now} -> {was}"


@pytest.mark.parametrize("was", ["pass", "known"])
def test_flaky_is_worse_with_strict_alone(diff, was):
    before, after = {BASE: was, OTHER: "pass"}, {BASE: "flaky", OTHER: "pass"}
    status, lines = diff(before, after)
    assert status == 0
    assert lines[0] == f"flaky  {BASE}: {was} -> flaky in 1 of 2 runs: byte 3 <is> wrong"
    assert lines[-1] == "same   2 cells compared: 0 worse, 0 better, 1 flaky, 0 new, 0 gone"
    status, lines = diff(before, after, now={"strict": True})
    assert status == 1 and lines[0].startswith(f"worse  {BASE}: {was} -> flaky")
    assert diff(after, after)[0] == 0


@pytest.mark.parametrize(
    "was, now, more",
    [
        (["a=1"], ["a=1"], ""),
        (["a=1", "b=2"], ["a=1"], ""),
        (["a=1"], ["a=1", "b=2"], "b=2"),  # a second fault behind a known one
        (["a=1"], ["a=2"], "a=2"),
        (None, ["a=1"], ""),  # a run of an earlier version, or a cell that differs from run to run
        (["a=1"], None, ""),
    ],
)
@pytest.mark.parametrize("outcome", ["known", "fail"])
def test_observations_of_a_cell_with_the_same_outcome(tmp_path, capsys, outcome, was, now, more):
    for name, observed in (("a", was), ("b", now)):
        (tmp_path / name).mkdir()
        rows = [records.row(BASE, outcome, observed=observed)]
        results.write_json(records.record(rows), tmp_path / name / "results.json")
    assert cli.main(None, ["--diff", str(tmp_path / "a"), str(tmp_path / "b")]) == (1 if more else 0)
    worse = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"worse  {BASE}")]
    assert worse == ([f"worse  {BASE}: {outcome} as before, and now {more}"] if more else [])


def test_a_level_that_changed_is_said_and_is_not_worse(tmp_path, capsys):
    """A baseline whose MUSTs the suite now has as SHOULD."""
    for name, level in (("a", "MUST"), ("b", "SHOULD")):
        rows = [records.row(BASE, level=level), records.row(OTHER)]
        (tmp_path / name).mkdir()
        results.write_json(records.record(rows), tmp_path / name / "results.json")
    assert cli.main(None, ["--diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "note   1 cells were MUST, are SHOULD" in capsys.readouterr().out.splitlines()


def test_a_failure_says_why(diff):
    _, lines = diff({BASE: "pass"}, {BASE: "fail"})
    assert lines[0].endswith(": byte 3 <is> wrong")


def test_new_cells(diff):
    status, lines = diff({BASE: "pass"}, {BASE: "pass", OTHER: "pass"})
    assert (status, lines[0]) == (0, f"new    {OTHER}: pass")
    assert lines[-1].endswith("1 new (1 pass), 0 gone")
    status, lines = diff({BASE: "pass"}, {BASE: "pass", OTHER: "known"})
    assert status == 0
    status, lines = diff({BASE: "pass"}, {BASE: "pass", OTHER: "fail"})
    assert status == 1
    assert f"worse  {OTHER}: new -> fail: byte 3 <is> wrong" in lines


def test_a_cell_that_passed_must_stay(diff):
    status, lines = diff({BASE: "pass", OTHER: "pass"}, {BASE: "pass"})
    assert status == 1
    assert f"worse  {OTHER}: pass -> gone" in lines
    assert diff({BASE: "pass", OTHER: "fail"}, {BASE: "pass"})[0] == 0


@pytest.mark.parametrize(
    "was, now",
    [
        ({}, {"expression": "signaled"}),
        ({}, {"expression": BASE}),
        ({"mode": "exhaustive"}, {}),
        ({"seed": 3}, {"seed": 4}),
        ({}, {"shard": [1, 2]}),
    ],
)
def test_another_choice_of_cells_compares_what_both_have(diff, was, now):
    status, lines = diff({BASE: "pass", OTHER: "pass"}, {BASE: "pass"}, was, now)
    assert status == 0
    assert lines[0].startswith(f"note   {list(was or now)[0]} was ")
    assert lines[-1] == "same   1 cells compared: 0 worse, 0 better, 0 new, 0 gone"
    assert diff({BASE: "pass", OTHER: "pass"}, {BASE: "fail"}, was, now)[0] == 1


def test_cells_outside_the_expression_are_not_gone(diff):
    """Nor new: those inside are."""
    other = {OTHER: "pass", f"{OTHER}+signaled": "pass"}
    status, lines = diff({BASE: "pass", **other}, {BASE: "pass"}, None, {"expression": "signaled"})
    assert status == 1
    assert lines[1:3] == [f"gone   {OTHER}+signaled: pass", f"worse  {OTHER}+signaled: pass -> gone"]
    status, lines = diff({BASE: "pass"}, {BASE: "pass", **other}, {"expression": "signaled"}, None)
    assert status == 0 and lines[1] == f"new    {OTHER}+signaled: pass"
    assert lines[-1].endswith("1 new (1 pass), 0 gone")


def test_nothing_in_common_is_no_comparison(diff):
    assert diff({BASE: "pass"}, {OTHER: "pass"})[0] == 2


def test_faults_and_findings_of_the_run(diff):
    finding = {"kind": "denied", "capability": "tso", "declared": False, "reported": True, "text": "has TSO"}
    more = {"faults": ["DUT file: stale key: x"], "findings": [finding]}
    status, lines = diff({BASE: "pass"}, {BASE: "pass"}, None, more)
    assert status == 1
    assert lines[:2] == ["worse  run: DUT file: stale key: x", "worse  finding: has TSO"]
    status, lines = diff({BASE: "pass"}, {BASE: "pass"}, more, None)
    assert status == 0
    assert lines[0] == "better run: no longer: DUT file: stale key: x"


def test_other_versions_and_devices_are_noted(diff):
    versions = {"hcasim": "2", "rdma-core": "56.1", "kernel": "6", "python": "3", "firmware": "9"}
    _, lines = diff({BASE: "pass"}, {BASE: "pass"}, None, {"name": "rtl", "versions": versions})
    assert lines[:3] == [
        "note   the device was fake, is rtl",
        "note   firmware was not given, is 9",
        "note   hcasim was 1, is 2",
    ]


def test_a_long_list_is_cut(diff):
    ids = [row["id"] for row in records.rows(200)]
    _, lines = diff(dict.fromkeys(ids, "pass"), dict.fromkeys(ids, "fail"))
    assert len(lines) == 102
    assert lines[100] == "worse  ... and 100 more"


def test_a_baseline_may_be_packed(diff, tmp_path, capsys):
    diff({BASE: "pass"}, {BASE: "fail"})
    plain = tmp_path / "a" / "results.json"
    packed = tmp_path / "packed" / "results.json.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for baseline in (packed, packed.parent):
        assert cli.main(None, ["--diff", str(baseline), str(tmp_path / "b")]) == 1
    for damaged in (b"no gzip", packed.read_bytes()[:-9], packed.read_bytes()[:40] + bytes(20)):
        packed.write_bytes(damaged)
        assert cli.main(None, ["--diff", str(packed), str(tmp_path / "b")]) == 2
        assert "results.json.gz: not what gzip writes" in capsys.readouterr().err


def test_an_unreadable_run(diff, tmp_path, capsys):
    diff({BASE: "pass"}, {BASE: "pass"})
    assert cli.main(None, ["--diff", str(tmp_path / "a"), str(tmp_path / "none")]) == 2
    assert "none" in capsys.readouterr().err
    (tmp_path / "b" / "results.json").write_text("{}")
    assert cli.main(None, ["--diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 2
