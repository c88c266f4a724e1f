# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Mutants: the catalogue fits the sources and the suite; planting; and a mutant that is not caught is reported."""
import json

import pytest
import yaml

from conftest import REPO
from hcasim_conform.run import dut
from hcasim_conform.run import mutants as built
from hcasim_conform.mutants import judge as mutants
from hcasim_conform.mutants import plant

CELL = "wr/send/rc/sge/-/signaled"


def edits(*pairs):
    return [(f"m{i}", {"file": "a.c", "find": find, "with": with_}) for i, (find, with_) in enumerate(pairs)]


def test_planting():
    text = plant.plant("a = b;\nc = d;\n", edits(("c = d", "c = MUTANT ? e : d"), ("b;", "b + MUTANT;")))
    assert text == '#include "mutant.h"\na = b + MUTANT_ON("m1");\nc = MUTANT_ON("m0") ? e : d;\n'


@pytest.mark.parametrize(
    "text, pairs, words",
    [
        ("a = b;", [("c", "MUTANT")], "a.c contains 0 times, instead of once: 'c'"),
        ("a = a;", [("a", "MUTANT")], "a.c contains 2 times, instead of once: 'a'"),
        ("a = b;", [("a = b", "MUTANT"), ("b;", "MUTANT")], "mutant m1: overlaps"),
    ],
)
def test_a_mutant_that_does_not_fit_is_named(text, pairs, words):
    with pytest.raises(plant.PlantError, match=words):
        plant.plant(text, edits(*pairs))


def test_the_catalogue_fits_the_sources():
    rows = yaml.safe_load(built.CATALOGUE.read_text(encoding="utf-8"))["mutants"]
    assert len(built.load()) == len(rows) >= 40
    for name, chosen in plant.by_file(rows).items():
        plant.plant((REPO / name).read_text(encoding="utf-8"), chosen)


def test_the_catalogue_names_cells(cells):
    mutants.choose(built.load(), mutants.usable(cells, dut.load("native")))


def row(**more):
    return {"id": "one", "what": "something is wrong", "file": "sim/core/a.c", "find": "a", **more}


@pytest.mark.parametrize(
    "rows, words",
    [
        ([row(cells=["*"], fault="x")], "mutants/0: 'with' is a required property"),
        ([row(cells=["*"], **{"with": "MUTANT"})], "mutants/0: 'fault' is a required property"),
        ([row(cells=["*"], fault="x", **{"with": "b"})], "mutants/0/with: 'b' does not match"),
        ([row(cells=[], fault="x", **{"with": "MUTANT"})], "mutants/0/cells"),
        ([row(cells=["*"], fault="x", **{"with": "MUTANT"})] * 2, "the id one is there twice"),
        ([row(cells=["*"], fault="(", **{"with": "MUTANT"})], r"mutant one: fault '\('"),
    ],
)
def test_a_wrong_catalogue_is_named(rows, words, tmp_path):
    path = tmp_path / "mutants.yaml"
    path.write_text(yaml.safe_dump({"mutants": rows}), encoding="utf-8")
    with pytest.raises(mutants.CatalogueError, match=words):
        built.load(path)


def written(path, *ids):
    rows = [{**row(cells=["*"], fault="x", **{"with": "MUTANT"}), "id": name} for name in ids]
    path.write_text(yaml.safe_dump({"mutants": rows}), encoding="utf-8")
    return path


def test_the_list_is_that_of_the_build(tmp_path, monkeypatch, capsys):
    """plant.py leaves it there; --catalogue is another one."""
    source = tmp_path / "top" / "sim" / "core" / "a.c"
    source.parent.mkdir(parents=True)
    source.write_text("a\n", encoding="utf-8")
    plant.main(written(tmp_path / "own.yaml", "one"), tmp_path / "top", tmp_path / "mutants")
    monkeypatch.setenv("HCASIM_BUILD", str(tmp_path))
    capsys.readouterr()
    assert mutants.main(None, ["--list"]) == 0 and capsys.readouterr().out == "one  something is wrong\n"
    other = written(tmp_path / "other.yaml", "two")
    assert mutants.main(None, ["--list", "--catalogue", str(other)]) == 0
    assert capsys.readouterr().out == "two  something is wrong\n"


@pytest.mark.parametrize(
    "text, words", [(None, "No such file"), ("a: [", "while parsing"), ("a: 1", "'a' was unexpected")]
)
def test_a_list_that_cannot_be_read(tmp_path, capsys, text, words):
    path = tmp_path / "list.yaml"
    if text:
        path.write_text(text, encoding="utf-8")
    assert mutants.main(None, ["--list", "--catalogue", str(path)]) == 2
    assert words in capsys.readouterr().err


def test_a_mutant_without_cells_is_named(cells):
    with pytest.raises(mutants.CatalogueError, match="mutant one: no cell matches any of .*nowhere"):
        mutants.choose([mutants.Mutant("one", "", ["nowhere/*"], "x")], cells)


@pytest.fixture
def judge(write_dut, fake_bin, tmp_path, monkeypatch):
    """Runs one mutant on the fake device; returns exit status and output."""

    def run(fault="byte 3", hang=False, **environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        args = mutants.parser(None).parse_args(
            ["--dut", str(write_dut()), "--out", str(tmp_path), "--jobs", "1"]
        )
        mutant = mutants.Mutant("one", "something is wrong", [CELL], fault, hang)
        status = mutants.run(args, [mutant], fake_bin)
        return status, json.loads((tmp_path / "mutants.json").read_text(encoding="utf-8"))

    return run


def test_a_mutant_that_no_cell_finds_fails_the_run(judge, capsys):
    status, data = judge()
    assert status == 1
    assert (data["caught"], data["mutants"]) == (0, 1)
    assert data["verdicts"][0]["outcome"] == "missed"
    assert "MISSED  one: something is wrong" in capsys.readouterr().out


def test_a_caught_mutant(judge, capsys):
    status, data = judge(FAKE_FAIL_MUTANT="one")
    assert status == 0, data
    assert data["verdicts"][0]["red"] == [CELL]
    assert data["verdicts"][0]["fault"] == "byte 3 <is> wrong"
    assert "1 of 1 mutants caught" in capsys.readouterr().out


def test_a_cell_that_is_red_for_another_reason_shows_nothing(judge, capsys):
    status, data = judge("byte 4", FAKE_FAIL_MUTANT="one")
    assert status == 1 and data["caught"] == 0
    assert data["verdicts"][0]["outcome"] == "unclear"
    assert data["verdicts"][0]["others"] == [[CELL, "byte 3 <is> wrong"]]
    out = capsys.readouterr().out
    assert f"UNCLEAR one: something is wrong; not for that, which is /byte 4/, is {CELL} red: byte 3" in out
    assert "0 of 1 mutants caught" in out


def test_a_cell_that_waited_in_vain_shows_nothing(judge, capsys):
    status, data = judge(FAKE_FAIL_MUTANT="one", FAKE_LATE="1")
    assert status == 1 and data["verdicts"][0]["outcome"] == "unclear"
    assert "red: timed out: byte 3" in capsys.readouterr().out


def test_a_cell_that_waited_in_vain_where_it_must(judge):
    status, data = judge(hang=True, FAKE_FAIL_MUTANT="one", FAKE_LATE="1")
    assert status == 0 and data["caught"] == 1


def test_a_cell_that_waited_in_vain_for_something_else(judge):
    status, data = judge("byte 4", hang=True, FAKE_FAIL_MUTANT="one", FAKE_LATE="1")
    assert status == 1 and data["verdicts"][0]["outcome"] == "unclear"


def test_what_is_red_without_a_mutant_fails_the_run(judge, capsys):
    status, data = judge(FAKE_FAIL=CELL)
    assert status == 1
    assert data["without"]["red"] == [[CELL, "byte 3 <is> wrong"]]
    assert f"RED without a mutant: {CELL}: byte 3" in capsys.readouterr().out


def test_nothing_of_a_mutant_is_in_a_build_that_people_run(build):
    """Such a build does not contain the name of the switch."""
    programs = [*(build / "bin").glob("hcasim-*"), *(build / "lib").glob("*.so")]
    assert {path.name for path in programs} >= {
        "hcasim-device",
        "libhcasim-rdmav34.so",
        "libhcasim_preload.so",
    }
    for path in programs:
        assert mutants.SWITCH.encode() not in path.read_bytes(), path
    assert "HCASIM_MUTANTS:BOOL=OFF" in (build / "CMakeCache.txt").read_text(encoding="utf-8")
