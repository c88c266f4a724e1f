# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Limits the time without output of a runner, not counting time in which its processes waited for a processor."""
from pathlib import Path

SLICES = 8  # checks per time limit
LEAST = 0.01  # of each interval always counts, so that the limit is reached on any host


def _of_group(stat, groups):
    """proc(5): the process group is the third word behind the name, which is in parentheses and may hold anything."""
    try:
        return int(stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[2]) in groups
    except (OSError, IndexError):  # the process has ended
        return False


def held_up(groups):
    """Seconds that each thread of these process groups was runnable without running."""
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
    """Expires if processes of these groups could run for `seconds` without a call of restart()."""

    def __init__(self, groups, seconds):
        self.groups = set(groups)
        self.restart(seconds)

    def restart(self, seconds):
        self.slice = seconds / SLICES
        self.left = seconds
        self.before = None  # nothing is measured before the first interval without output

    def expired(self):
        """To be called whenever a slice has passed without output."""
        now = held_up(self.groups)
        kept = [held - self.before[task] for task, held in now.items() if task in (self.before or {})]
        self.before = now
        self.left -= max(self.slice - max(kept, default=0), self.slice * LEAST)
        return self.left <= self.slice / SLICES
