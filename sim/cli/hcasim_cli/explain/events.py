# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What asynchronous events and events of the connection manager mean: a rule for each."""
import errno

from .completions import DROPPED

CM_STATUS = {
    1: "no QP",
    6: "timeout",
    8: "no program listens on that port",
    10: "duplicate connection",
    24: "invalid GID",
}
CM_STATUS |= {28: "the program at the other end called rdma_reject(), or ended"}


class Event:
    def __init__(self, folder, record):
        self.folder, self.record, self.ps, self.hca = folder, record, record.ps, getattr(record, "hca", "")
        kind = next((k for k in ("qp", "cq", "srq", "wq") if hasattr(record, f"{k}n")), None)
        self.number = getattr(record, f"{kind}n", 0) if kind else 0
        self.thing = folder.objects.find(kind, self.hca, self.number, self.ps) if kind else None
        self.name = {"qp": "QP", "cq": "CQ", "srq": "SRQ", "wq": "WQ"}.get(kind, "") + f" {self.number}"
        self.refused = None
        self.wqe = None  # the work request that it is about, if any
        self.caller = None  # the call that it answers, if any


def cq_err(e):
    entries = e.thing.granted("cqe") if e.thing else 0
    written = [q for q in e.folder.cqes if (q.hca, getattr(q, "cqn", 0)) == (e.hca, e.number)]
    born = e.thing.born if e.thing else 0
    e.wqe = last_request(e)
    count = len([q for q in written if born <= q.ps <= e.ps]) + 1
    asked = getattr(e.thing.made, "cqe", entries) if e.thing else entries
    more = f" (ibv_create_cq() asked for {asked})" if asked != entries else ""
    slow = "" if count == entries + 1 else ", which the program did not poll in time"
    return f"CQ {e.number} overflowed: {entries} entries{more}, {count} completions{slow}. Every QP that uses it is in the error state"


def last_request(e):
    """Of the queues that send completions to the CQ."""
    qps = (
        [u for u in e.thing.users if u.kind == "qp" and getattr(u, "send_cq", None) is e.thing]
        if e.thing
        else []
    )
    posted = [w for qp in qps for w in e.folder.queues[qp.hca, qp.number] if qp.alive(w.ps) and w.ps <= e.ps]
    return max(posted, key=lambda w: w.ps, default=None)


def refused_at(e):
    """The packet that the QP refused before the event."""
    mine = [
        r for r in e.folder.refused if (r.hca, getattr(r, "qpn", 0)) == (e.hca, e.number) and r.ps <= e.ps
    ]
    answered = [r for r in mine if hasattr(r, "nak")]  # what comes after that is dropped
    e.refused = (answered or mine or [None])[-1]
    return DROPPED.get(e.refused.reason, e.refused.reason) if e.refused else None


def qp_fatal(e):
    cqs = [getattr(e.thing, name, None) for name in ("send_cq", "recv_cq")] if e.thing else []
    over = [cq for cq in cqs if cq and event_of(e, "CQ_ERR", "cqn", cq.number)]
    if over:
        return f"QP {e.number} is in the error state, because its CQ {over[0].number} overflowed"
    return f"QP {e.number} is in the error state: a CQ that its SRQ has overflowed, or the adapter could not read its queues or its context from memory"


def event_of(e, name, member, number):
    same = [r for r in e.folder.verbs if getattr(r, "event", "") == name and getattr(r, "hca", "") == e.hca]
    return [r for r in same if getattr(r, member, None) == number and r.ps <= e.ps]


def qp_req_err(e):
    why = refused_at(e)
    return f"a request of the peer to QP {e.number} was not valid" + (f": {why}" if why else "")


def qp_access_err(e):
    why = refused_at(e)
    return f"a request of the peer to QP {e.number} was not permitted" + (f": {why}" if why else "")


def device_fatal(_e):
    return "the adapter is lost: the device process has ended. All requests are flushed"


def port_err(e):
    return (
        f"the link of port {e.record.port} went down: nothing is sent or received until IBV_EVENT_PORT_ACTIVE"
    )


def srq_err(e):
    cq = getattr(e.thing, "cq", None)
    if cq and event_of(e, "CQ_ERR", "cqn", cq.number):
        return f"SRQ {e.number} is in error, because its {cq.name} overflowed"
    return f"SRQ {e.number} is in error: the adapter could not read it from memory"


def wq_fatal(e):
    return f"WQ {e.number} is in error: the adapter could not read it from memory, or its CQ overflowed"


def path_mig_err(_e):
    return "the migration to the alternate path failed; RoCE ports have none"


# ---- Events of normal operation ----


def comm_est(e):
    return f"the first packet of the peer came while QP {e.number} was in RTR: it can be moved to RTS. Nothing is wrong"


def sq_drained(e):
    return f"QP {e.number} is in SQD, and its requests that had begun are done. Nothing is wrong"


def srq_limit(e):
    calls = [
        c for c in e.folder.calls if c.call == "modify_srq" and e.folder.objects.of.get(id(c)) is e.thing
    ]
    limit = calls[-1].srq_limit if calls else "srq_limit"
    return f"fewer than {limit} receives are left in SRQ {e.number}: post more, and set the limit again"


def last_wqe(e):
    srq = getattr(e.thing, "srq", None)
    return f"QP {e.number} is in ERR and takes no more receives of {srq.name if srq else 'its SRQ'}: it can be destroyed"


def port_active(e):
    return f"the link of port {getattr(e.record, 'port', '?')} is up"


def changed(what):
    return lambda e: f"{what} of port {getattr(e.record, 'port', '?')} changed: query it again"


def path_mig(e):
    return f"QP {e.number} uses its alternate path now"


NORMAL = {
    "COMM_EST": comm_est,
    "SQ_DRAINED": sq_drained,
    "PATH_MIG": path_mig,
    "PORT_ACTIVE": port_active,
    "LID_CHANGE": changed("the LID"),
    "PKEY_CHANGE": changed("the P_Key table"),
    "SM_CHANGE": changed("the subnet manager"),
    "SRQ_LIMIT_REACHED": srq_limit,
    "QP_LAST_WQE_REACHED": last_wqe,
    "CLIENT_REREGISTER": changed("the subnet manager"),
    "GID_CHANGE": changed("the GID table"),
}
RULES = NORMAL | {
    "CQ_ERR": cq_err,
    "QP_FATAL": qp_fatal,
    "QP_REQ_ERR": qp_req_err,
    "QP_ACCESS_ERR": qp_access_err,
    "PATH_MIG_ERR": path_mig_err,
    "DEVICE_FATAL": device_fatal,
    "PORT_ERR": port_err,
    "SRQ_ERR": srq_err,
    "WQ_FATAL": wq_fatal,
}


# ---- The connection manager ----


def to(e):
    return getattr(e.record, "dst", "?")


def status(e):
    return f"status {e.record.status}" + (
        f", {errno.errorcode[-e.record.status]}" if -e.record.status in errno.errorcode else ""
    )


def addr_error(e):
    return f"rdma_resolve_addr() of {to(e)} failed: no adapter's network interface leads there ({status(e)})"


def route_error(e):
    return f"rdma_resolve_route() to {to(e)} failed ({status(e)})"


def connect_error(e):
    return f"the connection with {to(e)} could not be made ({status(e)})"


def unreachable(e):
    return f"{to(e)} did not answer the connection request ({status(e)})"


def rejected(e):
    why = CM_STATUS.get(e.record.status, f"reason {e.record.status} of IBTA 12.6.7.2")
    return f"the connection to {to(e)} was rejected: {why}"


def removal(_e):
    return "the adapter of this connection was removed"


def multicast_error(e):
    return f"rdma_join_multicast() failed (status {e.record.status})"


CM_RULES = {
    "CM_ADDR_ERROR": addr_error,
    "CM_ROUTE_ERROR": route_error,
    "CM_CONNECT_ERROR": connect_error,
    "CM_UNREACHABLE": unreachable,
    "CM_REJECTED": rejected,
    "CM_DEVICE_REMOVAL": removal,
    "CM_MULTICAST_ERROR": multicast_error,
}


def cause(e):
    if e.record.event in CM_RULES:
        same = [
            c
            for c in e.folder.calls
            if (getattr(c, "file", 0), getattr(c, "id", None)) == (e.record.file, e.record.id)
        ]
        e.caller = next((c for c in reversed(same) if c.ps <= e.ps), None)
    rule = RULES.get(e.record.event) or CM_RULES.get(e.record.event)
    return rule(e) if rule else None
