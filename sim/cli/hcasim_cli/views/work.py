# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What happened to each work request, from the store to the CQE."""
from collections import defaultdict

from .trace import TraceError

HALF_INDEX, INDEXES = 1 << 15, 1 << 16
HALF_PSN, PSNS = 1 << 23, 1 << 24


class Work:
    """A work request. Steps are in the order of their ends; those of retransmissions are among them."""

    def __init__(self, record, decode, number):
        self.hca, self.qpn, self.index, self.number = record.hca, record.qpn, record.index, number
        self.op, self.length = record.op, record.length
        self.answered = getattr(record, "answered", False)
        self.decode = decode
        self.store = self.doorbell = self.fetch = None  # TLP, steps
        self.packetise, self.gather, self.tx = [], [], []
        self.sent, self.rx = [], []  # its frames on the wire, and at the peer
        self.answers = []  # (respond, gather, tx, sent, rx): of each frame that came back; a step may be None
        self.complete = self.cqe = self.landing = None  # step, record, TLP

    @property
    def name(self):
        return f"{self.op} {self.hca} QP {self.qpn} #{self.number}"

    @property
    def latency(self):
        """From the first bit of the store to the arrival of the CQE in host memory; None: it lacks one of them."""
        return self.landing.arrival - self.store.ps if self.store and self.landing else None

    def path(self):
        """(name, record) of the first packet's way, in order."""
        way = [("store", self.store), ("doorbell", self.doorbell), ("fetch", self.fetch)]
        way += [("decode", self.decode)]
        for name in ("packetise", "gather", "tx", "sent", "rx"):
            way += [(name, next(iter(getattr(self, name)), None))]
        if self.answers:
            way += list(
                zip(("respond", "answer_gather", "answer_tx", "answer_sent", "answer_rx"), self.answers[-1])
            )
        way += [("complete", self.complete), ("cqe", self.landing)]
        return [(name, record) for name, record in way if record]


def until(record):
    return getattr(record, "end", getattr(record, "arrival", record.ps))


def by_queue(records):
    queues = defaultdict(list)
    for record in records:
        if getattr(record, "qpn", 0):
            queues[record.hca, record.qpn].append(record)
    return queues


def of_stage(trace, stage):
    return [step for step in trace.steps if step.stage == stage]


class Assembler:
    def __init__(self, trace):
        self.trace = trace
        self.works = []
        self.queues = defaultdict(list)  # of each (hca, qpn), in order
        self.sent = {frame.frame: frame for frame in trace.sent}
        self.rx = defaultdict(list)
        for step in of_stage(trace, "rx"):
            if hasattr(step, "frame"):
                self.rx[step.frame].append(step)

    def decodes(self):
        records = by_queue(self.trace.wqes)
        for queue, steps in by_queue(
            s for s in of_stage(self.trace, "decode") if hasattr(s, "index")
        ).items():
            if [s.index for s in steps] != [r.index for r in records[queue]]:
                raise TraceError(
                    f"{self.trace.folder}/wqe.log: the work requests of {queue[0]} QP {queue[1]} are not those of "
                    "events.log: files of two runs"
                )
            for number, (step, record) in enumerate(zip(steps, records[queue])):
                self.queues[queue].append(Work(record, step, number))
        self.works = sorted((w for q in self.queues.values() for w in q), key=lambda w: w.decode.end)

    def doorbells(self):
        """The first doorbell that is not older than the one before, and covers the index."""
        stores = {(t.hca, t.arrival): t for t in self.trace.writes if t.dir == "down"}
        rung = by_queue(s for s in of_stage(self.trace, "doorbell") if hasattr(s, "index"))
        for queue, works in self.queues.items():
            steps, at = rung[queue], 0
            for work in works:
                while at < len(steps) and not covers(steps[at], work.index):
                    at += 1
                if at == len(steps):
                    break
                if steps[at].end > work.decode.end:
                    continue
                work.doorbell = steps[at]
                work.store = stores.get((work.hca, getattr(steps[at], "store", None)))

    def fetches(self):
        done = by_queue(s for s in of_stage(self.trace, "fetch") if getattr(s, "blocks", 0))
        for queue, works in self.queues.items():
            steps, at = done[queue], 0
            for work in works:
                while at < len(steps) and (work.index - steps[at].index) % INDEXES >= steps[at].blocks:
                    if (work.index - steps[at].index) % INDEXES >= HALF_INDEX:
                        break  # it was pushed: the next fetch begins behind it
                    at += 1
                if at < len(steps) and (work.index - steps[at].index) % INDEXES < steps[at].blocks:
                    work.fetch = steps[at]

    def packets(self):
        """Steps that name a ring index, and the frames that TX made."""
        latest, decoded = {}, iter(self.works)
        pending = next(decoded, None)
        for step in self.trace.steps:
            while pending and pending.decode.end <= step.end:
                latest[pending.hca, pending.qpn, pending.index] = pending
                pending = next(decoded, None)
            work = latest.get((step.hca, getattr(step, "qpn", 0), getattr(step, "index", None)))
            if work and step.stage in ("packetise", "gather", "tx"):
                getattr(work, step.stage).append(step)
            elif work and step.stage == "complete":
                work.complete = step
        for work in self.works:
            work.sent = [self.sent[s.frame] for s in work.tx if getattr(s, "frame", 0) in self.sent]
            work.rx = [s for frame in work.sent for s in self.rx[frame.frame]]

    def of_psn(self, queue, psn, end):
        """The newest request until `end` that has this PSN or, of a READ, one before it."""
        for work in reversed(self.queues[queue]):
            psns = [s.psn for s in work.packetise if hasattr(s, "psn") and s.end <= end]
            if psns and (psn - psns[0]) % PSNS < HALF_PSN:
                return work
        return None

    def answers(self):
        made = defaultdict(list)
        for step in self.trace.steps:
            if step.stage in ("respond", "gather") and hasattr(step, "psn") and not hasattr(step, "index"):
                made[step.stage, step.hca, step.qpn, step.psn].append(step)
        for tx in of_stage(self.trace, "tx"):
            frame = self.sent.get(getattr(tx, "frame", 0))
            if not frame or not getattr(frame, "response", False):
                continue
            before = [
                next((s for s in reversed(made[stage, tx.hca, tx.qpn, tx.psn]) if s.end <= tx.ps), None)
                for stage in ("respond", "gather")
            ]
            for rx in self.rx[frame.frame]:
                work = self.of_psn((rx.hca, frame.dqpn), frame.psn, rx.ps)
                if work:
                    work.answers.append((*before, tx, frame, rx))

    def completions(self):
        written = defaultdict(list)
        for tlp in self.trace.writes:
            if tlp.dir != "down":
                written[tlp.hca].append(tlp)
        steps = {(w.hca, w.qpn, w.index, w.complete.end): w for w in self.works if w.complete}
        place = defaultdict(int)
        for cqe in self.trace.cqes:
            tlps, at = written[cqe.hca], place[cqe.hca]
            while at < len(tlps) and not cqe.raw.startswith(tlps[at].data):
                at += 1
            place[cqe.hca] = at + 1
            work = steps.get((cqe.hca, cqe.qpn, cqe.wqe_index, cqe.ps)) if cqe.op == "REQ" else None
            if work:
                work.cqe = cqe
                work.landing = tlps[at] if at < len(tlps) else None


def covers(step, index):
    if getattr(step, "pushed", False):
        return (step.index - index) % INDEXES < HALF_INDEX
    return (step.index - 1 - index) % INDEXES < HALF_INDEX


def assemble(trace):
    """All work requests, in the order in which they were decoded."""
    a = Assembler(trace)
    a.decodes()
    a.doorbells()
    a.fetches()
    a.packets()
    a.answers()
    a.completions()
    return a.works
