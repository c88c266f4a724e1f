# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Derives what must be seen from the tables: legal, refused, or left open by the pages.

Where the page is silent an erratum of spec/wr.yaml decides; the cell then cites it. Where neither the
page nor an erratum binds the device, the level is UNDEFINED: the cell is executed, and accepts a
refusal as well as an executed request, but nothing half done.
"""
from dataclasses import replace

from .cells import Expect

SEND_OPS = "ibv_wr_post/USAGE/send_ops_flags"
UNSUPPORTED = "ibv_wr_post/USAGE/unsupported"
QP_SETTERS = "ibv_wr_post/WORK-REQUESTS/QP-Specific-setters"
DATA_SETTERS = "ibv_wr_post/WORK-REQUESTS/DATA-transfer-setters"
INLINE_LIMIT = DATA_SETTERS + "/inline-limit"
FAILURE = "ibv_wr_post/RETURN-VALUE/failure"
POST_BAD_WR = "ibv_post_send/DESCRIPTION/bad_wr"

# What the sentences under WORK REQUESTS say happens to memory.
EFFECTS = {
    "SEND": "send",
    "SEND_WITH_IMM": "send",
    "SEND_WITH_INV": "send",
    "RDMA_WRITE": "write",
    "RDMA_WRITE_WITH_IMM": "write",
    "RDMA_READ": "read",
    "ATOMIC_CMP_AND_SWP": "cmp_swp",
    "ATOMIC_FETCH_AND_ADD": "fetch_add",
    "ATOMIC_WRITE": "atomic_write",
    "TSO": "tso",
    "BIND_MW": "none",
    "LOCAL_INV": "none",
    "FLUSH": "none",
}
# Of several faults in one request the one that binds the device most counts.
FAULTS = ("refused", "error", "undefined", "any")
SETTER_OF = {"UD": "ud_addr", "XRC_SEND": "xrc_srqn"}


def mandatory_setter(op, qpt):
    """The QP setter that a row needs on a QP type (QP Specific setters; errata QP-SETTER-SCOPE, NONE-ROWS)."""
    if qpt == "XRC_SEND" and not op.srqn:
        return "none"
    return SETTER_OF.get(qpt, "none")


def refused(clause, *errata, level="MUST"):
    return Expect(clause, level=level, post="refused", errata=errata)


def _data_fault(tables, api, op, data):
    """A data setter that the row does not take, or takes within a limit."""
    clause = tables.setters[data.setter] if api == "wr" and data.setter in tables.setters else POST_BAD_WR
    if data.setter != "none" and op.data == "none":
        if api == "post":
            return Expect(op.post_clause, level="UNDEFINED", post="any", errata=op.errata)
        return refused(op.clause, *op.errata)
    if data.inline and not op.inline:
        return refused(
            tables.flag("INLINE").clause if api == "wr" else tables.flag("INLINE").post_clause, "INLINE-OPS"
        )
    if data.over and data.limit == "inline":
        return refused(INLINE_LIMIT if api == "wr" else tables.flag("INLINE").post_clause, "POST-ERRNO")
    if data.over:
        return refused(clause, "POST-ERRNO")
    return None


def _setter_fault(op, qpt, qp_setter):
    right = mandatory_setter(op, qpt)
    if qp_setter == right:
        return None
    if right != "none" or op.data == "none" and qpt == "XRC_SEND" and not op.srqn:
        return refused(QP_SETTERS, "QP-SETTER-SCOPE", *([] if op.srqn else ["NONE-ROWS"]))
    # a setter that the QP type does not have
    return Expect(QP_SETTERS, level="UNDEFINED", post="any", errata=("QP-SETTER-SCOPE",))


def _length_fault(op, api, qpt, data):
    total = sum(data.lengths)
    clause = op.effect_clause if api == "wr" else op.post_clause
    if op.length and op.data == "required" and total != op.length:
        return Expect(clause, post="error", status="LOC_LEN_ERR", errata=("ATOMIC-LENGTH",))
    if op.data == "required" and not total:
        return refused(DATA_SETTERS if api == "wr" else op.post_clause, "NO-DATA-SETTER", level="SHOULD")
    if qpt == "RAW_PACKET" and not total:
        return Expect(clause, level="UNDEFINED", post="undefined")
    return None


def _flag_fault(tables, api, op, qpt, flags):
    for name in flags:
        flag = tables.flag(name)
        clause = flag.clause if api == "wr" else flag.post_clause
        if name == "IP_CSUM" and op.name != "TSO":
            # needs a payload of IP headers and a capability; other payloads are nobody's promise
            return Expect(clause, level="UNDEFINED", post="any")
        if name == "SOLICITED" and not flag.in_scope(op, qpt):
            return Expect(clause, level="UNDEFINED", post="any")
    return None


def _legal_clause(tables, api, op, data, flags):
    """The sentence that a legal cell is about: a flag, a setter, or the row itself."""
    special = [f for f in flags if f != "SIGNALED"]
    if special:
        flag = tables.flag(special[0])
        return flag.clause if api == "wr" else flag.post_clause
    if api == "wr" and data.setter not in ("none", "sge"):
        return INLINE_LIMIT if data.limit == "inline" else tables.setters[data.setter]
    if api == "wr":
        return op.effect_clause
    return tables.flag("INLINE").post_clause if data.inline else op.post_clause


def _row_errata(api, op, qpt, data):
    """Errata of the row that a legal cell of it rests on."""
    rests = {
        "INLINE-OPS": data.inline,
        "NO-DATA-SETTER": data.setter == "none",
        "POST-TABLE-AGE": api == "post",
        "QP-SETTER-SCOPE": api == "wr" and qpt in SETTER_OF,
        "SRC-SEND": qpt == "XRC_SEND",
    }
    return tuple(e for e in op.errata if rests.get(e, True))


def derive(tables, api, op, qpt, data, qp_setter, flags):
    """One work request, asked for in send_ops_flags where the API has them."""
    if qpt not in op.types(api):
        if api == "wr":
            return Expect(
                UNSUPPORTED, create="refused", create_errno="EOPNOTSUPP", errata=("OPS-UNSUPPORTED",)
            )
        return refused(op.post_clause, *op.errata)
    faults = [
        _setter_fault(op, qpt, qp_setter),
        _data_fault(tables, api, op, data),
        _length_fault(op, api, qpt, data),
        _flag_fault(tables, api, op, qpt, flags),
    ]
    for kind in FAULTS:
        for fault in faults:
            if fault and fault.post == kind:
                return fault
    event = -1 if not op.recv else int("SOLICITED" in flags and tables.flag("SOLICITED").in_scope(op, qpt))
    return Expect(
        _legal_clause(tables, api, op, data, flags), event=event, errata=_row_errata(api, op, qpt, data)
    )


def not_asked(op, qpt):
    """A builder that send_ops_flags does not name: a failure or a completed request (OPS-NOT-ASKED)."""
    post = "any" if qpt in op.wr else "refused"
    return Expect(SEND_OPS, level="UNDEFINED", post=post, errata=("OPS-NOT-ASKED",))


def of_batch(expect, clause, errata=()):
    return replace(expect, clause=clause, errata=tuple(dict.fromkeys(expect.errata + errata)))
