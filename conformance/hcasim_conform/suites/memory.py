# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Suites about memory regions: lists of SGEs of several regions, and regions that are changed."""
from itertools import product

from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import CONNECTED, RELIABLE, Case, Suite

LKEY = "ibv_reg_mr/RETURN-VALUE/lkey"
ACCESS = "ibv_reg_mr/DESCRIPTION/access"
RECV = "ibv_post_recv/DESCRIPTION"
SRQ_RECV = "ibv_post_srq_recv/DESCRIPTION"
SRQ_ERROR = "ibv_get_async_event/DESCRIPTION/IBV_EVENT_SRQ_ERR"
XRC_SRQN = "ibv_wr_post/WORK-REQUESTS/QP-Specific-setters/XRC_SEND"
REREG = "ibv_rereg_mr/DESCRIPTION/"
TRANSLATION, PD, RIGHTS = 1, 2, 4  # enum ibv_rereg_mr_flags


class Memory(Suite):
    def cases(self):
        for suite in (self._lists, self._receives, self._rereg, self._xrc, self._atomics, self._addresses):
            yield from suite()

    def _lists(self):
        for qpt in CONNECTED:
            for name in ("SEND", "RDMA_WRITE", "RDMA_READ"):
                if qpt not in self.tables.operation(name).post:
                    continue
                short = self.tables.operation(name).short
                yield Case(
                    suite="sges",
                    qpt=qpt,
                    case=f"regions-{short}",
                    scenario="sge_regions",
                    says="each SGE of a list has its own region, key and place; empty ones have none that exists: every byte "
                    "is moved, and no other",
                    expect=Expect(LKEY, errata=("EMPTY-SGE",)),
                    wrs=(self.work(name, qpt, size=64),),
                )
                yield Case(
                    suite="sges",
                    qpt=qpt,
                    case=f"refused-{short}",
                    scenario="sge_refused",
                    says="IBV_WC_LOC_PROT_ERR if one SGE of a list has a wrong key, range, right or protection domain; nothing "
                    "arrives, and its memory is not touched",
                    expect=Expect(ACCESS, status="LOC_PROT_ERR", errata=("KEY-RIGHTS", "FAILURE-STATUS")),
                    wrs=(self.work(name, qpt, size=64),),
                )

    def _receives(self):
        for qpt in CONNECTED:
            for srq in (0, 1) if qpt in ("RC", "UD") else (0,):
                clause = SRQ_RECV if srq or qpt == "XRC_SEND" else RECV
                where = "-srq" if srq else ""
                yield Case(
                    suite="sges",
                    qpt=qpt,
                    case=f"receive{where}",
                    scenario="receive_regions",
                    says="a message is spread over the regions of its receive's SGEs, byte by byte, and nothing else changes",
                    expect=Expect(clause, errata=("EMPTY-SGE",)),
                    wrs=(self.work("SEND", qpt, size=64),),
                    args={"srq": srq},
                    needs=("srq",) if srq else (),
                )
                yield Case(
                    suite="sges",
                    qpt=qpt,
                    case=f"receive-refused{where}",
                    scenario="receive_refused",
                    says="IBV_WC_LOC_PROT_ERR in a receive of which one SGE has a wrong key, range, right or protection domain, "
                    "and IBV_WC_REM_OP_ERR at a reliable sender; its memory is not touched",
                    expect=Expect(
                        ACCESS,
                        status="REM_OP_ERR" if qpt in RELIABLE else None,
                        errata=("KEY-RIGHTS", "FAILURE-STATUS"),
                    ),
                    wrs=(self.work("SEND", qpt, size=64),),
                    args={"srq": srq},
                    needs=("srq",) if srq else (),
                )

    def _rereg(self):
        for case, clause, flags in (
            ("translation", "CHANGE_TRANSLATION", TRANSLATION),
            ("pd", "CHANGE_PD", PD),
            ("access", "CHANGE_ACCESS", RIGHTS),
            ("all", "CHANGE_TRANSLATION", TRANSLATION | PD | RIGHTS),
        ):
            yield self._changed(
                case,
                "rereg",
                clause,
                {"flags": flags},
                "both keys of the region give access to the range and in the protection domain that it has now, up to its first "
                "and last byte, and to no other",
            )
        yield self._changed(
            "rights",
            "rereg_rights",
            "CHANGE_ACCESS",
            {},
            "a WRITE is refused when the region's right is taken away, and executed when it is given again",
        )

    def _xrc(self):
        """SRQs of one XRC domain with protection domains of their own."""
        for case, scenario, clause, says, status in (
            (
                "second-srq",
                "xrc_second_srq",
                XRC_SRQN,
                "messages arrive in the SRQ that they name, with its completions and its protection domain's memory; a WRITE "
                "for an SRQ of another protection domain than the region is refused",
                "REM_ACCESS_ERR",
            ),
            (
                "receive-pd",
                "xrc_receive_pd",
                ACCESS,
                "IBV_WC_LOC_PROT_ERR in a receive whose memory is of another protection domain than its SRQ",
                "REM_OP_ERR",
            ),
            (
                "other-domain",
                "xrc_other_domain",
                XRC_SRQN,
                "requests for an SRQ of another XRC domain complete with IBV_WC_REM_INV_REQ_ERR, and change nothing",
                "REM_INV_REQ_ERR",
            ),
            (
                "srq",
                "xrc_overrun",
                SRQ_ERROR,
                "when the CQ of an SRQ overruns, IBV_EVENT_CQ_ERR and IBV_EVENT_SRQ_ERR name the two; a message for the SRQ is "
                "then refused, and one for another SRQ arrives",
                "REM_OP_ERR",
            ),
        ):
            yield Case(
                suite="overrun" if scenario == "xrc_overrun" else "xrc",
                qpt="XRC_SEND",
                case=case,
                scenario=scenario,
                says=says,
                expect=Expect(clause, level="SHOULD", status=status, errata=("XRC-TARGET",)),
                wrs=(self.work("SEND", "XRC_SEND", size=64),),
            )

        yield Case(
            suite="xrc",
            qpt="XRC_SEND",
            case="namesake",
            scenario="xrc_namesake",
            says="completions of an SRQ that is destroyed do not turn up for a new one with its number",
            expect=Expect("ibv_poll_cq/NOTES/removed", level="SHOULD", errata=("CQ-PURGE",)),
            wrs=(self.work("SEND", "XRC_SEND", size=64),),
        )

    def _atomics(self):
        says = "additions carry over each byte border, comparisons fail if any one byte differs; the old value is brought"
        for qpt, (case, more, args) in product(
            RELIABLE, (("bytes", "", {}), ("bytes-sig-all", ", with sq_sig_all", {"sig_all": 1}))
        ):
            yield Case(
                suite="atomic",
                qpt=qpt,
                case=case,
                scenario="atomic_bytes",
                says=says + more,
                expect=Expect(self.tables.operation("ATOMIC_FETCH_AND_ADD").effect_clause),
                wrs=(self.work("ATOMIC_FETCH_AND_ADD", qpt), self.work("ATOMIC_CMP_AND_SWP", qpt)),
                args=args,
            )

    def _addresses(self):
        fields = "traffic class, flow label and GIDs"
        for case, says, args in (
            ("address-ipv6", fields, {"ipv4": 0}),
            ("address-ipv4", fields, {"ipv4": 1}),
            ("hops-ipv4", "traffic class, GIDs and hop limit", {"ipv4": 1, "hops": 1}),
        ):
            yield Case(
                suite="datagram",
                qpt="UD",
                case=case,
                scenario="ah_fields",
                says=f"{says} of the address handle are in front of the message that arrives",
                expect=Expect("ibv_post_recv/NOTES/grh", errata=("GRH-ROCE",)),
                wrs=(self.work("SEND", "UD", size=64),),
                args=args,
            )

    @staticmethod
    def _changed(case, scenario, clause, args, says):
        return Case(
            suite="rereg",
            qpt="RC",
            case=case,
            scenario=scenario,
            says=says,
            expect=Expect(REREG + clause, status="REM_ACCESS_ERR", errata=("KEY-RIGHTS",)),
            args=args,
        )
