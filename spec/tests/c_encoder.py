# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A C encoder of every structure, made of the generated headers: structures and masks, no offsets."""

import ctypes
import subprocess

SWAP = {
    "le16": "htole16",
    "le32": "htole32",
    "le64": "htole64",
    "be16": "htobe16",
    "be32": "htobe32",
    "be64": "htobe64",
}


def fields(layout):
    """(name, bits) of everything that can be set by a number; arrays as (name, None, bytes)."""
    result = []
    for member in layout.members:
        if member.type.count:
            result.append((member.name, 0, member.type.count))
        elif member.bits:
            result += [(bits.name, bits.width, 0) for bits in member.bits]
        else:
            result.append((member.name, member.type.size * 8, 0))
    return result


def _member(layout, member, index):
    """C code that sets one member from v[index], v[index + 1], ..., and the number of values it uses."""
    if member.type.count:
        return f"\tmemcpy(s->{member.name}, (const void *)v[{index}], {member.type.count});\n", 1
    values = [f"v[{index}]"]
    if member.bits:
        prefix = f"HCASIM_{layout.name.upper()}_"
        values = [
            f"HCASIM_FIELD_PREP({prefix}{bits.name.upper()}_MASK, v[{index + at}])"
            for at, bits in enumerate(member.bits)
        ]
    text = " | ".join(values)
    swap = SWAP.get(member.type.base)
    return f"\ts->{member.name} = {f'{swap}({text})' if swap else text};\n", len(values)


def source(layouts, headers):
    """One function for each structure."""
    out = "#include <endian.h>\n#include <string.h>\n" + "".join(f'#include "{name}"\n' for name in headers)
    for layout in layouts:
        out += f"size_t encode_{layout.name}(const uint64_t *v, void *to);\n"
        out += f"size_t encode_{layout.name}(const uint64_t *v, void *to)\n{{\n"
        out += f"\tstruct hcasim_{layout.name} *s = to;\n\n\tmemset(s, 0, sizeof(*s));\n"
        index = 0
        for member in layout.members:
            text, used = _member(layout, member, index)
            out, index = out + text, index + used
        out += "\treturn sizeof(*s);\n}\n\n"
    return out


def build(layouts, include, folder):
    """The shared library."""
    path, library = folder / "encoder.c", folder / "encoder.so"
    headers = sorted({path.name for path in include.glob("*.h")} - {"hcasim_profile.h"})  # which is C++
    path.write_text(source(layouts, headers), encoding="utf-8")
    subprocess.run(
        [
            "cc",
            "-std=gnu11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
            "-fPIC",
            f"-I{include}",
            path,
            "-o",
            library,
        ],
        check=True,
    )
    return ctypes.CDLL(str(library))


def encode(library, layout, values):
    """The bytes that C writes for field name -> integer or bytes."""
    keep, numbers = [], []
    for name, _, count in fields(layout):
        if count:
            keep.append(ctypes.create_string_buffer(values[name], count))
            numbers.append(ctypes.addressof(keep[-1]))
        else:
            numbers.append(values[name])
    # The bytes after the structure show a write beyond it; uint64_t gives it its alignment.
    to = (ctypes.c_uint64 * (layout.size // 8 + 2))(*[0xA5A5A5A5A5A5A5A5] * (layout.size // 8 + 2))
    function = getattr(library, f"encode_{layout.name}")
    function.restype = ctypes.c_size_t
    size = function((ctypes.c_uint64 * len(numbers))(*numbers), to)
    raw = bytes(to)
    assert raw[size:] == b"\xa5" * (len(raw) - size)
    return raw[:size]
