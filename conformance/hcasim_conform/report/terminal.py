# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The progress display of a run, and the summary at its end."""
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from hcasim_conform.model.cells import APIS, TITLES, TYPES
from hcasim_conform.report.results import RED, STOPPED, causes, failed

STYLE = {
    "pass": "green",
    "fail": "bold red",
    "flaky": "bold yellow",
    "known": "red",
    "unexpected": "bold magenta",
    "skipped": "dim",
}
WORST_FIRST = ("fail", "unexpected", "flaky", "known", "pass", "skipped")
LISTED = 30  # most lines of cells that need attention
PERIOD = 10  # seconds from one line of progress to the next


class Bar:
    """Progress of a run; without a terminal a line every few seconds."""

    def __init__(self, console, quiet=False):
        self.counts = dict.fromkeys(STYLE, 0)
        self.console = console
        self.lines = not quiet and not console.is_terminal
        self.total, self.next = 0, 0
        self.progress = Progress(
            TextColumn("cells"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[counts]}"),
            TimeElapsedColumn(),
            console=console,
            disable=quiet or not console.is_terminal,
        )
        self.task = None

    def start(self, total):
        self.total, self.next = total, time.monotonic() + PERIOD
        self.task = self.progress.add_task("cells", total=total, counts="")
        self.progress.start()

    def advance(self, outcome):
        self.counts[outcome] += 1
        text = " ".join(f"[{STYLE[o]}]{n} {o}[/]" for o, n in self.counts.items() if n)
        self.progress.update(self.task, advance=1, counts=text)
        if self.lines and time.monotonic() >= self.next:
            self.next = time.monotonic() + PERIOD
            self.console.print(
                f"{sum(self.counts.values())} of {self.total} cells: {text}", soft_wrap=True, highlight=False
            )

    def stop(self):
        if not self.progress.disable:
            self.progress.stop()


def _by_box(rows):
    """api -> operation -> QP type -> number of cells by outcome"""
    table = {}
    for row in rows:
        of_op = table.setdefault(row["api"], {}).setdefault(row["op"], {})
        counts = of_op.setdefault(row["qp"], dict.fromkeys(WORST_FIRST, 0))
        counts[row["outcome"]] += 1
    return table


def _box(counts):
    """Cells that passed / cells that ran, in the colour of the worst outcome."""
    if not counts:
        return ""
    worst = next(outcome for outcome in WORST_FIRST if counts[outcome])
    ran = sum(counts.values()) - counts["skipped"]
    text = f"{counts['pass']}/{ran}" if ran else f"{counts['skipped']} skipped"
    return f"[{STYLE[worst]}]{text}[/]"


def _matrix(by_op):
    found = {qpt for by_type in by_op.values() for qpt in by_type}
    types = sorted(found, key=lambda qpt: (TYPES.index(qpt) if qpt in TYPES else len(TYPES), qpt))
    table = Table(expand=False)
    table.add_column("operation", no_wrap=True, min_width=max(map(len, by_op)))
    for qpt in types:
        table.add_column(qpt, justify="right", overflow="fold")
    for op, by_type in by_op.items():
        table.add_row(op, *(_box(by_type.get(qpt)) for qpt in types))
    return table


def _attention(data, quiet):
    """(style, word, text) of each cell that needs attention, and of the findings; quiet: without those that are known."""
    for row in data["cells"]:
        if row["outcome"] in RED:
            why = row["faults"][0] if row["faults"] else f"passes, listed as: {row['reason']}"
            yield STYLE[row["outcome"]], row["outcome"], f"{row['id']}: {why}"
    for row in data["cells"]:
        if row["outcome"] == "flaky":
            yield STYLE["flaky"], "flaky", f"{row['id']}: {_flaky(row)}"
    for fault in data["faults"]:
        yield "bold red", "run", fault
    for finding in data["findings"]:
        known = finding.get("reason")
        if known and quiet:
            continue
        yield "red" if known else "bold red", "finding", finding["text"] + (
            f" (known: {known})" if known else ""
        )


def _flaky(row):
    """What a flaky cell has seen when it failed, and when it did not."""
    bad = next(run for run in row["runs"] if run["outcome"] in RED)
    good = next(run for run in row["runs"] if run["outcome"] not in RED)
    why = bad["faults"][0] if bad["faults"] else "passes, though the DUT file lists a difference"
    return f"{failed(row)} of {len(row['runs'])} runs fail: {why}; another run is {good['outcome']}: {good['seen']}"


def _levels(data):
    for level, counts in data["summary"]["levels"].items():
        if counts["cells"]:
            yield f"{TITLES.get(level, level)}: {counts['pass']} of {counts['cells'] - counts['skipped']} pass"


def _known(cells):
    yield "cells  ended early  known difference"
    for cause in causes(cells):
        yield f"{cause['cells']:5}  {cause['early']:11}  {cause['reason']}"


def summarize(data, out, console=None, quiet=False):
    """The matrix of each API, what needs attention, and the counts; quiet: without the matrix."""
    console = console or Console()
    for api, by_op in _by_box(data["cells"]).items() if not quiet else ():
        console.print(f"{APIS[api]}: cells passed", style="bold", highlight=False)
        console.print(_matrix(by_op))
    attention = list(_attention(data, quiet))
    for style, word, text in attention[:LISTED]:
        line = Text.assemble((word, style), f" {text}")
        console.print(line, highlight=False, soft_wrap=True)
    if len(attention) > LISTED:
        console.print(f"... and {len(attention) - LISTED} more, see the report")
    for line in _known(data["cells"]) if data["summary"]["known"] and not quiet else ():
        console.print(Text(line), highlight=False, no_wrap=True, overflow="ellipsis")
    if not quiet:
        console.print("; ".join(_levels(data)), highlight=False, soft_wrap=True)
    stopped = data["counts"]["left_out"].get(STOPPED)
    if stopped:
        console.print(f"ended by --maxfail: {stopped} cells were not run", style="bold red", highlight=False)
    s = data["summary"]
    console.print(
        f"[bold]{s['cells']} cells on {data['dut']['name']}: {s['pass']} pass, {s['fail']} fail, "
        f"{str(s['flaky']) + ' flaky, ' if s['flaky'] else ''}"
        f"{s['known']} differ as the DUT file says ({s['early']} of them ended early), {s['unexpected']} pass unexpectedly, {s['skipped']} skipped[/] "
        f"in {data['seconds']:.1f} s. Report: {out / 'report.html'}",
        highlight=False,
        soft_wrap=True,
    )
