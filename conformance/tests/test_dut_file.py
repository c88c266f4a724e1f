# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""DUT files that extend others: the merged result, and errors that name the file and the field."""
import pytest
import yaml

from hcasim_conform.run import drive, dut, dut_file

WHOLE = {
    "name": "whole",
    "doc": "says everything",
    "start": ["./bin/run", "./x"],
    "tap": {"start": ["./bin/run", "{dir}"]},
    "env": {"A": "1", "B": "2"},
    "requester": {"device": "a", "port": 1, "gid_index": 0},
    "responder": {"device": "b", "port": 1, "gid_index": 0},
    "mtu": 1024,
    "timeout_ms": 100,
    "capabilities": {"operations": {"RC": "all", "UC": "all"}, "srq": True},
    "differences": [{"clause": "*", "cells": ["*"], "reason": "found to fail"}],
}


@pytest.fixture
def write(tmp_path):
    def file(stem, /, text=None, **doc):
        path = tmp_path / f"{stem}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(doc) if text is None else text, encoding="utf-8")
        return str(path)

    file("whole", **WHOLE)
    return file


def test_mappings_are_merged_and_all_else_is_replaced(write):
    path = write(
        "child", extends="whole.yaml", name="child", env={"B": "3", "C": "4"}, responder={"device": "c"},
        capabilities={"operations": {"UC": ["SEND"]}}, differences=[],
    )  # fmt: skip
    doc = dut_file.read(path)
    assert (doc["name"], doc["doc"], doc["mtu"]) == ("child", "says everything", 1024)
    assert doc["env"] == {"A": "1", "B": "3", "C": "4"}
    assert doc["responder"] == {"device": "c", "port": 1, "gid_index": 0}
    assert doc["capabilities"] == {"operations": {"RC": "all", "UC": ["SEND"]}, "srq": True}
    assert doc["differences"] == [] and "extends" not in doc
    assert dut.load(path).name == "child"


def test_null_takes_away_what_the_parent_has(write):
    doc = dut_file.read(
        write("child", extends="whole.yaml", tap=None, env={"A": None}, capabilities={"srq": None})
    )
    assert "tap" not in doc and doc["env"] == {"B": "2"} and "srq" not in doc["capabilities"]


def test_a_grandparent(write, tmp_path):
    write("a/middle", extends="../whole.yaml", mtu=512, timeout_ms=200)
    doc = dut_file.read(write("b/child", extends="../a/middle.yaml", timeout_ms=300))
    assert (doc["name"], doc["mtu"], doc["timeout_ms"]) == ("whole", 512, 300)


def test_a_program_is_looked_for_from_the_file_that_names_it(write, tmp_path):
    doc = dut_file.read(write("a/child", extends="../whole.yaml", service=["./serve"]))
    assert doc["start"] == [str(tmp_path / "bin" / "run"), "./x"]
    assert doc["tap"]["start"] == [str(tmp_path / "bin" / "run"), "{dir}"]
    assert doc["service"] == [str(tmp_path / "a" / "serve")]


@pytest.mark.parametrize(
    "files, words",
    [
        ({"child": {"extends": "nowhere.yaml"}}, r"child.yaml: extends: .*nowhere.yaml: No such file"),
        ({"child": {"extends": "child.yaml"}}, r"child.yaml: extends: child.yaml leads back to itself: "),
        (
            {"a": {"extends": "b.yaml"}, "b": {"extends": "a.yaml"}, "child": {"extends": "a.yaml"}},
            r"b.yaml: extends: a.yaml leads back to itself: .*a.yaml -> .*b.yaml -> .*a.yaml",
        ),
        ({"child": {"extends": 5}}, r"child.yaml: extends: 5 is not the name of a file"),
        ({"child": {"extends": ["whole.yaml"]}}, r"child.yaml: extends: .'whole.yaml'. is not the name"),
        ({"child": {"extends": None}}, r"child.yaml: extends: None is not the name of a file"),
        ({"child": {"extends": "whole.yaml", "mtu": "big"}}, r"child.yaml: mtu: 'big'"),
        ({"child": {"extends": "whole.yaml", "requester": 5}}, r"child.yaml: requester: 5 is not of type 'object'"),
        ({"child": {"extends": "whole.yaml", "mtu": None}}, r"child.yaml: the file: 'mtu' is a required property"),
        ({"child": {"extends": "whole.yaml", "service": None}}, r"child.yaml: service: None is not of type"),
        ({"bad": {**WHOLE, "mtu": 7}, "child": {"extends": "bad.yaml"}}, r"bad.yaml: mtu: 7"),
        ({"bad": {**WHOLE, "wings": 2}, "child": {"extends": "bad.yaml"}}, r"bad.yaml: the file: .*wings"),
        ({"child": {"extends": "whole.yaml", "wings": 2}}, r"child.yaml: the file: .*wings"),
        (
            {"child": {"extends": "whole.yaml", "capabilities": {"operations": {"RC": ["TELEPORT"]}}}},
            r"child.yaml: capabilities/operations/RC: 'TELEPORT' is no operation",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_file(write, files, words):
    for name, doc in files.items():
        path = write(name, **doc)
    with pytest.raises(dut.DutError, match="DUT file .*" + words):
        dut.load(path)


@pytest.mark.parametrize("text", ["", "- a\n", "just words\n"])
def test_a_file_without_keys(write, text):
    with pytest.raises(dut.DutError, match="child.yaml: the file holds no keys"):
        dut.load(write("child", text=text))
    with pytest.raises(dut.DutError, match="child.yaml: the file holds no keys"):
        dut.load(write("grandchild", extends="child.yaml"))


def test_a_parent_that_is_no_yaml(write):
    write("bad", text="a: [")
    with pytest.raises(dut.DutError, match="DUT file .*bad.yaml"):
        dut.load(write("child", extends="bad.yaml"))


def test_no_block_of_the_committed_files_is_typed_twice():
    """No mapping is in two files, but one of two keys: which adapter an end is, and its GID."""
    seen = {}
    for path in sorted(dut.DUTS.glob("*.yaml")):
        doc = yaml.safe_load(path.read_text(encoding="utf-8"))
        for key, value in [*doc.items(), *(doc.get("capabilities") or {}).items()]:
            if isinstance(value, dict) and len(value) > 2:
                assert seen.setdefault((key, str(value)), path) == path, (path, key)


ROW = {"clause": "*", "cells": ["*"]}


@pytest.mark.parametrize(
    "release, reasons",
    [
        ("44.0", ["everywhere", "D9: a.c:7", "at the beginning"]),
        ("65.0", ["everywhere", "D9: a.c:7 (rdma-core 65.0: a.c:12)"]),
        (None, ["everywhere", "D9: a.c:7", "at the beginning"]),
    ],
)
def test_differences_of_a_release(write, release, reasons):
    rows = [
        {**ROW, "reason": "everywhere"},
        {**ROW, "reason": "D9: a.c:7", "lines": {"65.0": "a.c:12"}},
        {**ROW, "reason": "at the beginning", "releases": ["4?.*", "56.*"]},
    ]
    more = {"release": release} if release else {}
    device = dut.load(write("child", extends="whole.yaml", differences=rows, **more))
    assert [row.reason for row in device.differences] == reasons
    other = dut.load(write("other", extends="whole.yaml", differences=[], differences_of=["child.yaml"]))
    assert [row.reason for row in other.differences] == reasons and other.differences[0].foreign


class Cell:
    """As much of a cell as known differences look at."""

    was = ""

    def __init__(self, cell_id):
        self.id, self.expect = cell_id, self
        self.clause = "PAGE/clause"


FLAGS, LENGTH = ("requester.wc.wc_flags", "WITH_IMM"), ("responder.wc.byte_len", "7")


def result(*excused, passed=True):
    return drive.Result(passed, observed=[[*seen, True] for seen in excused])


@pytest.fixture
def excusing(write):
    """A device with rows that excuse the flags of all cells, the length of two, and expect one to fail as a whole."""
    rows = [
        {**ROW, "excuses": dict([FLAGS]), "reason": "D1: the flags"},
        {**ROW, "cells": ["a/*"], "excuses": dict([LENGTH]), "reason": "D2: the length"},
        {**ROW, "cells": ["a/whole"], "timeout_ms": 100, "reason": "D3: everything"},
    ]
    return dut.load(write("child", extends="whole.yaml", differences=rows))


def test_rows_that_excuse_observations_add_up(excusing):
    both, one = (excusing.difference(Cell(name)) for name in ("a/both", "b"))
    assert (both.excuses, both.reason) == (dict([FLAGS, LENGTH]), "D1: the flags; D2: the length")
    assert (one.excuses, one.reason) == (dict([FLAGS]), "D1: the flags")
    assert excusing.difference(Cell("a/whole")).reason == "D3: everything"  # nothing behind it is looked at


@pytest.mark.parametrize(
    "seen, outcome",
    [
        (result(FLAGS, LENGTH), "known"),
        (result(FLAGS), "unexpected"),
        (result(), "unexpected"),
        (result(FLAGS, LENGTH, passed=False), "fail"),  # another check failed
    ],
)
def test_a_cell_with_excused_observations(excusing, seen, outcome):
    assert excusing.difference(Cell("a/both")).outcome(seen) == outcome


def test_excused_observations_of_another_dut_may_not_be_seen(write, excusing):
    other = dut.load(write("other", extends="whole.yaml", differences=[], differences_of=["child.yaml"]))
    difference = other.difference(Cell("a/both"))
    assert [difference.outcome(seen) for seen in (result(), result(FLAGS))] == ["pass", "known"]
    assert difference.outcome(result(passed=False)) == "fail"


def test_libraries_are_looked_for_from_the_file_that_names_them(write, tmp_path):
    path = write("a/child", extends="../whole.yaml", env={"LD_LIBRARY_PATH": "../lib:/usr/lib"})
    assert dut_file.read(path)["env"]["LD_LIBRARY_PATH"] == f"{tmp_path}/lib:/usr/lib"


def test_figures_of_the_timing_profile():
    """--set goes to `hcasim run` in each command; the device is named after it."""
    plain, given = dut_file.read("native"), dut_file.read("native")
    dut_file.set_figures(given, ["pcie.mps=128", "wire.rate=10"])
    words = ["--set", "pcie.mps=128", "--set", "wire.rate=10"]
    for before, after in (
        (plain["start"], given["start"]),
        (plain["tap"]["start"], given["tap"]["start"]),
        (plain["faults"]["start"], given["faults"]["start"]),
    ):
        assert after == [*before[:2], *words, *before[2:]]
    assert dut.load("native", figures=["wire.rate=10"]).name == "native-wire-rate-10"


def test_figures_without_a_simulated_adapter(write):
    with pytest.raises(dut_file.DutError, match="--set pcie.mps=128: device:rxe0 is no simulated adapter"):
        dut.load("device:rxe0", figures=["pcie.mps=128"])
    with pytest.raises(
        dut_file.DutError, match="--set pcie.mps=128: DUT 'whole' is not started by hcasim run"
    ):
        dut.load(write("own", extends="whole.yaml", name="whole"), figures=["pcie.mps=128"])
