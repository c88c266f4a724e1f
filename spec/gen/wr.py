# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""wr.yaml: rows of the work-request tables, their clauses and errata."""

from dataclasses import dataclass

from .load import SpecError
from .model import Names, unique

FILE = "wr.yaml"


@dataclass
class WorkRequests:
    pages: dict
    qp_types: list
    setters: dict
    flags: dict
    operations: dict
    calls: dict
    rules: list
    errata: dict

    def flags_of(self, operation, qp_type, api):
        """Flags that have an effect on this operation on this QP type."""
        return [
            flag["name"]
            for flag in self.flags.values()
            if api in flag["api"]
            and (flag["qp_types"] == "all" or qp_type in flag["qp_types"])
            and (flag["ops"] == "all" or operation["name"] in flag["ops"])
        ]

    def data_setters(self, operation):
        """Data setters that the operation takes."""
        if operation["data"] == "none":
            return []
        kinds = ("data", "inline") if operation["inline"] else ("data",)
        return [setter["name"] for setter in self.setters.values() if setter["kind"] in kinds]

    def qp_setter(self, operation, qp_type):
        """The QP setter that is mandatory for this cell, or None."""
        for setter in self.setters.values():
            if setter["kind"] != "qp" or qp_type not in setter["qp_types"]:
                continue
            if setter["name"] != "xrc_srqn" or operation["srqn"]:
                return setter["name"]
        return None

    def cited_by(self, erratum):
        """Rows, setters, flags, calls and rules that cite an erratum."""
        groups = (self.operations, self.setters, self.flags, self.calls)
        entries = [entry for group in groups for entry in group.values()] + self.rules
        return [entry.get("name", entry.get("id")) for entry in entries if erratum in entry.get("errata", [])]

    def cells(self):
        """Every (operation, QP type), legal or not."""
        return [self._cell(op, qp_type) for op in self.operations.values() for qp_type in self.qp_types]

    def _cell(self, operation, qp_type):
        return {
            "operation": operation["name"],
            "qp_type": qp_type,
            "wr": qp_type in operation["wr"],
            "post": qp_type in operation["post"],
            "data": operation["data"],
            "data_setters": self.data_setters(operation),
            "inline": operation["inline"],
            "qp_setter": self.qp_setter(operation, qp_type),
            "wr_flags": self.flags_of(operation, qp_type, "wr"),
            "post_flags": self.flags_of(operation, qp_type, "post"),
            "wc": operation["wc"],
            "recv": operation.get("recv"),
            "wqe_op": operation["wqe_op"],
            "message": operation.get("message"),
            "clause": operation["clause"],
            "post_clause": operation.get("post_clause"),
            "errata": operation["errata"],
        }


def _known(where, names, known, what):
    for name in names:
        if name not in known:
            raise SpecError(where, f"{what} {name!r} is not declared")


def _check_clauses(requests):
    """A clause begins with its page; errata exist; no two rows have the same normative clause."""
    names = Names(f"{FILE}: clauses")
    pages = set(requests.pages) | {"verbs.h"}
    entries = (
        list(requests.operations.values()) + list(requests.setters.values()) + list(requests.flags.values())
    )
    entries += list(requests.calls.values()) + requests.rules
    for entry in entries:
        label = entry.get("name", entry.get("id"))
        where = f"{FILE}: [{label}]"
        _known(where, entry.get("errata", []), requests.errata, "erratum")
        for key in ("clause", "post_clause", "effect_clause", "id"):
            clause = entry.get(key)
            if clause:
                _known(where, [clause.split("/")[0]], pages, f"{key} {clause}: page")
        if "wr" in entry:
            names.add(entry["clause"], f"row {label}")
        for clause in entry.get("clauses", []):
            _known(where, [clause["id"].split("/")[0]], pages, f"clause {clause['id']}: page")
            _known(f"{where} {clause['id']}", clause.get("errata", []), requests.errata, "erratum")
    _check_sentences(requests)


def sentences(requests):
    """(clause, quotation) of everything that is quoted, with repetitions."""
    entries = [*requests.setters.values(), *requests.flags.values(), *requests.calls.values()]
    for entry in entries + list(requests.operations.values()):
        yield entry["clause"], entry["quote"]
        if "post_quote" in entry:
            yield entry["post_clause"], entry["post_quote"]
        if "effect" in entry:
            yield entry["effect_clause"], entry["effect"]
        yield from ((clause["id"], clause["quote"]) for clause in entry.get("clauses", []))
    yield from ((rule["id"], rule["quote"]) for rule in requests.rules)


def _check_sentences(requests):
    """An id names one sentence."""
    known = {}
    for clause, quote in sentences(requests):
        if known.setdefault(clause, quote) != quote:
            raise SpecError(f"{FILE}: clause {clause}", f"has two sentences: {known[clause]!r} and {quote!r}")


def _check_operation(requests, operation, core, wire, verbs):
    where = f"{FILE}: operations[{operation['name']}]"
    for key in ("wr", "post", "post_2006"):
        _known(f"{where}.{key}", operation.get(key, []), requests.qp_types, "QP type")
    if not set(operation["post"]) >= set(operation.get("post_2006", [])):
        raise SpecError(f"{where}.post", "lacks a QP type that the older page has")
    _known(f"{where}.wc", [operation["wc"]], verbs["ibv_wc"].by_name(), "completion opcode")
    _known(f"{where}.wqe_op", [operation["wqe_op"]], core.enums["wqe_op"].by_name(), "WQE opcode")
    _known(f"{where}.name", [operation["name"]], verbs["ibv_wr"].by_name(), "enum ibv_wr_opcode")
    if bool(operation["wr"]) != ("builder" in operation):
        raise SpecError(where, "QP types in wr and a builder go together")
    if operation["wr"]:
        _known(f"{where}.name", [operation["name"]], verbs["qp_ex"].by_name(), "send_ops_flag")
    if "message" in operation:
        _known(f"{where}.message", [operation["message"]], wire.messages, "message")
    if "recv" in operation:
        _known(f"{where}.recv", [operation["recv"]["opcode"]], verbs["ibv_wc"].by_name(), "completion opcode")
        _known(
            f"{where}.recv", operation["recv"]["flags"], verbs["ibv_wc_flags"].by_name(), "completion flag"
        )
    if operation["inline"] and operation["data"] == "none":
        raise SpecError(where, "inline without data")


def _check_uses(requests, verbs):
    for flag in requests.flags.values():
        where = f"{FILE}: flags[{flag['name']}]"
        _known(where, [flag["name"]], verbs["send_flags"].by_name(), "send flag")
        if flag["ops"] != "all":
            _known(where, flag["ops"], requests.operations, "operation")
        if flag["qp_types"] != "all":
            _known(where, flag["qp_types"], requests.qp_types, "QP type")
    for call in requests.calls.values():
        _known(f"{FILE}: calls[{call['name']}]", call["qp_types"], verbs["qpt"].by_name(), "QP type")


def parse(document, core, wire, verbs):
    def named(key):
        return unique(f"{FILE}: {key}", document[key], lambda entry: entry)

    def with_id(key):
        entries = [dict(entry, name=entry["id"]) for entry in document[key]]
        return unique(f"{FILE}: {key}", entries, lambda entry: entry)

    requests = WorkRequests(
        pages=with_id("pages"),
        qp_types=document["qp_types"],
        setters=named("setters"),
        flags=named("flags"),
        operations=named("operations"),
        calls=named("calls"),
        rules=document["rules"],
        errata=with_id("errata"),
    )
    with_id("rules")
    _known(f"{FILE}: qp_types", requests.qp_types, verbs["qpt"].by_name(), "QP type")
    for operation in requests.operations.values():
        _check_operation(requests, operation, core, wire, verbs)
    ops = {}
    for operation in requests.operations.values():
        if operation["wqe_op"] in ops:
            where = f"{FILE}: operations[{operation['name']}]"
            raise SpecError(
                where, f"WQE opcode {operation['wqe_op']} is already that of {ops[operation['wqe_op']]}"
            )
        ops[operation["wqe_op"]] = operation["name"]
    _check_uses(requests, verbs)
    _check_clauses(requests)
    return requests
