# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim_core.h: what all families share; hcasim_hw.h: the native adapter; hcasim-abi.h: the ABI of its provider and kernel half."""

from . import ctext, emit_counters

PCI = (
    ("VENDOR", "vendor"),
    ("DEVICE", "device"),
    ("SUBVENDOR", "subsystem_vendor"),
    ("SUBDEVICE", "subsystem_device"),
    ("CLASS", "class"),
    ("REVISION", "revision"),
)
_ABI_TYPES = {"u8": "__u8", "u16": "__u16", "u32": "__u32", "u64": "__aligned_u64"}


def _identity(device):
    out = ctext.section("Identity")
    for name, key in PCI:
        out += ctext.define(f"HCASIM_PCI_{name}", f"{device.pci[key]:#06x}")
    out += ctext.define("HCASIM_DRIVER_ID", device.driver_id)
    out += ctext.define("HCASIM_UVERBS_ABI", device.uverbs_abi)
    for bar in device.bars:
        out += ctext.define(f"HCASIM_BAR_{bar['name'].upper()}", bar["index"], bar["doc"])
        out += ctext.define(f"HCASIM_BAR_{bar['name'].upper()}_SIZE", ctext.number(bar["size"]))
    return out


def constants(entries, prefix="HCASIM_"):
    out = ctext.section("Constants")
    for value in entries.values():
        text = str(value.value) if value.value < 1 << 31 else ctext.number(value.value)
        out += ctext.define(f"{prefix}{value.name}", text, value.doc)
    return out


def registers(title, prefix, bits_prefix, entries):
    out = ctext.section(title)
    for register in entries.values():
        name = register.name.upper()
        access = "" if register.access == "rw" else f"{register.access}: "
        out += ctext.comment(f"{access}{register.doc}")
        out += ctext.define(f"{prefix}{name}", f"{register.offset:#05x}")
        out += ctext.define(f"{prefix}{name}_SIZE", register.size)
        out += ctext.masks(f"{bits_prefix}{name}_", register.bits, register.size * 8)
    return out


_FORMAT = """\
/* What stands behind the data of a WQE. */
enum hcasim_wqe_data {
	HCASIM_WQE_DATA_NONE,
	HCASIM_WQE_DATA_GATHER,  /* SGEs to read, or one inline segment */
	HCASIM_WQE_DATA_SCATTER, /* SGEs to write */
	HCASIM_WQE_DATA_INLINE,  /* one inline segment */
};

enum hcasim_wqe_seg {
	HCASIM_WQE_SEG_NONE,
%s};

/* Segments between ctrl and data. */
struct hcasim_wqe_format {
	uint8_t op;
	uint8_t address; /* 1: seg_ud follows ctrl on UD QPs, seg_xrc on XRC_SEND QPs */
	uint8_t segs[2]; /* enum hcasim_wqe_seg */
	uint8_t data;    /* enum hcasim_wqe_data */
};

/* NULL if the opcode is not defined. */
static inline const struct hcasim_wqe_format *hcasim_wqe_format(uint8_t op)
{
	static const struct hcasim_wqe_format table[] = {
%s	};

	return op < sizeof(table) / sizeof(table[0]) ? &table[op] : NULL;
}

/* 1: WQEs of this opcode have the segment. */
static inline int hcasim_wqe_has_seg(uint8_t op, enum hcasim_wqe_seg seg)
{
	const struct hcasim_wqe_format *format = hcasim_wqe_format(op);

	return format && seg != HCASIM_WQE_SEG_NONE && (format->segs[0] == seg || format->segs[1] == seg);
}

"""


def _formats(device):
    """The table is indexed by opcode: opcodes count from 0 without a gap."""
    names = []
    for row in device.wqe_formats.values():
        names += [name for name in row["segments"] if name not in names]
    segments = "".join(
        f"\tHCASIM_WQE_SEG_{name.removeprefix('seg_').upper()}, /* struct hcasim_{name} */\n"
        for name in names
    )
    rows = ""
    for op, row in device.wqe_formats.items():
        segs = [f"HCASIM_WQE_SEG_{name.removeprefix('seg_').upper()}" for name in row["segments"]]
        segs += ["HCASIM_WQE_SEG_NONE"] * (2 - len(segs))
        rows += (
            f"\t\t{{HCASIM_WQE_OP_{op}, {int(row['address'])}, {{{', '.join(segs)}}}, "
            f"HCASIM_WQE_DATA_{row['data'].upper()}}},\n"
        )
    return _FORMAT % (segments, rows)


def core_header(spec):
    core = spec.core
    body = ctext.FIELD_MACROS + constants(core.constants)
    body += ctext.section("Enumerations")
    body += "".join(ctext.enum(one) for one in core.enums.values())
    body += ctext.section("Layouts")
    body += "".join(ctext.struct(layout) for layout in core.layouts.values())
    title = "Operations, statuses, events and limits of every adapter, whatever its device family."
    return ctext.header("HCASIM_CORE_H", title, ["stddef.h", "stdint.h", "linux/types.h"], body)


def hw_header(spec):
    device = spec.device
    body = '#include "hcasim_core.h"\n\n' + _identity(device) + constants(device.constants)
    body += registers("Registers, offsets in BAR regs", "HCASIM_REG_", "HCASIM_", device.registers)
    body += registers("User access page, offsets in the page", "HCASIM_UAR_", "HCASIM_", device.uar)
    body += ctext.section("Layouts")
    body += "".join(ctext.struct(layout) for layout in device.layouts.values())
    body += ctext.section("Send WQEs") + _formats(device)
    body += emit_counters.files(spec.counters, "native")
    title = "The hcasim adapter as its software sees it: registers, doorbells, rings."
    return ctext.header("HCASIM_HW_H", title, ["stddef.h", "stdint.h", "linux/types.h"], body)


def abi_header(spec):
    body = ctext.FIELD_MACROS[ctext.FIELD_MACROS.index("#ifndef HCASIM_STATIC_ASSERT") :] + "\n"
    body += "".join(ctext.struct(layout, types=_ABI_TYPES) for layout in spec.device.abi.values())
    title = "udata of the uverbs commands of hcasim."
    return ctext.header("HCASIM_ABI_H", title, ["linux/types.h"], body)
