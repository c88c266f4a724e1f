# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sentences of the posting pages that need a scenario of their own: values and time of a critical region, QPs without
one, buffers after the completion, rdma_post_writev() without a connection or registered memory."""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import CONNECTED, RELIABLE, Case, Suite, cm_case

USAGE = "ibv_wr_post/USAGE/"
WRITEV = "rdma_post_writev/NOTES/"
GONE = ("KEY-LIFETIME", "FAILURE-STATUS")


class Sentences(Suite):
    def cases(self):
        for qpt in CONNECTED:
            yield from self._region(qpt)
            yield self._buffers(qpt)
        yield Case(
            suite="builder",
            qpt="RC",
            case="ordinary-qp",
            scenario="ordinary_qp",
            says="ibv_qp_to_qp_ex gives NULL for a QP that was created without send_ops_flags; it carries a SEND",
            expect=Expect(USAGE + "ibv_create_qp_ex", errata=("EXTENDED-QP",)),
            args={"extended": 0},
        )
        for qpt in RELIABLE:
            yield Case(
                suite="atomic",
                qpt=qpt,
                case="two-qps",
                scenario="atomics_compete",
                says="each addition of two QPs to one word brings a value that no other brings, and none is lost",
                expect=Expect("ibv_wr_post/WORK-REQUESTS/Atomic-operations"),
                wrs=(self.work("ATOMIC_FETCH_AND_ADD", qpt),) * 8,
                args={"add": 1},
            )
        yield from self._writev()

    def _region(self, qpt):
        names = [n for n in ("SEND", "RDMA_WRITE") if qpt in self.tables.operation(n).wr]
        wrs = tuple(self.work(n, qpt) for n in names)
        for case, scenario, clause, says in (
            (
                "values-of-builder",
                "values_of_builder",
                USAGE + "before-builder",
                "wr_id and wr_flags are those that were set when the builder was called, whatever is set afterwards",
            ),
            (
                "not-before-complete",
                "not_before_complete",
                USAGE + "complete",
                "no byte moves and nothing completes before ibv_wr_complete(), while another QP carries a SEND",
            ),
        ):
            yield Case(
                suite="builder",
                qpt=qpt,
                case=case,
                scenario=scenario,
                says=says,
                expect=Expect(clause),
                wrs=wrs,
                ask=tuple(dict.fromkeys(["SEND"] + names)),
            )

    def _buffers(self, qpt):
        received = "ibv_post_srq_recv" if qpt == "XRC_SEND" else "ibv_post_recv"
        return Case(
            suite="reuse",
            qpt=qpt,
            case="completed",
            scenario="reuse_completed",
            says="a buffer that is overwritten once the completion was polled changes no message, and stays as it is",
            expect=Expect("ibv_post_send/NOTES/buffers", also=(f"{received}/NOTES/buffers",)),
            wrs=(self.work("SEND", qpt),),
        )

    def _writev(self):
        yield cm_case(
            "writev",
            "not-connected",
            "writev_early",
            "-1 and errno before the connection, and a write afterwards is executed",
            Expect(WRITEV + "connected", errata=("POST-IN-RESET",)),
            connected=0,
        )
        yield cm_case(
            "writev",
            "no-resources",
            "writev_no_resources",
            "over a connection whose sides have neither responder_resources nor initiator_depth both QPs have the right to "
            "write, and a write is executed",
            Expect(WRITEV + "connected"),
        )
        for case, remote, clause, status in (
            ("local-deregistered", 0, "registered", "LOC_PROT_ERR"),
            ("remote-deregistered", 1, "remote", "REM_ACCESS_ERR"),
        ):
            yield cm_case(
                "writev",
                case,
                "writev_void",
                f"the write completes with IBV_WC_{status}, and no byte of the responder has changed",
                Expect(WRITEV + clause, status=status, errata=GONE),
                remote=remote,
                kept=0,
            )
