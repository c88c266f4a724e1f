# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The list of the deliberate faults (mutants) of the adapter that a build has, and the one that is active."""
import difflib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import jsonschema
import yaml

from hcasim_conform import yaml_text

HERE = Path(__file__).resolve().parents[2]
CATALOGUE = HERE / "mutants" / "mutants.yaml"
SCHEMA = HERE / "schema" / "mutants.schema.json"
SWITCH = "HCASIM_MUTANT"


class CatalogueError(Exception):
    """The catalogue is wrong; the message names the field."""


@dataclass
class Mutant:
    id: str
    what: str
    patterns: list
    fault: str  # regular expression that a fault of the cell must match
    hang: bool = False  # the expected failure is a time-out
    named: list = field(default_factory=list)  # cells

    def explains(self, result):
        """The fault that the catalogue declares, if the result has it."""
        if result.passed or (result.late and not self.hang):
            return None
        return next((text for text in result.faults if re.search(self.fault, text)), None)


def mutant_of(row, path):
    try:
        re.compile(row["fault"])
    except re.error as error:
        raise CatalogueError(f"{path}: mutant {row['id']}: fault '{row['fault']}': {error}") from error
    return Mutant(row["id"], row["what"], row["cells"], row["fault"], row.get("hang", False))


def load(path=CATALOGUE):
    try:
        doc = yaml_text.load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise CatalogueError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{path}: {error}") from error
    try:
        jsonschema.validate(doc, json.loads(SCHEMA.read_text(encoding="utf-8")))
    except jsonschema.ValidationError as error:
        where = "/".join(str(p) for p in error.absolute_path) or "the file"
        raise CatalogueError(f"{path}: {where}: {error.message}") from error
    mutants = [mutant_of(row, path) for row in doc["mutants"]]
    ids = [mutant.id for mutant in mutants]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise CatalogueError(f"{path}: the id {twice[0]} is there twice")
    return mutants


def planted(build):
    """Whether a build has mutants."""
    return (Path(build) / "mutants").is_dir()


def of_build(build):
    """The catalogue that a build was made with, as plant.py leaves it there."""
    copy = Path(build) / "mutants" / "mutants.yaml"
    return copy if copy.exists() else CATALOGUE


def select(mutants, ids):
    unknown = sorted(set(ids) - {mutant.id for mutant in mutants})
    if unknown:
        near = difflib.get_close_matches(unknown[0], [mutant.id for mutant in mutants], 1)
        raise CatalogueError(
            f"there is no mutant {unknown[0]}{f'; the nearest is {near[0]}' if near else ''}"
        )
    return [mutant for mutant in mutants if not ids or mutant.id in ids]


def active(build, env):
    """The mutant that the environment of a DUT activates in this build, or None. An unknown one would be none at all."""
    name = {**os.environ, **env}.get(SWITCH)
    if not name or not planted(build):
        return None
    return select(load(of_build(build)), [name])[0].id
