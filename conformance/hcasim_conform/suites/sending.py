# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Suites about what a send queue carries out: fences, READs in flight, path MTUs, the ends of its ring."""
from dataclasses import replace

from hcasim_conform.model.cells import Data, Expect
from hcasim_conform.suites.base import (
    ADD,
    LAST_PSN,
    READ,
    RELIABLE,
    SEND,
    SEND_IMM,
    SIGNALED,
    SWAP,
    WRITE,
    WRITE_IMM,
    Case,
    Suite,
    pieces,
    widened,
)

SGE_LIST = "ibv_post_send/DESCRIPTION/state"
PATH_MTU = "ibv_modify_qp/DESCRIPTION/path_mtu"
RD_ATOMIC = "ibv_modify_qp/DESCRIPTION/max_rd_atomic"
RATE_LIMIT = "ibv_modify_qp_rate_limit/DESCRIPTION/rate_limit"
MAX_SEND = "ibv_create_qp/DESCRIPTION/max_send_wr"
PATH_MTUS = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}  # bytes -> enum ibv_mtu
RECEIVE = 4096  # bytes of a receive of the runner

# Rows: Suite.request()
FENCED = {
    "after-reads": ((READ, 2500), (READ, 3), (SEND, "F", 0), (WRITE, "F", 1), (WRITE_IMM, "F", 0)),
    "after-atomics": ((ADD, 8), (SWAP, 8), (SEND, "F", 0), (WRITE, "F", 1), (SEND_IMM, "F", 0)),
    "between": (
        (READ, 2500),
        (WRITE, 1500),
        (SEND, 40),
        (ADD, 8),
        (WRITE_IMM, 0),
        (SEND, "F", 0),
        (READ, "F", None),
        (SEND, "F", 6),
        (SEND, 1),
        (SWAP, "F", None),
        (WRITE, "F", 9),
    ),
    "all": (
        (SEND, "F", None),
        (WRITE, "F", None),
        (READ, "F", None),
        (SEND, "F", 2),
        (ADD, "F", None),
        (SEND_IMM, "F", 4),
        (SWAP, "F", None),
        (WRITE_IMM, "F", 6),
    ),
    "twice": ((READ, 2048), (SEND, "F", 0), (WRITE, 700), (READ, 1025), (WRITE, "F", 3), (SEND, "F", 3)),
}
# A window of the matrix's requests is bound between a READ and what sends its result.
FENCED_WINDOW = ((READ, 2500), ("BIND_MW", "F", None), (SEND, "F", 0), (WRITE, 300))


class Sending(Suite):
    def cases(self):
        for suite in (self._fence, self._outstanding, self._lengths, self._long, self._rings, self._lists):
            yield from suite()
        yield Case(
            suite="pacing",
            qpt="RAW_PACKET",
            case="rate-limit",
            scenario="rate_limit",
            says="frames never leave earlier than the limit allows, behind a burst too; a queue with a higher limit, with a limit "
            "that was raised or removed, or with a burst, has finished before a slow one",
            expect=Expect(RATE_LIMIT, level="SHOULD", errata=("RATE-LIMIT",)),
            args={"kbps": 8000},
        )

    # -- FENCE

    def _fence(self):
        for qpt in RELIABLE:
            for case, table in FENCED.items():
                yield self._fenced(qpt, case, table)
            silent = tuple(n for n, row in enumerate(FENCED["between"]) if row[0] in (READ, ADD))
            yield self._fenced(qpt, "unsignaled", FENCED["between"], silent)
            yield self._fenced(qpt, "one-in-flight", FENCED["between"], rd_atomic=1)
            yield self._fenced(qpt, "psn-wrap", FENCED["between"], psn=LAST_PSN - 3)
            yield self._answered(qpt)
            window = self._fenced(qpt, "after-bind", FENCED_WINDOW)
            yield replace(window, needs=("memory_windows/2",))

    def _answered(self, qpt):
        """FLUSH and ATOMIC_WRITE bring nothing that a later request could send: the order is seen on the wire."""
        names = ("FLUSH", "ATOMIC_WRITE")
        table = [((name, 8), (SEND, 40), (WRITE, 900)) for name in names]
        rows = [(name, size, number % 3 == 1) for number, (name, size) in enumerate(sum(table, ()))]
        case = self._fenced(qpt, "after-flush", (), wr=1)
        return replace(
            case,
            says="a fenced request leaves after the answers of FLUSH and ATOMIC_WRITE before it",
            expect=replace(case.expect, errata=("FENCE-XRC",)),
            wrs=tuple(
                self.work(name, qpt, SIGNALED + (("FENCE",) if fenced else ()), size=size)
                for name, size, fenced in rows
            ),
            ask=("SEND", "RDMA_WRITE", *names),
            needs=tuple(f"operations/{qpt}/{name}" for name in names),
        )

    def _fenced(self, qpt, case, table, unsignaled=(), **args):
        return Case(
            suite="fence",
            qpt=qpt,
            case=case,
            scenario="in_order",
            says="a fenced request that sends what an earlier READ or atomic brings sends the bytes that were brought",
            expect=Expect(
                self.tables.flag("FENCE").post_clause, errata=("FENCE-XRC",) if qpt == "XRC_SEND" else ()
            ),
            wrs=self.requests(qpt, table, unsignaled),
            args=args,
        )

    # -- READs and atomics in flight

    def _outstanding(self):
        names = (READ, ADD, READ, WRITE, SWAP, READ)
        for qpt in RELIABLE:
            for case, limit in (("1", 1), ("2", 2), ("max", -1)):
                table = tuple((names[n % 6], (1, 8, 2500, 900, 8, 1024)[n % 6]) for n in range(22))
                yield self._limit(qpt, case, table, limit)
                yield self._limit(qpt, f"{case}-wrap", table, limit, psn=LAST_PSN - 5)

    def _limit(self, qpt, case, table, limit, **args):
        return Case(
            suite="rd_atomic",
            qpt=qpt,
            case=case,
            scenario="in_order",
            says="more READs and atomics than max_rd_atomic are posted: a responder with as many resources "
            "answers all",
            expect=Expect(RD_ATOMIC, errata=("RD-ATOMIC", *widened(qpt))),
            wrs=self.requests(qpt, table, unsignaled=(0, 4, 5, 9, 20)),
            args={"rd_atomic": limit, "sq_depth": 32, **args},
        )

    # -- path MTUs

    def _lengths(self):
        for qpt in ("RC", "UC", "XRC_SEND"):
            for mtu, code in PATH_MTUS.items():
                around = (0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 2 * mtu + 1, 3 * mtu)
                short = [size for size in around if size <= RECEIVE]
                sends = [(name, size) for size in short for name in (SEND, SEND_IMM)][-14:]
                yield self._mtu(qpt, f"{mtu}-send", sends, code)
                names = (WRITE, READ) if qpt != "UC" else (WRITE, WRITE_IMM)
                moves = [(name, size) for size in around for name in names]
                yield self._mtu(qpt, f"{mtu}-rdma", moves, code)

    def _mtu(self, qpt, case, table, code):
        op = self.tables.operation
        wrs = tuple(
            self.work(name, qpt, data=pieces(size, 1 + number % 2) if size > 1 else pieces(size))
            for number, (name, size) in enumerate(table)
            if qpt in op(name).post
        )
        return Case(
            suite="mtu",
            qpt=qpt,
            case=case,
            scenario="in_order",
            says="messages of lengths around multiples of the path MTU arrive with every byte",
            expect=Expect(PATH_MTU, errata=widened(qpt)),
            wrs=wrs,
            args={"mtu": code, "sq_depth": 32},
        )

    def _long(self):
        for qpt in ("RC", "UC", "XRC_SEND"):
            yield Case(
                suite="mtu",
                qpt=qpt,
                case="long",
                scenario="long_messages",
                says="messages of more than a thousand packets arrive with every byte",
                expect=Expect(PATH_MTU, errata=widened(qpt)),
                wrs=(self.work(SEND, qpt),),
                args={"mtu": 1, "bytes": 280001, "read": int(qpt != "UC")},
            )

    # -- long lists

    def _lists(self):
        """Lists of many SGEs, empty ones at the beginning, in the middle and at the end, ends of SGEs around those of packets."""
        lists = (
            (0, 1, 255, 257, 0, 3, 512, 64, 0, 300, 5, 0),
            tuple(range(1, 30)) + (0,),
            (1024, 0, 1023, 1, 1),
            (0,) * 29 + (7,),
            tuple(range(20, 44)),
        )
        for qpt in ("RC", "UC", "UD", "XRC_SEND"):
            names = [n for n in (WRITE, SEND, READ, SEND_IMM) if qpt in self.tables.operation(n).post]
            wrs = tuple(
                self.work(name, qpt, data=Data(f"sge_list-{len(sizes)}", "sge_list", sizes))
                for name in names
                for sizes in lists
                if qpt != "UD" or sum(sizes) <= 1024
            )
            yield Case(
                suite="ring",
                qpt=qpt,
                case="long-lists",
                scenario="in_order",
                says="requests with lists of up to 30 SGEs, some of them empty, are executed with every byte",
                expect=Expect(SGE_LIST),
                wrs=wrs,
                args={"mtu": 1, "sq_depth": 32},
                ask_sge=30,
            )

    # -- rings

    def _rings(self):
        """Requests of several sizes come to lie across the end of the ring at every place."""
        for qpt in ("RC", "UC", "UD", "XRC_SEND"):
            names = [n for n in (WRITE, SEND_IMM, SEND) if qpt in self.tables.operation(n).post]
            datas = (
                Data("sge_list-3", "sge_list", (17, 1, 90)),
                Data("inline", "inline", (100,)),
                Data("inline-0", "inline", (0,)),
                Data("sge_list-4", "sge_list", (5, 64, 3, 200)),
                Data("inline-max", "inline", (1,), "inline", 0),
                Data("sge", "sge", (33,)),
                Data("inline_list-3", "inline_list", (1, 15, 16)),
            )
            wrs = tuple(
                self.work(names[n % len(names)], qpt, SIGNALED if n in (2, 3, 6) else (), data)
                for n, data in enumerate(datas)
            )
            for case, args in (
                ("lists", {}),
                ("each", {"each": 1}),
                ("turns", {"wr": 1, "turns": 1, "each": 1}),
            ):
                yield Case(
                    suite="ring",
                    qpt=qpt,
                    case=case,
                    scenario="in_order",
                    says="requests with lists of SGEs and with inline data are executed as posted, at any place of the queue",
                    expect=Expect(MAX_SEND),
                    wrs=wrs,
                    args={"rounds": 40, **args},
                    ask=tuple(dict.fromkeys(["SEND"] + names)),
                )
