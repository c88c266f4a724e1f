# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""core.yaml: operations, statuses, events and limits that all device families share."""

from dataclasses import dataclass

from .load import SpecError
from .model import check_enums, parse_constants, parse_enum, parse_layout, unique

FILE = "core.yaml"


@dataclass
class Core:
    constants: dict
    layouts: dict
    enums: dict


def parse(document):
    core = Core(
        constants=parse_constants(FILE, document["constants"]),
        layouts=unique(
            f"{FILE}: layouts", document["layouts"], lambda entry: parse_layout(f"{FILE}: layouts", entry)
        ),
        enums=unique(f"{FILE}: enums", document["enums"], lambda entry: parse_enum(f"{FILE}: enums", entry)),
    )
    check_enums(FILE, core.layouts, core.enums)
    size = core.layouts["eqe"].size
    if core.constants["EQE_SIZE"].value != size:
        raise SpecError(f"{FILE}: constants[EQE_SIZE]", f"value is not the size of layout eqe, {size}")
    return core
