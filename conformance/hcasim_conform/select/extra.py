# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Extra cells, outside the product: batches of one operation, fences, receives, rdma_post_writev, the suites."""
from dataclasses import replace

from hcasim_conform.model import expect as ex
from hcasim_conform.model.also import IN_A_BATCH
from hcasim_conform import suites
from hcasim_conform.model.axes import (
    NO_DATA,
    SIGNALED,
    TOO_MANY,
    Data,
    asked_for,
    data_kinds,
    plain_data,
    mandatory_setter,
)
from hcasim_conform.model.capabilities import WINDOW_OPS
from hcasim_conform.model.cells import Cell, Expect, Wr
from hcasim_conform.model.requests import work


class Extra:
    def __init__(self, tables):
        self.tables = tables

    def cells(self):
        for cell in self._all():
            yield replace(cell, expect=self.tables.graded(cell.expect))

    def _all(self):
        for api in ("wr", "post"):
            for op in self.tables.operations:
                for qpt in op.types(api):
                    yield from self._batches(api, op, qpt)
                    yield from self._fenced(api, op, qpt)
        yield from self._receives("recv", self.tables.calls["ibv_post_recv"])
        yield from self._receives("srq", self.tables.calls["ibv_post_srq_recv"])
        yield from self._writev(self.tables.calls["rdma_post_writev"])
        yield from suites.cases(self.tables)

    def _cell(self, api, op, qpt, data, flags, variant, wrs, expect, **more):
        ask = more.pop("ask", None) or asked_for(op, qpt)
        return Cell(
            api=api,
            op=op.name,
            short=op.short,
            qpt=qpt,
            data=data,
            qp_setter=mandatory_setter(op, qpt),
            flags=flags,
            variant=variant,
            ask=ask,
            wrs=wrs,
            expect=expect,
            **more,
        )

    def _batch(self, op, qpt, data, setter):
        """The request without and with a completion, and a request that can follow it in a batch."""
        quiet, good = work(op, data, setter, ()), work(op, data, setter, SIGNALED)
        if op.name not in WINDOW_OPS:
            return quiet, good, good
        # a window can be bound, or invalidated, only once
        send = self.tables.operation("SEND")
        return quiet, good, work(send, plain_data(send, qpt), mandatory_setter(send, qpt), SIGNALED)

    def _batches(self, api, op, qpt):
        """Batches of one operation; one API after the other; INLINE where it is not a flag."""
        setter, data = mandatory_setter(op, qpt), plain_data(op, qpt)
        legal = ex.derive(self.tables, api, op, qpt, data, setter, SIGNALED)
        quiet, good, follow = self._batch(op, qpt, data, setter)
        bad = work(op, TOO_MANY, setter, SIGNALED)

        def cell(variant, wrs, expect, **more):
            return self._cell(api, op, qpt, data, SIGNALED, variant, wrs, expect, **more)

        if api == "post":
            yield cell("list-3", (quiet, follow, follow), legal)
            middle = Expect(ex.POST_BAD_WR, post="refused", bad_wr=1, errata=("POST-ERRNO",))
            yield cell("list-bad", (good, bad, good), middle)
            return
        batch = replace(ex.of_batch(legal, ex.MULTIPLE), also=IN_A_BATCH)
        yield cell("batch-3", (quiet, follow, follow), batch)
        yield cell("batch-bad", (good, bad, good), ex.refused(ex.FAILURE, "POST-ERRNO"))
        yield cell("then-post_send", (good,), ex.of_batch(legal, ex.INTERLEAVE), follow_post=True)
        if op.data != "none":
            inline = work(op, data, setter, ("SIGNALED", "INLINE"))
            yield cell(
                "inline-flag",
                (inline,),
                ex.of_batch(replace(legal, post="any"), ex.INLINE_LIMIT, ("INLINE-FLAG",)),
            )

    def _fenced(self, api, op, qpt):
        """A fenced request that sends the result of an earlier READ or atomic, for which it must wait."""
        fence, setter = self.tables.flag("FENCE"), mandatory_setter(op, qpt)
        if op.memory not in ("send", "write") or not fence.in_scope(op, qpt):
            return
        for first in ("RDMA_READ", "ATOMIC_FETCH_AND_ADD"):
            before = self.tables.operation(first)
            data = plain_data(before, qpt)
            flags = ("FENCE", "SIGNALED")
            wrs = (work(before, data, setter, ()), work(op, data, setter, flags, data_of=0))
            legal = ex.derive(self.tables, api, op, qpt, data, setter, flags)
            ask = tuple(dict.fromkeys(("SEND", op.name, first)))
            yield self._cell(api, op, qpt, data, flags, f"after-{before.short}", wrs, legal, ask=ask)

    # -- receives ----------------------------------------------------------------------------

    def _receives(self, api, call):
        bad_wr, returned = f"{call.name}/DESCRIPTION/bad_wr", (f"{call.name}/RETURN-VALUE",)
        good = Data("sge_list-3", "sge_list", (100, 1, 599))
        for qpt in call.qp_types:
            # SENDs consume the receives; on XRC_RECV the receives of the SRQ, by an XRC_SEND QP
            none = [] if qpt in ("UD", "RAW_PACKET") else [NO_DATA]
            for data in [Data("sge", "sge", (700,)), good, TOO_MANY] + none:
                refused = Expect(bad_wr, post="refused", errata=("POST-ERRNO",), also=returned)
                taken = Expect(call.clause, also=returned + self._of_datagram(api, qpt))
                yield self._receive(api, call, qpt, (data,), "", refused if data.over else taken)
            yield self._receive(api, call, qpt, (good, good, good), "list-3", Expect(call.clause))
            middle = Expect(bad_wr, post="refused", bad_wr=1, errata=("POST-ERRNO",))
            yield self._receive(api, call, qpt, (good, TOO_MANY, good), "list-bad", middle)

    @staticmethod
    def _of_datagram(api, qpt):
        return ("ibv_post_recv/NOTES/offset",) if (api, qpt) == ("recv", "UD") else ()

    def _receive(self, api, call, qpt, datas, variant, expect):
        wrs = tuple(Wr("SEND", data, "none", (), "send", None, "RECV") for data in datas)
        return Cell(
            api=api,
            op="RECV",
            short=call.name.removeprefix("ibv_"),
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
        for data in data_kinds("post", op, "RC"):
            for flags in (SIGNALED, ()):
                expect = ex.derive(self.tables, "post", op, "RC", data, "none", flags)
                name = "RETURN-VALUE" if expect.post == "refused" else "ARGUMENTS/sgl"
                expect = ex.of_batch(expect, f"{call.name}/{name}")
                cell = self._cell(
                    "writev",
                    op,
                    "RC",
                    data,
                    flags,
                    "",
                    (work(op, data, "none", flags),),
                    replace(expect, also=self._of_writev(call, data, flags) if expect.post == "ok" else ()),
                )
                yield replace(cell, short=call.name, ask=())

    @staticmethod
    def _of_writev(call, data, flags):
        """wr_id, flags and bytes are those of the call; inline data is of memory that is not registered."""
        names = ["NOTES/flags"] if not flags or data.inline else ["NOTES/context", "DESCRIPTION/contents"]
        names += ["NOTES/inline"] if data.inline else []
        return (call.clause, *(f"{call.name}/{name}" for name in names))
