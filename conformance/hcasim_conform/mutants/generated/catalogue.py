# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The mutants of a build, and those among them that no cell can catch."""
import json
import re
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path

import jsonschema

from hcasim_conform import yaml_text

HERE = Path(__file__).resolve().parents[3]
EQUIVALENT = HERE / "mutants" / "generated" / "equivalent"
SCHEMA = HERE / "schema" / "equivalent.schema.json"
PARTS = ("provider", "sim/core", "sim/devices")
KEYS = ("file", "function", "text", "operator", "change")
SAME = "same"  # the kind of those that behave as the original; the others could be observed by other means


class CatalogueError(Exception):
    """An unusable build or file; the message names it."""


@dataclass(frozen=True)
class Mutant:
    number: int
    file: str
    function: str
    line: int
    text: str  # of the line
    operator: str
    change: str

    @property
    def key(self):
        """What stays when other lines of its file change."""
        return tuple(getattr(self, name) for name in KEYS)

    @property
    def part(self):
        return next(part for part in PARTS if self.file.startswith(part + "/"))

    def __str__(self):
        return f"{self.file}:{self.line} {self.function}() {self.operator}: {self.change}"


def load(build):
    """(mutants by number, in the order of files; how many did not compile)."""
    folder = Path(build) / "generated-mutants"
    mutants, left_out = [], 0
    for path in sorted(folder.glob("**/*.c.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        left_out += data["left_out"]
        mutants += [Mutant(file=data["file"], **row) for row in data["mutants"]]
    if not mutants:
        raise CatalogueError(
            f"{build} was not built with -DHCASIM_GENERATED_MUTANTS=ON (preset generated-mutants)"
        )
    return sorted(mutants, key=lambda m: m.number), left_out


@dataclass(frozen=True)
class Equivalent:
    kind: str  # same, unruled, guarded, memory: docs/mutants.md
    reason: str


def rows_of(path):
    """The entries of a file, whose form is checked."""
    rows = yaml_text.load(path.read_text(encoding="utf-8"))["equivalent"]
    try:
        jsonschema.validate(rows, json.loads(SCHEMA.read_text(encoding="utf-8")))
    except jsonschema.ValidationError as error:
        where = "/".join(str(p) for p in error.absolute_path) or "the list"
        raise CatalogueError(f"{path}: {where}: {error.message}") from error
    return rows


@cache
def source_lines(file):
    return (HERE.parent / file).read_text(encoding="utf-8").splitlines()


def above(mutant, count):
    """So many lines above the mutant's, which tell lines of equal text apart."""
    end = mutant.line - 1
    return "\n".join(line.strip() for line in source_lines(mutant.file)[max(end - count, 0) : end])


def matcher(row, path):
    """A test whether an entry means a mutant: texts are compared, those between slashes are regular expressions."""
    tests = []
    if "below" in row:
        count = row["below"].count("\n") + 1
        tests.append((lambda mutant: above(mutant, count), row["below"].__eq__))
    for name in KEYS:
        text = row.get(name)
        if text is None:
            continue
        if name != "file" and len(text) > 2 and text[0] == text[-1] == "/":
            try:
                tests.append((attrgetter(name), re.compile(text[1:-1]).search))
            except re.error as error:
                raise CatalogueError(f"{path}: {name}: {text}: {error}") from error
        else:
            tests.append((attrgetter(name), text.__eq__))
    return lambda mutant: all(test(get(mutant)) for get, test in tests)


def chosen(row, meant):
    """With `nth`, of the mutants that a line has with the same operator and change only that one, from 1."""
    if "nth" not in row:
        return meant
    alike = {}
    for mutant in sorted(meant, key=attrgetter("number")):
        alike.setdefault((mutant.line, mutant.key), []).append(mutant)
    place = row["nth"] - 1
    return [mutants[place] for mutants in alike.values() if place < len(mutants)]


def equivalents(mutants, folder=EQUIVALENT):
    """number -> Equivalent. Entries that mean no mutant are an error, all named: their lines have changed."""
    by_file, found, stale = {}, {}, []
    for mutant in mutants:
        by_file.setdefault(mutant.file, []).append(mutant)
    for path in sorted(Path(folder).glob("*.yaml")):
        for row in rows_of(path):
            meant = chosen(row, list(filter(matcher(row, path), by_file.get(row["file"], ()))))
            if not meant:
                given = ", ".join(f"{name}: {row[name]}" for name in (*KEYS, "below", "nth") if name in row)
                stale.append(f"{path}: no mutant has {given}")
            reason = row["reason"] + (f" (tested by {row['test']})" if "test" in row else "")
            found |= {mutant.number: Equivalent(row["kind"], reason) for mutant in meant}
    if stale:
        raise CatalogueError("\n".join(stale))
    return found
