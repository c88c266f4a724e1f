# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Finds the device process of a running `hcasim run`."""
from pathlib import Path


def parent_and_name(pid):
    # The name is in parentheses and may hold any character, so the fields after it count from its end.
    name, rest = Path(f"/proc/{pid}/stat").read_text().split("(", 1)[1].rsplit(")", 1)
    return int(rest.split()[1]), name


def processes():
    """{pid: (parent, name)} of all processes."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            found[int(entry.name)] = parent_and_name(entry.name)
        except (FileNotFoundError, ProcessLookupError):  # the process ended in the meantime
            continue
    return found


def find_device(ancestor):
    """Process id of the hcasim-device below `ancestor`, or `ancestor` itself if it became the device."""
    table = processes()
    for pid, (_, name) in table.items():
        line = [pid]
        while line[-1] in table and line[-1] != ancestor:
            line.append(table[line[-1]][0])
        if name.startswith("hcasim-device") and line[-1] == ancestor:
            return pid
    raise LookupError(f"no hcasim-device below process {ancestor}")
