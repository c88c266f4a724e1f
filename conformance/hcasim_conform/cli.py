# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim conform: runs the conformance suite on a device under test."""
import argparse
import os
import shlex
import sys
import time
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path

from hcasim_cli import exits
from hcasim_cli.parser import Parser
from rich.console import Console

from hcasim_conform import commands
from hcasim_conform.run import device, drive
from hcasim_conform.report import results
from hcasim_conform.taps import judge as taps
from hcasim_conform.report import terminal
from hcasim_conform.run import versions
from hcasim_conform.model.cells import LEVELS
from hcasim_conform.run.dut import DutError, load
from hcasim_conform.select.enumeration import Enumerator
from hcasim_conform.select.explain import explain
from hcasim_conform.select.selection import COVERING, EXHAUSTIVE, SelectionError, Selector, shard_of
from hcasim_conform.run.session import Session, run
from hcasim_conform.model.tables import Tables

EPILOG = "Also: hcasim conform merge, report, mutants; each has --help. More: docs/conformance.md."
PYTEST_OK, PYTEST_FAILED = 0, 1


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
        "--exhaustive", action="store_true", help="run every defined cell (default: a covering set)"
    )
    p.add_argument(
        "-k",
        dest="expression",
        metavar="EXPR",
        help="only cells whose id matches, as pytest -k: 'wr/rdma and not xrc'; "
        "an expression of ids only (ID or ID) runs these in any mode",
    )
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
    )


def parser(_build):
    p = Parser(prog="hcasim conform", description=__doc__, epilog=EPILOG)
    p.add_argument(
        "--dut",
        default="native",
        metavar="NAME|FILE",
        help="device under test (default: native); device:NAME[/PORT[/GID-INDEX]] is a device of this host",
    )
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
    )
    p.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="replace a figure of a simulated adapter's timing profile, as in hcasim run --set; may be repeated",
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
        "--tap",
        action=argparse.BooleanOptionalAction,
        help="also check wire and host link, if the DUT file has a tap (default: yes, but no with --exhaustive)",
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
    return args


def bin_dir(given):
    """The programs of the build: from the option, HCASIM_BUILD, or the release build."""
    if given:
        if not (given / drive.RUNNER).exists():
            raise device.DeviceError(f"--bin '{given}': there is no {drive.RUNNER}")
        return given.resolve()
    build = os.environ.get("HCASIM_BUILD")
    return Path(build) / "bin" if build else Path(__file__).resolve().parents[2] / "build" / "release" / "bin"


def print_counts(selection, file):
    """How many cells exist, run and are left out, and why."""
    counts = selection.counts()
    levels = Counter(c.expect.level for c in selection.cells)
    run = ", ".join(f"{levels[level]} {level}" for level in LEVELS if levels[level])
    print(
        f"{counts['exist']} cells exist; {selection.mode}, seed {selection.seed}: {counts['run']} run ({run})",
        file=file,
    )
    for reason, number in sorted(counts["left_out"].items(), key=lambda item: -item[1]):
        print(f"{number:>8} not: {reason}", file=file)


def list_cells(selection):
    sys.stdout.writelines(f"{c.id}  {c.expect.level}  {c.expect.clause}\n" for c in selection.cells)
    print_counts(selection, sys.stderr)


def stale_keys(dut, selector, selection):
    """Keys of the DUT file that no cell matches; all cells are enumerated only if the selected ones do not suffice."""
    found = dut.stale_keys(selection.cells)
    return dut.stale_keys(list(selector.enumerator.defined())) if found else []


def wants_taps(args):
    return not args.exhaustive if args.tap is None else args.tap


def execute(args, tables, selector, selection, dut):
    console = Console()
    print_counts(selection, console.file)
    started, begin = datetime.now(timezone.utc), time.monotonic()
    if wants_taps(args):
        taps.enable(dut, tables, args.out)
    session = Session(selection, dut, bin_dir(args.bin), args.jobs, terminal.Bar(console), args.repeat)
    status = run(session)
    if session.error:
        print(f"hcasim conform: {session.error}", file=sys.stderr)
        return exits.WRONG
    if status not in (PYTEST_OK, PYTEST_FAILED):
        return exits.WRONG
    faults = session.faults + [
        f"DUT file: stale key: {text}" for text in stale_keys(dut, selector, selection)
    ]
    about = results.Run(
        command=args.command,
        started=started.isoformat(timespec="seconds"),
        seconds=time.monotonic() - begin,
        versions={**versions.collect(bin_dir(args.bin), dut.env), **device.describe(dut)},
        mode=selection.mode,
        seed=selection.seed,
        repeat=args.repeat,
        expression=args.expression,
        shard=args.part,
        counts=selection.counts(session.skipped),
        findings=[finding.record() for finding in dut.findings],
        faults=faults,
    )
    data = results.record(tables, dut, selection.cells, session.outcomes, about)
    commands.write_reports(data, args.out)
    terminal.summarize(data, args.out, console)
    return exits.FAILED if status or faults or dut.new_findings() else exits.OK


def conform(args):
    baseline = commands.baseline(args.diff[0], args.out) if args.diff else None
    tables = Tables()
    dut = load(args.dut, args.peer, args.peer_command, args.engine, args.set)
    args.part = shard_of(args.shard) if args.shard else None
    selector = Selector(Enumerator(tables), EXHAUSTIVE if args.exhaustive else COVERING, args.seed)
    if args.explain:
        print("\n".join(explain(tables, selector, args.explain, dut.lacks)))
        return exits.OK
    selection = selector.select(args.expression, args.part)
    if args.list:
        list_cells(selection)
        return exits.OK
    results.make_folder(args.out)
    status = execute(args, tables, selector, selection, dut)
    if not baseline or status == exits.WRONG:
        return status
    return commands.tell_difference((args.diff[0], args.out), baseline, results.load(args.out))


def main(build, argv):
    args = arguments(build, argv)
    if args.diff and len(args.diff) == 2:
        return commands.diff_runs(args.diff)
    args.command = shlex.join(["hcasim", "conform", *argv])
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        return conform(args)
    except (DutError, device.DeviceError, SelectionError, results.ResultsError) as error:
        print(f"hcasim conform: {error}", file=sys.stderr)
        return exits.WRONG
