# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A cell: one combination of the tables, what is posted for it and what must be seen."""
from dataclasses import dataclass, field

APIS = {
    "wr": "ibv_wr_*",
    "post": "ibv_post_send",
    "recv": "ibv_post_recv",
    "srq": "ibv_post_srq_recv",
    "writev": "rdma_post_writev",
    "suite": "suites beside the matrix",
}
TYPES = ("RC", "UC", "UD", "RAW_PACKET", "XRC_SEND", "XRC_RECV")  # columns of the reports
LEVELS = ("MUST", "SHOULD", "UNDEFINED")

ASK_SGE = 4  # SGEs and inline bytes asked for at creation; the device may grant more
ASK_INLINE = 128


@dataclass(frozen=True)
class Data:
    """A data setter and what it is given. `limit`: the length follows from what the QP granted."""

    id: str
    setter: str  # none, sge, sge_list, inline, inline_list
    lengths: tuple = ()
    limit: str = "none"
    delta: int = 0

    @property
    def inline(self):
        return self.setter.startswith("inline")

    @property
    def over(self):
        return self.delta > 0


@dataclass(frozen=True)
class Wr:
    """One work request."""

    op: str
    data: Data
    qp_setter: str
    flags: tuple
    effect: str
    wc: str | None
    recv: str | None
    imm: bool = False
    inv: bool = False
    data_twice: bool = False
    data_of: int = -1  # sends from the buffers that this earlier request fills

    def line(self):
        return {
            "op": self.op,
            "data": self.data.setter,
            "data_twice": self.data_twice,
            "data_of": self.data_of,
            "qp_setter": self.qp_setter,
            "flags": list(self.flags),
            "effect": self.effect,
            "limit": self.data.limit,
            "limit_delta": self.data.delta,
            "wc": self.wc,
            "recv": self.recv,
            "imm": self.imm,
            "inv": self.inv,
            "len": list(self.data.lengths),
        }


@dataclass(frozen=True)
class Expect:
    """What must be seen, and the sentence that says so."""

    clause: str
    level: str = "MUST"
    create: str = "ok"  # ok, refused
    create_errno: str | None = None
    post: str = "ok"  # ok, refused, any, error, undefined (see runner/cell.h)
    status: str | None = None
    bad_wr: int = 0
    event: int = -1
    errata: tuple = ()


@dataclass(frozen=True)
class Cell:
    api: str
    op: str  # row of the table
    short: str  # how the id names the row
    qpt: str
    data: Data
    qp_setter: str
    flags: tuple
    variant: str
    ask: tuple
    wrs: tuple
    expect: Expect
    abort: bool = False
    follow_post: bool = False
    clauses: tuple = field(default=())

    @property
    def id(self):
        flags = "+".join(f.lower() for f in self.flags) or "-"
        setter = "-" if self.qp_setter == "none" else self.qp_setter
        parts = [self.api, self.short, self.qpt.lower(), self.data.id, setter, flags]
        return "/".join(parts + ([self.variant] if self.variant else []))

    def line(self):
        """The cell as the runner reads it."""
        e = self.expect
        return {
            "id": self.id,
            "api": self.api,
            "qp": self.qpt,
            "ask": list(self.ask),
            "ask_inline": ASK_INLINE,
            "ask_sge": ASK_SGE,
            "abort": self.abort,
            "follow_post": self.follow_post,
            "create": e.create,
            "create_errno": e.create_errno,
            "post": e.post,
            "status": e.status,
            "bad_wr": e.bad_wr,
            "event": e.event,
            "wrs": [wr.line() for wr in self.wrs],
        }

    def expected(self):
        """What must be seen, in words."""
        e = self.expect
        if e.create == "refused":
            return f"creation of the QP fails{' with ' + e.create_errno if e.create_errno else ''}"
        if self.abort:
            return "nothing is executed; a following SEND works"
        done = self._executed()
        refused = "the posting is refused, " + (
            f"bad_wr names work request {e.bad_wr}, only those before it are executed"
            if e.bad_wr
            else "nothing is executed"
        )
        return {
            "ok": f"accepted; {done}",
            "refused": f"{refused}; a following SEND works",
            "any": f"either {refused}, or accepted; {done}",
            "error": f"either {refused}, or accepted and completed with IBV_WC_{e.status}; no memory is touched",
            "undefined": "the process survives",
        }[e.post]

    def _executed(self):
        said = []
        for wr in self.wrs:
            if wr.effect != "none":
                said.append(f"{wr.op}: every byte in its place and none beside it")
            said.append(f"requester CQE IBV_WC_{wr.wc}" if wr.wc else "no requester CQE")
            if wr.recv:
                extra = " with imm_data" if wr.imm else " with invalidated rkey" if wr.inv else ""
                said.append(f"responder CQE IBV_WC_{wr.recv}{extra}")
        if self.expect.event >= 0:
            said.append("a solicited event" if self.expect.event else "no solicited event")
        return ", ".join(said)
