# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim calibrate --sensitivity: which published rows depend on which figure of a profile."""
import re

from hcasim_cli.profile import ProfileError

MOVED = 1  # percent: less is what clock edges and polls do
OPEN = "not calibrated yet"  # in the source of a figure for which the table says more
# What an earlier table said there.
SAID = (
    rf"(?:doubled|halved|[\d.]+ instead), (?:no published row moves by {MOVED} %"
    rf"|[^:;]+? moves by [-+]\d+ %(?:, and \d+ more by {MOVED} % or more)?)"
)
INSTEAD_OF_0 = {"B/cycle": 64}  # of which 0 has no limit; the least that other units can have is 1
FIGURE = re.compile(r"( *)(\w+): {value: ([\d.]+), unit: ([^,]+), source: \"(.*)\"}$")


def figures_of(text):
    """(number of the line, key, value, unit) of every figure in the text of a profile."""
    path = []
    for number, line in enumerate(text.splitlines()):
        found = re.match(r"( *)(\w+):", line)
        if not found:
            continue
        path = path[: len(found[1]) // 2] + [found[2]]
        figure = FIGURE.match(line)
        if figure:
            yield number, ".".join(path), float(figure[3]), figure[4]


def other_values(value, unit):
    """What is tried in place of a figure, until one is legal."""
    if unit == "bool":
        return [1 - value]
    return [2 * value, value / 2] if value else [INSTEAD_OF_0.get(unit, 1)]


def moves(rows, before):
    """(percent, row) of those that have moved, the largest first."""
    found = [(100 * (row.model / old - 1), row) for row, old in zip(rows, before)]
    return sorted((pair for pair in found if abs(pair[0]) >= MOVED), key=lambda pair: -abs(pair[0]))


def sentence(word, moved):
    if not moved:
        return f"{word}, no published row moves by {MOVED} %"
    percent, row = moved[0]
    more = f", and {len(moved) - 1} more by {MOVED} % or more" if moved[1:] else ""
    return f"{word}, {row.label} moves by {percent:+.0f} %{more}"


def try_figure(key, value, unit, rows, before, measure):
    reason = ""
    for other in other_values(value, unit):
        try:
            measure(rows, [f"{key}={other:g}"])
        except ProfileError as error:
            reason = str(error).rsplit(": ", maxsplit=1)[-1]
            continue
        word = "doubled" if other > value else "halved"
        if unit == "bool" or not value:
            word = f"{other:g} instead"
        return sentence(word, moves(rows, before))
    return f"not tried: {reason}"


def table(text, rows, measure, only_open):
    """{key: sentence} for all figures, or for those that are open; each is printed when it is known."""
    found = {}
    lines = text.splitlines()
    if rows:
        measure(rows, [])
    before = [row.model for row in rows]
    for number, key, value, unit in figures_of(text):
        if only_open and not re.search(f"{OPEN}|{SAID}", lines[number]):
            continue
        found[key] = "no published row is compared with this profile"
        if rows:
            found[key] = try_figure(key, value, unit, rows, before, measure)
        print(f"{key:45}{value:>10g}  {found[key]}", flush=True)
    return found


def with_sources(text, found):
    """The profile, with what was found in the sources that were open, or in place of what an earlier table said."""
    lines = text.splitlines()
    for number, key, _, _ in figures_of(text):
        if key not in found:
            continue
        line = re.sub(rf",? ?{OPEN}", f"; {found[key]}", lines[number], count=1)
        lines[number] = re.sub(SAID, found[key], line, count=1)
    return "\n".join(lines) + "\n"
