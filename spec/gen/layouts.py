# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""rxe.yaml: constants and layouts of a device family whose provider has its own header of them."""

from dataclasses import dataclass

from . import ctext, emit_hw, emit_md
from .model import check_enums, parse_constants, parse_layout, unique


@dataclass
class Layouts:
    name: str
    constants: dict
    layouts: dict


def parse(name, document, core):
    file = f"{name}.yaml"
    family = Layouts(
        name,
        parse_constants(file, document["constants"]),
        unique(
            f"{file}: layouts", document["layouts"], lambda entry: parse_layout(f"{file}: layouts", entry)
        ),
    )
    check_enums(file, family.layouts, core.enums)
    return family


def header(family):
    body = '#include "hcasim_core.h"\n\n' + emit_hw.constants(family.constants) + ctext.section("Layouts")
    body += "".join(ctext.struct(layout) for layout in family.layouts.values())
    title = f"Queues of the family {family.name}."
    return ctext.header(
        f"HCASIM_{family.name.upper()}_H", title, ["stddef.h", "stdint.h", "linux/types.h"], body
    )


def page(family):
    out = emit_md.NOTE + f"# {family.name}\n\n## Constants\n\n" + emit_md.constants(family.constants)
    return out + "## Structures\n\n" + "".join(emit_md.layout(one) for one in family.layouts.values())
