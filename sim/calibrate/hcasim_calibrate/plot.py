# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Plots of experiments, as SVG that stands in a page."""
import io

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
matplotlib.rcParams["svg.hashsalt"] = "hcasim"  # the same page for the same figures
from matplotlib import pyplot  # noqa: E402


def by_series(rows):
    names = dict.fromkeys(row.series for row in rows)
    return {name: [row for row in rows if row.series == name] for name in names}


def position(row):
    return max(row.at, 0.5)  # 0 has no place on a logarithmic axis


def published_points(axes, rows, colour):
    shown = [row for row in rows if row.published]
    middle = [sum(row.published) / 2 for row in shown]
    reach = [(row.published[1] - row.published[0]) / 2 for row in shown]
    if shown:
        x = [position(row) for row in shown]
        axes.errorbar(x, middle, yerr=reach, fmt="o", markerfacecolor="none", color=colour, capsize=3)
    bad = [row for row in rows if row.bad]
    axes.plot([position(r) for r in bad], [r.model for r in bad], "x", color="#c00", markersize=10)


def svg(data, rows):
    figure, axes = pyplot.subplots(figsize=(7.2, 3.6))
    for number, (name, part) in enumerate(by_series(rows).items()):
        colour = f"C{number}"
        axes.plot([position(r) for r in part], [r.model for r in part], color=colour, label=name)
        published_points(axes, part, colour)
    axes.set_xscale("log", base=2)
    ticks = sorted({row.at for row in rows})
    axes.set_xticks([max(tick, 0.5) for tick in ticks], [label(tick) for tick in ticks], rotation=45)
    axes.minorticks_off()
    values = [row.model for row in rows]
    if max(values) > 20 * min(values):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(data["axis"])
    axes.set_ylabel(f"{data['quantity']}, {data['unit']}")
    axes.legend()
    figure.tight_layout()
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return out.getvalue()[out.getvalue().index("<svg") :]


def label(value):
    for unit, size in (("M", 1 << 20), ("K", 1 << 10)):
        if value >= size and value % size == 0:
            return f"{value // size}{unit}"
    return str(value)
