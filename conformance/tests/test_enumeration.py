# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The cells are complete against the man pages, and their ids are unique and stable."""
import re
from pathlib import Path

import pytest

TYPES = ("RC", "UC", "UD", "RAW_PACKET", "XRC_SEND")
STABLE = Path(__file__).with_name("stable_ids.txt")


def wr_page_table(man_pages):
    """(operation, QP type) of the table in ibv_wr_post(3), with its two misprints mended."""
    text = (man_pages / "ibv_wr_post.3.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z_]+) +\| (ibv_wr_\w+)\(\) +\| ([^|]+)\|", text, re.M)
    pairs = set()
    for op, _, types in rows:
        for qpt in types.replace("SRC SEND", "XRC_SEND").split(","):
            if qpt.strip() != "RD":  # erratum FLUSH-RD
                pairs.add((op, qpt.strip()))
    return pairs


def post_page_table(man_pages):
    text = (man_pages / "ibv_post_send.3").read_text(encoding="utf-8")
    head = next(line for line in text.splitlines() if line.startswith("OPCODE"))
    types = [t.strip().removeprefix("IBV_QPT_") for t in head.split("|")[1:]]
    pairs = set()
    for line in text.splitlines():
        if line.startswith("IBV_WR_"):
            op, *marks = line.split("|")
            pairs |= {
                (op.strip().removeprefix("IBV_WR_"), t) for t, m in zip(types, marks) if m.strip() == "X"
            }
    return pairs


def accepted(cells, api):
    """(operation, QP type) for which a plain signalled request must be executed."""
    return {
        (c.op, c.qpt)
        for c in cells
        if c.api == api
        and c.expect.post == "ok"
        and c.expect.create == "ok"
        and c.flags == ("SIGNALED",)
        and not c.variant
    }


def test_wr_table_is_the_page(cells, man_pages):
    page = wr_page_table(man_pages)
    assert len(page) == 34
    assert {pair for pair in accepted(cells, "wr") if pair[0] != "ATOMIC_WRITE"} == page


def test_atomic_write_is_a_row_by_erratum(cells):
    assert {t for op, t in accepted(cells, "wr") if op == "ATOMIC_WRITE"} == {"RC", "XRC_SEND"}


def test_post_table_is_the_page(cells, man_pages):
    assert accepted(cells, "post") == post_page_table(man_pages)


@pytest.mark.parametrize("api", ["wr", "post"])
def test_every_operation_meets_every_qp_type(cells, tables, api):
    here = {(c.op, c.qpt) for c in cells if c.api == api}
    assert here == {(op.name, t) for op in tables.operations for t in TYPES}


def test_pairs_that_are_not_in_the_table_are_refused(cells, tables):
    for c in cells:
        if c.api not in ("wr", "post") or c.qpt in tables.operation(c.op).types(c.api):
            continue
        if c.api == "wr" and not c.variant:
            assert (c.expect.create, c.expect.create_errno) == ("refused", "EOPNOTSUPP"), c.id
            assert c.ask == (c.op,), c.id
        else:
            assert (c.expect.create, c.expect.post) == ("ok", "refused"), c.id


def test_every_legal_pair_has_all_axes(cells, tables):
    for op in tables.operations:
        for qpt in op.wr:
            here = [c for c in cells if (c.api, c.op, c.qpt) == ("wr", op.name, qpt)]
            plain = {c.flags for c in here if not c.variant and c.data == here[0].data}
            assert len(plain) == 16, (op.name, qpt)
            kinds = {
                "none",
                "sge",
                "sge-0",
                "sge_list-3",
                "inline",
                "inline_list-3",
                "inline-max",
                "inline-over",
                "sge_list-over",
            }
            assert kinds <= {c.data.id for c in here}, (op.name, qpt)
            assert {c.qp_setter for c in here} == {"none", "ud_addr", "xrc_srqn"}
            assert {"unasked", "abort", "batch-3", "batch-bad", "then-post_send"} <= {c.variant for c in here}


def test_receives_and_writev_are_there(cells, tables):
    for api, call in (
        ("recv", "ibv_post_recv"),
        ("srq", "ibv_post_srq_recv"),
        ("writev", "rdma_post_writev"),
    ):
        assert {c.qpt for c in cells if c.api == api} == set(tables.calls[call].qp_types)


def test_ids(cells):
    ids = [c.id for c in cells]
    assert len(ids) == len(set(ids))
    assert "wr/rdma_write_imm/uc/sge_list-3/-/solicited+signaled" in ids
    matrix = [i for i in ids if not i.startswith("suite/")]
    assert all(re.fullmatch(r"[a-z0-9_+/-]+", i) and 6 <= len(i.split("/")) <= 7 for i in matrix)


def test_ids_are_stable(cells):
    """Known differences and links point at ids: one that is renamed must be renamed here, too."""
    kept = STABLE.read_text(encoding="utf-8").split()
    assert len(kept) > 100
    assert set(kept) <= {c.id for c in cells}


def test_every_cell_cites_a_sentence_and_known_errata(cells, tables):
    for c in cells:
        assert tables.sentences[c.expect.clause], c.id
        assert set(c.expect.errata) <= set(tables.errata), c.id
        assert c.expect.level in ("MUST", "SHOULD", "UNDEFINED")
        assert c.expected()


def test_a_window_is_invalidated_once_in_a_batch(by_id):
    assert [wr.op for wr in by_id["wr/local_inv/rc/none/-/signaled/batch-3"].wrs] == [
        "LOCAL_INV",
        "SEND",
        "SEND",
    ]
    assert [wr.op for wr in by_id["post/rdma_read/rc/sge/-/signaled/list-3"].wrs] == ["RDMA_READ"] * 3
