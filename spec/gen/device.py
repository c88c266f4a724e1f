# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""families/native.yaml: PCI identity, BARs, registers, layouts, udata."""

from dataclasses import dataclass

from .load import NATIVE, SpecError
from .model import Register, check_enums, parse_bits, parse_constants, parse_layout, unique

FILE = f"{NATIVE}.yaml"


@dataclass
class Device:
    name: str
    pci: dict
    driver_id: int
    uverbs_abi: int
    bars: list
    constants: dict
    registers: dict
    uar: dict
    layouts: dict
    abi: dict
    wqe_formats: dict


def _register(where, entry):
    where = f"{where}[{entry['name']}]"
    if entry["offset"] % min(entry["size"], 8):
        raise SpecError(where, f"offset {entry['offset']:#x} is not aligned to its size {entry['size']}")
    bits = parse_bits(where, entry.get("bits", []), entry["size"] * 8)
    return Register(
        entry["name"], entry["offset"], entry["size"], entry.get("access", "rw"), entry.get("doc", ""), bits
    )


def _no_overlap(where, registers, limit):
    """Registers are in their page and do not overlap."""
    end, before = 0, ""
    for register in sorted(registers.values(), key=lambda one: one.offset):
        if register.offset < end:
            raise SpecError(f"{where}[{register.name}]", f"offset {register.offset:#x} overlaps {before}")
        end, before = register.offset + register.size, register.name
        if end > limit:
            raise SpecError(f"{where}[{register.name}]", f"ends at {end:#x}, beyond {limit:#x}")


def _check_sizes(device):
    """Constants that repeat a value of a layout or BAR must be equal to it."""
    sizes = {name: layout.size for name, layout in device.layouts.items()}
    constant = {name: value.value for name, value in device.constants.items()}
    bars = {bar["name"]: bar["size"] for bar in device.bars}
    rules = [
        ("CQE_SIZE", sizes["cqe"], "the size of layout cqe"),
        ("SEG_UNIT", sizes["wqe_ctrl"], "the size of layout wqe_ctrl"),
        ("UAR_PAGES", bars["uar"] // constant["UAR_PAGE_SIZE"], "the pages of BAR uar"),
        ("BF_SIZE", device.uar["bf"].size // constant["BF_BUFS"], "the size of one buffer of uar bf"),
    ]
    if bars["dm"] % constant["DM_PAGE_SIZE"] or constant["DM_PAGE_SIZE"] % constant["UAR_PAGE_SIZE"]:
        raise SpecError(f"{FILE}: constants[DM_PAGE_SIZE]", "value does not divide BAR dm into pages")
    for name, expected, what in rules:
        if constant[name] != expected:
            raise SpecError(f"{FILE}: constants[{name}]", f"value {constant[name]} is not {what}, {expected}")
    unit = constant["SEG_UNIT"]
    for name, size in sizes.items():
        if name.startswith("seg_") and name != "seg_inline" and size % unit:
            raise SpecError(f"{FILE}: layouts[{name}]", f"size {size} is not a multiple of SEG_UNIT {unit}")


def _check_formats(device, core):
    """Every opcode has one format, made of declared segments that fit one WQE."""
    where = f"{FILE}: wqe_formats"
    opcodes = core.enums["wqe_op"].by_name()
    if list(opcodes.values()) != list(range(len(opcodes))):
        raise SpecError("core.yaml: enums[wqe_op]", "values do not count from 0 without a gap")
    if list(device.wqe_formats) != list(opcodes):
        odd = sorted(set(device.wqe_formats) ^ set(opcodes)) or "order"
        raise SpecError(where, f"rows are not the opcodes of enum wqe_op ({odd})")
    for op, row in device.wqe_formats.items():
        for name in row["segments"]:
            if name not in device.layouts:
                raise SpecError(f"{where}[{op}]", f"segment {name!r} is not declared")


def _check_bars(device):
    indices = {}
    for bar in device.bars:
        where = f"{FILE}: device.bars[{bar['name']}]"
        if bar["size"] & (bar["size"] - 1):
            raise SpecError(where, f"size {bar['size']:#x} is not a power of two")
        # A 64-bit BAR takes two of the six slots.
        for slot in (bar["index"], bar["index"] + 1):
            if slot in indices or slot > 5:
                raise SpecError(where, f"BAR slot {slot} is taken or does not exist")
            indices[slot] = bar["name"]


def parse(document, core):
    head = document["device"]
    device = Device(
        name=head["name"],
        pci=head["pci"],
        driver_id=head["driver_id"],
        uverbs_abi=head["uverbs_abi"],
        bars=head["bars"],
        constants=parse_constants(FILE, document["constants"]),
        registers=unique(
            f"{FILE}: registers", document["registers"], lambda entry: _register(f"{FILE}: registers", entry)
        ),
        uar=unique(f"{FILE}: uar", document["uar"], lambda entry: _register(f"{FILE}: uar", entry)),
        layouts=unique(
            f"{FILE}: layouts", document["layouts"], lambda entry: parse_layout(f"{FILE}: layouts", entry)
        ),
        abi=unique(f"{FILE}: abi", document["abi"], lambda entry: parse_layout(f"{FILE}: abi", entry)),
        wqe_formats=unique(
            f"{FILE}: wqe_formats",
            [dict(row, name=row["op"]) for row in document["wqe_formats"]],
            lambda row: row,
        ),
    )
    bars = {bar["name"]: bar["size"] for bar in device.bars}
    _check_bars(device)
    _no_overlap(f"{FILE}: registers", device.registers, bars["regs"])
    _no_overlap(f"{FILE}: uar", device.uar, device.constants["UAR_PAGE_SIZE"].value)
    check_enums(FILE, device.layouts, core.enums)
    _check_sizes(device)
    _check_formats(device, core)
    return device
