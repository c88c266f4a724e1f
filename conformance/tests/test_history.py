# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Faults that rdma-core really had: the list fits the sources, the suite and the page; and those that a cell catches are.

ci/test plants a part of them; with HCASIM_GATE=all, as in the nightly run, all.
"""
import os
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from conftest import REPO
from parts import part
from hcasim_conform.mutants import history
from hcasim_conform.mutants import provider as providers
from hcasim_conform.run import dut

PARTS = 32
FIXES = history.load()
CAUGHT = [fix for fix in FIXES if fix.caught_by]
CHOSEN = CAUGHT if os.environ.get("HCASIM_GATE") == "all" else CAUGHT[part(PARTS) - 1 :: PARTS]
BUILD = Path(os.environ.get("RDMA_CORE_BUILD", REPO / "build" / "rdma-core")).parent


def source(fix):
    path = BUILD / f"{history.TREES[fix.release]}-src"
    if not providers.fits(path, fix.release):
        pytest.skip(f"there is no source of rdma-core {fix.release}")
    return path


def test_the_list_is_long_enough():
    assert len(FIXES) >= 95 and sum(fix.library == "librdmacm" for fix in FIXES) >= 33


@pytest.mark.parametrize(
    "change", [{"missed": "no cell can tell"}, {"commit": "HEAD"}, {"caught_by": []}, {"dut": "x"}]
)
def test_a_wrong_list_is_named(change, tmp_path):
    doc = yaml.safe_load(history.FIXES.read_text(encoding="utf-8"))
    next(row for row in doc["fixes"] if "caught_by" in row).update(change)
    path = tmp_path / "history.yaml"
    path.write_text(yaml.safe_dump(doc), encoding="utf-8")
    with pytest.raises(providers.ProviderError, match="fixes/"):
        history.load(path)


@pytest.mark.parametrize("fix", [fix for fix in FIXES if fix.fault], ids=lambda fix: fix.id)
def test_an_edit_fits_the_sources(fix):
    providers.planted(fix.fault, source(fix))


@pytest.mark.parametrize("fix", CAUGHT, ids=lambda fix: fix.id)
def test_the_device_runs_the_cells(fix, by_id):
    device = dut.load(fix.dut)
    for cell in fix.caught_by:
        assert device.supports(by_id[cell]), cell


def test_the_page_is_current():
    text = (REPO / "docs" / "history.md").read_text(encoding="utf-8")
    assert history.page(FIXES) in text and history.analogies(history.others()) in text


def test_a_fault_of_another_provider_has_cells_or_a_reason(by_id):
    rows = history.others()
    assert len(rows) >= 20 and {row["provider"] for row in rows} == set(history.PROVIDERS)
    for row in rows:
        assert len(row["effect"]) > 10 and ("seen_by" in row) != ("none" in row), row["commit"]
        assert all(cell in by_id for cell in row.get("seen_by", ())), row["commit"]


@pytest.mark.parametrize("fix", CHOSEN, ids=lambda fix: fix.id)
def test_a_fault_is_caught(fix, build, tmp_path):
    source(fix)
    status, said = history.Trial(build / "bin" / "hcasim", tmp_path, BUILD).run(fix)
    assert status == 1, said


def test_a_fault_in_a_header_is_caught(build, tmp_path):
    cell = "suite/endpoint/rc/both-ways"
    edit = "libibverbs/verbs.h", "ibv_post_recv", "return qp->context->ops.post_recv(", "return 12; ("
    fault = providers.Fault("planted", "ibv_post_recv() of verbs.h always fails", "", (edit,), (cell,))
    fix = replace(FIXES[0], id="planted", library="libibverbs", fault=fault, dut="native", caught_by=(cell,))
    source(fix)
    status, said = history.Trial(build / "bin" / "hcasim", tmp_path, BUILD).run(fix)
    assert status == 1, said


def test_a_library_without_a_fault_is_not(build, tmp_path):
    fix = CHOSEN[0]
    source(fix)
    same = replace(fix.fault, edits=tuple((*where, find, find) for *where, find, _ in fix.fault.edits))
    status, said = history.Trial(build / "bin" / "hcasim", tmp_path, BUILD).run(replace(fix, fault=same))
    assert status == 0, said
