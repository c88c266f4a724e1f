# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim_counters.h and counters.md: the adapter's counters; the files of each family."""

from . import ctext, emit_md
from .counters import REASON

_HEAD = "HCASIM_COUNTER_"


def _enum(counters):
    out = "enum hcasim_counter {\n"
    for name, doc in counters.docs.items():
        out += f"\t{_HEAD}{name.upper()},{ctext.aside(doc)}\n"
    return out + "\tHCASIM_NUM_COUNTERS\n};\n\n"


def _names(counters):
    out = "/* Lower case, as in sysfs of the native family. */\n"
    out += "static inline const char *hcasim_counter_name(unsigned int v)\n{\n\tswitch (v) {\n"
    for name in counters.docs:
        out += f'\tcase {_HEAD}{name.upper()}:\n\t\treturn "{name}";\n'
    return out + '\tdefault:\n\t\treturn "?";\n\t}\n}\n\n'


def _rows(files):
    """File, counter and unit; a file that is always 0 has no counter."""
    rows = []
    for path, file in files.items():
        counter = f"{_HEAD}{file.counter.upper()}" if file.counter else "HCASIM_NUM_COUNTERS"
        rows.append(f'\t{{"{path}", {counter}, {file.unit}}}')
    return ", \\\n".join(rows)


def header(counters):
    body = _enum(counters) + _names(counters)
    body += "/* Why a packet was refused: the counters from here on, and what their names begin with. */\n"
    body += ctext.define("HCASIM_FIRST_REASON", f"{_HEAD}{REASON.upper()}{counters.reasons[0].upper()}")
    body += ctext.define("HCASIM_REASON_PREFIX", f'"{REASON}"') + "\n"
    body += "/* Members of a structure that is an array of all counters. */\n"
    members = " \\\n".join(f"\tuint64_t {name};" for name in counters.docs)
    body += f"#define HCASIM_COUNTER_MEMBERS \\\n{members}\n\n"
    return ctext.header("HCASIM_COUNTERS_H", "Counters of adapters.", ["stdint.h"], body)


def files(counters, family):
    """For the header of a family, whose driver includes hcasim_counters.h as well."""
    if family not in counters.families:
        return ""
    out = ctext.section("Files of a port: path, counter (HCASIM_NUM_COUNTERS: always 0), octets of a count")
    return out + f"#define HCASIM_{family.upper()}_COUNTERS \\\n{_rows(counters.families[family])}\n"


def page(counters):
    out = emit_md.NOTE + "# Counters\n\n## What an adapter counts\n\n"
    plain = [row for row in counters.docs.items() if not row[0].startswith(REASON)]
    out += emit_md.table(("counter", "meaning"), [(f"`{name}`", doc) for name, doc in plain])
    out += "## Why a packet is refused\n\n"
    rows = [(f"`{name}`", counters.docs[REASON + name]) for name in counters.reasons]
    out += emit_md.table(("reason", "meaning"), rows)
    for family, paths in counters.families.items():
        rows = []
        for path, file in paths.items():
            unit = f" / {file.unit}" if file.unit != 1 else ""
            meaning = f"`{file.counter}`{unit}" if file.counter else f"always 0: {file.always_0}"
            rows.append((f"`{path}`", meaning))
        out += f"## Files of {family}\n\n" + emit_md.table(("file", "counter"), rows)
    return out


def python(counters):
    """Files by family: the counter, its unit, and why the file is always 0."""
    return {
        family: {path: (file.counter, file.unit, file.always_0) for path, file in paths.items()}
        for family, paths in counters.families.items()
    }
