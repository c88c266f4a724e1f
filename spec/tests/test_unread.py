# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The tables "Fields that are not read" in docs/ have every field of software that no source reads, and no other."""

import re
from pathlib import Path

import pytest
import yaml

SPEC = Path(__file__).parent.parent
TOP = SPEC.parent
HEADING = "## Fields that are not read"
PADDING = re.compile(r"(\w+_)?(reserved|pad|padding)\d*$")

# Per page: the specification, the folder of the sources, the prefix of names, and layouts that the adapter writes.
FAMILIES = {
    "mlx5": ("mlx5", "mlx5", "hcasim_mlx5_", r"cqe|eqe|hca_cap|\w+_prop$|\w+_out$|traffic_counter"),
    "spec": ("native", "native", "hcasim_", "cqe|eqe"),
    "soft-roce": ("rxe", "rxe", "hcasim_rxe_", r"\w+_resp$|wc|mminfo"),
}

# #define GET(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_QPC_##field##_MASK, v)
PASTING = re.compile(r"#define (\w+)\((\w+)[^\n]*?\b(HCASIM_\w*)##\2##(\w*)")


class Sources:
    def __init__(self, folder):
        paths = sorted((TOP / "sim/devices" / folder).rglob("*.[ch]"))
        self.text = {path: path.read_text() for path in paths}
        self.masks = set().union(*map(masks_in, self.text.values()))

    def of(self, structure):
        """What has to do with a structure: the files that name it, and those that include a header that does."""
        paths = {path for path, text in self.text.items() if re.search(rf"struct {structure}\b", text)}
        headers = "|".join(path.name for path in paths if path.suffix == ".h") or "none"
        include = re.compile(rf'#include "([\w/]*/)?({headers})"')
        return "\n".join(text for path, text in self.text.items() if path in paths or include.search(text))


def masks_in(text):
    """Names of masks, those included that a macro of the file puts together."""
    found = set(re.findall(r"\bHCASIM_\w+_MASK\b", text))
    for macro, _, before, behind in PASTING.findall(text):
        found.update(before + field + behind for field in re.findall(rf"\b{macro}\((\w+)", text))
    return found


def unread_of(sources, layout, prefix):
    text = sources.of(prefix + layout["name"])
    for member in layout["members"]:
        if PADDING.match(member["name"]) or member["name"] == "head":  # cmd_in, of each command
            continue
        if not re.search(rf"(\.|->){member['name']}\b", text):
            yield member["name"]
            continue
        bits = {bit["name"] for bit in member.get("bits", [])}
        named = {bit for bit in bits if f"{prefix}{layout['name']}_{bit}_mask".upper() in sources.masks}
        if named:  # without, the member is looked at as a whole: it must be 0
            yield from bits - named


def layouts_of(page):
    return yaml.safe_load((SPEC / f"families/{FAMILIES[page][0]}.yaml").read_text())["layouts"]


def unread(page):
    """{layout: fields}"""
    _, folder, prefix, written = FAMILIES[page]
    sources = Sources(folder)
    found = {
        layout["name"]: set(unread_of(sources, layout, prefix))
        for layout in layouts_of(page)
        if not re.match(rf"(?:{written})", layout["name"])
    }
    return {layout: fields for layout, fields in found.items() if fields}


def names_in(layout):
    members = layout["members"]
    return {member["name"] for member in members} | {
        bit["name"] for member in members for bit in member.get("bits", [])
    }


def documented(page):
    """The same of the table's rows: layouts in the first column, fields in the second, for the layouts that have them."""
    text = (TOP / f"docs/{page}.md").read_text()
    table = text[text.index(HEADING) + len(HEADING) :].split("\n## ")[0]
    declared = {layout["name"]: names_in(layout) for layout in layouts_of(page)}
    found = {}
    for layouts, fields in re.findall(r"^\| (`[^|]+) \| (`[^|]+) \|", table, re.M):
        fields = set(re.findall(r"`(\w+)`", fields))
        of = re.findall(r"`(\w+)`", layouts)
        assert fields <= set().union(*(declared[layout] for layout in of))
        for layout in of:
            found.setdefault(layout, set()).update(fields & declared[layout])
    return found


@pytest.mark.parametrize("page", FAMILIES)
def test_each_unread_field_has_a_reason(page):
    assert unread(page) == documented(page)
