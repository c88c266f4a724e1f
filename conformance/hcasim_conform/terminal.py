# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What a person sees while the suite runs, and the summary at its end."""
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

STYLE = {"pass": "green", "fail": "bold red", "known": "red", "unexpected": "bold magenta", "skipped": "dim"}


class Bar:
    """Progress of a run. Without a terminal it stays silent: the summary says it all."""

    def __init__(self, console):
        self.counts = dict.fromkeys(STYLE, 0)
        self.progress = Progress(
            TextColumn("cells"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[counts]}"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self.task = None

    def start(self, total):
        self.task = self.progress.add_task("cells", total=total, counts="")
        self.progress.start()

    def advance(self, outcome):
        self.counts[outcome] += 1
        text = " ".join(f"[{STYLE[o]}]{n} {o}[/]" for o, n in self.counts.items() if n)
        self.progress.update(self.task, advance=1, counts=text)

    def stop(self):
        self.progress.stop()


def _matrix(rows, api, title):
    types = list(dict.fromkeys(r["qp"] for r in rows if r["api"] == api))
    table = Table(title=title, title_justify="left", title_style="bold", expand=False)
    table.add_column("operation")
    for qpt in types:
        table.add_column(qpt, justify="right")
    for op in dict.fromkeys(r["op"] for r in rows if r["api"] == api):
        line = [op]
        for qpt in types:
            here = [r for r in rows if (r["api"], r["op"], r["qp"]) == (api, op, qpt)]
            good = sum(r["outcome"] == "pass" for r in here)
            worst = next(
                (
                    o
                    for o in ("fail", "unexpected", "known", "pass", "skipped")
                    if any(r["outcome"] == o for r in here)
                ),
                None,
            )
            line.append(f"[{STYLE[worst]}]{good}/{len(here)}[/]" if here else "")
        table.add_row(*line)
    return table


def summarize(data, apis, out, console=None):
    console = console or Console()
    rows = data["cells"]
    for api, title in apis.items():
        if any(r["api"] == api for r in rows):
            console.print(_matrix(rows, api, f"{title}: cells passed"))
    unlisted = [r for r in rows if r["outcome"] in ("fail", "unexpected")]
    for row in unlisted[:20]:
        why = row["faults"][0] if row["faults"] else f"passes, listed as: {row['reason']}"
        console.print(
            f"[{STYLE[row['outcome']]}]{row['outcome']}[/] {row['id']}: {why}",
            highlight=False,
            soft_wrap=True,
        )
    if len(unlisted) > 20:
        console.print(f"... and {len(unlisted) - 20} more, see the report")
    for fault in data["faults"]:
        console.print(f"[bold red]run[/] {fault}", highlight=False, soft_wrap=True)
    for finding in data["findings"]:
        known = f" (known: {finding['reason']})" if finding.get("reason") else ""
        style = "red" if known else "bold red"
        console.print(f"[{style}]finding[/] {finding['text']}{known}", highlight=False, soft_wrap=True)
    s = data["summary"]
    console.print(
        f"[bold]{s['cells']} cells on {data['dut']['name']}: {s['pass']} pass, {s['fail']} fail, "
        f"{s['known']} fail as the DUT file says, {s['unexpected']} pass unexpectedly, {s['skipped']} skipped[/] "
        f"in {data['seconds']:.1f} s. Report: {out / 'report.html'}",
        highlight=False,
        soft_wrap=True,
    )
