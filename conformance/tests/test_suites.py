# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The suites outside the matrix: their cases cite sentences, and the runner has their scenarios."""
import re
from pathlib import Path

import pytest

from hcasim_conform import suites

RUNNER = Path(__file__).resolve().parents[1] / "runner" / "suites"


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


def test_the_runner_has_every_scenario_and_no_other(cases):
    has = set()
    for source in RUNNER.glob("*/*.c"):
        for table in re.findall(r"scenarios\[\] = \{(.*?)\n\};", source.read_text(encoding="utf-8"), re.S):
            has |= set(re.findall(r'\{"(\w+)", \w+\}', table))
    assert has == {c.scenario for c in cases}


def test_order_mixes_slow_and_quick_requests(cases):
    case = next(c for c in cases if c.id == "suite/order/rc/mixed")
    names = [wr.op for wr in case.wrs]
    assert len(names) > 6 and names[0] == "RDMA_READ" and names[1] == "RDMA_WRITE"
    assert all(wr.wc for wr in case.wrs)


def test_sig_all_expects_completions_of_unsignaled_requests(cases):
    case = next(c for c in cases if c.id == "suite/sig_all/rc/unsignaled-post")
    assert case.args["sig_all"] and all(wr.wc and not wr.flags for wr in case.wrs)
