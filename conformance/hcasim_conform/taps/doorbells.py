# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Where the adapters of each device family have their send doorbells, as spec/ declares their user access pages."""
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hcasim_conform import yaml_text

FAMILIES = Path(__file__).resolve().parents[3] / "spec" / "families"
NAMED_ELSE = {"hcasim": "native"}  # a family whose adapters do not have its name


@dataclass(frozen=True)
class Number:
    """A QP number in what is stored: a 32-bit word, and the number's bits in it."""

    at: int
    high: int
    low: int
    order: str

    def read(self, data):
        word = int.from_bytes(data[self.at : self.at + 4], self.order)
        return word >> self.low & (1 << self.high - self.low + 1) - 1


@dataclass(frozen=True)
class Doorbells:
    bar: int
    page: int  # size of a user access page
    places: dict  # offset in the page: Number

    def number(self, tlp):
        """The QP number of a store; None: it is no doorbell. Of a push in several stores only the first is one."""
        if tlp["bar"] != self.bar:
            return None
        place = self.places.get(int(tlp["addr"], 16) % self.page)
        return place and place.read(bytes.fromhex(tlp["data"]))


def _named(entries, name):
    return next((entry for entry in entries if entry["name"] == name), None)


def _in_ctrl(document):
    """The control segment, whose beginning is stored to a BlueFlame buffer."""
    at = 0
    for member in _named(document["layouts"], "wqe_ctrl")["members"]:
        qpn = _named(member.get("bits", []), "qpn")
        if qpn:
            order = "big" if member["type"].startswith("be") else "little"
            return Number(at, *qpn["bits"], order)
        at += int(member["type"].strip("ulbe")) // 8
    raise ValueError("wqe_ctrl has no QP number")


@lru_cache(maxsize=None)
def of_family(name):
    """None: it has no doorbells in a BAR, or is not one of ours."""
    file = FAMILIES / f"{name}.yaml"
    document = yaml_text.load(file.read_text(encoding="utf-8")) if file.exists() else {}
    if "uar" not in document:
        return None
    constant = {entry["name"]: entry["value"] for entry in document["constants"]}
    bars = document.get("device", {}).get("bars")
    in_ctrl = _in_ctrl(document)
    bf = _named(document["uar"], "bf")["offset"]
    places = {bf + constant["BF_SIZE"] * buffer: in_ctrl for buffer in range(constant["BF_BUFS"])}
    register = _named(document["uar"], "db_sq")
    if register:
        places[register["offset"]] = Number(0, *_named(register["bits"], "qpn")["bits"], in_ctrl.order)
    bar = _named(bars, "uar")["index"] if bars else constant["BAR"]
    return Doorbells(bar, constant["UAR_PAGE_SIZE"], places)


def of_adapter(name):
    family = name.rstrip("0123456789").rstrip("_")
    return of_family(NAMED_ELSE.get(family, family))


__all__ = ["of_adapter"]
