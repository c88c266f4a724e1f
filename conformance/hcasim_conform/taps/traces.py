# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The traces of one machine (docs/traces.md), and pieces of them by simulated time."""
import json
from bisect import bisect_left

from hcasim_conform.taps import packets

PS = 1000  # of a nanosecond


def _records(path):
    """JSON lines in the order of time. The last one may be incomplete if the machine was killed."""
    found = []
    with open(path, encoding="ascii") as lines:
        for line in lines:
            if line.endswith("\n"):
                found.append(json.loads(line))
    found.sort(key=lambda record: record["ps"])
    return found, [record["ps"] / PS for record in found]


def _packet(ns, frame):
    try:
        return packets.parse(ns, frame)
    except packets.BadPacket as error:
        return str(error)


class Piece:
    """The traffic of the links between two times."""

    def __init__(self, frames, tlps, wqes, cqes):
        self.frames = frames  # (nanoseconds, bytes)
        self.tlps = tlps
        self.wqes = wqes
        self.cqes = cqes
        parsed = [_packet(ns, frame) for ns, frame in frames]
        self.complaints = [p for p in parsed if isinstance(p, str)]
        self.packets = [p for p in parsed if isinstance(p, packets.Packet)]
        self.others = [frame for (_, frame), p in zip(frames, parsed) if p is None]


class Traces:
    def __init__(self, folder):
        self.frames = packets.frames(folder / "wire.pcap")
        self.frame_times = [ns for ns, _ in self.frames]
        self.tlps, self.tlp_times = _records(folder / "tlp.log")
        self.wqes, self.wqe_times = _records(folder / "wqe.log")
        self.cqes, self.cqe_times = _records(folder / "cqe.log")

    def piece(self, begin, end):
        def part(records, times):
            return records[bisect_left(times, begin) : bisect_left(times, end)]

        return Piece(
            part(self.frames, self.frame_times),
            part(self.tlps, self.tlp_times),
            part(self.wqes, self.wqe_times),
            part(self.cqes, self.cqe_times),
        )
