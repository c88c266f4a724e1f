# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The decoder of the taps on RoCEv1."""
import zlib
from ipaddress import IPv4Address
from types import SimpleNamespace

import pytest
from scapy.contrib.roce import GRH
from scapy.layers.l2 import Ether

from hcasim_conform.taps import judge as taps
from hcasim_conform.taps import packets
from hcasim_conform.taps.traces import Piece
from test_taps import FAR, HERE, PSN, ends, frame, reth, write_frames


def v1_frame(op, psn, payload=b"", back=False):
    """The same frame as RoCEv1: a GRH with IPv4-mapped GIDs, and the ICRC over it (IBTA 7.8.1) by zlib."""
    src, dst = (0xFFFF << 32 | int(IPv4Address(ip)) for ip in ((FAR, HERE) if back else (HERE, FAR)))
    v2 = frame(op, psn, payload, back=back)
    packet = v2[42:-4]
    grh = GRH(tclass=5, flowlabel=6, nexthdr=0x1B, hoplmt=9, paylen=len(packet) + 4, sgid=src, dgid=dst)
    seen = bytearray(b"\xff" * 8 + bytes(grh) + packet)
    seen[8:12] = b"\x6f\xff\xff\xff"
    seen[15] = seen[52] = 0xFF
    icrc = zlib.crc32(bytes(seen)).to_bytes(4, "little")
    return bytes(Ether(type=0x8915))[:14] + bytes(grh) + packet + icrc


def test_roce_v1():
    data = v1_frame("RDMA_WRITE_FIRST", PSN, reth(2500) + bytes(1024))
    v1 = packets.parse(5, data)
    v2 = packets.parse(5, write_frames()[0][1])
    assert v1.v1 and not v2.v1 and v1.icrc_ok
    assert (v1.src, v1.dst, v1.op, v1.values, v1.payload) == (v2.src, v2.dst, v2.op, v2.values, v2.payload)
    for at in (22, 60, 70):  # a GID, the payload
        broken = bytearray(data)
        broken[at] ^= 1
        assert not packets.parse(5, bytes(broken)).icrc_ok
    for at in (14, 20):  # version of the GRH, next header
        broken = bytearray(data)
        broken[at] ^= 0x20
        with pytest.raises(packets.BadPacket, match="without a GRH"):
            packets.parse(5, bytes(broken))
    with pytest.raises(packets.BadPacket, match="too short"):
        packets.parse(5, data[:-1])


@pytest.mark.parametrize("v1", [False, True])
def test_a_packet_of_the_other_version(v1):
    """Each packet is of the RoCE version of its sender's GID."""
    make = v1_frame if v1 else frame
    piece = Piece([(10, make("SEND_ONLY", PSN, bytes(8)))], [], [], [])
    for expected in (False, True):
        result = SimpleNamespace(ends=ends(roce_v1=expected))
        assert bool(taps.versions(result, piece)) == (expected != v1)
