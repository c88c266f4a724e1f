# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A cell: one combination of the tables, what it posts and what must be observed."""
from dataclasses import dataclass

from hcasim_conform.model.axes import Data

APIS = {
    "wr": "ibv_wr_*",
    "post": "ibv_post_send",
    "recv": "ibv_post_recv",
    "srq": "ibv_post_srq_recv",
    "writev": "rdma_post_writev",
    "suite": "suites outside the matrix",
}
TYPES = ("RC", "UC", "UD", "RAW_PACKET", "XRC_SEND", "XRC_RECV")  # columns of the reports
LEVELS = ("MUST", "MUST-BY-ERRATUM", "SHOULD", "UNDEFINED")  # from the strictest
TITLES = {"MUST": "MUST by the page", "MUST-BY-ERRATUM": "MUST by erratum"}  # others: as they are

ASK_SGE = 4  # SGEs and inline bytes requested at creation; the device may grant more
ASK_INLINE = 128
# As the wire of a cell: a device whose queues inside hold as little as they can (docs/duts.md).
NARROW = "narrow"


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
    data_of: int = -1  # index of the earlier request whose buffers this one sends

    def line(self):
        first, _, second = self.qp_setter.partition("+")
        return {
            "op": self.op,
            "data": self.data.setter,
            "data_again": self.data.again or "none",
            "data_of": self.data_of,
            "qp_setter": first,
            "qp_setter_again": second or "none",
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
    """What must be observed, and the sentence that requires it."""

    clause: str
    level: str = "MUST"
    create: str = "ok"  # ok, refused
    create_errno: str | None = None
    post: str = "ok"  # ok, refused, any, error, undefined (see runner/cell/cell.h)
    status: str | None = None
    bad_wr: int = 0
    event: int = -1
    errata: tuple = ()
    also: tuple = ()  # further sentences that the cell tests
    why: str | None = None  # UNDEFINED: why the cell is never run


def ids_of(cell):
    """The id, and the one that the cell had before."""
    return (cell.id, cell.was) if cell.was else (cell.id,)


def defined(cell):
    """Whether the cell is ever run."""
    return cell.expect.level != "UNDEFINED"


@dataclass(frozen=True)
class Batch:
    """The requests of a posting other than that of the cell, and its expected result."""

    api: str
    wrs: tuple
    post: str = "ok"  # ok, refused

    def line(self):
        return {"api": self.api, "post": self.post, "wrs": [wr.line() for wr in self.wrs]}


class Posted:
    """Base class of all kinds of cells: the id, the line for the runner, and the description.

    Derived classes have: api, op (row of the table), short (how the id names the row), qpt, data,
    qp_setter, flags, variant, ask, wrs, index (of the cell's own request in wrs), expect, abort,
    follow_post, before, behind, rival (other postings, or None).
    """

    __slots__ = ()
    was = ""  # the id that the cell had before
    index = 0
    abort = False
    follow_post = False
    before = behind = rival = None

    @property
    def id(self):
        flags = "+".join(self.flags).lower() or "-"
        setter = "-" if self.qp_setter == "none" else self.qp_setter
        head = f"{self.api}/{self.short}/{self.qpt.lower()}/{self.data.id}/{setter}/{flags}"
        return f"{head}/{self.variant}" if self.variant else head

    def line(self):
        """The cell as the runner reads it."""
        e = self.expect
        line = {
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
            "index": self.index,
            "wrs": [wr.line() for wr in self.wrs],
        }
        for name in ("before", "behind", "rival"):
            batch = getattr(self, name)
            if batch:
                line[name] = batch.line()
        return line

    def expected(self):
        """Description of the expected result."""
        e = self.expect
        if e.level == "UNDEFINED":
            return "nothing: the pages do not say, and the cell is never run"
        if e.create == "refused":
            return f"creation of the QP fails{' with ' + e.create_errno if e.create_errno else ''}"
        around = "".join(self._around())
        if self.abort:
            return "behind a SEND: nothing is executed; a following SEND works"
        refused = "the posting is refused, " + (
            f"bad_wr names work request {e.bad_wr}, only those before it are executed"
            if e.bad_wr
            else "nothing of it is executed"
        )
        return {
            "ok": f"{around}accepted; {self._executed()}",
            "refused": f"{around}{refused}; a following SEND works",
            "any": f"{around}either {refused}, or accepted; {self._executed()}",
            "error": f"{around}either {refused}, or accepted and completed with IBV_WC_{e.status}; "
            "its memory is not touched, what is behind it is flushed",
            "undefined": "the process survives",
        }[e.post]

    def _around(self):
        if self.before and self.before.post == "refused":
            yield "the posting before is refused and leaves nothing behind; "
        elif self.before:
            yield "between two closed postings of the other API, in their order: "
        if self.rival:
            yield "while a second thread posts, whose batch is executed in one piece before or after it: "

    def _executed(self):
        said = []
        for wr in self.wrs:
            if wr.effect != "none":
                said.append(f"{wr.op}: every byte in its place and no other byte changed")
            said.append(f"requester CQE IBV_WC_{wr.wc}" if wr.wc else "no requester CQE")
            if wr.recv:
                extra = " with imm_data" if wr.imm else " with invalidated rkey" if wr.inv else ""
                said.append(f"responder CQE IBV_WC_{wr.recv}{extra}")
        if self.expect.event >= 0:
            said.append("a solicited event" if self.expect.event else "no solicited event")
        return ", ".join(said)


@dataclass(frozen=True)
class Cell(Posted):
    """An extra cell: listed by itself, not part of the product."""

    api: str
    op: str
    short: str
    qpt: str
    data: Data
    qp_setter: str
    flags: tuple
    variant: str
    ask: tuple
    wrs: tuple
    expect: Expect
    follow_post: bool = False
