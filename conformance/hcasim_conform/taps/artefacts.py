# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Files of a cell's traces: a capture file, and its work requests and TLPs as text."""
import struct
from collections import Counter
from itertools import islice
from pathlib import Path

PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
FOLDER = "taps"
MOST_TLPS = 400


def pcap(frames):
    """A capture file with nanosecond resolution."""
    parts = [PCAP_HEADER]
    for ns, frame in frames:
        sec, rest = divmod(int(ns), 1_000_000_000)
        parts += [struct.pack("<IIII", sec, rest, len(frame), len(frame)), frame]
    return b"".join(parts)


def work_requests(wqes, cqes):
    """The work requests that the adapter read, and their completions."""
    lines = []
    for record in sorted([*wqes, *cqes], key=lambda r: r["ps"]):
        kind = "CQE" if "status" in record else "WQE"
        rest = " ".join(f"{k}={v}" for k, v in record.items() if k not in ("ps", "hca", "raw"))
        lines.append(f"{record['ps'] / 1000:.3f} ns {record['hca']} {kind} {rest}")
    return "\n".join(lines)


def transactions(tlps):
    lines = []
    for t in islice(tlps, MOST_TLPS):
        where = f"{t['dir']:4} {t['type']:5} {t['addr']} {t['len']} B"
        more = f" {t['class']} qp={t['qpn']:#x}" if "class" in t else ""
        data = f" {t['data']}" if "data" in t else ""
        lines.append(f"{t['ps'] / 1000:.3f} ns {t['hca']} {where}{more}{data}")
    if len(tlps) > MOST_TLPS:
        lines.append(f"... and {len(tlps) - MOST_TLPS} more")
    return "\n".join(lines)


class Keeper:
    """Selects the cells whose traces are kept: all that fail, and one passing cell of each row."""

    def __init__(self, out):
        self.out = Path(out) if out else None
        self.rows = set()
        self.names = Counter()

    def put(self, cell, result, piece):
        row = (cell.api, cell.short, cell.qpt)
        if result.passed and row in self.rows or not (piece.frames or piece.tlps):
            return
        self.rows.add(row)
        result.artefacts.append(
            {"kind": "pcap", "path": self._capture(cell, piece), "text": self._said(piece)}
        )
        result.artefacts.append({"kind": "wqe", "path": None, "text": work_requests(piece.wqes, piece.cqes)})
        result.artefacts.append({"kind": "tlp", "path": None, "text": transactions(piece.tlps)})

    @staticmethod
    def _said(piece):
        return "\n".join([p.says() for p in piece.packets] + piece.complaints)

    def _capture(self, cell, piece):
        if self.out is None or not piece.frames:
            return None
        self.names[cell.id] += 1
        number = self.names[cell.id]
        name = f"{FOLDER}/{cell.id.replace('/', '.')}{f'.{number}' if number > 1 else ''}.pcap"
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pcap(piece.frames))
        return name
