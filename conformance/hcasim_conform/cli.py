# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim conform: runs the conformance suite on a device under test."""
import json
import os
import shlex
import sys
import time
from collections import Counter
from datetime import datetime, timezone

from hcasim_cli import exits
from rich.console import Console

from hcasim_conform import commands, programs, suites
from hcasim_conform.run import device, drive, headers, memlock, mutants
from hcasim_conform.report import brief, diff, results
from hcasim_conform.taps import artefacts
from hcasim_conform.taps import judge as taps
from hcasim_conform.report import terminal
from hcasim_conform.run import versions
from hcasim_conform.model import addresses
from hcasim_conform.model.cells import LEVELS
from hcasim_conform.run.dut import DutError, load
from hcasim_conform.select.enumeration import Enumerator
from hcasim_conform.select.explain import explain
from hcasim_conform.select.selection import (
    COVERING,
    EXHAUSTIVE,
    Selection,
    SelectionError,
    Selector,
    shard_of,
)
from hcasim_conform.options import arguments, parser
from hcasim_conform.run.session import NOT_RUN, Session, run
from hcasim_conform.model.tables import Tables

PYTEST_OK, PYTEST_FAILED = 0, 1
RUNS = 20  # of a cell that has become flaky
WRONG = (
    DutError,
    device.DeviceError,
    SelectionError,
    results.ResultsError,
    mutants.CatalogueError,
    headers.HeadersError,
    suites.ScenarioError,
)


def bin_dir(given):
    """The programs of the build: from the option, HCASIM_BUILD, or the release build."""
    if given:
        if not (given / drive.RUNNER).exists():
            raise device.DeviceError(f"--bin '{given}': there is no {drive.RUNNER}")
        return given.resolve()
    return programs.folder()


def check_libraries(folder):
    if folder and not (folder / "libibverbs.so.1").exists():
        raise device.DeviceError(f"--baseline-libs '{folder}': there is no libibverbs.so.1")


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
    at = addresses.load()
    sys.stdout.writelines(
        f"{c.id}  {c.expect.level}  {at[c.expect.clause]}  {c.expect.clause}\n" for c in selection.cells
    )
    print_counts(selection, sys.stderr)


def stale_keys(dut, selector, selection):
    """Keys of the DUT file that no cell matches; all cells are enumerated only if the selected ones do not suffice."""
    found = dut.stale_keys(selection.cells)
    return dut.stale_keys(list(selector.enumerator.defined())) if found else []


def wants_taps(args):
    return not args.exhaustive if args.tap is None else args.tap


def execute(args, tables, selector, selection, dut):
    """Runs the cells. The exit status, and the record of the run if there is one."""
    started, begin = datetime.now(timezone.utc), time.monotonic()
    if wants_taps(args):
        taps.enable(dut, tables, args.out)
    bar = terminal.Bar(args.console, args.quiet)
    session = Session(selection, dut, bin_dir(args.bin), args.jobs, bar, args.repeat, args.maxfail)
    if not args.quiet:
        session.ready = lambda: print_counts(selection, args.console.file)
    status = run(session)
    if session.error:
        print(f"hcasim conform: {session.error}", file=sys.stderr)
        return exits.WRONG, None
    if status not in (PYTEST_OK, PYTEST_FAILED):
        return exits.WRONG, None
    faults = session.faults + [
        f"DUT file: stale key: {text}" for text in stale_keys(dut, selector, selection)
    ]
    stopped = {i: results.STOPPED for i, (outcome, *_) in session.outcomes.items() if outcome == NOT_RUN}
    about = results.Run(
        command=args.command,
        started=started.isoformat(timespec="seconds"),
        seconds=time.monotonic() - begin,
        versions={**versions.collect(bin_dir(args.bin), dut.env), **device.describe(dut), **args.mutant},
        mode=selection.mode,
        seed=selection.seed,
        repeat=args.repeat,
        strict=args.strict,
        expression=args.expression,
        requirements=args.requirements,
        shard=args.part,
        counts=selection.counts({**session.skipped, **stopped}),
        findings=[finding.record() for finding in dut.findings],
        faults=faults,
    )
    cells = [cell for cell in selection.cells if cell.id not in stopped]
    data = results.record(tables, dut, cells, session.outcomes, about)
    return commands.status(data), data


def failures(args, dut, cells, libraries=None):
    """How often each of these cells fails in RUNS runs, on other libraries if they are given: {id: number}."""
    usual = dict(dut.env)
    dut.env |= {"LD_LIBRARY_PATH": str(libraries)} if libraries else {}
    selection = Selection(COVERING, args.seed, cells, len(cells), {})
    session = Session(selection, dut, bin_dir(args.bin), args.jobs, terminal.Bar(args.console, True), RUNS)
    try:
        run(session)
    finally:
        dut.env = usual
    if session.error:
        raise device.DeviceError(session.error)
    return {cell.id: session.failures(cell) for cell in cells}


def rates_of(args, dut, cells):
    """For diff.compare(): how often these cells fail with the libraries of this run, and with those of the baseline."""
    if not cells:
        return {}
    if dut.tap:
        dut.tap.keep.out = None
    now = failures(args, dut, cells)
    before = failures(args, dut, cells, args.baseline_libs) if args.baseline_libs else {}
    return {cell_id: (number, before.get(cell_id), RUNS) for cell_id, number in now.items()}


def compare(args, dut, selection, baseline, data):
    """The difference from the baseline. Cells that have become flaky are run again, unless they are fatal anyhow."""
    ids = () if args.strict else diff.suspects(baseline, data)
    rates = rates_of(args, dut, [cell for cell in selection.cells if cell.id in ids])
    return diff.compare(baseline, data, rates)


def conform(args):
    baseline = commands.baseline(args.diff[0], args.out) if args.diff else None
    check_libraries(args.baseline_libs)
    tables = Tables()
    dut = load(args.dut, args.peer, args.peer_command, args.engine, args.set)
    mutant = mutants.active(bin_dir(args.bin).parent, dut.env)
    args.mutant = {"mutant": mutant} if mutant else {}
    args.part = shard_of(args.shard) if args.shard else None
    selector = Selector(
        Enumerator(tables), EXHAUSTIVE if args.exhaustive else COVERING, args.seed, args.requirements
    )
    if args.explain:
        print("\n".join(explain(tables, selector, args.explain, dut.lacks)))
        return exits.OK
    selection = selector.select(args.expression, args.part)
    if args.list:
        list_cells(selection)
        return exits.OK
    results.make_folder(args.out, commands.REPORTS, artefacts.FOLDER if wants_taps(args) else None)
    if args.headers:
        headers.build(args.headers, args.out)
    note = memlock.allow(dut)
    if note and not args.quiet:
        print(f"hcasim conform: {note}", file=sys.stderr)
    status, data = execute(args, tables, selector, selection, dut)
    if not data:
        return status
    about = brief.of_run(data, args.out)
    difference = compare(args, dut, selection, baseline, results.reread(data)) if baseline else None
    try:
        commands.write_reports(data, args.out, difference)
    finally:  # what is said here is not lost even if the reports are
        terminal.summarize(data, args.out, args.console, args.quiet)
    if baseline:
        status = commands.tell_difference((args.diff[0], args.out), difference, args)
        about["difference"] = brief.of_difference(difference)
    if args.json:
        print(json.dumps({"status": status, **about}, indent=1))
    return status


def main(build, argv):
    args = arguments(build, argv)
    args.console = Console(stderr=args.json)
    if args.diff and len(args.diff) == 2:
        return commands.diff_runs(args)
    args.command = shlex.join(["hcasim", "conform", *argv])
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    if args.scenarios:
        os.environ["HCASIM_SCENARIOS"] = str(args.scenarios.resolve())
    try:
        return conform(args)
    except WRONG as error:
        print(f"hcasim conform: {error}", file=sys.stderr)
        return exits.WRONG


__all__ = ["main", "parser"]
