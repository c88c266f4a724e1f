# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Frames between a runner and its peer, and the calls by number, as in runner/remote/wire.h."""
import re
import struct
from pathlib import Path

WIRE = Path(__file__).resolve().parents[1] / "runner" / "remote" / "wire.h"
CALLS = re.findall(r"X\((\w+), struct ", WIRE.read_text(encoding="utf-8"))
HEAD = struct.Struct("<IHHiI")  # struct peer_head
