# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Suites about send queues that stop, are full, have their requests sent again, or share a page with others."""
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
from hcasim_conform.suites.psn import RETRY_CNT, WIRES

MAX_SEND = "ibv_create_qp/DESCRIPTION/max_send_wr"
RNR_RETRY = "ibv_modify_qp/DESCRIPTION/rnr_retry"
ERROR = "ibv_poll_cq/DESCRIPTION/error"
STATE = "ibv_modify_qp/DESCRIPTION/qp_state"
NOTIFY = "ibv_modify_qp/DESCRIPTION/en_sqd_async_notify"
DRAINING = "ibv_query_qp/DESCRIPTION/sq_draining"
DRAINED = "ibv_get_async_event/DESCRIPTION/IBV_EVENT_SQ_DRAINED"
SQE_BACK = (
    "those before the bad request are executed, it completes with IBV_WC_LOC_PROT_ERR, those behind it are flushed; "
    "back in RTS the queue carries out what is posted then"
)

# On a wire with faults: long messages, fences, and requests without a completion.
FAULTY = (
    (READ, 2500),
    (WRITE, 3000),
    (ADD, 8),
    (SEND, "F", 0),
    (SEND_IMM, 2500),
    (READ, 3100),
    (SWAP, 8),
    (WRITE_IMM, 1500),
    (WRITE, "F", 5),
    (READ, 1),
    (SEND, "F", 6),
    (SEND, 1025),
)


class Stopping(Suite):
    def cases(self):
        for suite in (self._stopped, self._repeated, self._several, self._lossy):
            yield from suite()

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
        says = "back in RTS the queue stays there, though flush errors of what failed in front were still being written"
        expect = Expect(STATE, status="LOC_PROT_ERR", errata=("SQ-ERROR-STATE", "FLUSH-ORDER"))
        busy = self._state("UC", "sqe-back-busy", "sqe_busy", STATE, says, ((SEND, 64),))
        yield replace(busy, expect=expect)
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
            wrs=self.requests(qpt, table, unsignaled),
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
            wrs=self.requests(qpt, table, unsignaled),
            args={"late_receives": 1, **args},
        )

    # -- several queues

    def _several(self):
        for qpt in ("RC", "UC", "UD", "XRC_SEND"):
            names = [n for n in (WRITE, SEND, SEND_IMM, READ) if qpt in self.tables.operation(n).post]
            datas = (
                Data("inline", "inline", (100,)),
                Data("sge", "sge", (900,)),
                Data("inline", "inline", (12,)),
                Data("sge_list-3", "sge_list", (17, 1, 90)),
                Data("inline_list", "inline_list", (1, 40, 60)),
            )
            wrs = []
            for number in range(10):
                op = self.tables.operation(names[number % len(names)])
                data = datas[number % 5]
                wrs.append(
                    self.work(op.name, qpt, data=pieces(150) if data.inline and not op.inline else data)
                )
            yield Case(
                suite="ring",
                qpt=qpt,
                case="several-qps",
                scenario="interleaved",
                says="requests that are posted in turn to four QPs of one context are executed, each on its own QP",
                expect=Expect("ibv_post_send/DESCRIPTION/state"),
                wrs=tuple(wrs),
            )
            quiet = WRITE if qpt != "UD" else SEND
            yield Case(
                suite="full",
                qpt=qpt,
                case="unsignaled",
                scenario="sq_unsignaled",
                says="a queue full of unsignaled requests with a signaled one at its end is carried out, and has room for as "
                "many again; without a signaled one the next request is refused, and RESET makes room",
                expect=Expect(MAX_SEND, errata=("QUEUE-FULL", "POST-ERRNO", "QP-RECYCLE")),
                wrs=(self.work(quiet, qpt, (), pieces(40)),),
            )
        yield Case(
            suite="ring",
            qpt="RC",
            case="lapped",
            scenario="sq_lapped",
            says="lists of requests with 30 SGEs each are carried out until more than 65,536 blocks of 64 bytes were used",
            expect=Expect("ibv_post_send/DESCRIPTION/state"),
            wrs=(self.work(WRITE, "RC", data=pieces(64)),),
        )
        for case, scenario, flags in (
            ("deep", "sq_full", SIGNALED),
            ("deep-unsignaled", "sq_unsignaled", ()),
        ):
            yield Case(
                suite="full",
                qpt="RC",
                case=case,
                scenario=scenario,
                says="hundreds of requests in a send queue are carried out, signaled or not",
                expect=Expect(MAX_SEND, errata=("QUEUE-FULL", "POST-ERRNO", "QP-RECYCLE")),
                wrs=(self.work(WRITE, "RC", flags, pieces(40)),),
                args={"depth": 300},
            )
        yield Case(
            suite="mtu",
            qpt="UD",
            case="longest",
            scenario="datagram_too_long",
            says="a datagram of the port's MTU arrives; nothing of one that is a byte longer does, which completes with success "
            "or IBV_WC_LOC_LEN_ERR",
            expect=Expect(
                ERROR, level="SHOULD", status="LOC_LEN_ERR", errata=("FAILURE-STATUS", "SQ-ERROR-STATE")
            ),
            wrs=(self.work(SEND, "UD", data=pieces(64)),),
        )

    def _lossy(self):
        for case, wire in WIRES.items():
            yield Case(
                suite="lossy",
                qpt="RC",
                case=f"{case}-long",
                scenario="lossy",
                says=f"on a wire with {wire} messages of several packets and fenced requests are executed once, in order",
                expect=Expect(RETRY_CNT, errata=("RELIABLE", "COMPLETION-ORDER")),
                wrs=self.requests("RC", FAULTY, unsignaled=(1, 5, 7)),
                args={"rounds": 15, "psn": LAST_PSN - 100},
                wire=wire,
            )
