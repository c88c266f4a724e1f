# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Compares the results of each cell in two runs, as a gate of a provider's CI.

A run is worse if it has an outcome further down the list below, a cell with the same outcome and an observation that
it did not have, a new cell that fails, a missing cell that has passed, or a new fault or finding of the run as a whole.
A cell that has become flaky is worse if it fails more often than before (`rates`), or with --strict.
"""
from collections import Counter
from dataclasses import dataclass, field

from hcasim_conform.report.results import STOPPED, failed
from hcasim_conform.select.selection import matcher

# From best to worst. `unexpected`: the cell passes although the DUT file lists it as a known difference.
ORDER = ("pass", "unexpected", "skipped", "known", "flaky", "fail")
RANK = {outcome: rank for rank, outcome in enumerate(ORDER)}
PASSED, FAILS = ("pass", "unexpected"), ("unexpected", "fail")
CHOICE = ("mode", "seed", "expression", "requirements", "shard")  # options that select the cells of a run
COMMON = "only cells that both runs have are compared"
LISTED = 100  # lines of each kind


@dataclass
class Difference:
    worse: list = field(default_factory=list)  # texts
    better: list = field(default_factory=list)
    flaky: list = field(default_factory=list)  # texts: fail sometimes now, but not more often than before
    changed: dict = field(default_factory=dict)  # id -> text: cells that became worse
    new: list = field(default_factory=list)  # rows
    gone: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    common: int = 0


def _why(row):
    if row["outcome"] in ("known", "unexpected", "skipped"):
        return f": {row['reason']}"
    often = f" in {failed(row)} of {len(row['runs'])} runs" if row["runs"] else ""
    return f"{often}: {row['faults'][0]}" if row["faults"] else often


def _stopped(*runs):
    return any(STOPPED in run["counts"]["left_out"] for run in runs)


def _notes(old, new):
    for key in CHOICE:
        if old[key] != new[key]:
            what = "only cells that both select are compared" if key == "expression" else COMMON
            yield f"{key} was {old[key]}, is {new[key]}: {what}"
    if _stopped(old, new):
        yield f"a run was ended by --maxfail: {COMMON}"
    if old["dut"]["name"] != new["dut"]["name"]:
        yield f"the device was {old['dut']['name']}, is {new['dut']['name']}"
    for name in sorted(set(old["versions"]) | set(new["versions"])):
        before, after = (run["versions"].get(name, "not given") for run in (old, new))
        if before != after:
            yield f"{name} was {before}, is {after}"


def _levels(before, after):
    """Cells whose demand became stronger or weaker: neither better nor worse, the suite has changed."""
    changed = Counter(
        (before[cell_id]["level"], row["level"]) for cell_id, row in after.items() if cell_id in before
    )
    for (was, now), cells in sorted(changed.items()):
        if was != now:
            yield f"{cells} cells were {was}, are {now}"


def _more_observed(before, after):
    """What only the later run has seen in this cell; nothing if one of them does not say."""
    if before["observed"] is None or after["observed"] is None:
        return []
    return sorted(set(after["observed"]) - set(before["observed"]))


def suspects(old, new):
    """Ids of the cells that are flaky in the later run, and passed, or failed as known, in the earlier one."""
    before = {row["id"]: row["outcome"] for row in old["cells"]}
    flaky = (row["id"] for row in new["cells"] if row["outcome"] == "flaky")
    return [cell_id for cell_id in flaky if before.get(cell_id) in ("pass", "known")]


def _became_flaky(difference, was, row, rates, strict):
    """`rates`: id -> failures now, failures before (None: not run, taken as 0), runs of each.

    Without them nothing says that the cell fails more often.
    """
    text = f"{row['id']}: {was} -> flaky{_why(row)}"
    if row["id"] in rates:
        now, then, runs = rates[row["id"]]
        text += f"; {now} of {runs} more runs fail"
        text += "" if then is None else f", {then} of {runs} with the baseline's libraries"
        strict = strict or now > (then or 0)
    if strict:
        difference.changed[row["id"]] = text
    else:
        difference.flaky.append(text)


def _common(difference, before, after, rates, strict):
    for cell_id, row in after.items():
        if cell_id not in before:
            continue
        difference.common += 1
        was, now = before[cell_id]["outcome"], row["outcome"]
        more = _more_observed(before[cell_id], row)
        if now == "flaky" and was in ("pass", "known"):
            _became_flaky(difference, was, row, rates, strict)
        elif RANK[now] > RANK[was]:
            difference.changed[cell_id] = f"{cell_id}: {was} -> {now}{_why(row)}"
        elif was == now and more:
            difference.changed[cell_id] = f"{cell_id}: {was} as before, and now {', '.join(more)}"
        elif RANK[now] < RANK[was]:
            difference.better.append(f"{cell_id}: {was} -> {now}")


def _selected(run, ids):
    """Those ids that the -k of a run selects. It may name ids, more than an expression may have words."""
    if run["expression"] is None:
        return ids
    named = {part.strip() for part in run["expression"].split(" or ")}
    if named <= ids:
        return named
    matches = matcher(run["expression"])
    return {cell_id for cell_id in ids if matches(cell_id)}


def _of_one_run(difference, before, after, selected):
    difference.new = [row for cell_id, row in after.items() if cell_id in selected - before.keys()]
    difference.gone = [row for cell_id, row in before.items() if cell_id in selected - after.keys()]
    for row in difference.new:
        if row["outcome"] in FAILS:
            difference.changed[row["id"]] = f"{row['id']}: new -> {row['outcome']}{_why(row)}"
    for row in difference.gone:
        if row["outcome"] in PASSED:
            difference.worse.append(f"{row['id']}: {row['outcome']} -> gone")


def _of_the_run(difference, old, new):
    findings = [[f["text"] for f in run["findings"] if not f.get("reason")] for run in (old, new)]
    for what, (was, now) in (("run", (old["faults"], new["faults"])), ("finding", findings)):
        difference.worse += [f"{what}: {text}" for text in now if text not in was]
        difference.better += [f"{what}: no longer: {text}" for text in was if text not in now]


def compare(old, new, rates=None):
    """`rates`: how often the suspects() failed when each was run several times with the libraries of both runs."""
    renamed = {row["was"]: row["id"] for row in new["cells"] if "was" in row}
    before, after = ({renamed.get(row["id"], row["id"]): row for row in run["cells"]} for run in (old, new))
    difference = Difference(notes=[*_notes(old, new), *_levels(before, after)])
    _common(difference, before, after, rates or {}, new["strict"])
    if all(old[key] == new[key] for key in CHOICE if key != "expression") and not _stopped(old, new):
        ids = before.keys() | after.keys()
        _of_one_run(difference, before, after, _selected(old, ids) & _selected(new, ids))
    difference.worse = [*difference.changed.values(), *difference.worse]
    _of_the_run(difference, old, new)
    return difference


def _counted(rows):
    counts = Counter(row["outcome"] for row in rows)
    return ", ".join(f"{counts[o]} {o}" for o in ORDER if counts[o])


def tell(difference, say, quiet=False):
    """Reports the difference, one call of say(kind, text) for each line; quiet: only what became worse."""
    one_run = {
        kind: [f"{r['id']}: {r['outcome']}" for r in getattr(difference, kind)] for kind in ("new", "gone")
    }
    kinds = {
        "note": difference.notes,
        **one_run,
        "better": difference.better,
        "flaky": difference.flaky,
        "worse": difference.worse,
    }
    for kind, texts in kinds.items():
        if quiet and kind not in ("flaky", "worse"):
            continue
        for text in texts[:LISTED]:
            say(kind, text)
        if len(texts) > LISTED:
            say(kind, f"... and {len(texts) - LISTED} more")
    say(
        "worse" if difference.worse else "same",
        f"{difference.common} cells compared: {len(difference.worse)} worse, {len(difference.better)} better, "
        f"{f'{len(difference.flaky)} flaky, ' if difference.flaky else ''}"
        f"{len(difference.new)} new{_in_brackets(difference.new)}, "
        f"{len(difference.gone)} gone{_in_brackets(difference.gone)}",
    )


def _in_brackets(rows):
    return f" ({_counted(rows)})" if rows else ""
