# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Checks at the tap: the traffic on the device's links, cell by cell.

A DUT file may name a command that writes traces of the wire and of the host link (docs/traces.md). When a
runner process has ended, its traces are cut at the start times of its cells, in the device's time, and each
piece is compared with the journal of the cell's postings.
"""
import contextlib
import re
import tempfile
from pathlib import Path

from hcasim_conform.taps import artefacts
from hcasim_conform.taps import hostlink
from hcasim_conform.taps import packets
from hcasim_conform.taps import wire
from hcasim_conform.taps.traces import Traces

# Posted by several threads, or outside the journal, which does not determine the packets and their order.
UNJUDGED = (
    "region",
    "overrun",
    "cq",
    "async",
    "writev",
    "packet",
    "answers",
    "pacing",
    "create",
    "objects",
    "wq",
)
HAND_MADE = ("packet", "answers")  # with packets that are not well formed
REFUSED = ("flush", "keys", "mw", "rereg", "sges", "xrc")  # a request is refused, and later ones are not sent
NOT_TIMED = (None, None)  # times of a result that has been checked
# Scenarios in which requests are flushed, dropped at RESET, sent again, or sent to other addresses than the DUT file's.
STOPPED = (
    "recycle",
    "event_error",
    "psn_repeated",
    "sqd_busy",
    "sqe_back",
    "reborn",
    "datagram_too_long",
    "oversize",
    "ah_fields",
    "tag_fails",
    "tag_rendezvous_stopped",
)
NUMBERS = re.compile(r"0x[0-9a-f]+|[0-9]+")
NO_CLOCK = "the device has no clock, which says when a cell began: its DUT file cannot have a tap"
SPREAD = ("destinations",)  # the requests of one posting go to several QPs
REPEATED = ("rnr", "retry")  # the same request is repeated


class Unwatched:
    """A process without a tap: its results are reported at once."""

    def __init__(self, start, report):
        self.start = start
        self.done = report


class Watched:
    """A process whose results wait until its traces are complete."""

    def __init__(self, tap, folder, report):
        self.tap = tap
        self.folder = Path(folder)
        self.start = [part.replace("{dir}", folder) for part in tap.dut.tap_start]
        self.report = report
        self.results = []

    def done(self, cell, result):
        self.results.append((cell, result))

    def end(self):
        try:
            self.tap.judge(self.folder, self.results)
        except (OSError, ValueError, KeyError, packets.BadPacket) as error:
            for _, result in self.results:
                result.faults.append(f"the traces cannot be judged: {type(error).__name__}: {error}")
                result.passed = False
        for cell, result in self.results:
            result.posts, result.ends, result.clock = [], [], NOT_TIMED
            self.report(cell, result)


@contextlib.contextmanager
def watch(dut, report, wire=""):
    """Command of one runner process, and receiver of its results. A wire with faults is not checked."""
    if dut.tap is None or wire:
        yield Unwatched(dut.start_for(wire), report)
        return
    with tempfile.TemporaryDirectory(prefix="hcasim-tap-") as folder:
        watched = Watched(dut.tap, folder, report)
        try:
            yield watched
        finally:
            watched.end()


def enable(dut, tables, out):
    """Enables the recording of the device's links, if its DUT file has a command for it."""
    if dut.tap_start:
        dut.tap = Tap(dut, tables, out)
        dut.runner_line["dut"]["tap"] = True


class Tap:
    def __init__(self, dut, tables, out):
        self.dut = dut
        self.tables = tables
        self.mtu = dut.runner_line["dut"]["mtu"]
        self.keep = artefacts.Keeper(out)

    def judge(self, folder, results):
        """Judges each cell by its piece of the traces in a folder; faults are added to its result."""
        timed = [(cell, result) for cell, result in results if result.clock[0] is not None]
        for _, result in results:
            if result.posts and result.clock[0] is None:
                result.faults.append(NO_CLOCK)
                result.passed = False
        if not timed or not (folder / "wire.pcap").exists():
            return
        traces = Traces(folder)
        next_psn = {}
        for (cell, result), until in zip(timed, ends_of([result for _, result in results])):
            piece = traces.piece(result.clock[0], until)
            faults = [] if self._is_race(cell, result) else self.faults_of(cell, result, piece, next_psn)
            if not result.passed:
                lose_count(result, next_psn)
            self._add(result, faults)
            self.keep.put(cell, result, piece)

    def _is_race(self, cell, result):
        """A cell whose known difference is one fault that comes now and then: others would not be known."""
        difference = self.dut.difference(cell)
        return not result.passed and bool(difference and difference.race)

    @staticmethod
    def _add(result, faults):
        """Of a cell that has failed, the first fault of each link counts: others may follow from what the runner has seen."""
        if not result.passed:
            faults = list({fault.split(":")[0]: fault for fault in reversed(faults)}.values())
        result.faults += faults[:8]
        result.passed = result.passed and not faults
        if result.observed is not None:
            result.observed += [("tap", NUMBERS.sub("#", fault), False) for fault in faults[:8]]

    def faults_of(self, cell, result, piece, next_psn):
        faults = [] if cell.short in HAND_MADE else flaws(piece)
        if cell.api == "suite" and cell.short in REPEATED:
            self._repeated(cell, result, piece, faults.append)
            lose_count(result, next_psn)
        elif cell.api == "suite" and cell.short in REFUSED and not is_unjudged(cell):
            self._cut_short(cell, result, piece, faults.append)
            lose_count(result, next_psn)
        elif not (cell.api == "writev" or is_unjudged(cell, result)):
            self._stream(cell, result, piece, next_psn, faults)
        else:
            lose_count(result, next_psn)
        return faults

    @staticmethod
    def _repeated(cell, result, piece, complain):
        """Requests without an answer: how often they are sent, and when."""
        count = cell.args.get("rnr_retry" if cell.short == "rnr" else "retry_cnt")
        if (
            cell.expect.status not in ("RNR_RETRY_EXC_ERR", "RETRY_EXC_ERR")
            or cell.scenario == "timeout_endless"
        ):
            return
        for _, there, back in Tap._pairs(result, piece):
            wire.judge_attempts(there, back, count + 1, cell.args["gap_us"] * 1000, complain)

    def _cut_short(self, cell, result, piece, complain):
        """Requests of which one is refused: earlier packets are right, and later ones are not sent."""
        judge = wire.WireJudge(self.mtu, self._in_scope, complain)
        statuses, refusals = refused_with(cell), 0
        for regions, there, back in self._pairs(result, piece):
            refusals += judge.cut_short(regions, there, back, None, statuses)
        remote = statuses and wire.NAKS.keys() >= set(statuses) and cell.qpt in ("RC", "XRC_SEND")
        if remote and not refusals and result.posts:
            complain(f"wire: nobody refused a request, expected was {' or '.join(statuses)}")

    @staticmethod
    def _pairs(result, piece):
        """(postings, packets, answers) of each pair of QPs."""
        address = {end["dev"]: wire_address(end["gid"]) for end in result.ends}
        for (dev, qp, to), regions in wire.by_pair(result.posts).items():
            if regions[0]["type"] == "RAW_PACKET":
                continue
            here, far = address[dev], address[regions[0]["peer"]]
            there = [p for p in piece.packets if p.dqpn == to and p.src == here and not p.response]
            back = [p for p in piece.packets if p.dqpn == qp and p.src == far and p.response]
            yield regions, there, back

    def _stream(self, cell, result, piece, next_psn, faults):
        """Accepted requests: each is checked on both links.

        Faults of the host link come first: a wrong packet is often the consequence of a wrong work request.
        """
        pairs = wire.by_pair(result.posts)
        on_wire, on_link = [], []
        judge = wire.WireJudge(self.mtu, self._in_scope, on_wire.append)
        link = hostlink.HostJudge(piece, self.tables, on_link.append)
        address = {end["dev"]: wire_address(end["gid"]) for end in result.ends}
        known = set()
        for (dev, qp, to), regions in pairs.items():
            known |= {qp, to} | {wr["qpn"] for r in regions for wr in r["wrs"] if "qpn" in wr}
            if regions[0]["type"] == "RAW_PACKET":
                link.judge(dev, qp, regions, [])
                wire.judge_frames(regions, piece.others, on_wire.append)
                continue
            here, far = address[dev], address[regions[0]["peer"]]
            there = [p for p in piece.packets if p.dqpn == to and p.src == here and not p.response]
            back = [p for p in piece.packets if p.dqpn == qp and p.src == far and p.response]
            key = (dev, qp, to)
            first = self._first_psn(key, next_psn, there, regions)
            seen, after = judge.stream(regions, there, back, first, has_window(cell))
            next_psn[key] = after
            if times_tell(cell):
                link.judge(dev, qp, regions, [] if may_wait(pairs, dev, qp) else seen)
        for packet in piece.packets:
            if packet.dqpn not in known:
                on_wire.append(f"wire: a packet to a QP that the cell does not have: {packet.says()}")
                break
        on_wire += versions(result, piece)
        faults += on_link + on_wire

    @staticmethod
    def _first_psn(key, next_psn, there, regions):
        """A new QP may have the number of an older one: it starts at the runner's first PSN."""
        first = regions[0]["psn"]
        return first if there and there[0].psn == first else next_psn.get(key, first)

    def _in_scope(self, flag, name, qpt):
        return self.tables.flag(flag).in_scope(self.tables.operation(name), qpt)


def ends_of(results):
    """For each result with times: when the next cell begins; where the runner ended in that, when its own cell was over."""
    ends = []
    for result, after in zip(results, results[1:] + [None]):
        if result.clock[0] is not None:
            ends.append(float("inf") if after is None else after.clock[0] or result.clock[1])
    return ends


def flaws(piece):
    """Packets that are not well formed: requests and answers, whoever sent them."""
    found = [f"wire: {text}" for text in piece.complaints]
    flawed = ((packet, packet.flaw()) for packet in piece.packets)
    return found + [f"wire: {flaw}: {packet.says()}" for packet, flaw in flawed if flaw][:1]


def lose_count(result, next_psn):
    """Forgets the PSNs of the QPs of a cell that is not judged: any PSN may come next."""
    next_psn.update(dict.fromkeys(wire.by_pair(result.posts)))


def refused_with(cell):
    """The possible completion statuses of the refused request; empty: no request is refused."""
    if "QP-RIGHTS" in cell.expect.errata:
        return "REM_ACCESS_ERR", "REM_INV_REQ_ERR"
    if cell.args.get("bad_rkey"):
        return "LOC_PROT_ERR", "REM_ACCESS_ERR"
    return (cell.expect.status,) if cell.expect.status else ()


def is_unjudged(cell, result=None):
    """The runner's journal does not determine the packets, or the DUT file excuses what the posting does."""
    if result and any(check.startswith("post.") for check, _, _ in result.observed):
        return True
    if cell.api != "suite":
        return cell.expect.post == "error"
    if result and not result.posts:
        return True
    if cell.scenario == "bad_in_state" and cell.args["state"] > 4:  # flushed
        return True
    if cell.args.get("sent_again"):  # until the page of the responder, or of the answer, is present
        return True
    refused = cell.short == "tso" and cell.expect.status
    return refused or cell.short in UNJUDGED or cell.scenario in STOPPED + SPREAD


def times_tell(cell):
    """Whether the times of a request's transfers are known: its buffers are its own, and its frames do not wait at the port."""
    if getattr(cell, "scenario", "") == "sqd_idle":
        return False
    return cell.qpt not in ("UC", "UD") or not (cell.short == "mtu" or cell.variant == "several-qps")


def may_wait(pairs, dev, qp):
    """Whether packets of this QP may wait at the port for those of another one, and an unreliable QP completes before."""
    (kind,) = {regions[0]["type"] for (d, q, _), regions in pairs.items() if (d, q) == (dev, qp)}
    return kind in ("UC", "UD") and len({q for d, q, _ in pairs if d == dev}) > 1


def has_window(cell):
    """Whether a request through an invalidated window follows, which must be refused."""
    return any(wr.op in ("BIND_MW", "LOCAL_INV", "SEND_WITH_INV") for wr in cell.wrs)


def versions(result, piece):
    """Faults: packets that are not of the RoCE version of their sender's GID."""
    v1 = {wire_address(end["gid"]): end["roce_v1"] for end in result.ends}
    wrong = [packet for packet in piece.packets if packet.v1 != v1.get(packet.src, packet.v1)]
    return [f"wire: a packet of the other RoCE version than its GID: {packet.says()}" for packet in wrong[:1]]


def wire_address(gid):
    """The IP address of a GID."""
    return packets.address(bytes.fromhex(gid))
