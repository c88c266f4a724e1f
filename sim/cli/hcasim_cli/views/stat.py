# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim stat: utilisation, queue depths, stalls and latencies of a traced run."""
import bisect
import math
from collections import Counter, defaultdict

from .trace import STAGES
from .work import until

PERCENTILES = {"p50": 50, "p99": 99, "max": 100}


def percentile(ordered, percent):
    """Nearest rank."""
    return ordered[max(1, math.ceil(len(ordered) * percent / 100)) - 1]


class Active:
    """The time in which a work request or a step was under way: disjoint intervals, in order."""

    def __init__(self, trace, works):
        spans = [(r.ps, r.end) for r in trace.steps + trace.sent]
        for work in works:
            path = [record for _, record in work.path()]
            spans.append((path[0].ps, max(map(until, path))))
        self.spans = []
        for start, end in sorted(spans):
            if self.spans and start <= self.spans[-1][1]:
                self.spans[-1][1] = max(end, self.spans[-1][1])
            else:
                self.spans.append([start, end])
        self.ends = [end for _, end in self.spans]
        self.total = sum(end - start for start, end in self.spans)

    def inside(self, start, end):
        """Picoseconds of an interval."""
        total, at = 0, bisect.bisect_right(self.ends, start)
        while at < len(self.spans) and self.spans[at][0] < end:
            total += min(end, self.spans[at][1]) - max(start, self.spans[at][0])
            at += 1
        return total

    def share(self, part):
        return part / self.total if self.total else 0.0


def busy(records, active):
    ps = sum(record.end - record.ps for record in records)
    return {"count": len(records), "busy_ps": ps, "utilisation": active.share(ps)}


def level_of(values, limit, active):
    """Mean over the active time, and the extremes."""
    ends = [ps for ps, _ in values[1:]] + [max(values[-1][0], *active.ends, 0)]
    total = sum(value * active.inside(start, end) for (start, value), end in zip(values, ends))
    seen = [value for _, value in values]
    return {"mean": active.share(total), "min": min(seen), "max": max(seen), "limit": limit or None}


def stalls_of(trace, hca, works, active):
    """Time by place and cause. That of QPs is a sum over QPs."""
    answered = defaultdict(list)
    for work in works:
        answered[work.hca, work.qpn, work.index].append(work)
    table = defaultdict(lambda: {"count": 0, "ps": 0})
    for stall in trace.stalls:
        ps = active.inside(stall.ps, stall.end)
        if stall.hca != hca or not ps or not_limited(stall, answered):
            continue
        entry = table[stall.where, stall.cause]
        entry["count"] += 1
        entry["ps"] += ps
    return [{"where": where, "cause": cause, **entry} for (where, cause), entry in sorted(table.items())]


def not_limited(stall, works):
    """max_rd_atomic holds only operations that the peer answers."""
    if stall.cause != "reads":
        return False
    same = works[stall.hca, stall.qpn, stall.index]
    before = [work for work in same if work.decode.end <= stall.end]
    return bool(before) and not before[-1].answered


def latencies(works):
    table = {}
    for op in sorted({work.op for work in works}):
        mine = [work for work in works if work.op == op]
        times = sorted(work.latency for work in mine if work.latency is not None)
        entry = {"count": len(mine), "measured": len(times)}
        if times:
            entry |= {"mean_ps": sum(times) / len(times)}
            entry |= {f"{name}_ps": percentile(times, percent) for name, percent in PERCENTILES.items()}
        table[op] = entry
    return table


def caches(trace, hca):
    """Look-ups by cache; misses take the time until the entry is there."""
    table = defaultdict(lambda: {"hits": 0, "misses": 0, "miss_ps": 0})
    for lookup in trace.lookups:
        if lookup.hca == hca:
            entry = table[lookup.cache]
            entry["hits" if lookup.hit else "misses"] += 1
            entry["miss_ps"] += lookup.end - lookup.ps
    return {name: table[name] for name in sorted(table)}


def failures(cqes):
    """Completions with an error, alike ones counted, in the order of their first: later ones are often its consequence."""
    table = {}
    for cqe in cqes:
        if cqe.status == "OK":
            continue
        op = cqe.wqe_op if cqe.op == "REQ" else cqe.op
        entry = table.setdefault(
            (cqe.hca, cqe.qpn, op, cqe.status, cqe.vendor_err), {"count": 0, "first_ps": cqe.ps}
        )
        entry["count"] += 1
    keys = ("hca", "qpn", "op", "status", "vendor_err")
    return [{**dict(zip(keys, key)), **entry} for key, entry in table.items()]


def faults(frames):
    """Frames that the wire lost, doubled, changed or delayed, by their sender and what happened."""
    table = Counter((getattr(frame, "from"), frame.what) for frame in frames)
    return [{"from": sender, "what": what, "count": n} for (sender, what), n in sorted(table.items())]


def refusals(trace, hca):
    """Packets that the adapter dropped or answered with a NAK, by reason and NAK."""
    table = Counter((r.reason, getattr(r, "nak", None)) for r in trace.refused if r.hca == hca)
    return [
        {"reason": reason, "nak": nak, "count": table[reason, nak]}
        for reason, nak in sorted(table, key=lambda key: (key[0], key[1] or ""))
    ]


def ahead(trace, hca):
    """Doorbells ahead of their record, by QP: how many, and both indices of the last one."""
    table = {}
    for step in trace.steps:
        if step.hca == hca and hasattr(step, "doorbell"):
            count = table[step.qpn]["count"] + 1 if step.qpn in table else 1
            table[step.qpn] = {"count": count, "doorbell": step.doorbell, "record": step.index}
    return [{"qpn": qpn, **table[qpn]} for qpn in sorted(table)]


def adapter(trace, hca, works, active):
    steps = defaultdict(list)
    for step in trace.steps:
        if step.hca == hca:
            steps[step.stage].append(step)
    return {
        "stages": {stage: busy(steps[stage], active) for stage in STAGES},
        "wire": busy([frame for frame in trace.sent if frame.hca == hca], active),
        "levels": {
            r.name: level_of(trace.levels[hca, r.name], r.max, active) for r in trace.ranges if r.hca == hca
        },
        "stalls": stalls_of(trace, hca, works, active),
        "caches": caches(trace, hca),
        "doorbells_ahead": ahead(trace, hca),
        "refused": refusals(trace, hca),
    }


def figures(trace, works):
    active = Active(trace, works)
    first, last = (active.spans[0][0], active.spans[-1][1]) if active.spans else (0, 0)
    return {
        "time": {"from_ps": first, "to_ps": last, "active_ps": active.total},
        "adapters": {hca: adapter(trace, hca, works, active) for hca in trace.hcas},
        "operations": latencies(works),
        "faults": faults(trace.faults),
        "failures": failures(trace.cqes),
    }


# ---- The table ----


def print_adapter(name, entry, length):
    print(f"\n{name}\n  {'':20}{'steps':>9}{'busy ns':>12}{'utilisation':>13}")
    for stage, row in [*entry["stages"].items(), ("wire", entry["wire"])]:
        if row["count"]:
            print(
                f"  {stage:20}{row['count']:9}{row['busy_ps'] / 1e3:12.1f}{100 * row['utilisation']:12.1f}%"
            )
    print(f"  {'level':20}{'mean':>9}{'min':>12}{'max':>13}{'limit':>9}")
    for level, row in entry["levels"].items():
        if row["min"] != row["max"]:
            print(f"  {level:20}{row['mean']:9.2f}{row['min']:12}{row['max']:13}{row['limit'] or '-':>9}")
    if entry["stalls"]:
        print(f"  {'waits':20}{'times':>9}{'ns':>12}{'of the time':>13}  for")
    for row in entry["stalls"]:
        part = f"{100 * row['ps'] / length:.1f}%" if length else "-"
        print(f"  {row['where']:20}{row['count']:9}{row['ps'] / 1e3:12.1f}{part:>13}  {row['cause']}")

    if entry["caches"]:
        print(f"  {'cache':20}{'hits':>9}{'misses':>12}{'miss rate':>13}{'ns a miss':>12}")
    for name, row in entry["caches"].items():
        rate = 100 * row["misses"] / (row["hits"] + row["misses"])
        mean = f"{row['miss_ps'] / row['misses'] / 1e3:.1f}" if row["misses"] else "-"
        print(f"  {name:20}{row['hits']:9}{row['misses']:12}{rate:12.1f}%{mean:>12}")
    if entry["doorbells_ahead"]:
        print(f"  {'ahead of its record':20}{'times':>9}{'doorbell':>12}{'record':>13}  (the last one)")
    for row in entry["doorbells_ahead"]:
        where = f"QP {row['qpn']}"
        print(f"  {where:20}{row['count']:9}{row['doorbell']:12}{row['record']:13}")
    if entry["refused"]:
        print(f"  {'refused packets':20}{'times':>9}  answer")
    for row in entry["refused"]:
        print(f"  {row['reason']:20}{row['count']:9}  {'NAK ' + row['nak'] if row['nak'] else 'dropped'}")


def print_faults(rows):
    if rows:
        print(f"\n{'frames sent by':31}{'times':>9}  what happened to them on the wire")
    for row in rows:
        print(f"{row['from']:31}{row['count']:9}  {row['what']}")


def print_failures(rows):
    if not rows:
        return
    print(f"\n{'failed completions':22}{'QP':>9}{'times':>9}{'first, ns':>17}  status, what the adapter saw")
    for row in rows:
        where = f"{row['hca']} {row['op']}"
        print(
            f"{where:22}{row['qpn']:9}{row['count']:9}{row['first_ps'] / 1e3:17.1f}  {row['status']}, {row['vendor_err']}"
        )


def print_table(stat):
    first, last, active = (stat["time"][key] for key in ("from_ps", "to_ps", "active_ps"))
    print(
        f"simulated time: {first / 1e3:.1f} ns to {last / 1e3:.1f} ns; work was under way for {active / 1e3:.1f} ns"
    )
    for name, entry in stat["adapters"].items():
        print_adapter(name, entry, active)
    print(
        f"\n{'store to CQE, ns':22}{'requests':>9}{'measured':>9}{'p50':>12}{'p99':>12}{'max':>12}{'mean':>12}"
    )
    for op, row in stat["operations"].items():
        times = [row.get(f"{key}_ps") for key in ("p50", "p99", "max", "mean")]
        line = "".join(f"{'-':>12}" if t is None else f"{t / 1e3:12.1f}" for t in times)
        print(f"{op:22}{row['count']:9}{row['measured']:9}{line}")
    print_faults(stat["faults"])
    print_failures(stat["failures"])
