# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Keeps what the cells reach, for later runs of the same build with the same cells: it costs a run of all cells."""
import hashlib
import json
from pathlib import Path

from .reach import Reached, reach, ranges_of

NAME = "generated-mutants/reached.json"


def key_of(build, dut, cells):
    """All that the record depends on: the programs of the build, the DUT, and the cells with their contents."""
    lines = [dut.runner_line, *(dut.line(cell) for cell in cells)]
    digest = hashlib.sha256(json.dumps(lines, sort_keys=True).encode())
    for path in sorted(p for folder in ("bin", "lib") for p in (build / folder).rglob("*") if p.is_file()):
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def load(path, key, mutants, cells):
    """None: nothing is kept for this key."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if data["key"] != key:
        return None
    found, by_id = Reached(ranges_of(mutants)), {cell.id: cell for cell in cells}
    found.classes = {
        bytes.fromhex(bits): [by_id[name] for name in names] for bits, names in data["classes"].items()
    }
    found.asked, found.started = bytes.fromhex(data["asked"]), bytes.fromhex(data["started"])
    found.always, found.cost = int(data["always"], 16), data["cost"]
    return found


def save(path, key, found):
    classes = {bits.hex(): [cell.id for cell in cells] for bits, cells in found.classes.items()}
    data = {"key": key, "classes": classes, "asked": found.asked.hex(), "started": found.started.hex()}
    data |= {"always": hex(found.always), "cost": found.cost}
    path.write_text(json.dumps(data), encoding="utf-8")


def reached(dut, bin_dir, cells, mutants, jobs):
    """As reach(), from the build folder if it was recorded there. A record with red cells is not kept."""
    build = Path(bin_dir).parent
    path, key = build / NAME, key_of(build, dut, cells)
    found = load(path, key, mutants, cells)
    if not found:
        found = reach(dut, bin_dir, cells, mutants, jobs)
        if not found.red:
            save(path, key, found)
    return found
