# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Subcommands of hcasim conform that use the records of earlier runs: merge, report, --diff."""
import json
import os
import sys
from pathlib import Path

from hcasim_cli import exits
from hcasim_conform.options import merge_parser, report_parser, trend_parser
from hcasim_conform.report import badge, brief, diff, trend
from hcasim_conform.report import junit
from hcasim_conform.report import merge
from hcasim_conform.report import results
from hcasim_conform.report import terminal
from hcasim_conform.report.html import write_html

STYLE = {
    "worse": "bold red",
    "better": "green",
    "flaky": "bold yellow",
    "new": "cyan",
    "gone": "yellow",
    "note": "dim",
    "same": "bold",
}


REPORTS = ("results.json", "junit.xml", "report.html", "baseline.json.gz", "badge.svg")


def write_reports(data, out, difference=None):
    """REPORTS in a folder. `difference`: of diff.compare(), from the baseline of the run."""
    record, tests, page, outcomes, picture = (out / name for name in REPORTS)
    try:
        results.write_json(data, record)
        results.write_json(results.outcomes_only(data), outcomes)
        junit.write(data, tests)
        picture.write_text(badge.draw(data["summary"], status(data)), encoding="utf-8")
        write_html([data], page, changed=difference and difference.changed)
    except OSError as error:
        raise results.ResultsError(f"--out '{out}': the results are not written: {error.strerror}") from error


def status(data):
    """0 if every cell was run, and passes or fails as the DUT file says; the same for findings."""
    summary = data["summary"]
    new = [finding for finding in data["findings"] if not finding.get("reason")]
    red = summary["fail"] or summary["unexpected"] or data["strict"] and summary["flaky"]
    stopped = results.STOPPED in data["counts"]["left_out"]
    return exits.FAILED if red or stopped or data["faults"] or new else exits.OK


def _say(console):
    def say(kind, text):
        console.print(f"{kind:<6} {text}", style=STYLE[kind], markup=False, highlight=False, soft_wrap=True)

    return say


def diff_runs(args):
    """hcasim conform --diff A B"""
    try:
        runs = list(map(results.load, args.diff))
    except results.ResultsError as error:
        return _refuse("--diff", error)
    difference = diff.compare(*runs)
    status = tell_difference(args.diff, difference, args)
    if args.json and status != exits.WRONG:
        print(json.dumps({"status": status, "difference": brief.of_difference(difference)}, indent=1))
    return status


def baseline(path, out):
    """The record that a run to come is compared with. It is read before that run, which must not replace it."""
    data = results.load(path)
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    if folder.resolve() == out.resolve():
        raise results.ResultsError(f"--diff {path}: the run would replace it: give another folder with --out")
    return data


def tell_difference(paths, difference, args):
    """Prints what changed; returns the exit status of a gate."""
    if not difference.common:
        return _refuse("--diff", f"{paths[0]} and {paths[1]} have no cell in common")
    diff.tell(difference, _say(args.console), args.quiet)
    return exits.FAILED if difference.worse else exits.OK


def _refuse(what, error):
    print(f"hcasim conform {what}: {error}", file=sys.stderr)
    return exits.WRONG


def report_main(build, argv):
    args = report_parser(build).parse_args(argv)
    try:
        runs = [results.load(run) for run in args.runs]
        changed = diff.compare(results.load(args.baseline), runs[0]).changed if args.baseline else None
        mutants = args.mutants and _load_mutants(args.mutants)
        results.make_folder(args.out, ["report.html"])
    except results.ResultsError as error:
        return _refuse("report", error)
    folders = [run if run.is_dir() else run.parent for run in args.runs]
    try:
        write_html(runs, args.out / "report.html", folders, mutants, changed)
    except OSError as error:
        return _refuse("report", f"{args.out / 'report.html'}: {error.strerror}")
    print(f"{args.out / 'report.html'}: {len(runs)} runs side by side")
    return exits.OK


def trend_main(build, argv):
    args = trend_parser(build).parse_args(argv)
    try:
        runs = trend.load(args.folder)
        results.make_folder(args.out, ["trend.html"])
        trend.write(runs, args.out / "trend.html")
    except results.ResultsError as error:
        return _refuse("trend", error)
    except OSError as error:
        return _refuse("trend", f"{args.out / 'trend.html'}: {error.strerror}")
    print(f"{args.out / 'trend.html'}: {len(runs)} runs")
    return exits.OK


def _load_mutants(path):
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {key: data[key] for key in ("caught", "mutants", "verdicts")}
    except OSError as error:
        raise results.ResultsError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise results.ResultsError(f"{path}: not what hcasim conform mutants writes: {error!r}") from error


def _move_artefacts(run, source, out):
    """Rewrites the paths of artefacts relative to the record's new folder; the files are not moved."""
    for row in run["cells"]:
        for artefact in row["artefacts"]:
            if artefact["path"]:
                artefact["path"] = os.path.relpath(source / artefact["path"], out)


def merge_main(build, argv):
    args = merge_parser(build).parse_args(argv)
    try:
        shards = [results.load(run) for run in args.runs]
        data = merge.merge(shards, [str(run) for run in args.runs])
        results.make_folder(args.out, REPORTS)
        for shard, run in zip(shards, args.runs):
            _move_artefacts(shard, run if run.is_dir() else run.parent, args.out)
        write_reports(data, args.out)
    except (results.ResultsError, merge.MergeError) as error:
        return _refuse("merge", error)
    terminal.summarize(data, args.out)
    return status(data)
