# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Decodes RoCE frames by the IBTA specification, independent of the code that made them.

Nothing of spec/wire.yaml or of the device's packet code is used: numbers and header layouts are those of
the IBTA's chapters 8 and 9 and annexes 14, 16, 17 and 19 (also in Linux include/rdma/ib_pack.h). A test compares this decoder
with scapy's on captured traffic.
"""
import struct
import zlib
from dataclasses import dataclass, field

ROCE_PORT = 4791
ROCE_V1_TYPE = b"\x89\x15"
GRH_NEXT = 0x1B  # a BTH follows
PCAP_NS_MAGIC = 0xA1B23C4D

TRANSPORTS = {0x00: "RC", 0x20: "UC", 0x60: "UD", 0xA0: "XRC"}
OPS = {
    0x00: ("SEND_FIRST", ()),
    0x01: ("SEND_MIDDLE", ()),
    0x02: ("SEND_LAST", ()),
    0x03: ("SEND_LAST_WITH_IMMEDIATE", ("imm",)),
    0x04: ("SEND_ONLY", ()),
    0x05: ("SEND_ONLY_WITH_IMMEDIATE", ("imm",)),
    0x06: ("RDMA_WRITE_FIRST", ("reth",)),
    0x07: ("RDMA_WRITE_MIDDLE", ()),
    0x08: ("RDMA_WRITE_LAST", ()),
    0x09: ("RDMA_WRITE_LAST_WITH_IMMEDIATE", ("imm",)),
    0x0A: ("RDMA_WRITE_ONLY", ("reth",)),
    0x0B: ("RDMA_WRITE_ONLY_WITH_IMMEDIATE", ("reth", "imm")),
    0x0C: ("RDMA_READ_REQUEST", ("reth",)),
    0x0D: ("RDMA_READ_RESPONSE_FIRST", ("aeth",)),
    0x0E: ("RDMA_READ_RESPONSE_MIDDLE", ()),
    0x0F: ("RDMA_READ_RESPONSE_LAST", ("aeth",)),
    0x10: ("RDMA_READ_RESPONSE_ONLY", ("aeth",)),
    0x11: ("ACKNOWLEDGE", ("aeth",)),
    0x12: ("ATOMIC_ACKNOWLEDGE", ("aeth", "atomicack")),
    0x13: ("COMPARE_SWAP", ("atomic",)),
    0x14: ("FETCH_ADD", ("atomic",)),
    0x16: ("SEND_LAST_WITH_INVALIDATE", ("ieth",)),
    0x17: ("SEND_ONLY_WITH_INVALIDATE", ("ieth",)),
    0x1C: ("FLUSH", ("feth", "reth")),
    0x1D: ("ATOMIC_WRITE", ("reth",)),
}
RESPONSES = frozenset(range(0x0D, 0x13))
BEFORE = {"UD": ("deth",), "XRC": ("xrceth",)}  # of every request
HEADERS = {
    "imm": (">I", ("imm",)),
    "ieth": (">I", ("inv",)),
    "reth": (">QII", ("va", "rkey", "dmalen")),
    "aeth": (">I", ("aeth",)),
    "atomicack": (">Q", ("original",)),
    "atomic": (">QIQQ", ("va", "rkey", "swap_add", "compare")),
    "deth": (">IxBH", ("qkey", "_src_high", "_src_low")),
    "xrceth": (">I", ("srqn",)),
    "feth": (">I", ("flush",)),
}


@dataclass
class Packet:
    """One RoCE packet. `values`: fields of its extension headers, by name. `v1`: it is RoCEv1."""

    ns: float
    src: bytes
    dst: bytes
    transport: str
    op: str
    response: bool
    solicited: bool
    migrated: bool  # MigReq
    ackreq: bool
    dqpn: int
    psn: int
    payload: int
    icrc_ok: bool
    udp_sum_ok: bool
    v1: bool
    values: dict = field(default_factory=dict)

    @property
    def syndrome(self):
        return self.values.get("aeth", 0) >> 24

    @property
    def msn(self):
        return self.values["aeth"] & 0xFFFFFF

    def flaw(self):
        """What is wrong with the packet whatever it carries; None: nothing."""
        if not self.icrc_ok:
            return "the ICRC is wrong"
        if not self.udp_sum_ok:
            return "the UDP checksum is neither 0 nor right"
        if not self.migrated:  # 17.2.8: no path is migrated here
            return "MigReq is 0"
        if self.response and self.ackreq:
            return "an answer asks for an acknowledgement (AckReq)"
        return None

    def says(self):
        values = " ".join(f"{k}={v:#x}" for k, v in self.values.items() if not k.startswith("_"))
        se = " SE" if self.solicited else ""
        v1 = " RoCEv1" if self.v1 else ""
        return f"{self.ns:.0f} ns{v1} {self.transport} {self.op} qp={self.dqpn:#x} psn={self.psn:#x}{se} {values} {self.payload} B"


class BadPacket(Exception):
    """A frame with the EtherType of RoCEv1, or to the port of RoCEv2, that is not a valid packet."""


def frames(path):
    """(nanoseconds, bytes) of each frame of a capture file with nanosecond resolution."""
    data = path.read_bytes()
    if len(data) < 24 or struct.unpack_from("<I", data)[0] != PCAP_NS_MAGIC:
        raise BadPacket(f"{path} is no capture file with nanoseconds")
    at, found = 24, []
    while at + 16 <= len(data):
        sec, ns, length, _ = struct.unpack_from("<IIII", data, at)
        found.append((sec * 1_000_000_000 + ns, data[at + 16 : at + 16 + length]))
        at += 16 + length
    return found


def address(gid):
    """A GID as the IP address that it stands for: four bytes if it is IPv4-mapped."""
    return gid[12:] if gid[:12] == bytes(10) + b"\xff\xff" else gid


@dataclass
class Place:
    """Where the headers of a RoCE packet are in its frame. `udp` is None in RoCEv1, `end` is that of the payload and padding."""

    src: bytes
    dst: bytes
    ip: int
    udp: int | None
    bth: int
    end: int


def _grh(frame, ip):
    bth = ip + 40
    if len(frame) < bth or frame[ip] >> 4 != 6 or frame[ip + 6] != GRH_NEXT:
        raise BadPacket(f"a frame of RoCEv1 without a GRH: {frame[ip:bth].hex()}")
    src, dst = address(frame[ip + 8 : ip + 24]), address(frame[ip + 24 : bth])
    return Place(src, dst, ip, None, bth, bth + int.from_bytes(frame[ip + 4 : ip + 6], "big") - 4)


def _place(frame):
    """The place of the packet in a RoCE frame, None for any other."""
    at = 12
    while frame[at : at + 2] == b"\x81\x00":
        at += 4
    kind, ip = frame[at : at + 2], at + 2
    if kind == ROCE_V1_TYPE:
        return _grh(frame, ip)
    if kind == b"\x08\x00":
        if frame[ip + 9 : ip + 10] != b"\x11":
            return None
        src, dst, udp = frame[ip + 12 : ip + 16], frame[ip + 16 : ip + 20], ip + 4 * (frame[ip] & 15)
    elif kind == b"\x86\xdd":
        if frame[ip + 6 : ip + 7] != b"\x11":
            return None
        src, dst, udp = frame[ip + 8 : ip + 24], frame[ip + 24 : ip + 40], ip + 40
    else:
        return None
    if frame[udp + 2 : udp + 4] != ROCE_PORT.to_bytes(2, "big"):
        return None
    return Place(src, dst, ip, udp, udp + 8, udp + int.from_bytes(frame[udp + 4 : udp + 6], "big") - 4)


def icrc(frame, place):
    """The invariant CRC of a frame (7.8.1, annexes 16.5 and 17.3.3): fields that routers change are taken as ones."""
    head = bytearray(frame[place.ip : place.bth + 12])
    if head[0] >> 4 == 4:
        head[1] = head[8] = head[10] = head[11] = 0xFF
    else:
        head[0] |= 0x0F
        head[1] = head[2] = head[3] = head[7] = 0xFF
    if place.udp is not None:
        head[place.udp - place.ip + 6] = head[place.udp - place.ip + 7] = 0xFF
    head[place.bth - place.ip + 4] = 0xFF
    return zlib.crc32(frame[place.bth + 12 : place.end], zlib.crc32(bytes(head), zlib.crc32(b"\xff" * 8)))


def udp_sum_ok(frame, place):
    """A UDP checksum is 0, which means that there is none, or right (RFC 768)."""
    udp = place.udp
    if udp is None:
        return True
    length = int.from_bytes(frame[udp + 4 : udp + 6], "big")
    if frame[udp + 6 : udp + 8] == bytes(2):
        return True
    summed = (
        place.src + place.dst + struct.pack(">HH", 17, length) + frame[udp : udp + length] + bytes(length & 1)
    )
    return sum(struct.unpack(f">{len(summed) // 2}H", summed)) % 0xFFFF == 0


def parse(ns, frame):
    """The packet in a frame; None when it is not RoCE."""
    place = _place(frame)
    if place is None:
        return None
    bth, end = place.bth, place.end
    if end + 4 > len(frame) or end < bth + 12:
        raise BadPacket(f"a RoCE frame of {len(frame)} bytes is too short")
    opcode, flags, _, dqpn, psn = struct.unpack_from(">BBHII", frame, bth)
    transport, op = TRANSPORTS.get(opcode & 0xE0), OPS.get(opcode & 0x1F)
    if transport is None or op is None:
        raise BadPacket(f"BTH opcode {opcode:#04x} is not known")
    response = (opcode & 0x1F) in RESPONSES
    at, values = bth + 12, {}
    for name in (() if response else BEFORE.get(transport, ())) + op[1]:
        form, names = HEADERS[name]
        if at + struct.calcsize(form) > end:
            raise BadPacket(f"a packet of {end - bth} bytes has no room for its {name}")
        values.update(zip(names, struct.unpack_from(form, frame, at)))
        at += struct.calcsize(form)
    if "_src_low" in values:
        values["src_qp"] = values.pop("_src_high") << 16 | values.pop("_src_low")
    if "srqn" in values:
        values["srqn"] &= 0xFFFFFF
    return Packet(
        ns=ns,
        src=place.src,
        dst=place.dst,
        transport=transport,
        op=op[0],
        response=response,
        solicited=bool(flags & 0x80),
        migrated=bool(flags & 0x40),
        ackreq=bool(psn >> 31),
        dqpn=dqpn & 0xFFFFFF,
        psn=psn & 0xFFFFFF,
        payload=end - at - (flags >> 4 & 3),
        icrc_ok=icrc(frame, place) == int.from_bytes(frame[end : end + 4], "little"),
        udp_sum_ok=udp_sum_ok(frame, place),
        v1=place.udp is None,
        values=values,
    )
