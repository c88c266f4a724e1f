# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Huge pages are the kernel's, not a test's: one run at a time sets them aside, and gives back what it found."""
import contextlib
import fcntl
import os
from pathlib import Path

COUNT = Path("/proc/sys/vm/nr_hugepages")
LOCK = Path("/run/lock/hcasim-huge-pages")


def restore(lock, count):
    """What was found is in the lock file until it is there again, so that the next run makes up for one that was killed."""
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
    """At least so many are set aside, where that is permitted; waits for a run that has set some aside."""
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
