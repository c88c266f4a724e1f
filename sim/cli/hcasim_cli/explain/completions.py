# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Why completions failed: a rule for each status of enum ibv_wc_status."""
from .records import address_of, article, describe_region

LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, MW_BIND, ZERO_BASED = 1, 2, 4, 8, 16, 32
RIGHTS = {LOCAL_WRITE: "LOCAL_WRITE", REMOTE_WRITE: "REMOTE_WRITE", REMOTE_READ: "REMOTE_READ"}
RIGHTS |= {REMOTE_ATOMIC: "REMOTE_ATOMIC", MW_BIND: "MW_BIND"}
BY_PEER = {"RDMA_WRITE": REMOTE_WRITE, "RDMA_WRITE_IMM": REMOTE_WRITE, "RDMA_READ": REMOTE_READ}
BY_PEER |= {"ATOMIC_CS": REMOTE_ATOMIC, "ATOMIC_FA": REMOTE_ATOMIC, "ATOMIC_WRITE": REMOTE_WRITE}
INTO_OWN = ("RDMA_READ", "ATOMIC_CS", "ATOMIC_FA")  # the result is written to the SGEs
ATOMICS = ("ATOMIC_CS", "ATOMIC_FA")
MTU = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
RNR_FOREVER = 7


def rights(access):
    named = [name for bit, name in RIGHTS.items() if access & bit]
    return " | ".join(named) or "none"


def size_of(wqe):
    return 8 if wqe.op in ATOMICS else wqe.length


class Context:
    """A failed completion, and what it is about."""

    def __init__(self, folder, cqe):
        self.folder, self.cqe, self.ps = folder, cqe, cqe.ps
        self.wqe = folder.wqe_of(cqe)
        self.qp = folder.objects.find("qp", cqe.hca, cqe.qpn, cqe.ps)
        self.peer = folder.peer(self.qp, cqe.ps)
        self.since = self.wqe.ps if self.wqe else 0
        self.refused = None  # the packet that the peer refused

    @property
    def what(self):
        if not self.wqe:
            return "the receive" if self.cqe.op != "REQ" else "the request"
        return f"the {self.wqe.op} of {size_of(self.wqe)} bytes"

    def nak(self):
        """The last packet of this request that the peer answered with a NAK."""
        if self.refused or not self.peer:
            return self.refused
        mine = [
            r
            for r in self.folder.refused
            if (r.hca, getattr(r, "qpn", 0)) == (self.peer.hca, self.peer.number)
        ]
        mine = [r for r in mine if self.since <= r.ps <= self.ps and getattr(r, "nak", "RNR") != "RNR"]
        self.refused = mine[-1] if mine else None
        return self.refused

    @property
    def at_peer(self):
        return self.peer.name if self.peer else "the peer"


# ---- Keys ----


def reach(thing):
    """(first address, length) of a region, as SGEs and remote requests see it."""
    zero = int(thing.made.access_flags, 16) & ZERO_BASED
    return (0 if zero else address_of(thing)), thing.made.length


def of_key(folder, key, name, ps):
    """Regions and windows that had this key, those that exist first."""
    named = [
        o for o in folder.objects.keys() if int(getattr(o.made, name, "0x0"), 16) == key and o.born <= ps
    ]
    return sorted(named, key=lambda o: (not o.alive(ps), -o.born))


def unknown_key(folder, text, key, hca, ps):
    if not key:
        return f"{text} is 0: no memory region was given"
    changed = [
        o
        for o in folder.objects.keys(hca)
        if o.born <= ps and int(o.made.rkey, 16) >> 8 == key >> 8 and int(o.made.rkey, 16) != key
    ]
    if changed:
        return f"{text} is not valid (any more): the key of the {describe(changed[-1])} is {changed[-1].made.rkey}"
    other = swapped(key, 4)
    turned = [o for o in folder.objects.keys(hca) if o.born <= ps and int(o.made.rkey, 16) == other]
    if turned:
        return f"{text} has its bytes in the wrong order: {other:#x} belongs to an {describe(turned[-1])}"
    return f"{text} belongs to no memory region or window of {hca}: it was never valid, or is that of another program"


def describe(thing):
    return describe_region(thing) if thing.kind == "mr" else "memory window"


def gone(thing):
    how = {"rereg_mr": "re-registered", "dealloc_mw": "freed"}.get(
        getattr(thing.end, "call", ""), "deregistered"
    )
    return f"which was {how} before the access"


def swapped(value, size):
    return int.from_bytes(value.to_bytes(size, "little"), "big")


def exchanged(address, start, size):
    """How an address that was sent to the peer may have become this one."""
    if address < 1 << 32 and start <= start >> 32 << 32 | address < start + size:
        return "; its lower 32 bits are right, and the upper ones are missing, as after htonl()"
    if start <= swapped(address, 8) < start + size:
        return "; its bytes are in the wrong order"
    return ""


def holder(folder, hca, address, length, name, ps):
    """Which region has these bytes."""
    for region in (o for o in folder.objects.keys(hca) if o.kind == "mr" and o.alive(ps)):
        start, size = reach(region)
        if start <= address and address + length <= start + size:
            return f": that is in the {describe(region)}, with {name} {getattr(region.made, name)}"
    return ": no memory region has these bytes, they were not registered"


def judge_key(folder, hca, pd, name, key, address, length, right, ps, what):
    """Why an access is not allowed, or None: it seems to be."""
    text = f"{name} {key:#x}"
    there = of_key(folder, key, name, ps)
    mine = [o for o in there if o.hca == hca]
    if not mine and there:
        return f"{text} belongs to an {describe(there[0])} of {there[0].hca}; keys of one adapter mean nothing to another, here {hca}"
    if not mine:
        return unknown_key(folder, text, key, hca, ps)
    thing = mine[0]
    if not thing.alive(ps):
        return f"{text} belongs to an {describe(thing)}, {gone(thing)}"
    if thing.kind != "mr":
        return None
    if pd and getattr(thing, "pd", None) and thing.pd is not pd:
        return f"{text} belongs to an {describe(thing)} of protection domain {thing.pd.number}; the QP is of protection domain {pd.number}"
    start, size = reach(thing)
    if address + length <= start or address >= start + size:
        why = exchanged(address, start, size) or holder(folder, hca, address, length, name, ps)
        return f"{text} belongs to an {describe(thing)}; {what} at {address:#x} is outside{why}"
    if address < start:
        return f"{text} belongs to an {describe(thing)}; {what} at {address:#x} begins {start - address} bytes before it"
    if address + length > start + size:
        over = address + length - start - size
        return f"{text} belongs to an {describe(thing)}; {what} at {address:#x} exceeds it by {over}"
    access = int(thing.made.access_flags, 16)
    if right and not access & right:
        return f"{text} belongs to an {describe(thing)} without IBV_ACCESS_{RIGHTS[right]}; its access flags are {rights(access)}"
    return None


def local_keys(c):
    """What is wrong with the SGEs of a request."""
    right = LOCAL_WRITE if c.wqe.op in INTO_OWN else 0
    for number, sge in enumerate(getattr(c.wqe, "sge", [])):
        if not sge["length"]:
            continue
        found = judge_key(
            c.folder,
            c.cqe.hca,
            getattr(c.qp, "pd", None),
            "lkey",
            int(sge["lkey"], 16),
            int(sge["addr"], 16),
            sge["length"],
            right,
            c.ps,
            f"SGE {number} of {sge['length']} bytes",
        )
        if found:
            return found
    return None


def remote_key(c):
    if not c.wqe or not hasattr(c.wqe, "rkey") or not c.peer:
        return None
    return judge_key(
        c.folder,
        c.peer.hca,
        getattr(c.peer, "pd", None),
        "rkey",
        int(c.wqe.rkey, 16),
        int(c.wqe.remote_addr, 16),
        size_of(c.wqe),
        BY_PEER.get(c.wqe.op, 0),
        c.ps,
        c.what,
    )


def by_vendor(c, table, other):
    """A sentence for what the adapter saw."""
    return table.get(c.cqe.vendor_err, other)


# ---- The rules ----

VENDOR = {
    "BAD_LKEY": "an lkey belongs to no memory region",
    "LKEY_PD": "an lkey is of another protection domain than the QP",
    "LKEY_RANGE": "an SGE leaves the memory region of its lkey",
    "LKEY_ACCESS": "an SGE is to be written, but its memory region has no IBV_ACCESS_LOCAL_WRITE",
    "BAD_RKEY": "the rkey belongs to no memory region or window",
    "RKEY_PD": "the rkey is of another protection domain than the QP",
    "RKEY_RANGE": "the addresses leave those of the rkey",
    "RKEY_ACCESS": "the rkey does not permit this access",
    "DMA_FAULT": "the host refused the access to the memory: the program has unmapped it, or it is not mapped so",
}
WRONG_WQE = {
    "STALE_WQE": "the work request in memory is not the one that the doorbell announced: the provider rang too early or overwrote it",
    "BAD_OPCODE": "the QP's type does not have this operation",
    "BAD_SIZE": "the work request's size does not fit its segments, or leaves the queue",
    "BAD_QPN": "the work request names another QP",
    "BAD_SEGMENT": "a segment of the work request has a value that is not allowed",
    "INLINE_NOT_ALLOWED": "inline data is not allowed with this operation, or longer than max_inline_data",
    "RD_ATOMIC_LIMIT": "READs and atomics need max_rd_atomic (IBV_QP_MAX_QP_RD_ATOMIC) of at least 1, and the QP has 0",
    "ATOMIC_ALIGN": "the remote address of an atomic is not a multiple of 8",
    "DMA_FAULT": "the adapter could not read the work request from memory",
    "QP_STATE": "the QP is not in a state in which it sends",
}


def loc_len(c):
    if c.cqe.op != "REQ":
        return short_receive(c)
    if c.wqe and c.wqe.op in ATOMICS:
        return f"the result of an atomic is 8 bytes; the SGEs have {sum(s['length'] for s in getattr(c.wqe, 'sge', []))}"
    if c.qp and c.qp.type == "UD":
        mtu = MTU.get(getattr(c.folder.limits.get(c.cqe.hca), "active_mtu", 0))
        return f"{c.what} is longer than one packet; a UD message has at most the port's MTU" + (
            f", here {mtu} bytes" if mtu else ""
        )
    return f"{c.what} is longer than the longest message, 2^31 bytes"


def short_receive(c):
    """The message that came is the last one that the peer sent."""
    sent = last_message(c)
    message = f"the {sent.op} of {sent.length} bytes" if sent else "the message"
    return f"{message} from the peer is longer than the receive that took it"


def last_message(c):
    queue = c.folder.queues[c.peer.hca, c.peer.number] if c.peer else []
    return next((w for w in reversed(queue) if w.ps <= c.ps and w.op.startswith("SEND")), None)


def loc_qp_op(c):
    if c.cqe.op != "REQ":
        return "the receive's work request in memory is not valid"
    return by_vendor(c, WRONG_WQE, "the adapter cannot execute this work request on this QP")


def ended(c):
    """The program was gone before its requests were done."""
    last = [
        r for r in c.folder.verbs if getattr(r, "event", "") == "released" and c.qp and r.file == c.qp.file
    ]
    pages = c.cqe.vendor_err == "DMA_FAULT"
    if (
        pages
        and last
        and last[0].ps >= c.ps
        and not [r for r in c.folder.calls if getattr(r, "file", 0) == c.qp.file and r.ps > c.ps]
    ):
        return f"process {c.qp.pid} ended while the request was under way: poll its completion before the program ends"
    return None


def loc_prot(c):
    if c.wqe:
        return (
            local_keys(c)
            or ended(c)
            or by_vendor(c, VENDOR, "an SGE is not inside a memory region that permits the access")
        )
    return "of the posted receive, " + by_vendor(
        c, VENDOR, "an SGE is not inside a memory region with IBV_ACCESS_LOCAL_WRITE"
    )


def flushed(c):
    if not c.qp:
        return "the QP was in the error state"
    moved = [
        (ps, r) for ps, r in c.qp.changes if ps <= c.ps and int(r.attr_mask, 16) & 1 and r.qp_state in (0, 6)
    ]
    if moved:
        c.culprit = moved[-1][1]
        return f"the program moved {c.qp.name} to ERR with ibv_modify_qp(): what was posted, and is posted after that, is flushed"
    return f"{c.qp.name} was in the error state"


def mw_bind(c):
    if c.cqe.vendor_err == "LKEY_ACCESS":
        return "the window's memory region has no IBV_ACCESS_MW_BIND, or no IBV_ACCESS_LOCAL_WRITE for a window to be written"
    return by_vendor(
        c, VENDOR, "the bind or invalidation is not allowed: the window, its region or its rights"
    )


def bad_resp(_c):
    return "the peer answered with something that this request cannot have: it is not a conforming responder"


def loc_access(_c):
    return "the host refused the memory that an RDMA WRITE with immediate of the peer was to change: it is not mapped any more"


def mtu_of(qp, ps):
    path = qp.attr("path_mtu", ps) if qp else None
    return f"{MTU.get(path, path)} bytes"


def permission(c):
    if not c.wqe:
        return f"{c.at_peer} does not permit this"
    right = BY_PEER.get(c.wqe.op)
    needs = (
        f"it needs IBV_ACCESS_{RIGHTS[right]} in qp_access_flags, which are"
        if right
        else "its qp_access_flags are"
    )
    allowed = rights(int(c.peer.attr("qp_access_flags", c.ps, "0x0"), 16))
    return f"{c.at_peer} does not permit {article(c.wqe.op)}: {needs} {allowed}"


REFUSED = {
    "permission": permission,
    "receive_space": lambda c: f"{c.what} is longer than the receive that {c.at_peer} had posted",
    "rd_atomic": lambda c: f"more READs and atomics were outstanding than max_dest_rd_atomic of {c.at_peer} allows, "
    f"{c.peer.attr('max_dest_rd_atomic', c.ps, 0)}; max_rd_atomic here is {c.qp.attr('max_rd_atomic', c.ps, 0) if c.qp else '?'}",
    "atomic_alignment": lambda c: f"the remote address {getattr(c.wqe, 'remote_addr', '?')} of the atomic is not a multiple of 8",
    "receive_key": lambda c: f"the receive of {c.at_peer} has an lkey or address that is not valid",
    "receive_wqe": lambda c: f"the receive of {c.at_peer} is not valid",
    "memory": lambda c: f"the memory at {c.at_peer} is not mapped any more",
    "transport": lambda c: f"{c.at_peer} is a {c.peer.type} QP, this one is {c.qp.type if c.qp else '?'}",
    "length": lambda c: f"the length of a packet does not fit the path MTU of {c.at_peer}, {mtu_of(c.peer, c.ps)}; that of "
    f"the sender is {mtu_of(c.qp, c.ps)} (IBV_QP_PATH_MTU)",
    "order": lambda c: f"packets of a message came to {c.at_peer} in a wrong order",
    "invalidate": lambda c: f"the key that {c.what} was to invalidate cannot be invalidated at {c.at_peer}",
    "xrc_srq": lambda c: "the request names no SRQ of the XRC domain of the peer",
}


def refused_by_peer(c):
    r = c.nak()
    if r and r.reason in REFUSED and c.peer:
        return REFUSED[r.reason](c)
    found = remote_key(c)
    if found:
        return found
    if r and r.reason.startswith("rkey"):
        return VENDOR["BAD_RKEY" if r.reason == "rkey" else r.reason.upper()]
    return None


def rem_inv_req(c):
    if c.cqe.op != "REQ":
        return "SEND with invalidate from the peer named a key that cannot be invalidated"
    return refused_by_peer(c) or f"{c.at_peer} does not accept this request"


def rem_access(c):
    return refused_by_peer(c) or f"{c.at_peer} does not permit the access to this memory"


def rem_op(c):
    failed = [
        q
        for q in c.folder.cqes
        if c.peer and (q.hca, q.qpn) == (c.peer.hca, c.peer.number) and q.status != "OK"
    ]
    failed = [q for q in failed if c.since <= q.ps <= c.ps and q.status != "WR_FLUSH_ERR"]
    if failed:
        return f"the receive of {c.at_peer} failed with {failed[0].status}: {cause(Context(c.folder, failed[0]))}"
    return refused_by_peer(c) or f"{c.at_peer} could not execute the request"


def seconds(timeout):
    ps = 4.096e6 * 2**timeout
    return f"{ps / 1e9:.3g} ms" if ps < 1e12 else f"{ps / 1e12:.3g} s"


DROPPED = {
    "no_qp": "there is no such QP",
    "qp_state": "the QP is not in a state in which it receives: move it to RTR before the peer sends",
    "transport": "the QP there has another transport type",
    "wrong_port": "the QP there belongs to the other port",
    "pkey": "the P_Key is not in its table",
    "roce_version": "its GID is of the other RoCE version",
    "dgid": "the destination GID is not in its table",
    "sgid": "the sender's GID is not the one that IBV_QP_AV of the receiver names",
    "qkey": "the Q_Key is not that of the QP",
    "gap": "the PSN is ahead of what the receiver expects: its IBV_QP_RQ_PSN is not the sender's IBV_QP_SQ_PSN",
    "duplicate": "the PSN is behind what the receiver expects: its IBV_QP_RQ_PSN is not the sender's IBV_QP_SQ_PSN",
    "order": "the packets of the message are in a wrong order",
    "length": "its length does not fit the path MTU of the receiver",
    "no_receive": "no receive is posted",
    "receive_space": "the message is longer than the receive",
    "datagram_space": "the receive has no room for the datagram and the 40 bytes (GRH) before it",
    "receive_key": "the posted receive has an lkey or address that is not valid",
    "receive_wqe": "the posted receive is not valid",
    "permission": "qp_access_flags of the QP do not permit the operation",
    "rkey": "the rkey belongs to no memory region",
    "rkey_pd": "the rkey is of another protection domain than the QP",
    "rkey_range": "the addresses leave those of the rkey",
    "rkey_access": "the rkey does not permit this access",
    "steered": "a flow drops it",
    "skipped": "an earlier packet of the message was lost or refused",
    "memory": "the memory is not mapped any more",
    "rd_atomic": "more READs and atomics were outstanding than its max_dest_rd_atomic allows",
    "atomic_alignment": "the address of an atomic is not a multiple of 8",
    "invalidate": "the key cannot be invalidated",
    "xrc_srq": "the request names no SRQ of its XRC domain",
    "port_down": "the port is down",
    "icrc": "the frame was damaged on the wire",
    "malformed": "the packet is malformed",
    "rx_fifo": "the receiver had no room for more packets",
}


def psn_differ(c):
    sent = c.qp.attr("sq_psn", c.ps) if c.qp else None
    awaited = c.peer.attr("rq_psn", c.ps) if c.peer else None
    return sent is not None and awaited is not None and sent != awaited and (sent, awaited)


def drop_reason(c, reason):
    text = DROPPED.get(reason, reason)
    if reason == "qp_state" and c.peer and failure_of(c.peer, c.folder, c.ps):
        return f"it is in the error state since {failure_of(c.peer, c.folder, c.ps)}"
    if reason == "qp_state" and c.peer:
        return f"it is in {c.peer.state_at(c.ps)}, in which it does not receive: move it to RTR before the peer sends"
    if reason == "roce_version" and c.qp and c.peer:
        here, there = c.qp.attr("sgid_index", c.ps), c.peer.attr("sgid_index", c.ps)
        return f"{text}: sgid_index {here} here and {there} there, one of RoCEv1 and one of RoCEv2 (ibv_query_gid_ex())"
    return text


def failure_of(qp, folder, ps):
    """The event that put a queue pair into the error state."""
    names = ("QP_FATAL", "QP_ACCESS_ERR", "QP_REQ_ERR")
    mine = [
        r for r in folder.verbs if getattr(r, "event", "") in names and (r.hca, r.qpn) == (qp.hca, qp.number)
    ]
    return next((f"IBV_EVENT_{r.event}" for r in mine if qp.alive(r.ps) and r.ps <= ps), None)


def link_was_down(folder, hca, since, ps):
    states = [
        r for r in folder.verbs if getattr(r, "event", "") in ("PORT_ERR", "PORT_ACTIVE") and r.hca == hca
    ]
    before = [r.event for r in states if r.ps <= since][-1:]
    return "PORT_ERR" in before + [r.event for r in states if since < r.ps <= ps]


def unanswered(c):
    """Why the peer did not answer, as far as the trace says."""
    inside = [r for r in c.folder.refused if c.since <= r.ps <= c.ps and not hasattr(r, "nak")]
    dest = c.qp.attr("dest_qp_num", c.ps) if c.qp else None
    theirs = [
        r for r in inside if getattr(r, "qpn", dest) == dest and (r.hca != c.cqe.hca or dest != c.cqe.qpn)
    ]
    ours = [r for r in inside if (r.hca, getattr(r, "qpn", 0)) == (c.cqe.hca, c.cqe.qpn)]
    lost = [f for f in c.folder.faults if c.since <= f.ps <= c.ps]
    if psn_differ(c):
        sent, awaited = psn_differ(c)
        return f"it starts at PSN {sent} (IBV_QP_SQ_PSN), but {c.at_peer} expects {awaited} (IBV_QP_RQ_PSN)"
    if theirs:
        c.refused = theirs[-1]
        there = f"QP {dest} of {theirs[-1].hca}" if dest is not None else theirs[-1].hca
        return f"{there} dropped its packets: {drop_reason(c, theirs[-1].reason)}"
    if lost:
        return f"the wire lost or changed {len(lost)} frames ({', '.join(sorted({f.what for f in lost}))})"
    if ours:
        c.refused = ours[-1]
        return f"the answers were dropped here: {DROPPED.get(ours[-1].reason, ours[-1].reason)}"
    if c.peer and not c.peer.alive(c.ps):
        return f"{c.at_peer} was destroyed before"
    for hca in {c.cqe.hca, c.peer.hca if c.peer else c.cqe.hca}:
        if link_was_down(c.folder, hca, c.since, c.ps):
            return f"the link of {hca} was down"
    if dest is not None and not c.peer:
        return f"no QP {dest} (IBV_QP_DEST_QPN) was ever created on this machine"
    return "its packets, or the answers, did not arrive: IBV_QP_AV (GID, GID index) may lead elsewhere"


def retry_exc(c):
    times = c.qp.attr("retry_cnt", c.ps, 0) if c.qp else 0
    timeout = c.qp.attr("timeout", c.ps, 0) if c.qp else 0
    waited = f" of at least {seconds(timeout)} each" if timeout else ""
    return (
        f"no answer to {c.what} came, and the sender gave up after {times} retries{waited}: {unanswered(c)}"
    )


def rnr_retry_exc(c):
    times = c.qp.attr("rnr_retry", c.ps, 0) if c.qp else 0
    srq = getattr(c.peer, "srq", None) if c.peer else None
    where = f"{srq.name} (of {c.at_peer})" if srq else c.at_peer
    return f"no receive was posted on {where} within the RNR retries; the sender gave up after {times}"


def fatal(_c):
    return "the adapter is lost: the device process has ended"


def general(_c):
    return "the provider met a status that it does not know"


def never(_c):
    return "no adapter of this simulator reports this status: it is one of reliable datagrams or of early adapters"


def tm_err(_c):
    return "the entry that was to be deleted is not in the tag list any more: a message has taken it"


def tm_rndv(_c):
    return "the data of the rendezvous is longer than the tagged buffer: the program has to fetch it itself"


RULES = {
    "LOC_LEN_ERR": loc_len,
    "LOC_QP_OP_ERR": loc_qp_op,
    "LOC_EEC_OP_ERR": never,
    "LOC_PROT_ERR": loc_prot,
    "WR_FLUSH_ERR": flushed,
    "MW_BIND_ERR": mw_bind,
    "BAD_RESP_ERR": bad_resp,
    "LOC_ACCESS_ERR": loc_access,
    "REM_INV_REQ_ERR": rem_inv_req,
    "REM_ACCESS_ERR": rem_access,
    "REM_OP_ERR": rem_op,
    "RETRY_EXC_ERR": retry_exc,
    "RNR_RETRY_EXC_ERR": rnr_retry_exc,
    "LOC_RDD_VIOL_ERR": never,
    "REM_INV_RD_REQ_ERR": never,
    "REM_ABORT_ERR": never,
    "INV_EECN_ERR": never,
    "INV_EEC_STATE_ERR": never,
    "FATAL_ERR": fatal,
    "RESP_TIMEOUT_ERR": never,
    "GENERAL_ERR": general,
    "TM_ERR": tm_err,
    "TM_RNDV_INCOMPLETE": tm_rndv,
}


def cause(c):
    return RULES[c.cqe.status](c)
