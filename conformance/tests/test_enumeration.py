# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The cells cover the man pages completely, and their ids are unique and stable."""
import re
import time
from pathlib import Path

import pytest

from hcasim_conform.model import axes
from hcasim_conform.model.cells import LEVELS
from hcasim_conform.select import complete
from hcasim_conform.select.enumeration import Enumerator

TYPES = ("RC", "UC", "UD", "RAW_PACKET", "XRC_SEND")
STABLE = Path(__file__).with_name("stable_ids.txt")


def wr_page_table(man_pages):
    """(operation, QP type) of the table in ibv_wr_post(3), with its two misprints corrected."""
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


def accepted(defined, api):
    """(operation, QP type) for which a plain signalled request must be executed."""
    return {
        (c.op, c.qpt)
        for c in defined
        if c.api == api
        and c.expect.post == "ok"
        and c.expect.create == "ok"
        and c.flags == ("SIGNALED",)
        and not c.variant
    }


def of_pages(pairs, tables):
    """Without the operations whose row comes from verbs.h, by an erratum."""
    return {(op, qpt) for op, qpt in pairs if not tables.operation(op).clause.startswith("verbs.h/")}


def test_wr_table_is_the_page(defined, tables, man_pages):
    page = wr_page_table(man_pages)
    assert len(page) == 34
    assert of_pages(accepted(defined, "wr"), tables) == page


def test_atomic_write_is_a_row_by_erratum(defined):
    assert {t for op, t in accepted(defined, "wr") if op == "ATOMIC_WRITE"} == {"RC", "XRC_SEND"}


def test_post_table_is_the_page(defined, tables, man_pages):
    assert of_pages(accepted(defined, "post"), tables) == post_page_table(man_pages)


@pytest.mark.parametrize("api", ["wr", "post"])
def test_every_operation_meets_every_qp_type(enumerator, tables, api):
    here = {(b.op.name, b.qpt) for b in enumerator.blocks.values() if b.api == api and b.size}
    assert here == {(op.name, t) for op in tables.operations if api in op.apis for t in TYPES}


def test_pairs_that_are_not_in_the_table_are_refused(defined, tables):
    for c in defined:
        if c.api not in ("wr", "post") or c.qpt in tables.operation(c.op).types(c.api):
            continue
        if c.api == "wr":
            assert (c.expect.create, c.expect.create_errno) == ("refused", "EOPNOTSUPP"), c.id
            assert c.ask == (c.op,), c.id
        else:
            assert (c.expect.create, c.expect.post) == ("ok", "refused"), c.id
            assert c.expect.bad_wr == c.index, c.id


def lists(names):
    """sge_list of 0, 1, 3, max, max + 1 and others, as named in ids."""
    return {f"{name}-{n}" for name, counts in names.items() for n in counts}


DATA_OF_WR = {"none", "sge", "sge-0", "inline", "sge+sge", "sge+inline"} | lists(
    {
        "sge_list": (0, 1, 3, "max", "over"),
        "inline": (0, 1, "max", "over"),
        "inline_list": (0, 1, 3, "max", "over"),
    }
)


def test_axes_of_the_new_api_are_whole(enumerator):
    for (api, _, qpt), block in enumerator.blocks.items():
        if api != "wr" or not block.legal:
            continue
        assert set(block.data_ids) == DATA_OF_WR
        assert {"-", "ud_addr", "xrc_srqn", "ud_addr+xrc_srqn"} <= set(block.setter_ids)
        assert (f"{block.right}+{block.right}" in block.setter_ids) == (
            block.right != "none"
        ) or qpt == "xrc_send"
        assert len(set(block.flags)) == 16 and block.asked == (True, False)
        assert [r.id for r in block.regions] == [
            "", "1-of-3", "2-of-3", "3-of-3", "abort", "after-failed", "interleaved", "threads",
        ]  # fmt: skip


def test_axes_of_ibv_post_send(enumerator):
    for (api, _, _), block in enumerator.blocks.items():
        if api == "post":
            assert block.setters == (block.right,)
            assert {"inline", "inline_list-3", "sge_list-max", "inline-over"} <= set(block.data_ids)
            assert not {"sge_list-0", "sge_list-1", "sge+sge"} & set(block.data_ids)
            assert len(block.flags) == 16 and "abort" not in [r.id for r in block.regions]


def test_a_qp_that_cannot_be_made_has_no_axes(enumerator):
    assert enumerator.blocks["wr", "rdma_read", "uc"].shape == (1, 1, 1, 2, 1)


def test_counts_agree(enumerator, defined):
    undefined = enumerator.undefined()
    assert len(defined) + sum(undefined.values()) == enumerator.size() > 900_000
    assert len(defined) > 250_000
    assert all(undefined) and all(number > 0 for number in undefined.values())


def test_enumeration_is_fast(tables):
    """All cells, with their ids, within a few seconds of processor time."""
    start = time.process_time()
    number = sum(1 for c in Enumerator(tables).cells() if c.id)
    assert number > 900_000
    assert time.process_time() - start < 10


def test_receives_and_writev_are_there(defined, tables):
    for api, call in (
        ("recv", "ibv_post_recv"),
        ("srq", "ibv_post_srq_recv"),
        ("writev", "rdma_post_writev"),
    ):
        assert {c.qpt for c in defined if c.api == api} == set(tables.calls[call].qp_types)


def test_ids(enumerator):
    seen = set()
    for c in enumerator.cells():
        assert c.id not in seen
        seen.add(c.id)
    assert "wr/rdma_write_imm/uc/sge_list-3/-/solicited+signaled" in seen
    assert "wr/send/rc/sge/-/signaled/unasked/2-of-3" in seen
    assert all(re.fullmatch(r"[a-z0-9_+/-]+", i) and 3 <= len(i.split("/")) <= 8 for i in seen)


def test_an_id_finds_its_cell(enumerator, defined):
    for c in defined[::97]:
        found = enumerator.find(c.id)
        assert (found.id, found.expect) == (c.id, c.expect)
    assert enumerator.find("wr/send/rc/sge/-/signaled+fence").id == "wr/send/rc/sge/-/fence+signaled"
    for wrong in (
        "",
        "wr/send/rc",
        "wr/send/rc/sge/-/signaled/sideways",
        "wr/send/rc/sge/-/loud",
        "wr/sent/rc/sge/-/-",
    ):
        assert enumerator.find(wrong) is None


def test_ids_are_stable(enumerator):
    """Known differences and links use ids: one that is renamed must be renamed here, too."""
    kept = STABLE.read_text(encoding="utf-8").split()
    assert len(kept) > 100
    assert [i for i in kept if not enumerator.find(i)] == []


def test_every_cell_cites_a_sentence_and_known_errata(enumerator, tables):
    seen = set()
    for c in enumerator.cells():
        if id(c.expect) in seen:
            continue
        seen.add(id(c.expect))
        assert tables.sentences[c.expect.clause], c.id
        assert set(c.expect.errata) <= set(tables.errata), c.id
        assert c.expect.level in LEVELS
        assert (c.expect.level == "UNDEFINED") == bool(c.expect.why), c.id
        assert c.expected()


def test_a_window_is_invalidated_once_in_a_batch(by_id):
    assert [wr.op for wr in by_id["wr/local_inv/rc/none/-/signaled/batch-3"].wrs] == [
        "LOCAL_INV",
        "SEND",
        "SEND",
    ]
    assert [wr.op for wr in by_id["post/rdma_read/rc/sge/-/signaled/list-3"].wrs] == ["RDMA_READ"] * 3


@pytest.mark.parametrize("place", [1, 2, 3])
def test_the_kth_of_three(by_id, place):
    cell = by_id[f"wr/rdma_read/rc/sge_list-3/-/fence/{place}-of-3"]
    assert cell.index == place - 1
    assert [wr.op for wr in cell.wrs] == ["SEND"] * (place - 1) + ["RDMA_READ"] + ["SEND"] * (3 - place)
    assert cell.wrs[cell.index].flags == ("FENCE",) and cell.wrs[cell.index].wc is None


def test_what_stands_around_a_cell(by_id):
    failed = by_id["wr/rdma_write/rc/sge/-/signaled/after-failed"]
    assert (
        failed.before.post == "refused" and failed.before.wrs[0].data == axes.TOO_MANY and not failed.behind
    )
    both = by_id["wr/rdma_write/rc/sge/-/signaled/interleaved"]
    assert (both.before.api, both.before.post, both.behind.api) == ("post", "ok", "post")
    assert by_id["post/rdma_write/rc/sge/-/signaled/interleaved"].before.api == "wr"
    rival = by_id["wr/rdma_write/rc/sge/-/signaled/threads"].rival
    assert [wr.op for wr in rival.wrs] == ["SEND"] * 3


def test_an_id_is_completed_part_by_part(enumerator, defined):
    """Up to each slash the next part is offered, and nothing that no cell has."""
    for cell in defined[:: len(defined) // 300]:
        ends = [match.end() for match in re.finditer("/", cell.id)]
        for start, end in zip([0, *ends], [*ends, len(cell.id)]):
            assert cell.id[:end] in complete.next_parts(enumerator, cell.id[:start]), cell.id[:start]
    assert complete.next_parts(enumerator, "wr/nothing/") == []
    for part in complete.next_parts(enumerator, "wr/send/rc/sge/-/s"):
        assert enumerator.find(part.rstrip("/")), part
