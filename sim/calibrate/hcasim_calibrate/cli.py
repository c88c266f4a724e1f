# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim calibrate: the options, and what they ask for."""
import argparse
import itertools
import json
import shlex
import sys

import yaml
from hcasim_cli import exits
from hcasim_cli.options import add_set, profile_in
from hcasim_cli.parser import Parser
from hcasim_cli.profile import ProfileError, effective_file

from . import sensitivity, table
from .data import DataError, load, rows_of
from .measure import MeasureError, measure_dma, measure_verbs, wire_rate
from .trace import TraceError

ERRORS = (DataError, MeasureError, ProfileError, TraceError, OSError)


def parser(build):
    p = Parser(
        prog="hcasim calibrate",
        description="Runs published experiments on the model, through the real provider, and prints what it does and "
        "what was published, with the error.",
        epilog="hcasim calibrate --against ENGINE compares with an engine's clock cycles; --help with it lists its "
        "options. More: docs/calibrate.md.",
    )
    p.add_argument(
        "--experiments",
        action="append",
        metavar="FILE|FOLDER",
        help="experiments to run, as YAML; may be repeated (default: those of sim/calibrate/experiments)",
    )
    p.add_argument("-k", dest="match", default="", metavar="TEXT", help="only those with TEXT in their name")
    p.add_argument(
        "--profile",
        type=profile_in(build.profiles),
        metavar="NAME|FILE",
        help="timing profile of all experiments (default: the one that each names)",
    ).completes = "profiles"
    add_set(p)
    p.add_argument(
        "--fit",
        metavar="NAME|FILE",
        help="find the figures of a profile with which the rows that are to be fitted are met best: a file of "
        "sim/calibrate/fits says which figures and experiments",
    )
    p.add_argument(
        "--sensitivity",
        type=profile_in(build.profiles),
        metavar="NAME|FILE",
        help="double each figure of a profile in turn, and print which published rows move",
    ).completes = "profiles"
    p.add_argument(
        "--write",
        nargs="?",
        const="",
        metavar="FILE",
        help="--fit: write the profile; --sensitivity: only of figures whose source says 'not calibrated "
        "yet', or what an earlier table found, and write the profile with what is found in their sources (default: "
        "in its place)",
    )
    p.add_argument("--list", action="store_true", help="print the names of the experiments")
    p.add_argument(
        "--html", metavar="FILE", help="also write a page with tables and plots, which needs no other file"
    )
    p.add_argument("--json", metavar="FILE", help="also write all figures to this file")
    return p


def profile_of(build, data, options):
    if options.profile:
        return options.profile
    try:
        return profile_in(build.profiles)(data["profile"])
    except argparse.ArgumentTypeError as error:
        raise DataError(f"{data['file']}: profile: {error}") from None


def measure_all(build, rows, options, more=()):
    """Rows that share a machine are run on one. `more`: figures of the profile that are set last."""

    def machine(row):
        data = row.experiment
        sets = (*data.get("set", ()), *options.set, *more)
        return (
            data.get("program", "verbs"),
            profile_of(build, data, options),
            sets,
            data["quantity"] == "latency",
        )

    for (program, profile, sets, _), group in itertools.groupby(sorted(rows, key=machine), key=machine):
        with effective_file(build, profile, sets) as path:
            if program == "dma":
                measure_dma(build, list(group), path)
            else:
                measure_verbs(build, list(group), path, wire_rate(path))


def chosen(build, options):
    experiments = load(options.experiments or [f"{build.top}/sim/calibrate/experiments"])
    found = {name: data for name, data in experiments.items() if options.match in name}
    if not found:
        raise DataError(f"-k '{options.match}': no experiment has it in its name: {', '.join(experiments)}")
    return found


def fit_profile(build, experiments, options):
    """Experiments of the fit, and the figures that were found, which are set from now on."""
    from . import fit  # scipy takes a second

    spec = fit.load(build, options.fit)
    missing = [name for name in spec["experiments"] if name not in experiments]
    if missing:
        raise DataError(f"{spec['file']}: experiments: '{missing[0]}' is not one of {', '.join(experiments)}")
    experiments = {name: experiments[name] for name in spec["experiments"]}
    rows = [row for data in experiments.values() for row in rows_of(data)]
    chosen_rows = fit.rows_to_fit(spec, rows)
    options.profile = profile_of(build, spec, options)
    with open(options.profile) as file:
        text = file.read()
    start, found = fit.find(
        spec, text, chosen_rows, lambda rows, sets: measure_all(build, rows, options, sets)
    )
    fit.print_figures(start, found, [row for row in rows if row.published])
    if options.write is not None:
        with open(options.write or options.profile, "w") as file:
            file.write(fit.with_figures(text, found, fit.source_of(spec, chosen_rows)))
    options.set = [*options.set, *(f"{key}={value:g}" for key, value in found.items())]
    return experiments


def sensitivity_of(build, experiments, options):
    """The published rows are those of experiments with this profile."""
    options.profile = options.sensitivity
    with open(options.profile) as file:
        text = file.read()
    name = yaml.safe_load(text)["name"]
    rows = [
        row
        for data in experiments.values()
        if data["profile"] == name
        for row in rows_of(data)
        if row.published
    ]
    found = sensitivity.table(
        text,
        rows,
        lambda rows, sets: measure_all(build, rows, options, sets),
        only_open=options.write is not None,
    )
    if options.write is not None:
        with open(options.write or options.profile, "w") as file:
            file.write(sensitivity.with_sources(text, found))


def run(build, options):
    experiments = chosen(build, options)
    if options.sensitivity:
        sensitivity_of(build, experiments, options)
        return
    if options.list:
        for data in experiments.values():
            print(f"{data['name']:24}{data['title']}")
        return
    if options.fit:
        experiments = fit_profile(build, experiments, options)
    rows = [row for data in experiments.values() for row in rows_of(data)]
    measure_all(build, rows, options)
    for name, data in experiments.items():
        table.print_experiment(data, [row for row in rows if row.experiment["name"] == name])
    report(experiments, rows, options)


def report(experiments, rows, options):
    print(table.summary(rows))
    if options.html:
        from . import page  # matplotlib takes a second

        page.write(options.html, experiments, rows, options.command)
    if options.json:
        with open(options.json, "w") as file:
            json.dump([table.as_json(row) for row in rows], file, indent=1)


def main(build, args):
    p = parser(build)
    options = p.parse_args(args)
    if options.write is not None and not (options.fit or options.sensitivity):
        p.error("--write has no effect without --fit or --sensitivity")
    options.command = " ".join(["hcasim calibrate", *map(shlex.quote, args)])
    try:
        run(build, options)
    except ERRORS as error:
        print(f"hcasim: calibrate: {error}", file=sys.stderr)
        return getattr(error, "status", exits.WRONG)
    return exits.OK
