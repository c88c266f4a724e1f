# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""wire.yaml: transport headers, packet opcodes, and the opcodes of the packets of a message."""

from dataclasses import dataclass

from .load import SpecError
from .model import parse_constants, parse_enum, parse_layout, unique

FILE = "wire.yaml"
MAX_HEADERS = 5


@dataclass(frozen=True)
class Opcode:
    """One value of BTH.opcode."""

    name: str  # RC_SEND_FIRST
    code: str  # SEND_FIRST
    value: int
    transport: str
    flags: tuple
    headers: tuple  # names, BTH first
    offsets: dict  # header name -> offset from the BTH
    header_len: int


@dataclass
class Wire:
    constants: dict
    headers: dict
    enums: dict
    transports: dict
    flags: dict
    codes: dict  # SEND_FIRST -> entry of the file
    opcodes: list
    messages: dict
    rnr_timer_ns: list


def _offsets(headers, names):
    """Where each header of a packet starts, counted from its BTH."""
    offsets, position = {}, 0
    for name in names:
        offsets[name] = position
        position += headers[name].size
    return offsets, position


def _opcode(wire, entry, transport):
    where = f"{FILE}: opcodes[{entry['name']}]"
    names = ["bth"]
    if "RESP" not in entry["flags"]:
        names += transport["request"]
    names += entry["headers"]
    for name in names:
        if name not in wire.headers:
            raise SpecError(where, f"header {name!r} is not declared")
    if len(set(names)) != len(names) or len(names) > MAX_HEADERS:
        raise SpecError(where, f"header list {names} repeats a header or is longer than {MAX_HEADERS}")
    if names != [name for name in wire.headers if name in names]:
        raise SpecError(
            where, f"header list {names} is not in the order of `headers`, in which RTL joins them"
        )
    offsets, length = _offsets(wire.headers, names)
    name = entry["name"] if transport["name"] == entry["name"] else f"{transport['name']}_{entry['name']}"
    value = transport["value"] << 5 | entry["value"]
    return Opcode(
        name, entry["name"], value, transport["name"], tuple(entry["flags"]), tuple(names), offsets, length
    )


def _check_flags(wire, entry):
    """The flags of an opcode are consistent with each other, with its name and with its headers."""
    where, flags = f"{FILE}: opcodes[{entry['name']}]", set(entry["flags"])
    for flag in entry["flags"]:
        if flag not in wire.flags:
            raise SpecError(where, f"flag {flag!r} is not declared")
    if len(flags) != len(entry["flags"]):
        raise SpecError(where, f"flags {entry['flags']} repeat one")
    position = {"START", "END"} & flags
    if ("ONLY" in flags) != (len(position) == 2) or ("MIDDLE" in flags) == bool(position):
        raise SpecError(where, f"flags {sorted(flags)}: exactly one of first, middle, last, only")
    for flag, header in (("IMM", "immdt"), ("INV", "ieth")):
        if (flag in flags) != (header in entry["headers"]):
            raise SpecError(where, f"flag {flag} and header {header} go together")
    if "REQ" in flags and "RESP" in flags:
        raise SpecError(where, "a packet is a request or a response, not both")


def _opcodes(wire, entries):
    opcodes, values, names = [], {}, set()
    for entry in entries:
        _check_flags(wire, entry)
        where = f"{FILE}: opcodes[{entry['name']}]"
        if entry["name"] in names:
            raise SpecError(where, "the name stands twice")
        names.add(entry["name"])
        for name in entry["transports"]:
            if name not in wire.transports:
                raise SpecError(where, f"transport {name!r} is not declared")
            opcode = _opcode(wire, entry, wire.transports[name])
            if opcode.value in values:
                raise SpecError(
                    where, f"opcode {opcode.value:#04x} is already that of {values[opcode.value]}"
                )
            values[opcode.value] = opcode.name
            opcodes.append(opcode)
    return sorted(opcodes, key=lambda one: one.value)


def _check_messages(wire):
    for message in wire.messages.values():
        where = f"{FILE}: messages[{message['name']}]"
        for part, flag in (("first", "START"), ("middle", "MIDDLE"), ("last", "END"), ("only", "ONLY")):
            code = message.get(part)
            if code is None:
                continue
            if code not in wire.codes:
                raise SpecError(f"{where}.{part}", f"opcode {code!r} is not declared")
            if flag not in wire.codes[code]["flags"]:
                raise SpecError(f"{where}.{part}", f"opcode {code} has no flag {flag}")


def parse(document):
    wire = Wire(
        constants=parse_constants(FILE, document["constants"]),
        headers=unique(
            f"{FILE}: headers",
            document["headers"],
            lambda entry: parse_layout(f"{FILE}: headers", entry, True),
        ),
        enums=unique(f"{FILE}: enums", document["enums"], lambda entry: parse_enum(f"{FILE}: enums", entry)),
        transports=unique(f"{FILE}: transports", document["transports"], lambda entry: entry),
        flags=unique(f"{FILE}: flags", document["flags"], lambda entry: entry),
        codes={entry["name"]: entry for entry in document["opcodes"]},
        opcodes=[],
        messages=unique(f"{FILE}: messages", document["messages"], lambda entry: entry),
        rnr_timer_ns=document["rnr_timer_ns"],
    )
    for name, transport in wire.transports.items():
        for header in transport["request"]:
            if header not in wire.headers:
                raise SpecError(f"{FILE}: transports[{name}]", f"header {header!r} is not declared")
    wire.opcodes = _opcodes(wire, document["opcodes"])
    _check_messages(wire)
    return wire
