# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What a run prints at its end."""
import io
from pathlib import Path

import pytest
import records
from rich.console import Console

from hcasim_conform.report import terminal


def said(cells, width=100, quiet=False, **more):
    console = Console(width=width, record=True, file=io.StringIO())
    terminal.summarize(records.record(cells, **more), Path("out"), console, quiet)
    return console.export_text()


def cells(*outcomes):
    return [records.row(f"wr/send/rc/sge-{i}/-/-", outcome) for i, outcome in enumerate(outcomes)]


def test_known_differences_by_cause():
    def known(number, reason, faults):
        more = {"outcome": "known", "reason": reason, "faults": faults}
        return records.row(f"wr/send/rc/sge-{number}/-/-", **more)

    rows = [
        known(1, "D2: b.c:2, as D1", ["wrong"]),
        known(2, "D1: a.c:1", []),
        known(3, "D1: a.c:7", ["wrong"]),
    ]
    lines = [line.strip() for line in said(rows).splitlines()]
    at = lines.index("cells  ended early  known difference")
    assert [line.split(maxsplit=2) for line in lines[at + 1 : at + 3]] == [
        ["2", "1", "D1: a.c:1"],
        ["1", "1", "D2: b.c:2, as D1"],
    ]


def test_the_matrix_counts_what_was_run():
    more = [records.row("suite/order/rc/reads"), records.row("wr/send/uc/sge/-/-", "skipped")]
    lines = said(cells("pass", "known", "skipped") + more).splitlines()
    assert any(line.split() == ["│", "SEND", "│", "1/2", "│", "1", "skipped", "│"] for line in lines)
    assert "suites outside the matrix: cells passed" in [line.strip() for line in lines]
    assert lines[-2] == "MUST by the page: 2 of 3 pass"
    assert lines[-1].startswith(
        "5 cells on fake: 2 pass, 0 fail, 1 differ as the DUT file says (1 of them ended early), 0 pass unexpectedly"
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


@pytest.mark.parametrize("width", [60, 80])
def test_operations_keep_their_names_where_space_is_short(width):
    names = ("RDMA_WRITE", "RDMA_WRITE_WITH_IMM", "ATOMIC_CMP_AND_SWP", "ATOMIC_CMP_AND_SWP_32")
    rows = [
        records.row(f"wr/op-{number}/{qpt.lower()}/sge-{i}/-/-", op=name)
        for number, name in enumerate(names)
        for qpt in (*records.TYPES, "XRC_RECV")
        for i in range(1200)
    ]
    lines = said(rows, width).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("│ ") and line.split()[1] in names] == list(
        names
    )
    assert all(len(line) <= width for line in lines if line.startswith("│"))


def test_a_quiet_run_says_problems_and_the_last_line():
    finding = {
        "kind": "x",
        "capability": "tso",
        "declared": False,
        "reported": True,
        "text": "there",
        "reason": "old",
    }
    lines = said(cells("pass", "fail"), quiet=True, findings=[finding]).splitlines()
    assert lines[0] == "fail wr/send/rc/sge-1/-/-: byte 3 <is> wrong"
    assert len(lines) == 2 and lines[1].startswith("2 cells on fake: 1 pass, 1 fail")


def test_progress_without_a_terminal(monkeypatch):
    """A line from time to time, at once; with --quiet none."""
    monkeypatch.setattr(terminal, "PERIOD", 0)
    for quiet, shown in ((False, ["1 of 3 cells: 1 pass", "2 of 3 cells: 1 pass 1 fail"]), (True, [])):
        file = io.StringIO()
        bar = terminal.Bar(Console(file=file), quiet)
        bar.start(3)
        for outcome in ("pass", "fail"):
            bar.advance(outcome)
        assert file.getvalue().splitlines() == shown
        bar.stop()


def test_progress_is_not_a_line_a_cell():
    file = io.StringIO()
    bar = terminal.Bar(Console(file=file))
    bar.start(3)
    bar.advance("pass")
    bar.stop()
    assert file.getvalue() == ""
