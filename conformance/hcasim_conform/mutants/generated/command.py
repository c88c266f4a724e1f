# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim conform mutants --generated: the mutants of a generator, each on the cells that reach it.

Needs a build with -DHCASIM_GENERATED_MUTANTS=ON (docs/mutants.md). Ends with 1 when the score is below the ratchet, or
when a cell is red without a mutant.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path

from hcasim_conform.mutants.judge import usable
from hcasim_conform.model.tables import Tables
from hcasim_conform.run import dut as duts
from hcasim_conform.select.covering import covering, plain
from hcasim_conform.select.enumeration import Enumerator

from . import identical, page, score
from .catalogue import HERE, CatalogueError, equivalents, load
from .trial import MOST, Trial, Catchers, Verdict
from .machine import MachineError
from .reach import reach

CHUNK = 10  # mutants per task: neighbours, which the same cells catch


def parser():
    p = argparse.ArgumentParser(
        prog="hcasim conform mutants --generated", description=__doc__.splitlines()[0]
    )
    p.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="only mutants of these files, as provider/wqe.c or 'sim/core/*'",
    )
    p.add_argument("--number", type=int, action="append", metavar="N", help="only the mutant of this number")
    p.add_argument("--sample", type=int, metavar="N", help="only so many, chosen at random")
    p.add_argument("--seed", metavar="TEXT", help="of the choice (default: the commit's name)")
    p.add_argument(
        "--minutes",
        type=float,
        default=1e6,
        metavar="N",
        help="then no further mutant is begun: those that were are a random part of those that were chosen",
    )
    p.add_argument(
        "--most", type=int, default=MOST, metavar="N", help="cells for a mutant (default: %(default)s)"
    )
    p.add_argument(
        "--covering",
        action="store_true",
        help="of the whole covering set (default: cells that every seed has)",
    )
    p.add_argument("--dut", default="native", metavar="NAME|FILE", help="device with the mutants")
    p.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="mutants at a time")
    p.add_argument(
        "--out",
        type=Path,
        default=Path("conform-out"),
        metavar="DIR",
        help="for mutants.html and generated-mutants.json",
    )
    p.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    p.add_argument("--write-score", action="store_true", help="the score of this run is the new ratchet")
    return p


def select(mutants, args):
    if args.number:
        mutants = [m for m in mutants if m.number in args.number]
    if args.files:
        mutants = [m for m in mutants if any(fnmatchcase(m.file, pattern) for pattern in args.files)]
    if not mutants:
        raise CatalogueError("no mutant is chosen")
    if not args.sample:
        return mutants
    seed = args.seed or commit()
    print(f"{args.sample} of {len(mutants)} mutants, seed {seed}")
    return score.sample(mutants, args.sample, seed)


def commit():
    """The commit of the sources; 0 outside git."""
    run = subprocess.run(
        ["git", "-C", HERE, "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    return run.stdout.strip() or "0"


class Trials:
    """All selected mutants, on several machines at a time."""

    def __init__(self, args, bin_dir, tables, reached, folder):
        self.make = lambda: Trial(args.dut, bin_dir, tables, folder, reached, self.catchers, args.most)
        self.catchers = Catchers()
        self.own = threading.local()
        self.trials = []
        self.until = time.monotonic() + args.minutes * 60

    def chunk(self, mutants):
        if not hasattr(self.own, "trial"):
            self.own.trial = self.make()
            self.trials.append(self.own.trial)
        found = []
        for mutant in mutants:
            if time.monotonic() > self.until:
                break
            found.append(self.own.trial.judge(mutant))
            tell(found[-1])
        return found

    def run(self, mutants, jobs):
        pieces = [mutants[i : i + CHUNK] for i in range(0, len(mutants), CHUNK)]
        random.Random(0).shuffle(pieces)
        try:
            with ThreadPoolExecutor(max(1, jobs)) as pool:
                return [verdict for piece in pool.map(self.chunk, pieces) for verdict in piece]
        finally:
            for trial in self.trials:
                trial.end()


def tell(verdict):
    if verdict.outcome != "caught":
        reach = f", {verdict.reach} cells reach it" if verdict.reach else ""
        print(f"{verdict.outcome:<9} #{verdict.mutant.number} {verdict.mutant}{reach}", flush=True)


def drop_identical(verdicts, build, jobs):
    """Of the mutants that were not caught, those whose object code is the original's are no faults."""
    left = [verdict for verdict in verdicts if verdict.outcome != "caught"]
    reasons = identical.find([verdict.mutant for verdict in left], build, jobs)
    for verdict in left:
        if verdict.mutant.number in reasons:
            verdict.outcome, verdict.reason = "equivalent", reasons[verdict.mutant.number]
    print(f"{len(reasons)} of {len(left)} that were not caught have the original's object code", flush=True)


def judged(args, mutants, reasons, bin_dir, everything):
    """Verdicts of the selected mutants, and the cells that are red without one."""
    begin, tables = time.monotonic(), Tables()
    dut = duts.load(args.dut)
    enumerator = Enumerator(tables)
    cells = usable(covering(enumerator, 0) if args.covering else plain(enumerator), dut)
    reached = reach(dut, bin_dir, cells, everything, args.jobs)
    print(
        f"{len(cells)} cells reach mutants in {len(reached.classes)} ways, {time.monotonic() - begin:.0f} s",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="hcasim-mutants-") as folder:
        trial = Trials(args, bin_dir, tables, reached, folder)
        found = trial.run([m for m in mutants if m.number not in reasons], args.jobs)
    drop_identical(found, bin_dir.parent, args.jobs)
    found += [Verdict(m, "equivalent", reason=reasons[m.number]) for m in mutants if m.number in reasons]
    return sorted(found, key=lambda v: v.mutant.number), reached.red


def report(args, verdicts, red, left_out, seconds):
    counts = score.count(verdicts)
    caught, mutants = score.total(counts.values())
    equal = sum(v.outcome == "equivalent" for v in verdicts)
    about = f"{caught} of {mutants} generated mutants caught in {seconds:.1f} s"
    more = f"{equal} are equivalent and not counted, {left_out} do not compile."
    args.out.mkdir(parents=True, exist_ok=True)
    data = {"caught": caught, "mutants": mutants, "equivalent": equal, "left_out": left_out}
    data |= {
        "seconds": round(seconds, 1),
        "parts": counts,
        "without": red,
        "verdicts": [v.record() for v in verdicts],
    }
    (args.out / "generated-mutants.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    page.write(args.out / "mutants.html", verdicts, f"{about}; {more}")
    for part, (hit, of) in counts.items():
        print(f"{part}: {hit} of {of}, {page.share(hit, of)}")
    return counts, about


def run(args, mutants, left_out, build):
    begin = time.monotonic()
    reasons, chosen = equivalents(mutants), select(mutants, args)
    verdicts, red = judged(args, chosen, reasons, build / "bin", mutants)
    counts, about = report(args, verdicts, red, left_out, time.monotonic() - begin)
    for cell, fault in red:
        print(f"RED without a mutant: {cell}: {fault}")
    said = []
    if args.write_score:
        score.write(counts)
    elif not (args.files or args.number):
        same = {v.mutant.number for v in verdicts if v.outcome == "equivalent"}
        counted = [m for m in mutants if m.number not in reasons and m.number not in same]
        population = {part: sum(m.part == part for m in counted) for part in counts}
        said = score.complaints(counts, score.load(), population)
    for text in said:
        print(f"BELOW the ratchet: {text}")
    print(about)
    return 1 if red or said else 0


def main(argv):
    """Runs the suite on every mutant of the standard operators: who survives shows what no cell tests."""
    args = parser().parse_args(argv)
    build = Path(os.environ.get("HCASIM_BUILD", HERE.parent / "build" / "generated-mutants"))
    os.environ["PATH"] = f"{build / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    try:
        mutants, left_out = load(build)
        if args.list:
            print("\n".join(f"#{m.number} {m}" for m in select(mutants, args)))
            return 0
        return run(args, mutants, left_out, build)
    except (CatalogueError, MachineError, duts.DutError) as error:
        print(f"hcasim conform mutants: {error}", file=sys.stderr)
        return 2
