# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim timeline: a file for ui.perfetto.dev (Chrome's JSON trace format)."""
import json

from .trace import LINKS, STAGES
from .work import until

STORE, WIRE, FIRST_STALL, FIRST_QP = (
    1,
    50,
    100,
    1000,
)  # thread numbers; those of stages are between STORE and WIRE


def nanoseconds(ps):
    return (ps + 500) // 1000


def microseconds(ns):
    """The unit of the format. Readers cut off what is below a nanosecond: a tenth of one keeps them from rounding down."""
    return round(ns / 1000 + 0.0001, 4)


class Timeline:
    """Gives each event to `emit`; tracks are threads, adapters are processes."""

    def __init__(self, trace, works, emit):
        self.trace, self.works, self.emit = trace, works, emit
        self.places = {}
        self.pid = {hca: number for number, hca in enumerate(trace.hcas, 1)}
        self.named, self.lanes = set(), {}

    def name(self, hca, tid, name):
        if (hca, tid) not in self.named:
            self.named.add((hca, tid))
            where = {"ph": "M", "pid": self.pid[hca], "tid": tid}
            self.emit({**where, "name": "thread_name", "args": {"name": name}})
            self.emit({**where, "name": "thread_sort_index", "args": {"sort_index": tid}})

    def slice(self, hca, tid, name, start, end, args):
        ts, dur = nanoseconds(start), nanoseconds(end) - nanoseconds(start)
        place = {"pid": self.pid[hca], "tid": tid, "ts": microseconds(ts)}
        self.emit({"ph": "X", **place, "dur": microseconds(dur), "name": name, "args": args})
        # An arrow starts and ends in the last nanosecond: these are in order, while starts need not be.
        return {**place, "ts": microseconds(ts + max(0, dur - 1))}

    # ---- Tracks ----

    def stages(self):
        owner = {id(record): work for work in self.works for record in records_of(work)}
        for step in self.trace.steps:
            tid = STORE + 1 + STAGES.index(step.stage)
            self.name(step.hca, tid, step.stage)
            work = owner.get(id(step))
            name = (
                work.name if work else f"{step.stage} QP {step.qpn}" if hasattr(step, "qpn") else step.stage
            )
            args = {k: v for k, v in vars(step).items() if k not in ("event", "hca", "stage")}
            self.places[id(step)] = self.slice(step.hca, tid, name, step.ps, step.end, args)

    def wire(self):
        for frame in self.trace.sent:
            self.name(frame.hca, WIRE, "wire")
            args = {k: v for k, v in vars(frame).items() if k not in ("event", "hca")}
            name = getattr(frame, "opcode", "frame")
            self.places[id(frame)] = self.slice(frame.hca, WIRE, name, frame.ps, frame.end, args)

    def stores(self):
        """A store's track has the time on the lanes: TLPs do not overlap there."""
        seen = {}
        for work in self.works:
            if work.store:
                seen.setdefault(id(work.store), (work.store, work))
        free = {}
        for store, work in sorted(seen.values(), key=lambda s: s[0].ps):
            end = store.ps + max(1000, min(store.arrival - store.ps, 3000))
            start = max(store.ps, free.get(work.hca, 0))
            free[work.hca] = max(end, start + 1000)
            self.name(work.hca, STORE, "BAR stores")
            args = {"ps": store.ps, "arrival": store.arrival, "len": store.len}
            self.places[id(store)] = self.slice(work.hca, STORE, work.name, start, free[work.hca], args)

    def lane(self, work, start, end):
        """The first track of the QP that is free: its requests overlap."""
        lanes = self.lanes.setdefault((work.hca, work.qpn), [])
        for number, busy in enumerate(lanes):
            if busy <= start:
                lanes[number] = end
                break
        else:
            number = len(lanes)
            lanes.append(end)
        tid = FIRST_QP + work.qpn * 256 + number
        self.name(work.hca, tid, f"QP {work.qpn}" + (f" ({number + 1})" if number else ""))
        return tid

    def queues(self):
        for work in sorted(self.works, key=lambda w: w.path()[0][1].ps):
            path = work.path()
            start = path[0][1].ps
            end = max(until(record) for _, record in path)
            args = {"index": work.index, "length": work.length, "latency_ps": work.latency}
            args |= {"status": work.cqe.status} if work.cqe else {}
            self.slice(work.hca, self.lane(work, start, end), f"{work.op} #{work.number}", start, end, args)

    def stalls(self):
        for stall in self.trace.stalls:
            if not hasattr(stall, "qpn"):
                tid = FIRST_STALL + (STAGES + LINKS).index(stall.where)
                self.name(stall.hca, tid, f"{stall.where} waits")
                self.slice(stall.hca, tid, stall.cause, stall.ps, stall.end, {})

    def levels(self):
        """The last value of each nanosecond, from the first step on."""
        first = nanoseconds(min((step.ps for step in self.trace.steps), default=0))
        for (hca, name), values in self.trace.levels.items():
            if len(values) == 1:
                continue
            for ns, value in {max(first, nanoseconds(ps)): value for ps, value in values}.items():
                place = {"pid": self.pid[hca], "ts": microseconds(ns)}
                self.emit({"ph": "C", **place, "name": name, "args": {"value": value}})

    def flows(self):
        """An arrow from slice to slice along each work request."""
        for number, work in enumerate(self.works, 1):
            way = [self.places[id(r)] for _, r in work.path() if id(r) in self.places]
            for at, place in enumerate(way):
                ph = "s" if not at else "f" if at == len(way) - 1 else "t"
                event = {"ph": ph, "bp": "e", "id": number, "cat": "wqe", "name": "WQE"}
                self.emit({**event, **place})

    def build(self):
        for hca, pid in self.pid.items():
            self.emit({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": hca}})
        for part in (self.stores, self.stages, self.wire, self.queues, self.stalls, self.levels, self.flows):
            part()


def records_of(work):
    steps = [
        work.doorbell,
        work.fetch,
        work.decode,
        *work.packetise,
        *work.gather,
        *work.tx,
        *work.rx,
        work.complete,
    ]
    return [record for record in steps + [r for answer in work.answers for r in answer] if record]


def write(trace, works, path):
    encode = json.JSONEncoder(separators=(",", ":")).encode
    source = {"source": f"hcasim timeline {trace.folder}", "times": "simulated"}
    with open(path, "w") as file:
        file.write(f'{{"otherData":{encode(source)},"traceEvents":[\n')
        first = True

        def emit(event):
            nonlocal first
            file.write(encode(event) if first else f",\n{encode(event)}")
            first = False

        Timeline(trace, works, emit).build()
        file.write("\n]}\n")
