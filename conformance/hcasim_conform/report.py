# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""report.html: one file without anything to load, made from the record of a run."""
import json
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from .cells import APIS

TEMPLATES = Path(__file__).parent / "templates"
WORST_FIRST = ("fail", "unexpected", "known", "pass", "skipped")


def matrix(rows, api):
    """Rows of operations, columns of QP types: (outcome of the worst cell, passed, total) or None."""
    here = [r for r in rows if r["api"] == api]
    types = list(dict.fromkeys(r["qp"] for r in here))
    table = {}
    for row in here:
        table.setdefault(row["op"], {}).setdefault(row["qp"], []).append(row["outcome"])
    lines = []
    for op, by_type in table.items():
        boxes = []
        for qpt in types:
            outcomes = by_type.get(qpt)
            worst = next((o for o in WORST_FIRST if o in outcomes), None) if outcomes else None
            boxes.append(
                {
                    "qp": qpt,
                    "worst": worst,
                    "good": (outcomes or []).count("pass"),
                    "all": len(outcomes or []),
                }
            )
        lines.append({"op": op, "boxes": boxes})
    return {"api": api, "title": APIS[api], "types": types, "lines": lines}


def embed(data):
    """JSON that is safe inside a script element."""
    return Markup(json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"))


def write_html(data, path):
    env = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    apis = [api for api in APIS if any(r["api"] == api for r in data["cells"])]
    page = env.get_template("report.html").render(
        data=data,
        matrices=[matrix(data["cells"], api) for api in apis],
        json=embed({k: data[k] for k in ("cells", "clauses", "errata")}),
    )
    path.write_text(page, encoding="utf-8")
