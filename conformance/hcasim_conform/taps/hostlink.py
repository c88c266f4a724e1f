# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Checks the host link against the postings: doorbells, fetched work requests, data transfers, completions."""
from hcasim_conform.taps import doorbells
from hcasim_conform.taps.wire import ATOMICS, INLINE, SIGNALED, SOLICITED, FENCE, executed, length

RETURNS = ("RDMA_READ",) + ATOMICS


def rung(tlps, dev, qp):
    """Times of the doorbells and BlueFlame pushes of a QP."""
    stores = (tlp for tlp in tlps if tlp["dir"] == "down" and tlp["type"] == "MWr" and tlp["hca"] == dev)
    return [tlp["ps"] / 1000 for tlp in stores if doorbells.of_adapter(dev).number(tlp) == qp]


def _meet(one, other):
    """Whether two ranges [begin, end) have a byte in common."""
    return one[0] < other[1] and other[0] < one[1]


class HostJudge:
    def __init__(self, piece, tables, complain):
        self.piece = piece
        self.tables = tables
        self.complain = complain

    def region_counts(self, dev, qp, regions):
        """One doorbell for each accepted posting and none for others; only its work requests are fetched."""
        if doorbells.of_adapter(dev):
            self._doorbells(dev, qp, sum(1 for region in regions if executed(region)))
        wanted = [wr for region in regions for wr in executed(region)]
        got = [w for w in self.piece.wqes if w["hca"] == dev and w["qpn"] == qp]
        if len(got) != len(wanted):
            self.complain(
                f"host link: the adapter read {len(got)} work requests of QP {qp:#x}, expected {len(wanted)}"
            )
            return
        for wr, wqe in zip(wanted, got):
            self._request(wr, wqe, regions[0]["type"])

    def _doorbells(self, dev, qp, want):
        count = len(rung(self.piece.requests, dev, qp))
        if count != want:
            self.complain(
                f"host link: {count} doorbells of QP {qp:#x}, expected {want}, one for each accepted posting"
            )

    def _request(self, wr, wqe, qpt):
        row = self.tables.operation(wr["op"])
        op = row.wqe_op
        if wqe["op"] != op:
            self.complain(f"host link: the adapter read {wqe['op']}, posted was {op}")
        for name, bit in (("solicited", SOLICITED), ("fence", FENCE)):
            if self.tables.flag(name.upper()).in_scope(row, qpt) and (name in wqe["flags"]) != bool(
                wr["flags"] & bit
            ):
                self.complain(f"host link: {op}: flag {name} is {name in wqe['flags']} in the work request")
        if wr["flags"] & INLINE and length(wr) and "inline" not in wqe["flags"]:
            self.complain(f"host link: {op}: inline data was not put into the work request")

    def judge(self, dev, qp, regions, seen):
        self.region_counts(dev, qp, regions)
        self._untaken(dev, regions)
        self._inline(dev, regions)
        self._completions(dev, qp, seen)

    def _moves(self, dev, kind, classes):
        for tlp in self.piece.requests:
            if tlp["hca"] == dev and tlp["type"] == kind and tlp.get("class") in classes:
                yield tlp, int(tlp["addr"], 16)

    def _untaken(self, dev, regions):
        """The adapter does not access the buffers of requests that were refused or aborted."""
        taken, refused = [], []
        for region in regions:
            done = executed(region)
            for number, wr in enumerate(region["wrs"]):
                (taken if number < len(done) else refused).extend(
                    (addr, addr + size) for addr, size in wr["sge"] if size
                )
        refused = [r for r in refused if not any(_meet(r, t) for t in taken)]
        for kind in ("MRd", "MWr") if refused else ():
            for tlp, addr in self._moves(dev, kind, ("payload", "atomic")):
                if any(_meet((addr, addr + tlp["len"]), r) for r in refused):
                    self.complain(
                        f"host link: {kind} at {addr:#x}, a buffer of a request that was not accepted"
                    )
                    return

    def _inline(self, dev, regions):
        """Inline data is in the work request: the adapter does not read its buffers."""
        buffers = [
            (addr, addr + size)
            for region in regions
            for wr in executed(region)
            if wr["flags"] & INLINE
            for addr, size in wr["sge"]
            if size
        ]
        if not buffers:
            return
        for tlp, addr in self._moves(dev, "MRd", ("payload",)):
            if any(_meet((addr, addr + tlp["len"]), buffer) for buffer in buffers):
                self.complain(f"host link: inline data was read from its buffer at {addr:#x}")
                return

    def _completions(self, dev, qp, seen):
        """A CQE is written after the effects of its request: data in memory, acknowledgement or packet on the wire."""
        cqes = [t["ps"] / 1000 for t, _ in self._moves(dev, "MWr", ("cqe",)) if t["qpn"] == qp]
        signaled = [r for r in seen if r.wr["flags"] & SIGNALED]
        if len(cqes) != len(signaled):
            return  # sq_sig_all, or receives of the same QP: the runner counts them
        for request, cqe in zip(signaled, cqes):
            self._completion(dev, request, cqe)

    def _completion(self, dev, request, cqe):
        if request.op in RETURNS:
            ranges = [(addr, addr + size) for addr, size in request.wr["sge"]]
            for tlp, addr in self._moves(dev, "MWr", ("payload", "atomic")):
                inside = any(_meet((addr, addr + tlp["len"]), r) for r in ranges)
                if inside and tlp["ps"] / 1000 > cqe:
                    self.complain(
                        f"host link: the CQE of {request.op} was written before its data at {addr:#x}"
                    )
                    return
        before = request.answers[-1:] or request.packets[-1:]
        if before and before[0].ns > cqe:
            self.complain(
                f"host link: the CQE of {request.op} was written at {cqe:.0f} ns, before {before[0].op} of "
                f"{before[0].ns:.0f} ns"
            )


__all__ = ["HostJudge", "rung", "length"]
