# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The packets of work requests of every kind, as scapy reads them: opcodes, extension headers, the solicited
event bit, the order that a fence requires. The soak logs what it posted; here its wire loses nothing."""
import collections
import json

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.l2 import Ether
from scapy.utils import PcapReader

from conftest import BUILD, Machine

MTU = 1024
WRITE, WRITE_IMM, SEND, SEND_IMM, READ, CMP_SWP, FETCH_ADD = range(7)  # enum ibv_wr_opcode
SEND_INV, TSO, FLUSH, ATOMIC_WRITE = 9, 10, 14, 15
ANSWERED = {READ, CMP_SWP, FETCH_ADD, FLUSH, ATOMIC_WRITE}
# First, middle, last, only: IBTA table 38; the numbers of RC, to which each transport adds its own.
OPCODES = {
    SEND: (0x00, 0x01, 0x02, 0x04),
    SEND_IMM: (0x00, 0x01, 0x03, 0x05),
    SEND_INV: (0x00, 0x01, 0x16, 0x17),
    TSO: (0x00, 0x01, 0x02, 0x04),
    WRITE: (0x06, 0x07, 0x08, 0x0A),
    WRITE_IMM: (0x06, 0x07, 0x09, 0x0B),
    READ: (None, None, None, 0x0C),
    CMP_SWP: (None, None, None, 0x13),
    FETCH_ADD: (None, None, None, 0x14),
    FLUSH: (None, None, None, 0x1C),
    ATOMIC_WRITE: (None, None, None, 0x1D),
}
TRANSPORT = {"RC": 0x00, "UC": 0x20, "UD": 0x60, "XRC": 0xA0}
RESPONSES = {0x0D, 0x0F, 0x10, 0x12}  # first, last and only READ response, atomic response


class Packet:
    """One frame with a BTH."""

    def __init__(self, frame):
        bth = frame[BTH]
        self.to = (int(frame.dst[-2:], 16) - 1, bth.dqpn)  # adapters count from 1 in their addresses
        self.opcode, self.psn, self.se = bth.opcode, bth.psn, bth.solicited
        self.body = bytes(bth.payload)[: -bth.padcount or None]

    def take(self, size):
        head, self.body = self.body[:size], self.body[size:]
        assert len(head) == size, "a header is cut off"
        return head

    def number(self, size):
        return int.from_bytes(self.take(size), "big")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Posted work requests, and frames with a BTH, both in order."""
    folder = tmp_path_factory.mktemp("wire")
    result = Machine(hcas=2, options=["--trace", str(folder)]).run(
        BUILD / "bin/hcasim-soak", 6000, 5, folder / "log"
    )
    assert result.status == 0, result.output
    posted = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    with PcapReader(str(folder / "wire.pcap")) as reader:
        frames = [Ether(bytes(frame)) for frame in reader]
    return posted, [frame for frame in frames if BTH in frame]


def pieces(wr):
    """The number of packets of the request: for TSO the segments, for requests without payload one."""
    if wr["op"] == TSO:
        return -(-wr["len"] // wr["mss"])
    if wr["op"] in (READ, CMP_SWP, FETCH_ADD, FLUSH, ATOMIC_WRITE):
        return 1
    return max(1, -(-wr["len"] // MTU))


def check_request(wr, number, count, packet):
    op, last = wr["op"], number == count - 1
    place = 3 if count == 1 or op == TSO else 0 if number == 0 else 2 if last else 1
    assert packet.opcode == OPCODES[op][place] + TRANSPORT[wr["kind"]], wr
    solicits = op in (SEND, SEND_IMM, SEND_INV, WRITE_IMM)
    assert packet.se == (wr["se"] if last and solicits else 0), wr
    if wr["kind"] == "UD":
        assert packet.take(8)[:4] == (0x1234).to_bytes(4, "big")  # DETH: the Q_Key
    if wr["kind"] == "XRC":
        assert packet.number(4) == wr["srqn"], wr  # XRCETH
    if op == FLUSH:
        feth = packet.number(4)
        assert (feth & 0xF, feth >> 4 & 0x3) == (1, wr["level"]), (
            hex(feth),
            wr,
        )  # IBV_FLUSH_GLOBAL; range or MR
    if op in (CMP_SWP, FETCH_ADD):
        assert (packet.number(8), packet.number(4)) == (wr["va"], wr["rkey"])
        assert packet.number(8) == wr["operand"]
        assert op == FETCH_ADD or packet.number(8) == wr["compare"]
    elif op in (WRITE, WRITE_IMM, READ, FLUSH, ATOMIC_WRITE) and number == 0:
        assert (packet.number(8), packet.number(4), packet.number(4)) == (wr["va"], wr["rkey"], wr["len"]), wr
    if last and op in (SEND_IMM, WRITE_IMM):
        assert packet.number(4) == wr["imm"]
    if last and op == SEND_INV:
        assert packet.number(4) == wr["rkey"]  # IETH


def check_wire(posted, frames):
    """Counts what was checked."""
    queues = collections.defaultdict(collections.deque)
    for wr in posted:
        queues[tuple(wr["dest"])].append(wr)
    owner = {(1 - wr["dest"][0], wr["source"]): tuple(wr["dest"]) for wr in posted if wr["kind"] != "UD"}
    at, unanswered, checked = {}, collections.defaultdict(dict), collections.Counter()
    for packet in map(Packet, frames):
        response = packet.opcode & 0x1F
        if packet.opcode >> 5 in (0, 5) and 0x0D <= response <= 0x12:  # RC and XRC
            if response in RESPONSES:
                waiting = unanswered[owner[packet.to]]
                for psn in [psn for psn in waiting if (packet.psn - waiting[psn]) % 2**24 < 2**23]:
                    del waiting[psn]
            continue
        number, expected, _ = at.get(packet.to, (0, None, None))
        if expected is not None and (packet.psn - expected) % 2**24 >= 2**23:
            continue  # repeated: the responder was not ready
        wr = queues[packet.to][0]
        if number == 0 and wr["fence"]:
            assert not unanswered[packet.to], ("ahead of its fence", wr)
            checked["fence"] += 1
        check_request(wr, number, pieces(wr), packet)
        checked[wr["op"], wr["kind"]] += 1
        length = max(1, -(-wr["len"] // MTU)) if wr["op"] == READ else 1
        if wr["op"] in ANSWERED:
            unanswered[packet.to][packet.psn] = packet.psn + length - 1
        number += 1
        if number == pieces(wr):
            queues[packet.to].popleft()
            number = 0
        at[packet.to] = (number, (packet.psn + length) % 2**24, wr)
    assert not any(queues.values())
    return checked


@pytest.mark.once
def test_requests_and_fences(run):
    checked = check_wire(*run)
    for op in OPCODES:
        kinds = {"UD"} if op == TSO else {"RC", "XRC"} if op in ANSWERED else {"RC"}
        assert all(checked[op, kind] for kind in kinds), (op, checked)
    assert checked["fence"] > 20


def test_the_check_of_fences_can_fail(run):
    """Requests without a fence are sent before earlier ones are answered."""
    posted, frames = run
    with pytest.raises(AssertionError, match="ahead of its fence"):
        check_wire([wr | {"fence": True} for wr in posted], frames)


def test_flushes_of_each_type_and_level(tmp_path):
    """hcasim-completions posts each with a length of 64 times the type plus the level; all are refused."""
    result = Machine(hcas=2, options=["--trace", str(tmp_path)]).run(BUILD / "bin/hcasim-completions")
    assert result.status == 0, result.output
    with PcapReader(str(tmp_path / "wire.pcap")) as reader:
        frames = [Ether(bytes(frame)) for frame in reader]
    flushes = [Packet(frame) for frame in frames if BTH in frame and frame[BTH].opcode == 0x1C]
    seen = []
    for packet in flushes:
        feth, _, _, length = (packet.number(size) for size in (4, 8, 4, 4))
        seen.append((feth, length))
    # FETH: the type in the lowest four bits, the level in the two above, the rest reserved (IBTA annex A19).
    expected = [(level << 4 | kind, 64 * kind + level) for kind in (1, 2, 3) for level in (0, 1)]
    assert list(dict.fromkeys(seen)) == expected
    assert all(not packet.body for packet in flushes)
