# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Reads the YAML files of the spec and checks each against its JSON Schema."""

import json
import re
from pathlib import Path

import jsonschema
import yaml

SCHEMA_DIR = Path(__file__).resolve().parent.parent / "schema"
FILES = ("core", "wire", "verbs", "wr", "profile", "counters")
FAMILIES = "families"  # the folder of the device families: a file for each
NATIVE = f"{FAMILIES}/native"  # the adapter that the project itself defines, with its provider and its RTL
_TAKEN = {*FILES, "hw", "ops"}  # headers are named after files and families


class SpecError(Exception):
    """A contradiction in the spec. The message names the file, the path inside it, and the value."""

    def __init__(self, where, message):
        super().__init__(f"{where}: {message}")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # libyaml is ten times as fast
    """PyYAML keeps the last of two equal keys; here the second one is an error."""


def _mapping(loader, node, deep=False):
    seen = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=deep)
        if key in seen:
            mark = key_node.start_mark
            raise SpecError(f"{Path(mark.name).name}:{mark.line + 1}", f"key {key!r} stands twice")
        seen.add(key)
    return yaml.constructor.SafeConstructor.construct_mapping(loader, node, deep)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def _describe(document, path):
    """The path with the names of its elements: layouts[wqe_ctrl].members[opcode] for /layouts/3/members/0."""
    text, here = "", document
    for step in path:
        here = here[step]
        if isinstance(step, int):
            name = here.get("name", here.get("id", step)) if isinstance(here, dict) else step
            text += f"[{name}]"
        else:
            text += f".{step}" if text else str(step)
    return text or "(top)"


def _short(value):
    text = json.dumps(value, default=str)
    return text if len(text) <= 120 else text[:117] + "..."


def _schema_name(name):
    return "family" if name.startswith(FAMILIES) and name != NATIVE else Path(name).name


def schema(name):
    """The JSON Schema of NAME.yaml, with the definitions that the files share (defs.json)."""
    own, shared = (
        json.loads((SCHEMA_DIR / file).read_text(encoding="utf-8"))
        for file in (f"{_schema_name(name)}.schema.json", "defs.json")
    )
    return {**own, "$defs": {**shared["$defs"], **own.get("$defs", {})}}


def check_schema(name, document):
    """Raises SpecError for the most specific schema violation."""
    validator = jsonschema.Draft202012Validator(schema(name))
    error = jsonschema.exceptions.best_match(validator.iter_errors(document))
    if error:
        where = f"{name}.yaml: {_describe(document, error.absolute_path)}"
        raise SpecError(where, f"{error.message} (value: {_short(error.instance)})")


def load_file(folder, name):
    """The parsed and schema-checked document of folder/name.yaml."""
    path = Path(folder) / f"{name}.yaml"
    try:
        with open(path, encoding="utf-8") as stream:
            document = yaml.load(stream, _Loader)
    except OSError as error:
        raise SpecError(str(path), error.strerror) from error
    except yaml.YAMLError as error:
        raise SpecError(str(path), f"not YAML: {error}") from error
    check_schema(name, document)
    return document


def names(folder):
    """The files of a spec, without the suffix: those that are the same for all adapters, then the device families."""
    families = sorted(path.stem for path in (Path(folder) / FAMILIES).glob("*.yaml"))
    for family in families:
        where = f"{FAMILIES}/{family}.yaml"
        if not re.fullmatch("[a-z][a-z0-9_]*", family):
            raise SpecError(where, "a family's name has lower-case letters, digits and _, a letter first")
        if family in _TAKEN:
            raise SpecError(where, f"hcasim_{family}.h is already that of another part of the spec")
    return [*FILES, *(f"{FAMILIES}/{family}" for family in families)]
