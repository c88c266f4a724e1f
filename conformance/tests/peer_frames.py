# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Frames between a runner and its peer, and the calls by number, as in runner/remote/calls.h and wire.h."""
import re
import struct
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "runner" / "remote" / "calls.h"
CALLS = re.findall(r"^CALL\((\w+),", TABLE.read_text(encoding="utf-8"), re.M)
HEAD = struct.Struct("<IHHiI")  # struct peer_head
