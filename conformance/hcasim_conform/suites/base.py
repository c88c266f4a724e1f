# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Shared by the suites: a case, and requests that are legal by the tables."""
from dataclasses import dataclass, field, replace

from hcasim_conform.model.cells import ASK_INLINE, ASK_SGE, Data, Expect, Wr
from hcasim_conform.model.axes import mandatory_setter

SIGNALED = ("SIGNALED",)
CONNECTED = ("RC", "UC", "UD", "XRC_SEND")
RELIABLE = ("RC", "XRC_SEND")
PIECE = 4096  # most bytes of an SGE in a cell
LAST_PSN = 0xFFFFFF
READ, SEND, WRITE = "RDMA_READ", "SEND", "RDMA_WRITE"
ADD, SWAP = "ATOMIC_FETCH_AND_ADD", "ATOMIC_CMP_AND_SWP"
SEND_IMM, WRITE_IMM = "SEND_WITH_IMM", "RDMA_WRITE_WITH_IMM"


def widened(qpt):
    """The erratum of cases on XRC whose sentence names RC only."""
    return ("XRC-ATTRIBUTES",) if qpt == "XRC_SEND" else ()


def pieces(size, parts=1):
    """An SGE list of that many bytes: at least so many SGEs, none of the same length as another if they can differ."""
    left, lengths = size, []
    for number in range(parts, 1, -1):
        lengths.append(min(left * 2 // (2 * number + 1), PIECE))
        left -= lengths[-1]
    while left > PIECE:
        lengths.append(PIECE)
        left -= PIECE
    lengths.append(left)
    return Data(f"sge_list-{len(lengths)}", "sge_list", tuple(lengths))


@dataclass(frozen=True)
class Case:
    """One case. `needs`: the capabilities that a device must have, as named in DUT files."""

    suite: str
    qpt: str
    case: str
    scenario: str
    says: str
    expect: Expect
    wrs: tuple = ()
    args: dict = field(default_factory=dict)
    ask: tuple = ("SEND",)
    ask_sge: int = ASK_SGE
    needs: tuple = ()
    wire: str = ""  # faults that its wire must have (docs/running.md, --fault), or NARROW
    api: str = "suite"
    flags: tuple = ()
    qp_setter: str = "none"
    data: Data = Data("none", "none")

    @property
    def id(self):
        return f"suite/{self.suite}/{self.qpt.lower()}/{self.case}"

    @property
    def op(self):
        return self.suite

    @property
    def short(self):
        return self.suite

    @property
    def variant(self):
        return self.case

    def line(self):
        """The case as the runner reads it."""
        line = {
            "id": self.id,
            "api": "suite",
            "suite": self.suite,
            "case": self.case,
            "scenario": self.scenario,
            "qp": self.qpt,
            "ask": list(self.ask),
            "ask_inline": ASK_INLINE,
            "ask_sge": self.ask_sge,
            "args": dict(self.args),
            "wrs": [wr.line() for wr in self.wrs],
        }
        if self.expect.status:
            line["status"] = self.expect.status
        return line

    def expected(self):
        return self.says


def cm_case(suite, case, scenario, says, expect, **args):
    """A case of connected RC QPs of rdma_cm."""
    return Case(suite, "RC", case, scenario, says, expect, args=args, needs=("rdma_cm",))


class Suite:
    """Cases of some suites; derived classes yield them."""

    def __init__(self, tables):
        self.tables = tables

    def work(self, name, qpt, flags=SIGNALED, data=None, size=600, sig_all=False):
        """A legal request of that row, as the tables have it."""
        op = self.tables.operation(name)
        if data is None:
            data = Data("none", "none") if op.data == "none" else Data("sge", "sge", (op.length or size,))
        return Wr(
            op=name,
            data=data,
            qp_setter=mandatory_setter(op, qpt),
            flags=tuple(flags),
            effect=op.memory,
            wc=op.wc if sig_all or "SIGNALED" in flags else None,
            recv=op.recv,
            imm="WITH_IMM" in op.recv_flags,
            inv="WITH_INV" in op.recv_flags,
        )

    def _mix(self, qpt):
        """All operations of this type without a window, slow ones before quick ones."""
        slow = ("RDMA_READ", "ATOMIC_FETCH_AND_ADD", "ATOMIC_CMP_AND_SWP")
        quick = ("RDMA_WRITE", "SEND", "RDMA_WRITE_WITH_IMM", "SEND_WITH_IMM")
        posted = [op.name for op in self.tables.operations if qpt in op.post]
        first, then = ([n for n in names if n in posted] for names in (slow, quick))
        mixed = []
        for turn in range(max(len(first), len(then))):
            mixed += first[turn : turn + 1] + then[turn : turn + 1]
        return (mixed * 3)[:9]

    def request(self, qpt, name, *rest, signaled=True):
        """A row of a table: (operation, length), or (operation, "F", index of the request whose result it sends), fenced."""
        fenced = "F" in rest
        flags = (("FENCE",) if fenced else ()) + (SIGNALED if signaled else ())
        op = self.tables.operation(name)
        source = rest[-1] if fenced else None
        size = op.length or (rest[0] if not fenced else 600)
        data = Data("none", "none") if op.data == "none" else pieces(size)
        wr = self.work(name, qpt, flags, data)
        return wr if source is None else replace(wr, data_of=source)

    def requests(self, qpt, table, unsignaled=()):
        return tuple(
            self.request(qpt, *row, signaled=number not in unsignaled) for number, row in enumerate(table)
        )
