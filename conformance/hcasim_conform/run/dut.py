# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""DUT files: the device under test, its start command, its capabilities, and its known differences."""
import bisect
import functools
import ipaddress
import itertools
import re
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from hcasim_conform.model import capabilities
from hcasim_conform.model.cells import NARROW, ids_of
from hcasim_conform.run import dut_file
from hcasim_conform.run.dut_file import DEVICE, DUTS, SCHEMA, DutError

ROLES = ("requester", "responder")
RUNNER_KEYS = ("requester", "responder", "mtu", "timeout_ms", "refusals")
PEER_START_MS = 30000  # a login on another host


class Difference:
    """A row of `differences`. `whole`: it expects its cells to fail. One that is `foreign`, of a file named by `differences_of`, may pass here."""

    def __init__(self, row, foreign=False):
        self.foreign = foreign
        self.clause = row["clause"]
        self.patterns = row["cells"]
        self.exceptions = row.get("except", [])
        self.reason = row["reason"]
        self.releases = row.get("releases", ["*"])
        self.lines = row.get("lines", {})
        self.kernel = row.get("kernel", "*")
        self.race = re.compile(row["race"]) if "race" in row else None
        self.timeout_ms = row.get("timeout_ms")
        self.excuses = row.get("excuses", {})  # check -> value
        self.whole = not self.excuses

    def shows(self, result):
        """Whether the cell has seen everything that this row excuses."""
        seen = {(check, value) for check, value, excused in result.observed if excused}
        return self.excuses.items() <= seen

    def outcome(self, result):
        """The outcome of a known difference. With `race` the cell fails only sometimes, with that fault."""
        if result.passed:
            return "pass" if self.race or self.foreign else "unexpected"
        if self.race is None:
            return "known"
        return "known" if all(self.race.search(fault) for fault in result.faults) else "fail"

    @property
    def cause(self):
        """The name before the colon of the reason, as "D1"."""
        return self.reason.split(":")[0]

    def holds_in(self, release):
        """Whether a release of rdma-core has it; a device whose file names none has all of them."""
        return release is None or any(fnmatchcase(release, pattern) for pattern in self.releases)

    def cite(self, release):
        """The reason names lines of the release that the file was written for; another one's are in `lines`."""
        if release in self.lines:
            self.reason += f" (rdma-core {release}: {self.lines[release]})"

    def holds_on(self, kernel):
        return fnmatchcase(kernel, self.kernel)

    def matches(self, cell):
        return (
            fnmatchcase(cell.expect.clause, self.clause)
            and any(fnmatchcase(i, p) for i in ids_of(cell) for p in self.patterns)
            and not any(fnmatchcase(i, p) for i in ids_of(cell) for p in self.exceptions)
        )

    def stale_keys(self, ids):
        """Patterns, including those of exceptions, that select no cell."""
        of_clause = ids.of_clauses(self.clause)
        if not of_clause:
            return [f"clause '{self.clause}' is no clause of any cell"]
        return [
            f"'{p}' (clause '{self.clause}') matches no cell"
            for p in self.patterns + self.exceptions
            if not Ids.any_matches(of_clause, p)
        ]


class Excused:
    """Rows with `excuses`: the cell goes on after what they tolerate, and all its other checks count."""

    whole, race = False, None

    def __init__(self, rows):
        self.rows = rows
        self.excuses = {check: value for row in rows for check, value in row.excuses.items()}
        self.reason = "; ".join(dict.fromkeys(row.reason for row in rows))

    def outcome(self, result):
        if not result.passed:
            return "fail"
        shown = [row for row in self.rows if row.shows(result)]
        if len(shown) < len([row for row in self.rows if not row.foreign]):
            return "unexpected"
        return "known" if shown else "pass"


class Ids:
    """Ids of cells, of which there may be hundreds of thousands, for searches by pattern."""

    def __init__(self, cells):
        self._by_clause = {}
        for cell in cells:
            self._by_clause.setdefault(cell.expect.clause, []).extend(ids_of(cell))
        self.of_clauses = functools.cache(self._of_clauses)

    def _of_clauses(self, pattern):
        """Sorted ids of the cells with a clause that matches the pattern."""
        return sorted(
            id for clause, ids in self._by_clause.items() if fnmatchcase(clause, pattern) for id in ids
        )

    @staticmethod
    def any_matches(ids, pattern):
        """Only ids that begin as the pattern does are compared with it."""
        begin = re.match(r"[^*?[]*", pattern)[0]
        start = bisect.bisect_left(ids, begin)
        alike = itertools.takewhile(lambda id: id.startswith(begin), itertools.islice(ids, start, None))
        return any(fnmatchcase(id, pattern) for id in alike)


def differences(doc, foreign=False):
    """Those of the file's release of rdma-core, with its lines."""
    release = doc.get("release")
    found = [Difference(row, foreign) for row in doc["differences"]]
    found = [difference for difference in found if difference.holds_in(release)]
    for difference in found:
        difference.cite(release)
    return found


class Dut:
    def __init__(self, doc):
        self.name = doc["name"]
        self.doc = doc["doc"]
        self.start = doc["start"]
        self.service = doc.get("service", [])
        self.env = dict(doc.get("env", {}))
        self.tap_start = doc.get("tap", {}).get("start")
        self.faults_start = doc.get("faults", {}).get("start")
        self.narrow_start = doc.get("narrow", {}).get("start")
        self.tap = None  # taps.Tap, if the device's links are recorded
        self.groups = []  # process groups that cells wait for, in addition to their runner's
        self.differences = differences(doc)
        for path in doc.get("differences_of", []):
            self.differences += differences(dut_file.read(path), foreign=True)
        self.runner_line = {"dut": {key: doc[key] for key in RUNNER_KEYS if key in doc}}
        if "peer_command" in doc:
            self.runner_line["dut"] |= {
                "peer_command": doc["peer_command"],
                "start_ms": doc.get("start_ms", PEER_START_MS),
            }
        self.timeout = doc["timeout_ms"] / 1000
        self.start_time = doc.get("start_ms", PEER_START_MS if "peer_command" in doc else 0) / 1000
        self.declared = (
            capabilities.Capabilities(doc["capabilities"]) if doc.get("capabilities") is not None else None
        )
        self.capabilities = self.declared
        self.known_findings = {row["capability"]: row["reason"] for row in doc.get("findings", [])}
        self.findings = []
        self.reported = None
        self._of_cells = {}  # id of a cell -> its known difference

    # -- capabilities

    def lacks(self, cell):
        """The reason why the device cannot run a cell, else None."""
        wire = getattr(cell, "wire", "")
        if wire == NARROW and not self.narrow_start:
            return "narrow: the DUT file has no way to a device with short queues inside"
        if wire not in ("", NARROW) and not self.faults_start:
            return "wire: the DUT file has no way to a wire with faults"
        if not self.capabilities:
            return None
        for name in capabilities.needs(cell):
            if name == "rdma_cm" and not self._addresses():
                return "rdma_cm: the DUT file gives the ends no address"
            if not self.capabilities.has(name):
                return f"the device has no {name}"
        over = capabilities.over_limit(self.capabilities, cell)
        return f"the cell needs {over[0]} of {over[1]}, the device has {over[2]}" if over else None

    def _addresses(self):
        ends = (self.runner_line["dut"][role] for role in ROLES)
        return all(end.get("address") for end in ends)

    def supports(self, cell):
        return self.lacks(cell) is None

    def line(self, cell):
        """The cell's line, limited to the capabilities of the device and to the wait of a known difference."""
        line = cell.line()
        for field, limit in (("ask_sge", "max_sge"), ("ask_inline", "max_inline_data")):
            most = self.capabilities.limit(limit) if self.capabilities else None
            if most is not None and field in line:
                line[field] = min(line[field], most)
        known = self.difference(cell) if "id" in line else None  # a query has none
        if known and not known.whole:
            return {**line, "excuses": known.excuses}
        return {**line, "timeout_ms": known.timeout_ms} if known and known.timeout_ms else line

    def start_for(self, wire):
        """The start command for a wire with faults or a narrow device, or the usual one."""
        if wire == NARROW:
            return self.narrow_start
        return [part.replace("{faults}", wire) for part in self.faults_start] if wire else self.start

    def learn(self, reported):
        """Compares the attributes of the device with the file. Returns the faults of the file."""
        self.reported = reported
        self.differences = [d for d in self.differences if d.holds_on(reported["kernel"])]
        self._of_cells = {}
        found = capabilities.findings(self.declared, reported)
        self.findings = [replace(f, reason=self.known_findings.get(f.capability)) for f in found]
        if not self.declared:
            self.capabilities = capabilities.Capabilities.of_report(*(reported[role] for role in ROLES))
        if not self.start:
            self._take_addresses(reported)
        there = {f.capability for f in found}
        return [
            f"DUT file: stale key: finding '{name}' is not found any more"
            for name in self.known_findings
            if name not in there
        ]

    def _take_addresses(self, reported):
        """Takes the addresses for rdma_cm from the IPv4 GIDs if the file does not have them."""
        for role in ROLES:
            gid = ipaddress.ip_address(reported[role]["gid"])
            if gid.ipv4_mapped:
                self.runner_line["dut"][role].setdefault("address", str(gid.ipv4_mapped))

    def new_findings(self):
        return [f for f in self.findings if not f.reason]

    # -- known differences

    def difference(self, cell):
        """The row that expects the whole cell to fail, or what several rows excuse, or None."""
        if cell.id not in self._of_cells:
            rows = [d for d in self.differences if d.matches(cell)]
            whole = next((row for row in rows if row.whole), None)
            self._of_cells[cell.id] = whole or (Excused(rows) if rows else None)
        return self._of_cells[cell.id]

    def stale_keys(self, cells):
        ids = Ids(cells)
        return [text for d in self.differences if not d.foreign for text in d.stale_keys(ids)]

    def summary(self):
        return {"name": self.name, "doc": self.doc, **self.runner_line["dut"]}


def _end(text, default):
    """NAME[/PORT[/GID-INDEX]]."""
    name, *rest = text.split("/")
    try:
        port, gid_index = (*(int(word) for word in rest), *default[len(rest) :])
    except ValueError as error:
        raise DutError(f"device '{text}': expected NAME[/PORT[/GID-INDEX]]") from error
    return {"device": name, "port": port, "gid_index": gid_index}


def of_device(text, peer=None, peer_command=()):
    """A verbs device of this machine. The responder is `peer` or the same device, in the process of `peer_command`."""
    end = _end(text, (1, 0))
    where = f" of '{' '.join(peer_command)}'" if peer_command else ""
    doc = {
        "name": "device-" + "".join(c if c.isalnum() else "-" for c in end["device"].lower()),
        "doc": f"{text} of this machine, towards {peer or (text if peer_command else 'itself')}{where}",
        "start": [],
        "requester": end,
        "responder": _end(peer, (1, 0)) if peer else dict(end),
        "mtu": 1024,
        "timeout_ms": 5000,
        "differences": [],
        **({"peer_command": dut_file.located(peer_command, Path.cwd())} if peer_command else {}),
    }
    dut_file.check(doc, [(f"{DEVICE}{text}", doc)])
    return Dut(doc)


def load(name, peer=None, peer_command=(), engine=None, figures=()):
    """A name of conformance/duts, a path, or device:NAME. `peer` replaces the device at the responder's end.

    `peer_command`, words: command that starts the process of the responder. `engine` replaces that of the DUT file.
    `figures`, as "pcie.mps=128", are set in the timing profile.
    """
    if name.startswith(DEVICE):
        if engine or figures:
            option = f"--engine {engine}" if engine else f"--set {figures[0]}"
            raise DutError(f"{option}: {name} is no simulated adapter")
        return of_device(name.removeprefix(DEVICE), peer, peer_command)
    doc = dut_file.read(name)
    if engine:
        dut_file.choose_engine(doc, engine)
    dut_file.place_engine(doc)
    if figures:
        dut_file.set_figures(doc, figures)
    if peer:
        doc["responder"] = _end(peer, (doc["responder"]["port"], doc["responder"]["gid_index"]))
    if peer_command:
        doc["peer_command"] = dut_file.located(peer_command, Path.cwd())
    return Dut(doc)


__all__ = ["DEVICE", "DUTS", "SCHEMA", "Dut", "DutError", "load"]
