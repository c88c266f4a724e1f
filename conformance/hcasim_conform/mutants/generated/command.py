# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim conform mutants --generated: the mutants of a generator, each on the cells that reach it.

Needs a build with -DHCASIM_GENERATED_MUTANTS=ON (docs/mutants.md). Ends with 1 when the score is below the ratchet, or
when a cell is red without a mutant.
"""
import json
import os
import random
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path

from hcasim_cli import exits
from hcasim_cli.parser import Parser

from hcasim_conform.mutants.judge import usable
from hcasim_conform.model.tables import Tables
from hcasim_conform.report import results
from hcasim_conform.run import dut as duts
from hcasim_conform.select.covering import covering, plain
from hcasim_conform.select.enumeration import Enumerator
from hcasim_conform.select.selection import SelectionError, shard_of

from . import identical, page, score
from .catalogue import HERE, KEYS, SAME, CatalogueError, equivalents, load
from .trial import MOST, Trial, Catchers, Verdict
from .machine import MachineError
from .kept import reached as record

CHUNK = 10  # mutants per task: neighbours, which the same cells catch
MOST_REFUTED = 0.05  # of a sample of listed mutants
TOLD = 200  # mutants after which a run says how far it is
LEFT = ("survived", "unreached")
OUTPUT = ["generated-mutants.json", "mutants.html", SURVIVORS := "survivors.txt"]


def parser(_build):
    p = Parser(
        prog="hcasim conform mutants",
        description="Runs the suite on every mutant of the standard operators: those that survive show what no cell tests.",
        epilog="More: docs/mutants.md.",
    )
    p.add_argument(
        "--generated",
        action="store_true",
        required=True,
        help="the mutants of the generator; without it those of the catalogue",
    )
    p.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="only mutants of these files or functions, as provider/wqe.c, 'sim/core/*' or provider/wqe.c:open_data",
    )
    p.add_argument("--number", type=int, action="append", metavar="N", help="only the mutant of this number")
    p.add_argument(
        "--again",
        type=Path,
        metavar="JSON",
        help="only those that the run with this generated-mutants.json did not catch",
    )
    p.add_argument(
        "--listed", action="store_true", help="only those that are listed as equivalent: none may be caught"
    )
    p.add_argument("--sample", type=int, metavar="N", help="only so many, chosen at random")
    p.add_argument("--seed", default="0", metavar="TEXT", help="of the choice (default: %(default)s)")
    p.add_argument(
        "--shard",
        default="1/1",
        metavar="K/N",
        help="only the K-th of N parts, from 1, each of which has mutants of all files (default: %(default)s)",
    )
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
    p.add_argument(
        "--dut", default="native", metavar="NAME|FILE", help="device with the mutants"
    ).completes = "duts"
    p.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="mutants at a time")
    p.add_argument(
        "--out",
        type=Path,
        default=Path("conform-out"),
        metavar="DIR",
        help="for mutants.html, survivors.txt and generated-mutants.json",
    )
    p.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    p.add_argument("--write-score", action="store_true", help="the score of this run is the new ratchet")
    return p


def not_caught(path):
    """The mutants that an earlier run did not catch, by all that a later build leaves as it is."""
    try:
        verdicts = json.loads(path.read_text(encoding="utf-8"))["verdicts"]
        return {tuple(v["mutant"][name] for name in KEYS) for v in verdicts if v["outcome"] in LEFT}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CatalogueError(f"--again {path}: {error!r}") from error


def select(mutants, args, known):
    if args.number:
        mutants = [m for m in mutants if m.number in args.number]
    if args.files:
        names = ("{0.file}", "{0.file}:{0.function}")
        mutants = [
            m
            for m in mutants
            if any(fnmatchcase(name.format(m), pattern) for name in names for pattern in args.files)
        ]
    if args.again:
        left = not_caught(args.again)
        mutants = [m for m in mutants if m.key in left]
    if args.listed:
        mutants = [m for m in mutants if m.number in known]
    if not mutants:
        raise CatalogueError("no mutant is chosen")
    number, parts = shard_of(args.shard)
    mutants = mutants[number - 1 :: parts]
    if not args.sample:
        return mutants
    print(f"{args.sample} of {len(mutants)} mutants, seed {args.seed}")
    return score.sample(mutants, args.sample, args.seed)


class Trials:
    """All selected mutants, on several machines at a time."""

    def __init__(self, args, bin_dir, tables, reached, folder):
        self.make = lambda: Trial(args.dut, bin_dir, tables, folder, reached, self.catchers, args.most)
        self.catchers, self.listed = Catchers(), args.listed
        self.own = threading.local()
        self.trials = []
        self.until = time.monotonic() + args.minutes * 60
        self.lock, self.tried, self.caught = threading.Lock(), 0, 0

    def chunk(self, mutants):
        if not hasattr(self.own, "trial"):
            self.own.trial = self.make()
            self.trials.append(self.own.trial)
        found = []
        for mutant in mutants:
            if time.monotonic() > self.until:
                break
            trial = self.own.trial
            found.append(trial.twice(mutant) if self.listed else trial.judge(mutant))
            tell(found[-1], self.listed)
            self._count(found[-1])
        return found

    def _count(self, verdict):
        with self.lock:
            self.tried += 1
            self.caught += verdict.outcome == "caught"
            if self.tried % TOLD == 0:
                print(f"{self.caught} of the first {self.tried} caught", flush=True)

    def run(self, mutants, jobs):
        pieces = [mutants[i : i + CHUNK] for i in range(0, len(mutants), CHUNK)]
        random.Random(0).shuffle(pieces)
        try:
            with ThreadPoolExecutor(max(1, jobs)) as pool:
                return [verdict for piece in pool.map(self.chunk, pieces) for verdict in piece]
        finally:
            for trial in self.trials:
                trial.end()


def tell(verdict, listed=False):
    if verdict.outcome == "caught" and listed:
        print(
            f"CAUGHT    #{verdict.mutant.number} {verdict.mutant} by {verdict.cell}: {verdict.fault}",
            flush=True,
        )
    elif verdict.outcome != "caught":
        print(survivor(verdict), flush=True)


def survivor(verdict):
    reach = f", {verdict.reach} cells reach it" if verdict.reach else ""
    return f"{verdict.outcome:<9} #{verdict.mutant.number} {verdict.mutant}{reach}"


def drop_identical(verdicts, build, jobs):
    """Of the mutants that were not caught, those whose object code is the original's are no faults."""
    left = [verdict for verdict in verdicts if verdict.outcome != "caught"]
    reasons = identical.find([verdict.mutant for verdict in left], build, jobs)
    for verdict in left:
        if verdict.mutant.number in reasons:
            verdict.outcome, verdict.kind = "equivalent", SAME
            verdict.reason = reasons[verdict.mutant.number]
    print(f"{len(reasons)} of {len(left)} that were not caught have the original's object code", flush=True)


def judged(args, mutants, known, bin_dir, everything):
    """Verdicts of the selected mutants, and the cells that are red without one."""
    begin, tables = time.monotonic(), Tables()
    dut = duts.load(args.dut)
    enumerator = Enumerator(tables)
    cells = usable(covering(enumerator, 0) if args.covering else plain(enumerator), dut)
    reached = record(dut, bin_dir, cells, everything, args.jobs)
    print(
        f"{len(cells)} cells reach mutants in {len(reached.classes)} ways, {time.monotonic() - begin:.0f} s",
        flush=True,
    )
    tried = [m for m in mutants if args.listed or m.number not in known]
    with tempfile.TemporaryDirectory(prefix="hcasim-mutants-") as folder:
        found = Trials(args, bin_dir, tables, reached, folder).run(tried, args.jobs)
    if not args.listed:
        drop_identical(found, bin_dir.parent, args.jobs)
        found += [Verdict(m, "equivalent", **vars(known[m.number])) for m in mutants if m.number in known]
    return sorted(found, key=lambda v: v.mutant.number), reached.red


def report(args, verdicts, red, left_out, seconds):
    counts = score.count(verdicts)
    caught, mutants = score.total(counts.values())
    kinds = score.kinds(verdicts)
    about = f"{caught} of {mutants} generated mutants caught in {seconds:.1f} s"
    more = f"{score.tell_kinds(kinds, caught, mutants)}; {left_out} do not compile."
    data = {"caught": caught, "mutants": mutants, "equivalent": kinds, "left_out": left_out}
    data |= {
        "seconds": round(seconds, 1),
        "parts": counts,
        "without": red,
        "verdicts": [v.record() for v in verdicts],
    }
    (args.out / "generated-mutants.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    page.write(args.out / "mutants.html", verdicts, f"{about}; {more}")
    left = [v for v in verdicts if v.outcome in LEFT]
    (args.out / SURVIVORS).write_text("".join(f"{survivor(v)}\n" for v in left), encoding="utf-8")
    for part, (hit, of) in counts.items():
        print(f"{part}: {hit} of {of}, {score.share(hit, of)}")
    print(score.tell_kinds(kinds, caught, mutants))
    return counts, about


def refuted(verdicts, sample):
    """What the run of listed mutants found; of a sample a few may be caught: a row that is no longer true raises no score."""
    caught = [v for v in verdicts if v.outcome == "caught"]
    for v in caught:
        print(f"listed as equivalent, but caught by {v.cell}: #{v.mutant.number} {v.mutant}")
    most = int(len(verdicts) * MOST_REFUTED) if sample else 0
    return [f"{len(caught)} listed mutants are caught, at most {most} may be"] if len(caught) > most else []


def complaints(args, counts, verdicts, mutants, known):
    if args.listed:
        return refuted(verdicts, args.sample)
    if args.files or args.number or args.again:
        return []
    same = {v.mutant.number for v in verdicts if v.outcome == "equivalent"}
    counted = [m for m in mutants if m.number not in known and m.number not in same]
    population = {part: sum(m.part == part for m in counted) for part in counts}
    return [f"BELOW the ratchet: {text}" for text in score.complaints(counts, score.load(), population)]


def run(args, mutants, left_out, build):
    begin, known = time.monotonic(), equivalents(mutants)
    verdicts, red = judged(args, select(mutants, args, known), known, build / "bin", mutants)
    counts, about = report(args, verdicts, red, left_out, time.monotonic() - begin)
    for cell, fault in red:
        print(f"RED without a mutant: {cell}: {fault}")
    said = []
    if args.write_score:
        score.write(counts)
    else:
        said = complaints(args, counts, verdicts, mutants, known)
    for text in said:
        print(text)
    print(about)
    return exits.FAILED if red or said else exits.OK


def show(mutants, known):
    for m in mutants:
        print(f"#{m.number} {m}" + (f" [{known[m.number].kind}]" if m.number in known else ""))
    return exits.OK


def main(build, argv):
    args = parser(build).parse_args(argv)
    build = Path(os.environ.get("HCASIM_BUILD", HERE.parent / "build" / "generated-mutants"))
    os.environ["PATH"] = f"{build / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    try:
        mutants, left_out = load(build)
        if args.list:
            known = equivalents(mutants)
            return show(select(mutants, args, known), known)
        results.make_folder(args.out, OUTPUT)
        return run(args, mutants, left_out, build)
    except (CatalogueError, MachineError, SelectionError, duts.DutError, results.ResultsError) as error:
        print(f"hcasim conform mutants: {error}", file=sys.stderr)
        return exits.WRONG
