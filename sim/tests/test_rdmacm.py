# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Programs of the connection manager: rdma-core's examples, built here and from Debian, and perftest -R."""
import json
import os
import re
import signal
import subprocess

import pytest

from conftest import NIGHTLY, Machine, describe, last_json, pair_command

SERVER = "10.77.0.1"  # hcasim0
CLIENT = "10.77.0.2"  # hcasim1
LINK_LOCAL = "fe80::68:63ff:fe61:"  # followed by the adapter's number
ONE = ["-S", "1000", "-C", "20"]  # size and number of transfers, of the stream programs

# name: (server, client; None: the server's with -s SERVER, more for pair.py)
PROGRAMS = {
    "rping": (["rping", "-C", "20", "-s"], ["rping", "-C", "20", "-v", "-c", "-a", SERVER], {}),
    "rping-two-adapters": (
        ["rping", "-C", "20", "-S", "4096", "-s", "-a", SERVER],
        ["rping", "-C", "20", "-S", "4096", "-V", "-c", "-a", SERVER, "-I", CLIENT],
        {},
    ),
    "rping-link-local": (
        ["rping", "-C", "20", "-s", "-a", f"{LINK_LOCAL}1%ens3"],
        ["rping", "-C", "20", "-v", "-c", "-a", f"{LINK_LOCAL}1%ens4", "-I", f"{LINK_LOCAL}2%ens4"],
        {},
    ),
    "ucmatose": (["ucmatose", "-c", "8", "-C", "10", "-S", "2000"], None, {}),
    "udaddy": (["udaddy", "-c", "8", "-C", "10"], None, {}),
    "rdma_client": (["rdma_server"], ["rdma_client", "-s", SERVER], {}),
    "rdma_xclient-rc": (["rdma_xserver"], None, {}),
    "rdma_xclient-xrc": (["rdma_xserver", "-c", "x"], ["rdma_xclient", "-c", "x", "-s", SERVER], {}),
    "rstream": (["rstream", *ONE], None, {}),
    "rstream-blocking": (["rstream", "-T", "b", "-T", "v", *ONE], None, {}),
    "riostream": (["riostream", *ONE], None, {}),
}


# On mlx5 all of them in the night only.
FAMILIES = [("native", name) for name in PROGRAMS]
FAMILIES += [("mlx5", name) for name in (PROGRAMS if NIGHTLY else ["rping-two-adapters"])]


def on_machine(server, client, more, system=False, family="native"):
    machine = Machine(hcas=2, system=system, options=["--device", family])
    client = client or [server[0].replace("xserver", "xclient"), *server[1:], "-s", SERVER]
    commands = [[machine.bin / command[0], *command[1:]] for command in (server, client)]
    return machine.run_pair(*commands, **more)


@pytest.mark.cover(1)
@pytest.mark.parametrize("system", [False, True], ids=["56.1", "debian"])
@pytest.mark.parametrize("family, name", FAMILIES)
def test_program(family, name, system):
    on_machine(*PROGRAMS[name], system, family)


@pytest.mark.parametrize("system", [False, True], ids=["56.1", "debian"])
def test_multicast(system):
    receiver = ["mckey", "-m", "239.1.1.1", "-b", SERVER]
    sender = ["mckey", "-m", "239.1.1.1", "-b", CLIENT, "-s"]
    ends = on_machine(receiver, sender, {}, system)
    assert "return status 0" in ends.server and "return status 0" in ends.client


def test_many_connections():
    """cmtime listens twice: for RDMA, and for a TCP connection at the same address."""
    on_machine(["cmtime", "-c", "50"], ["cmtime", "-c", "50", "-s", SERVER], {"calls": 2})


def test_many_connections_debian():
    """The server of that version does not end."""
    on_machine(["cmtime", "-c", "50"], ["cmtime", "-c", "50", "-s", SERVER], {"endless": True}, True)


@pytest.mark.parametrize("system", [False, True], ids=["56.1", "debian"])
def test_a_persistent_server(system):
    rping = Machine(system=system).bin / "rping"
    thrice = f"for i in 1 2 3; do {rping} -c -a {SERVER} -C 5 || exit; done"
    machine = Machine(hcas=2, system=system)
    machine.run_pair([rping, "-s", "-P"], ["sh", "-c", thrice], endless=True)


def test_a_file_by_sockets(tmp_path):
    """rcopy, over rsockets: the copy has every byte."""
    machine = Machine(hcas=2)
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.write_bytes(bytes(range(256)) * 1000)
    rcopy = machine.bin / "rcopy"
    machine.run_pair([rcopy], [rcopy, source, f"{SERVER}:{copy}"], endless=True)
    assert copy.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("system", [False, True], ids=["56.1", "debian"])
def test_datagram_sockets(system):
    """librdmacm's datagram sockets are for InfiniBand: they create address handles without a GID, which RoCE
    ports refuse (docs/connection-manager.md). A socket with an adapter's address gets a clear error.
    """
    machine = Machine(hcas=2, system=system)
    udpong = machine.bin / "udpong"
    client = [udpong, "-C", "20", "-s", SERVER]
    result = machine.run(*pair_command([udpong], client, endless=True))
    ends = last_json(result.output)
    assert ends["client"]["status"] == 255 and "rconnect: " in ends["client"]["output"], describe(ends)


SOURCES = """
import socket
listener = socket.create_server(("10.77.0.1", 0))
stream = socket.create_connection(listener.getsockname())
peer = listener.accept()[1]
datagrams = socket.socket(type=socket.SOCK_DGRAM)
datagrams.connect(("10.77.0.2", 7))
print(stream.getsockname()[0], peer[0], datagrams.getsockname()[0])
"""


def test_the_source_of_a_connection_is_an_adapters_address():
    """As on a Linux host that has both addresses: packets to a local address come from that address."""
    result = Machine(hcas=2).run("/usr/bin/python3", "-c", SOURCES)
    assert result.output.split() == [SERVER, SERVER, CLIENT], result.output


PERFTEST = [
    ["ib_write_bw"],
    ["ib_send_lat"],
    ["ib_read_bw"],
    ["ib_atomic_lat"],
    ["ib_send_bw", "-c", "UD", "-s", "1024"],
    ["ib_send_bw", "-q", "4"],
]


@pytest.mark.parametrize("command", PERFTEST, ids=" ".join)
def test_perftest(command):
    machine = Machine(hcas=2, system=True)
    program = [machine.bin / command[0], *command[1:], "-R", "-F", "-n", "100"]
    server = [*program, "-d", "hcasim0"]
    client = [*program, "-d", "hcasim0", SERVER]
    machine.run_pair(server, client, gate=2)


def decode(pcap):
    """Wireshark's text for every management datagram: (source, destination, message)."""
    fields = ["ip.src", "ip.dst", "_ws.col.Info"]
    command = ["tshark", "-r", str(pcap), "-Y", "infiniband.bth.destqp == 1", "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [tuple(line.split("\t")) for line in lines]


def test_the_wire(tmp_path):
    machine = Machine(hcas=2, options=["--trace", str(tmp_path)])
    rping = machine.bin / "rping"
    machine.run_pair([rping, "-s", "-C", "1"], [rping, "-c", "-a", SERVER, "-I", CLIENT, "-C", "1"])
    there, back = (CLIENT, SERVER), (SERVER, CLIENT)
    assert decode(tmp_path / "wire.pcap") == [
        (*there, "CM: ConnectRequest"),
        (*back, "CM: MsgRcptAck"),
        (*back, "CM: ConnectReply"),
        (*there, "CM: MsgRcptAck"),
        (*there, "CM: ReadyToUse"),
        (*there, "CM: DisconnectRequest"),
        (*back, "CM: DisconnectReply"),
    ]


def test_a_killed_server_is_noticed():
    """The connection ends with the server's process: the client is notified and ends by itself."""
    machine = Machine(hcas=2)
    rping = machine.bin / "rping"
    client = ["/usr/bin/stdbuf", "-oL", rping, "-v", "-c", "-a", SERVER, "-C", "1000000000"]
    process = machine.start_pair([rping, "-s"], client, announce="ping data")
    pids = json.loads(process.stdout.readline())
    os.kill(pids["server"], signal.SIGKILL)
    ends = last_json(process.communicate()[0])
    assert ends["server"]["status"] == -signal.SIGKILL
    assert re.search("DISCONNECT EVENT|cq completion failed", ends["client"]["output"])


@pytest.mark.once
def test_once():
    for name in ("rping-two-adapters", "udaddy"):
        on_machine(*PROGRAMS[name])
