# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Derives the expected results from the tables: legal, refused, or not specified by the pages.

Where the page is silent an erratum of spec/wr.yaml decides; the cell then cites it. Levels: MUST where a table or a
sentence says so, MUST-BY-ERRATUM or SHOULD where an erratum decides (Tables.graded()), SHOULD also where the page leaves
detection to the implementation, UNDEFINED where neither a page nor an erratum requires anything: such a cell is counted
and never run.
"""
from dataclasses import replace

from hcasim_conform.model.axes import SETTER_OF, mandatory_setter
from hcasim_conform.model.cells import Expect

SEND_OPS = "ibv_wr_post/USAGE/send_ops_flags"
UNSUPPORTED = "ibv_wr_post/USAGE/unsupported"
QP_SETTERS = "ibv_wr_post/WORK-REQUESTS/QP-Specific-setters"
DATA_SETTERS = "ibv_wr_post/WORK-REQUESTS/DATA-transfer-setters"
INLINE_LIMIT = DATA_SETTERS + "/inline-limit"
FAILURE = "ibv_wr_post/RETURN-VALUE/failure"
ABORT = "ibv_wr_post/USAGE/abort"
MULTIPLE = "ibv_wr_post/USAGE/multiple"
INTERLEAVE = "ibv_wr_post/DESCRIPTION/interleave"
LOCK = "ibv_wr_post/CONCURRENCY/lock"
POST_BAD_WR = "ibv_post_send/DESCRIPTION/bad_wr"
POST_LIST = "ibv_post_send/DESCRIPTION/state"

ETHERNET_HEADER = 14

# Of several faults in one request the one with the strictest requirement counts, unless one is undefined.
FAULTS = ("never", "refused", "error", "undefined", "any")


def refused(clause, *errata, level="MUST"):
    return Expect(clause, level=level, post="refused", errata=errata)


def undefined(clause, why, *errata):
    return Expect(clause, level="UNDEFINED", post="undefined", errata=errata, why=why)


def _data_on_none(op):
    """A data setter on a row without data. That of FLUSH lists one all the same."""
    if "DATA" in op.setters:
        return Expect(op.clause, post="any", errata=("FLUSH-DATA-SETTER",))
    return refused(op.clause, "SETTER-NOT-ALLOWED")


def data_fault(tables, api, op, data):
    """The fault of a data setter that the row does not accept, or only within a limit, or only once."""
    clause = tables.setters[data.setter] if api == "wr" and data.setter in tables.setters else POST_BAD_WR
    if data.setter != "none" and op.data == "none":
        if api == "post":
            why = "the page does not say what an SGE of a request without data does"
            return undefined(op.post_clause, why, *op.errata)
        return _data_on_none(op)
    if data.again:
        why = "the page has one data setter called once, and does not say what a second one does"
        return undefined(DATA_SETTERS, why)
    if data.inline and not op.inline:
        return refused(
            tables.flag("INLINE").clause if api == "wr" else tables.flag("INLINE").post_clause, "INLINE-SCOPE"
        )
    if data.over and data.limit == "inline":
        return refused(INLINE_LIMIT if api == "wr" else tables.flag("INLINE").post_clause, "POST-ERRNO")
    if data.over and data.inline:
        # the limit of SGEs is for data that the device gathers; the page does not say whether it gathers this
        return Expect(tables.flag("INLINE").post_clause, level="SHOULD", post="any")
    if data.over:
        return refused(clause, "POST-ERRNO")
    return None


def setter_fault(op, qpt, qp_setter):
    right = mandatory_setter(op, qpt)
    own = SETTER_OF.get(qpt)
    if qp_setter == right:
        return None
    if any(name not in ("none", own) for name in qp_setter.split("+")):
        why = "the QP type has no such setter; where a provider leaves its pointer empty, the call crashes"
        return undefined(QP_SETTERS, why, "QP-SETTER-SCOPE")
    if right == "none":  # a row that lists no setter, on a type that has one
        return refused(QP_SETTERS, "NONE-ROWS", "SETTER-NOT-ALLOWED")
    if qp_setter == "none":
        return refused(QP_SETTERS, "QP-SETTER-MISSING")
    # the right one twice
    return Expect(QP_SETTERS, level="SHOULD", post="any", errata=("QP-SETTER-SCOPE",))


def _short_frame(data):
    """Whether the payload is shorter than an Ethernet header."""
    if data.limit == "inline":
        return False
    total = data.lengths[0] if data.limit == "sge" else data.total
    return total < ETHERNET_HEADER


def length_fault(op, api, qpt, data):
    total = data.total
    clause = op.effect_clause if api == "wr" else op.post_clause
    if op.length and op.data == "required" and total != op.length:
        return Expect(clause, post="error", status="LOC_LEN_ERR", errata=("ATOMIC-LENGTH",))
    if op.data == "required" and not total:
        return refused(DATA_SETTERS if api == "wr" else op.post_clause, "NO-DATA-SETTER", level="SHOULD")
    if qpt == "RAW_PACKET" and _short_frame(data):
        return replace(undefined(clause, "less than an Ethernet header is no frame"), post="any")
    return None


FLAG_SCOPE = {"FENCE": ("FENCE-SCOPE",), "IP_CSUM": ("IP-CSUM-SCOPE",), "SOLICITED": ()}


def flag_fault(tables, api, op, qpt, flags):
    """A flag that is valid only for others: the posting is refused, or executed as if the flag were not there."""
    out = [f for f in flags if f in FLAG_SCOPE and not tables.flag(f).in_scope(op, qpt)]
    if not out:
        return None
    flag, errata = tables.flag(out[0]), tuple(e for f in out for e in FLAG_SCOPE[f])
    clause = flag.clause if api == "wr" else flag.post_clause
    return Expect(clause, level="SHOULD", post="any", errata=errata, event=_event(tables, op, qpt, flags))


def _rank(fault):
    return FAULTS.index("never" if fault.post == "undefined" else "undefined" if fault.why else fault.post)


def worst(faults):
    return min((f for f in faults if f), key=_rank, default=None)


def legal_clause(tables, api, op, data, flags):
    """The sentence that a legal cell tests: of a flag, a setter, or the row."""
    special = [f for f in flags if f != "SIGNALED"]
    if special:
        flag = tables.flag(special[0])
        return flag.clause if api == "wr" else flag.post_clause
    if api == "wr" and data.setter not in ("none", "sge"):
        return INLINE_LIMIT if data.limit == "inline" else tables.setters[data.setter]
    if api == "wr":
        return op.effect_clause
    return tables.flag("INLINE").post_clause if data.inline else op.post_clause


def _row_errata(tables, api, op, qpt, data, flags):
    """Errata that a legal cell of the row depends on: of the row, and of its flags."""
    rests = {
        "FLUSH-DATA-SETTER": False,
        "INLINE-OPS": data.inline,
        "MW-KEY": False,
        "NO-DATA-SETTER": data.setter == "none",
        "POST-TABLE-AGE": api == "post",
        "QP-SETTER-MISSING": False,
        "QP-SETTER-SCOPE": api == "wr" and qpt in SETTER_OF,
        "SETTER-NOT-ALLOWED": False,
        "SRC-SEND": qpt == "XRC_SEND",
        "XRC-WINDOW": qpt == "XRC_SEND",
    }
    errata = [e for e in op.errata if rests.get(e, True)]
    if "FENCE" in flags and qpt == "XRC_SEND":
        errata.append("FENCE-XRC")
    if "IP_CSUM" in flags:
        errata.append("IP-CSUM-UD")
    return tuple(errata)


def not_in_table(api, op):
    if api == "wr":
        errata = ("OPS-UNSUPPORTED",)
        return Expect(UNSUPPORTED, create="refused", create_errno="EOPNOTSUPP", errata=errata)
    return refused(op.post_clause, *(e for e in op.errata if e == "POST-TABLE-AGE"))


def _event(tables, op, qpt, flags):
    """Whether the receiver has a solicited event: 1, 0; -1: it has no completion."""
    return int("SOLICITED" in flags and tables.flag("SOLICITED").in_scope(op, qpt)) if op.recv else -1


def legal(tables, api, op, qpt, data, flags):
    event, errata = _event(tables, op, qpt, flags), _row_errata(tables, api, op, qpt, data, flags)
    return Expect(legal_clause(tables, api, op, data, flags), event=event, errata=errata)


def derive(tables, api, op, qpt, data, qp_setter, flags):
    """The expectation for a single work request, requested in send_ops_flags if the API has them."""
    if qpt not in op.types(api):
        return tables.graded(not_in_table(api, op))
    faults = (
        setter_fault(op, qpt, qp_setter) if api == "wr" else None,
        data_fault(tables, api, op, data),
        length_fault(op, api, qpt, data),
        flag_fault(tables, api, op, qpt, flags),
    )
    return tables.graded(worst(faults) or legal(tables, api, op, qpt, data, flags))


def not_asked():
    """A builder that send_ops_flags does not name."""
    why = "a builder that send_ops_flags does not name: a provider may leave its pointer empty"
    return undefined(SEND_OPS, why, "OPS-NOT-ASKED")


def of_batch(expect, clause, errata=()):
    return replace(expect, clause=clause, errata=tuple(dict.fromkeys(expect.errata + errata)))


def _in_list(expect, api, region):
    """The request as the k-th of several."""
    if expect.post != "ok" and api == "post":
        clause = POST_BAD_WR if expect.post == "refused" else expect.clause
        return of_batch(replace(expect, bad_wr=region.before), clause)
    if expect.post == "refused":
        return of_batch(expect, FAILURE)
    return expect if api == "post" else of_batch(expect, MULTIPLE)


def in_region(expect, api, region):
    """The expectation for the request with other postings around it."""
    if expect.level == "UNDEFINED" or not region.id:
        return expect
    if region.threads and api == "post":
        return undefined(POST_LIST, "the page says nothing of several threads")
    if region.abort:
        return Expect(ABORT)
    if region.threads and expect.post == "ok":
        return of_batch(expect, LOCK)
    if (
        region.before or region.behind
    ):  # of several threads, too: what is refused shows nothing of their order
        return _in_list(expect, api, region)
    if expect.post == "refused":
        return expect
    if region.after_failed:
        return of_batch(expect, FAILURE if api == "wr" else POST_BAD_WR, ("POST-ERRNO",))
    return of_batch(expect, INTERLEAVE)
