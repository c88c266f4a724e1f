#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""plant.py RTL_DIR FAULTS.TXT OUT_DIR: the RTL with all faults of FAULTS.TXT in it, and which of them is active chosen at
run time: the expression around fault N becomes `hcasim_fault_pkg::planted == N ? (wrong) : (right)`.

N is the number of the fault in FAULTS.TXT, from 1 on. Faults for a proof are left out: the proofs do not run a model.
"""
import os
import re
import shutil
import sys
from pathlib import Path

PACKAGE = """// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
package hcasim_fault_pkg;
  import "DPI-C" function int hcasim_fault();
  int planted = hcasim_fault();
endpackage
"""
KEYWORD = re.compile(r"\b(begin|end|else)$")
OPEN, CLOSE = "([{", ")]}"
TOKEN = re.compile(r"\w+|<=|>=|==|!=|&&|\|\||\|=>|\|->|<<|>>|[-+*/%&|^~!?:=<>]")


def faults(path):
    """(file, check, right, wrong) of each line; \\| is a bar."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            parts = [part.replace("\\|", "|") for part in line.split(" | ")]
            if len(parts) != 4:
                sys.exit(f"faults.txt: {line!r} has {len(parts)} parts, not 4")
            yield parts


def source_of(rtl, name):
    """A module's file, or a part of a module's."""
    for suffix in (".sv", ".svh"):
        if (rtl / (name + suffix)).exists():
            return rtl / (name + suffix)
    return sys.exit(f"faults.txt: there is no {name} in {rtl}")


def without_comments(text):
    return re.sub(r"//[^\n]*", lambda m: " " * len(m[0]), text)


def difference(text, start, right, wrong):
    """What of `right`, at `start`, differs from `wrong`, in whole tokens."""
    front = len(os.path.commonprefix([right, wrong]))
    back = len(os.path.commonprefix([right[front:][::-1], wrong[front:][::-1]]))
    first, last = start + front, start + max(len(right) - back, front)
    for token in TOKEN.finditer(text):
        if token.start() < first < token.end():
            first = token.start()
        if token.start() < last < token.end():
            last = token.end()
    return balanced(text, first, last)


def balanced(text, first, last):
    """[first, last) with as much more that its brackets are complete."""
    depth = 0
    for at in range(first, last):
        depth += (text[at] in OPEN) - (text[at] in CLOSE)
        while depth < 0:
            first -= 1
            depth += (text[first] in OPEN) - (text[first] in CLOSE)
    while depth > 0:
        depth += (text[last] in OPEN) - (text[last] in CLOSE)
        last += 1
    return first, last


def opening(text, first):
    """Where the innermost bracket around `first`, or its statement, begins."""
    depth = 0
    for at in range(first - 1, -1, -1):
        if text[at] in CLOSE:
            depth += 1
        elif text[at] in OPEN and depth:
            depth -= 1
        elif not depth and (text[at] in OPEN or text[at] == ";"):
            return at + 1
        elif (
            not depth and KEYWORD.search(text[max(0, at - 6) : at + 1]) and not re.match(r"\w", text[at + 1])
        ):
            return at + 1
    return 0


def region(text, first, last):
    """The expression around [first, last): what an assignment assigns, or what stands between brackets and commas."""
    start = opening(text, first)
    depth, at = 0, start
    inside = text[start - 1] in OPEN
    while at < first:
        depth += (text[at] in OPEN) - (text[at] in CLOSE)
        assigns = re.match(r"(?<![<>=!])(<=|=)(?!=)", text[at:]) and text[at - 1] not in "<>=!"
        if not depth and inside and text[at] == ",":
            start = at + 1
        elif not depth and not inside and assigns:
            start = at + (2 if text[at] == "<" else 1)
            break
        at += 1
    depth, end = 0, last
    while depth or text[end] not in CLOSE + ",;":
        depth += (text[end] in OPEN) - (text[end] in CLOSE)
        end += 1
    return start, end


def plant(text, planted):
    """`text` with (number, right, wrong) of `planted`."""
    bare = without_comments(text)
    regions = []  # [start, end, [(number, at, right, wrong)]]
    for number, right, wrong in planted:
        at = text.find(right)
        start, end = region(bare, *difference(bare, at, right, wrong))
        # text that differs outside of the expression cannot be chosen
        if text[at : min(start, at + len(right))] != wrong[: max(0, start - at)]:
            sys.exit(f"faults.txt: {right!r}: only an expression can be wrong")
        regions.append([start, end, [(number, at, right, wrong)]])
    merged = []
    for start, end, inside in sorted(regions, key=lambda r: (r[0], -r[1])):
        if merged and start < merged[-1][1]:
            merged[-1][1] = max(end, merged[-1][1])
            merged[-1][2] += inside
        else:
            merged.append([start, end, inside])
    for start, end, inside in reversed(merged):
        right_text = text[start:end]
        chain = f"({right_text})"
        for number, at, right, wrong in inside:
            whole = text[:at] + wrong + text[at + len(right) :]
            wrong_text = whole[start : end + len(wrong) - len(right)]
            chain = f"(hcasim_fault_pkg::planted == {number} ? ({wrong_text}) : {chain})"
        text = text[:start] + " " + chain.replace("\n", " ") + text[end:]
    return text


def main():
    rtl, listed, out = map(Path, sys.argv[1:])
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(rtl, out)
    (out / "hcasim_fault_pkg.sv").write_text(PACKAGE, encoding="utf-8")
    by_file = {}
    for number, (name, check, right, wrong) in enumerate(faults(listed), 1):
        source = source_of(rtl, name)
        if right not in source.read_text(encoding="utf-8"):
            sys.exit(f"faults.txt: {source.name} has no {right!r}")
        if check != "proof":
            by_file.setdefault(source.name, []).append((number, right, wrong))
    for name, planted in by_file.items():
        text = (rtl / name).read_text(encoding="utf-8")
        (out / name).write_text(plant(text, planted), encoding="utf-8")


if __name__ == "__main__":
    main()
