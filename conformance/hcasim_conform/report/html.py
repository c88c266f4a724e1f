# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""report.html: one self-contained file, made from the records of one or several runs.

The page holds a small index of all cells and, for each box of the matrix, a part with its details. Both
are compressed; a part is unpacked when its box is opened, so that the page is fast with 250,000 cells.
"""
import base64
import gzip
import json
import os
import re
from collections import Counter
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from hcasim_conform.model import addresses
from hcasim_conform.model.cells import APIS, LEVELS, TITLES, TYPES
from hcasim_conform.report.results import OUTCOMES, Strings, causes
from hcasim_conform.model.tables import Tables

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("data.js", "matrix.js", "cell.js", "panel.js", "main.js")
LETTER = {**{outcome: outcome[0] for outcome in OUTCOMES}, "flaky": "l"}  # p f l k u s
LETTER_OF_LEVEL = {"MUST": "M", "MUST-BY-ERRATUM": "E", "SHOULD": "S", "UNDEFINED": "U"}  # in ids of the page
WORST_FIRST = ("fail", "unexpected", "flaky", "known", "pass", "skipped")
ABSENT = "."  # a cell that is not in the run
WORDS = {
    "pass": ("✓", "pass", "behaves as the page says"),
    "fail": ("✗", "fail", "behaves differently, or not at all"),
    "flaky": ("±", "flaky", "fails in some of its runs"),
    "known": ("≈", "known", "differs as the DUT file says"),
    "unexpected": ("!", "unexpected", "passes, but the DUT file lists a difference"),
    "skipped": ("–", "skipped", "not run: the device lacks what the cell needs"),
}


class Box:
    """An operation on a QP type through one API: the cells of all runs, in their order."""

    def __init__(self, key, row):
        self.key = key
        self.api, self.op, self.qp = row["api"], row["op"], row["qp"]
        self.cells = {}  # id -> one row or None for each run


def split(cell_id):
    """wr/send/rc and the rest. The first three coordinates name the box."""
    parts = cell_id.split("/", 3)
    return "/".join(parts[:3]), parts[3] if len(parts) > 3 else ""


def collect(runs):
    boxes = {}
    for place, run in enumerate(runs):
        for row in run["cells"]:
            key = split(row["id"])[0]
            if key not in boxes:
                boxes[key] = Box(key, row)
            boxes[key].cells.setdefault(row["id"], [None] * len(runs))[place] = row
    return boxes


def in_order(boxes, tables):
    """The boxes in the order of the man pages, independent of the order of shards."""
    ops = [op.name for op in tables.operations]
    ops += [box.op for box in boxes if box.op not in ops]
    types = [*TYPES, *(box.qp for box in boxes if box.qp not in TYPES)]
    apis = list(APIS)
    return sorted(boxes, key=lambda b: (apis.index(b.api), ops.index(b.op), types.index(b.qp)))


def legal_pairs(tables):
    """(API, operation, QP type) that the tables of the pages have."""
    return {(api, op.name, t) for api in ("wr", "post") for op in tables.operations for t in op.types(api)}


def index_of(boxes, legal, clauses, changed):
    """The data of the matrix and the search: id, level, requirement, outcomes and first fault of each cell.

    `changed`: id -> what became worse since the baseline.
    """
    listed = []
    for part, box in enumerate(boxes):
        rows = list(box.cells.values())
        firsts = [next((r for r in row if r), None) for row in rows]
        places = range(len(rows[0]))
        listed.append(
            {
                "key": box.key,
                "part": f"part-{part}",
                "api": box.api,
                "op": box.op,
                "qp": box.qp,
                "legal": box.api not in ("wr", "post") or (box.api, box.op, box.qp) in legal,
                "tails": [split(cell_id)[1] for cell_id in box.cells],
                "levels": "".join(LETTER_OF_LEVEL[row["level"]] for row in firsts),
                "outcomes": ["".join(_letter(row[p]) for row in rows) for p in places],
                "clauses": [clauses[row["clause"]] for row in firsts],
                "changed": {i: changed[cell_id] for i, cell_id in enumerate(box.cells) if cell_id in changed},
                "faults": {i: said for i, said in enumerate(map(_first_fault, rows)) if said},
            }
        )
    return listed


def _letter(row):
    return LETTER[row["outcome"]] if row else ABSENT


def _first_fault(row):
    return next((r["faults"][0] for r in row if r and r["faults"]), None)


def part_of(box, folders):
    """The details of a box: first what is the same in all runs, then the observations of each run.

    Each string is stored once: gzip, with its window of 32 KiB, misses repeated calls (docs/conformance.md).
    """
    strings = Strings()
    cells = []
    for row in box.cells.values():
        first = next(r for r in row if r)
        shared = [
            strings.text(first["clause"]),
            strings.texts(first["also"]),
            strings.texts(first["errata"]),
            strings.text(first["expected"]),
        ]
        cells.append([shared, *(_seen(r, strings, f) if r else 0 for r, f in zip(row, folders))])
    return {"strings": list(strings.index), "cells": cells}


def _seen(row, strings, folder):
    return [
        strings.text(row["seen"]),
        strings.texts(row["faults"]),
        strings.calls(row["calls"]),
        strings.text(row["errno"]),
        row["us"],
        strings.text(row["reason"]),
        strings.artefacts([{**a, "path": a["path"] and f"{folder}{a['path']}"} for a in row["artefacts"]]),
        [
            [strings.text(run["outcome"]), strings.text(run["seen"]), strings.texts(run["faults"])]
            for run in row["runs"]
        ],
    ]


def squeeze(data):
    """Compressed JSON, encoded in characters that a script element may contain."""
    text = json.dumps(data, separators=(",", ":"))
    return Markup(base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode())


def embed(data):
    """JSON that is safe inside a script element."""
    return Markup(json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"))


def names_of(runs):
    """The name of each run in the report: its device, with a number if two runs have the same device."""
    names = [run["dut"]["name"] for run in runs]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: i + 1].count(name)})"
        for i, name in enumerate(names)
    ]


def about(runs):
    """The page's data about each run, without its cells."""
    keys = "dut command versions mode seed repeat strict expression shard started seconds counts summary faults findings"
    return [
        {"name": name, "causes": causes(run["cells"]), **{key: run[key] for key in keys.split()}}
        for name, run in zip(names_of(runs), runs)
    ]


def requirements_of(runs):
    """(address, sentence, [(outcome, passed, ran) or None of each run]) of each requirement that a cell tests."""
    found = {}
    for place, run in enumerate(runs):
        for row in run["cells"]:
            for clause in (row["clause"], *row["also"]):
                counts = found.setdefault(clause, [Counter() for _ in runs])[place]
                counts[row["outcome"]] += 1
    at = addresses.load()
    sentences = {clause: said for run in runs for clause, said in run["clauses"].items()}
    rows = [
        (at.get(clause, clause), sentences.get(clause, ""), list(map(_requirement, counts)))
        for clause, counts in found.items()
    ]
    return sorted(rows, key=lambda row: re.sub(r"\d+", lambda n: f"{int(n[0]):04}", row[0]))


def _requirement(counts):
    if not counts:
        return None
    worst = next(outcome for outcome in WORST_FIRST if counts[outcome])
    return worst, counts["pass"], counts.total() - counts["skipped"]


def write_html(runs, path, sources=None, mutants=None, changed=None):
    """`sources`: the folder of each run's files; without, that of the report.

    `changed`: of diff.Difference; None: there is no baseline.
    """
    tables = Tables()
    folders = [_relative(source, path.parent) for source in sources or [path.parent] * len(runs)]
    boxes = in_order(collect(runs).values(), tables)
    env = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    known = {
        kind: {k: v for run in reversed(runs) for k, v in run[kind].items()} for kind in ("clauses", "errata")
    }
    levels = {LETTER_OF_LEVEL[level]: TITLES.get(level, level) for level in LEVELS}
    used = dict.fromkeys(row["clause"] for run in runs for row in run["cells"])
    places = {clause: place for place, clause in enumerate(used)}
    at = addresses.load()
    head = {"runs": about(runs), "titles": APIS, "words": WORDS, "levels": levels, **known}
    head |= {"addresses": {c: at.get(c, c) for c in known["clauses"]}, "places": [at.get(c, c) for c in used]}
    page = env.get_template("report.html").stream(
        runs=head["runs"],
        words=WORDS,
        outcomes=OUTCOMES,
        letters=LETTER,
        used=[o for o in OUTCOMES if o in ("pass", "fail") or any(run["summary"][o] for run in runs)],
        levels=[(level, LETTER_OF_LEVEL[level], TITLES.get(level, level)) for level in LEVELS],
        mutants=mutants,
        requirements=requirements_of(runs),
        baseline=changed is not None,
        scripts=SCRIPTS,
        head=embed(head),
        index=squeeze(index_of(boxes, legal_pairs(tables), places, changed or {})),
        parts=(squeeze(part_of(box, folders)) for box in boxes),
    )
    with open(path, "wb") as f:
        page.dump(f, encoding="utf-8")


def _relative(source, folder):
    inside = os.path.relpath(source, folder)
    return "" if inside == "." else f"{inside}/"
