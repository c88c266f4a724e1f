# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Reading DUT files: `extends`, and errors by file and field."""
import functools
import json
from pathlib import Path

import jsonschema
import yaml

from hcasim_conform import yaml_text
from hcasim_conform.model.tables import Tables

HERE = Path(__file__).resolve().parents[2]
DUTS = HERE / "duts"
SCHEMA = HERE / "schema" / "dut.schema.json"
DEVICE = "device:"
COMMANDS = (
    ("start",),
    ("service",),
    ("peer_command",),
    ("tap", "start"),
    ("faults", "start"),
    ("narrow", "start"),
)


class DutError(Exception):
    """A DUT file that is missing or wrong; the message names the file and the field."""


def _parse(path):
    try:
        doc = yaml_text.load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise DutError(f"DUT file {path}: {error}") from error
    if not isinstance(doc, dict):
        raise DutError(f"DUT file {path}: the file holds no keys with values")
    _locate(doc, path.resolve().parent)
    return doc


def located(words, folder):
    """The command with its program path made absolute, if it is relative to `folder`."""
    if words and str(words[0]).startswith("."):
        return [str((folder / words[0]).resolve()), *words[1:]]
    return list(words)


def _locate(doc, folder):
    """Paths of programs, of other DUT files and of libraries are relative to the folder of the file that has them."""
    for *outer, key in COMMANDS:
        holder = doc.get(outer[0]) if outer else doc
        if isinstance(holder, dict) and isinstance(holder.get(key), list):
            holder[key] = located(holder[key], folder)
    if isinstance(doc.get("differences_of"), list):
        doc["differences_of"] = [str(folder / str(name)) for name in doc["differences_of"]]
    if isinstance(doc.get("env"), dict) and "LD_LIBRARY_PATH" in doc["env"]:
        libraries = str(doc["env"]["LD_LIBRARY_PATH"]).split(":")
        doc["env"]["LD_LIBRARY_PATH"] = ":".join(located([path], folder)[0] for path in libraries)


def _family(path, doc):
    """[(path, its keys)] of a file, of the one that it extends, and so on."""
    family = [(path, doc)]
    while "extends" in doc:
        parent = doc.pop("extends")
        if not isinstance(parent, str) or not parent:
            raise DutError(f"DUT file {path}: extends: {parent!r} is not the name of a file")
        child, path = path, path.parent / parent
        known = [one.resolve() for one, _ in family]
        if path.resolve() in known:
            circle = " -> ".join(
                str(one) for one, _ in [*family[known.index(path.resolve()) :], (path, None)]
            )
            raise DutError(f"DUT file {child}: extends: {parent} leads back to itself: {circle}")
        try:
            doc = _parse(path)
        except OSError as error:
            raise DutError(f"DUT file {child}: extends: {path}: {error.strerror}") from error
        family.append((path, doc))
    return family


def merge(parent, child):
    """Merges mappings key by key; other values of the child replace the parent's; null removes the parent's."""
    if not isinstance(parent, dict) or not isinstance(child, dict):
        return child
    merged = dict(parent)
    for key, value in child.items():
        if value is None and key in parent:
            del merged[key]
        else:
            merged[key] = merge(parent.get(key), value)
    return merged


def _has(doc, where):
    for key in where:
        try:
            doc = doc[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _origin(family, error):
    """The file with the error: the first one that has the field."""
    where = list(error.absolute_path)
    if error.validator == "additionalProperties":
        where += [key for key in error.instance if key not in error.schema["properties"]][:1]
    return next((path for path, doc in family if _has(doc, where)), family[0][0])


@functools.cache
def _operations():
    return frozenset(op.name for op in Tables().operations)


def _check_operations(doc):
    """Checks operation names against spec/wr.yaml, since the schema does not list them."""
    for qpt, ops in ((doc.get("capabilities") or {}).get("operations") or {}).items():
        for op in ops if ops != "all" else ():
            if op not in _operations():
                where = ("capabilities", "operations", qpt)
                raise jsonschema.ValidationError(f"{op!r} is no operation of spec/wr.yaml", path=where)


def check(doc, family):
    try:
        jsonschema.validate(doc, json.loads(SCHEMA.read_text(encoding="utf-8")))
        _check_operations(doc)
    except jsonschema.ValidationError as error:
        where = "/".join(str(p) for p in error.absolute_path) or "the file"
        raise DutError(f"DUT file {_origin(family, error)}: {where}: {error.message}") from error


def choose_engine(doc, engine):
    """Replaces the engine of the DUT file, and names the device after it."""
    if not any("{engine}" in command for command in _commands(doc)):
        raise DutError(f"--engine {engine}: DUT '{doc['name']}' has no {{engine}} in its start command")
    if engine != doc.get("engine"):
        plain = "".join(c if c.isalnum() else "-" for c in Path(engine).name.lower())
        doc["name"] = f"{doc['name']}-{plain}"
        doc["doc"] += f"; send engine {engine}"
    doc["engine"] = engine


def set_figures(doc, figures):
    """Gives --set KEY=VALUE to `hcasim run` in the commands, and names the device after them."""
    runs = [command for command in _commands(doc) if command[:2] == ["hcasim", "run"]]
    if not runs:
        raise DutError(f"--set {figures[0]}: DUT '{doc['name']}' is not started by hcasim run")
    for command in runs:
        command[2:2] = [word for figure in figures for word in ("--set", figure)]
    plain = "".join(c if c.isalnum() else "-" for c in "-".join(figures).lower())
    doc["name"] = f"{doc['name']}-{plain}"
    doc["doc"] += f"; {', '.join(figures)}"


def _commands(doc):
    for *outer, key in COMMANDS:
        holder = doc.get(outer[0], {}) if outer else doc
        if key in holder:
            yield holder[key]


def place_engine(doc):
    """{engine} in the start commands."""
    for command in _commands(doc):
        if "{engine}" in command and "engine" not in doc:
            raise DutError(f"DUT '{doc['name']}': {{engine}} in a command, but no key engine")
        command[:] = [doc["engine"] if word == "{engine}" else word for word in command]


def read(name):
    """Reads a DUT file (a name in conformance/duts, or a path) merged with those that it extends."""
    path = Path(name) if "/" in name or name.endswith(".yaml") else DUTS / f"{name}.yaml"
    try:
        doc = _parse(path)
    except OSError as error:
        known = ", ".join(sorted(p.stem for p in DUTS.glob("*.yaml")))
        raise DutError(
            f"DUT '{name}': {path}: {error.strerror} (there are: {known}, {DEVICE}NAME)"
        ) from error
    family = _family(path, doc)
    merged = {}
    for _, one in reversed(family):
        merged = merge(merged, one)
    check(merged, family)
    return merged
