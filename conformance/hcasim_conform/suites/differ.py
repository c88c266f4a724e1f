# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Suites about postings whose requests differ in everything that they can name, and about rings that wrap."""
from hcasim_conform.model.cells import Data, Expect
from hcasim_conform.suites.base import CONNECTED, SIGNALED, Case, Suite

USAGE = "ibv_wr_post/USAGE/multiple"
LIST = "ibv_post_send/DESCRIPTION/state"
RECEIVES = {0: "ibv_post_recv/DESCRIPTION", 1: "ibv_post_srq_recv/DESCRIPTION"}
FAILURE = "ibv_wr_post/RETURN-VALUE/failure"


def sges(*lengths):
    return Data("sge_list", "sge_list", lengths)


def inline(*lengths):
    return Data("inline_list", "inline_list", lengths)


# In this order; those that a QP type does not have are left out.
DIFFERENT = (
    ("SEND", sges(0, 200, 57)),
    ("RDMA_WRITE", sges(64, 0, 1100)),
    ("RDMA_READ", sges(33, 90, 0)),
    ("SEND_WITH_IMM", inline(0, 40, 19)),
    ("ATOMIC_CMP_AND_SWP", None),
    ("RDMA_WRITE_WITH_IMM", inline(30, 0, 7)),
    ("SEND", inline(11, 22, 0)),
    ("RDMA_READ", sges(0, 1, 1300, 0)),
    ("ATOMIC_FETCH_AND_ADD", None),
    ("RDMA_WRITE", Data("none", "none")),
    ("SEND_WITH_IMM", sges(1, 2, 3)),
    ("ATOMIC_CMP_AND_SWP", None),
    ("RDMA_WRITE_WITH_IMM", sges(255, 257)),
    ("SEND", sges(3, 0, 0, 704)),
)


class Differ(Suite):
    def cases(self):
        for qpt in CONNECTED:
            yield from self._differ(qpt)
            yield self._regions(qpt)
            yield from self._receives(qpt)
        for qpt in CONNECTED + ("RAW_PACKET",):
            yield from self._ring(qpt)
        for qpt in ("UD", "XRC_SEND"):
            yield from self._destinations(qpt)

    def _requests(self, qpt):
        for i, (name, data) in enumerate(DIFFERENT):
            if qpt in self.tables.operation(name).post:
                yield self.work(name, qpt, SIGNALED if i % 5 != 1 else (), data)

    def _differ(self, qpt):
        wrs = tuple(self._requests(qpt))
        if qpt == "UD":  # the path MTU is the longest message
            wrs = tuple(wr for wr in wrs if sum(wr.data.lengths) <= 1024)
        for case, args, clause in (
            ("list", {}, LIST),
            ("region", {"wr": 1}, USAGE),
            ("region-ex", {"wr": 1, "ex": 1}, USAGE),
        ):
            yield Case(
                suite="differ",
                qpt=qpt,
                case=case,
                scenario="differ",
                says="requests that differ in wr_id, length, immediate data, operands, and the regions and keys of each SGE "
                "and remote address, with empty SGEs at the begin, in the middle and at the end, are executed as posted",
                expect=Expect(clause, errata=("COMPLETION-ORDER",)),
                wrs=wrs,
                args=args,
                ask=tuple(dict.fromkeys(["SEND"] + [wr.op for wr in wrs])),
            )

    def _destinations(self, qpt):
        where = "QPs, with other Q_Keys and address handles" if qpt == "UD" else "shared receive queues"
        clause = self.tables.setters["ud_addr" if qpt == "UD" else "xrc_srqn"]
        for api in ("post", "wr"):
            yield Case(
                suite="differ",
                qpt=qpt,
                case=f"destinations-{api}",
                scenario="destinations",
                says=f"the messages of one posting go to different {where}, each to its own, in order",
                expect=Expect(LIST if api == "post" else clause),
                wrs=tuple(
                    self.work(("SEND", "SEND_WITH_IMM")[i % 2], qpt, data=sges(10 + 91 * i, i))
                    for i in range(8)
                ),
                args={"wr": int(api == "wr")},
                ask=("SEND", "SEND_WITH_IMM"),
            )

    def _regions(self, qpt):
        return Case(
            suite="differ",
            qpt=qpt,
            case="regions",
            scenario="regions",
            says="empty, aborted, failed and complete regions of one and several requests, and lists, follow each other: each "
            "is executed completely or not at all, and has no effect on the next",
            expect=Expect(FAILURE, errata=("POST-ERRNO",)),
            wrs=(
                self.work("SEND", qpt, data=sges(40, 60)),
                self.work("SEND_WITH_IMM", qpt, size=100),
                self.work("SEND", qpt, data=Data("inline", "inline", (70,))),
            ),
            ask=("SEND", "SEND_WITH_IMM"),
        )

    def _ring(self, qpt):
        names = [
            n
            for n in ("SEND", "RDMA_WRITE", "RDMA_READ", "SEND_WITH_IMM")
            if qpt in self.tables.operation(n).post
        ]
        if qpt in ("RC", "XRC_SEND"):
            names.append("ATOMIC_CMP_AND_SWP")
        kinds = [("sizes", names)]
        if qpt in ("UD", "RAW_PACKET"):
            kinds.append(("headers", ["SEND", "TSO"]))
        for case, ops in kinds:
            for api in ("post", "wr"):
                yield Case(
                    suite="differ",
                    qpt=qpt,
                    case=f"ring-{case}-{api}",
                    scenario="ring",
                    says="requests of all sizes, more than the queue holds at once, are executed as posted",
                    expect=Expect(LIST if api == "post" else USAGE),
                    wrs=tuple(self.work(name, qpt, size=600 if name == "TSO" else 64) for name in ops),
                    args={"turns": 48, "wr": int(api == "wr")},
                    ask=tuple(dict.fromkeys(["SEND"] + ops)),
                )

    def _receives(self, qpt):
        for srq in {"UC": (0,), "XRC_SEND": (1,)}.get(qpt, (0, 1)):
            yield self._receive(
                qpt,
                "srq-receives" if srq else "receives",
                "receives_differ",
                "receives that differ in wr_id, number and length of their buffers, and in the region of each, empty ones "
                "among them, are consumed as posted; more of them than the queue holds at once",
                Expect(RECEIVES[srq], errata=("COMPLETION-ORDER",)),
                srq,
                turns=90,
            )
        if qpt in ("RC", "UC", "UD"):
            yield self._receive(
                qpt,
                "receives-early",
                "receives_early",
                "a receive is refused in RESET; those that were posted in INIT are consumed once the QP is in RTR",
                Expect(RECEIVES[0], errata=("POST-IN-RESET",)),
            )
        if qpt in ("RC", "UD"):
            yield self._receive(
                qpt,
                "receive-elsewhere",
                "receive_elsewhere",
                "ibv_post_recv fails on a QP with an SRQ, and names the receive",
                Expect("ibv_post_recv/NOTES/srq", level="SHOULD", errata=("POST-ERRNO",)),
                1,
            )

    def _receive(self, qpt, case, scenario, says, expect, srq=0, **args):
        return Case(
            suite="differ",
            qpt=qpt,
            case=case,
            scenario=scenario,
            says=says,
            expect=expect,
            wrs=(self.work("SEND", qpt, size=64),) * (1 if "turns" in args else 3),
            args={"srq": srq, **args},
            needs=("srq",) if srq and qpt != "XRC_SEND" else (),
        )
