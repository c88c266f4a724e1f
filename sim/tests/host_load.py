# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Work for the host's processors, for tests of what must not depend on it."""
import contextlib
import os
import subprocess
import sys


@contextlib.contextmanager
def load():
    """More work than the processors can do."""
    spinning = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())
    ]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()
