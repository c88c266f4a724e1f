# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Encodes and decodes the structures of the spec. Copied next to the generated tables."""


class FieldError(ValueError):
    """A value that its field cannot hold, or a field that the layout does not have."""


def _set(layout, raw, member, number, part=None):
    """Writes one integer, or the bits of it that `part` names."""
    offset, size, order = member["offset"], member["size"], member["order"]
    if part is not None:
        name, high, low = part
        width = high - low + 1
        old = int.from_bytes(raw[offset : offset + size], order)
        if not 0 <= number < 1 << width:
            raise FieldError(f"{layout['name']}.{name}: {number:#x} does not fit {width} bits")
        number = old & ~(((1 << width) - 1) << low) | number << low
    elif not 0 <= number < 1 << 8 * size:
        raise FieldError(f"{layout['name']}.{member['name']}: {number:#x} does not fit {8 * size} bits")
    raw[offset : offset + size] = number.to_bytes(size, order)


def _set_bytes(layout, raw, member, value):
    if len(value) > member["size"]:
        raise FieldError(f"{layout['name']}.{member['name']}: {len(value)} bytes do not fit {member['size']}")
    raw[member["offset"] : member["offset"] + len(value)] = value


def _find(layout, name):
    """The member and, if `name` is a bit field, its place in it. A bit field takes precedence over its member."""
    for member in layout["members"]:
        for part in member["bits"]:
            if part[0] == name:
                return member, part
    for member in layout["members"]:
        if member["name"] == name:
            return member, None
    raise FieldError(f"{layout['name']}: no field {name!r}")


def encode(layout, fields):
    """The bytes of a structure. Members and fields that are not named are zero."""
    raw = bytearray(layout["size"])
    for name, value in fields.items():
        member, part = _find(layout, name)
        if member["array"]:
            _set_bytes(layout, raw, member, bytes(value))
        else:
            _set(layout, raw, member, int(value), part)
    return bytes(raw)


def decode(layout, data):
    """Field name -> integer, or bytes of an array. A member with bit fields appears as these fields."""
    if len(data) < layout["size"]:
        raise FieldError(f"{layout['name']}: {len(data)} bytes, it needs {layout['size']}")
    result = {}
    for member in layout["members"]:
        raw = bytes(data[member["offset"] : member["offset"] + member["size"]])
        if member["array"]:
            result[member["name"]] = raw
            continue
        number = int.from_bytes(raw, member["order"])
        for name, high, low in member["bits"]:
            result[name] = number >> low & ((1 << high - low + 1) - 1)
        if not member["bits"]:
            result[member["name"]] = number
    return result
