# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Mixed work requests over 64 queue pairs of all types on a lossy wire: all bytes, all completions, no leak.

HCASIM_SOAK is the number of work requests; `ctest -C soak -L soak` sets it to ten million. HCASIM_SOAK_SHORT is that of the
short runs.
"""
import os
import re
from pathlib import Path

import pytest

from conftest import BUILD, Machine
from device_process import find_device

SOAK = BUILD / "bin/hcasim-soak"
FAULTS = "loss=0.01,dup=0.01,reorder=0.01"
COUNT = int(os.environ.get("HCASIM_SOAK", 150_000))
SHORT = int(os.environ.get("HCASIM_SOAK_SHORT", 20_000))
# Pools of the device process grow to the size of the largest burst so far.
GROWTH_KB = 8192


def machine(seed, *more):
    return Machine(hcas=2, options=["--seed", str(seed), *more])


def resources(pid):
    """(resident kB, open files) of the device process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]), len(os.listdir(f"/proc/{pid}/fd"))


def totals(output):
    """{kind: (sent, came, twice)}"""
    found = re.findall(r"^messages on (\w+): (\d+) sent, (\d+) came, (\d+) twice$", output, re.M)
    return {kind: tuple(map(int, numbers)) for kind, *numbers in found}


@pytest.mark.once
def test_a_perfect_wire_loses_nothing():
    """Links pause, so no sender is too fast. (UC may lose writes to a window that was just invalidated.)"""
    result = machine(1).run(SOAK, SHORT, 1)
    assert result.status == 0, result.output
    for kind, (sent, came, twice) in totals(result.output).items():
        assert twice == 0 and (came == sent if kind != "UC" else came > 0.98 * sent), result.output


@pytest.mark.once
def test_a_bad_wire():
    result = machine(2, "--fault", FAULTS).run(SOAK, SHORT, 2)
    assert result.status == 0, result.output


def test_soak(capsys):
    """Two runs on one machine: the device process's memory and files do not grow in or between them."""
    script = f"{SOAK} {COUNT} 3 && {SOAK} {COUNT // 4} 4"
    process = machine(3, "--fault", FAULTS).start("bash", "-c", script)
    seen, output = [], ""
    for line in process.stdout:
        output += line
        if re.match(r"progress [39]$", line):
            seen.append(resources(find_device(process.pid)))
    assert process.wait() == 0, output
    with capsys.disabled():
        print("\n" + output + f"device process (kB, files) at 3/10 and 9/10 of each run: {seen}")
    assert len(seen) == 4
    for (before, files), (after, files_after) in zip(seen, seen[1:]):
        assert after - before <= GROWTH_KB and files_after == files, seen
