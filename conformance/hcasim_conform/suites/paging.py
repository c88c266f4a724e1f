# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The suite about on-demand paging: memory that the device must page in, on either side."""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import RELIABLE, SIGNALED, Case, Suite

ADVISE = "ibv_advise_mr/"
ON_DEMAND = "ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ON_DEMAND"
IOVA = "ibv_reg_mr/DESCRIPTION/iova"
REQUESTER, RESPONDER = 1, 2
SIZE = 3000  # several packets, so that a page is missing in the middle of a message

ADVISE_ERRORS = ("EFAULT", "EINVAL", "EPERM", "ENOENT")

# Required capabilities of a transport (enum ibv_odp_transport_cap_bits), by the side whose memory is paged.
LOCAL = {
    "SEND": "SEND",
    "RDMA_WRITE": "WRITE",
    "RDMA_READ": "READ",
    "ATOMIC_FETCH_AND_ADD": "ATOMIC",
}
REMOTE = {**LOCAL, "SEND": "RECV", "FLUSH": "FLUSH", "ATOMIC_WRITE": "ATOMIC_WRITE"}

# What a QP must page on either side, and what it is moved to meanwhile: enum ibv_qp_state, or another QP is created.
STOPPED = {"RC": ("SEND", "RECV", "WRITE", "READ"), "UC": ("SEND", "RECV", "WRITE"), "UD": ("SEND", "RECV")}
STATES = {"reset": 0, "err": 6, "destroyed": 7}


class Paging(Suite):
    """On UC and UD a receiver's page fault may lose messages: only `_faults()` has some, and they are sent again."""

    def cases(self):
        for qpt in RELIABLE:
            yield from (self._case(qpt, name, REQUESTER, cap) for name, cap in LOCAL.items())
            yield from (self._case(qpt, name, RESPONDER, cap) for name, cap in REMOTE.items())
        for qpt, names in (("UC", ("SEND", "RDMA_WRITE")), ("UD", ("SEND",))):
            yield from (self._case(qpt, name, REQUESTER, LOCAL[name]) for name in names)

        yield Case(
            suite="paging",
            qpt="RC",
            case="unmapped-while-read",
            scenario="read_unmapped",
            says="pages that are unmapped while a READ is answered are mapped again: it brings every byte",
            expect=Expect(ON_DEMAND),
            wrs=(self.work("RDMA_READ", "RC", SIGNALED, size=64),),
            args={"sent_again": 1},
            ask=("SEND", "RDMA_READ"),
            needs=("on_demand/RC/READ",),
        )
        yield Case(
            suite="paging",
            qpt="RC",
            case="unmapped-behind",
            scenario="read_unmapped",
            says="pages that are unmapped while a READ is answered, with READs and WRITEs behind it, are mapped again: each brings every byte, "
            "in order",
            expect=Expect(ON_DEMAND),
            wrs=(self.work("RDMA_READ", "RC", SIGNALED, size=64),),
            args={"sent_again": 1, "behind": 1},
            ask=("SEND", "RDMA_READ"),
            needs=("on_demand/RC/READ", "on_demand/RC/WRITE"),
        )
        yield Case(
            suite="paging",
            qpt="RC",
            case="read-into-absent",
            scenario="read_into_absent",
            says="a READ of thousands of packets into pages that the device does not have brings every byte, with a retry_cnt of 0",
            expect=Expect(ON_DEMAND),
            wrs=(self.work("RDMA_READ", "RC", SIGNALED, size=64),),
            args={"sent_again": 1},
            ask=("SEND", "RDMA_READ"),
            needs=("on_demand/RC/READ",),
        )
        for case, name, status, says in (
            ("gap-read", "RDMA_READ", "REM_ACCESS_ERR", "a READ"),
            ("gap-receive", "SEND", "REM_OP_ERR", "a message for a receive"),
        ):
            yield Case(
                suite="paging",
                qpt="RC",
                case=case,
                scenario="gap",
                says=f"{says} of an on-demand region in which nothing is mapped is refused, and nothing waits for its pages",
                expect=Expect(ON_DEMAND, level="SHOULD", status=status, errata=("ODP-GAP",)),
                wrs=(self.work(name, "RC", SIGNALED, size=64),),
                args={"sent_again": 1, "message": int(name == "SEND")},
                ask=tuple(dict.fromkeys(("SEND", name))),
                needs=(f"on_demand/RC/{REMOTE[name]}",),
            )
        for name, case in (("RDMA_WRITE", "gap-send"), ("RDMA_READ", "gap-result")):
            yield Case(
                suite="paging",
                qpt="RC",
                case=case,
                scenario="gap_sender",
                says="a request whose own memory, of an on-demand region, is not mapped beyond its middle ends with IBV_WC_LOC_PROT_ERR; "
                "the one before it is executed, and the one behind it is flushed",
                expect=Expect(
                    ON_DEMAND, level="SHOULD", status="LOC_PROT_ERR", errata=("ODP-GAP", "FLUSH-ORDER")
                ),
                wrs=(self.work(name, "RC", SIGNALED, size=64),),
                args={"sent_again": 1, "read": int(name == "RDMA_READ")},
                ask=tuple(dict.fromkeys(("SEND", "RDMA_WRITE", name))),
                needs=(f"on_demand/RC/{LOCAL[name]}",),
            )
        yield Case(
            suite="paging",
            qpt="RC",
            case="read-again",
            scenario="packet_absent",
            says="a READ that comes again when pages of it were unmapped is answered up to them, then with an RNR NAK if the first request "
            "was, and with every byte once they have come",
            expect=Expect(ON_DEMAND, level="SHOULD", errata=("ODP-ABSENT", "PSN-REPEATED")),
            needs=("on_demand/RC/READ", "operations/RAW_PACKET", "operations/UC"),
        )
        yield from self._ranges()
        yield from self._faults()

    @staticmethod
    def _ranges():
        yield Case(
            suite="paging",
            qpt="RC",
            case="iova",
            scenario="paged_iova",
            says="an on-demand region whose addresses are not those of its memory is written and read, as local and as remote memory, "
            "over the borders of pages that the device has not had yet",
            expect=Expect(IOVA, also=(ON_DEMAND,)),
            args={"sent_again": 1},
            needs=("on_demand/RC/WRITE", "on_demand/RC/READ"),
        )
        yield Case(
            suite="paging",
            qpt="RC",
            case="advise",
            scenario="advise",
            says="ranges of on-demand regions are prefetched, up to their first and last byte; any other, with any other region, key, "
            "right, advice or flag, is refused with the errno of the page, also as the second of a list",
            expect=Expect(
                ADVISE + "DESCRIPTION/advise",
                also=tuple(ADVISE + "RETURN-VALUE/" + e for e in ADVISE_ERRORS),
                errata=("ADVISE-ERRNO",),
            ),
            needs=("on_demand/RC/SEND",),
        )

    @staticmethod
    def _faults():
        for qpt, needs in STOPPED.items():
            for case, srq in (("receives", 0), ("receives-srq", 1)):
                if srq and qpt == "UC":
                    continue  # UC has no SRQ
                yield Case(
                    suite="paging",
                    qpt=qpt,
                    case=case,
                    scenario="paged_receives",
                    says=f"receives{' of an SRQ' * srq} whose SGEs are partly of an on-demand region without its pages hold the message that "
                    "completes them, and nothing around them is written; what an unreliable QP loses meanwhile is lost as a whole",
                    expect=Expect(ON_DEMAND),
                    args={"srq": 1} if srq else {},
                    needs=(f"on_demand/{qpt}/{'SRQ_' * srq}RECV",),
                )
            if qpt == "RC":
                yield Case(
                    suite="paging",
                    qpt=qpt,
                    case="partly",
                    scenario="paged_partly",
                    says="WRITEs and READs of which the device has the pages of the first packets, and not those of the others, are executed",
                    expect=Expect(ON_DEMAND),
                    needs=tuple(f"on_demand/RC/{name}" for name in needs),
                )
                yield Case(
                    suite="paging",
                    qpt=qpt,
                    case="read-only",
                    scenario="paged_read_only",
                    says="SENDs and WRITEs from pages that may only be read, and READs of them, are executed while the device has no such page",
                    expect=Expect(ON_DEMAND),
                    needs=tuple(f"on_demand/RC/{name}" for name in needs),
                )
            for case, state in STATES.items():
                yield Case(
                    suite="paging",
                    qpt=qpt,
                    case=f"stopped-{case}",
                    scenario="paged_stopped",
                    says="a QP that stops while pages are brought for its request, or for one of its peer, executes nothing more of that "
                    "life, and what is posted in the next one, in the same pages and others",
                    expect=Expect(ON_DEMAND, level="SHOULD", errata=("QP-RECYCLE", "CQ-PURGE")),
                    args={"to": state},
                    needs=tuple(f"on_demand/{qpt}/{name}" for name in needs),
                )

    def _case(self, qpt, name, side, capability):
        if qpt == "XRC_SEND" and capability == "RECV":
            capability = "SRQ_RECV"
        where = "local" if side == REQUESTER else "remote"
        again = side == RESPONDER or name in ("RDMA_READ", "ATOMIC_FETCH_AND_ADD")
        size = 600 if qpt == "UD" else SIZE
        requests = 1 if capability == "SRQ_RECV" else 2  # such a link has one receive at a time
        return Case(
            suite="paging",
            qpt=qpt,
            case=f"{name.lower()}-{where}",
            scenario="in_order",
            says=f"with {where} memory of an on-demand region, no page of which the device has yet, the request is "
            "executed as with any other memory, and so is one after it",
            expect=Expect(ON_DEMAND),
            wrs=tuple(self.work(name, qpt, SIGNALED, size=size) for _ in range(requests)),
            args={"on_demand": side, "wr": 1, "sent_again": int(again)},
            ask=tuple(dict.fromkeys(("SEND", name))),
            needs=(f"on_demand/{qpt}/{capability}",),
        )
