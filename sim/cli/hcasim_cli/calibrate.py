# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim calibrate: an engine that counts its clock cycles, and the C engine with the figures of a timing profile."""
import argparse
import itertools
import json
import os
import re
import subprocess
import sys

import yaml

from . import exits
from .options import DEFAULT_PROFILE, add_set, engine_in, profile_in
from .parser import Parser
from .profile import ProfileError, effective_file

FIGURES = ("fixed", "per_item", "width")
NOISE = 1e-6  # of floating-point numbers, in cycles


class CalibrateError(Exception):
    """An error for the user."""


def line_of(mix):
    values = (mix["name"], mix["op"], mix["size"], mix.get("sges", 1), mix.get("batch", 1))
    return " ".join(map(str, (*values, int(mix.get("push", False)), mix.get("mss", 0))))


def measure(build, mixes, profile, engine):
    """{name: result} of bin/hcasim-calibrate."""
    result = subprocess.run(
        [build.program("hcasim-calibrate"), profile, engine],
        input="".join(f"{line_of(mix)}\n" for mix in mixes),
        env=dict(os.environ, SYSTEMC_DISABLE_COPYRIGHT_MESSAGE="1"),
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise CalibrateError(result.stderr.strip() or f"hcasim-calibrate ended with {result.returncode}")
    return {r["name"]: r for r in map(json.loads, result.stdout.splitlines())}


# ---- Figures of a stage from its steps ----


def least_squares(samples, used):
    """Cycles as a sum of 1, items, and bytes (those that are used), each with a factor; (error, factors), or None."""
    import numpy  # not everybody has it

    size, items, cycles, weight = numpy.array(samples, float).T
    terms = numpy.column_stack([numpy.ones_like(size), items, size])[:, used]
    root = numpy.sqrt(weight)
    found, _, rank, _ = numpy.linalg.lstsq(terms * root[:, None], cycles * root, rcond=None)
    if rank < len(found) or found.min() < -NOISE:
        return None
    factors = numpy.zeros(3)
    factors[list(used)] = found
    return weight @ (terms @ found - cycles) ** 2, factors.clip(0).tolist()


def figures_of(samples):
    """{fixed, per_item, width} of a stage: no negative ones, and least squares."""
    fits = [least_squares(samples, (True, *others)) for others in itertools.product((False, True), repeat=2)]
    _, (fixed, per_item, per_byte) = min((fit for fit in fits if fit), key=lambda fit: fit[0] // NOISE)
    return {
        "fixed": round(fixed, 1),
        "per_item": round(per_item, 2),
        "width": round(1 / per_byte) if per_byte > 1 / 4096 else 0,
    }


def counted_stages(result):
    return [stage for stage, load in result["stages"].items() if load["counted"]]


def calibrated(results):
    """{stage: figures} of the engine's stages; every mix has the same weight."""
    figures = {}
    for stage in counted_stages(results[0]):
        samples = [
            (size, items, cycles, count / result["wqes"])
            for result in results
            for size, items, cycles, count in result["stages"][stage]["sizes"]
        ]
        figures[stage] = figures_of(samples)
    return figures


def profile_text(text, name, figures):
    """The profile with these figures of the engine's stages."""
    source = f"hcasim calibrate --against {name}"
    text = re.sub(r"(?m)^name: .*$", f"name: {file_name(name)}", text)
    text = re.sub(
        r'(?m)^description: "(?:.*; otherwise )?(.*)"$',
        rf'description: "the stages of the send engine as engine {name} has them; otherwise \1"',
        text,
    )
    for stage, values in figures.items():
        start = text.index(f"\n    {stage}:\n") + 1
        end = text.index("width:", start)
        end = text.index("\n", end)
        part = text[start:end]
        for key in FIGURES:
            part = re.sub(
                rf'({key}: {{value: )[\d.]+(, unit: [^,]+, source: )".*"',
                rf'\g<1>{values[key]:g}\2"{source}"',
                part,
            )
        text = text[:start] + part + text[end:]
    return text


def file_name(engine):
    return engine.replace(":", "-")


# ---- The table ----


def per_wqe(result, stage):
    return result["stages"][stage]["cycles"] / result["wqes"]


def difference(model, engine):
    return 100 * (model / engine - 1)


def print_table(name, model, engine, counted):
    stages = "".join(f"{stage:>18}" for stage in counted)
    print(f"{'cycles per WQE, model and ' + name:30}{stages}{'latency, ns':>26}{'ns per WQE':>26}")
    worst = [0.0, 0.0]
    for mix, m in model.items():
        e = engine[mix]
        if "error" in e or "error" in m:
            print(f"{mix:30}{e.get('error') or m.get('error')}")
            continue
        row = "".join(f"{per_wqe(m, stage):9.1f}{per_wqe(e, stage):9.1f}" for stage in counted)
        for i, (key, scale) in enumerate((("latency_ps", 1e3), ("ps_per_wqe", 1e3))):
            percent = difference(m[key], e[key])
            worst[i] = max(worst[i], abs(percent))
            row += f"{m[key] / scale:10.1f}{e[key] / scale:10.1f}{percent:+5.1f}%"
        print(f"{mix:30}{row}")
    print(f"largest difference: latency {worst[0]:.1f} %, throughput {worst[1]:.1f} %")
    return worst


def print_figures(figures):
    print("figures of the engine's stages (fixed, per_item: cycles; width: B/cycle):")
    for stage, values in figures.items():
        print(f"  {stage:12}" + ", ".join(f"{key} {values[key]:g}" for key in FIGURES))


# ---- The command ----


def parser(build):
    p = Parser(
        prog="hcasim calibrate",
        description="Runs the same work requests on the C engine with the figures of a timing profile and on an engine that "
        "counts its clock cycles, and prints the cycles per WQE of each stage, latency and throughput of both.",
        epilog="More: docs/calibrate.md.",
    )
    p.add_argument(
        "--against", required=True, metavar="NAME|FILE", help="the engine that counts its cycles"
    ).completes = "engines"
    p.add_argument(
        "--profile",
        type=profile_in(build.profiles),
        metavar="NAME|FILE",
        help=f"timing profile of both (default: the engine's own, or {DEFAULT_PROFILE})",
    ).completes = "profiles"
    add_set(p)
    p.add_argument(
        "--mixes",
        default=f"{build.top}/sim/calibrate/mixes.yaml",
        metavar="FILE",
        help="the work requests (default: sim/calibrate/mixes.yaml)",
    )
    p.add_argument(
        "--write",
        nargs="?",
        const="",
        metavar="FILE",
        help="write a profile with the figures that follow from the engine's cycles, and compare with that "
        "(default: its place among the profiles)",
    )
    p.add_argument("--json", metavar="FILE", help="also write all figures to this file")
    return p


def default_profile(build, name):
    own = f"{build.profiles}/{file_name(name)}.yaml"
    return own if os.path.isfile(own) else f"{build.profiles}/{DEFAULT_PROFILE}.yaml"


def counting(results, name):
    """Those that could be measured."""
    good = [result for result in results.values() if "error" not in result]
    if not good:
        first = next(iter(results.values()), {"error": "there are no mixes"})
        raise CalibrateError(f"--against '{name}': no mix can be measured: {first['error']}")
    if not counted_stages(good[0]):
        raise CalibrateError(f"--against '{name}': the engine counts no cycles (op cycles of core/engine.h)")
    return good


def load_mixes(path):
    try:
        with open(path) as file:
            mixes = yaml.safe_load(file)
        for mix in mixes:
            line_of(mix)
        return mixes
    except OSError as error:
        raise CalibrateError(f"--mixes '{path}': {error.strerror}") from None
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise CalibrateError(
            f"--mixes '{path}': not a list of mixes with name, op and size: {error}"
        ) from None


def run(build, options, engine):
    name = options.against if "/" not in options.against else os.path.basename(options.against).split(".")[0]
    with effective_file(build, options.profile or default_profile(build, name), options.set) as profile:
        run_with(build, options, engine, name, profile)


def run_with(build, options, engine, name, profile):
    mixes = load_mixes(options.mixes)
    measured = measure(build, mixes, profile, engine)
    figures = calibrated(counting(measured, name))
    if options.write is not None:
        with open(profile) as file:
            text = profile_text(file.read(), name, figures)
        profile = options.write or f"{build.profiles}/{file_name(name)}.yaml"
        with open(profile, "w") as file:
            file.write(text)
    model = measure(build, mixes, profile, "c")
    worst = print_table(name, model, measured, figures)
    print_figures(figures)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(
                {"model": model, "engine": measured, "figures": figures, "worst": worst}, file, indent=1
            )


def main(build, args):
    p = parser(build)
    options = p.parse_args(args)
    try:
        engine = engine_in(build)(options.against)
        if engine == "c" or engine.startswith("lockstep"):
            p.error(f"--against '{options.against}' counts no cycles of its own")
        run(build, options, engine)
    except argparse.ArgumentTypeError as error:
        p.error(f"argument --against: {error}")
    except (CalibrateError, ProfileError, OSError) as error:
        print(f"hcasim: calibrate: {error}", file=sys.stderr)
        return exits.WRONG
    return exits.OK
