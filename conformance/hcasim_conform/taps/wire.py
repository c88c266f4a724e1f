# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Checks the wire against the postings: the packets of each request, in order, and no others."""
from dataclasses import dataclass

from hcasim_conform.taps.packets import Packet

PSN_MASK = 0xFFFFFF
QUAD = (1 << 64) - 1  # numbers in the journal are signed
SOLICITED, FENCE, INLINE, SIGNALED = 1 << 2, 1 << 0, 1 << 3, 1 << 1  # enum ibv_send_flags
REMOTE_ACCESS, NOT_READY = 0x62, 0x20
# The responder's NAK code for a status of the requester's completion (IBTA 9.9.3).
NAKS = {"REM_ACCESS_ERR": REMOTE_ACCESS, "REM_INV_REQ_ERR": 0x61, "REM_OP_ERR": 0x63}
NAK_KIND = 0x60
ETHERNET_LEAST = 60  # bytes of a frame, without FCS
ACK_KIND = 0x60  # bits of the AETH syndrome: 0 acknowledged, 1 receiver not ready, 3 not acknowledged

# name of the packets on the wire, extra fields of the last one; local operations have none
MESSAGES = {
    "SEND": ("SEND", ""),
    "SEND_WITH_IMM": ("SEND", "_WITH_IMMEDIATE"),
    "SEND_WITH_INV": ("SEND", "_WITH_INVALIDATE"),
    "RDMA_WRITE": ("RDMA_WRITE", ""),
    "RDMA_WRITE_WITH_IMM": ("RDMA_WRITE", "_WITH_IMMEDIATE"),
}
SINGLE = {
    "RDMA_READ": "RDMA_READ_REQUEST",
    "ATOMIC_CMP_AND_SWP": "COMPARE_SWAP",
    "ATOMIC_FETCH_AND_ADD": "FETCH_ADD",
    "FLUSH": "FLUSH",
    "ATOMIC_WRITE": "ATOMIC_WRITE",
}
ATOMICS = ("ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD")
FENCED_BY = tuple(SINGLE)  # requests with a response: erratum FENCE-SCOPE
RELIABLE = ("RC", "XRC_SEND")
TRANSPORT = {"RC": "RC", "UC": "UC", "UD": "UD", "XRC_SEND": "XRC", "XRC_RECV": "XRC"}


def length(wr):
    return sum(size for _, size in wr["sge"])


@dataclass
class Request:
    """One executed request and its packets."""

    wr: dict
    region: dict
    packets: list  # Packet, of the message
    answers: list  # Packet, of the responder

    @property
    def op(self):
        return self.wr["op"]

    @property
    def last_psn(self):
        return (self.packets[-1].psn + self.span - 1) & PSN_MASK

    span = 1


def expected(wr, qpt, mtu):
    """(name, payload, values) of each packet of a request; the number of PSNs of the last one."""
    op, size = wr["op"], length(wr)
    if op in SINGLE:
        values = {"rkey": wr["rkey"], "va": wr["va"]}
        if op == "RDMA_READ":
            values["dmalen"] = size
        elif op == "ATOMIC_CMP_AND_SWP":
            values.update(swap_add=wr["swap"] & QUAD, compare=wr["compare_add"] & QUAD)
        elif op == "ATOMIC_FETCH_AND_ADD":
            values.update(swap_add=wr["compare_add"] & QUAD)
        span = max(1, -(-size // mtu)) if op == "RDMA_READ" else 1
        return [(SINGLE[op], 8 if op == "ATOMIC_WRITE" else 0, values)], span
    if op == "TSO":
        pieces = [min(wr["mss"], size - at) for at in range(0, size, wr["mss"])]
        return [("SEND_ONLY", wr["hdr"] + piece, {}) for piece in pieces], 1
    if op not in MESSAGES:
        return [], 0
    base, extra = MESSAGES[op]
    count = max(1, -(-size // mtu))
    found = []
    for i in range(count):
        last = i == count - 1
        place = "_ONLY" if count == 1 else "_LAST" if last else "_MIDDLE" if i else "_FIRST"
        values = {}
        if base == "RDMA_WRITE" and not i:
            values.update(va=wr["va"], rkey=wr["rkey"], dmalen=size)
        if last and extra == "_WITH_IMMEDIATE":
            values["imm"] = wr["imm"]
        if last and extra == "_WITH_INVALIDATE":
            values["inv"] = wr["inv"]
        found.append((base + place + (extra if last else ""), size - i * mtu if last else mtu, values))
    return found, 1


def executed(region):
    """The requests of a posting that the API accepted."""
    if region["abort"]:
        return []
    if not region["rc"]:
        return region["wrs"]
    return region["wrs"][: max(region["bad"], 0)] if region["api"] == "post" else []


class WireJudge:
    """Checks the packets between two QPs of one cell against the postings on the first."""

    def __init__(self, mtu, in_scope, complain):
        self.mtu = mtu
        self.in_scope = in_scope  # in_scope(flag, operation, QP type): it has an effect there
        self.complain = complain

    def stream(self, regions, packets, answers, first_psn, refusable=False):
        """Pairs requests and packets. Returns the requests seen and the PSN that comes next, or None."""
        qpt = regions[0]["type"]
        self.mtu = regions[0].get("mtu") or self.mtu
        left, psn, seen = list(packets), first_psn, []
        for region in regions:
            for wr in executed(region):
                want, span = expected(wr, qpt, self.mtu)
                got, left = left[: len(want)], left[len(want) :]
                request = Request(wr, region, got, [])
                request.span = span
                if len(got) < len(want):
                    self.complain(f"wire: {len(got)} of {len(want)} packets of {wr['op']} were seen")
                    return seen, None
                if got and not self._message(request, want, qpt, psn):
                    return seen, None
                if got:
                    psn = (request.last_psn + 1) & PSN_MASK
                seen.append(request)
        for extra in left:
            self.complain(f"wire: a packet that no accepted request asked for: {extra.says()}")
        self._asks(seen)
        self._answers(seen, answers, refusable)
        self._counts(seen, answers, bool(packets) and packets[0].psn == regions[0]["psn"])
        self._fences(seen)
        return seen, None if left else psn

    def cut_short(self, regions, packets, answers, first_psn, statuses):
        """A stream that ends with a request refused by the requester or the responder.

        statuses: possible ones of the completion. Returns the number of refusals on the wire.
        """
        qpt, left, psn, seen = regions[0]["type"], list(packets), first_psn, []
        naks = [p for p in answers if "aeth" in p.values and p.syndrome & ACK_KIND == NAK_KIND]
        for wr, region in ((wr, region) for region in regions for wr in executed(region)):
            want, span = expected(wr, qpt, self.mtu)
            request = Request(wr, region, left[: len(want)], [])
            request.span, left = span, left[len(want) :]
            if request.packets and not self._message(request, want, qpt, psn):
                return len(naks)
            if len(request.packets) < len(want):
                if not naks and NAKS.keys() & set(statuses):
                    self.complain(
                        f"wire: {len(request.packets)} of {len(want)} packets of {wr['op']} were seen"
                    )
                break
            if request.packets:
                psn = (request.last_psn + 1) & PSN_MASK
            seen.append(request)
        for extra in left:
            self.complain(f"wire: a packet that no accepted request asked for: {extra.says()}")
        self._refusals(seen, answers, naks, statuses)
        return len(naks)

    def _refusals(self, seen, answers, naks, statuses):
        """At most one refusal, with the code of the status; everything before it is answered, nothing after it."""
        for nak in naks:
            if nak.syndrome not in map(NAKS.get, statuses):
                self.complain(f"wire: a refusal that is not {' or '.join(statuses)}: {nak.says()}")
        if len(naks) > 1:
            self.complain(f"wire: {len(naks)} refusals, expected one")
        if not naks:
            return
        by_psn = {}
        for packet in answers:
            by_psn.setdefault(packet.psn, []).append(packet)
            if packet is not naks[0] and 0 <= (packet.psn - naks[0].psn) & PSN_MASK < 1 << 23:
                self.complain(f"wire: an answer behind a refusal: {packet.says()}")
                return
        for request in seen:
            before = request.packets and (naks[0].psn - request.last_psn - 1) & PSN_MASK < 1 << 23
            if before and not self._answered(request, by_psn, answers):
                return

    def _message(self, request, want, qpt, psn):
        """One message, packet by packet."""
        for number, ((name, payload, values), packet) in enumerate(zip(want, request.packets)):
            if psn is None:
                psn = packet.psn
            where = f"wire: {request.op}, packet {number + 1} of {len(want)}"
            fault = self._packet(packet, name, payload, values, request.wr, qpt, (psn + number) & PSN_MASK)
            last = number == len(want) - 1
            if not fault:
                fault = self._solicited(packet, request, qpt, last)
            if fault:
                self.complain(f"{where}: {fault}")
                return False
        return True

    def _packet(self, packet, name, payload, values, wr, qpt, psn):
        if (packet.transport, packet.op) != (TRANSPORT[qpt], name):
            return f"opcode {packet.transport} {packet.op}, expected {TRANSPORT[qpt]} {name}"
        if packet.psn != psn:
            return f"PSN {packet.psn:#x}, expected {psn:#x}"
        if packet.payload != payload:
            return f"{packet.payload} bytes of payload, expected {payload}"
        if qpt == "UD":
            values = {**values, "src_qp": wr["from"]}
            if not wr["qkey"] >> 31:  # otherwise it is the QP's own, which the journal does not have
                values["qkey"] = wr["qkey"]
        if qpt == "XRC_SEND":
            values = {**values, "srqn": wr["srqn"]}
        for key, value in values.items():
            if packet.values.get(key) != value:
                return f"{key} {packet.values.get(key, 0):#x}, expected {value:#x}"
        return None

    def _solicited(self, packet, request, qpt, last):
        if not self.in_scope("SOLICITED", request.op, qpt) and request.wr["flags"] & SOLICITED:
            return None  # the effect of the flag is not specified there
        want = last and bool(request.wr["flags"] & SOLICITED)
        return None if packet.solicited == want else f"SE bit {int(packet.solicited)}, expected {int(want)}"

    def _asks(self, seen):
        """Without AckReq in its last packet the last request might never complete (9.7.3.1); READs and atomics are answered."""
        sent = [request for request in seen if request.packets]
        if not sent or sent[-1].region["type"] not in RELIABLE or sent[-1].op in SINGLE:
            return
        if not sent[-1].packets[-1].ackreq:
            self.complain(
                f"wire: {sent[-1].op}: the last packet of the last request does not ask for an answer (AckReq)"
            )

    def _counts(self, seen, answers, fresh):
        """The MSN of an acknowledgement counts the requests of the QP up to it (9.7.7.1). fresh: these are the first ones.

        The answer to a READ or atomic may count its own request and later ones, which may have been executed by then.
        """
        sent = [request for request in seen if request.packets]
        offset = 0 if fresh else None
        for answer in answers if sent else ():
            if "aeth" not in answer.values or answer.syndrome & ACK_KIND:
                continue
            acknowledges = answer.op == "ACKNOWLEDGE"
            last = answer.psn if acknowledges else answer.psn - 1
            done = sum(1 for r in sent if (last - r.last_psn) & PSN_MASK < 1 << 23)
            if offset is None and acknowledges:
                offset = answer.msn - done
            more = 0 if acknowledges else sum(1 for r in sent if r.packets[0].ns < answer.ns) - done
            if offset is not None and (answer.msn - offset - done) & PSN_MASK > more:
                expected_msn = (offset + done) & PSN_MASK
                self.complain(f"wire: MSN {answer.msn:#x}, expected {expected_msn:#x}: {answer.says()}")
                return

    def _answers(self, seen, answers, refusable):
        """Every READ and atomic is answered with its PSNs, everything else is acknowledged; nothing is refused.

        refusable: the last request may be refused, if the cell tests an invalid key.
        """
        if not seen or seen[0].region["type"] not in RELIABLE:
            for packet in answers:
                self.complain(f"wire: an answer on an unreliable QP: {packet.says()}")
            return
        for packet in answers:
            if "aeth" in packet.values and packet.syndrome & ACK_KIND:
                if refusable and packet.syndrome == REMOTE_ACCESS and packet.psn == seen[-1].packets[0].psn:
                    continue
                self.complain(f"wire: a request was not acknowledged: {packet.says()}")
                return
        by_psn = {}
        for packet in answers:
            by_psn.setdefault(packet.psn, []).append(packet)
        for request in seen:
            if request.packets and not self._answered(request, by_psn, answers):
                return

    def _answered(self, request, by_psn, answers):
        first = request.packets[0].psn
        if request.op in ("RDMA_READ",) + ATOMICS:
            names = self._response_names(request)
            for number, (name, payload) in enumerate(names):
                here = by_psn.get((first + number) & PSN_MASK, [])
                match = next((p for p in here if p.op == name and p.payload == payload), None)
                if match is None:
                    self.complain(
                        f"wire: {request.op}: no {name} of {payload} bytes with PSN {first + number & PSN_MASK:#x}"
                    )
                    return False
                request.answers.append(match)
            return True
        last = request.last_psn
        request.answers = [p for p in answers if (p.psn - last) & PSN_MASK < 1 << 23][:1]
        if not request.answers:
            self.complain(f"wire: {request.op} was never acknowledged (PSN {last:#x})")
        return bool(request.answers)

    def _response_names(self, request):
        if request.op in ATOMICS:
            return [("ATOMIC_ACKNOWLEDGE", 0)]
        size, count = length(request.wr), request.span
        if count == 1:
            return [("RDMA_READ_RESPONSE_ONLY", size)]
        places = ["FIRST"] + ["MIDDLE"] * (count - 2) + ["LAST"]
        sizes = [self.mtu] * (count - 1) + [size - self.mtu * (count - 1)]
        return [(f"RDMA_READ_RESPONSE_{p}", s) for p, s in zip(places, sizes)]

    def _fences(self, seen):
        """No packet of a fenced request is sent before the requests it waits for are answered."""
        waits = None  # the last answer so far
        for request in seen:
            if not request.packets:
                continue
            leaves = request.packets[0].ns
            if waits and request.wr["flags"] & FENCE and leaves <= waits.ns:
                self.complain(
                    f"wire: FENCE: {request.op} leaves at {leaves:.0f} ns, before {waits.op} of {waits.ns:.0f} ns"
                )
                return
            if request.op in FENCED_BY and request.answers:
                if waits is None or request.answers[-1].ns > waits.ns:
                    waits = request.answers[-1]


def judge_attempts(packets, answers, times, gap_ns, complain):
    """The first request is sent `times` times, with at least the gap between two attempts.

    The gap is measured from the packet, or from the RNR NAK.
    """
    if not packets:
        complain("wire: the request was never sent")
        return
    first = packets[0].psn
    attempts = [p for p in packets if p.psn == first]
    if len(attempts) != times:
        complain(f"wire: the request was sent {len(attempts)} times, expected {times}")
    for earlier, later in zip(attempts, attempts[1:]):
        naks = [a.ns for a in answers if earlier.ns < a.ns < later.ns and a.syndrome & ACK_KIND == NOT_READY]
        waited = later.ns - max([earlier.ns] + naks)
        if waited < gap_ns:
            complain(f"wire: repeated after {waited:.0f} ns, expected {gap_ns} ns at least")
            return


def judge_frames(regions, frames, complain):
    """On a raw QP a request is one frame, or several with TSO; there are no other senders. Zeros follow a short one."""
    want = []
    for region in regions:
        for wr in executed(region):
            size, piece = length(wr), wr.get("mss")
            if wr["op"] != "TSO":
                want.append(size)
            else:
                want += [wr["hdr"] + min(piece, size - at) for at in range(0, size, piece)]
    got = [len(frame) for frame in frames]
    sizes = [size for size in want if size]  # a request of 0 bytes sends no frame
    want = [max(size, ETHERNET_LEAST) for size in sizes]
    if any(any(frame[size:]) for frame, size in zip(frames, sizes)):
        complain("wire: the padding of a short frame is not zero")
    if got != want:
        complain(f"wire: frames of {got} bytes, expected {want}")


def by_pair(posts):
    """Postings by (QP, the QP they go to), in the order of the first."""
    pairs = {}
    for region in posts:
        for wr in region["wrs"]:
            wr["from"] = region["qp"]
        pairs.setdefault((region["dev"], region["qp"], region["to"]), []).append(region)
    return pairs


__all__ = ["Packet", "WireJudge", "by_pair", "executed", "judge_frames", "expected", "length"]
