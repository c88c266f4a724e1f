# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What explain reads of a trace folder: the logs, and the verbs objects that verbs.log names."""
import json
import os
from bisect import bisect_right
from collections import defaultdict, deque
from types import SimpleNamespace

from ..views.trace import NUMBER, Place, TraceError, check, objects
from ..views.work import covers

STATES = ("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR")
TYPES = {2: "RC", 3: "UC", 4: "UD", 8: "RAW_PACKET", 9: "XRC_SEND", 10: "XRC_RECV", 255: "DRIVER"}
# By bit, as in enum ibv_qp_attr_mask.
ATTRS = (
    "STATE CUR_STATE EN_SQD_ASYNC_NOTIFY ACCESS_FLAGS PKEY_INDEX PORT QKEY AV PATH_MTU TIMEOUT RETRY_CNT RNR_RETRY "
    "RQ_PSN MAX_QP_RD_ATOMIC ALT_PATH MIN_RNR_TIMER SQ_PSN MAX_DEST_RD_ATOMIC PATH_MIG_STATE CAP DEST_QPN"
).split()
# Members of a modify_qp record that an attribute sets.
MEMBERS = {
    "ACCESS_FLAGS": ["qp_access_flags"],
    "PKEY_INDEX": ["pkey_index"],
    "PORT": ["port_num"],
    "QKEY": ["qkey"],
    "AV": ["is_global", "dgid", "sgid_index", "av_port"],
    "PATH_MTU": ["path_mtu"],
    "TIMEOUT": ["timeout"],
    "RETRY_CNT": ["retry_cnt"],
    "RNR_RETRY": ["rnr_retry"],
    "RQ_PSN": ["rq_psn"],
    "SQ_PSN": ["sq_psn"],
    "MAX_QP_RD_ATOMIC": ["max_rd_atomic"],
    "MAX_DEST_RD_ATOMIC": ["max_dest_rd_atomic"],
    "MIN_RNR_TIMER": ["min_rnr_timer"],
    "DEST_QPN": ["dest_qp_num"],
}
SMALLEST = 4  # bytes of a store, and their alignment
LOGS = ("verbs.log", "posts.log", "wqe.log", "cqe.log", "tlp.log", "fault.log")


def article(name):
    """ "an RC", "a UD", "an RDMA_WRITE", "a SEND": as the letters are spoken."""
    return f"{'an' if name[0] in 'AEIORX' else 'a'} {name}"


def attrs_in(mask):
    return [name for bit, name in enumerate(ATTRS) if mask >> bit & 1]


def read(folder, name, needed, wanted=None):
    """Records of a log; `wanted` is a part of the lines that count."""
    path = f"{folder}/{name}"
    where, found = Place(path), []
    if name == "events.log" and not os.path.exists(path):
        return []
    for record in filtered(path, where, wanted) if wanted else objects(path, where):
        check(record, needed, {}, where)
        found.append(SimpleNamespace(**record))
    return found


def filtered(path, where, wanted):
    try:
        with open(path, encoding="utf-8") as file:
            for where.number, line in enumerate(file, 1):
                if any(part in line for part in wanted):
                    yield json.loads(line)
    except ValueError:
        raise TraceError(f"{where}: not a JSON object: truncated or foreign") from None
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None


class Object:
    """A verbs object, from its creation to its destruction."""

    def __init__(self, kind, record):
        self.kind, self.made = kind, record
        self.hca, self.file, self.pid = record.hca, record.file, record.pid
        self.number = getattr(
            record, {"qp": "qpn", "cq": "cqn", "srq": "srqn", "wq": "wqn"}.get(kind, "handle"), 0
        )
        self.born, self.died, self.end = record.ps, None, None  # `end`: the call that destroyed it
        self.users = []
        self.changes = []  # of a QP: (ps, record), successful ones
        self.state = "RESET"

    @property
    def name(self):
        on = f" of {self.hca}" if self.kind in ("qp", "cq", "srq", "wq") else ""
        named = {
            "qp": "QP",
            "cq": "CQ",
            "srq": "SRQ",
            "mr": "MR",
            "pd": "PD",
            "wq": "WQ",
            "mw": "memory window",
        }
        return (
            f"{named.get(self.kind, self.kind)} {self.number}{on}"
            if self.kind != "mr"
            else describe_region(self)
        )

    def alive(self, ps):
        at_the_end = self.end is None and ps == self.died  # time may stand still until the process ends
        return self.born <= ps and (self.died is None or ps < self.died or at_the_end)

    def granted(self, name):
        return getattr(self.made, "granted", {}).get(name)

    def attr(self, name, ps=None, default=None):
        """The value that ibv_modify_qp() set last."""
        for when, record in reversed(self.changes):
            if ps is None or when <= ps:
                for attr in attrs_in(int(record.attr_mask, 16)):
                    if name in MEMBERS.get(attr, []):
                        return getattr(record, name)
        return default

    def state_at(self, ps):
        state = "RESET"
        for when, record in self.changes:
            if when <= ps and int(record.attr_mask, 16) & 1:
                state = STATES[record.qp_state]
        return state

    @property
    def type(self):
        return TYPES.get(getattr(self.made, "qp_type", 2), "?")


def describe_region(mr):
    return f"MR of {mr.made.length} bytes at {address_of(mr):#x}"


def address_of(mr):
    """Where its addresses begin for SGEs and remote requests."""
    return int(getattr(mr.made, "hca_va", getattr(mr.made, "start", "0x0")), 16)


CREATES = {"alloc_pd": "pd", "reg_mr": "mr", "reg_dm_mr": "mr", "reg_dmabuf_mr": "mr", "alloc_mw": "mw"}
CREATES |= {"create_ah": "ah", "create_cq": "cq", "create_srq": "srq", "create_qp": "qp", "open_qp": "qp"}
CREATES |= {"create_wq": "wq"}
DESTROYS = {"dealloc_pd": "pd", "dereg_mr": "mr", "dealloc_mw": "mw", "destroy_ah": "ah", "destroy_cq": "cq"}
DESTROYS |= {"destroy_srq": "srq", "destroy_qp": "qp", "destroy_wq": "wq"}
TARGETS = DESTROYS | {"modify_qp": "qp", "post_send": "qp", "post_recv": "qp", "post_srq_recv": "srq"}
TARGETS |= {"attach_mcast": "qp", "detach_mcast": "qp"}
TARGETS |= {
    "rereg_mr": "mr",
    "resize_cq": "cq",
    "modify_cq": "cq",
    "req_notify_cq": "cq",
    "modify_srq": "srq",
}
TARGETS |= {"modify_wq": "wq"}
USES = {
    "pd_handle": "pd",
    "send_cq_handle": "cq",
    "recv_cq_handle": "cq",
    "cq_handle": "cq",
    "srq_handle": "srq",
}


class Objects:
    """Follows verbs.log."""

    def __init__(self, records):
        self.all = []
        self.now = {}  # (file, kind, handle) of those that exist
        self.of = {}  # the object that a call names, by the record's identity
        for record in records:
            if hasattr(record, "call"):
                self.follow(record)
            elif record.event == "released":
                self.release(record)

    def follow(self, record):
        found = self.target(record, TARGETS.get(record.call))
        if found:
            self.of[id(record)] = found
        if hasattr(record, "errno"):
            return
        if record.call in CREATES and hasattr(record, "handle"):
            self.create(CREATES[record.call], record)
        elif record.call in DESTROYS:
            self.destroy(DESTROYS[record.call], record)
        elif record.call == "modify_qp":
            self.modify(record)
        elif record.call == "rereg_mr" and id(record) in self.of:
            self.reregister(self.of[id(record)], record)
        elif record.call == "resize_cq" and id(record) in self.of:
            self.of[id(record)].made.granted = getattr(record, "granted", {})

    def target(self, record, kind):
        """The object that a call changes or destroys; a library does not know the number of its file."""
        handle = getattr(record, f"{kind}_handle", None)
        if hasattr(record, "file"):
            return self.now.get((record.file, kind, handle))
        if hasattr(record, "qpn"):
            return self.find("qp", record.hca, record.qpn, record.ps)
        same = [o for (_, k, h), o in self.now.items() if (k, h) == (kind, handle)]
        return next((o for o in same if (o.hca, o.pid) == (record.hca, record.pid)), None)

    def create(self, kind, record):
        made = Object(kind, record)
        self.now[record.file, kind, record.handle] = made
        self.all.append(made)
        self.of[id(record)] = made
        for name, used in USES.items():
            there = self.now.get((record.file, used, getattr(record, name, None)))
            if there and not (name == "srq_handle" and not getattr(record, "is_srq", 1)):
                there.users.append(made)
                setattr(made, name.removesuffix("_handle"), there)

    def destroy(self, kind, record):
        gone = self.now.pop((record.file, kind, getattr(record, f"{kind}_handle", None)), None)
        if gone:
            gone.died, gone.end = record.ps, record

    def release(self, record):
        for key in [key for key in self.now if key[0] == record.file]:
            self.now.pop(key).died = record.ps

    def modify(self, record):
        qp = self.of.get(id(record))
        if qp:
            qp.changes.append((record.ps, record))

    def reregister(self, old, record):
        """The region goes on under new keys, and maybe with another address or other rights."""
        old.died, old.end = record.ps, record
        merged = {**vars(old.made), "ps": record.ps, "lkey": record.lkey, "rkey": record.rkey}
        names = {1: ["start", "length", "hca_va"], 2: ["pd_handle"], 4: ["access_flags"]}
        for flag, members in names.items():
            if record.flags & flag:
                merged |= {name: getattr(record, name) for name in members}
        self.create("mr", SimpleNamespace(**{**merged, "handle": record.mr_handle}))

    def find(self, kind, hca, number, ps):
        """The object of this number at that time, or the last one that there was."""
        same = [
            o for o in self.all if o.kind == kind and o.hca == hca and o.number == number and o.born <= ps
        ]
        return next((o for o in same if o.alive(ps)), same[-1] if same else None)

    def using(self, thing, ps):
        return [user for user in thing.users if user.alive(ps)]

    def keys(self, hca=None):
        """Regions and windows with this key."""
        return [o for o in self.all if o.kind in ("mr", "mw") and (hca is None or o.hca == hca)]


class Folder:
    def __init__(self, folder):
        check_folder(folder)
        self.folder = folder
        self.verbs = read(folder, "verbs.log", {"ps": NUMBER})
        self.posts = read(folder, "posts.log", {})
        self.wqes = read(folder, "wqe.log", {"ps": NUMBER, "qpn": NUMBER, "index": NUMBER})
        self.cqes = read(folder, "cqe.log", {"ps": NUMBER, "qpn": NUMBER})
        self.faults = read(folder, "fault.log", {"ps": NUMBER})
        self.with_events = os.path.exists(f"{folder}/events.log")
        parts = [f'"event":"{name}"' for name in ("refused", "sent")] + ['"stage":"doorbell"']
        self.events = read(folder, "events.log", {"ps": NUMBER}, parts)
        self.objects = Objects(self.verbs)
        self.calls = without_echoes([r for r in self.verbs if hasattr(r, "call")])
        self.limits = {r.hca: r for r in self.verbs if getattr(r, "event", "") == "device"}
        self.stacks = {r.stack: r for r in self.posts if hasattr(r, "frames")}
        self.refused = [e for e in self.events if e.event == "refused"]
        self.sent = {e.frame: e for e in self.events if e.event == "sent"}
        self.queues = defaultdict(list)  # work requests of each (hca, qpn), in order
        for wqe in self.wqes:
            wqe.number = len(self.queues[wqe.hca, wqe.qpn])
            self.queues[wqe.hca, wqe.qpn].append(wqe)
        self.decoded = {queue: [wqe.ps for wqe in wqes] for queue, wqes in self.queues.items()}
        self.completions = defaultdict(list)  # of each (hca, qpn), in order
        for cqe in self.cqes:
            self.completions[cqe.hca, cqe.qpn].append(cqe)
        self.link_posts()

    def wqe_of(self, cqe):
        """The work request that a completion of a send queue is about, or None."""
        if cqe.op != "REQ":
            return None
        queue = self.queues.get((cqe.hca, cqe.qpn), [])
        at = bisect_right(self.decoded.get((cqe.hca, cqe.qpn), []), cqe.ps) - 1
        while at >= 0 and queue[at].index != cqe.wqe_index:
            at -= 1
        return queue[at] if at >= 0 else None

    def peer(self, qp, ps):
        """The queue pair at the other end of a connection: each names the other one."""
        dest = qp.attr("dest_qp_num", ps) if qp else None
        if dest is None:
            return None
        same = [
            o
            for o in self.objects.all
            if o.kind == "qp" and o.number == dest and o is not qp and o.born <= ps
        ]
        back = [o for o in same if o.attr("dest_qp_num") == qp.number]
        return next((o for o in reversed(back or same) if o.alive(ps)), (back or same or [None])[-1])

    # ---- The calls that posted ----

    def link_posts(self):
        """Sets `stack` of work requests: by the store that rang their doorbell, or by the call that did."""
        stores, arrivals = self.stores(), defaultdict(list)
        for hca, arrival in stores:
            arrivals[hca].append(arrival)
        calls = defaultdict(list)
        for call in self.calls:
            qp = self.objects.of.get(id(call))
            if call.call == "post_send" and qp and not hasattr(call, "errno"):
                calls[qp.hca, qp.number].append(call)
        rung = defaultdict(list)
        for step in self.events:
            if step.event == "step" and hasattr(step, "qpn") and hasattr(step, "index"):
                rung[step.hca, step.qpn].append(step)
        for queue, wqes in self.queues.items():
            at = 0
            for wqe in wqes:
                while at < len(rung[queue]) and not covers(rung[queue][at], wqe.index):
                    at += 1
                if at == len(rung[queue]):
                    break
                step = rung[queue][at]
                if step.end <= wqe.ps:
                    post = stores.get((step.hca, getattr(step, "store", None)))
                    post = post or last_before(calls[queue], step.ps) or last_store(stores, arrivals, step)
                    wqe.stack, wqe.pid = getattr(post, "stack", 0), getattr(post, "pid", 0)

    def stores(self):
        """{(hca, arrival): the program's store}. TLPs carry the stores of each place in their order, one or several."""
        waiting = defaultdict(deque)
        for post in self.posts:
            if hasattr(post, "addr"):
                waiting[post.hca, post.bar, int(post.addr, 16)].append(post)
        found = {}
        for tlp in read(
            self.folder, "tlp.log", {"ps": NUMBER, "arrival": NUMBER}, ['"dir":"down","type":"MWr"']
        ):
            start = int(tlp.addr, 16)
            queues = [waiting.get((tlp.hca, tlp.bar, at)) for at in range(start, start + tlp.len, SMALLEST)]
            carried = [queue.popleft() for queue in queues if queue]
            if carried:
                found[tlp.hca, tlp.arrival] = carried[0]
        return found


def without_echoes(calls):
    """Without what a library reports of a refusal by the kernel, which is the call before."""
    found, last = [], {}
    for call in calls:
        before = last.get(call.tid)
        echo = (
            hasattr(call, "by")
            and before
            and (before.call, getattr(before, "errno", "")) == (call.call, call.errno)
        )
        if not echo or hasattr(before, "by"):
            found.append(call)
        last[call.tid] = call
    return found


def last_store(stores, arrivals, step):
    """Of a doorbell that was not rung by one store: the last part of a WQE that came in parts has no record."""
    at = bisect_right(arrivals[step.hca], step.ps)
    return stores[step.hca, arrivals[step.hca][at - 1]] if at else None


def last_before(records, ps):
    return next((r for r in reversed(records) if r.ps <= ps), None)


def check_folder(folder):
    if not os.path.isdir(folder):
        raise TraceError(f"{folder}: {'not a folder' if os.path.exists(folder) else 'does not exist'}")
    missing = [name for name in LOGS if not os.path.exists(f"{folder}/{name}")]
    if missing:
        raise TraceError(f"{folder}: has no {missing[0]}: it is no folder of hcasim run --trace")
