# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The mutants of a build, and those among them that no cell can catch."""
import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import jsonschema

from hcasim_conform import yaml_text

from . import patterns

HERE = Path(__file__).resolve().parents[3]
EQUIVALENT = HERE / "mutants" / "generated" / "equivalent"
CAUSES = "causes.yaml"
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
    statement: str = ""  # or condition or initialized member that it is part of
    under: str = ""  # the condition or label that controls the statement

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


def read(path, schema):
    """The contents of a file of the lists, whose form is checked."""
    data = yaml_text.load(path.read_text(encoding="utf-8"))
    try:
        jsonschema.validate(data, json.loads((HERE / "schema" / schema).read_text(encoding="utf-8")))
    except jsonschema.ValidationError as error:
        where = "/".join(str(p) for p in error.absolute_path) or "the file"
        raise CatalogueError(f"{path}: {where}: {error.message}") from error
    return data


def causes_of(folder):
    """name -> Equivalent."""
    data = read(folder / CAUSES, "causes.schema.json")
    found = {}
    for kind, causes in data.items():
        for name, about in causes.items():
            if name in found:
                raise CatalogueError(f"{folder / CAUSES}: {name} is declared twice")
            reason = about if isinstance(about, str) else about["reason"]
            tests = "" if isinstance(about, str) else f" (tested by {', '.join(about['tests'])})"
            found[name] = Equivalent(kind, reason + tests)
    return found


@dataclass(frozen=True)
class Row:
    path: Path
    file: str  # shell pattern
    functions: tuple  # shell patterns
    cause: str
    patterns: tuple

    def __str__(self):
        return f"{self.path}: {self.file}: {' '.join(self.functions)} {self.cause}"


def rows_of(path):
    for file, rows in read(path, "equivalent.schema.json").items():
        for key, text in rows.items():
            *functions, cause = key.split()
            try:
                yield Row(path, file, tuple(functions), cause, tuple(patterns.parse(text)))
            except ValueError as error:
                raise CatalogueError(f"{path}: {file}: {key}: {error}") from error


class Functions:
    """Mutants by file and function, and what patterns ask about them."""

    def __init__(self, mutants):
        self.of, self.looks = {}, {}
        for mutant in mutants:
            self.of.setdefault(mutant.file, {}).setdefault(mutant.function, []).append(mutant)

    def look(self, mutant):
        if mutant.number not in self.looks:
            self.looks[mutant.number] = patterns.Look(mutant)
        return self.looks[mutant.number]

    def named(self, file, function):
        """The mutants of each function that these shell patterns mean."""
        files = (
            [self.of[file]] if file in self.of else [f for n, f in self.of.items() if fnmatchcase(n, file)]
        )
        return [m for found in files for name, m in found.items() if fnmatchcase(name, function)]

    def meant(self, row, stale):
        """The mutants of a row; what means none is added to `stale`."""
        groups = []
        for function in row.functions:
            found = self.named(row.file, function)
            if not found:
                stale.append(f"{row}: no function {function} has mutants")
            groups += found
        meant = []
        for pattern in row.patterns:
            found = [m for group in groups for m in pattern.of(group, self.look)]
            if groups and not found:
                stale.append(f"{row}: no mutant is '{pattern.text}'")
            meant += found
        return meant


def equivalents(mutants, folder=EQUIVALENT):
    """number -> Equivalent. Rows, patterns and causes that mean no mutant are an error, all named: the code has changed."""
    folder = Path(folder)
    causes, functions, found, stale, used = causes_of(folder), Functions(mutants), {}, [], set()
    for path in sorted(folder.glob("*.yaml")):
        for row in rows_of(path) if path.name != CAUSES else ():
            if row.cause not in causes:
                raise CatalogueError(f"{row}: {folder / CAUSES} does not declare '{row.cause}'")
            used.add(row.cause)
            for mutant in functions.meant(row, stale):
                found.setdefault(mutant.number, causes[row.cause])
    stale += [f"{folder / CAUSES}: no row has the cause '{name}'" for name in causes if name not in used]
    if stale:
        raise CatalogueError("\n".join(stale))
    return found
