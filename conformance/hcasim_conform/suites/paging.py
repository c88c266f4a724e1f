# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The suite about on-demand paging: memory that the device must page in, on either side."""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import RELIABLE, SIGNALED, Case, Suite

ON_DEMAND = "ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ON_DEMAND"
REQUESTER, RESPONDER = 1, 2
SIZE = 3000  # several packets, so that a page is missing in the middle of a message

# Required capabilities of a transport (enum ibv_odp_transport_cap_bits), by the side whose memory is paged.
LOCAL = {
    "SEND": "SEND",
    "RDMA_WRITE": "WRITE",
    "RDMA_READ": "READ",
    "ATOMIC_FETCH_AND_ADD": "ATOMIC",
}
REMOTE = {**LOCAL, "SEND": "RECV", "FLUSH": "FLUSH", "ATOMIC_WRITE": "ATOMIC_WRITE"}


class Paging(Suite):
    """On UC and UD only the sender's memory: what is lost by a receiver's page fault is not defined."""

    def cases(self):
        for qpt in RELIABLE:
            yield from (self._case(qpt, name, REQUESTER, cap) for name, cap in LOCAL.items())
            yield from (self._case(qpt, name, RESPONDER, cap) for name, cap in REMOTE.items())
        for qpt, names in (("UC", ("SEND", "RDMA_WRITE")), ("UD", ("SEND",))):
            yield from (self._case(qpt, name, REQUESTER, LOCAL[name]) for name in names)
        yield Case(
            suite="paging",
            qpt="RC",
            case="advise",
            scenario="advise_mr",
            says="each advice is taken for ranges of on-demand regions; others, and those that the region has no right to, are "
            "refused, each with its errno",
            expect=Expect("ibv_advise_mr/RETURN-VALUE", errata=("ADVISE-ERRNO",)),
            needs=("on_demand/RC/SEND",),
        )

    def _case(self, qpt, name, side, capability):
        if qpt == "XRC_SEND" and capability == "RECV":
            capability = "SRQ_RECV"
        where = "local" if side == REQUESTER else "remote"
        again = side == RESPONDER or name in ("RDMA_READ", "ATOMIC_FETCH_AND_ADD")
        size = 600 if qpt == "UD" else SIZE
        return Case(
            suite="paging",
            qpt=qpt,
            case=f"{name.lower()}-{where}",
            scenario="in_order",
            says=f"with {where} memory of an on-demand region, no page of which the device has yet, the request is "
            "executed as with any other memory, and so is one after it",
            expect=Expect(ON_DEMAND),
            wrs=tuple(self.work(name, qpt, SIGNALED, size=size) for _ in range(2)),
            args={"on_demand": side, "wr": 1, "sent_again": int(again)},
            ask=tuple(dict.fromkeys(("SEND", name))),
            needs=(f"on_demand/{qpt}/{capability}",),
        )
