# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim conform merge: shards are merged into one run, or the message names those that do not fit."""
import pytest
import records

from hcasim_conform import commands
from hcasim_conform.report import results

CELLS = [row["id"] for row in records.rows(10)]
UNDEFINED = {"UNDEFINED, never run": 4}


def shard(k, n, outcomes=None, **more):
    """One of n shards of ten cells; four more cells exist that no shard runs."""
    here = [c for i, c in enumerate(CELLS) if i % n == k - 1]
    rows = [records.row(c, (outcomes or {}).get(c, "pass")) for c in here]
    counts = results.count(rows)
    left_out = {**counts["left_out"], **UNDEFINED, results.OTHER_SHARDS: len(CELLS) - len(here)}
    more = {"counts": {"exist": len(CELLS) + 4, "run": counts["run"], "left_out": left_out}, **more}
    return records.record(rows, shard=[k, n], **more)


@pytest.fixture
def merge(tmp_path, capsys):
    def run(*shards):
        for i, data in enumerate(shards):
            (tmp_path / f"s{i}").mkdir(exist_ok=True)
            results.write_json(data, tmp_path / f"s{i}" / "results.json")
        folders = [str(tmp_path / f"s{i}") for i in range(len(shards))]
        status = commands.merge_main(None, [*folders, "--out", str(tmp_path / "out")])
        return status, capsys.readouterr().err

    return run


def test_shards_make_one_run(merge, tmp_path):
    outcomes = {CELLS[1]: "fail", CELLS[4]: "skipped"}
    status, _ = merge(*(shard(k, 3, outcomes, seconds=float(k), faults=["stale"]) for k in (2, 3, 1)))
    assert status == 1  # a cell failed
    data = results.load(tmp_path / "out")
    assert [row["id"] for row in data["cells"]] == CELLS
    assert data["summary"] == results.summarize(data["cells"])
    assert (data["summary"]["fail"], data["summary"]["skipped"]) == (1, 1)
    assert data["counts"] == {"exist": 14, "run": 9, "left_out": {**UNDEFINED, "no XRC": 1}}
    assert (data["shard"], data["seconds"], data["faults"]) == (None, 3.0, ["stale"])
    assert (tmp_path / "out" / "report.html").exists() and (tmp_path / "out" / "junit.xml").exists()


def test_artefacts_are_found_from_the_new_folder(merge, tmp_path):
    data = shard(1, 1)
    data["cells"][0]["artefacts"] = [{"kind": "pcap", "path": "taps/a.pcap", "text": None}]
    assert merge(data)[0] == 0
    (artefact,) = results.load(tmp_path / "out")["cells"][0]["artefacts"]
    assert artefact["path"] == "../s0/taps/a.pcap"


def test_the_status_is_that_of_the_run(merge):
    assert merge(shard(1, 2), shard(2, 2))[0] == 0
    assert merge(shard(1, 2), shard(2, 2, {CELLS[1]: "known"}))[0] == 0
    assert merge(shard(1, 2), shard(2, 2, {CELLS[1]: "unexpected"}))[0] == 1
    assert merge(shard(1, 2), shard(2, 2, faults=["a crash"]))[0] == 1


def other_cells(data):
    return {**data, "cells": shard(1, 2)["cells"]}


@pytest.mark.parametrize(
    "shards, words",
    [
        ([shard(1, 3), shard(3, 3)], "missing shards: 2/3"),
        ([shard(1, 2), shard(1, 2)], "shard 1/2 is there twice: {0}/s0 and {0}/s1"),
        ([shard(1, 2), shard(2, 3)], "shards of different runs: {0}/s0 is one of 2, {0}/s1 one of 3"),
        ([shard(1, 2), records.record([])], "{0}/s1 is a whole run, no shard"),
        ([shard(1, 2), other_cells(shard(2, 2))], "is in {0}/s0 and in {0}/s1"),
        ([shard(1, 2), shard(2, 2, seed=5)], "seed differs: 0 in {0}/s0, 5 in {0}/s1"),
        ([shard(1, 2), shard(2, 2, mode="exhaustive")], "mode differs"),
        ([shard(1, 2), shard(2, 2, name="rtl")], "dut differs"),
        (
            [shard(1, 2), shard(2, 2, versions={"hcasim": "9", "rdma-core": "56.1"})],
            "version of hcasim differs: 1 in {0}/s0, 9 in {0}/s1",
        ),
        (
            [shard(1, 2), shard(2, 2, counts={"exist": 15, "run": 5, "left_out": {}})],
            "{0}/s0 knows of 14 cells, {0}/s1 of 15",
        ),
        ([shard(1, 2), {**shard(2, 2), "cells": []}], "the shards do not make up one run"),
    ],
)
def test_what_is_not_one_run_is_named(merge, tmp_path, shards, words):
    status, said = merge(*shards)
    assert status == 2
    assert words.format(tmp_path) in said


def test_a_shard_that_cannot_be_read(merge, tmp_path, capsys):
    assert merge(shard(1, 1))[0] == 0
    assert commands.merge_main(None, [str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_a_shard_that_ended_early(merge, tmp_path):
    """Its cells that were not run are counted."""
    whole, early = shard(1, 2, {CELLS[0]: "fail"}), shard(2, 2)
    early["cells"] = early["cells"][:2]
    early["counts"]["run"] -= 3
    early["counts"]["left_out"][results.STOPPED] = 3
    assert merge(whole, early)[0] == 1
    counts = results.load(tmp_path / "out")["counts"]
    assert counts["run"] == len(CELLS) - 3 and counts["left_out"][results.STOPPED] == 3
