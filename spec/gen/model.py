# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The spec as objects, with every rule that a JSON Schema cannot express."""

import re
from dataclasses import dataclass, field

from .load import SpecError

_TYPE = re.compile(r"^(u8|u16|u32|u64|le16|le32|le64|be16|be32|be64)(?:\[(\d+)\])?$")


@dataclass(frozen=True)
class Type:
    """An integer type of a member, or an array of bytes."""

    base: str
    count: int = 0  # 0: a scalar

    @property
    def item_size(self):
        return int(self.base.lstrip("ulbe")) // 8

    @property
    def size(self):
        return self.item_size * (self.count or 1)

    @property
    def big_endian(self):
        return self.base.startswith("be")


@dataclass(frozen=True)
class Bits:
    """A bit field inside the host-order value of a member or register."""

    name: str
    high: int
    low: int
    doc: str = ""
    enum: str = ""

    @property
    def width(self):
        return self.high - self.low + 1

    @property
    def mask(self):
        return ((1 << self.width) - 1) << self.low


@dataclass(frozen=True)
class Member:
    name: str
    type: Type
    offset: int
    doc: str = ""
    enum: str = ""
    bits: tuple = ()


@dataclass(frozen=True)
class Layout:
    """A structure in which every byte has a fixed offset."""

    name: str
    size: int
    doc: str
    members: tuple
    packed: bool = False

    def bit_fields(self):
        return [bits for member in self.members for bits in member.bits]


@dataclass(frozen=True)
class Value:
    name: str
    value: int
    doc: str = ""


@dataclass(frozen=True)
class Enum:
    name: str
    values: tuple
    doc: str = ""
    c_prefix: str = ""
    ibv_prefix: str = ""
    mask: bool = False

    def by_name(self):
        return {value.name: value.value for value in self.values}


@dataclass(frozen=True)
class Register:
    name: str
    offset: int
    size: int
    access: str = "rw"
    doc: str = ""
    bits: tuple = ()


@dataclass
class Names:
    """Refuses a name that is used twice."""

    where: str
    seen: dict = field(default_factory=dict)

    def add(self, name, what):
        if name in self.seen:
            raise SpecError(self.where, f"{what}: name {name} is already that of {self.seen[name]}")
        self.seen[name] = what


def parse_type(where, text):
    match = _TYPE.match(text)
    if not match:
        raise SpecError(where, f"type {text!r} is not one of u8 .. u64, le16 .. le64, be16 .. be64 or u8[n]")
    base, count = match.group(1), match.group(2)
    if count is not None and (base != "u8" or int(count) == 0):
        raise SpecError(where, f"type {text!r}: only arrays of one or more u8 are supported")
    return Type(base, int(count or 0))


def parse_bits(where, entries, width):
    """Bit fields of one value of `width` bits: in range, high end first, without overlap."""
    used, result = {}, []
    for entry in entries:
        high, low = entry["bits"]
        if not 0 <= low <= high < width:
            raise SpecError(f"{where}.{entry['name']}", f"bits [{high}, {low}] do not fit into {width} bits")
        for bit in range(low, high + 1):
            if bit in used:
                raise SpecError(f"{where}.{entry['name']}", f"bit {bit} overlaps field {used[bit]}")
            used[bit] = entry["name"]
        result.append(Bits(entry["name"], high, low, entry.get("doc", ""), entry.get("enum", "")))
    return tuple(result)


def parse_layout(where, entry, packed=False):
    """Assigns offsets to the members in order; checks alignment, size and names."""
    where = f"{where}[{entry['name']}]"
    names, members, offset = Names(where), [], 0
    largest = 1
    for item in entry["members"]:
        here = f"{where}.{item['name']}"
        kind = parse_type(here, item["type"])
        names.add(item["name"], f"member {item['name']}")
        if offset % kind.item_size and not packed:
            raise SpecError(
                here, f"offset {offset} is not a multiple of {kind.item_size} (type {item['type']})"
            )
        bits = parse_bits(here, item.get("bits", []), kind.item_size * 8)
        for one in bits:
            if one.name != item["name"]:
                names.add(one.name, f"bits {one.name} of {item['name']}")
        members.append(Member(item["name"], kind, offset, item.get("doc", ""), item.get("enum", ""), bits))
        offset += kind.size
        largest = max(largest, kind.item_size)
    size = entry.get("size", offset)
    if offset != size:
        raise SpecError(where, f"size is {size} but the members sum to {offset} bytes")
    if not packed and size % largest:
        raise SpecError(where, f"size {size} is not a multiple of its alignment {largest}")
    return Layout(entry["name"], size, entry.get("doc", ""), tuple(members), packed)


def parse_enum(where, entry, c_prefix=""):
    """Parses an enum; refuses duplicate names and values."""
    where = f"{where}[{entry['name']}]"
    names, numbers, values = Names(where), {}, []
    for item in entry["values"]:
        number = 1 << item["bit"] if "bit" in item else item["value"]
        names.add(item["name"], f"value {number}")
        if number in numbers:
            raise SpecError(f"{where}.{item['name']}", f"value {number} is already that of {numbers[number]}")
        numbers[number] = item["name"]
        values.append(Value(item["name"], number, item.get("doc", "")))
    prefix = entry.get("c_prefix") or c_prefix or f"HCASIM_{entry['name'].upper()}_"
    return Enum(
        entry["name"],
        tuple(values),
        entry.get("doc", ""),
        prefix,
        entry.get("ibv_prefix", ""),
        entry.get("mask", False),
    )


def unique(where, entries, parse):
    """Parses each entry; refuses duplicate names."""
    names, result = Names(where), {}
    for entry in entries:
        names.add(entry["name"], "an entry before it")
        result[entry["name"]] = parse(entry)
    return result


def parse_constants(file, entries):
    return unique(
        f"{file}: constants",
        entries,
        lambda entry: Value(entry["name"], entry["value"], entry.get("doc", "")),
    )


def check_enums(file, layouts, enums):
    """Every `enum:` of these layouts names an enum, and its values fit the field."""
    for layout in layouts.values():
        where = f"{file}: layouts[{layout.name}]"
        fields = [(m.name, m.enum, m.type.item_size * 8) for m in layout.members if m.enum]
        fields += [(b.name, b.enum, b.width) for b in layout.bit_fields() if b.enum]
        for name, enum, width in fields:
            if enum not in enums:
                raise SpecError(f"{where}.{name}", f"enum {enum!r} is not declared")
            worst = max(value.value for value in enums[enum].values)
            if worst >> width:
                raise SpecError(f"{where}.{name}", f"value {worst} of enum {enum} does not fit {width} bits")
