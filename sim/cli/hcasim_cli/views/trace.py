# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Reads the folder of `hcasim run --trace` (docs/traces.md)."""
import json
import os
from types import SimpleNamespace

FORMAT, VERSION = "hcasim-events", 3
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
        | {"pushed": FLAG, "psn": NUMBER, "frame": NUMBER},
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
}
TLP = {"ps": NUMBER, "arrival": NUMBER, "hca": NAME, "dir": NAME, "type": NAME, "len": NUMBER}
WQE = {"ps": NUMBER, "hca": NAME, "qpn": NUMBER, "index": NUMBER, "op": NAME, "length": NUMBER}
CQE = {"ps": NUMBER, "hca": NAME, "qpn": NUMBER, "op": NAME, "wqe_op": NAME} | {
    "wqe_index": NUMBER,
    "status": NAME,
    "raw": NAME,
}


class TraceError(Exception):
    """The folder cannot be used: one sentence that names file, line, field and value."""


def fits(value, kind):
    if kind == NUMBER:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if kind == NAMES:
        return isinstance(value, list) and all(isinstance(name, str) for name in value)
    return kind is None and isinstance(value, int) or isinstance(value, str if kind == NAME else bool)


def check(record, needed, allowed, where):
    for key, kind in needed.items():
        if key not in record:
            raise TraceError(f"{where}: '{key}' is missing")
        if not fits(record[key], kind):
            raise TraceError(f"{where}: '{key}' is {json.dumps(record[key])}, not {kind or 'a number'}")
    for key, kind in allowed.items():
        if key in record and not fits(record[key], kind):
            raise TraceError(f"{where}: '{key}' is {json.dumps(record[key])}, not {kind}")


def objects(path):
    """(place, object) of each line."""
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                where = f"{path}:{number}"
                try:
                    record = json.loads(line)
                except ValueError:
                    short = line.strip()[:40]
                    raise TraceError(
                        f"{where}: '{short}' is not a JSON object: truncated or foreign"
                    ) from None
                if not isinstance(record, dict):
                    raise TraceError(f"{where}: '{line.strip()[:40]}' is not a JSON object")
                yield where, record
    except UnicodeDecodeError:
        raise TraceError(f"{path}: not text: this is not a log of hcasim run --trace") from None
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None


def records(path, needed):
    found = []
    for where, record in objects(path):
        check(record, needed, {}, where)
        found.append(SimpleNamespace(**record))
    return found


def check_head(where, record):
    if record.get("event") != "head" or record.get("format") != FORMAT:
        raise TraceError(f"{where}: 'format' is {json.dumps(record.get('format'))}, not \"{FORMAT}\"")
    if record.get("version") != VERSION:
        raise TraceError(
            f"{where}: 'version' is {json.dumps(record.get('version'))}; this hcasim reads version {VERSION}"
        )


def check_event(where, record):
    kind = record.get("event")
    if kind not in EVENTS:
        raise TraceError(f"{where}: 'event' is {json.dumps(kind)}, which is unknown")
    check(record, {"ps": NUMBER} | EVENTS[kind][0], EVENTS[kind][1], where)
    if record.get("end", record["ps"]) < record["ps"]:
        raise TraceError(f"{where}: 'end' is {record['end']}, before 'ps' {record['ps']}")
    if record.get("stage", STAGES[0]) not in STAGES:
        raise TraceError(f"{where}: 'stage' is {json.dumps(record['stage'])}, which is unknown")


def load_events(path):
    """{event: records}; the file must be whole."""
    found = {kind: [] for kind in EVENTS}
    number, where, last = -1, path, {}
    for number, (where, record) in enumerate(objects(path)):
        if not number:
            check_head(where, record)
        check_event(where, record)
        if last.get("event") == "end":
            raise TraceError(f"{where}: a record after the end")
        found[record["event"]].append(SimpleNamespace(**record))
        last = record
    if last.get("event") != "end":
        raise TraceError(
            f"{where}: the last record is not 'end': the file is truncated, or the machine still runs"
        )
    if last["events"] != number:
        raise TraceError(f"{where}: 'events' is {last['events']}, but {number} records come before")
    return found


class Trace:
    """The files of one folder."""

    def __init__(self, folder):
        if not os.path.isdir(folder):
            raise TraceError(f"{folder}: {'not a folder' if os.path.exists(folder) else 'does not exist'}")
        events = load_events(f"{folder}/events.log")
        self.folder = folder
        self.hcas = events["head"][0].hcas
        self.steps = sorted(events["step"], key=lambda s: (s.end, s.ps))
        self.stalls, self.ranges = events["stall"], events["range"]
        self.lookups = events["lookup"]
        self.sent, self.arrived = events["sent"], events["arrived"]
        self.levels = {(r.hca, r.name): [(0, r.initial)] for r in self.ranges}
        self._levels(events["level"], events["change"], f"{folder}/events.log")
        self.tlps = records(f"{folder}/tlp.log", TLP)
        self.wqes = records(f"{folder}/wqe.log", WQE)
        self.cqes = records(f"{folder}/cqe.log", CQE)

    def _levels(self, levels, changes, path):
        """{(hca, name): [(ps, value), ...]}, each value once."""
        for record in levels + changes:
            if (record.hca, record.name) not in self.levels:
                raise TraceError(f"{path}: 'name' is \"{record.name}\" of {record.hca}, which has no 'range'")
        for record in levels:
            self.levels[record.hca, record.name].append((record.ps, record.value))
        for record in sorted(changes, key=lambda c: c.ps):
            values = self.levels[record.hca, record.name]
            value = values[-1][1] + record.by
            if values[-1][0] == record.ps:
                values.pop()
            values.append((record.ps, value))


def cqe_write(tlp):
    return tlp.type == "MWr" and getattr(tlp, "class", None) == "cqe"
