# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim calibrate --fit: the figures of a profile with which the model is nearest to what was published."""
import os
import re
import sys

import scipy.optimize
import yaml

from .data import DataError, read_yaml, validate

STEP = 0.1  # of a figure, to see what it moves: more than the clock edges and polls that times are rounded to
ROUNDS = 8  # of least squares, at most
HELD_OUT = 1 / 3  # of the rows, at least


def load(build, name):
    """What a fit may change, by name or file."""
    path = name if "/" in name or name.endswith(".yaml") else f"{build.top}/sim/calibrate/fits/{name}.yaml"
    spec = read_yaml(path, f"--fit '{name}': ")
    validate(path, spec, "fits")
    for key, (low, high) in spec["figures"].items():
        if low >= high:
            raise DataError(f"{path}: figures.{key}: {low} is not below {high}")
    spec["file"], spec["name"] = path, os.path.basename(path).removesuffix(".yaml")
    return spec


def rows_to_fit(spec, rows):
    """Those that are fitted, if enough others are held out."""
    published = [row for row in rows if row.published]
    fitted = [row for row in published if row.use == "fitted"]
    if not fitted:
        raise DataError(f"{spec['file']}: experiments: none has a row with `use: fitted`")
    if len(published) - len(fitted) < HELD_OUT * len(published):
        raise DataError(
            f"{spec['file']}: experiments: {len(fitted)} of {len(published)} rows are fitted; at least a third must be `use: check`"
        )
    return fitted


# ---- Figures in the text of a profile ----


def line_of(lines, key):
    """Number of the line that has a figure, or None."""
    path = []
    for number, line in enumerate(lines):
        found = re.match(r"( *)(\w+):", line)
        if found:
            path = path[: len(found[1]) // 2] + [found[2]]
            if ".".join(path) == key:
                return number
    return None


def value_in(lines, key, spec):
    number = line_of(lines, key)
    if number is None:
        raise DataError(f"{spec['file']}: figures.{key}: profile {spec['profile']} has no such figure")
    return yaml.safe_load(lines[number])[key.rsplit(".", maxsplit=1)[-1]]["value"]


def with_figures(text, figures, source):
    lines = text.splitlines()
    for key, value in figures.items():
        number = line_of(lines, key)
        lines[number] = re.sub(
            r'value: [\d.]+(, unit: [^,]+, source: )".*"', rf'value: {value:g}\1"{source}"', lines[number]
        )
    return "\n".join(lines) + "\n"


# ---- Least squares ----


class Scale:
    """Figures as least squares takes them: a latency is linear in what a byte costs, not in a width or a rate."""

    def __init__(self, spec):
        self.bounds = spec["figures"]

    def inverse(self, key):
        return key.endswith(("width", "rate"))

    def inside(self, figures):
        return [1 / figures[key] if self.inverse(key) else figures[key] for key in self.bounds]

    def limits(self):
        pairs = [
            sorted((1 / low, 1 / high)) if self.inverse(key) else (low, high)
            for key, (low, high) in self.bounds.items()
        ]
        return tuple(zip(*pairs))

    def outside(self, x):
        values = {key: 1 / v if self.inverse(key) else v for key, v in zip(self.bounds, x)}
        return {key: float(f"{value:.3g}") for key, value in values.items()}


def residual(row):
    """How far away the model is, in units of the bound; of a range, from its middle."""
    middle = sum(row.published) / 2
    return 100 * (row.model / middle - 1) / row.experiment["within"]


def find(spec, text, rows, measure):
    """The figures; `measure` fills in the model for rows, with `--set` of a profile."""
    scale = Scale(spec)
    lines = text.splitlines()
    start = {key: value_in(lines, key, spec) for key in spec["figures"]}
    for key, (low, high) in spec["figures"].items():
        if not low <= start[key] <= high:
            raise DataError(
                f"{spec['file']}: figures.{key}: {start[key]} of profile {spec['profile']} is not in [{low}, {high}]"
            )

    def residuals(x):
        measure(rows, [f"{key}={value:g}" for key, value in scale.outside(x).items()])
        out = [residual(row) for row in rows]
        print(f"  sum of squares {sum(r * r for r in out):.4f}", file=sys.stderr, flush=True)
        return out

    x0 = scale.inside(start)
    result = scipy.optimize.least_squares(
        residuals,
        x0,
        bounds=scale.limits(),
        x_scale=x0,
        diff_step=STEP,
        max_nfev=ROUNDS,
        xtol=0.01,
        ftol=0.01,
    )
    return start, scale.outside(result.x)


def source_of(spec, rows):
    names = {}
    for row in rows:
        names.setdefault(f"{row.experiment['name']} {row.series}", []).append(str(row.at))
    where = "; ".join(f"{name} {', '.join(at)}" for name, at in names.items())
    return f"fitted by hcasim calibrate --fit {spec['name']} to {where}"


def print_figures(start, found, rows):
    print(f"{'figure':45}{'before':>10}{'fitted':>10}")
    for key, value in found.items():
        print(f"{key:45}{start[key]:>10g}{value:>10g}")
    for use, word in (("fitted", "fitted"), ("check", "only checked")):
        labels = [row.label for row in rows if row.use == use]
        print(f"{word}, {len(labels)} rows: {'; '.join(labels)}")
    print()
