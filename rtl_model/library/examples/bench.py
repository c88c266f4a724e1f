#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""bench.py LIBRARY: a test bench in Python for the send engine in SystemVerilog, by ctypes.

Posts SENDs of random sizes, answers their reads from a bytearray, checks each packet against the message it is of, loses
one packet in ten (its sender gets a NAK), and expects one completion for each, in order. Fails by an assertion.
"""
import ctypes
import random
import struct
import sys

IDLE, READ, PACKET, COMPLETION, RESULT, TIMER, FAILED = range(7)  # enum hcasim_engine_event
QPN, TAG, PIECES, LENGTH, OPCODE, PSN = range(6)  # enum hcasim_engine_field, the first ones
INDEX, STATUS, AT = 12, 14, 15
OP_SEND, SIGNALED = 1, 1 << 24  # spec/families/native.yaml
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0, 1, 2, 4  # IBTA 9.2.1
ACK, NAK = 0, 3
CREDITS, SEQUENCE_ERROR = 31, 0  # AETH values
RING, BUFFER, BLOCK, MTU, LKEY = 0x10000, 0x200000, 64, 1024, 77


class Engine:
    """The library's functions, without their prefix; int results below zero are errors."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.hcasim_engine_open.restype = ctypes.c_void_p
        self.library.hcasim_engine_field.restype = ctypes.c_uint64
        self.library.hcasim_engine_cycles.restype = ctypes.c_uint64
        self.handle = ctypes.c_void_p(self.library.hcasim_engine_open())

    def __getattr__(self, name):
        function = getattr(self.library, f"hcasim_engine_{name}")

        def call(*arguments):
            wide = [ctypes.c_uint64(a) if isinstance(a, int) and a >= 1 << 31 else a for a in arguments]
            return function(self.handle, *wide)

        return call

    def pieces(self):
        address, length = ctypes.c_uint64(), ctypes.c_uint32()
        for i in range(self.field(PIECES)):
            assert self.piece(i, ctypes.byref(address), ctypes.byref(length)) == 0
            yield address.value, length.value


class Bench:
    def __init__(self, path, seed):
        self.random = random.Random(seed)
        self.engine = Engine(path)
        self.memory = bytearray(self.random.randbytes(BUFFER + (1 << 20)))
        self.psn = self.next_psn = 100
        self.messages = []  # (first PSN, bytes)
        self.lost = self.completed = self.deadline = 0
        self.nak = False  # what follows a lost packet is dropped, and answered once (IBTA 9.7.5.2.8)
        assert self.engine.qp(5, RING, 64, MTU, 9, self.psn) == 0
        assert self.engine.key(LKEY, BUFFER, 1 << 20) == 0

    def post(self, index, size):
        wqe = struct.pack("<BBHIII", OP_SEND, 2, index, 5 | SIGNALED, 0, 0)
        wqe += struct.pack("<QII", BUFFER, size, LKEY)
        at = RING + index % 64 * BLOCK
        self.memory[at : at + BLOCK] = wqe.ljust(BLOCK, b"\0")
        first = self.messages[-1] if self.messages else (self.psn, 0)
        start = first[0] + max(1, -(-first[1] // MTU)) if self.messages else self.psn
        self.messages.append((start, size))
        assert self.engine.doorbell(5, index + 1) == 0

    def read(self):
        data = b"".join(bytes(self.memory[a : a + n]) for a, n in self.engine.pieces())
        for at in range(0, len(data), BLOCK):
            assert self.engine.data(at, data[at : at + BLOCK].ljust(BLOCK, b"\0")) == 0
        assert self.engine.read_done(self.engine.field(TAG), 0) == 0

    def check(self, psn):
        """The packet is the one of this PSN; returns whether it is the last of its message."""
        start, size = max(m for m in self.messages if m[0] <= psn)
        at, count = psn - start, max(1, -(-size // MTU))
        kinds = (SEND_ONLY,) if count == 1 else (SEND_FIRST, *[SEND_MIDDLE] * (count - 2), SEND_LAST)
        length = min(MTU, size - at * MTU)
        assert (self.engine.field(OPCODE), self.engine.field(LENGTH)) == (kinds[at], length)
        assert sum(n for _, n in self.engine.pieces()) == length
        assert not length or next(self.engine.pieces())[0] == BUFFER + at * MTU
        return at + 1 == count

    def packet(self):
        psn, tag = self.engine.field(PSN), self.engine.field(TAG)
        last = self.check(psn)
        leaves = self.engine.leave(tag, 0)
        assert leaves in (0, 1) and self.engine.released(tag) == 0
        if not leaves:
            return
        if psn == self.next_psn and self.random.random() < 0.1:
            self.lost += 1
        elif psn == self.next_psn:
            self.next_psn, self.nak = psn + 1, False
            if last:
                assert self.engine.ack(5, psn, ACK, CREDITS) == 0
        elif psn > self.next_psn and not self.nak:
            self.nak = True
            assert self.engine.ack(5, self.next_psn, NAK, SEQUENCE_ERROR) == 0

    def turn(self):
        event = self.engine.next()
        if event == READ:
            self.read()
        elif event == PACKET:
            self.packet()
        elif event == COMPLETION:
            assert self.engine.field(INDEX) == self.completed and self.engine.field(STATUS) == 0
            self.completed += 1
        elif event == TIMER:
            self.deadline = self.engine.field(AT)
        elif event == IDLE:  # the last packet was lost: nothing else tells the sender
            self.engine.time(self.deadline)
            assert self.engine.timer(5) == 0
            self.nak = False
        assert event != FAILED

    def run(self, wqes):
        for index in range(wqes):
            self.post(index, self.random.choice([0, 1, MTU, MTU + 1, 5000]))
            while self.completed <= index:
                self.turn()
        print(f"{wqes} SENDs, {self.lost} packets lost, {self.engine.cycles()} cycles")
        assert self.lost > wqes // 10
        assert self.engine.doorbell(6, 1) < 0 and self.engine.read_done(12345, 0) < 0
        self.engine.close()


if __name__ == "__main__":
    Bench(sys.argv[1], seed=1).run(300)
