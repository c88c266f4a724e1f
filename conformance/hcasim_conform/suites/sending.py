# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Suites about the send queue: fences, READs in flight, path MTUs, ring ends, and requests that are sent again."""
from dataclasses import replace

from hcasim_conform.model.cells import Data, Expect
from hcasim_conform.suites.base import RELIABLE, SIGNALED, Case, Suite, widened

PATH_MTU = "ibv_modify_qp/DESCRIPTION/path_mtu"
RD_ATOMIC = "ibv_modify_qp/DESCRIPTION/max_rd_atomic"
MAX_SEND = "ibv_create_qp/DESCRIPTION/max_send_wr"
RNR_RETRY = "ibv_modify_qp/DESCRIPTION/rnr_retry"
STATE = "ibv_modify_qp/DESCRIPTION/qp_state"
NOTIFY = "ibv_modify_qp/DESCRIPTION/en_sqd_async_notify"
DRAINING = "ibv_query_qp/DESCRIPTION/sq_draining"
DRAINED = "ibv_get_async_event/DESCRIPTION/IBV_EVENT_SQ_DRAINED"
SQE_BACK = (
    "those before the bad request are executed, it completes with IBV_WC_LOC_PROT_ERR, those behind it are flushed; "
    "back in RTS the queue carries out what is posted then"
)
PATH_MTUS = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}  # bytes -> enum ibv_mtu
RECEIVE = 4096  # bytes of a receive of the runner
PIECE = 4096  # most bytes of an SGE in a cell
LAST_PSN = 0xFFFFFF
READ, SEND, WRITE = "RDMA_READ", "SEND", "RDMA_WRITE"
ADD, SWAP = "ATOMIC_FETCH_AND_ADD", "ATOMIC_CMP_AND_SWP"
SEND_IMM, WRITE_IMM = "SEND_WITH_IMM", "RDMA_WRITE_WITH_IMM"

# Requests: (operation, length) or (operation, length, index of the request whose result it sends); fenced in capitals "F".
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


class Sending(Suite):
    def cases(self):
        for suite in (
            self._fence,
            self._outstanding,
            self._lengths,
            self._rings,
            self._repeated,
            self._stopped,
        ):
            yield from suite()

    # -- requests

    def _request(self, qpt, name, *rest, signaled=True):
        """A request of a table above."""
        fenced = "F" in rest
        flags = (("FENCE",) if fenced else ()) + (SIGNALED if signaled else ())
        op = self.tables.operation(name)
        source = rest[-1] if fenced else None
        size = op.length or (rest[0] if not fenced else 600)
        data = Data("none", "none") if op.data == "none" else pieces(size)
        wr = self.work(name, qpt, flags, data)
        return wr if source is None else replace(wr, data_of=source)

    def _requests(self, qpt, table, unsignaled=()):
        return tuple(
            self._request(qpt, *row, signaled=number not in unsignaled) for number, row in enumerate(table)
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
            window = self._fenced(qpt, "after-bind", FENCED_WINDOW)
            yield replace(window, needs=("memory_windows/2",))

    def _fenced(self, qpt, case, table, unsignaled=(), **args):
        return Case(
            suite="fence",
            qpt=qpt,
            case=case,
            scenario="in_order",
            says="a fenced request that sends what an earlier READ or atomic brings sends the bytes that were brought",
            expect=Expect(self.tables.flag("FENCE").post_clause, errata=("FENCE-SCOPE",)),
            wrs=self._requests(qpt, table, unsignaled),
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
            wrs=self._requests(qpt, table, unsignaled=(0, 4, 5, 9, 20)),
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

    # -- states

    def _stopped(self):
        """SQD and back, SQE and back, RESET and up again."""
        for qpt in RELIABLE:
            busy = ((WRITE_IMM, 3000), (SEND, 700), (READ, 1500), (WRITE, 2500), (ADD, 8), (SEND_IMM, 0))
            says = (
                "IBV_EVENT_SQ_DRAINED when the request that was started has completed, not before; those posted "
                "meanwhile are executed in RTS, once and in order"
            )
            yield self._state(qpt, "sqd-busy", "sqd_busy", DRAINED, says, busy)
        for qpt in ("RC", "UC", "UD", "XRC_SEND"):
            names = [n for n in (WRITE, SEND, READ, SEND_IMM) if qpt in self.tables.operation(n).post]
            table = tuple((name, 900 + 10 * n) for n, name in enumerate(names))
            says = "a queue with nothing outstanding is drained at once, the event comes if it was asked for"
            yield self._state(qpt, "sqd-idle", "sqd_idle", NOTIFY, says, table)
        for qpt in ("UC", "UD"):
            table = ((SEND, 64), (SEND_IMM, 128), (SEND, 192), (SEND, 256), (SEND_IMM, 320))
            for bad in (0, 2, 4):
                yield replace(
                    self._state(qpt, f"sqe-back-{bad}", "sqe_back", STATE, SQE_BACK, table, (1, bad)),
                    expect=Expect(STATE, status="LOC_PROT_ERR", errata=("SQ-ERROR-STATE", "FLUSH-ORDER")),
                    args={"bad": bad},
                )
        reborn = ((SEND, 1500), (WRITE, 2500), (READ, 2500), (SEND_IMM, 33), (WRITE_IMM, 1), (SEND, 0))
        says = "nothing that was outstanding at RESET is completed or executed; the next life's requests are"
        case = self._state("RC", "reborn", "reborn", STATE, says, reborn)
        yield replace(case, expect=Expect(STATE, errata=("QP-RECYCLE",)))

    def _state(self, qpt, case, scenario, clause, says, table, unsignaled=()):
        return Case(
            suite="state",
            qpt=qpt,
            case=case,
            scenario=scenario,
            says=says,
            expect=Expect(clause, also=(DRAINING,), errata=("SQ-DRAINED",)),
            wrs=self._requests(qpt, table, unsignaled),
        )

    # -- sent again

    def _repeated(self):
        """A receiver that is not ready has everything from its message on sent again."""
        tables = {
            "behind": ((SEND, 2000), (READ, 2500), (ADD, 8), (WRITE, 1025), (SWAP, 8), (SEND_IMM, 4096)),
            "inside": ((WRITE_IMM, 3500), (READ, 1), (WRITE, 2049), (ADD, 8), (READ, 2500), (SEND, 1024)),
            "before": ((READ, 2500), (ADD, 8), (WRITE, 2500), (SEND_IMM, 2500), (READ, 3000), (SWAP, 8)),
            "fenced": ((SEND, 100), (READ, 2500), (WRITE, 600), (SEND, "F", 1), (ADD, 8), (WRITE, "F", 4)),
            "unsignaled": ((SEND, 100), (SEND, 1100), (WRITE_IMM, 0), (READ, 2048), (SEND, 0), (SEND, 5)),
        }
        for qpt in RELIABLE:
            for case, table in tables.items():
                quiet = (0, 1, 3) if case == "unsignaled" else ()
                yield self._late(qpt, case, table, quiet)
            yield self._late(qpt, "one-in-flight", tables["behind"], rd_atomic=1)
            yield self._late(qpt, "psn-wrap", tables["inside"], psn=LAST_PSN - 1)

    def _late(self, qpt, case, table, unsignaled=(), **args):
        return Case(
            suite="rnr",
            qpt=qpt,
            case=f"late-{case}",
            scenario="late_receives",
            says="receives are posted after the first message was refused: each request is executed once, in order",
            expect=Expect(RNR_RETRY, errata=("RNR-RETRY", "RELIABLE", *widened(qpt))),
            wrs=self._requests(qpt, table, unsignaled),
            args={"late_receives": 1, **args},
        )
