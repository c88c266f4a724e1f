# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Talks to the device process as no preload library would: random bytes, random fields, random ring entries.

Runs inside `hcasim run`. Argument: how many messages. Layouts are those of proto.h and ring.h.
"""
import mmap
import os
import random
import socket
import struct
import subprocess
import sys

MAGIC, VERSION = 0x6863, 3
REQUEST = struct.Struct("<HHIQII96s")
REPLY_SIZE = 8 + 8 + 4 * 16 + 48
HELLO, OPEN, STAT, IOCTL, WRITE, MMAP, MUNMAP, SYNC, SHOW, UNMAPPED, REPORT, LINK = range(1, 13)
OPS = [0, HELLO, OPEN, STAT, IOCTL, WRITE, MMAP, MUNMAP, SYNC, SHOW, UNMAPPED, REPORT, LINK, 13, 2**32 - 1]
STACKS = [0, 1, 1024, 1025, 2**32 - 1]
HEAD_SIZE = 3 * 64 + 64 * 128  # ring.h: indices, then 64 reply slots of two lines
ENTRY_SIZE = 128
INTERESTING = [0, 1, 7, 4096, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 2**40, 0x1A1B0000 + 1]


class Connection:
    def __init__(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.connect(os.environ["HCASIM_RUNTIME"] + "/socket")
        self.sock.settimeout(20)

    def call(self, op, body=b"", file=0, magic=MAGIC, version=VERSION):
        """(return value, reply, descriptors), or None if the connection was closed."""
        try:
            self.sock.send(REQUEST.pack(magic, version, op, file, os.getpid(), random.choice(STACKS), body))
            data, fds, _, _ = socket.recv_fds(self.sock, 4096, 4)
        except (BrokenPipeError, ConnectionResetError):
            return None
        return (struct.unpack_from("<q", data, 8)[0], data, fds) if data else None

    def hello(self, image):
        probe = mmap.mmap(-1, 4096)
        probe[:8] = struct.pack("<Q", image)
        address = address_of(probe)
        result = self.call(HELLO, struct.pack("<QQQ", image, 0, address))
        return result, probe


def address_of(area):
    import ctypes

    return ctypes.addressof(ctypes.c_char.from_buffer(area))


def number(rng):
    return rng.choice(INTERESTING) if rng.random() < 0.5 else rng.getrandbits(64)


def send_noise(rng, rounds):
    for _ in range(rounds):
        connection = Connection()
        size = rng.choice([0, 2, 7, 119, 120, 121, 200, 4000])
        connection.sock.send(rng.randbytes(size) if size else b"ab")
        connection.sock.close()


def send_fields(rng, rounds):
    connection, probe, opened = None, None, [0]
    for _ in range(rounds):
        if not connection:
            connection = Connection()
            result, probe = connection.hello(rng.getrandbits(63) + 1)
            assert result and result[0] == 0, result
            for fd in result[2]:
                os.close(fd)
        op = rng.choice(OPS)
        body = b"".join(struct.pack("<Q", number(rng)) for _ in range(12))
        if op in (OPEN, STAT) and rng.random() < 0.7:
            body = struct.pack("<i", rng.getrandbits(31)) + rng.choice(
                [b"uverbs0", b"uverbs1", b"", b"x" * 92]
            )
        if op == LINK and rng.random() < 0.7:
            name = rng.choice([b"ens3", b"ens4", b"ens5", b"", b"ens" + b"3" * 61])
            body = name.ljust(64, b"\0") + struct.pack("<II", rng.randrange(3), rng.randrange(3)) + bytes(24)
        if op == IOCTL and rng.random() < 0.7:
            body = struct.pack("<QQ", 0xC0181B01, address_of(probe) + rng.randrange(4096))
            probe[8:] = rng.randbytes(4088)
        if op == REPORT and rng.random() < 0.7:
            body = struct.pack("<QQ", address_of(probe) + rng.randrange(4096), rng.randrange(600))
            probe[8:] = rng.choice([b"x" * 4088, rng.randbytes(4088)])
        result = connection.call(op, body[:96], rng.choice(opened), MAGIC if rng.random() < 0.97 else 0)
        if not result:
            connection = None
            continue
        for fd in result[2]:
            name = socket.socket(fileno=fd) if op == OPEN else None
            if name:
                opened.append(int(name.getsockname()[1:].split(b":")[1], 16))
                opened = opened[-4:]
                KEPT.append(name)
                del KEPT[:-8]
            else:
                os.close(fd)


KEPT = []


def fill_ring(rng):
    """Every slot full, with anything in it; indices too."""
    connection = Connection()
    result, _probe = connection.hello(rng.getrandbits(63) + 1)
    fd = result[2][0]
    size = os.fstat(fd).st_size
    try:
        os.ftruncate(fd, 4096)
        raise AssertionError("the ring can be truncated")
    except PermissionError:
        pass
    ring = mmap.mmap(fd, size)
    os.close(fd)
    for slot in range((size - HEAD_SIZE) // ENTRY_SIZE):
        at = HEAD_SIZE + slot * ENTRY_SIZE
        ring[at + 8 : at + ENTRY_SIZE] = rng.randbytes(ENTRY_SIZE - 8)
        ring[at + 16] = rng.choice([0, 1, 2, 3, 255])  # kind
        struct.pack_into("<Q", ring, at, slot + 1)
    connection.call(SYNC)
    connection.sock.close()


def main():
    rounds = int(sys.argv[1])
    rng = random.Random(1)
    connection = Connection()
    connection.sock.send(b"7 bytes")
    assert connection.sock.recv(1) == b""
    send_noise(rng, rounds // 20)
    send_fields(rng, rounds)
    fill_ring(rng)
    probe = "import os; os.listdir('/sys/class/infiniband'); os.stat('/dev/infiniband/uverbs0')"
    subprocess.run([sys.executable, "-c", probe], check=True)
    print("alive")


main()
