# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Collects what went wrong from a trace folder: one problem for each cause, in the order of time."""
from collections import defaultdict
from dataclasses import dataclass, field

from . import calls, completions, datagrams, events, waits
from .source import Sources

# Members of a work request that are worth a line, with their words.
OPERANDS = (
    ("imm", "immediate"),
    ("inv_rkey", "invalidates"),
    ("swap_add", "swap or add"),
    ("compare", "compare"),
)
OPERANDS += (("dest_qpn", "to QP"), ("qkey", "Q_Key"))


CONNECTED = ("RC", "XRC")


@dataclass
class Problem:
    ps: int
    title: str
    cause: str
    rule: str  # what it is about: a status, an event, a call, or one of waits.py
    count: int = 1
    details: list = field(default_factory=list)  # (what, text)
    key: tuple = ()  # equal ones are counted
    flushed: dict = field(
        default_factory=lambda: defaultdict(int)
    )  # of a completion: its consequences, by QP
    qps: set = field(default_factory=set)  # that are in the error state because of it
    note: bool = False  # nothing went wrong


def describe_wqe(wqe):
    parts = [f"{wqe.op} #{wqe.index}, {wqe.length} bytes"]
    if getattr(wqe, "flags", []):
        parts.append(" ".join(wqe.flags))
    if hasattr(wqe, "rkey"):
        parts.append(f"remote {wqe.remote_addr} rkey {wqe.rkey}")
    parts += [f"{word} {getattr(wqe, name)}" for name, word in OPERANDS if hasattr(wqe, name)]
    parts += [f"SGE {s['addr']} length {s['length']} lkey {s['lkey']}" for s in getattr(wqe, "sge", [])]
    return ", ".join(parts)


class Collector:
    def __init__(self, folder):
        self.folder = folder
        self.source = Sources(folder.stacks)
        self.problems = []
        self.by_key = {}
        self.explained = set()  # refused packets that a completion is about
        self.broken = {}  # (hca, qpn) -> the problem that put the QP into the error state

    def add(self, problem):
        same = self.by_key.get(problem.key)
        if same:
            same.count += 1
            return same
        self.problems.append(problem)
        if problem.key:
            self.by_key[problem.key] = problem
        return problem

    def posted(self, wqe):
        place = self.source(getattr(wqe, "stack", 0))
        pid = getattr(wqe, "pid", 0)
        if place:
            return [("posted by", place + (f", process {pid}" if pid else ""))]
        return []

    def packet(self, refused, hca):
        frame = self.folder.sent.get(getattr(refused, "frame", 0))
        if not refused:
            return []
        what = f"PSN {refused.psn}" if hasattr(refused, "psn") else "a packet"
        if frame:
            what = f"frame {frame.pcap} of wire.pcap, {getattr(frame, 'opcode', '?')}, {what}"
        did = f"answered it with NAK {refused.nak}" if hasattr(refused, "nak") else "dropped it"
        return [("packet", f"{what}: {refused.hca} {did} ({refused.reason})")]

    def sent_packet(self, wqe, qp, until):
        """The first packet of a request, by its time: of requests without an answer."""
        dest = qp.attr("dest_qp_num", until) if qp else None
        mine = [
            f
            for f in self.folder.sent.values()
            if f.hca == wqe.hca
            and getattr(f, "dqpn", None) == dest
            and wqe.ps <= f.ps <= until
            and not f.response
        ]
        if not mine:
            return []
        last = mine[-1].pcap
        times = f", the last of {len(mine)} is frame {last}" if len(mine) > 1 else ""
        return [("packet", f"frame {mine[0].pcap} of wire.pcap, {mine[0].opcode}, PSN {mine[0].psn}{times}")]

    # ---- Completions ----

    def failed(self, cqe):
        c = completions.Context(self.folder, cqe)
        c.culprit = None
        queue = (cqe.hca, cqe.qpn)
        if cqe.status == "WR_FLUSH_ERR" and self.broken.get(queue) and self.broken[queue].born(c.qp):
            self.broken[queue].problem.flushed[queue] += 1
            return
        cause = completions.cause(c)
        refused = c.nak() or c.refused
        what = c.wqe.op if c.wqe else "receive" if cqe.op != "REQ" else cqe.wqe_op
        problem = Problem(
            cqe.ps, f"QP {cqe.qpn} of {cqe.hca}: {what} failed with IBV_WC_{cqe.status}", cause, cqe.status
        )
        problem.note = bool(c.culprit) and cqe.op != "REQ"  # receives that a disconnection flushes
        if cqe.status == "WR_FLUSH_ERR":
            problem.title = f"QP {cqe.qpn} of {cqe.hca}: requests were flushed (IBV_WC_WR_FLUSH_ERR)"
        problem.key = (cqe.hca, cqe.qpn, what, cqe.status, cause)
        if c.wqe and cqe.status != "WR_FLUSH_ERR":
            problem.details.append(("work request", describe_wqe(c.wqe)))
            problem.details += self.packet(refused, cqe.hca)
            if not refused and cqe.status.endswith("RETRY_EXC_ERR"):
                problem.details += self.sent_packet(c.wqe, c.qp, cqe.ps)
        if c.wqe and cqe.status != "WR_FLUSH_ERR":
            problem.details += self.posted(c.wqe)
        if c.culprit:
            place = self.source(getattr(c.culprit, "stack", 0))
            problem.details += [("called by", place)] if place else []
        if cqe.vendor_err != "NONE":
            problem.details.append(("adapter saw", cqe.vendor_err))
        self.explained.add(id(refused))
        problem = self.add(problem)
        self.broken.setdefault(queue, Broken(problem, c.qp))
        if not self.broken[queue].born(c.qp):
            self.broken[queue] = Broken(problem, c.qp)
        if cqe.status == "WR_FLUSH_ERR":
            problem.flushed[queue] += 1
        if c.peer and cqe.status.startswith("REM_") and cqe.op == "REQ":
            self.merge(problem, c.peer, c.since)
            self.explain_all(c.peer, c.since, cqe.ps)
        if cqe.status.endswith("RETRY_EXC_ERR"):
            self.explain_all(c.qp, c.since, cqe.ps)
            self.explain_all(c.peer, c.since, cqe.ps)
            self.explain_unknown(c)

    def merge(self, problem, peer, since):
        """The peer's event for the request that failed may have come before its completion."""
        key = (peer.hca, peer.number)
        early = self.broken.get(key)
        if early and early.born(peer) and early.problem.rule in ("QP_REQ_ERR", "QP_ACCESS_ERR"):
            if early.problem.ps >= since and early.problem in self.problems:
                self.problems.remove(early.problem)
                problem.details.append(
                    ("event", f"IBV_EVENT_{early.problem.rule} of QP {peer.number} at {peer.hca}")
                )
                for queue, count in early.problem.flushed.items():
                    problem.flushed[queue] += count
                early = None
        if not early or not early.born(peer):
            self.broken[key] = Broken(problem, peer)

    def explain_all(self, qp, since, until):
        for r in self.folder.refused:
            if qp and (r.hca, getattr(r, "qpn", 0)) == (qp.hca, qp.number) and since <= r.ps <= until:
                self.explained.add(id(r))

    def explain_unknown(self, c):
        for r in self.folder.refused:
            if r.reason == "no_qp" and c.since <= r.ps <= c.ps:
                self.explained.add(id(r))

    # ---- Events and calls ----

    def event(self, record):
        e = events.Event(self.folder, record)
        cause = events.cause(e)
        if not cause:
            return
        if record.event == "QP_FATAL" and self.at_the_end(e):
            return
        about = f"{e.name} of {e.hca}: " if e.thing else f"{e.hca}: " if e.hca else ""
        name = record.event if record.event.startswith("CM_") else f"IBV_EVENT_{record.event}"
        name = name.replace("CM_", "RDMA_CM_EVENT_", 1) if name.startswith("CM_") else name
        broken = self.broken.get((e.hca, e.number))
        if broken and broken.born(e.thing) and record.event in ("QP_REQ_ERR", "QP_ACCESS_ERR", "QP_FATAL"):
            note = ("event", f"{name} of {e.name} at {e.hca}")
            if note not in broken.problem.details:
                broken.problem.details.append(note)
            return
        problem = Problem(
            record.ps, f"{about}{name}", cause, record.event, key=(e.hca, e.name, record.event, cause)
        )
        problem.note = record.event in events.NORMAL
        problem.details += self.packet(e.refused, e.hca)
        if e.wqe:
            problem.details += [("last request", describe_wqe(e.wqe))] + self.posted(e.wqe)
        place = self.source(getattr(e.caller, "stack", 0))
        problem.details += [("called by", f"{place}, process {e.caller.pid}")] if place else []
        self.explained.add(id(e.refused))
        problem = self.add(problem)
        if record.event in ("QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR") and e.thing:
            self.broken[e.hca, e.number] = Broken(problem, e.thing)
        if record.event == "CQ_ERR" and e.thing:
            for qp in e.thing.users:
                self.broken[qp.hca, qp.number] = Broken(problem, qp)

    def at_the_end(self, e):
        """The program had ended: the adapter cannot read its queues any more."""
        if not e.thing or "overflowed" in events.cause(e):
            return False
        marks = [
            r for r in self.folder.verbs if getattr(r, "event", "") in ("waits", "released") and r.ps > e.ps
        ]
        closed = any(r.event == "released" and r.file == e.thing.file for r in marks)
        waited = any(r.event == "waits" and r.pid == e.thing.pid for r in marks)
        active = any(
            r.pid == e.thing.pid and getattr(r, "ps", 0) > e.ps for r in self.folder.calls + self.folder.posts
        )
        return closed and not waited and not active

    def call(self, record):
        c = calls.Call(self.folder, record)
        place = self.source(getattr(record, "stack", 0))
        cause = calls.cause(c)
        about = f"{c.thing.name}: " if c.thing else f"{c.hca}: " if c.hca else ""
        problem = Problem(
            record.ps, f"{about}{calls.verb(record.call)} failed with {record.errno}", cause, record.call
        )
        problem.key = (problem.title, cause, place)
        problem.details += [("called by", f"{place}, process {record.pid}")] if place else []
        self.add(problem)

    # ---- Packets without an answer ----

    def dropped(self):
        for r in self.folder.refused:
            qp = self.folder.objects.find("qp", r.hca, getattr(r, "qpn", 0), r.ps)
            if id(r) in self.explained or hasattr(r, "nak") or r.reason not in completions.DROPPED:
                continue
            if not qp and r.reason != "no_qp":
                continue
            frame = self.folder.sent.get(getattr(r, "frame", 0))
            if (qp and qp.type.startswith(CONNECTED)) or getattr(frame, "opcode", "").startswith(CONNECTED):
                continue  # repeated, or answered: a completion says so
            where = qp.name if qp else r.hca
            wqe = datagrams.request_of(self.folder, r)
            problem = Problem(r.ps, f"{where}: a packet was dropped", datagrams.cause(qp, r, wqe), r.reason)
            problem.key = (where, r.reason)
            problem.details += [("work request", describe_wqe(wqe))] if wqe else []
            problem.details += self.packet(r, r.hca) + (self.posted(wqe) if wqe else [])
            self.add(problem)

    # ---- What is unfinished ----

    def unfinished(self):
        end = max([r.ps for r in self.folder.verbs], default=0)
        for qp in [o for o in self.folder.objects.all if o.kind == "qp"]:
            text = waits.full_queue(self.folder, qp)
            if text and not any(
                p.rule == "post_send" and p.title.startswith(f"{qp.name}:") for p in self.problems
            ):
                queue = self.folder.queues[qp.hca, qp.number]
                p = Problem(queue[-1].ps, f"{qp.name}: the send queue is full", text, waits.FULL)
                p.details += [("last request", describe_wqe(queue[-1]))] + self.posted(queue[-1])
                self.add(p)
        for pid, threads in waits.last_waits(self.folder).items():
            process = waits.Process(self.folder, pid, threads[0].ps)
            for thread in threads:
                self.waiting(process, thread, end)

    def waiting(self, process, thread, end):
        text = waits.sentence(process, thread)
        if not text:
            return
        problem = Problem(end, f"process {process.pid}: did nothing for a second", text, waits.WAITS)
        last = self.last_place(thread.tid)
        problem.details += [("last call", last)] if last else []
        self.add(problem)

    def last_place(self, tid):
        found = [
            r
            for r in self.folder.calls + self.folder.posts
            if getattr(r, "tid", 0) == tid and hasattr(r, "ps")
        ]
        found = [r for r in found if self.source(getattr(r, "stack", 0))]
        return self.source(max(found, key=lambda r: (r.ps, hasattr(r, "addr"))).stack) if found else None

    def collect(self):
        records = [(q.ps, 1, self.failed, q) for q in self.folder.cqes if q.status != "OK"]
        for r in self.folder.verbs:
            if getattr(r, "event", "") in events.RULES or getattr(r, "event", "").startswith("CM_"):
                records.append((r.ps, 0 if r.event == "CQ_ERR" else 2, self.event, r))
        records += [(r.ps, 0, self.call, r) for r in self.folder.calls if calls.is_problem(r)]
        for _, _, handle, record in sorted(records, key=lambda entry: entry[:2]):
            handle(record)
        self.dropped()
        self.unfinished()
        self.problems.sort(key=lambda p: p.ps)
        return self.problems


class Broken:
    """The first cause of a queue pair's error state, as long as it is that queue pair."""

    def __init__(self, problem, qp):
        self.problem, self.qp = problem, qp

    def born(self, qp):
        return qp is self.qp
