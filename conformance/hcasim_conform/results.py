# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The record of a run (results.json) and its JUnit form. The report is made from the same record."""
import json
from pathlib import Path
from xml.etree import ElementTree

SCHEMA = Path(__file__).resolve().parents[1] / "schema" / "results.schema.json"
OUTCOMES = ("pass", "fail", "known", "unexpected")


def cell_record(cell, outcome, result, reason, clause_errata):
    errata = dict.fromkeys(cell.expect.errata + clause_errata.get(cell.expect.clause, ()))
    return {
        "id": cell.id,
        "api": cell.api,
        "op": cell.op,
        "qp": cell.qpt,
        "level": cell.expect.level,
        "clause": cell.expect.clause,
        "errata": list(errata),
        "expected": cell.expected(),
        "outcome": outcome,
        "seen": result.seen.strip().rstrip(";"),
        "faults": result.faults,
        "calls": result.calls,
        "errno": result.errno,
        "us": result.us,
        "reason": reason,
    }


def record(tables, dut, cells, outcomes, started, seconds, faults):
    rows = [cell_record(c, *outcomes[c.id], tables.clause_errata) for c in cells]
    used = {e for row in rows for e in row["errata"]}
    return {
        "version": 1,
        "dut": dut.summary(),
        "started": started,
        "seconds": round(seconds, 3),
        "summary": {"cells": len(rows), **{o: sum(r["outcome"] == o for r in rows) for o in OUTCOMES}},
        "faults": faults,
        "clauses": {row["clause"]: tables.sentences[row["clause"]] for row in rows},
        "errata": {
            k: {f: v[f] for f in ("page", "decision", "reason")}
            for k, v in tables.errata.items()
            if k in used
        },
        "cells": rows,
    }


def write_json(data, path):
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def _failure(row):
    """JUnit has no word for a failure that is known: it is a failure whose type says so."""
    if row["outcome"] == "known":
        return "known-difference", row["reason"]
    if row["outcome"] == "unexpected":
        return "unexpected-pass", f"listed as a known difference: {row['reason']}"
    return "failure", row["faults"][0] if row["faults"] else row["seen"]


def write_junit(data, path):
    root = ElementTree.Element("testsuites")
    suites = {}
    for row in data["cells"]:
        name = f"{row['api']}.{row['op']}.{row['qp']}"
        suites.setdefault(name, []).append(row)
    for name, rows in suites.items():
        bad = sum(row["outcome"] != "pass" for row in rows)
        attrs = {"name": name, "tests": str(len(rows)), "failures": str(bad), "errors": "0", "skipped": "0"}
        suite = ElementTree.SubElement(
            root, "testsuite", attrs, time=f"{sum(r['us'] for r in rows) / 1e6:.6f}"
        )
        for row in rows:
            case = ElementTree.SubElement(
                suite, "testcase", classname=name, name=row["id"], time=f"{row['us'] / 1e6:.6f}"
            )
            if row["outcome"] != "pass":
                kind, message = _failure(row)
                element = ElementTree.SubElement(case, "failure", type=kind, message=message)
                element.text = (
                    f"{row['clause']}\nexpected: {row['expected']}\nseen: {row['seen']}\n"
                    + "\n".join(row["faults"])
                )
    if data["faults"]:
        suite = ElementTree.SubElement(
            root, "testsuite", name="run", tests="1", failures="1", errors="0", skipped="0"
        )
        case = ElementTree.SubElement(suite, "testcase", classname="run", name="as a whole")
        ElementTree.SubElement(case, "failure", type="run", message="; ".join(data["faults"]))
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
