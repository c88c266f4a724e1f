# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What a run prints at its end."""
from pathlib import Path

import records
from rich.console import Console

from hcasim_conform.report import terminal


def said(cells, **more):
    console = Console(width=100, record=True, file=open("/dev/null", "w", encoding="utf-8"))
    terminal.summarize(records.record(cells, **more), Path("out"), console)
    return console.export_text()


def cells(*outcomes):
    return [records.row(f"wr/send/rc/sge-{i}/-/-", outcome) for i, outcome in enumerate(outcomes)]


def test_the_matrix_counts_what_was_run():
    more = [records.row("suite/order/rc/reads"), records.row("wr/send/uc/sge/-/-", "skipped")]
    lines = said(cells("pass", "known", "skipped") + more).splitlines()
    assert any(line.split() == ["│", "SEND", "│", "1/2", "│", "1", "skipped", "│"] for line in lines)
    assert "suites outside the matrix: cells passed" in [line.strip() for line in lines]
    assert lines[-2] == "MUST by the page: 2 of 3 pass"
    assert lines[-1].startswith(
        "5 cells on fake: 2 pass, 0 fail, 1 fail as the DUT file says, 0 pass unexpectedly"
    )


def test_what_needs_attention_is_listed_once_and_cut():
    finding = {
        "kind": "x",
        "capability": "tso",
        "declared": False,
        "reported": True,
        "text": "[tso] is there",
    }
    text = said(
        cells("fail", "unexpected"), faults=["stale"], findings=[finding, {**finding, "reason": "old"}]
    )
    assert "fail wr/send/rc/sge-0/-/-: byte 3 <is> wrong" in text
    assert "unexpected wr/send/rc/sge-1/-/-: passes, listed as: was broken" in text
    assert "run stale" in text and "finding [tso] is there (known: old)" in text
    assert "... and 5 more, see the report" in said(cells(*["fail"] * 35))
