# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The driver: crashes and hangs are assigned to the right cell, differences are compared with the DUT file."""
import json
from xml.etree import ElementTree

import jsonschema
import pytest

from hcasim_conform import cli
from hcasim_conform.run import drive
from hcasim_conform.run import dut
from hcasim_conform.report import results

FIRST = "wr/send/rc/sge/-/signaled"
SECOND = "wr/send/rc/sge/-/solicited"
MORE = ("-", "solicited+signaled", "signaled/abort", "signaled/2-of-3", "signaled/batch-3")
PICK = " or ".join([FIRST, SECOND, *(f"wr/send/rc/sge/-/{rest}" for rest in MORE)])


@pytest.fixture
def conform(fake_bin, write_dut, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)

    def run(expression=PICK, differences=(), more=(), doc=None, **env):
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        path = write_dut(differences, **(doc or {}))
        out = tmp_path / "out"
        args = [
            "--dut",
            str(path),
            "--bin",
            str(fake_bin),
            "--out",
            str(out),
            "-k",
            expression,
            "--jobs",
            "2",
            *more,
        ]
        status = cli.main(None, args)
        record = out / "results.json"
        return status, results.load(record) if record.is_file() else None

    return run


def outcomes(data):
    return {row["id"]: row["outcome"] for row in data["cells"]}


def row_of(data, cell_id):
    return next(row for row in data["cells"] if row["id"] == cell_id)


def test_all_pass(conform):
    status, data = conform()
    assert status == 0
    assert set(outcomes(data).values()) == {"pass"}
    assert data["summary"]["cells"] == len(data["cells"]) > 5


def test_a_failing_cell(conform):
    status, data = conform(FAKE_FAIL=SECOND)
    assert status == 1
    assert [i for i, o in outcomes(data).items() if o == "fail"] == [SECOND]
    assert row_of(data, SECOND)["faults"] == ["byte 3 <is> wrong"]


def test_a_crash_costs_one_cell(conform):
    status, data = conform(FAKE_CRASH=f"{FIRST} {SECOND}")
    assert status == 1
    assert [i for i, o in outcomes(data).items() if o == "fail"] == [FIRST, SECOND]
    assert "SIGSEGV" in row_of(data, SECOND)["faults"][0]


def test_a_runner_that_names_another_cell_costs_one(conform):
    """As one does whose memory a provider has overwritten."""
    status, data = conform(FAKE_GARBLED=SECOND)
    assert status == 1
    assert [i for i, o in outcomes(data).items() if o == "fail"] == [SECOND]
    assert row_of(data, SECOND)["faults"] == ["the runner's memory is damaged: it began ':'"]
    assert not data["faults"]


def test_a_crash_after_the_last_cell_fails_the_run(conform):
    status, data = conform(FAKE_CRASH_AT_END="1")
    assert status == 1
    assert set(outcomes(data).values()) == {"pass"}
    assert data["faults"] == ["after the last cell of a group the runner died of SIGSEGV"]


def test_a_hang_costs_one_cell(conform, monkeypatch):
    make = drive.GroupRun.__init__

    def impatient(self, *args):
        make(self, *args)
        self.silence = 0.5

    monkeypatch.setattr(drive.GroupRun, "__init__", impatient)
    status, data = conform(FAKE_HANG=SECOND)
    assert status == 1
    assert [i for i, o in outcomes(data).items() if o == "fail"] == [SECOND]
    assert "no progress for 0.5 s" in row_of(data, SECOND)["faults"][0]


def test_a_device_that_does_not_start(conform):
    status, data = conform(FAKE_SILENT_EXIT="1")
    assert status == 1
    assert set(outcomes(data).values()) == {"fail"}
    words = "ended with status 3 before the first cell: the last output"
    assert all(words in row["faults"][0] for row in data["cells"])


REFUSED = [
    ({"FAKE_NO_DEVICE": "1"}, {}, (), "no RDMA device 'a' here; there is none"),
    ({}, {"start": ["no-such-program"]}, (), "no-such-program: No such file or directory"),
    ({}, {"start": ["sh", "-c", "echo read this >&2; exit 2"]}, (), "hcasim conform: read this\n"),
    ({}, {"start": ["sh", "-c", "echo not here >&2; exit 127"]}, (), "hcasim conform: not here\n"),
    ({}, {}, ("--out", "{file}"), "--out '{file}': is no folder"),
    ({}, {}, ("--out", "{file}/below"), "--out '{file}/below': is no folder"),
    ({}, {}, ("--out", "/proc/none"), "--out '/proc/none': No such file"),
    ({}, {}, ("--bin", "/nowhere"), "--bin '/nowhere': there is no hcasim-conform-runner"),
]


@pytest.mark.parametrize("env, doc, more, words", REFUSED)
def test_what_is_refused_before_the_first_cell(conform, tmp_path, capsys, env, doc, more, words):
    file = tmp_path / "file"
    file.touch()
    status, data = conform(more=[word.format(file=file) for word in more], doc=doc, **env)
    assert (status, data) == (2, None)
    said = capsys.readouterr()
    assert words.format(file=file) in said.err and not said.out  # not how many cells there are


@pytest.mark.parametrize("name", ["results.json", "junit.xml", "report.html"])
def test_reports_that_cannot_be_written_are_refused_before_the_first_cell(conform, tmp_path, capsys, name):
    blocked = tmp_path / "out" / name
    blocked.mkdir(parents=True)
    assert conform(FAKE_CRASH=FIRST)[0] == 2
    said = capsys.readouterr()
    assert (
        said.err
        == f"hcasim conform: --out '{blocked.parent}': {blocked} is a folder, and has to be written\n"
    )
    assert "cells on fake" not in said.out


def test_a_file_in_the_place_of_the_captures(conform, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "taps").touch()
    assert conform()[0] == 2
    assert capsys.readouterr().err.endswith("/taps is no folder\n")
    assert conform(more=["--no-tap"])[0] == 0


@pytest.mark.parametrize("name", ["results.json", "report.html"])
def test_a_full_disk(conform, tmp_path, capsys, name):
    """The terminal still has the results."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to("/dev/full")
    assert conform(FAKE_FAIL=SECOND)[0] == 2
    said = capsys.readouterr()
    assert "the results are not written: No space left on device" in said.err
    assert f"fail {SECOND}: byte 3 <is> wrong" in said.out and "1 fail" in said.out


# -- a build with mutants


@pytest.fixture
def planted(fake_bin):
    """The programs are those of a build with the mutant `one`."""
    row = {
        "id": "one",
        "what": "something is wrong",
        "file": "sim/core/a.c",
        "find": "a",
        "with": "MUTANT",
        "cells": ["*"],
        "fault": "x",
    }
    catalogue = fake_bin.parent / "mutants" / "mutants.yaml"
    catalogue.parent.mkdir()
    catalogue.write_text(json.dumps({"mutants": [row]}), encoding="utf-8")


def test_the_record_names_the_mutant(planted, conform):
    _, data = conform(HCASIM_MUTANT="one", FAKE_FAIL_MUTANT="one")
    assert data["versions"]["mutant"] == "one" and data["summary"]["fail"] == data["summary"]["cells"]
    jsonschema.validate(results.pack(data), json.loads(results.SCHEMA.read_text(encoding="utf-8")))


def test_without_a_mutant_the_record_names_none(planted, conform):
    assert "mutant" not in conform(HCASIM_MUTANT="")[1]["versions"]


def test_a_build_without_mutants_has_none(conform):
    assert "mutant" not in conform(HCASIM_MUTANT="one")[1]["versions"]


def test_a_mutant_that_the_build_does_not_have(planted, conform, capsys):
    assert conform(HCASIM_MUTANT="two") == (2, None)
    assert capsys.readouterr().err == "hcasim conform: there is no mutant two\n"


def known(cells, **more):
    return [{"clause": "*", "cells": cells, "reason": "not built yet", **more}]


def test_a_known_difference_does_not_fail_the_run_but_stays_red(conform, tmp_path):
    status, data = conform(differences=known([SECOND]), FAKE_FAIL=SECOND)
    assert status == 0
    assert outcomes(data)[SECOND] == "known"
    assert row_of(data, SECOND)["reason"] == "not built yet"
    root = ElementTree.parse(tmp_path / "out" / "junit.xml").getroot()
    failure = root.find(f".//testcase[@name='{SECOND}']/failure")
    assert failure.get("type") == "known-difference"


def test_an_unexpected_pass_fails_the_run(conform):
    status, data = conform(differences=known([SECOND]))
    assert status == 1
    assert outcomes(data)[SECOND] == "unexpected"


RACE = {"race": "^byte [0-9]+ <is> wrong$"}


def test_a_cell_that_may_lose_a_race_of_the_device(conform):
    status, data = conform(differences=known([SECOND], **RACE))
    assert status == 0 and outcomes(data)[SECOND] == "pass"
    status, data = conform(differences=known([SECOND], **RACE), FAKE_FAIL=SECOND)
    assert status == 0 and outcomes(data)[SECOND] == "known"


def test_another_fault_than_that_of_the_race_fails_the_run(conform):
    status, data = conform(differences=known([SECOND], race="did not come"), FAKE_FAIL=SECOND)
    assert status == 1 and outcomes(data)[SECOND] == "fail"


def test_exceptions_of_a_difference(conform):
    differences = known(["wr/send/rc/sge/-/solicited*"], **{"except": [SECOND]})
    status, data = conform(differences=differences, FAKE_FAIL="wr/send/rc/sge/-/solicited+signaled")
    assert status == 0
    assert outcomes(data)[SECOND] == "pass"


def test_a_clause_narrows_a_difference(conform):
    differences = [{"clause": "*/IBV_SEND_SOLICITED", "cells": ["wr/send/rc/*"], "reason": "no events"}]
    status, data = conform(
        differences=differences, FAKE_FAIL=f"{FIRST} {SECOND}", expression=f"{FIRST} or {SECOND}"
    )
    assert status == 1
    assert (outcomes(data)[FIRST], outcomes(data)[SECOND]) == ("fail", "known")


def test_differences_of_another_file_may_show_here(conform, write_dut):
    """Its patterns may match no cell: that is found where they are its own."""
    other = write_dut(known([FIRST, SECOND, "wr/nowhere/*"]))
    more = {"differences_of": [str(other.rename(other.with_name("other.yaml")))]}
    status, data = conform(doc=more, FAKE_FAIL=SECOND)
    assert status == 0
    assert (outcomes(data)[FIRST], outcomes(data)[SECOND]) == ("pass", "known")
    status, data = conform(doc=more, differences=known([FIRST]))
    assert status == 1 and outcomes(data)[FIRST] == "unexpected"


def test_a_wait_that_is_known_to_be_in_vain(write_dut, chosen):
    known_to_fail = known([SECOND], timeout_ms=150)
    device = dut.load(str(write_dut(known_to_fail)))
    lines = {cell.id: device.line(cell) for cell in chosen(0) if cell.id in (FIRST, SECOND)}
    assert lines[SECOND]["timeout_ms"] == 150 and "timeout_ms" not in lines[FIRST]


@pytest.mark.parametrize(
    "difference, words",
    [
        (known(["wr/teleport/*"]), "'wr/teleport/*'"),
        (known([SECOND], **{"except": ["wr/send/rd/*"]}), "'wr/send/rd/*'"),
        ([{"clause": "ibv_none/X", "cells": ["*"], "reason": "because"}], "clause 'ibv_none/X'"),
    ],
)
def test_a_stale_key_fails_the_run(conform, difference, words, tmp_path):
    status, data = conform(differences=difference, FAKE_FAIL=SECOND)
    assert status == 1
    assert any(words in fault for fault in data["faults"])
    assert "stale key" in (tmp_path / "out" / "junit.xml").read_text(encoding="utf-8")


def test_junit_counts(conform, tmp_path):
    _, data = conform(FAKE_FAIL=SECOND)
    root = ElementTree.parse(tmp_path / "out" / "junit.xml").getroot()
    cases = root.findall(".//testcase")
    assert {c.get("name") for c in cases} == set(outcomes(data)) | {"as a whole"}
    assert sum(int(s.get("tests")) for s in root) == len(cases)
    assert sum(int(s.get("failures")) for s in root) == len(root.findall(".//failure")) == 1
    assert not root.findall(".//skipped")


def test_a_report_is_written(conform, tmp_path):
    conform(FAKE_FAIL=SECOND)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "1 of " in page and "byte 3 <is> wrong" not in page


def test_a_bad_expression(conform, capsys):
    assert conform(expression="((")[0] == 2
    assert "-k '(('" in capsys.readouterr().err


def test_list(capsys, write_dut):
    assert cli.main(None, ["--dut", str(write_dut()), "--list", "-k", FIRST]) == 0
    assert capsys.readouterr().out.split()[:4] == [
        FIRST,
        "MUST",
        "wr/2.1",
        "ibv_wr_post/WORK-REQUESTS/Message-Send/ibv_wr_send",
    ]


@pytest.mark.parametrize(
    "change, words",
    [
        ({"mtu": 999}, "mtu"),
        ({"requester": {"device": "a", "port": 0, "gid_index": 0}}, "requester/port"),
        ({"differences": [{"clause": "*", "cells": ["*"], "reason": ""}]}, "differences/0/reason"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_bad_dut_file_is_named(write_dut, change, words):
    with pytest.raises(dut.DutError, match=words):
        dut.load(str(write_dut(**change)))


def test_an_unknown_dut(capsys):
    assert cli.main(None, ["--dut", "nowhere", "--list"]) == 2
    assert "native" in capsys.readouterr().err


def test_committed_dut_files(chosen):
    cells = chosen(0)
    for path in dut.DUTS.glob("*.yaml"):
        assert dut.load(path.stem).stale_keys(cells) == [], path


def test_groups_hold_every_cell_once(chosen):
    cells = chosen(0)
    pieces = list(drive.groups(cells, 2))
    assert [c.id for c in sorted((c for p in pieces for c in p), key=lambda c: c.id)] == sorted(
        c.id for c in cells
    )
    assert all(len({(c.api, c.qpt) for c in p}) == 1 and len(p) <= 2000 for p in pieces)


def test_the_record_says_what_was_chosen(conform):
    _, data = conform(more=["--seed", "5", "--shard", "2/3"])
    assert (data["mode"], data["seed"], data["shard"]) == ("covering", 5, [2, 3])
    assert (
        data["counts"]["run"]
        == len(data["cells"])
        == len(PICK.split(" or ")) // 3 + (len(PICK.split(" or ")) % 3 > 1)
    )
    assert data["counts"]["run"] + sum(data["counts"]["left_out"].values()) == data["counts"]["exist"]
    assert conform(more=["--exhaustive"])[1]["mode"] == "exhaustive"


def test_a_shard_without_cells_is_no_failure(conform):
    status, data = conform(expression=FIRST, more=["--shard", "2/2"])
    assert status == 0 and data["cells"] == []


def test_many_cells_are_run_briefly(monkeypatch, conform):
    """The runner gets the option, and cells that pass have no calls."""
    from hcasim_conform.run import session

    monkeypatch.setattr(session, "MANY", 3)
    seen = []
    make = drive.Process.__init__

    def watch(self, dut, bin_dir, cells, how=drive.HOW, start=None):
        seen.append(how)
        make(self, dut, bin_dir, cells, how, start)

    monkeypatch.setattr(drive.Process, "__init__", watch)
    assert conform(more=["--seed", "9"])[0] == 0
    assert {"seed": 9, "brief": True} in seen


# -- the end after some failures


@pytest.mark.parametrize("option, failures", [(["-x"], 1), (["--maxfail", "1"], 1), (["--maxfail", "2"], 2)])
@pytest.mark.parametrize("how", ["FAKE_FAIL", "FAKE_CRASH"])
def test_a_run_ends_after_so_many_failures(conform, capsys, option, failures, how):
    """One group of seven cells, all of which would fail."""
    status, data = conform(more=option, **{how: PICK.replace(" or ", " ")})
    assert status == 1 and len(data["cells"]) == failures == data["summary"]["fail"]
    left = len(PICK.split(" or ")) - failures
    assert data["counts"]["left_out"][results.STOPPED] == left and data["counts"]["run"] == failures
    assert f"ended by --maxfail: {left} cells were not run" in capsys.readouterr().out


def test_fewer_failures_do_not_end_a_run(conform):
    status, data = conform(more=["--maxfail", "2"], FAKE_FAIL=SECOND)
    assert status == 1 and len(data["cells"]) == len(PICK.split(" or "))
    assert results.STOPPED not in data["counts"]["left_out"]


def test_known_differences_do_not_end_a_run(conform):
    status, data = conform(more=["-x"], differences=known([SECOND]), FAKE_FAIL=SECOND)
    assert status == 0 and len(data["cells"]) == len(PICK.split(" or "))


def test_a_failure_of_a_repeated_run_ends_it(conform):
    status, data = conform(more=["-x", "--repeat", "3"], FAKE_FAIL=SECOND)
    assert status == 1 and outcomes(data)[SECOND] == "fail"


def test_a_gate_of_a_run_that_ended_early(gate, capsys):
    assert gate(["-x"], FAKE_FAIL=PICK.replace(" or ", " ")) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "note   a run was ended by --maxfail: only cells that both runs have are compared" in lines
    assert lines[-1] == "worse  1 cells compared: 1 worse, 0 better, 0 new, 0 gone"


# -- what is printed


def test_a_quiet_run(conform, capsys):
    assert conform(more=["--quiet"])[0] == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert conform(more=["-q"], FAKE_FAIL=SECOND)[0] == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first == f"fail {SECOND}: byte 3 <is> wrong" and last.startswith("7 cells on fake: 6 pass, 1 fail")


def test_a_summary_as_json(conform, capsys, tmp_path):
    status, data = conform(more=["--json"], FAKE_FAIL=SECOND)
    shown = capsys.readouterr()
    summary = json.loads(shown.out)
    assert status == summary["status"] == 1 and "7 cells on fake" in shown.err
    assert summary["summary"] == data["summary"] and summary["dut"] == "fake" and summary["not_run"] == 0
    assert summary["cells"] == [{"id": SECOND, "outcome": "fail", "faults": ["byte 3 <is> wrong"]}]
    assert summary["report"] == str(tmp_path / "out" / "report.html")
    conform(more=["--json", "--quiet"])
    assert capsys.readouterr().err.count("\n") == 2


def test_json_goes_with_a_run(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(None, ["--json", "--list"])
    assert ended.value.code == 2 and "--json has no effect" in capsys.readouterr().err


# -- a run as its own gate


@pytest.fixture
def gate(conform, tmp_path):
    """`--diff RUN`, with the run before as the baseline."""
    baseline = tmp_path / "baseline"

    def run(more=(), **env):
        return conform(more=[*more, "--diff", str(baseline)], **env)[0]

    assert conform()[0] == 0
    (tmp_path / "out").rename(baseline)
    return run


def test_a_gate_passes_without_a_change(gate, capsys):
    assert gate() == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("same ") and f"{len(PICK.split(' or '))} cells compared: 0 worse" in last


def test_a_gate_as_json(gate, capsys, tmp_path):
    capsys.readouterr()
    assert gate(["--json"], FAKE_FAIL=SECOND) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["status"] == 1 and data["difference"]["compared"] == 7
    assert data["difference"]["worse"] == [f"{SECOND}: pass -> fail: byte 3 <is> wrong"]
    runs = [str(tmp_path / "baseline"), str(tmp_path / "out")]
    assert cli.main(None, ["--json", "--diff", *runs]) == 1
    assert json.loads(capsys.readouterr().out) == {"status": 1, "difference": data["difference"]}


def test_a_quiet_gate_says_what_became_worse(gate, capsys):
    capsys.readouterr()
    assert gate(["--quiet", "--shard", "1/1"], FAKE_FAIL=SECOND) == 1
    kinds = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert kinds == ["fail", "7", "worse", "worse"]  # the run, then the comparison


def test_a_gate_of_one_shard_compares_its_cells(gate, capsys):
    assert gate(["--shard", "2/3"]) == 0
    assert "note   shard was None, is [2, 3]" in capsys.readouterr().out


def test_a_gate_names_what_became_worse(gate, capsys):
    assert gate(FAKE_FAIL=SECOND) == 1
    said = capsys.readouterr().out
    assert f"worse  {SECOND}: pass -> fail: byte 3 <is> wrong" in said and "1 worse" in said.splitlines()[-1]


def test_a_gate_does_not_judge_what_failed_before(conform, tmp_path, capsys):
    assert conform(FAKE_FAIL=SECOND)[0] == 1
    (tmp_path / "out").rename(tmp_path / "baseline")
    assert conform(more=["--diff", str(tmp_path / "baseline")])[0] == 0
    assert "0 worse" in capsys.readouterr().out


@pytest.mark.parametrize("env, status", [("FAKE_NO_DEVICE", 2), ("FAKE_SILENT_EXIT", 1)])
def test_a_gate_without_a_device_is_red(gate, env, status):
    assert gate(**{env: "1"}) == status


def test_a_baseline_is_read_before_the_run(conform, tmp_path, capsys):
    status, data = conform(more=["--diff", str(tmp_path / "none")])
    assert (status, data) == (2, None)
    assert f"{tmp_path}/none: No such file" in capsys.readouterr().err


def test_a_run_does_not_replace_its_baseline(conform, tmp_path, capsys):
    assert conform()[0] == 0
    before = (tmp_path / "out" / "results.json").read_bytes()
    for baseline in (tmp_path / "out", tmp_path / "out" / "results.json"):
        assert conform(more=["--diff", str(baseline)])[0] == 2
        assert "--out" in capsys.readouterr().err
    assert (tmp_path / "out" / "results.json").read_bytes() == before


@pytest.mark.parametrize("more", [["a", "b", "c"], ["a", "--list"], ["a", "--explain", FIRST]])
def test_wrong_arguments_of_a_gate(more, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(None, ["--diff", *more])
    assert ended.value.code == 2 and "--diff" in capsys.readouterr().err
