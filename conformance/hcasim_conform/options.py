# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Options of hcasim conform and of its subcommands. They import nothing of the suite: completion asks them."""
import argparse
import os
import shlex
from pathlib import Path

from hcasim_cli.parser import Parser

EPILOG = "Also: hcasim conform merge, report, trend, mutants; each has --help. More: docs/conformance.md."


def _number(least):
    def parse(text):
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least}")
        return int(text)

    return parse


def _words(text):
    """A command as a list of words, split as a shell does; it is run without a shell."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from error
    if not words:
        raise argparse.ArgumentTypeError("is empty")
    return words


def _selecting(p):
    p.add_argument(
        "requirements",
        nargs="*",
        metavar="REQUIREMENT",
        help="only cells that test a requirement, by its address in the report: wr/3.2, a section wr/3, a page wr/",
    )
    p.add_argument(
        "--exhaustive", action="store_true", help="run every defined cell (default: a covering set)"
    )
    p.add_argument(
        "-k",
        dest="expression",
        metavar="EXPR",
        help="only cells whose id matches, as pytest -k: 'wr/rdma and not xrc'; "
        "an expression of ids only (ID or ID) runs these in any mode",
    ).completes = "cells"
    p.add_argument(
        "--shard",
        metavar="K/N",
        help="run the K-th of N parts of the cells, from 1; join them with hcasim conform merge",
    )
    p.add_argument("--repeat", type=_number(1), default=1, metavar="N", help="run each cell N times")
    p.add_argument(
        "--seed",
        type=_number(0),
        default=0,
        metavar="N",
        help="seed of the covering set and of message contents (default: %(default)s)",
    )
    p.add_argument(
        "--list",
        action="store_true",
        help="print the selected cells and the sentences they test, run nothing",
    )
    p.add_argument(
        "--explain",
        metavar="ID",
        help="print what a cell posts, which sentence it tests, and whether it runs",
    ).completes = "cells"


def parser(_build):
    p = Parser(
        prog="hcasim conform", description="Runs the conformance suite on a device under test.", epilog=EPILOG
    )
    p.add_argument(
        "--dut",
        default="native",
        metavar="NAME|FILE",
        help="device under test (default: native); device:NAME[/PORT[/GID-INDEX]] is a device of this host",
    ).completes = "duts"
    p.add_argument(
        "--peer",
        metavar="NAME[/PORT[/GID-INDEX]]",
        help="device of the responder, instead of the DUT file's",
    )
    p.add_argument(
        "--peer-command",
        type=_words,
        default=(),
        metavar="COMMAND",
        help="command that starts hcasim-conform-runner --peer on the responder's host, "
        "as in 'ssh host2 hcasim-conform-runner --peer' (docs/duts.md)",
    )
    p.add_argument(
        "--engine",
        metavar="NAME|FILE",
        help="send engine of a simulated adapter instead of the DUT file's, as in hcasim run --engine",
    ).completes = "engines"
    p.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="replace a figure of a simulated adapter's timing profile, as in hcasim run --set; may be repeated",
    ).completes = "figures"
    p.add_argument(
        "--headers",
        type=Path,
        metavar="DIR",
        help="test the inline calls of these headers, compiled with cc: the folder with infiniband/ and rdma/",
    )
    _selecting(p)
    p.add_argument(
        "--out",
        default="conform-out",
        type=Path,
        metavar="DIR",
        help="folder for the reports (default: %(default)s)",
    )
    p.add_argument(
        "--jobs",
        type=_number(1),
        default=len(os.sched_getaffinity(0)),
        metavar="N",
        help="number of parallel runner processes (default: available cores)",
    )
    p.add_argument(
        "--diff",
        nargs="+",
        metavar="RUN",
        help="a gate. One RUN (results.json, or its folder): run the cells, then compare with it; the exit status is "
        "that of the comparison, 1 if anything became worse. Two: compare the second with the first, run nothing",
    )
    p.add_argument(
        "--baseline-libs",
        type=Path,
        metavar="DIR",
        help="folder with the libibverbs and providers of --diff's RUN: a cell that passed there and is flaky now is run "
        "20 times on them and 20 times on the new ones (without: on the new ones, as if it had never failed)",
    )
    p.add_argument(
        "--strict",
        action="store_true",
        help="fail also if a cell is flaky: if it fails, but not in each of its runs",
    )
    p.add_argument(
        "--tap",
        action=argparse.BooleanOptionalAction,
        help="also check wire and host link, if the DUT file has a tap (default: yes, but no with --exhaustive)",
    )
    failures = p.add_mutually_exclusive_group()
    failures.add_argument(
        "-x", dest="maxfail", action="store_const", const=1, help="end the run after the first failing cell"
    )
    failures.add_argument(
        "--maxfail",
        type=_number(1),
        metavar="N",
        help="end the run after N failing cells; the others are in no report",
    )
    p.add_argument("-q", "--quiet", action="store_true", help="print only problems and the last line")
    p.add_argument(
        "--json",
        action="store_true",
        help="print a summary as JSON to stdout, and all other text to stderr",
    )
    p.add_argument(
        "--scenarios",
        type=Path,
        metavar="DIR",
        help="also run the scenarios of the shared objects in this folder (docs/add-a-scenario.md)",
    )
    p.add_argument("--bin", type=Path, metavar="DIR", help="folder with hcasim and hcasim-conform-runner")
    return p


def arguments(build, argv):
    p = parser(build)
    args = p.parse_args(argv)
    if args.diff and len(args.diff) > 2:
        p.error("--diff takes one run, the baseline of this one, or two")
    if args.diff and len(args.diff) == 1 and (args.list or args.explain):
        p.error("--diff RUN compares a run of the cells; --list and --explain run none")
    if args.baseline_libs and (not args.diff or len(args.diff) == 2):
        p.error("--baseline-libs is for --diff RUN: it names the libraries of RUN")
    if args.json and (args.list or args.explain):
        p.error("--json has no effect with --list and --explain, which run nothing")
    return args


def _parser(name, doc, runs):
    p = Parser(prog=f"hcasim conform {name}", description=doc, epilog="More: docs/ci.md.")
    p.add_argument("runs", nargs="+", type=Path, metavar="RUN", help=runs)
    p.add_argument(
        "--out",
        default="conform-out",
        type=Path,
        metavar="DIR",
        help="where the reports go (default: %(default)s)",
    )
    return p


def merge_parser(_build):
    return _parser(
        "merge",
        "Joins the records of shards (--shard K/N) into one run, and exits as that run would have.",
        "results.json of a shard, or its folder",
    )


def report_parser(_build):
    p = _parser(
        "report",
        "Writes one report.html of several runs, side by side.",
        "results.json of a run, or its folder",
    )
    p.add_argument(
        "--baseline",
        metavar="RUN",
        help="adds a filter to the report: cells of the first run that are worse than in RUN",
    )
    p.add_argument("--mutants", type=Path, metavar="FILE", help="mutants.json of hcasim conform mutants")
    return p


def trend_parser(_build):
    p = Parser(
        prog="hcasim conform trend",
        description="Writes trend.html: the outcomes of all runs in a folder, in their order, and which cells changed.",
        epilog="More: docs/ci.md.",
    )
    p.add_argument("folder", type=Path, metavar="FOLDER", help="folder whose subfolders are runs (--out)")
    p.add_argument(
        "--out",
        default="conform-out",
        type=Path,
        metavar="DIR",
        help="where the page goes (default: %(default)s)",
    )
    return p
