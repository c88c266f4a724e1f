# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim conform: runs the conformance suite on a device under test."""
import argparse
import os
import shlex
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

from rich.console import Console

from . import commands, device, results, taps, terminal, versions
from .dut import DutError, load
from .enumeration import Enumerator
from .session import Session, run
from .tables import Tables

EPILOG = "Also: hcasim conform merge (shards into one run), hcasim conform report (runs side by side); each has --help."
PYTEST_OK, PYTEST_FAILED, PYTEST_NONE = 0, 1, 5


def parser():
    p = argparse.ArgumentParser(prog="hcasim conform", description=__doc__, epilog=EPILOG)
    p.add_argument(
        "--dut",
        default="native",
        metavar="NAME|FILE",
        help="device under test (default: native); device:NAME[/PORT[/GID-INDEX]] is one of this machine",
    )
    p.add_argument(
        "--peer",
        metavar="NAME[/PORT[/GID-INDEX]]",
        help="device at the responder's end, in place of the DUT file's",
    )
    p.add_argument(
        "-k",
        dest="expression",
        metavar="EXPR",
        help="only cells whose id matches, as pytest -k: 'wr/rdma and not xrc'",
    )
    p.add_argument(
        "--out",
        default="conform-out",
        type=Path,
        metavar="DIR",
        help="where the reports go (default: %(default)s)",
    )
    p.add_argument(
        "--list", action="store_true", help="print the selected cells and what they cite, run nothing"
    )
    p.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count(),
        metavar="N",
        help="runner processes at a time (default: cores)",
    )
    p.add_argument(
        "--diff",
        nargs=2,
        metavar=("A", "B"),
        help="compare two runs (results.json, or its folder), run nothing; 1 when anything became worse",
    )
    p.add_argument(
        "--tap",
        action=argparse.BooleanOptionalAction,
        help="judge wire and host link, too, where the DUT file says how (default: yes)",
    )
    p.add_argument("--bin", type=Path, metavar="DIR", help="where hcasim and hcasim-conform-runner are")
    return p


def bin_dir(given):
    """The programs of the same build: given, named by HCASIM_BUILD, or those of a release build."""
    if given:
        return given.resolve()
    build = os.environ.get("HCASIM_BUILD")
    return Path(build) / "bin" if build else Path(__file__).resolve().parents[2] / "build" / "release" / "bin"


def list_cells(cells):
    for cell in cells:
        print(f"{cell.id}  {cell.expect.level}  {cell.expect.clause}")


def execute(args, tables, cells, dut):
    console = Console()
    started, begin = datetime.now(timezone.utc), time.monotonic()
    if args.tap or args.tap is None:
        taps.enable(dut, tables, args.out)
    session = Session(cells, dut, bin_dir(args.bin), max(1, args.jobs or 1), terminal.Bar(console))
    status = run(session, args.expression)
    if session.error:
        print(f"hcasim conform: {session.error}", file=sys.stderr)
        return 2
    if status not in (PYTEST_OK, PYTEST_FAILED):
        return 2 if status != PYTEST_NONE else no_cell(args.expression)
    faults = session.faults + [f"DUT file: stale key: {text}" for text in dut.stale_keys(cells)]
    about = results.Run(
        command=args.command,
        started=started.isoformat(timespec="seconds"),
        seconds=time.monotonic() - begin,
        versions={**versions.collect(bin_dir(args.bin)), **device.describe(dut)},
        expression=args.expression,
        findings=[finding.record() for finding in dut.findings],
        faults=faults,
    )
    data = results.record(tables, dut, session.selected, session.outcomes, about)
    commands.write_reports(data, args.out)
    terminal.summarize(data, args.out, console)
    return 1 if status or faults or dut.new_findings() else 0


def no_cell(expression):
    print(f"hcasim conform: -k {expression!r} selects no cell", file=sys.stderr)
    return 2


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in commands.COMMANDS:
        return commands.COMMANDS[argv[0]](argv[1:])
    args = parser().parse_args(argv)
    if args.diff:
        return commands.diff_runs(args.diff)
    args.command = shlex.join(["hcasim", "conform", *argv])
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    tables = Tables()
    cells = Enumerator(tables).cells()
    try:
        dut = load(args.dut, args.peer)
    except DutError as error:
        print(f"hcasim conform: {error}", file=sys.stderr)
        return 2
    if not args.list:
        return execute(args, tables, cells, dut)
    session = Session(cells, dut, None, 1, None)
    status = run(session, args.expression, collect_only=True)
    list_cells(session.selected)
    return 0 if status == PYTEST_OK else no_cell(args.expression) if status == PYTEST_NONE else 2
