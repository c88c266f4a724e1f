# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""trend.html: the runs of a folder in the order of their start, and what changed from each to the next of its device."""
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hcasim_conform.report import diff
from hcasim_conform.report.html import TEMPLATES, WORDS
from hcasim_conform.report.results import OUTCOMES, RECORDS, ResultsError, load as load_run

LISTED = 20  # cells that became worse in one run


def load(folder):
    """The record of each run below a folder, (name, record), the oldest first."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such folder")
    names = sorted(f for f in folder.iterdir() if any((f / name).exists() for name in RECORDS))
    if not names:
        raise ResultsError(f"{folder}: no folder in it has {' or '.join(RECORDS)}")
    runs = [(name.name, load_run(name)) for name in names]
    return sorted(runs, key=lambda run: run[1]["started"])


def rows_of(runs):
    """What the page shows of each run, the newest first."""
    last, rows = {}, []
    for name, run in runs:
        device = run["dut"]["name"]
        before = last.get(device)
        difference = diff.compare(before, run) if before else diff.Difference()
        rows.append(
            {
                "name": name,
                "device": device,
                "started": run["started"],
                "seconds": run["seconds"],
                "versions": run["versions"],
                "summary": run["summary"],
                "worse": difference.worse[:LISTED],
                "more": max(len(difference.worse) - LISTED, 0),
                "better": len(difference.better),
            }
        )
        last[device] = run
    return rows[::-1]


def write(runs, path):
    env = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    page = env.get_template("trend.html").render(rows=rows_of(runs), outcomes=OUTCOMES, words=WORDS)
    path.write_text(page, encoding="utf-8")
