# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim_hw.h: what the device is; hcasim-abi.h: what the provider and its kernel half exchange."""

from . import ctext

_PCI = (
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
    for name, key in _PCI:
        out += ctext.define(f"HCASIM_PCI_{name}", f"{device.pci[key]:#06x}")
    out += ctext.define("HCASIM_DRIVER_ID", device.driver_id)
    out += ctext.define("HCASIM_UVERBS_ABI", device.uverbs_abi)
    for bar in device.bars:
        out += ctext.define(f"HCASIM_BAR_{bar['name'].upper()}", bar["index"], bar["doc"])
        out += ctext.define(f"HCASIM_BAR_{bar['name'].upper()}_SIZE", ctext.number(bar["size"]))
    return out


def _constants(constants):
    out = ctext.section("Constants")
    for value in constants.values():
        text = str(value.value) if value.value < 1 << 31 else ctext.number(value.value)
        out += ctext.define(f"HCASIM_{value.name}", text, value.doc)
    return out


def _registers(title, prefix, registers):
    out = ctext.section(title)
    for register in registers.values():
        name = register.name.upper()
        access = "" if register.access == "rw" else f"{register.access}: "
        out += ctext.comment(f"{access}{register.doc}")
        out += ctext.define(f"{prefix}{name}", f"{register.offset:#05x}")
        out += ctext.define(f"{prefix}{name}_SIZE", register.size)
        out += ctext.masks(f"HCASIM_{name}_", register.bits, register.size * 8)
    return out


def hw_header(spec):
    device = spec.device
    body = ctext.FIELD_MACROS + _identity(device) + _constants(device.constants)
    body += _registers("Registers, offsets in BAR regs", "HCASIM_REG_", device.registers)
    body += _registers("User access page, offsets in the page", "HCASIM_UAR_", device.uar)
    body += ctext.section("Enumerations")
    body += "".join(ctext.enum(one) for one in device.enums.values())
    body += ctext.section("Layouts")
    body += "".join(ctext.struct(layout) for layout in device.layouts.values())
    title = "The hcasim adapter as its software sees it: registers, doorbells, rings."
    return ctext.header("HCASIM_HW_H", title, ["stdint.h", "linux/types.h"], body)


def abi_header(spec):
    body = ctext.FIELD_MACROS[ctext.FIELD_MACROS.index("#ifndef HCASIM_STATIC_ASSERT") :] + "\n"
    body += "".join(ctext.struct(layout, types=_ABI_TYPES) for layout in spec.device.abi.values())
    title = "udata of the uverbs commands of hcasim."
    return ctext.header("HCASIM_ABI_H", title, ["linux/types.h"], body)
