# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The axes of the product: their values, and the names of these in ids.

A cell is one value of each: API, operation, QP type, data setter, QP setter, flags, requested in
send_ops_flags or not, region. The values of each axis depend only on API, operation and QP type.
"""
from dataclasses import dataclass
from itertools import combinations

MULTI_PACKET = 2500  # three packets at a path MTU of 1024
SINGLE_PACKET = 700
INLINE = 112  # whole units of a WQE, 16 bytes or less: a header of the data that is not counted shows

SIGNALED = ("SIGNALED",)
# Their names in ids. IBV_SEND_INLINE is a data setter here, as with ibv_wr_*.
FLAGS = ("FENCE", "IP_CSUM", "SOLICITED", "SIGNALED")
FLAG_SETS = [c for n in range(len(FLAGS) + 1) for c in combinations(FLAGS, n)]

UNASKED = "unasked"
SETTER_OF = {"UD": "ud_addr", "XRC_SEND": "xrc_srqn"}
SETTERS = ("ud_addr", "xrc_srqn")


@dataclass(frozen=True)
class Data:
    """A data setter and its argument. `limit`: the length depends on the granted capabilities of the QP."""

    id: str
    setter: str  # none, sge, sge_list, inline, inline_list
    lengths: tuple = ()
    limit: str = "none"
    delta: int = 0
    again: str | None = None  # a second setter, called after the first with the same buffers

    @property
    def inline(self):
        return self.setter.startswith("inline")

    @property
    def over(self):
        return self.delta > 0

    @property
    def total(self):
        """Length in bytes, if it does not depend on granted capabilities."""
        return sum(self.lengths)


NO_DATA = Data("none", "none")
TOO_MANY = Data("sge_list-over", "sge_list", (16,), "sge", 1)


@dataclass(frozen=True)
class Region:
    """The postings around the request. `before` and `behind` are in the same posting."""

    id: str
    before: int = 0
    behind: int = 0
    abort: bool = False
    after_failed: bool = False
    interleaved: bool = False
    threads: bool = False


ALONE = Region("")
REGIONS = (
    ALONE,
    Region("1-of-3", before=0, behind=2),
    Region("2-of-3", before=1, behind=1),
    Region("3-of-3", before=2, behind=0),
    Region("abort", abort=True),
    Region("after-failed", after_failed=True),
    Region("interleaved", interleaved=True),
    Region("threads", before=1, behind=1, threads=True),
)


def regions(api):
    """ibv_post_send() has no abort."""
    return tuple(r for r in REGIONS if api == "wr" or not r.abort)


def mandatory_setter(op, qpt):
    """The QP setter that a row needs on a QP type (QP Specific setters; errata QP-SETTER-SCOPE, NONE-ROWS)."""
    if qpt == "XRC_SEND" and not op.srqn:
        return "none"
    return SETTER_OF.get(qpt, "none")


def asked_for(op, qpt):
    """send_ops_flags of a QP that posts the operation and SENDs; operations without a builder have no flag."""
    return tuple(dict.fromkeys(("SEND", op.name))) if qpt in op.wr else ("SEND",)


def qp_setters(api, op, qpt):
    """None, each one, and two: both, and on a type that has a setter also that one twice.

    With ibv_post_send() the address is a part of the request, so that only the right one is possible.
    """
    right = mandatory_setter(op, qpt)
    if api == "post":
        return (right,)
    own = SETTER_OF.get(qpt)
    twice = (f"{own}+{own}",) if own else ()
    return ("none", *SETTERS, "+".join(SETTERS), *twice)


def plain_data(op, qpt):
    """The data setter of a plain request of that row."""
    if op.data == "none":
        return NO_DATA
    if op.length:
        return Data("sge", "sge", (op.length,))
    return Data("sge", "sge", (MULTI_PACKET if qpt in ("RC", "UC", "XRC_SEND") else SINGLE_PACKET,))


def data_kinds(api, op, qpt):
    """All data setters, each with its argument.

    ibv_post_send() has no setters: one SGE is `sge`, several are `sge_list`, and with IBV_SEND_INLINE
    they are `inline` and `inline_list`. Lists of 0 and 1 are `none` and `sge` there.
    """
    plain = plain_data(op, qpt)
    one = plain if plain.setter == "sge" else Data("sge", "sge", (64,))
    total = one.total
    pieces = (4, 2, 2) if op.length else (total // 2, 1, total - total // 2 - 1)
    inline = op.length or INLINE
    inline_pieces = (4, 2, 2) if op.length else (40, 1, INLINE - 41)
    wr_only = [
        Data("sge_list-0", "sge_list"),
        Data("sge_list-1", "sge_list", (total,)),
        Data("inline_list-1", "inline_list", (inline,)),
        Data("sge+sge", "sge", one.lengths, again="sge"),
        Data("sge+inline", "sge", (op.length or 64,), again="inline"),
    ]
    post_only = [
        Data("inline_list-sges", "inline_list", (1,), "sge", 0),
        Data("inline_list-sges-over", "inline_list", (1,), "sge", 1),
    ]
    return [
        NO_DATA,
        one,
        Data("sge-0", "sge", (0,)),
        Data("sge_list-3", "sge_list", pieces),
        Data("sge_list-max", "sge_list", (16,), "sge", 0),
        TOO_MANY,
        Data("inline-0", "inline", (0,)),
        Data("inline-1", "inline", (1,)),
        Data("inline", "inline", (inline,)),
        Data("inline-max", "inline", (1,), "inline", 0),
        Data("inline-over", "inline", (1,), "inline", 1),
        Data("inline_list-0", "inline_list"),
        Data("inline_list-3", "inline_list", inline_pieces),
        Data("inline_list-max", "inline_list", (1, 1, 1), "inline", 0),
        Data("inline_list-over", "inline_list", (1, 1, 1), "inline", 1),
    ] + (wr_only if api == "wr" else post_only)
