# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The folder of a running machine: its socket, and its part of /sys, several hundred small files."""
import contextlib
import fcntl
import glob
import os
import shutil
import socket
import tempfile
import time

from . import exits
from .errors import RunError, naming

PREFIX = "hcasim-"
ROOM = 32 << 20  # bytes that must be free; a machine of two adapters takes 0.6 MB of a tmpfs
STARTED = 60.0  # seconds until a machine has certainly begun to listen


def bases():
    """Where it may be, the best first: memory is several times faster than a disk.

    A short path: a Unix socket's path has at most 107 bytes. Root's programs may change to another user, who needs access, too.
    """
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    private = [own] if os.geteuid() != 0 and len(own) in range(1, 60) else []
    return [base for base in [*private, "/dev/shm"] if os.access(base, os.W_OK | os.X_OK)] + ["/tmp"]


def has_room(base):
    try:
        return shutil.disk_usage(base).free >= ROOM
    except OSError:
        return False


def make(name):
    """A new folder; with a name, that of the machine `hcasim run --attach` finds."""
    base = next(filter(has_room, bases()), "/tmp")
    remove_left(base)
    folder = make_named(name, base) if name else make_unnamed(base)
    if os.geteuid() == 0:
        os.chmod(folder, 0o711)
    return folder


def make_unnamed(base):
    with naming(f"cannot make a folder in {base}"):
        return tempfile.mkdtemp(prefix=PREFIX, dir=base)


def make_named(name, base):
    folder = named(name, base)
    if find(name):
        raise RunError(f"a machine named '{name}' runs already", exits.WRONG)
    with naming(f"cannot make {folder}"):
        if os.path.exists(f"{folder}/socket"):
            shutil.rmtree(folder)  # left by a machine that was killed
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            raise RunError(f"a machine named '{name}' runs already", exits.WRONG) from None
    return folder


def named(name, base):
    return f"{base}/{PREFIX}{os.getuid()}-{name}"


def find(name):
    """The folder of the running machine with this name, or None."""
    return next((folder for base in bases() if not refused(folder := named(name, base))), None)


def lock(folder):
    """A descriptor that says, for as long as a process has it, that the machine runs; None: one has it already."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        return None
    return held


def remove_left(base):
    """Removes folders of this user's machines that were killed."""
    for folder in glob.glob(f"{base}/{PREFIX}*"):
        with contextlib.suppress(OSError):
            if is_old(folder) and (held := lock(folder)) is not None:
                if refused(folder):
                    shutil.rmtree(folder, ignore_errors=True)
                os.close(held)


def is_old(folder):
    about = os.stat(f"{folder}/socket")
    return about.st_uid == os.getuid() and time.time() - about.st_mtime > STARTED


def refused(folder):
    """Whether no machine listens there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK) as probe:
        try:
            probe.connect(f"{folder}/socket")
        except (ConnectionRefusedError, FileNotFoundError):
            return True
        except OSError:
            return False
    return False
