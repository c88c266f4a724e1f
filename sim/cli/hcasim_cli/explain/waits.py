# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Who waits for what: of programs that did nothing for a second (event `waits` of verbs.log), and of full send queues."""
from collections import defaultdict

from .completions import DROPPED, RNR_FOREVER
from .records import article

NOT_SIGNALED = (
    "the last requests have no IBV_SEND_SIGNALED. The provider learns only from polled completions that requests are done, so "
    "ibv_post_send() fails with ENOMEM. Signal at least one request in each max_send_wr, and poll its completion"
)
FULL, WAITS = "full", "waits"


def pending(folder, qp, ps=None):
    """Work requests after the last one that is known to be done: the provider does not reuse their places."""
    key = (qp.hca, qp.number)
    done = [q for q in folder.completions[key] if qp.alive(q.ps) and q.op == "REQ"]
    last = folder.wqe_of(done[-1]) if done else None
    later = folder.queues[key][last.number + 1 if last else 0 :]
    return [w for w in later if qp.alive(w.ps) and (ps is None or w.ps <= ps)]


def signals_all(qp):
    return bool(getattr(qp.made, "sq_sig_all", 0))


def is_signaled(qp, wqe):
    return signals_all(qp) or "signaled" in getattr(wqe, "flags", [])


def full_queue(folder, qp):
    """No completion says that any of the requests in a full send queue is done."""
    waiting, room = pending(folder, qp), getattr(qp.made, "max_send_wr", 0)
    if not room or len(waiting) < room or any(is_signaled(qp, w) for w in waiting):
        return None
    return f"the send queue of {qp.name} is full because no request was signaled: max_send_wr is {room}, and {NOT_SIGNALED}"


class Process:
    """What a process has at a time."""

    def __init__(self, folder, pid, ps):
        self.folder, self.pid, self.ps = folder, pid, ps
        mine = [o for o in folder.objects.all if o.pid == pid and o.alive(ps)]
        self.qps = [o for o in mine if o.kind == "qp"]
        self.cqs = [o for o in mine if o.kind == "cq"]
        self.calls = [c for c in folder.calls if c.pid == pid and c.ps <= ps]

    def cqes(self, cq):
        return [
            q
            for q in self.folder.cqes
            if (q.hca, getattr(q, "cqn", 0)) == (cq.hca, cq.number) and cq.alive(q.ps)
        ]

    def events(self, cq):
        return [
            r
            for r in self.folder.verbs
            if getattr(r, "event", "") == "COMP" and (r.hca, r.cqn) == (cq.hca, cq.number) and cq.alive(r.ps)
        ]

    def of_cq(self, cq):
        return [qp for qp in self.qps if cq in (getattr(qp, "send_cq", None), getattr(qp, "recv_cq", None))]


def count(number, name):
    return f"{number} {name}{'' if number == 1 else 's'}"


def has_channel(cq):
    return getattr(cq.made, "comp_channel", -1) >= 0


def channel_reasons(p):
    """Of a thread in ibv_get_cq_event()."""
    for cq in p.cqs:
        if not has_channel(cq):
            if p.cqes(cq):
                yield f"{cq.name} has {count(len(p.cqes(cq)), 'completion')}, but was created without a completion channel"
            continue
        written, events = p.cqes(cq), p.events(cq)
        if not events and written:
            yield f"{cq.name} was not armed, or only for solicited completions, when {count(len(written), 'completion')} came{unsolicited(p, cq)}: call ibv_req_notify_cq() before the request is posted, and before each wait"
        elif written and events and written[-1].ps > events[-1].ps:
            later = len([q for q in written if q.ps > events[-1].ps])
            yield f"{cq.name} was not armed again after its last event: {count(later, 'completion')} came since then without one. Call ibv_req_notify_cq(), then poll until the CQ is empty, then wait"
        elif written:
            yield f"all {len(events)} events of {cq.name} were raised, and no completion came after them"


def unsolicited(p, cq):
    peers = [p.folder.peer(qp, p.ps) for qp in p.of_cq(cq)]
    sent = [w for peer in peers if peer for w in p.folder.queues[peer.hca, peer.number] if peer.alive(w.ps)]
    solicited = any("solicited" in getattr(w, "flags", []) for w in sent)
    return "" if solicited or not sent else ", and no request of the peer had IBV_SEND_SOLICITED"


SURE, MAYBE, PASSIVE = 1, 2, 3  # how likely a reason is what the program waits for


def qp_reasons(p, qp):
    """Why no completion of a queue pair comes: (how likely, sentence)."""
    waiting, state = pending(p.folder, qp), qp.state_at(p.ps)
    peer = p.folder.peer(qp, p.ps)
    failed = [
        q
        for q in p.folder.cqes
        if (q.hca, q.qpn) == (qp.hca, qp.number) and qp.alive(q.ps) and q.status != "OK"
    ]
    if failed:
        yield SURE, f"{qp.name} is in the error state since a completion with {failed[0].status}"
        return
    if state in ("RESET", "INIT"):
        yield SURE, f"{qp.name} is in {state}: it neither sends nor receives. Move it to RTR, and to RTS"
    elif state == "RTR":
        yield MAYBE, f"{qp.name} is in RTR: it receives, but sends nothing before it is in RTS"
    unsignaled = [w for w in waiting if not is_signaled(qp, w)]
    refused = [
        r for r in p.folder.refused if peer and (r.hca, getattr(r, "qpn", 0)) == (peer.hca, peer.number)
    ]
    rnr = [r for r in refused if getattr(r, "nak", "") == "RNR"]
    if waiting and rnr:
        forever = " for ever, as rnr_retry is 7" if qp.attr("rnr_retry", p.ps) == RNR_FOREVER else ""
        yield SURE, f"{qp.name} repeats the {waiting[0].op}{forever}: no receive is posted on {peer.name}"
    elif waiting and refused and not hasattr(refused[-1], "nak"):
        yield SURE, f"{peer.name} dropped the packets of {qp.name}: {DROPPED.get(refused[-1].reason, refused[-1].reason)}{timeout(qp, p.ps)}"
    elif waiting and len(unsignaled) == len(waiting):
        yield MAYBE, f"{qp.name} waits for nothing: {last_of(waiting)} ({', '.join(sorted({w.op for w in waiting}))}) had no IBV_SEND_SIGNALED, so there is no completion unless one fails"
    elif waiting:
        yield MAYBE, f"{qp.name} has no answer to {len(waiting)} requests yet, the first of which is {article(waiting[0].op)} of {waiting[0].length} bytes{timeout(qp, p.ps)}"
    elif not p.folder.queues[qp.hca, qp.number] and state == "RTS":
        yield PASSIVE, f"{qp.name} got no request: none was posted, or its doorbell was never rung"
    if not waiting and peer:
        yield from peer_reasons(p, qp, peer)


def last_of(waiting):
    return "its last request" if len(waiting) == 1 else f"its last {len(waiting)} requests"


def timeout(qp, ps):
    return "; its timeout is 0, so it waits for ever" if qp.attr("timeout", ps) == 0 else ""


def peer_reasons(p, qp, peer):
    sent = [w for w in p.folder.queues[peer.hca, peer.number] if w.ps <= p.ps and peer.alive(w.ps)]
    if not sent:
        yield PASSIVE, f"the peer of {qp.name}, {peer.name}, is in {peer.state_at(p.ps)} and has sent nothing"
    elif not [w for w in sent if w.op.startswith("SEND") or w.op.endswith("_IMM")]:
        yield PASSIVE, f"the peer of {qp.name}, {peer.name}, sent only {', '.join(sorted({w.op for w in sent}))}, which take no receive and make no completion at {qp.name}"


def unacknowledged(p):
    """ibv_destroy_cq() and ibv_destroy_qp() wait in the library for acknowledgements."""
    last = p.calls[-1] if p.calls else None
    comp, async_ = getattr(last, "comp_events", 0), getattr(last, "async_events", 0)
    if last and last.call.startswith("destroy_") and (comp or async_):
        what = (
            f"{comp} completion events (ibv_ack_cq_events())"
            if comp
            else f"{async_} asynchronous events (ibv_ack_async_event())"
        )
        return f"ibv_{last.call}() waits until the program has acknowledged {what}"
    return None


def connection_reasons(p):
    last = next(
        (c for c in reversed(p.calls) if c.call.startswith("rdma_") and c.call != "rdma_get_cm_event"), None
    )
    if not last:
        return
    where = getattr(last, "dst", getattr(last, "src", "?"))
    if last.call == "rdma_listen":
        yield f"the last call is rdma_listen() on {getattr(last, 'src', '?')}: no connection request has come"
    else:
        yield f"the last call is {last.call}() ({where}): the other side has not answered"


WHAT = {
    "completion channel": ("a completion event (ibv_get_cq_event())", channel_reasons),
    "asynchronous events": ("an asynchronous event (ibv_get_async_event())", lambda p: iter(())),
    "rdma_cm channel": ("an event of the connection manager (rdma_get_cm_event())", connection_reasons),
}
IN_LIBC = {"futex": "another thread, a lock or an acknowledgement", "accept": "a connection"}
IN_LIBC |= {name: "input" for name in ("read", "poll", "select", "epoll_wait", "recvmsg", "recvfrom")}
BY_CHOICE = ("nanosleep", "clock_nanosleep", "wait4")


def counts(p):
    """If nothing else is known: where completions came."""
    for cq in p.cqs:
        number = len(p.cqes(cq))
        yield f"{cq.name} got {count(number, 'completion')} so far"


def sentence(p, thread):
    """Who waits for what, and why it does not come."""
    what, why = WHAT.get(getattr(thread, "object", ""), (None, None))
    stuck = unacknowledged(p)
    reasons = []
    if stuck and thread.syscall == "futex":
        return f"thread {thread.tid} of process {p.pid} waits: {stuck}"
    if what:
        reasons += list(why(p))
    elif thread.syscall == "running":
        what = "a completion: it runs, and probably polls a CQ"
    else:
        what = IN_LIBC.get(thread.syscall, f"the system call {thread.syscall}")
    if thread.syscall in BY_CHOICE:
        return None
    if not reasons or thread.syscall == "running":
        found = [entry for qp in p.qps for entry in qp_reasons(p, qp)]
        reasons += [reason for likely, reason in found if likely == min(entry[0] for entry in found)]
    reasons = reasons or list(counts(p))
    text = f"thread {thread.tid} of process {p.pid} waits for {what}"
    return text + "".join(f". {reason[0].upper()}{reason[1:]}" for reason in reasons)


def last_waits(folder):
    """The `waits` records of processes that made no call after them."""
    found = defaultdict(list)
    for record in folder.verbs:
        if getattr(record, "event", "") == "waits":
            if found[record.pid] and found[record.pid][0].ps != record.ps:
                found[record.pid].clear()
            found[record.pid].append(record)
        elif hasattr(record, "call") and found.get(record.pid):
            found[record.pid].clear()
    for post in folder.posts:
        if hasattr(post, "ps") and found.get(post.pid) and post.ps > found[post.pid][0].ps:
            found[post.pid].clear()
    return {pid: records for pid, records in found.items() if records}
