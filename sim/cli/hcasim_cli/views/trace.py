# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Reads the folder of `hcasim run --trace` (docs/traces.md)."""
import json
import os
from collections import defaultdict
from sys import intern
from types import SimpleNamespace

FORMAT, VERSION = "hcasim-events", 4
LINKS = ["posted", "read", "store", "cpu"]  # what waits for the PCIe link
STAGES = ["doorbell", "fetch", "decode", "packetise", "gather", "tx", "rx", "respond", "complete", "event"]
NUMBER, NAME, FLAG, NAMES = "a number from 0 on", "a name", "true or false", "a list of names"

# Members that each record must have, and those that it may have: their kinds.
EVENTS = {
    "head": ({"format": NAME, "version": NUMBER, "hcas": NAMES}, {}),
    "end": ({"events": NUMBER}, {}),
    "step": (
        {"end": NUMBER, "hca": NAME, "stage": NAME, "bytes": NUMBER, "items": NUMBER},
        {"qpn": NUMBER, "index": NUMBER, "blocks": NUMBER, "store": NUMBER}
        | {"pushed": FLAG, "doorbell": NUMBER, "psn": NUMBER, "frame": NUMBER},
    ),
    "stall": (
        {"end": NUMBER, "hca": NAME, "where": NAME, "cause": NAME},
        {"qpn": NUMBER, "index": NUMBER},
    ),
    "range": ({"hca": NAME, "name": NAME, "initial": NUMBER, "max": NUMBER}, {}),
    "level": ({"hca": NAME, "name": NAME, "value": NUMBER}, {}),
    "change": ({"hca": NAME, "name": NAME, "by": None}, {}),
    "sent": (
        {"end": NUMBER, "hca": NAME, "frame": NUMBER, "pcap": NUMBER, "len": NUMBER},
        {"opcode": NAME, "response": FLAG, "dqpn": NUMBER, "psn": NUMBER},
    ),
    "lookup": (
        {"end": NUMBER, "hca": NAME, "cache": NAME, "table": NUMBER, "number": NUMBER, "hit": FLAG},
        {},
    ),
    "arrived": ({"hca": NAME, "frame": NUMBER}, {}),
    "refused": (
        {"hca": NAME, "reason": NAME},
        {"nak": NAME, "qpn": NUMBER, "psn": NUMBER, "frame": NUMBER},
    ),
}
TLP = {"ps": NUMBER, "arrival": NUMBER, "hca": NAME, "dir": NAME, "type": NAME, "len": NUMBER}
WQE = {"ps": NUMBER, "hca": NAME, "qpn": NUMBER, "index": NUMBER, "op": NAME, "length": NUMBER}
CQE = {"ps": NUMBER, "hca": NAME, "qpn": NUMBER, "op": NAME, "wqe_op": NAME} | {
    "wqe_index": NUMBER,
    "status": NAME,
    "vendor_err": NAME,
    "raw": NAME,
}
FAULT = {"ps": NUMBER, "from": NAME, "what": NAME, "len": NUMBER}


class TraceError(Exception):
    """The folder cannot be used: one sentence that names file, line, field and value."""


class NoEvents(TraceError):
    """A folder of a run with --no-events: the other logs are there."""


# json makes values of exactly these types: a bool is not taken for an int.
FITS = {
    NUMBER: lambda value: type(value) is int and value >= 0,
    NAME: lambda value: type(value) is str,
    FLAG: lambda value: type(value) is bool,
    NAMES: lambda value: type(value) is list and all(type(name) is str for name in value),
    None: lambda value: type(value) is int,
}


class Place:
    """A line of a file, for messages."""

    def __init__(self, path):
        self.path, self.number = path, 0

    def __str__(self):
        return f"{self.path}:{self.number}" if self.number else self.path


def check(record, needed, allowed, where):
    for key, kind in needed.items():
        if key not in record:
            raise TraceError(f"{where}: '{key}' is missing")
        if not FITS[kind](record[key]):
            raise TraceError(f"{where}: '{key}' is {json.dumps(record[key])}, not {kind or 'a number'}")
    for key, kind in allowed.items():
        if key in record and not FITS[kind](record[key]):
            raise TraceError(f"{where}: '{key}' is {json.dumps(record[key])}, not {kind}")


def objects(path, where):
    """The object of each line; `where` is set to it."""
    try:
        with open(path, encoding="utf-8") as file:
            for where.number, line in enumerate(file, 1):
                try:
                    record = json.loads(line)
                except ValueError:
                    short = line.strip()[:40]
                    raise TraceError(
                        f"{where}: '{short}' is not a JSON object: truncated or foreign"
                    ) from None
                if not isinstance(record, dict):
                    raise TraceError(f"{where}: '{line.strip()[:40]}' is not a JSON object")
                yield record
    except UnicodeDecodeError:
        raise TraceError(f"{path}: not text: this is not a log of hcasim run --trace") from None
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None


def records(path, needed, wanted=lambda record: True):
    found, where = [], Place(path)
    for record in objects(path, where):
        check(record, needed, {}, where)
        if wanted(record):
            found.append(SimpleNamespace(**record))
    return found


def check_head(where, record):
    if record.get("event") != "head" or record.get("format") != FORMAT:
        raise TraceError(f"{where}: 'format' is {json.dumps(record.get('format'))}, not \"{FORMAT}\"")
    if record.get("version") != VERSION:
        raise TraceError(
            f"{where}: 'version' is {json.dumps(record.get('version'))}; this hcasim reads version {VERSION}"
        )


EVENT = {kind: ({"ps": NUMBER} | needed, allowed) for kind, (needed, allowed) in EVENTS.items()}


def check_event(where, record):
    kind = record.get("event")
    if kind not in EVENT:
        raise TraceError(f"{where}: 'event' is {json.dumps(kind)}, which is unknown")
    check(record, *EVENT[kind], where)
    if record.get("end", record["ps"]) < record["ps"]:
        raise TraceError(f"{where}: 'end' is {record['end']}, before 'ps' {record['ps']}")
    if record.get("stage", STAGES[0]) not in STAGES:
        raise TraceError(f"{where}: 'stage' is {json.dumps(record['stage'])}, which is unknown")


class Events:
    """What events.log says; the file must be whole. Most of it are levels and changes of levels, which are kept as pairs."""

    def __init__(self, path):
        self.path = path
        self.of = {kind: [] for kind in EVENTS}
        self.levels, self.changes = defaultdict(list), defaultdict(list)  # {(hca, name): [(ps, value), ...]}
        where, last, number = Place(path), {}, -1
        for number, record in enumerate(objects(path, where)):
            if not number:
                check_head(where, record)
            check_event(where, record)
            if last.get("event") == "end":
                raise TraceError(f"{where}: a record after the end")
            self._add(record)
            last = record
        if last.get("event") != "end":
            raise TraceError(
                f"{where}: the last record is not 'end': the file is truncated, or the machine still runs"
            )
        if last["events"] != number:
            raise TraceError(f"{where}: 'events' is {last['events']}, but {number} records come before")

    def _add(self, record):
        kind = record["event"]
        if kind == "level":
            self.levels[intern(record["hca"]), intern(record["name"])].append((record["ps"], record["value"]))
        elif kind == "change":
            self.changes[intern(record["hca"]), intern(record["name"])].append((record["ps"], record["by"]))
        else:
            self.of[kind].append(SimpleNamespace(**record))

    def values(self):
        """{(hca, name): [(ps, value), ...]}, each value once."""
        found = {(r.hca, r.name): [(0, r.initial)] for r in self.of["range"]}
        for hca, name in [*self.levels, *self.changes]:
            if (hca, name) not in found:
                raise TraceError(f"{self.path}: 'name' is \"{name}\" of {hca}, which has no 'range'")
        for key, levels in self.levels.items():
            found[key] += levels
        for key, changes in self.changes.items():
            sum_up(found[key], sorted(changes, key=lambda change: change[0]))
        return found


def sum_up(values, changes):
    """Appends the value after all changes of each time."""
    for ps, by in changes:
        value = values[-1][1] + by
        if values[-1][0] == ps:
            values.pop()
        values.append((ps, value))


def check_folder(folder):
    if not os.path.isdir(folder):
        raise TraceError(f"{folder}: {'not a folder' if os.path.exists(folder) else 'does not exist'}")
    if os.path.exists(f"{folder}/events.log"):
        return
    if os.path.exists(f"{folder}/tlp.log"):
        raise NoEvents(f"{folder}: has no events.log: run again with --trace but without --no-events")
    raise TraceError(f"{folder}: has no events.log: it is no folder of hcasim run --trace")


class Trace:
    """The files of one folder."""

    def __init__(self, folder):
        check_folder(folder)
        events = Events(f"{folder}/events.log")
        self.folder = folder
        self.hcas = events.of["head"][0].hcas
        self.steps = sorted(events.of["step"], key=lambda s: (s.end, s.ps))
        self.stalls, self.ranges = events.of["stall"], events.of["range"]
        self.lookups = events.of["lookup"]
        self.sent, self.arrived = events.of["sent"], events.of["arrived"]
        self.refused = events.of["refused"]
        self.levels = events.values()
        self.writes = records(f"{folder}/tlp.log", TLP, is_followed)
        self.wqes = records(f"{folder}/wqe.log", WQE)
        self.cqes = completions(folder)
        self.faults = records(f"{folder}/fault.log", FAULT)


def completions(folder):
    return records(f"{folder}/cqe.log", CQE)


def is_followed(tlp):
    """Stores to the BAR, and CQEs."""
    return tlp["type"] == "MWr" and (tlp["dir"] == "down" or tlp.get("class") == "cqe")
