# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The suites outside the matrix: the rows of scenarios (suites/scenario.h) become cells, which cite sentences."""
import re

import pytest

from hcasim_conform import suites
from hcasim_conform.run.dut import Difference, Ids
from hcasim_conform.select.enumeration import Enumerator


@pytest.fixture(scope="module")
def cases(tables):
    return suites.cases(tables)


def test_ids(cases):
    ids = [c.id for c in cases]
    assert len(ids) == len(set(ids)) > 150
    assert all(re.fullmatch(r"suite/[a-z_]+/[a-z_]+/[a-z0-9_-]+", i) for i in ids)


def test_every_case_cites_a_sentence_and_known_errata(cases, tables):
    for c in cases:
        assert tables.sentences[c.expect.clause], c.id
        assert set(c.expect.errata) <= set(tables.errata), c.id
        assert c.expect.level in ("MUST", "MUST-BY-ERRATUM", "SHOULD")
        assert c.expected()


def test_lines_hold_what_the_runner_parses(cases):
    for c in cases:
        line = c.line()
        assert line["api"] == "suite" and len(line["wrs"]) <= 24
        assert all(isinstance(value, int) for value in line["args"].values()), c.id


def rows(tables, *rows):
    filled = [{"args": {}, "forms": [], "sges": 0, "narrow": False, **row} for row in rows]
    return list(suites.Rows(tables, "made_up", filled).cases())


FIRST = {"name": "a", "suite": "s", "qps": "RC UC", "clause": "ibv_post_send/DESCRIPTION/state", "says": "x"}


def test_a_row_inherits_the_texts_of_the_row_above_and_nothing_else(tables):
    first = FIRST | {"posts": "SEND 600", "args": {"n": 1}, "errata": "XRC_SEND/XRC-ATTRIBUTES QKEY"}
    rc, _, other = rows(tables, first, {"name": "b", "qps": "XRC_SEND", "posts": ""})
    assert other.id == "suite/s/xrc_send/b" and other.says == "x" and not other.wrs and not other.args
    assert other.expect.errata == ("XRC-ATTRIBUTES", "QKEY") and rc.expect.errata == ("QKEY",)


def test_forms_operations_and_a_narrow_device_make_cells_of_a_row(tables):
    forms = [{"suffix": "", "args": {}}, {"suffix": "-ex", "args": {"ex": 1}}]
    row = FIRST | {
        "name": "{short}",
        "posts": "{op} 64, SEND",
        "needs": "operations/{qp}/{op}",
        "says": "{ex}",
    }
    row |= {"ops": "RDMA_READ RDMA_WRITE", "forms": forms, "narrow": True, "ask": "posts"}
    cells = {case.id: case for case in rows(tables, row)}
    assert len(cells) == 2 * (2 + 2 + 2)  # UC has no READ
    cell = cells["suite/narrow/rc/s-rdma_read-ex"]
    assert cell.says == "with queues of one entry inside the device: 1"
    assert cell.args == {"ex": 1} and cell.needs == ("operations/RC/RDMA_READ",) and cell.wire == "narrow"
    assert cell.ask == ("SEND", "RDMA_READ") and [wr.op for wr in cell.wrs] == ["RDMA_READ", "SEND"]


def test_a_renamed_cell_is_found_under_both_names(tables):
    (case,) = rows(tables, FIRST | {"qps": "RC", "was": "old/b"})
    enumerator = Enumerator(tables, [case])
    assert case.was == "suite/old/rc/b" and enumerator.find(case.was) is enumerator.find(case.id) is case
    row = Difference({"clause": "ibv_post_send/*", "cells": ["suite/old/rc/*"], "reason": "why"})
    assert row.matches(case) and not row.stale_keys(Ids([case]))


@pytest.mark.parametrize(
    "text, setter, lengths, limit, delta",
    [
        ("600", "sge", (600,), "none", 0),
        ("600+", "sge_list", (600,), "none", 0),
        ("9000+", "sge_list", (4096, 4096, 808), "none", 0),
        ("17+1+90", "sge_list", (17, 1, 90), "none", 0),
        ("inline 100", "inline", (100,), "none", 0),
        ("inline 1+2", "inline_list", (1, 2), "none", 0),
        ("inline 1 most+1", "inline", (1,), "inline", 1),
        ("16+ most", "sge_list", (16,), "sge", 0),
    ],
)
def test_lengths(tables, text, setter, lengths, limit, delta):
    (case,) = rows(tables, FIRST | {"qps": "RC", "posts": f"SEND {text} fence"})
    data = case.wrs[0].data
    assert (data.setter, data.lengths, data.limit, data.delta) == (setter, lengths, limit, delta)
    assert set(case.wrs[0].flags) == {"FENCE", "SIGNALED"}


def test_requests_that_a_type_does_not_have(tables):
    posts = {"posts": "2 x SEND 1 unsignaled, RDMA_READ 600 of 0, TSO! 600"}
    rc, uc = rows(tables, FIRST | posts)
    assert [wr.op for wr in rc.wrs] == ["SEND", "SEND", "RDMA_READ", "TSO"] and rc.wrs[2].data_of == 0
    assert [wr.op for wr in uc.wrs] == ["SEND", "SEND", "TSO"] and uc.wrs[0].wc is None


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"posts": "SENT 600"}, "made_up: operation 'SENT': must be one of ATOMIC"),
        ({"posts": "SEND 600 fenced"}, "made_up: posts, flag 'fenced': must be one of fence, ip_csum"),
        ({"qps": "RD"}, "made_up: qps 'RD': must be one of RAW_PACKET, RC"),
        ({"clause": "ibv_post_send/X"}, "made_up: clause 'ibv_post_send/X': must be one of ibv_post_send/"),
        ({"also": "Y"}, "made_up: also 'Y': must be one of "),
        ({"errata": "Z"}, "made_up: errata 'Z': must be one of "),
        ({"level": "MAY"}, "made_up: level 'MAY': must be one of MUST, SHOULD"),
    ],
)
def test_wrong_rows(tables, wrong, words):
    with pytest.raises(suites.ScenarioError, match=words):
        rows(tables, FIRST | wrong)


def test_order_mixes_slow_and_quick_requests(cases):
    case = next(c for c in cases if c.id == "suite/order/rc/mixed")
    names = [wr.op for wr in case.wrs]
    assert len(names) > 6 and names[0] == "RDMA_READ" and names[1] == "RDMA_WRITE"
    assert all(wr.wc for wr in case.wrs)


def test_sig_all_expects_completions_of_unsignaled_requests(cases):
    case = next(c for c in cases if c.id == "suite/sig_all/rc/unsignaled-post")
    assert case.args["sig_all"] and all(wr.wc and not wr.flags for wr in case.wrs)
