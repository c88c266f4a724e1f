# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim conform mutants: each deliberate fault must make the suite fail in the cells named for it.

Needs a build with -DHCASIM_MUTANTS=ON (conformance/mutants). Without a fault all cells used here are green;
with each one, at least one of the cells that the catalogue names for it is red for the reason that it names. A cell
that fails for another reason, or by a time-out that the catalogue does not expect, does not count.
"""
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from hcasim_cli import exits
from hcasim_cli.parser import Parser

from hcasim_conform.run import drive
from hcasim_conform.report import results
from hcasim_conform.run import dut as duts
from hcasim_conform.run.mutants import HERE, SWITCH, CatalogueError, Mutant, load, of_build, planted, select
from hcasim_conform.taps import judge as taps
from hcasim_conform.select.covering import covering
from hcasim_conform.select.enumeration import Enumerator
from hcasim_conform.model.tables import Tables

FIRST, MOST = 12, 150  # named cells that are run first, and at most, for one mutant
OTHERS = 4  # stop after so many cells that fail for another reason
WAIT = 1.0  # processor seconds until a wait of a cell times out: many mutants hang


@dataclass
class Verdict:
    mutant: Mutant
    red: list = field(default_factory=list)  # (cell, fault): the one that shows it
    others: list = field(default_factory=list)  # (cell, fault): red for another reason
    run: int = 0
    seconds: float = 0

    @property
    def outcome(self):
        return "caught" if self.red else "unclear" if self.others else "missed"

    @property
    def caught(self):
        return self.outcome == "caught"

    def add(self, cell, result):
        """Records a result that the taps have already checked."""
        fault = self.mutant.explains(result)
        if fault:
            self.red.append((cell.id, fault))
        elif not result.passed:
            why = "timed out: " if result.late else ""
            self.others.append((cell.id, why + "; ".join(result.faults)))

    @property
    def settled(self):
        return bool(self.red) or len(self.others) >= OTHERS


def spread(cells, count):
    """`count` cells from all parts of the list, the first ones far apart."""
    if len(cells) <= count:
        return list(cells)
    return [cells[i * len(cells) // count] for i in range(count)]


def usable(cells, dut):
    """Cells that this device can run and must pass."""
    return [c for c in cells if c.expect.level != "UNDEFINED" and dut.supports(c) and not dut.difference(c)]


def choose(mutants, cells):
    """Each mutant's cells. A mutant without cells could never be caught: the catalogue is wrong."""
    for mutant in mutants:
        named = {}
        for pattern in mutant.patterns:
            named.update((c.id, c) for c in cells if fnmatchcase(c.id, pattern))
        if not named:
            raise CatalogueError(f"mutant {mutant.id}: no cell matches any of {mutant.patterns}")
        mutant.named = list(named.values())


class Bench:
    """The device with faults, and runs of cells on it."""

    def __init__(self, name, bin_dir, tables, folder):
        self.name = name
        self.bin_dir = bin_dir
        self.tables = tables
        self.folder = Path(folder)  # for files of the taps

    def dut(self, mutant):
        dut = duts.load(self.name)
        dut.env = {**dut.env, SWITCH: mutant.id if mutant else ""}
        dut.timeout = WAIT
        dut.runner_line["dut"]["timeout_ms"] = int(WAIT * 1000)
        taps.enable(dut, self.tables, self.folder / (mutant.id if mutant else "none"))
        return dut

    def red(self, mutant, cells):
        """(id, fault) of all cells that fail."""
        red = []
        dut = self.dut(mutant)

        def report(cell, result):
            if not result.passed:
                red.append((cell.id, "; ".join(result.faults)))

        for group in drive.groups(cells):
            drive.GroupRun(dut, self.bin_dir, group, report, lambda text: None).run()
        return red

    def seek(self, verdict, cells):
        """Runs cells until one shows the mutant, or enough are red for another reason."""
        dut = self.dut(verdict.mutant)
        for group in drive.groups(cells):
            if verdict.settled:
                break
            run = drive.GroupRun(dut, self.bin_dir, group, verdict.add, lambda text: None)
            run.enough = lambda _, result: bool(verdict.mutant.explains(result))
            run.run()
        verdict.run += len(cells)

    @staticmethod
    def first(mutant):
        """The cells that a mutant is tried on first: some of each pattern, in the order of the patterns."""
        share = max(1, FIRST // len(mutant.patterns))
        parts = [[c for c in mutant.named if fnmatchcase(c.id, p)] for p in mutant.patterns]
        return list({c.id: c for part in parts for c in spread(part, share)}.values())

    def judge(self, mutant):
        begin = time.monotonic()
        verdict = Verdict(mutant)
        first = self.first(mutant)
        self.seek(verdict, first)
        if not verdict.settled:
            self.seek(verdict, spread([c for c in mutant.named if c not in first], MOST))
        verdict.seconds = time.monotonic() - begin
        return verdict


def baseline(bench, mutants):
    """Runs the cells that each mutant is tried on first without a fault."""
    cells = {c.id: c for mutant in mutants for c in bench.first(mutant)}
    return len(cells), bench.red(None, list(cells.values()))


def record(verdicts, cells, red, seconds):
    return {
        "caught": sum(v.caught for v in verdicts),
        "mutants": len(verdicts),
        "seconds": round(seconds, 1),
        "without": {"cells": cells, "red": red},
        "verdicts": [
            {
                "id": v.mutant.id,
                "what": v.mutant.what,
                "caught": v.caught,
                "outcome": v.outcome,
                "cells": v.run,
                "red": [cell for cell, _ in v.red],
                "fault": v.red[0][1] if v.red else None,
                "others": v.others,
                "seconds": round(v.seconds, 2),
            }
            for v in verdicts
        ],
    }


def tell(verdict):
    mutant = verdict.mutant
    if verdict.outcome == "caught":
        line = f"caught  {mutant.id}: {verdict.red[0][0]}"
    elif verdict.outcome == "missed":
        line = f"MISSED  {mutant.id}: {mutant.what}; {verdict.run} cells are green"
    else:
        cell, fault = verdict.others[0]
        line = f"UNCLEAR {mutant.id}: {mutant.what}; not for that, which is /{mutant.fault}/, is {cell} red: {fault}"
    print(line, flush=True)


def parser(_build):
    p = Parser(
        prog="hcasim conform mutants",
        description="Runs the suite on builds of the adapter with a deliberate fault: each must turn it red.",
        epilog="With --generated it has other options: hcasim help conform mutants --generated. More: docs/conformance.md.",
    )
    p.add_argument("ids", nargs="*", metavar="MUTANT", help="only these (default: all of the catalogue)")
    p.add_argument(
        "--dut", default="native", metavar="NAME|FILE", help="device with the faults"
    ).completes = "duts"
    p.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="mutants at a time")
    p.add_argument("--out", type=Path, default=Path("conform-out"), metavar="DIR", help="for mutants.json")
    p.add_argument("--list", action="store_true", help="print the catalogue, run nothing")
    p.add_argument(
        "--catalogue", type=Path, metavar="FILE", help="list of the mutants (default: that of the build)"
    )
    return p


def run(args, mutants, bin_dir):
    with tempfile.TemporaryDirectory(prefix="hcasim-mutants-") as folder:
        return run_in(folder, args, mutants, bin_dir)


def run_in(folder, args, mutants, bin_dir):
    begin, tables = time.monotonic(), Tables()
    cells = usable(covering(Enumerator(tables), 0), duts.load(args.dut))
    choose(mutants, cells)
    bench = Bench(args.dut, bin_dir, tables, folder)
    number, red = baseline(bench, mutants)
    for cell, fault in red:
        print(f"RED without a mutant: {cell}: {fault}")
    verdicts = []
    with ThreadPoolExecutor(max(1, args.jobs or 1)) as pool:
        for verdict in pool.map(bench.judge, mutants):
            verdicts.append(verdict)
            tell(verdict)
    data = record(verdicts, number, red, time.monotonic() - begin)
    (args.out / "mutants.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(f"{data['caught']} of {data['mutants']} mutants caught in {data['seconds']} s")
    return exits.FAILED if red or data["caught"] < data["mutants"] else exits.OK


def main(build, argv):
    args = parser(build).parse_args(argv)
    build = Path(os.environ.get("HCASIM_BUILD", HERE.parent / "build" / "mutants"))
    try:
        mutants = select(load(args.catalogue or of_build(build)), args.ids)
        if args.list:
            print("\n".join(f"{mutant.id}  {mutant.what}" for mutant in mutants))
            return exits.OK
        if not planted(build):
            raise CatalogueError(f"{build} was not built with -DHCASIM_MUTANTS=ON (preset mutants)")
        results.make_folder(args.out, ["mutants.json"])
        return run(args, mutants, build / "bin")
    except (CatalogueError, duts.DutError, results.ResultsError) as error:
        print(f"hcasim conform mutants: {error}", file=sys.stderr)
        return exits.WRONG
