# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""counters.yaml: what adapters count, why they refuse packets, and the files of each device family."""

from dataclasses import dataclass

from .load import SpecError
from .model import Names

FILE = "counters.yaml"
REASON = "refused_"


@dataclass(frozen=True)
class File:
    """A file of a port; `counter` is None if the file is always 0."""

    name: str
    counter: str | None
    unit: int = 1
    always_0: str = ""


@dataclass
class Counters:
    docs: dict  # name of the counter: its meaning; reasons follow the others
    reasons: list  # without the prefix
    families: dict  # name: its files, by path below the port


def _file(where, entry, docs):
    counter = None if "always_0" in entry else entry.get("counter", entry["name"])
    if counter and counter not in docs:
        raise SpecError(where, f"counter {counter!r} is not declared")
    return File(entry["name"], counter, entry.get("unit", 1), entry.get("always_0", ""))


def _files(family, docs):
    where, found = f"{FILE}: families[{family['name']}]", {}
    listed = family["hw_counters"]
    listed = [{"name": name} for name in docs] if listed == "all" else listed
    for folder, entries in (("counters", family["counters"]), ("hw_counters", listed)):
        names = Names(f"{where}.{folder}")
        for entry in entries:
            names.add(entry["name"], "an entry before it")
            path = f"{folder}/{entry['name']}"
            found[path] = _file(f"{where}.{folder}[{entry['name']}]", entry, docs)
    return found


def parse(document):
    names, docs = Names(FILE), {}
    for prefix, key in (("", "counters"), (REASON, "reasons")):
        for entry in document[key]:
            names.add(prefix + entry["name"], f"an entry of {key}")
            docs[prefix + entry["name"]] = entry["doc"]
    families = Names(f"{FILE}: families")
    for family in document["families"]:
        families.add(family["name"], "an entry before it")
    return Counters(
        docs,
        [entry["name"] for entry in document["reasons"]],
        {family["name"]: _files(family, docs) for family in document["families"]},
    )
