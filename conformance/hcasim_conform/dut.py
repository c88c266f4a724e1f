# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""DUT files: the device under test, how it is started, and where it is known to differ."""
import json
from fnmatch import fnmatchcase
from pathlib import Path

import jsonschema
import yaml

HERE = Path(__file__).resolve().parents[1]
DUTS = HERE / "duts"
SCHEMA = HERE / "schema" / "dut.schema.json"


class DutError(Exception):
    """A DUT file that is missing or wrong; the message names the file and the field."""


class Difference:
    def __init__(self, row):
        self.clause = row["clause"]
        self.patterns = row["cells"]
        self.exceptions = row.get("except", [])
        self.reason = row["reason"]

    def matches(self, cell):
        return (
            fnmatchcase(cell.expect.clause, self.clause)
            and any(fnmatchcase(cell.id, p) for p in self.patterns)
            and not any(fnmatchcase(cell.id, p) for p in self.exceptions)
        )

    def stale_keys(self, cells):
        """Patterns, also of exceptions, that select no cell."""
        clause = [c for c in cells if fnmatchcase(c.expect.clause, self.clause)]
        if not clause:
            return [f"clause '{self.clause}' is no clause of any cell"]
        return [
            f"'{p}' (clause '{self.clause}') matches no cell"
            for p in self.patterns + self.exceptions
            if not any(fnmatchcase(c.id, p) for c in clause)
        ]


class Dut:
    def __init__(self, doc):
        self.name = doc["name"]
        self.doc = doc["doc"]
        self.start = doc["start"]
        self.tap_start = doc.get("tap", {}).get("start")
        self.tap = None  # taps.Tap, when the device's links are watched
        self.env = doc.get("env", {})
        self.differences = [Difference(row) for row in doc["differences"]]
        self.runner_line = {"dut": {key: doc[key] for key in ("requester", "responder", "mtu", "timeout_ms")}}
        self.timeout = doc["timeout_ms"] / 1000

    def difference(self, cell):
        return next((d for d in self.differences if d.matches(cell)), None)

    def stale_keys(self, cells):
        return [text for d in self.differences for text in d.stale_keys(cells)]

    def summary(self):
        return {"name": self.name, "doc": self.doc, **self.runner_line["dut"]}


def load(name):
    """A name of conformance/duts, or a path."""
    path = Path(name) if "/" in name or name.endswith(".yaml") else DUTS / f"{name}.yaml"
    try:
        doc = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        known = ", ".join(sorted(p.stem for p in DUTS.glob("*.yaml")))
        raise DutError(f"DUT '{name}': {path}: {error.strerror} (there are: {known})") from error
    except yaml.YAMLError as error:
        raise DutError(f"DUT file {path}: {error}") from error
    try:
        jsonschema.validate(doc, json.loads(SCHEMA.read_text(encoding="utf-8")))
    except jsonschema.ValidationError as error:
        where = "/".join(str(p) for p in error.absolute_path) or "the file"
        raise DutError(f"DUT file {path}: {where}: {error.message}") from error
    return Dut(doc)
