# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""counters.yaml: what adapters count, and why they refuse packets; `sysfs` of each device family: its files of a port."""

from dataclasses import dataclass
from pathlib import Path

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


def _files(where, sysfs, standard, docs):
    found, every = {}, {"counters": standard, "hw_counters": [{"name": name} for name in docs]}
    for folder, entries in sysfs.items():
        names = Names(f"{where}.{folder}")
        for entry in every[folder] if entries == "all" else entries:
            names.add(entry["name"], "an entry before it")
            path = f"{folder}/{entry['name']}"
            found[path] = _file(f"{where}.{folder}[{entry['name']}]", entry, docs)
    return found


def parse(document, sysfs):
    """`sysfs`: that of each family, by its file."""
    names, docs = Names(FILE), {}
    for prefix, key in (("", "counters"), (REASON, "reasons")):
        for entry in document[key]:
            names.add(prefix + entry["name"], f"an entry of {key}")
            docs[prefix + entry["name"]] = entry["doc"]
    return Counters(
        docs,
        [entry["name"] for entry in document["reasons"]],
        {
            Path(name).name: _files(f"{name}.yaml: sysfs", files, document["port"], docs)
            for name, files in sysfs.items()
        },
    )
