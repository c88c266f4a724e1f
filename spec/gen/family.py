# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""families/NAME.yaml: a device family that somebody else's provider drives. Its names have NAME as prefix."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from .device import _no_overlap, _register
from .load import SpecError
from .model import check_enums, parse_constants, parse_enum, parse_layout, unique


@dataclass
class Family:
    name: str
    doc: str
    pci: dict | None  # None: the adapter is not on PCI
    driver_id: int
    uverbs_abi: int
    constants: dict
    registers: dict
    uar: dict
    layouts: dict
    enums: dict
    wqe_formats: dict


def _prefixed(name, one):
    return dataclasses.replace(one, name=f"{name}_{one.name}")


def _enum(name, where, entry):
    return _prefixed(name, parse_enum(where, entry, f"HCASIM_{name.upper()}_{entry['name'].upper()}_"))


def _check_formats(family, core, where):
    """Every row names an opcode of its own, an operation and declared segments."""
    for required in ("opcode", "syndrome") if family.wqe_formats else ():
        if required not in family.enums:
            raise SpecError(where, f"enum {required} is not declared")
    opcodes = family.enums["opcode"].by_name() if family.wqe_formats else {}
    for name, row in family.wqe_formats.items():
        if name not in opcodes:
            raise SpecError(f"{where}[{name}]", "opcode is not declared in enum opcode")
        for op in (row["op"], row.get("other", row["op"])):
            if op not in core.enums["wqe_op"].by_name():
                raise SpecError(f"{where}[{name}]", f"operation {op!r} is not in enum wqe_op of core.yaml")
        for segment in row["segments"]:
            if segment not in family.layouts:
                raise SpecError(f"{where}[{name}]", f"segment {segment!r} is not declared")


def _check_syndromes(family, core, where):
    """Every syndrome has the name of a status, which is how a completion finds it."""
    statuses = core.enums["cqe_status"].by_name()
    for value in family.enums["syndrome"].values if "syndrome" in family.enums else ():
        if value.name not in statuses:
            raise SpecError(f"{where}.{value.name}", "is no cqe_status of core.yaml")


def _check_pages(family, file):
    if family.registers or family.uar:
        for name in ("UAR_PAGE_SIZE", "UAR_FIRST"):
            if name not in family.constants:
                raise SpecError(f"{file}: constants", f"{name} is not declared, but registers or uar are")
        page = family.constants["UAR_PAGE_SIZE"].value
        _no_overlap(f"{file}: registers", family.registers, family.constants["UAR_FIRST"].value * page)
        _no_overlap(f"{file}: uar", family.uar, page)


def parse(path, document, core):
    head, name, file = document["family"], Path(path).name, f"{path}.yaml"

    def table(key, parse_entry):
        return unique(f"{file}: {key}", document.get(key, []), parse_entry)

    family = Family(
        name=name,
        doc=head["doc"],
        pci=head.get("pci"),
        driver_id=head["driver_id"],
        uverbs_abi=head["uverbs_abi"],
        constants=parse_constants(file, document.get("constants", [])),
        registers=table("registers", lambda entry: _register(f"{file}: registers", entry)),
        uar=table("uar", lambda entry: _register(f"{file}: uar", entry)),
        layouts=table("layouts", lambda entry: _prefixed(name, parse_layout(f"{file}: layouts", entry))),
        enums=table("enums", lambda entry: _enum(name, f"{file}: enums", entry)),
        wqe_formats=unique(
            f"{file}: wqe_formats",
            [dict(row, name=row["opcode"]) for row in document.get("wqe_formats", [])],
            lambda row: row,
        ),
    )
    _check_pages(family, file)
    check_enums(file, family.layouts, {**core.enums, **family.enums})
    _check_formats(family, core, f"{file}: wqe_formats")
    _check_syndromes(family, core, f"{file}: enums[syndrome]")
    return family
