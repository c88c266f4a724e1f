# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The traces of one machine (docs/traces.md), and pieces of them by simulated time."""
import json
import re
from bisect import bisect_left
from functools import cached_property

from hcasim_conform.taps import packets

PS = 1000  # of a nanosecond
TIME = re.compile(rb'"ps": *(\d+)')


class Records:
    """Lines of a JSON log, decoded when they are first used: most cells need few of them."""

    def __init__(self, lines):
        self.lines = lines

    @cached_property
    def decoded(self):
        return json.loads(b"[" + b",".join(self.lines) + b"]")

    def __len__(self):
        return len(self.lines)

    def __iter__(self):
        return iter(self.decoded)

    def without(self, word):
        """The records in which no field is `word`."""
        quoted = f'"{word}"'.encode()
        return Records([line for line in self.lines if quoted not in line])


class Log:
    """The lines of a log in the order of time. The last one may be incomplete if the machine was killed."""

    def __init__(self, path):
        data = path.read_bytes()
        lines = data[: data.rfind(b"\n") + 1].splitlines()
        times = list(map(_ps, lines))
        order = sorted(range(len(lines)), key=times.__getitem__)
        self.lines = [lines[i] for i in order]
        self.times = [times[i] / PS for i in order]

    def piece(self, begin, end):
        return Records(self.lines[bisect_left(self.times, begin) : bisect_left(self.times, end)])


def _ps(line):
    found = TIME.search(line)
    if not found:
        raise ValueError(f"a record without the field ps: {line.decode(errors='replace')}")
    return int(found[1])


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

    @cached_property
    def requests(self):
        """The TLPs that are no completions."""
        return self.tlps.without("CplD")


class Traces:
    def __init__(self, folder):
        self.frames = packets.frames(folder / "wire.pcap")
        self.frame_times = [ns for ns, _ in self.frames]
        self.logs = [Log(folder / f"{name}.log") for name in ("tlp", "wqe", "cqe")]

    def piece(self, begin, end):
        frames = self.frames[bisect_left(self.frame_times, begin) : bisect_left(self.frame_times, end)]
        return Piece(frames, *(log.piece(begin, end) for log in self.logs))
