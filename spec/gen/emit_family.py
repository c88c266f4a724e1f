# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim_NAME.h and NAME.md of a family that somebody else's provider drives."""

from . import ctext, emit_counters, emit_hw, emit_md

_FORMAT = """\
/* The opcode of a send WQE: its operation, and the segments between ctrl and data. */
struct hcasim_{name}_wqe_format {{
	uint8_t opcode, op; /* enum hcasim_{name}_opcode, enum hcasim_wqe_op */
	uint8_t address;    /* 1: the QP type's own segment follows ctrl */
	uint8_t scatter;    /* 1: the SGEs are written to */
	uint8_t data;       /* 0: nothing follows the segments */
	uint8_t segs[2];    /* enum hcasim_{name}_seg */
}};

enum hcasim_{name}_seg {{
	HCASIM_{upper}_SEG_NONE,
{segments}}};

/* NULL if the opcode is not defined. */
static inline const struct hcasim_{name}_wqe_format *hcasim_{name}_wqe_format(uint8_t opcode)
{{
	static const struct hcasim_{name}_wqe_format table[] = {{
{rows}	}};

	for (unsigned int i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].opcode == opcode)
			return &table[i];
	return NULL;
}}

/* The opcode that an operation is posted with; NOP for one that is not. */
static inline uint8_t hcasim_{name}_opcode_of(uint8_t op)
{{
	switch (op) {{
{opcodes}	default:
		return HCASIM_{upper}_OPCODE_NOP;
	}}
}}

/* 0: a status that has no syndrome. */
static inline uint8_t hcasim_{name}_syndrome_of(uint8_t status)
{{
	switch (status) {{
{syndromes}	default:
		return 0;
	}}
}}

"""


def _tables(family):
    upper = family.name.upper()
    names, rows, opcodes, syndromes = [], "", "", ""
    for opcode, row in family.wqe_formats.items():
        names += [name for name in row["segments"] if name not in names]
        segs = [f"HCASIM_{upper}_SEG_{name.removeprefix('seg_').upper()}" for name in row["segments"]]
        segs += [f"HCASIM_{upper}_SEG_NONE"] * (2 - len(segs))
        rows += (
            f"\t\t{{HCASIM_{upper}_OPCODE_{opcode}, HCASIM_WQE_OP_{row['op']}, {int(row['address'])}, "
            f"{int(row['data'] == 'scatter')}, {int(row['data'] != 'none')}, {{{', '.join(segs)}}}}},\n"
        )
        for op in (row["op"], *([row["other"]] if "other" in row else [])):
            opcodes += f"\tcase HCASIM_WQE_OP_{op}:\n"
        opcodes += f"\t\treturn HCASIM_{upper}_OPCODE_{opcode};\n"
    for value in family.enums["syndrome"].values:
        syndromes += (
            f"\tcase HCASIM_CQE_STATUS_{value.name}:\n\t\treturn HCASIM_{upper}_SYNDROME_{value.name};\n"
        )
    segments = "".join(
        f"\tHCASIM_{upper}_SEG_{name.removeprefix('seg_').upper()}, /* struct hcasim_{family.name}_{name} */\n"
        for name in names
    )
    return _FORMAT.format(
        name=family.name, upper=upper, segments=segments, rows=rows, opcodes=opcodes, syndromes=syndromes
    )


def header(family, counters):
    prefix = f"HCASIM_{family.name.upper()}_"
    body = '#include "hcasim_core.h"\n\n' + ctext.section("Identity")
    for name, key in emit_hw.PCI if family.pci else ():
        body += ctext.define(f"{prefix}PCI_{name}", f"{family.pci[key]:#06x}")
    body += ctext.define(f"{prefix}DRIVER_ID", family.driver_id)
    body += ctext.define(f"{prefix}UVERBS_ABI", family.uverbs_abi)
    body += emit_hw.constants(family.constants, prefix)
    if family.registers:
        body += emit_hw.registers("Registers", f"{prefix}REG_", f"{prefix}", family.registers)
    if family.uar:
        body += emit_hw.registers("User access page, offsets in it", f"{prefix}UAR_", prefix, family.uar)
    if family.enums:
        body += ctext.section("Enumerations") + "".join(map(ctext.enum, family.enums.values()))
    if family.layouts:
        body += ctext.section("Layouts") + "".join(map(ctext.struct, family.layouts.values()))
    if family.wqe_formats:
        body += ctext.section("Send WQEs") + _tables(family)
    body += emit_counters.files(counters, family.name)
    title = f"{family.doc[0].upper()}{family.doc[1:]}."
    return ctext.header(
        f"HCASIM_{family.name.upper()}_H", title, ["stddef.h", "stdint.h", "linux/types.h"], body
    )


def _format_table(formats):
    rows = [
        (f"`{opcode}`", row["op"], "yes" if row["address"] else "", " ".join(row["segments"]), row["data"])
        for opcode, row in formats.items()
    ]
    return emit_md.table(("opcode", "operation", "address", "segments", "data"), rows)


def page(family):
    out = emit_md.NOTE + f"# {family.name}: {family.doc}\n\n"
    rows = [(name, f"{value:#06x}") for name, value in (family.pci or {}).items()]
    rows += [("driver_id", family.driver_id), ("uverbs_abi", family.uverbs_abi)]
    out += "## Identity\n\n" + emit_md.table(("field", "value"), rows)
    parts = (
        ("Constants", family.constants, emit_md.constants),
        ("Registers", family.registers, emit_md.registers),
        ("User access page", family.uar, emit_md.registers),
        ("Structures", family.layouts, lambda all: "".join(map(emit_md.layout, all.values()))),
        ("Enumerations", family.enums, lambda all: "".join(map(emit_md.enum, all.values()))),
        ("Send WQEs", family.wqe_formats, _format_table),
    )
    return out + "".join(f"## {title}\n\n" + write(part) for title, part, write in parts if part)
