# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Huge pages are shared by the whole host: one run at a time reserves them and restores the old count."""
import contextlib
import fcntl
import os
from pathlib import Path

COUNT = Path("/proc/sys/vm/nr_hugepages")
LOCK = Path("/run/lock/hcasim-huge-pages")


def restore(lock, count):
    """Restores the count. The lock file has it until then, in case this run is killed."""
    lock.seek(0)
    before = lock.read()
    if before:
        count.write_text(before)
        lock.truncate(0)


def set_aside(wanted, lock, count):
    before = count.read_text()
    if int(before) >= wanted:
        return
    lock.write(before)
    lock.flush()
    count.write_text(str(wanted))


@contextlib.contextmanager
def huge_pages(wanted, count=COUNT, lock_path=LOCK):
    """Reserves at least `wanted` pages where that is permitted; waits for a run that has reserved some."""
    if not os.access(count, os.W_OK) or not os.access(lock_path.parent, os.W_OK):
        yield
        return
    with open(lock_path, "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            restore(lock, count)
            set_aside(wanted, lock, count)
        except OSError:  # a container's count may be read-only
            lock.truncate(0)
        try:
            yield
        finally:
            restore(lock, count)
