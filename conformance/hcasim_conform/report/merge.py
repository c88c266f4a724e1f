# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Merges the records of shards into the record that one run of all their cells would have written."""
from itertools import zip_longest

from hcasim_conform.report.results import OTHER_SHARDS, STOPPED, count, summarize

SAME = (
    "dut",
    "mode",
    "seed",
    "repeat",
    "strict",
    "expression",
    "requirements",
)  # must be the same in all shards of a run
SAME_VERSIONS = ("hcasim", "rdma-core")  # the hosts of a cluster may differ in the rest


class MergeError(Exception):
    """Records that are not shards of one run; the message names the files."""


def _check_same(records, names):
    for record, name in zip(records[1:], names[1:]):
        for key in SAME:
            if record[key] != records[0][key]:
                raise MergeError(
                    f"{key} differs: {records[0][key]!r} in {names[0]}, {record[key]!r} in {name}"
                )
        for key in SAME_VERSIONS:
            first, other = records[0]["versions"][key], record["versions"][key]
            if first != other:
                raise MergeError(f"version of {key} differs: {first} in {names[0]}, {other} in {name}")


def _check_shards(records, names):
    """Checks that each of the n shards is there once."""
    seen = {}
    for record, name in zip(records, names):
        if not record["shard"]:
            raise MergeError(f"{name} is a whole run, no shard")
        k, n = record["shard"]
        if n != records[0]["shard"][1]:
            raise MergeError(
                f"shards of different runs: {names[0]} is one of {records[0]['shard'][1]}, {name} one of {n}"
            )
        if k in seen:
            raise MergeError(f"shard {k}/{n} is there twice: {seen[k]} and {name}")
        seen[k] = name
    missing = [f"{k}/{n}" for k in range(1, n + 1) if k not in seen]
    if missing:
        raise MergeError(f"missing shards: {', '.join(missing)}")


def _cells(records, names):
    found = {}
    for record, name in zip(records, names):
        for row in record["cells"]:
            if row["id"] in found:
                raise MergeError(f"cell {row['id']} is in {found[row['id']]} and in {name}")
            found[row["id"]] = name
    # Shard k has every n-th cell, starting with the k-th.
    rounds = zip_longest(*(record["cells"] for record in records))
    return [row for turn in rounds for row in turn if row]


def _counts(records, names, cells):
    """Counts skipped cells again; all other reasons are the same in all shards."""
    first = records[0]["counts"]
    for record, name in zip(records, names):
        if record["counts"]["exist"] != first["exist"]:
            raise MergeError(
                f"{names[0]} knows of {first['exist']} cells, {name} of {record['counts']['exist']}"
            )
    counts = count(cells)
    skipped = counts["left_out"]
    whole = {r: n for r, n in first["left_out"].items() if r != OTHER_SHARDS and r not in skipped}
    left_out = {**whole, **skipped}
    stopped = sum(record["counts"]["left_out"].get(STOPPED, 0) for record in records)
    left_out |= {STOPPED: stopped} if stopped else {}
    if counts["run"] + sum(left_out.values()) != first["exist"]:
        raise MergeError(
            f"{first['exist']} cells exist, but {counts['run']} were run and {sum(left_out.values())} left out: "
            "the shards do not make up one run"
        )
    return {"exist": first["exist"], "run": counts["run"], "left_out": left_out}


def _once(records, key):
    """Keeps each fault of the run as a whole once."""
    said = []
    for record in records:
        said += [item for item in record[key] if item not in said]
    return said


def merge(records, names):
    """`names` are the names of the records in messages."""
    _check_same(records, names)
    _check_shards(records, names)
    records, names = zip(*sorted(zip(records, names), key=lambda pair: pair[0]["shard"][0]))
    cells = _cells(records, names)
    first = records[0]
    return {
        **first,
        "shard": None,
        "command": "\n".join(record["command"] for record in records),
        "started": min(record["started"] for record in records),
        "seconds": max(record["seconds"] for record in records),
        "counts": _counts(records, names, cells),
        "summary": summarize(cells),
        "faults": _once(records, "faults"),
        "findings": _once(records, "findings"),
        "clauses": {k: v for record in records for k, v in record["clauses"].items()},
        "errata": {k: v for record in records for k, v in record["errata"].items()},
        "cells": cells,
    }
