# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""results.json: its schema, writing and reading, its size; junit.xml by the rules of its consumers."""
import json
import re
import time
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
import records

from hcasim_conform import cli
from hcasim_conform.report import junit
from hcasim_conform.report import results
from hcasim_conform.run import versions
from hcasim_cli.build import Build, load

ARTEFACT = {"kind": "wqe", "path": "trace-1/wqe.log", "text": "op SEND\nflags SIGNALED"}


@pytest.fixture
def mixed():
    """One cell of each outcome, and everything else that a record can contain."""
    cells = [
        records.row(f"wr/send/rc/sge/-/{outcome}/{level.lower()}", outcome, level)
        for outcome in results.OUTCOMES
        for level in ("MUST", "MUST-BY-ERRATUM", "SHOULD")
    ]
    cells[0]["artefacts"] = [ARTEFACT, *({"kind": "pcap", "path": None, "text": text} for text in (None, ""))]
    cells[2]["artefacts"] = [ARTEFACT]
    cells[1]["calls"] = ["a(0xc0de5f62fd1c0010)", "b(0xc0de5f62fd1c0011, 0xf00d5f62fd1c0011)", "c(0x12345)"]
    cells[8]["calls"] = ["a(0xc0de5f62fd1c0010)", "{wr_id} is here, too"]
    finding = {"kind": "denied", "capability": "tso", "declared": False, "reported": True, "text": "has TSO"}
    return records.record(cells, faults=["stale key"], findings=[finding], shard=[1, 2], expression="wr")


def schema():
    return json.loads(results.SCHEMA.read_text(encoding="utf-8"))


def test_the_file_keeps_its_schema(mixed, tmp_path):
    results.write_json(mixed, tmp_path / "results.json")
    doc = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    jsonschema.validate(doc, schema())
    assert [isinstance(c, list) for c in doc["cells"]] == [
        c["outcome"] in ("pass", "skipped") for c in mixed["cells"]
    ]
    doc["cells"][0][0] = "no index"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(doc, schema())


def test_nothing_is_lost_in_the_file(mixed, tmp_path):
    results.write_json(mixed, tmp_path / "results.json")
    assert results.load(tmp_path) == mixed
    assert results.load(tmp_path / "results.json") == mixed


def test_calls_are_shared_whatever_their_wr_ids_are():
    calls = [["wr_id = 0xc0de5f62fd1c0000", "a()"], ["wr_id = 0xc0de00000abc0000", "a()"]]
    rows = [records.row(f"wr/send/rc/sge/-/{i}", calls=c) for i, c in enumerate(calls)]
    doc = results.pack(records.record(rows))
    at = doc["columns"].index("calls")
    assert [row[at][0] for row in doc["cells"]] == ["0xc0de5f62fd1c", "0xc0de00000abc"]
    assert doc["cells"][0][at][1] == doc["cells"][1][at][1]


def test_an_exhaustive_run_loads_in_seconds(tmp_path):
    data = records.record(records.rows(250000))
    begin = time.process_time()
    results.write_json(data, tmp_path / "results.json")
    assert len(results.load(tmp_path)["cells"]) == 250000
    assert time.process_time() - begin < 30  # 4 s on an idle core
    assert (tmp_path / "results.json").stat().st_size < 60e6


@pytest.mark.parametrize(
    "text, words",
    [
        (None, "No such file"),
        ("{", "not JSON"),
        ("[]", "no record of a run"),
        ("{}", "it has no 'version'"),
        (
            '{"version": 1}',
            "'version' is 1 (written by hcasim ?), this hcasim reads 2 and 3 and 4 and 5: run the cells again",
        ),
        (
            '{"version": 9, "versions": {"hcasim": "0.9.0"}}',
            "'version' is 9 (written by hcasim 0.9.0), this hcasim reads 2 and 3 and 4 and 5: update hcasim",
        ),
        ('{"version": "5"}', "'version' is '5' (written by hcasim ?)"),
        ('{"version": 2}', "a damaged record: KeyError"),
        ('{"version": 5}', "it has no"),
        (("strings", []), "a damaged record: IndexError"),
        (("cells", [[1]]), "a damaged record: ValueError"),
        (("columns", ["id", "colour"]), "a damaged record: KeyError: 'colour'"),
    ],
)
def test_what_is_no_record_is_refused(mixed, tmp_path, text, words):
    path = tmp_path / "results.json"
    if isinstance(text, tuple):
        text = json.dumps({**results.pack(mixed), text[0]: text[1]})
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(results.ResultsError, match=re.escape(words)) as caught:
        results.load(path)
    assert str(path) in str(caught.value)


def test_the_summary_counts_by_level(mixed):
    summary = mixed["summary"]
    assert (summary["cells"], summary["pass"], summary["skipped"]) == (18, 3, 3)
    for level in ("MUST", "MUST-BY-ERRATUM", "SHOULD"):
        assert summary["levels"][level] == {"cells": 6, **dict.fromkeys(results.OUTCOMES, 1)}
    assert mixed["counts"] == {"exist": 18, "run": 15, "left_out": {"no XRC": 3}}


OLD = sorted((Path(__file__).parent / "data").glob("results-*.json"))  # real runs, one file of each version


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_a_file_of_an_earlier_version_is_converted(path, tmp_path):
    doc = json.loads(path.read_text(encoding="utf-8"))
    assert path.stem == f"results-{doc['version']}"
    jsonschema.validate(results.convert(doc), schema())
    old = results.load(path)
    assert [row["outcome"] for row in old["cells"]] == ["pass", "fail", "fail", "known", "skipped"]
    assert old["version"] == results.VERSION
    results.write_json(old, tmp_path / "results.json")
    assert results.load(tmp_path) == old


def test_each_step_has_a_file():
    assert [path.stem for path in OLD] == [f"results-{version}" for version in sorted(results.STEPS)]
    assert sorted(results.STEPS) == list(range(min(results.STEPS), results.VERSION))


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_a_baseline_of_an_earlier_version_is_a_gate(path, tmp_path, capsys):
    """Unchanged cells are no difference; a cell that fails since then is one."""
    now = results.load(path)
    results.write_json(now, tmp_path / "results.json")
    assert cli.main(None, ["--diff", str(path), str(tmp_path)]) == 0
    now["cells"][0].update(outcome="fail", faults=["wrong"])
    results.write_json(now, tmp_path / "results.json")
    assert cli.main(None, ["--diff", str(path), str(tmp_path)]) == 1
    assert f"worse  {now['cells'][0]['id']}: pass -> fail: wrong" in capsys.readouterr().out


# -- versions


def library(folder, release):
    folder.mkdir(parents=True)
    (folder / f"libibverbs.so.1.14.{release}").touch()
    (folder / "libibverbs.so.1").symlink_to(f"libibverbs.so.1.14.{release}")
    return str(folder)


ABOUT = {"version": "7.8.9", "commit": "", "top": "share", "rdma_core": "ours", "sanitizer_runtime": ""}


def test_version_of_rdma_core(tmp_path, monkeypatch):
    """In the order in which programs find it."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    (tmp_path / "build.json").write_text(json.dumps(ABOUT))
    library(tmp_path / "ours" / "lib", "99.2")
    assert versions.collect(tmp_path / "bin", {})["rdma-core"] == "99.2"
    build = load(tmp_path)
    users = {"LD_LIBRARY_PATH": f"/none:{library(tmp_path / 'users', '44.0')}"}
    assert versions.rdma_core(build, users) == "44.0"
    monkeypatch.setenv("LD_LIBRARY_PATH", users["LD_LIBRARY_PATH"])
    assert versions.rdma_core(build, {}) == "44.0"
    assert versions.rdma_core(build, {"LD_LIBRARY_PATH": "/none"}) == "99.2"
    monkeypatch.setattr(versions.versions, "system_library", lambda: "/usr/lib/libibverbs.so.1.14.50.3")
    for other in (Build(tmp_path, {**ABOUT, "rdma_core": ""}), load(tmp_path / "elsewhere")):
        assert versions.rdma_core(other, {"LD_LIBRARY_PATH": ""}) == "50.3"


def test_an_installed_copy_has_the_commit_of_its_source_tree(tmp_path):
    """Also below a folder that is a checkout of something else."""
    (tmp_path / ".git").mkdir()
    assert versions.hcasim(Build(tmp_path, {**ABOUT, "commit": "abc1234"})) == "abc1234"
    assert versions.hcasim(Build(tmp_path, ABOUT)) == "7.8.9"
    assert versions.hcasim(load(tmp_path / "elsewhere")) == "unknown"


# -- junit.xml

SUITE_ATTRIBUTES = {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}


def check_junit(path):
    """The rules that the surefire and Jenkins schemas share."""
    root = ElementTree.parse(path).getroot()
    assert root.tag == "testsuites" and set(root.keys()) <= {"name", "tests", "failures", "errors", "time"}
    for suite in root:
        assert suite.tag == "testsuite" and set(suite.keys()) == SUITE_ATTRIBUTES
        tags = [e.tag for e in suite]
        assert set(tags) <= {"properties", "testcase"} and "properties" not in tags[1:]
        cases = suite.findall("testcase")
        for case in cases:
            assert {"name", "classname", "time"} == set(case.keys()) and float(case.get("time")) >= 0
            assert [e.tag for e in case] in ([], ["failure"], ["flakyFailure"], ["skipped"])
        assert int(suite.get("tests")) == len(cases)
        for key, tag in (("failures", "failure"), ("skipped", "skipped"), ("errors", "error")):
            assert int(suite.get(key)) == len(suite.findall(f"testcase/{tag}"))
        assert abs(sum(float(c.get("time")) for c in cases) - float(suite.get("time"))) < 1e-3
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp"))
        assert len({c.get("name") for c in cases}) == len(cases)
    assert int(root.get("tests")) == len(root.findall("testsuite/testcase"))
    assert int(root.get("failures")) == len(root.findall("testsuite/testcase/failure"))
    return root


def test_junit_of_every_outcome(mixed, tmp_path):
    next(row for row in mixed["cells"] if row["outcome"] == "fail")["faults"] = [
        "\x00 and \x1b[31m and \ud800 and <&>"
    ]
    junit.write(mixed, tmp_path / "junit.xml")
    root = check_junit(tmp_path / "junit.xml")
    kinds = [f.get("type") for f in root.iter("failure")]
    assert sorted(set(kinds)) == ["failure", "known-difference", "run", "unexpected-pass"]
    assert [s.get("message") for s in root.iter("skipped")] == ["no XRC"] * 3
    assert [f.get("message") for f in root.iter("flakyFailure")] == ["byte 3 <is> wrong"] * 3
    said = {p.get("name"): p.get("value") for p in root.iter("property")}
    assert said["command"] == "hcasim conform --dut fake" and said["version.rdma-core"] == "56.1"
    assert said["level.MUST"] == said["level.MUST-BY-ERRATUM"] == "1 of 5 pass"
    assert "\ufffd and \ufffd[31m and \ufffd and <&>" in [f.get("message") for f in root.iter("failure")]


def test_junit_of_an_exhaustive_run_can_be_uploaded(tmp_path):
    cells = records.rows(100000)
    cells[7].update(outcome="fail", faults=["wrong"])
    junit.write(records.record(cells), tmp_path / "junit.xml")
    root = check_junit(tmp_path / "junit.xml")
    assert (tmp_path / "junit.xml").stat().st_size < 10e6
    names = [c.get("name") for c in root.iter("testcase")]
    assert cells[7]["id"] in names
    counted = sum(int(m[1]) for m in (re.search(r"/\* \((\d+) cells, pass\)", n) for n in names) if m)
    assert counted == 100000 - 1
