# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The record of a run: results.json, schema version 5. Every report is made from it.

In memory each cell is a dict. In the file a cell that needs no attention (pass, skipped) is an array of
indexes into `strings`: thousands of cells share sentences and calls, and a run of all defined
cells loads in seconds. A cell that failed is an object, which people and scripts can read directly.
"""
import errno
import gzip
import json
import os
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from hcasim_conform.model.cells import LEVELS

SCHEMA = Path(__file__).resolve().parents[2] / "schema" / "results.schema.json"
VERSION = 5
OUTCOMES = ("pass", "fail", "flaky", "known", "unexpected", "skipped")
RED = ("fail", "unexpected")  # outcomes that fail the run; flaky does with --strict
COMPACT = ("pass", "skipped")  # outcomes of cells that are stored as arrays
RECORDS = ("results.json", "results.json.gz", "baseline.json.gz")  # in a folder
# Reasons in counts.left_out: one that a merge removes, and one that it adds up.
OTHER_SHARDS = "in other shards"
STOPPED = "not run any more: --maxfail"


class ResultsError(Exception):
    """Not a valid results.json; the message names the file and the problem."""


@dataclass
class Run:
    """The data of a run except its cells."""

    command: str
    started: str
    seconds: float
    versions: dict
    mode: str = "covering"  # or exhaustive
    seed: int = 0
    repeat: int = 1
    strict: bool = False
    expression: str | None = None  # of -k
    requirements: list = field(default_factory=list)  # addresses
    shard: tuple | None = None  # (k, n)
    counts: dict | None = None  # exist, run, left_out: {reason: number}
    findings: list = field(default_factory=list)
    faults: list = field(default_factory=list)  # faults that belong to no cell


def cell_record(cell, outcome, result, reason, clause_errata):
    errata = dict.fromkeys(cell.expect.errata + clause_errata.get(cell.expect.clause, ()))
    return {
        "id": cell.id,
        **({"was": cell.was} if cell.was else {}),
        "api": cell.api,
        "op": cell.op,
        "qp": cell.qpt,
        "level": cell.expect.level,
        "clause": cell.expect.clause,
        "also": list(cell.expect.also),
        "errata": list(errata),
        "expected": cell.expected(),
        "outcome": outcome,
        "seen": result.seen.strip().rstrip(";"),
        "faults": result.faults,
        "observed": observations(result),
        "calls": result.calls,
        "errno": result.errno,
        "us": result.us,
        "reason": reason,
        "artefacts": getattr(result, "artefacts", []),
        "runs": getattr(result, "runs", []),
    }


NUMBERS = re.compile(r"0x[0-9a-f]+")  # addresses, keys, numbers of queues: they differ from run to run


def observations(result):
    """Each check that saw something else than the page says, as CHECK=VALUE; None: it differs from run to run."""
    if result.observed is None:
        return None
    return sorted({f"{check}={NUMBERS.sub('#', value)}" for check, value, _ in result.observed})


def ended_early(row):
    """A known difference that ended the cell, so that nothing behind it was checked."""
    return row["outcome"] == "known" and bool(row["faults"])


def causes(rows):
    """The known differences by cause, the most frequent first: cells, how many of them ended early, and the reason.

    The cause is the name before the colon of the reason, as "D1"; the reason is the first one that has it.
    """
    found = {}
    for row in rows:
        if row["outcome"] != "known":
            continue
        name = row["reason"].split(":")[0]
        cause = found.setdefault(name, {"cells": 0, "early": 0, "reason": row["reason"]})
        cause["cells"] += 1
        cause["early"] += ended_early(row)
        if "as above" in cause["reason"]:
            cause["reason"] = row["reason"]
    return sorted(found.values(), key=lambda cause: -cause["cells"])


def failed(row):
    """How many runs of a flaky cell failed."""
    return sum(run["outcome"] in RED for run in row["runs"])


def summarize(rows):
    """Numbers of cells by outcome, in total and for each level, and of those that a known difference ended."""
    levels = {level: dict.fromkeys(("cells", *OUTCOMES), 0) for level in LEVELS}
    for row in rows:
        levels[row["level"]]["cells"] += 1
        levels[row["level"]][row["outcome"]] += 1
    whole = {key: sum(level[key] for level in levels.values()) for key in ("cells", *OUTCOMES)}
    return {**whole, "early": sum(map(ended_early, rows)), "levels": levels}


def count(rows):
    """The counts of a run that left out no cells except skipped ones."""
    skipped = {}
    for row in rows:
        if row["outcome"] == "skipped":
            skipped[row["reason"]] = skipped.get(row["reason"], 0) + 1
    return {"exist": len(rows), "run": len(rows) - sum(skipped.values()), "left_out": skipped}


def record(tables, dut, cells, outcomes, run):
    rows = [cell_record(c, *outcomes[c.id], tables.clause_errata) for c in cells]
    used = {e for row in rows for e in row["errata"]}
    return {
        "version": VERSION,
        "dut": dut.summary(),
        "command": run.command,
        "versions": run.versions,
        "mode": run.mode,
        "seed": run.seed,
        "repeat": run.repeat,
        "strict": run.strict,
        "expression": run.expression,
        "requirements": run.requirements,
        "shard": list(run.shard) if run.shard else None,
        "started": run.started,
        "seconds": round(run.seconds, 3),
        "counts": run.counts or count(rows),
        "summary": summarize(rows),
        "faults": run.faults,
        "findings": run.findings,
        "clauses": {c: tables.sentences[c] for row in rows for c in (row["clause"], *row["also"])},
        "errata": {
            k: {f: v[f] for f in ("level", "page", "decision", "reason")}
            for k, v in tables.errata.items()
            if k in used
        },
        "cells": rows,
    }


def make_folder(out, files, folder=None):
    """The folder of --out, for files and a folder in it. Called before a run, whose results would be lost otherwise."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        if not os.access(out, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        why = "is no folder" if isinstance(error, (FileExistsError, NotADirectoryError)) else error.strerror
        raise ResultsError(f"--out '{out}': {why}") from error
    for path in (out / name for name in files):
        if path.is_dir():
            raise ResultsError(f"--out '{out}': {path} is a folder, and has to be written")
        if path.exists() and not os.access(path, os.W_OK):
            raise ResultsError(f"--out '{out}': {path}: {os.strerror(errno.EACCES)}")
    if folder and (out / folder).exists() and not (out / folder).is_dir():
        raise ResultsError(f"--out '{out}': {out / folder} is no folder")


def outcomes_only(data):
    """The record as a baseline for --diff needs it: without calls, traces and texts about the cells."""
    bare = {"also": [], "errata": [], "expected": "", "seen": "", "calls": [], "errno": None, "us": 0}
    rows = [
        {**row, **bare, "artefacts": [], "runs": [], "faults": row["faults"][:1]} for row in data["cells"]
    ]
    return {**data, "clauses": {}, "errata": {}, "cells": rows}


# -- the file ----------------------------------------------------------------------------------------------

TEXT, TEXTS, NUMBER, CALLS, ARTEFACTS = "text", "texts", "number", "calls", "artefacts"
# The fields of a compact cell, in the order of its array. `faults` is empty in such a cell.
COLUMNS = {
    "id": TEXT,
    "api": TEXT,
    "op": TEXT,
    "qp": TEXT,
    "level": TEXT,
    "clause": TEXT,
    "also": TEXTS,
    "errata": TEXTS,
    "expected": TEXT,
    "outcome": TEXT,
    "seen": TEXT,
    "calls": CALLS,
    "errno": TEXT,
    "us": NUMBER,
    "reason": TEXT,
    "artefacts": ARTEFACTS,
}


# wr_ids of a cell have a common prefix, different in each cell; {wr_id} replaces it, so that cells can share calls.
WR_ID = re.compile(r"0x([0-9a-f]{12})(?=[0-9a-f]{4}\b)")
HOLDER = "{wr_id}"


class Strings:
    """Numbers each string once; null stays null."""

    def __init__(self):
        self.index = {}

    def text(self, text):
        return None if text is None else self.index.setdefault(text, len(self.index))

    def texts(self, texts):
        return [self.text(t) for t in texts]

    def number(self, number):
        return number

    def calls(self, calls):
        first = next(filter(None, map(WR_ID.search, calls)), None)
        if not first or any(HOLDER in call for call in calls):
            return [None, self.texts(calls)]
        wr_id = f"0x{first[1]}"
        return [wr_id, self.texts(call.replace(wr_id, HOLDER) for call in calls)]

    def artefacts(self, artefacts):
        return [
            [
                self.text(a["kind"]),
                self.text(a["path"]),
                None if a["text"] is None else self.texts(a["text"].split("\n")),
            ]
            for a in artefacts
        ]


class Lookup:
    """The strings by their number."""

    def __init__(self, strings):
        self.strings = strings

    def text(self, index):
        return None if index is None else self.strings[index]

    def texts(self, indexes):
        return [self.strings[i] for i in indexes]

    def number(self, number):
        return number

    def calls(self, calls):
        wr_id, indexes = calls
        texts = self.texts(indexes)
        return texts if wr_id is None else [text.replace(HOLDER, wr_id) for text in texts]

    def artefacts(self, artefacts):
        return [
            {
                "kind": self.strings[kind],
                "path": self.text(path),
                "text": None if lines is None else "\n".join(self.texts(lines)),
            }
            for kind, path, lines in artefacts
        ]


def pack(data):
    """Converts a record to the form of the file."""
    strings = Strings()
    columns = [(name, getattr(strings, kind)) for name, kind in COLUMNS.items()]
    cells = [
        [store(row[name]) for name, store in columns] if row["outcome"] in COMPACT else row
        for row in data["cells"]
    ]
    head = {key: value for key, value in data.items() if key != "cells"}
    return {**head, "columns": list(COLUMNS), "strings": list(strings.index), "cells": cells}


def unpack(doc):
    """Converts a record from the form of the file."""
    lookup = Lookup(doc["strings"])
    columns = [(name, getattr(lookup, COLUMNS[name])) for name in doc["columns"]]
    cells = []
    for row in doc["cells"]:
        if isinstance(row, list):
            row = {name: fetch(value) for (name, fetch), value in zip(columns, row, strict=True)}
            row["faults"], row["observed"], row["runs"] = [], [], []
        cells.append(row)
    head = {key: value for key, value in doc.items() if key not in ("columns", "strings", "cells")}
    return {**head, "summary": summarize(cells), "cells": cells}


def reread(data):
    """The record as it is after it was written and loaded: compact cells lose their observations."""
    return unpack(pack(data))


def write_json(data, path):
    """Writes the file with one line for each cell, so that diff(1) shows the cells that differ."""
    doc = pack(data)
    cells = doc.pop("cells")
    dump = json.JSONEncoder(separators=(",", ":")).encode
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt", encoding="utf-8") as f:
        f.write(json.dumps(doc, indent=1).removesuffix("\n}"))
        f.write(',\n "cells": [\n')
        f.write(",\n".join(map(dump, cells)))
        f.write("\n]}\n")


# -- files of earlier versions


def _from_2(doc):
    """Version 3 adds `also` to each cell, `level` to each erratum, and the level MUST-BY-ERRATUM."""
    errata = {key: {"level": "MUST", **erratum} for key, erratum in doc["errata"].items()}
    columns = doc["columns"]
    at = columns.index("clause") + 1
    cells = [
        [*row[:at], [], *row[at:]] if isinstance(row, list) else {**row, "also": []} for row in doc["cells"]
    ]
    summary = doc["summary"]
    levels = {**dict.fromkeys(LEVELS, dict.fromkeys(("cells", *OUTCOMES), 0)), **summary["levels"]}
    return {
        **doc,
        "errata": errata,
        "columns": [*columns[:at], "also", *columns[at:]],
        "cells": cells,
        "summary": {**summary, "levels": levels},
    }


def _from_3(doc):
    """Version 4 adds `observed` to each cell that is an object, and `early` to the summary."""
    cells = [row if isinstance(row, list) else {**row, "observed": None} for row in doc["cells"]]
    early = sum(ended_early(row) for row in cells if isinstance(row, dict))
    return {**doc, "cells": cells, "summary": {**doc["summary"], "early": early}}


def _from_4(doc):
    """Version 5 adds the outcome flaky, `runs` to each cell that is an object, `strict` and `requirements`."""
    cells = [row if isinstance(row, list) else {**row, "runs": []} for row in doc["cells"]]
    levels = {level: {**counts, "flaky": 0} for level, counts in doc["summary"]["levels"].items()}
    return {
        **doc,
        "strict": False,
        "requirements": [],
        "cells": cells,
        "summary": {**doc["summary"], "flaky": 0, "levels": levels},
    }


# Version of a file: function that converts it to the next version (docs/stability.md).
STEPS = {2: _from_2, 3: _from_3, 4: _from_4}


def _check_version(doc, path):
    version, reads = doc["version"], (*STEPS, VERSION)
    if version in reads:
        return
    known = doc.get("versions")
    writer = known.get("hcasim", "?") if isinstance(known, dict) else "?"
    newer = isinstance(version, int) and version > VERSION
    raise ResultsError(
        f"{path}: 'version' is {version!r} (written by hcasim {writer}), this hcasim reads "
        f"{' and '.join(map(str, reads))}: {'update hcasim' if newer else 'run the cells again'}"
    )


def convert(doc):
    """Converts a file of an earlier version to the current one."""
    for version in range(doc["version"], VERSION):
        doc = {**STEPS[version](doc), "version": version + 1}
    return doc


def _text(path):
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def load(path):
    """The record in a file, or in the first of RECORDS in a folder."""
    path = Path(path)
    if path.is_dir():
        files = [path / name for name in RECORDS]
        path = next((file for file in files if file.exists()), files[0])
    try:
        doc = json.loads(_text(path))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ResultsError(f"{path}: not what gzip writes: {error}") from error
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ResultsError(f"{path}: not JSON: {error}") from error
    if not isinstance(doc, dict) or "version" not in doc:
        raise ResultsError(f"{path}: no record of a run: it has no 'version'")
    _check_version(doc, path)
    try:
        doc = convert(doc)
        missing = sorted(set(required()) - set(doc))
        if missing:
            raise ResultsError(f"{path}: no record of a run: it has no '{missing[0]}'")
        return unpack(doc)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise ResultsError(f"{path}: a damaged record: {type(error).__name__}: {error}") from error


def required():
    return json.loads(SCHEMA.read_text(encoding="utf-8"))["required"]
