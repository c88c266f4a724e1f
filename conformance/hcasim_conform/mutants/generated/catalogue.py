# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The mutants of a build, the equivalent ones among them, and the score that was reached."""
import json
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import yaml

HERE = Path(__file__).resolve().parents[3]
EQUIVALENT = HERE / "mutants" / "generated" / "equivalent.yaml"
SCHEMA = HERE / "schema" / "equivalent.schema.json"
PARTS = ("provider", "sim/core", "sim/devices/native")
KEYS = ("file", "function", "text", "operator", "change")


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


def equivalents(mutants, path=EQUIVALENT):
    """number -> why the mutant is equivalent. An entry without a mutant is an error: its line has changed."""
    rows = yaml.safe_load(Path(path).read_text(encoding="utf-8"))["equivalent"]
    try:
        jsonschema.validate(rows, json.loads(SCHEMA.read_text(encoding="utf-8")))
    except jsonschema.ValidationError as error:
        where = "/".join(str(p) for p in error.absolute_path) or "the list"
        raise CatalogueError(f"{path}: {where}: {error.message}") from error
    by_key = {}
    for mutant in mutants:
        by_key.setdefault(mutant.key, []).append(mutant.number)
    reasons = {}
    for row in rows:
        key = tuple(row[name] for name in KEYS)
        if key not in by_key:
            raise CatalogueError(
                f"{path}: no mutant is {row['file']} {row['function']}(): '{row['change']}' in '{row['text']}'"
            )
        reasons |= dict.fromkeys(by_key[key], row["reason"])
    return reasons
