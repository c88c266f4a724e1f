# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""profile.yaml: the figures of a timing profile."""

from dataclasses import dataclass, replace

from .load import SpecError
from .model import unique

FILE = "profile.yaml"
PICOSECONDS = {"ns": 1000, "us": 1000000}  # times are kept in ps


@dataclass
class Figure:
    path: tuple  # pcie, mps; engine, stages, fetch, fixed
    unit: str
    kind: str
    low: float
    high: float
    doc: str
    limit: str
    default: object = (
        None  # a number, or the key of another figure of the same list; None: a profile has the figure
    )

    @property
    def key(self):
        return ".".join(self.path)

    @property
    def scale(self):
        return PICOSECONDS.get(self.unit, 1)

    @property
    def same_as(self):
        """Key of the figure whose value it has by default; empty: none."""
        return ".".join((*self.path[:-1], self.default)) if isinstance(self.default, str) else ""


@dataclass
class Group:
    name: str
    doc: str
    figures: dict
    stages: list  # names
    stage_figures: dict

    def all_figures(self):
        yield from self.figures.values()
        for stage in self.stages:
            for figure in self.stage_figures.values():
                path = (self.name, "stages", stage, *figure.path)
                yield replace(figure, path=path)


@dataclass
class Profile:
    groups: list
    rules: list

    def figures(self):
        return {figure.key: figure for group in self.groups for figure in group.all_figures()}


def _figures(where, prefix, entries):
    def figure(entry):
        kind = entry.get("kind", "any")
        one = Figure(
            (*prefix, entry["key"]),
            entry["unit"],
            kind,
            entry["min"],
            entry["max"],
            entry["doc"],
            entry.get("limit", ""),
            entry.get("default"),
        )
        if one.low >= one.high:
            raise SpecError(f"{where}[{entry['key']}]", f"min {one.low} is not below max {one.high}")
        if kind == "power_of_2" and any(value & (value - 1) for value in (one.low, one.high)):
            raise SpecError(
                f"{where}[{entry['key']}]", f"min {one.low} and max {one.high} are not powers of 2"
            )
        return one

    figures = unique(where, [dict(entry, name=entry["key"]) for entry in entries], figure)
    _check_defaults(where, figures)
    return figures


def _check_defaults(where, figures):
    """A default is in range, or an earlier figure of the same unit and range."""
    before = {}
    for key, figure in figures.items():
        other = before.get(figure.default)
        if isinstance(figure.default, str) and not other:
            raise SpecError(f"{where}[{key}]", f"default {figure.default!r} is no figure before it")
        if other and (other.unit, other.kind, other.low, other.high) != (
            figure.unit,
            figure.kind,
            figure.low,
            figure.high,
        ):
            raise SpecError(f"{where}[{key}]", f"default {figure.default!r} has another unit or range")
        if isinstance(figure.default, (int, float)) and not figure.low <= figure.default <= figure.high:
            raise SpecError(f"{where}[{key}]", f"default {figure.default} is out of range")
        before[key] = figure


def _group(entry):
    where = f"{FILE}: groups[{entry['name']}]"
    stages = entry.get("stages", {"names": [], "figures": []})
    return Group(
        entry["name"],
        entry["doc"],
        _figures(f"{where}.figures", (entry["name"],), entry["figures"]),
        stages["names"],
        _figures(f"{where}.stages.figures", (), stages["figures"]),
    )


def parse(document):
    groups = unique(f"{FILE}: groups", document["groups"], _group)
    profile = Profile(list(groups.values()), document["rules"])
    figures = profile.figures()
    for rule in profile.rules:
        for key in (rule["figure"], rule["at_most"]):
            if key not in figures:
                raise SpecError(f"{FILE}: rules", f"{key!r} is no figure")
        if figures[rule["figure"]].unit != figures[rule["at_most"]].unit:
            raise SpecError(f"{FILE}: rules", f"{rule['figure']} and {rule['at_most']} have different units")
    return profile
