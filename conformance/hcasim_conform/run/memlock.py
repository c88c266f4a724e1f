# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""RLIMIT_MEMLOCK of the runner: simulated adapters register memory up to it, as Linux does."""
import os
import resource

ENOUGH = 1 << 30  # bytes that the cells of a process may register at a time
CAP_IPC_LOCK = 14
FIRST_USER_NS = 0xEFFFFFFD  # PROC_USER_INIT_INO, include/linux/proc_ns.h


def _may_lock_any():
    with open("/proc/self/status", encoding="ascii") as status:
        caps = next(line.split()[1] for line in status if line.startswith("CapEff:"))
    return bool(int(caps, 16) >> CAP_IPC_LOCK & 1) and os.stat("/proc/self/ns/user").st_ino == FIRST_USER_NS


def allow(dut):
    """Raises the limit. Where that is not enough, `hcasim run` ignores it: returns a line that says so, else None."""
    hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))
    commands = (dut.start, dut.tap_start, dut.faults_start, dut.narrow_start)
    runs = [command for command in commands if command and command[:2] == ["hcasim", "run"]]
    if not runs or hard == resource.RLIM_INFINITY or hard >= ENOUGH or _may_lock_any():
        return None
    for command in runs:
        command[2:2] = ["--no-memlock"]
    return f"RLIMIT_MEMLOCK is {hard >> 10} KiB here, cells register more: hcasim run --no-memlock"
