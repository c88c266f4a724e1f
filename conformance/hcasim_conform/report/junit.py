# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""junit.xml, made from the record of a run.

A cell is a test case. Consumers can read a file of some ten megabytes, but not of a hundred: above MANY cells
those that passed (or were skipped for the same reason) are grouped, one case for each data setter of a row.
"""
import re
from xml.etree import ElementTree

MANY = 25000
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text):
    """Replaces characters that XML 1.0 does not allow: output of a device may contain any."""
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _seconds(rows):
    return f"{sum(row['us'] for row in rows) / 1e6:.6f}"


def _failure(row):
    """JUnit has no known failures: they are failures with a special type."""
    if row["outcome"] == "known":
        return "known-difference", row["reason"]
    if row["outcome"] == "unexpected":
        return "unexpected-pass", f"listed as a known difference: {row['reason']}"
    kind = "flaky" if row["outcome"] == "flaky" else "failure"
    return kind, row["faults"][0] if row["faults"] else row["seen"]


def _case(suite, name, rows, strict):
    """One test case for one cell, or for several with the same outcome."""
    row = rows[0]
    case = ElementTree.SubElement(suite, "testcase", classname=suite.get("name"), name=clean(name))
    case.set("time", _seconds(rows))
    if row["outcome"] == "skipped":
        ElementTree.SubElement(case, "skipped", message=clean(row["reason"] or ""))
    elif row["outcome"] != "pass":
        kind, message = _failure(row)
        # surefire: a test that failed, and passed when it was repeated
        tag = "flakyFailure" if kind == "flaky" and not strict else "failure"
        element = ElementTree.SubElement(case, tag, type=kind, message=clean(message))
        said = [
            f"{row['level']}: {row['clause']}",
            f"expected: {row['expected']}",
            f"seen: {row['seen']}",
            *row["faults"],
            *(f"run {n}: {run['outcome']}: {run['seen']}" for n, run in enumerate(row["runs"], 1)),
        ]
        element.text = clean("\n".join(said))


def _cases(rows, many):
    """(name, cells) of each case."""
    together = {}
    for row in rows:
        if many and row["outcome"] in ("pass", "skipped"):
            key = ("/".join(row["id"].split("/")[:4]), row["outcome"], row["reason"])
            together.setdefault(key, []).append(row)
        else:
            together[row["id"]] = [row]
    for key, here in together.items():
        yield (key, here) if isinstance(key, str) else (f"{key[0]}/* ({len(here)} cells, {key[1]})", here)


def _suite(root, name, rows, many, strict):
    suite = ElementTree.SubElement(root, "testsuite", name=name)
    for title, here in _cases(rows, many):
        _case(suite, title, here, strict)
    failures, skipped = len(suite.findall("testcase/failure")), len(suite.findall("testcase/skipped"))
    counts = {"tests": len(suite), "failures": failures, "errors": 0, "skipped": skipped}
    for key, number in counts.items():
        suite.set(key, str(number))
    suite.set("time", _seconds(rows))
    return suite


def _properties(suite, data):
    """The properties, which the format requires before the cases."""
    said = {"dut": data["dut"]["name"], "command": data["command"], "mode": data["mode"]}
    said.update({"seed": str(data["seed"]), "cells": str(data["summary"]["cells"])})
    said.update({f"version.{name}": version for name, version in data["versions"].items()})
    for level, counts in data["summary"]["levels"].items():
        ran = counts["cells"] - counts["skipped"]
        said[f"level.{level}"] = f"{counts['pass']} of {ran} pass"
    element = ElementTree.Element("properties")
    for name, value in said.items():
        ElementTree.SubElement(element, "property", name=name, value=clean(value))
    suite.insert(0, element)


def _as_a_whole(root, faults):
    """A case for faults of the run that belong to no cell; it passes if there are none."""
    suite = ElementTree.SubElement(root, "testsuite", name="run", tests="1", errors="0", skipped="0")
    case = ElementTree.SubElement(suite, "testcase", classname="run", name="as a whole", time="0")
    if faults:
        ElementTree.SubElement(case, "failure", type="run", message=clean("; ".join(faults)))
    suite.set("failures", str(int(bool(faults))))
    suite.set("time", "0")
    return suite


def write(data, path):
    root = ElementTree.Element("testsuites", name=f"hcasim conform {data['dut']['name']}")
    suites = {}
    for row in data["cells"]:
        suites.setdefault(f"{row['api']}.{row['op']}.{row['qp']}", []).append(row)
    _properties(_as_a_whole(root, data["faults"]), data)
    for name, rows in suites.items():
        _suite(root, name, rows, len(data["cells"]) > MANY, data["strict"])
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key)) for suite in root)))
    root.set("time", f"{data['seconds']:.3f}")
    for suite in root:
        suite.set("timestamp", data["started"][:19])
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
