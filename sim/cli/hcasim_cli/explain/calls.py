# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Why calls were refused: a rule for each call of verbs.log. A rule that finds nothing leaves it to the errno."""
from .completions import LOCAL_WRITE, MTU, REMOTE_ATOMIC, REMOTE_WRITE, rights
from .records import STATES, TYPES, article, attrs_in
from .waits import NOT_SIGNALED, is_signaled, pending

ERRNO = {
    "EINVAL": "an argument is not valid",
    "ENOMEM": "a limit of the adapter or of memory is reached",
    "EBUSY": "something still uses the object",
    "EFAULT": "an address is not mapped in the program",
    "EOPNOTSUPP": "the adapter does not have this",
    "ENOENT": "there is no such object",
    "ENODEV": "there is no such adapter",
    "ETIMEDOUT": "there was no answer",
    "EADDRINUSE": "the port is already used by another program",
    "EADDRNOTAVAIL": "no network interface has this address",
}
NEXT = {"RESET": "INIT", "INIT": "RTR", "RTR": "RTS"}
NO_STATE = "a QP goes RESET, INIT, RTR, RTS; ERR and RESET can follow each state"


class Call:
    def __init__(self, folder, record):
        self.folder, self.record, self.ps = folder, record, record.ps
        self.hca = getattr(record, "hca", "")
        self.thing = folder.objects.of.get(id(record))
        self.limits = folder.limits.get(self.hca)

    def limit(self, name):
        return getattr(self.limits, name, None)

    def arg(self, name, default=0):
        return getattr(self.record, name, default)

    def over(self, **names):
        """The first argument that is above its limit."""
        for name, limit in names.items():
            if self.limit(limit) is not None and self.arg(name) > self.limit(limit):
                return (
                    f"{name} is {self.arg(name)}, and the adapter has at most {self.limit(limit)} ({limit})"
                )
        return None


def foreign(c, **handles):
    """An object that the context does not have: each context numbers its own."""
    for name, kind in handles.items():
        handle, mine = c.arg(name, None), [
            o for o in c.folder.objects.all if o.file == getattr(c.record, "file", 0)
        ]
        if handle is not None and not any(
            (o.kind, o.made.handle) == (kind, handle) and o.alive(c.ps) for o in mine
        ):
            return f"{name.removesuffix('_handle')} is no {kind.upper()} of this context ({name} {handle}): it belongs to another one, maybe of another adapter, or was destroyed"
    return None


def create_qp(c):
    found = None
    if hasattr(c.record, "file") and TYPES.get(c.arg("qp_type")) in ("RC", "UC", "UD"):
        found = foreign(c, pd_handle="pd", send_cq_handle="cq", recv_cq_handle="cq")
    found = found or c.over(
        max_send_wr="max_qp_wr", max_recv_wr="max_qp_wr", max_send_sge="max_sge", max_recv_sge="max_sge"
    )
    if found:
        return found
    if c.arg("max_inline_data"):
        return f"max_inline_data {c.arg('max_inline_data')}, max_send_sge {c.arg('max_send_sge')} and max_send_wr {c.arg('max_send_wr')} together make work requests, or a queue, that the adapter does not have"
    return None


def create_cq(c):
    if not c.arg("cqe"):
        return "cqe is 0: a CQ has at least one entry"
    found = c.over(cqe="max_cqe")
    if not found and c.arg("comp_vector"):
        return f"comp_vector is {c.arg('comp_vector')}: it has to be below ibv_context.num_comp_vectors"
    return found


def create_srq(c):
    return c.over(max_wr="max_srq_wr", max_sge="max_srq_sge")


def modify_srq(c):
    if c.thing and c.thing.granted("max_wr") is not None and c.arg("srq_limit") > c.thing.granted("max_wr"):
        return f"srq_limit is {c.arg('srq_limit')}, and the SRQ has {c.thing.granted('max_wr')} entries"
    return None


def reg_mr(c):
    access = int(c.arg("access_flags", "0x0"), 16)
    if access & (REMOTE_WRITE | REMOTE_ATOMIC) and not access & LOCAL_WRITE:
        return f"access flags {rights(access)} need IBV_ACCESS_LOCAL_WRITE, too (ibv_reg_mr(3))"
    if not c.arg("length"):
        return "the length is 0"
    if c.record.errno == "EFAULT":
        return f"the {c.arg('length')} bytes at {c.arg('start', '?')} are not all mapped in the program, or, with IBV_ACCESS_LOCAL_WRITE, not all writable"
    return c.over(length="max_mr_size")


def in_use(c):
    if c.record.errno != "EBUSY" or not c.thing:
        return None
    users = list(dict.fromkeys(user.name for user in c.folder.objects.using(c.thing, c.ps)))
    by = f" by {', '.join(users[:5])}{' and more' if len(users) > 5 else ''}" if users else ""
    return f"{c.thing.name} is still used{by}: destroy what uses it first"


def transition(c):
    before, after = STATES[c.record.__dict__["from"]], STATES[c.record.qp_state]
    return before, after if int(c.record.attr_mask, 16) & 1 else before


def modify_qp(c):
    if not hasattr(c.record, "from"):
        return None if hasattr(c.record, "by") else values(c)
    before, after = transition(c)
    mask, name = int(c.record.attr_mask, 16), c.thing.name if c.thing else "the QP"
    if not hasattr(c.record, "required"):
        to = f"; after {before} comes {NEXT[before]}" if before in NEXT else ""
        return f"{name} is in {before}, and there is no transition to {after}{to}: {NO_STATE}"
    kind = f" of {article(c.thing.type)} QP" if c.thing else ""
    required, optional = int(c.record.required, 16), int(c.record.optional, 16)
    missing, extra = attrs_in(required & ~mask), attrs_in(mask & ~(required | optional))
    if missing:
        return f"the transition {before} to {after}{kind} needs {flags(missing)} in attr_mask, too"
    if extra:
        return f"the transition {before} to {after}{kind} does not take {flags(extra)}"
    return values(c)


def flags(names):
    return ", ".join(f"IBV_QP_{name}" for name in names)


def values(c):
    """Attributes whose values are not valid in any state."""
    mask = attrs_in(int(c.record.attr_mask, 16))
    ports, mtu = c.limit("ports") or 1, c.limit("active_mtu") or 5
    if "PORT" in mask and not 1 <= c.arg("port_num") <= ports:
        return f"port_num is {c.arg('port_num')}; ports count from 1, and the adapter has {ports}"
    if "AV" in mask and not 1 <= c.arg("av_port") <= ports:
        return f"ah_attr.port_num is {c.arg('av_port')}; ports count from 1, and the adapter has {ports}"
    if "AV" in mask and not c.arg("is_global"):
        return "ah_attr.is_global is 0: RoCE needs a GID (ah_attr.grh)"
    if "AV" in mask and not c.arg("dgid", "").strip("0"):
        return "ah_attr.grh.dgid is all zero: the GID of the peer is missing"
    if "PATH_MTU" in mask and not 1 <= c.arg("path_mtu") <= mtu:
        return f"path_mtu is {MTU.get(c.arg('path_mtu'), c.arg('path_mtu'))}, and the port's active_mtu is {MTU[mtu]}"
    if "PKEY_INDEX" in mask and c.limits and c.arg("pkey_index") >= c.limit("pkeys"):
        return f"pkey_index is {c.arg('pkey_index')}; the table has {c.limit('pkeys')} entries"
    for attr, member, limit in (
        ("MAX_QP_RD_ATOMIC", "max_rd_atomic", "max_qp_init_rd_atom"),
        ("MAX_DEST_RD_ATOMIC", "max_dest_rd_atomic", "max_qp_rd_atom"),
    ):
        if attr in mask and c.over(**{member: limit}):
            return c.over(**{member: limit})
    for attr, member, most in (
        ("TIMEOUT", "timeout", 31),
        ("MIN_RNR_TIMER", "min_rnr_timer", 31),
        ("RETRY_CNT", "retry_cnt", 7),
        ("RNR_RETRY", "rnr_retry", 7),
        ("DEST_QPN", "dest_qp_num", 0xFFFFFF),
    ):
        if attr in mask and c.arg(member) > most:
            return f"{member} is {c.arg(member)}; the largest value is {most}"
    if "ALT_PATH" in mask:
        return "RoCE ports have no alternate paths (IBV_QP_ALT_PATH)"
    if (
        "CUR_STATE" in mask
        and hasattr(c.record, "from")
        and c.arg("cur_qp_state") != c.record.__dict__["from"]
    ):
        return f"cur_qp_state is {STATES[c.arg('cur_qp_state')]}, but the QP is in {STATES[c.record.__dict__['from']]}"
    if "AV" in mask:
        return path(c)
    return None


def path(c):
    gid, index = c.arg("dgid", "?"), c.arg("sgid_index")
    if c.record.errno == "ETIMEDOUT":
        return f"no host answers for the destination GID {gid}"
    if c.record.errno == "ENODATA":
        return f"sgid_index {index} names an entry of the GID table that is empty (ibv_query_gid_table(3))"
    return f"sgid_index {index} has no GID that reaches {gid}, or the port of the path is not that of the QP"


def create_ah(c):
    if not 1 <= c.arg("port_num") <= (c.limit("ports") or 1):
        return f"port_num is {c.arg('port_num')}; ports count from 1"
    if not c.arg("is_global"):
        return "is_global is 0: RoCE needs a GID (grh)"
    return path(c)


def mcast(c):
    if c.thing and c.thing.type != "UD":
        return f"{c.thing.name} is {article(c.thing.type)} QP: only UD QPs are in multicast groups"
    if not c.arg("gid", "ff").startswith("ff"):
        return "the GID is no multicast address: it does not begin with ff"
    return None


# ---- Posting: refused by the provider ----

OPCODES = ("RDMA_WRITE", "RDMA_WRITE_WITH_IMM", "SEND", "SEND_WITH_IMM", "RDMA_READ", "ATOMIC_CMP_AND_SWP")
OPCODES += ("ATOMIC_FETCH_AND_ADD", "LOCAL_INV", "BIND_MW", "SEND_WITH_INV", "TSO", "DRIVER1")
OF_TYPE = {"UD": {"SEND", "SEND_WITH_IMM", "TSO"}, "RAW_PACKET": {"SEND", "TSO"}}
OF_TYPE["UC"] = set(OPCODES) - {"RDMA_READ", "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD", "TSO"}
SENDS_IN = ("RTS", "SQD", "SQE", "ERR")
INLINE = 8


def most(c, name):
    """What the program asked for of the QP, or more that it was granted."""
    return max(getattr(c.thing.made, name, 0), c.thing.granted(name) or 0)


def post_send(c):
    if not c.thing:
        return None
    opcode = OPCODES[c.arg("opcode")] if c.arg("opcode") < len(OPCODES) else str(c.arg("opcode"))
    state, kind = c.thing.state_at(c.ps), c.thing.type
    if state not in SENDS_IN and c.record.errno == "EINVAL":
        return f"{c.thing.name} is in {state}: requests can be posted to its send queue from RTS on"
    if c.arg("num_sge") > most(c, "max_send_sge"):
        return f"the request has {c.arg('num_sge')} SGEs, and {c.thing.name} has max_send_sge {most(c, 'max_send_sge')}"
    if int(c.arg("send_flags"), 16) & INLINE and c.arg("length") > most(c, "max_inline_data"):
        return f"the request has {c.arg('length')} bytes with IBV_SEND_INLINE, and {c.thing.name} has max_inline_data {most(c, 'max_inline_data')}"
    if opcode not in OF_TYPE.get(kind, {opcode}):
        return f"{article(kind)} QP has no IBV_WR_{opcode}"
    if c.record.errno == "ENOMEM":
        return full_send_queue(c)
    return f"the provider does not take this IBV_WR_{opcode}: its opcode, flags or operands are not valid on {article(kind)} QP"


def full_send_queue(c):
    waiting = pending(c.folder, c.thing, c.ps)
    asked = f"the send queue of {c.thing.name} is full"
    room = f"max_send_wr is {getattr(c.thing.made, 'max_send_wr', '?')}"
    if not any(is_signaled(c.thing, w) for w in waiting):
        return f"{asked} because no request was signaled: {room}, and {NOT_SIGNALED}"
    return f"{asked}: {room}, and the program has not polled the completions of its earlier requests, or they are not done. Poll before you post"


def post_recv(c):
    kind = "SRQ" if c.record.call == "post_srq_recv" else "QP"
    if c.thing and kind == "QP" and getattr(c.thing, "srq", None):
        return f"{c.thing.name} takes its receives from {c.thing.srq.name}: use ibv_post_srq_recv()"
    limit, room = ("max_sge", "max_wr") if kind == "SRQ" else ("max_recv_sge", "max_recv_wr")
    if c.thing and c.arg("num_sge") > most(c, limit):
        return f"the receive has {c.arg('num_sge')} SGEs, and {c.thing.name} has {limit} {most(c, limit)}"
    if c.thing and kind == "QP" and c.thing.state_at(c.ps) == "RESET":
        return f"{c.thing.name} is in RESET: receives can be posted from INIT on"
    if c.record.errno == "ENOMEM":
        asked = getattr(c.thing.made, room, "?") if c.thing else "?"
        return f"the receive queue is full: {room} is {asked}, and no posted receive has completed and been polled since"
    return None


def alloc_mw(c):
    return f"mw_type {c.arg('mw_type')} is not one of IBV_MW_TYPE_1 and IBV_MW_TYPE_2 that the adapter has"


def resize_cq(c):
    return c.over(cqe="max_cqe") or "more completions are in the CQ than the new size has entries"


def modify_wq(c):
    return f"no transition of a WQ leads from state {c.arg('curr_wq_state')} to {c.arg('wq_state')}"


def cm_address(c):
    if c.record.errno == "EADDRNOTAVAIL":
        return f"no adapter's network interface has the address {c.arg('src', '?')}"
    if c.record.errno == "ENODEV":
        return f"no adapter's network interface leads to {c.arg('dst', c.arg('src', '?'))}"
    return None


def cm_state(c):
    if c.record.errno == "EINVAL":
        return "the id is not in the state for this call: resolve the address, then the route, then connect; bind before listen"
    return None


RULES = {
    "create_qp": create_qp,
    "create_cq": create_cq,
    "create_srq": create_srq,
    "modify_srq": modify_srq,
    "reg_mr": reg_mr,
    "rereg_mr": lambda c: in_use(c) or reg_mr(c),
    "reg_dmabuf_mr": reg_mr,
    "reg_dm_mr": reg_mr,
    "modify_qp": modify_qp,
    "modify_wq": modify_wq,
    "create_ah": create_ah,
    "attach_mcast": mcast,
    "detach_mcast": mcast,
    "alloc_mw": alloc_mw,
    "post_send": post_send,
    "post_recv": post_recv,
    "post_srq_recv": post_recv,
    "resize_cq": resize_cq,
    "create_wq": create_qp,
    "rdma_bind_addr": cm_address,
    "rdma_resolve_addr": cm_address,
    "rdma_resolve_route": cm_state,
    "rdma_connect": cm_state,
    "rdma_listen": cm_state,
    "rdma_accept": cm_state,
}
RULES |= {f"destroy_{kind}": in_use for kind in ("cq", "qp", "srq", "wq", "ah", "rwq_ind_table", "flow")}
RULES |= {name: in_use for name in ("dealloc_pd", "dereg_mr", "dealloc_mw", "free_dm", "close_xrcd")}
# Libraries try what a kernel or adapter may not have, and then do without.
QUIET = {"EPROTONOSUPPORT", "EOPNOTSUPP"}


def verb(call):
    return call + "()" if call.startswith("rdma_") else f"ibv_{call}()"


def is_problem(record):
    """Refused, and not what libraries do to find out what there is, or to wait."""
    if not hasattr(record, "errno") or record.errno == "EAGAIN":
        return False
    return record.call in RULES or record.errno not in QUIET and " " not in record.call


def not_locked(c):
    pages = c.arg("refused_pages")
    if not pages:
        return None
    return f"{pages} more {'pages' if pages > 1 else 'page'} of 4 KiB that the adapter holds would exceed the limit of locked memory (RLIMIT_MEMLOCK, ulimit -l); with CAP_IPC_LOCK there is none"


def cause(c):
    rule = RULES.get(c.record.call)
    return (
        not_locked(c)
        or (rule(c) if rule else None)
        or ERRNO.get(c.record.errno, "the kernel or the driver refused it")
    )
