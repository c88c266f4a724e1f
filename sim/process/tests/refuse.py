# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""refuse.py CMD...: executes CMD where process_vm_readv and process_vm_writev are refused, as by a container's seccomp profile."""
import ctypes
import errno
import os
import struct
import sys

READV, WRITEV = 310, 311  # process_vm_readv(2), process_vm_writev(2) on x86_64
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
ROWS = [
    (LOAD, 0, 0, 0),
    (IF_EQUAL, 1, 0, READV),
    (IF_EQUAL, 0, 1, WRITEV),
    (RETURN, 0, 0, FAIL | errno.EPERM),
    (RETURN, 0, 0, ALLOW),
]


def refuse():
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *row) for row in ROWS))
    program = struct.pack("<H6xQ", len(ROWS), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


refuse()
os.execvp(sys.argv[1], sys.argv[1:])
