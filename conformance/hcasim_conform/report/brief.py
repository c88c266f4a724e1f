# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What hcasim conform --json prints: the result of a run in a few fields."""
from hcasim_conform.report.results import RED, STOPPED

FIELDS = (
    "command",
    "versions",
    "mode",
    "seed",
    "repeat",
    "strict",
    "expression",
    "shard",
    "seconds",
    "summary",
    "faults",
)


def of_run(data, out):
    return {
        "dut": data["dut"]["name"],
        **{field: data[field] for field in FIELDS},
        "not_run": data["counts"]["left_out"].get(STOPPED, 0),
        "findings": [finding["text"] for finding in data["findings"] if not finding.get("reason")],
        "cells": [
            {"id": row["id"], "outcome": row["outcome"], "faults": row["faults"]}
            for row in data["cells"]
            if row["outcome"] in (*RED, "flaky")
        ],
        "report": str(out / "report.html"),
    }


def of_difference(difference):
    return {
        "compared": difference.common,
        "worse": difference.worse,
        "better": difference.better,
        "flaky": difference.flaky,
        "new": [row["id"] for row in difference.new],
        "gone": [row["id"] for row in difference.gone],
        "notes": difference.notes,
    }
