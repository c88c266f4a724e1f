# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Raw Ethernet: checksums and segments on the wire, as scapy reads them; perftest's raw programs."""
import re

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt
from scapy.layers.l2 import Dot1Q, Ether
from scapy.utils import PcapReader

from conftest import BUILD, Machine

MSS, PAYLOAD = 1000, 3500
DATA = bytes((i * 31 + (i >> 8) + 1) & 0xFF for i in range(PAYLOAD))
FIN, PSH, ACK, CWR = 0x01, 0x08, 0x10, 0x80


@pytest.fixture(scope="module")
def wire(tmp_path_factory):
    folder = tmp_path_factory.mktemp("offload")
    result = Machine(hcas=2, options=["--trace", str(folder)]).run(BUILD / "bin/hcasim-offload")
    assert result.status == 0, result.output
    with PcapReader(str(folder / "wire.pcap")) as reader:
        return [bytes(packet) for packet in reader]


def sums_of(packet):
    """(IPv4 header, TCP or UDP) checksums in the packet, and as scapy computes them."""
    again = packet.copy()
    if IP in again:
        del again[IP].chksum
    del transport(again).chksum
    again = type(again)(bytes(again))
    stands = (packet[IP].chksum if IP in packet else 0, transport(packet).chksum)
    return stands, (again[IP].chksum if IP in again else 0, transport(again).chksum)


def transport(packet):
    return packet[TCP] if TCP in packet else packet[UDP]


def to_port(packets, port):
    """TCP and UDP packets to this port."""
    return [
        packet for packet in packets if (TCP in packet or UDP in packet) and transport(packet).dport == port
    ]


@pytest.fixture(scope="module")
def frames(wire):
    return [Ether(data) for data in wire]


@pytest.fixture(scope="module")
def datagrams(frames):
    """The IP packets in the UD messages with IPoIB, without the four bytes before them."""
    found = []
    for frame in frames:
        if BTH not in frame or frame[BTH].opcode != 100:
            continue
        body = bytes(frame[BTH].payload)[8:]  # after the DETH
        if body[:4] in (b"\x08\x00\0\0", b"\x86\xdd\0\0"):
            pad = frame[BTH].padcount
            found.append((IP if body[0] == 8 else IPv6)(body[4 : len(body) - pad]))
    return found


def check_sums(packets, kinds):
    """`kinds` as in hcasim-offload: IPv6, VLAN, checksums requested, UDP."""
    seen = [packet for packet in to_port(packets, 4000) if len(transport(packet).payload) > 200]
    assert len(seen) == len(kinds)
    for kind, packet in zip(kinds, seen):
        stands, right = sums_of(packet)
        shape = (IPv6 in packet, Dot1Q in packet, UDP in packet)
        assert shape == (bool(kind & 1), bool(kind & 2), bool(kind & 8))
        if kind & 4:
            assert stands == right, packet.show(dump=True)
        else:
            assert stands[1] == 0xBEEF and stands != right


@pytest.mark.once
def test_checksums_are_right_where_they_were_asked_for(frames):
    check_sums(frames, range(16))


def test_checksums_of_datagrams(datagrams):
    check_sums(datagrams, [kind for kind in range(16) if not kind & 2])


def check_stream(segments):
    assert len(segments) == 4
    data = b""
    for number, segment in enumerate(segments):
        payload = bytes(segment[TCP].payload)
        last = number == 3
        stands, right = sums_of(segment)
        assert stands == right
        if IP in segment:
            assert segment[IP].len == 40 + len(payload)
            assert segment[IP].id == (0xFFFE + number) & 0xFFFF
        else:
            assert segment[IPv6].plen == len(segment[IPv6].payload)
        assert segment[TCP].seq == (0xFFFFFF00 + number * MSS) & 0xFFFFFFFF
        flags = ACK | (PSH | FIN if last else 0) | (0 if number else CWR)
        assert int(segment[TCP].flags) == flags
        assert len(payload) == (PAYLOAD - 3 * MSS if last else MSS)
        data += payload
    assert data == DATA


@pytest.mark.parametrize("layer", [IP, IPv6])
def test_raw_segments(frames, layer):
    check_stream([frame for frame in to_port(frames, 5000) if layer in frame])


@pytest.mark.parametrize("layer", [IP, IPv6])
def test_raw_segments_of_a_vlan(frames, layer):
    segments = [frame for frame in to_port(frames, 5001) if layer in frame]
    assert all(segment[Dot1Q].vlan == 5 and segment[Dot1Q].prio == 1 for segment in segments)
    check_stream(segments)


@pytest.mark.parametrize("layer", [IP, IPv6])
def test_datagram_segments(datagrams, layer):
    check_stream([packet for packet in to_port(datagrams, 5000) if isinstance(packet, layer)])


def test_segments_with_the_longest_headers(frames, datagrams):
    """Options after IPv6 and TCP: 334 bytes after Ethernet, 336 with the four of IPoIB."""
    for packets, before, longest in (frames, 0, 334), (datagrams, 4, 336):
        segments = to_port(packets, 5002)
        check_stream(segments)
        for segment in segments:
            assert before + len(segment) - len(segment[TCP].payload) == longest
            assert IPv6ExtHdrDestOpt in segment


def test_group_datagrams_have_the_groups_addresses(frames):
    seen = [frame for frame in frames if IP in frame and frame[IP].dst == "239.1.2.3"]
    assert len(seen) == 2
    for frame in seen:
        assert frame.dst == "01:00:5e:01:02:03"
        assert frame[BTH].dqpn == 0xFFFFFF
        assert frame[BTH].icrc.to_bytes(4, "big") == frame[BTH].compute_icrc(b"")


def adapter_macs():
    gids = Machine(hcas=2).run("cat", *(f"/sys/class/infiniband/hcasim{n}/ports/1/gids/0" for n in (0, 1)))
    found = []
    for gid in re.findall(r"^fe80:\S+$", gids.output, re.M):
        raw = bytes.fromhex(gid.replace(":", ""))
        found.append(bytes([raw[8] ^ 2, *raw[9:11], *raw[13:16]]).hex(":"))
    assert len(found) == 2, gids.output
    return found


IPV4, IPV6 = "-J 10.77.0.1 -j 10.77.0.2", "--raw_ipv6 -J fd00::1 -j fd00::2"
PORTS = "-K 5001 -k 5002"
BOTH_FIGURES = ["", IPV4, f"{IPV4} {PORTS}", f"{IPV4} {PORTS} --tcp", f"{IPV6} {PORTS}", "--vlan_en", "-I 64"]
RAW_RUNS = [f"raw_ethernet_bw {options}".strip() for options in BOTH_FIGURES] + [
    "raw_ethernet_lat -I 64",
    f"raw_ethernet_bw {IPV6} {PORTS} --tcp",
    f"raw_ethernet_bw {IPV4} {PORTS} --vlan_en --vlan_pcp 3",
    f"raw_ethernet_bw {IPV4} {PORTS} --flows 4 --flows_burst 2",
    "raw_ethernet_bw --promiscuous",
    "raw_ethernet_bw --sniffer",
    "raw_ethernet_bw -l 8 -n 504",
    *(
        pytest.param(f"raw_ethernet_lat {options}".strip(), marks=pytest.mark.night)
        for options in BOTH_FIGURES[:-1]
    ),
]


@pytest.mark.parametrize("run", RAW_RUNS)
def test_perftest(run, tmp_path):
    """These programs do not synchronize: the client starts when the server has posted its receives, one for
    every frame, since there is no flow control."""
    program, *more = run.split()
    iterations = [] if "-n" in more else ["-n", 500]
    macs = adapter_macs()
    log = tmp_path / "server"
    log.touch()

    def command(end, role):
        # In a latency test both ends send; a server of raw_ethernet_bw takes the address that it listens on.
        to = macs[1 - end] if program == "raw_ethernet_lat" else macs[0]
        args = [f"hcasim{end}", f"--{role}", *iterations, "-s", 512, "-E", to, "-B", macs[end], *more]
        return f"stdbuf -oL {program} -d " + " ".join(map(str, args))

    script = (
        f"{command(0, 'server')} > {log} 2>&1 & server=$!; "
        f"tail -n +1 -f --pid=$server {log} | grep -qm1 '#bytes' || exit 3; "
        f"{command(1, 'client')} && wait $server"
    )
    result = Machine(hcas=2).run("bash", "-c", script)
    assert result.status == 0, result.output + log.read_text()
    assert re.search(r"^ 512 +50[04] ", result.output, re.M), result.output


def test_no_srq():
    """ibv_create_qp(3), NOTES: only RC and UD QPs are created with an SRQ."""
    mac = adapter_macs()[0]
    options = f"-d hcasim0 --server -n 8 -s 512 -E {mac} -B {mac} --use-srq"
    result = Machine().run("raw_ethernet_bw", *options.split())
    assert result.status == 1 and "Failed to create QP" in result.output, result.output
