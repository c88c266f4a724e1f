# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Suites about packet sequence numbers: wrap-around, duplicates, and wires that lose, duplicate and delay packets."""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import RELIABLE, Case, Suite, widened

SQ_PSN = "ibv_modify_qp/DESCRIPTION/sq_psn"
RQ_PSN = "ibv_modify_qp/DESCRIPTION/rq_psn"
RETRY_CNT = "ibv_modify_qp/DESCRIPTION/retry_cnt"

LAST = 0xFFFFFF
LONG = 2500  # bytes: several packets
ROUNDS = 30
# Faults of a wire, as for `hcasim run --fault`. Rare enough that eight attempts in a row never all fail.
WIRES = {
    "loss": "loss=0.05",
    "doubled": "dup=1",
    "reordered": "reorder=0.2",
    "all": "loss=0.03,dup=0.3,reorder=0.1",
}


class Sequence(Suite):
    def cases(self):
        for suite in (self._wrap, self._repeated, self._lossy):
            yield from suite()

    def _posted(self, qpt):
        names = ("SEND", "RDMA_WRITE", "RDMA_WRITE_WITH_IMM", "RDMA_READ", "ATOMIC_FETCH_AND_ADD")
        return [name for name in names if qpt in self.tables.operation(name).post]

    def _wrap(self):
        for qpt in (*RELIABLE, "UC"):
            for name in self._posted(qpt):
                yield self._wrap_case(qpt, self.tables.operation(name).short, (name,) * 4)
            yield self._wrap_case(qpt, "mixed", self._mix(qpt))

    def _wrap_case(self, qpt, case, names):
        return Case(
            suite="psn",
            qpt=qpt,
            case=f"wrap-{case}",
            scenario="psn_wrap",
            says="requests of several packets that begin one before the last PSN are executed, and later ones, too",
            expect=Expect(SQ_PSN, errata=("PSN-WRAP",)),
            wrs=tuple(self.work(name, qpt, size=LONG) for name in names),
            args={"psn": LAST - 1},
        )

    def _repeated(self):
        for qpt in RELIABLE:
            for name in self._posted(qpt):
                short = self.tables.operation(name).short
                yield self._repeated_case(qpt, short, (name,) * 2, 0x123456)
                yield self._repeated_case(qpt, f"{short}-wrap", (name,) * 2, LAST)

    def _repeated_case(self, qpt, case, names, psn):
        return Case(
            suite="psn",
            qpt=qpt,
            case=f"repeated-{case}",
            scenario="psn_repeated",
            says="requests with the PSNs of others that were executed complete, and nothing is executed; READs and "
            "atomics bring what they brought before",
            expect=Expect(RQ_PSN, errata=("PSN-REPEATED", *widened(qpt))),
            wrs=tuple(self.work(name, qpt) for name in names),
            args={"psn": psn},
        )

    def _lossy(self):
        for qpt in RELIABLE:
            for case, wire in WIRES.items():
                yield self._lossy_case(qpt, case, wire, self._mix(qpt))
                yield self._lossy_case(
                    qpt, f"{case}-stream", wire, ("SEND", "RDMA_WRITE", "RDMA_WRITE_WITH_IMM") * 3
                )

    def _lossy_case(self, qpt, case, wire, names):
        return Case(
            suite="lossy",
            qpt=qpt,
            case=case,
            scenario="lossy",
            says=f"on a wire with {wire} each request is executed once, all complete in order",
            expect=Expect(RETRY_CNT, errata=("RELIABLE", "COMPLETION-ORDER", *widened(qpt))),
            wrs=tuple(self.work(name, qpt) for name in names),
            args={"rounds": ROUNDS},
            wire=wire,
        )
