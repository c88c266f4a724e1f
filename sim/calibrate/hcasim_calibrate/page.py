# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""One page with the plot and the table of each experiment, which needs no other file."""
import os

import jinja2
import markupsafe

from . import plot, table


def result(rows):
    errors = [abs(row.error) for row in rows if row.error is not None]
    if not errors:
        return "prediction, nothing is published"
    bad = sum(row.bad for row in rows)
    return f"{len(errors)} figures, largest error {max(errors):.2f} %" + (
        f", {bad} out of bounds" * bool(bad)
    )


def write(path, experiments, rows, command):
    folder = os.path.dirname(os.path.abspath(__file__))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.ChainableUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    parts = []
    for name, data in experiments.items():
        own = [row for row in rows if row.experiment["name"] == name]
        parts.append((name, data, own, markupsafe.Markup(plot.svg(data, own))))
    text = environment.get_template("page.html").render(
        experiments=parts,
        summary=table.summary(rows),
        command=command,
        result=result,
        number=table.number,
        published=table.published_text,
    )
    with open(path, "w") as file:
        file.write(text)
