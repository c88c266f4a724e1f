# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Enumerates the cells.

Every combination of API, operation and QP type is there. Inside one, the axes data setter, QP setter,
flags and variant are each walked in full while the others stand at their plain value, and the pairs
that are known to interact are walked together (data setter x flags). The whole product would be ten
times as many cells and find the same faults.
"""
from itertools import combinations

from . import expect as ex
from . import suites
from .cells import Cell, Data, Expect, Wr

SIGNALED = ("SIGNALED",)
WR_FLAGS = ("FENCE", "IP_CSUM", "SOLICITED", "SIGNALED")  # INLINE is a data setter here
MULTI_PACKET = 2500  # three packets at a path MTU of 1024
SINGLE_PACKET = 700

# A window is bound, or invalidated, once.
ONCE = ("BIND_MW", "LOCAL_INV", "SEND_WITH_INV")

NO_DATA = Data("none", "none")


def flag_combinations():
    return [c for n in range(len(WR_FLAGS) + 1) for c in combinations(WR_FLAGS, n)]


def plain_data(op, qpt):
    """The data setter of a plain request of that row."""
    if op.data == "none":
        return NO_DATA
    if op.length:
        return Data("sge", "sge", (op.length,))
    return Data("sge", "sge", (MULTI_PACKET if qpt in ("RC", "UC", "XRC_SEND") else SINGLE_PACKET,))


def data_kinds(op, qpt):
    """All data setters, each with what it is given."""
    plain = plain_data(op, qpt)
    total = sum(plain.lengths) or 64
    pieces = (4, 2, 2) if op.length else (total // 2, 1, total - total // 2 - 1)
    inline = op.length or 100
    inline_pieces = (4, 2, 2) if op.length else (40, 1, 59)
    return [
        NO_DATA,
        plain if plain.setter == "sge" else Data("sge", "sge", (64,)),
        Data("sge-0", "sge", (0,)),
        Data("sge_list-3", "sge_list", pieces),
        Data("inline", "inline", (inline,)),
        Data("inline_list-3", "inline_list", inline_pieces),
        Data("inline-max", "inline", (1,), "inline", 0),
        Data("inline-over", "inline", (1,), "inline", 1),
        Data("inline_list-over", "inline_list", (1, 1, 1), "inline", 1),
        Data("sge_list-over", "sge_list", (16,), "sge", 1),
    ] + ([] if op.length else [Data("sge_list-max", "sge_list", (16,), "sge", 0)])


class Enumerator:
    def __init__(self, tables):
        self.tables = tables

    def cells(self):
        """All cells of the default set, in the order of the tables. Ids are unique."""
        found = {}
        for cell in self._all():
            found.setdefault(cell.id, cell)
        return list(found.values())

    def _all(self):
        for op in self.tables.operations:
            for qpt in self.tables.qp_types:
                yield from self._wr_row(op, qpt)
        for op in self.tables.operations:
            for qpt in self.tables.qp_types:
                yield from self._post_row(op, qpt)
        yield from self._receives("recv", self.tables.calls["ibv_post_recv"])
        yield from self._receives("srq", self.tables.calls["ibv_post_srq_recv"])
        yield from self._writev(self.tables.calls["rdma_post_writev"])
        yield from suites.cases(self.tables)

    # -- work requests -----------------------------------------------------------------------

    def _work(self, op, data, qp_setter, flags, **more):
        return Wr(
            op=op.name,
            data=data,
            qp_setter=qp_setter,
            flags=flags,
            effect=ex.EFFECTS[op.name],
            wc=op.wc if "SIGNALED" in flags else None,
            recv=op.recv,
            imm="WITH_IMM" in op.recv_flags,
            inv="WITH_INV" in op.recv_flags,
            **more,
        )

    def _cell(self, api, op, qpt, data, qp_setter, flags, variant="", **more):
        expect = more.pop("expect", None) or ex.derive(self.tables, api, op, qpt, data, qp_setter, flags)
        ask = more.pop("ask", None) or tuple(dict.fromkeys(("SEND", op.name)))
        if expect.create == "refused":
            ask = (op.name,)
        wrs = more.pop("wrs", None) or (self._work(op, data, qp_setter, flags),)
        return Cell(
            api=api,
            op=op.name,
            short=op.short,
            qpt=qpt,
            data=data,
            qp_setter=qp_setter,
            flags=flags,
            variant=variant,
            ask=ask if api == "wr" else (),
            wrs=wrs,
            expect=expect,
            **more,
        )

    def _axes(self, api, op, qpt, setter):
        plain = plain_data(op, qpt)
        for data in data_kinds(op, qpt):
            yield self._cell(api, op, qpt, data, setter, SIGNALED)
        for flags in flag_combinations():
            yield self._cell(api, op, qpt, plain, setter, flags)
        for data in data_kinds(op, qpt):
            for flags in ((), ("SOLICITED", "SIGNALED"), ("FENCE", "SIGNALED")):
                cell = self._cell(api, op, qpt, data, setter, flags)
                if cell.expect.post == "ok":
                    yield cell

    def _wr_row(self, op, qpt):
        setter = ex.mandatory_setter(op, qpt)
        plain = plain_data(op, qpt)
        yield self._cell("wr", op, qpt, plain, setter, SIGNALED)
        yield self._not_asked(op, qpt, plain, setter)
        if qpt not in op.wr:
            return
        yield from self._axes("wr", op, qpt, setter)
        for other in ("none", "ud_addr", "xrc_srqn"):
            for data in (plain, data_kinds(op, qpt)[4]):
                yield self._cell("wr", op, qpt, data, other, SIGNALED)
        yield from self._regions(op, qpt, plain, setter)
        yield from self._fenced("wr", op, qpt, setter)

    def _not_asked(self, op, qpt, data, setter):
        # SEND is asked for, so that the QP can be seen to work afterwards; for SEND itself another one
        ask = ("SEND",) if op.name != "SEND" else ("SEND_WITH_IMM",)
        if op.name == "SEND" and qpt == "RAW_PACKET":
            ask = ("TSO",)
        return self._cell(
            "wr", op, qpt, data, setter, SIGNALED, "unasked", ask=ask, expect=ex.not_asked(op, qpt)
        )

    def _batch(self, op, qpt, data, setter):
        """The request without and with a completion, and one that can follow it in a batch."""
        quiet, good = self._work(op, data, setter, ()), self._work(op, data, setter, SIGNALED)
        if op.name not in ONCE:
            return quiet, good, good
        send = self.tables.operation("SEND")
        return quiet, good, self._work(send, plain_data(send, qpt), ex.mandatory_setter(send, qpt), SIGNALED)

    def _regions(self, op, qpt, data, setter):
        """Critical regions: more than one request, an abort, a bad one, one API after the other."""
        legal = ex.derive(self.tables, "wr", op, qpt, data, setter, SIGNALED)
        quiet, good, follow = self._batch(op, qpt, data, setter)
        bad_data = Data("sge_list-over", "sge_list", (16,), "sge", 1)
        bad = self._work(op, bad_data, setter, SIGNALED)

        def region(variant, clause, **more):
            expect = more.pop("expect", None) or ex.of_batch(legal, clause)
            return self._cell("wr", op, qpt, data, setter, SIGNALED, variant, expect=expect, **more)

        yield region("abort", "ibv_wr_post/USAGE/abort", abort=True)
        yield region("batch-3", "ibv_wr_post/USAGE/multiple", wrs=(quiet, follow, follow))
        yield region(
            "batch-bad", ex.FAILURE, wrs=(good, bad, good), expect=ex.refused(ex.FAILURE, "POST-ERRNO")
        )
        yield region("then-post_send", "ibv_wr_post/DESCRIPTION/interleave", follow_post=True)
        if op.data != "none":
            twice = self._work(op, data, setter, SIGNALED, data_twice=True)
            undefined = Expect(ex.DATA_SETTERS, level="UNDEFINED", post="undefined")
            yield region("data-twice", ex.DATA_SETTERS, wrs=(twice,), expect=undefined)
            inline = self._work(op, data, setter, ("SIGNALED", "INLINE"))
            yield region(
                "inline-flag", "", wrs=(inline,), expect=ex.of_batch(legal, ex.INLINE_LIMIT, ("INLINE-OPS",))
            )

    def _fenced(self, api, op, qpt, setter):
        """A fenced request that sends what a READ or an atomic before it brings: it must wait for that."""
        fence = self.tables.flag("FENCE")
        if ex.EFFECTS[op.name] not in ("send", "write") or not fence.in_scope(op, qpt):
            return
        for first in ("RDMA_READ", "ATOMIC_FETCH_AND_ADD"):
            before = self.tables.operation(first)
            data = plain_data(before, qpt)
            flags = ("FENCE", "SIGNALED")
            wrs = (self._work(before, data, setter, ()), self._work(op, data, setter, flags, data_of=0))
            legal = ex.derive(self.tables, api, op, qpt, data, setter, flags)
            ask = tuple(dict.fromkeys(("SEND", op.name, first)))
            variant = f"after-{before.short}"
            yield self._cell(api, op, qpt, data, setter, flags, variant, wrs=wrs, expect=legal, ask=ask)

    def _post_row(self, op, qpt):
        setter = ex.mandatory_setter(op, qpt)
        plain = plain_data(op, qpt)
        if qpt not in op.post:
            yield self._cell("post", op, qpt, plain, setter, SIGNALED)
            return
        yield from self._axes("post", op, qpt, setter)
        yield from self._fenced("post", op, qpt, setter)
        legal = ex.derive(self.tables, "post", op, qpt, plain, setter, SIGNALED)
        quiet, good, follow = self._batch(op, qpt, plain, setter)
        bad = self._work(op, Data("sge_list-over", "sge_list", (16,), "sge", 1), setter, SIGNALED)
        yield self._cell(
            "post", op, qpt, plain, setter, SIGNALED, "list-3", wrs=(quiet, follow, follow), expect=legal
        )
        middle = Expect(ex.POST_BAD_WR, post="refused", bad_wr=1, errata=("POST-ERRNO",))
        yield self._cell(
            "post", op, qpt, plain, setter, SIGNALED, "list-bad", wrs=(good, bad, good), expect=middle
        )

    # -- receives ----------------------------------------------------------------------------

    def _receives(self, api, call):
        short = call.name.removeprefix("ibv_")
        bad_wr = next(c for c in call.clauses if c.endswith("bad_wr"))
        over = Data("sge_list-over", "sge_list", (16,), "sge", 1)
        kinds = [Data("sge", "sge", (700,)), Data("sge_list-3", "sge_list", (100, 1, 599)), over]
        for qpt in call.qp_types:
            # a receive queue is fed by SENDs; that of XRC_RECV is the SRQ of an XRC_SEND
            peer = "XRC_SEND" if qpt == "XRC_RECV" else qpt
            none = [] if qpt in ("UD", "RAW_PACKET") else [NO_DATA]
            for data in kinds + none:
                expect = (
                    Expect(bad_wr, post="refused", errata=("POST-ERRNO",))
                    if data.over
                    else Expect(call.clause)
                )
                yield self._receive(api, short, qpt, peer, (data,), "", expect)
            good = kinds[1]
            yield self._receive(api, short, qpt, peer, (good, good, good), "list-3", Expect(call.clause))
            middle = Expect(bad_wr, post="refused", bad_wr=1, errata=("POST-ERRNO",))
            yield self._receive(api, short, qpt, peer, (good, over, good), "list-bad", middle)

    def _receive(self, api, short, qpt, peer, datas, variant, expect):
        wrs = tuple(Wr("SEND", data, "none", (), "send", None, "RECV") for data in datas)
        return Cell(
            api=api,
            op="RECV",
            short=short,
            qpt=qpt,
            data=datas[0],
            qp_setter="none",
            flags=(),
            variant=variant,
            ask=(),
            wrs=wrs,
            expect=expect,
        )

    # -- librdmacm ---------------------------------------------------------------------------

    def _writev(self, call):
        op = self.tables.operation("RDMA_WRITE")
        for data in data_kinds(op, "RC"):
            for flags in (SIGNALED, ()):
                expect = ex.derive(self.tables, "post", op, "RC", data, "none", flags)
                clause = call.clauses[-1] if expect.post == "refused" else call.clauses[0]
                yield Cell(
                    api="writev",
                    op="RDMA_WRITE",
                    short=call.name,
                    qpt="RC",
                    data=data,
                    qp_setter="none",
                    flags=flags,
                    variant="",
                    ask=(),
                    wrs=(self._work(op, data, "none", flags),),
                    expect=ex.of_batch(expect, clause),
                )
