# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs the rows of experiments, each machine once, and fills in what the model does."""
import os
import subprocess
import tempfile

import yaml
from hcasim_cli import exits

from . import trace

LATENCY_COUNT, RATE_COUNT = 6, 512  # messages of a row that does not say it
PS_PER = {"ns": 1e3, "us": 1e6}


class MeasureError(Exception):
    """An error for the user. The machine has failed, or a program refuses what an experiment says."""

    def __init__(self, text, ended):
        super().__init__(text)
        refused = 0 < ended < exits.MACHINE_FAILED
        self.status = exits.WRONG if refused else exits.MACHINE_FAILED


def run_program(command, rows, lines):
    """A line for each row, in and out."""
    environment = dict(os.environ, SYSTEMC_DISABLE_COPYRIGHT_MESSAGE="1")
    text = "".join(f"{line}\n" for line in lines)
    result = subprocess.run(command, input=text, env=environment, capture_output=True, text=True, check=False)
    out = result.stdout.splitlines()
    if result.returncode:
        said = result.stderr.strip().splitlines() or [f"{command[0]} ended with {result.returncode}"]
        where = f"{rows[len(out)].label}: " if len(out) < len(rows) else ""
        raise MeasureError(f"{where}{said[-1]}", result.returncode)
    return out


# ---- The PCIe link alone ----


def measure_dma(build, rows, profile):
    lines = [f"{row.run['traffic']} {row.run['size']}" for row in rows]
    for row, line in zip(rows, run_program([build.program("hcasim-dma"), profile], rows, lines)):
        row.model = float(line)


# ---- Through the verbs API ----


def wire_rate(profile):
    with open(profile) as file:
        return yaml.safe_load(file)["wire"]["rate"]["value"]


def point(row):
    """All parameters of a row, as hcasim-experiment takes them."""
    run = {"op": "write", "size": 64, **row.run}
    is_latency = row.experiment["quantity"] == "latency"
    if "count" not in run:
        run["count"] = LATENCY_COUNT if is_latency else RATE_COUNT
    return {"measure": "latency" if is_latency else "rate", **run}


def value_of(row, ps, wire_gbps):
    """In the unit of the experiment, from the picoseconds that a message takes."""
    quantity = row.experiment["quantity"]
    if quantity == "latency":
        return ps / PS_PER[row.experiment["unit"]]
    if quantity == "rate":
        return 1e6 / ps
    gbps = point(row)["size"] * 8e3 / ps
    return gbps if quantity == "bandwidth" else 100 * gbps / wire_gbps


def measure_verbs(build, rows, profile, wire_gbps):
    points = [point(row) for row in rows]
    text = [" ".join(f"{k}={v}" for k, v in p.items()) for p in points]
    command = [f"{build.build}/bin/hcasim", "run", "--hcas", "2", "--clock", "virtual", "--profile", profile]
    traced = any(p["measure"] == "latency" for p in points)
    with tempfile.TemporaryDirectory(prefix="hcasim-calibrate-") as folder:
        if traced:
            command += ["--trace", folder, "--no-events"]
        lines = run_program([*command, "--", build.program("hcasim-experiment")], rows, text)
        records = trace.load(f"{folder}/tlp.log") if traced else []
    for row, p, line in zip(rows, points, lines):
        start, end, each = map(float, line.split())
        ps = trace.latency(records, p, start, end) if p["measure"] == "latency" else each
        row.model = value_of(row, ps, wire_gbps)
