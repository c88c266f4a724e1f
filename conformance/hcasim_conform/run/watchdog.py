# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""How long a runner may stay silent: time in which its processes could run, not time a busy host kept from them."""
from pathlib import Path

SLICES = 8  # interval of checks
LEAST = 0.01  # of a piece counts in any case: silence has an end on any host


def _of_group(stat, groups):
    """proc(5): the process group is the third word behind the name, which is in parentheses and may hold anything."""
    try:
        return int(stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[2]) in groups
    except (OSError, IndexError):  # it has ended
        return False


def held_up(groups):
    """Seconds that each thread of these process groups has been ready to run, and did not."""
    held = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        if not _of_group(stat, groups):
            continue
        for task in stat.parent.glob("task/*/schedstat"):
            try:
                held[task.parent.name] = int(task.read_text(encoding="ascii").split()[1]) / 1e9
            except (OSError, IndexError):
                pass
    return held


class Watchdog:
    """Expires when processes of these groups had `seconds` of processor time and nobody called restart()."""

    def __init__(self, groups, seconds):
        self.groups = set(groups)
        self.restart(seconds)

    def restart(self, seconds):
        self.slice = seconds / SLICES
        self.left = seconds
        self.before = None  # nothing is measured while all is well

    def expired(self):
        """Call it whenever a slice has passed without a sign of life."""
        now = held_up(self.groups)
        kept = [held - self.before[task] for task, held in now.items() if task in (self.before or {})]
        self.before = now
        self.left -= max(self.slice - max(kept, default=0), self.slice * LEAST)
        return self.left <= self.slice / SLICES
