# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Plants all mutants of one source file.

    python3 -m hcasim_conform.mutants.generator.generate FILE --name NAME --base N --out COPY [--depfile FILE] -- COMPILER ARGUMENT...

writes COPY, in which all mutants are switched by their number, from --base on, and COPY.json, which says what each is.
A mutant that the compiler does not take is left out and counted.
"""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from .probe import Probes
from .site import nest, number, render
from .source import Source, SourceError
from .walk import sites_of

STRIDE = 4096  # numbers reserved per file; HcasimGeneratedMutants.cmake has the same constant
ROUNDS = 50  # most rounds of removing mutants that do not compile


def planted(source, sites, base):
    """The text with these sites in it, and how many numbers they take."""
    roots, crossing = nest(sites)
    count = number(roots, base) - base
    body = render(source, roots, 0, len(source.bytes))
    return f'#include "switch.h"\n#line 1 "{source.path}"\n{body}', count, crossing


def without_inner(sites):
    for site in sites:
        site.inner.clear()
    return sites


def refused_lines(compiler, copy, path):
    """Lines of the source with compiler errors, in the line itself or in a macro that it uses."""
    run = subprocess.run([*compiler, "-fsyntax-only", "-w", str(copy)], capture_output=True, text=True)
    said = rf"^{re.escape(path)}:(\d+):\d+: (?:error|fatal error|note: in expansion of macro)"
    lines = {int(n) for n in re.findall(said, run.stderr, re.M)}
    if run.returncode and not lines:
        raise SourceError(f"{copy}: {run.stderr}")
    return lines


def plant(source, base, compiler, out):
    """Writes the copy; returns the sites in it and how many mutants were left out."""
    sites, dropped = sites_of(source), 0
    sites += Probes(source, sites).run()
    for _ in range(ROUNDS):
        text, count, crossing = planted(source, without_inner(sites), base)
        if crossing:
            dropped += sum(len(s.mutants) for s in crossing)
            sites = [s for s in sites if s not in crossing]
            continue
        if count > STRIDE:
            raise SourceError(f"{source.path}: {count} mutants, a file may have {STRIDE}")
        out.write_text(text, encoding="utf-8")
        bad = refused_lines(compiler, out, source.path)
        if not bad:
            return sites, dropped
        there = [s for s in sites if bad & set(range(source.line(s.start), source.line(s.end) + 1))]
        there = [s for s in there if s.probe] or there
        left = [s for s in sites if s not in there]
        if len(left) == len(sites):
            raise SourceError(f"{out}: the compiler refuses lines {sorted(bad)}, where no mutant is")
        dropped += sum(len(s.mutants) for s in sites) - sum(len(s.mutants) for s in left)
        sites = left
    raise SourceError(f"{source.path}: no end of errors")


def catalogue(source, name, sites, dropped):
    mutants = sorted((m for site in sites for m in site.mutants), key=lambda m: m.number)
    rows = [
        {
            "number": m.number,
            "operator": m.operator,
            "change": m.change,
            "function": m.function,
            "line": source.line(m.offset),
            "text": source.line_text(m.offset),
            "statement": m.statement,
            "under": m.under,
        }
        for m in mutants
    ]
    return {"file": name, "left_out": dropped, "mutants": rows}


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("file", type=Path)
    p.add_argument("--name", required=True, help="what the file is called in reports")
    p.add_argument("--base", type=int, required=True, help="number of its first mutant")
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--depfile", type=Path)
    p.add_argument("compiler", nargs="+", help="the compiler and its arguments")
    return p.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    try:
        source = Source(args.file, args.compiler[1:])
        sites, dropped = plant(source, args.base, args.compiler, args.out)
    except SourceError as error:
        sys.exit(str(error))
    data = catalogue(source, args.name, sites, dropped)
    args.out.with_suffix(".c.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    if args.depfile:
        args.depfile.write_text(
            f"{args.out}: {' '.join([str(args.file), *source.includes()])}\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
