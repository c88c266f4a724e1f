# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""mlx5.yaml: a device family that somebody else's provider drives. Its names have the family's name as prefix."""

import dataclasses
from dataclasses import dataclass

from .device import _no_overlap, _register
from .load import SpecError
from .model import check_enums, parse_constants, parse_enum, parse_layout, unique


@dataclass
class Family:
    name: str
    doc: str
    pci: dict
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
    opcodes = family.enums["opcode"].by_name()
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
    for value in family.enums["syndrome"].values:
        if value.name not in statuses:
            raise SpecError(f"{where}.{value.name}", "is no cqe_status of core.yaml")


def parse(file, document, core):
    head = document["family"]
    name = head["name"]

    def table(key, parse_entry):
        return unique(f"{file}: {key}", document[key], parse_entry)

    family = Family(
        name=name,
        doc=head["doc"],
        pci=head["pci"],
        driver_id=head["driver_id"],
        uverbs_abi=head["uverbs_abi"],
        constants=parse_constants(file, document["constants"]),
        registers=table("registers", lambda entry: _register(f"{file}: registers", entry)),
        uar=table("uar", lambda entry: _register(f"{file}: uar", entry)),
        layouts=table("layouts", lambda entry: _prefixed(name, parse_layout(f"{file}: layouts", entry))),
        enums=table("enums", lambda entry: _enum(name, f"{file}: enums", entry)),
        wqe_formats=unique(
            f"{file}: wqe_formats",
            [dict(row, name=row["opcode"]) for row in document["wqe_formats"]],
            lambda row: row,
        ),
    )
    page = family.constants["UAR_PAGE_SIZE"].value
    _no_overlap(f"{file}: registers", family.registers, family.constants["UAR_FIRST"].value * page)
    _no_overlap(f"{file}: uar", family.uar, page)
    check_enums(file, family.layouts, family.enums)
    _check_formats(family, core, f"{file}: wqe_formats")
    _check_syndromes(family, core, f"{file}: enums[syndrome]")
    return family
