# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim timeline, wave and stat: views of what `hcasim run --trace` wrote."""
import json
import os
import sys
import tempfile

from .. import exits
from ..parser import Parser
from . import stat, timeline, wave
from .trace import NoEvents, Trace, TraceError, completions
from .work import assemble


def file_parser(command, what, example):
    p = Parser(
        prog=f"hcasim {command}",
        description=what,
        epilog=f"Example: {example}. More: docs/looking-inside.md.",
    )
    p.add_argument("folder", metavar="DIR", help="folder of hcasim run --trace, or its events.log")
    p.add_argument("-o", "--output", required=True, metavar="FILE", help="file to write")
    return p


def folder_of(name):
    return os.path.dirname(name) or "." if os.path.basename(name) == "events.log" else name


def view(action):
    """Exit status of an action that reads a trace."""
    try:
        action()
    except TraceError as error:
        print(f"hcasim: {error}", file=sys.stderr)
        return exits.WRONG
    except OSError as error:
        print(f"hcasim: {error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        return exits.WRONG
    return exits.OK


def timeline_parser(_build):
    return file_parser(
        "timeline",
        "Writes a timeline for ui.perfetto.dev: a track for each stage and QP, and arrows that follow each work request.",
        "hcasim timeline t -o t.json",
    )


def timeline_main(build, args):
    options = timeline_parser(build).parse_args(args)

    def action():
        trace = Trace(folder_of(options.folder))
        timeline.write(trace, assemble(trace), options.output)

    return view(action)


def wave_parser(_build):
    return file_parser(
        "wave",
        "Writes queue levels, credits and activity of the stages as a waveform (FST; VCD if FILE ends in .vcd).",
        "hcasim wave t -o t.fst",
    )


def wave_main(build, args):
    options = wave_parser(build).parse_args(args)
    return view(lambda: wave.write(Trace(folder_of(options.folder)), options.output))


def show(folder, as_json):
    folder = folder_of(folder)
    try:
        trace = Trace(folder)
    except NoEvents:  # all that there is
        failures = stat.failures(completions(folder))
        if as_json:
            print(json.dumps({"failures": failures}, indent=1))
        else:
            stat.print_failures(failures)
        raise
    figures = stat.figures(trace, assemble(trace))
    if as_json:
        print(json.dumps(figures, indent=1))
    else:
        stat.print_table(figures)


def stat_parser(_build):
    p = Parser(
        prog="hcasim stat",
        usage="hcasim stat [--json] DIR\n       hcasim stat [--json] [options of hcasim run] -- CMD...",
        description="Prints utilisation of the stages, levels of the queues, what work waited for, and latencies by "
        "operation: of a folder of hcasim run --trace, or of a run of CMD.",
        epilog="More: docs/looking-inside.md.",
    )
    p.add_argument("--json", action="store_true", help="as JSON; times in picoseconds")
    return p


def stat_of_run(build, as_json, args):
    from ..run import main as run_main

    with tempfile.TemporaryDirectory(prefix="hcasim-stat-") as folder:
        status = run_main(build, ["--trace", folder, *args])
        return status or view(lambda: show(folder, as_json))


def stat_main(build, args):
    p = stat_parser(build)
    own = args[: args.index("--")] if "--" in args else args
    options, rest = p.parse_known_args(own)
    if "--no-events" in rest:
        p.error("--no-events leaves out events.log, which is what stat reads")
    if "--" in args:
        return stat_of_run(build, options.json, rest + args[args.index("--") :])
    if len(rest) != 1 or rest[0].startswith("-"):
        p.error(f"expects one folder, or -- and a command, not '{' '.join(rest)}'")
    return view(lambda: show(rest[0], options.json))
