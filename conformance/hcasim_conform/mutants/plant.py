# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Plants the mutants of a catalogue (conformance/mutants/*.yaml) into copies of source files.

    python3 plant.py CATALOGUE TOP OUT

writes OUT/<file> for each file that has mutants and OUT/mutants.yaml, the catalogue, which says later what is in
the build; and prints the files' names, one per line. The sources
are not prepared for mutants: a mutant is a piece of text and its replacement, in which
MUTANT is true if that mutant is selected. CMake builds the copies only with -DHCASIM_MUTANTS=ON.
"""
import re
import sys
from pathlib import Path

import yaml

COPY = "mutants.yaml"
WORD = re.compile(r"\bMUTANT\b")


class PlantError(Exception):
    """The catalogue does not fit the sources; the message names mutant, file and text."""


class Place:
    """Position of a mutant's edit in a file's text."""

    def __init__(self, name, edit, text):
        wanted = edit["find"]
        count = text.count(wanted)
        if count != 1:
            raise PlantError(
                f"mutant {name}: {edit['file']} contains {count} times, instead of once: {wanted!r}"
            )
        self.name = name
        self.start = text.index(wanted)
        self.end = self.start + len(wanted)
        self.text = WORD.sub(f'MUTANT_ON("{name}")', edit["with"])


def plant(text, edits):
    """The text of a file with its edits, (mutant's name, edit), in it."""
    places = sorted((Place(name, edit, text) for name, edit in edits), key=lambda place: place.start)
    out, at = ['#include "mutant.h"\n'], 0
    for place in places:
        if place.start < at:
            raise PlantError(f"mutant {place.name}: overlaps with another one in the same file")
        out += [text[at : place.start], place.text]
        at = place.end
    return "".join([*out, text[at:]])


def by_file(mutants):
    files = {}
    for mutant in mutants:
        for edit in [mutant, *mutant.get("also", [])]:
            files.setdefault(edit["file"], []).append((mutant["id"], edit))
    return files


def write_if_new(path, text):
    """Does not write an unchanged file: its time stays, and nothing is compiled again."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main(catalogue, top, out):
    listed = Path(catalogue).read_text(encoding="utf-8")
    write_if_new(Path(out) / COPY, listed)
    mutants = yaml.safe_load(listed)["mutants"]
    for name, chosen in by_file(mutants).items():
        source = Path(top) / name
        try:
            write_if_new(Path(out) / name, plant(source.read_text(encoding="utf-8"), chosen))
        except (OSError, PlantError) as error:
            sys.exit(f"{catalogue}: {error}")
        print(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
