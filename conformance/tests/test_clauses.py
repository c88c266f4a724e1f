# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Every sentence of spec/wr.yaml is tested by a cell of every run, or says why none can."""
import copy

import pytest
import yaml

from hcasim_conform.model import tables as model
from hcasim_conform.select.covering import plain
from hcasim_conform.select.enumeration import Enumerator


@pytest.fixture(scope="module")
def cited(enumerator):
    """Clause -> ids of the base and extra cells that name it."""
    found = {}
    for cell in plain(enumerator):
        for clause in (cell.expect.clause, *cell.expect.also):
            found.setdefault(clause, []).append(cell.id)
    return found


def unaccounted(tables, cited):
    return [clause for clause in tables.sentences if clause not in cited and clause not in tables.untested]


def test_every_clause_has_a_cell_or_a_reason(tables, cited):
    assert not unaccounted(tables, cited)


def test_a_cell_names_sentences_of_the_file(tables, cited):
    assert set(cited) <= set(tables.sentences)


def test_a_clause_with_a_cell_has_no_reason(tables, cited):
    assert not set(tables.untested) & set(cited)


@pytest.mark.parametrize(
    "where, clause",
    [
        (lambda doc: doc["rules"], "ibv_post_send/NOTES/of-nobody"),
        (lambda doc: doc["calls"][0]["clauses"], "ibv_post_recv/NOTES/of-nobody"),
    ],
    ids=["rule", "call"],
)
def test_a_clause_with_neither_is_found(tables, tmp_path, where, clause):
    doc = yaml.safe_load(model.SPEC.read_text(encoding="utf-8"))
    for reason in (None, "nothing in a program can show it"):
        changed = copy.deepcopy(doc)
        where(changed).append(
            {"id": clause, "quote": "a sentence", **({"untested": reason} if reason else {})}
        )
        path = tmp_path / "wr.yaml"
        path.write_text(yaml.safe_dump(changed), encoding="utf-8")
        read = model.Tables(path)
        found = {c for cell in plain(Enumerator(read)) for c in (cell.expect.clause, *cell.expect.also)}
        assert unaccounted(read, found) == ([] if reason else [clause])


def test_further_sentences_are_those_of_the_plain_cell(by_id):
    also = by_id["wr/send_imm/ud/sge/ud_addr/signaled"].expect.also
    assert "ibv_wr_post/WORK-REQUESTS/table/SEND_WITH_IMM" in also
    assert "ibv_wr_post/WORK-REQUESTS/QP-Specific-setters/UD" in also
    assert "ibv_poll_cq/DESCRIPTION/IBV_WC_WITH_IMM" in also
    assert not by_id["wr/send/ud/sge/ud_addr/signaled/2-of-3"].expect.also
    assert not by_id["wr/send/ud/none/ud_addr/signaled"].expect.also
