# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Source lines of backtraces: addr2line (binutils) resolves addresses of files; without it they have only numbers."""
import os
import shutil
import struct
import subprocess
from collections import defaultdict

LIBRARIES = (
    "libibverbs",
    "librdmacm",
    "libhcasim",
    "libmlx5",
    "librxe",
    "libefa",
    "libc.so",
    "libc-",
    "libpthread",
)
LIBRARIES += ("ld-linux", "libasan", "libubsan", "libgcc_s")
SHOWN = 3  # frames of the program
HEADERS = ("/infiniband/", "/rdma/")  # of inline functions that are not the program's own


class Frame:
    def __init__(self, module, address, chain):
        self.module, self.address, self.chain = (
            module,
            address,
            chain,
        )  # chain: (function, place), innermost first

    def __str__(self):
        own = [step for step in self.chain if not any(part in step[1] for part in HEADERS)]
        function, place = (own or self.chain or [("??", "??")])[0]
        function = function.split(".")[0]  # not what the compiler added: .constprop.0
        where = place if "?" not in place else f"{os.path.basename(self.module)}+{self.address:#x}"
        return f"{function}() at {where}" if function[:1] != "?" else f"{where}"


def segments(path):
    """(offset, size, address) of the parts of an ELF file that are loaded."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:5] != b"\x7fELF\x02":
                return []
            at, size, number = *struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54)
            file.seek(at)
            table = file.read(size * number)
    except (OSError, struct.error):
        return []
    found = []
    for i in range(len(table) // size):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", table, i * size)
        if kind == 1:
            found.append((offset, length, address))
    return found


def split(frame, back):
    """(file, offset in it); of a return address that of the call."""
    module, _, number = frame.rpartition("+")
    return module, int(number, 16) - back


def is_own(module):
    return bool(module) and not os.path.basename(module).startswith(LIBRARIES)


def resolve(module, offsets):
    """{offset: (address, chain)}: functions and places, innermost first."""
    parts = segments(module)
    address = {}
    for offset in offsets:
        part = next(((o, a) for o, size, a in parts if o <= offset < o + size), (0, 0))
        address[offset] = offset - part[0] + part[1]
    tool = shutil.which("addr2line")
    if not tool or not offsets:
        return {offset: (address[offset], []) for offset in offsets}
    command = [tool, "-a", "-f", "-i", "-C", "-e", module, *[hex(address[o]) for o in offsets]]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    chains = [block.splitlines()[1:] for block in ("\n" + text).split("\n0x")[1:]]
    result = {}
    for offset, lines in zip(offsets, chains):
        steps = [(f, os.path.normpath(p.split(" (discr")[0])) for f, p in zip(lines[::2], lines[1::2])]
        result[offset] = (address[offset], steps)
    return {offset: result.get(offset, (address[offset], [])) for offset in offsets}


class Sources:
    """The program's own frames of each backtrace, resolved together: addr2line reads a file once."""

    def __init__(self, stacks):
        self.own = {}  # [(module, offset), ...] of each stack
        wanted = defaultdict(set)
        for number, record in stacks.items():
            frames = [split(f, back=1) for f in record.frames]
            self.own[number] = [f for f in frames if is_own(f[0])][:SHOWN]
            for module, offset in self.own[number]:
                wanted[module].add(offset)
        self.resolved = {module: resolve(module, sorted(at)) for module, at in wanted.items()}

    def __call__(self, number):
        """ "post() at write.c:57, called by main() at write.c:90", or None."""
        frames = [Frame(module, *self.resolved[module][at]) for module, at in self.own.get(number, [])]
        shown = [str(frame) for frame in frames]
        end = next((i for i, text in enumerate(shown) if text.startswith("main()")), len(shown) - 1)
        return ", called by ".join(shown[: end + 1]) or None
