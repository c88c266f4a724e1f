# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The adapters' network interfaces, as programs that do not use verbs see them."""
import json
import re
import socket
import subprocess

import pytest

from conftest import PYTHON, Machine

MAC = "02:68:63:61:00:01"
LINK_LOCAL = "fe80::68:63ff:fe61:1"

ASK = """
import array, fcntl, json, os, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def ifreq(request, name, value=b""):
    return fcntl.ioctl(s, request, struct.pack("16s24s", name.encode(), value))[16:]
def address(request):
    return socket.inet_ntoa(ifreq(request, "ens3")[4:8])
def number(request):
    return struct.unpack_from("i", ifreq(request, "ens3"))[0]
def conf(size):
    room = array.array("B", bytes(size))
    answer = fcntl.ioctl(s, 0x8912, struct.pack("iP", size, room.buffer_info()[0] if size else 0))
    return struct.unpack_from("i", answer)[0], bytes(room)
def ethtool(command, size):
    data = array.array("B", struct.pack("I", command) + bytes(size - 4))
    fcntl.ioctl(s, 0x8946, struct.pack("16sP16x", b"ens3", data.buffer_info()[0]))
    return bytes(data)
def fails(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return error.errno
length, list_ = conf(4000)
driver = ethtool(3, 196)
print(json.dumps({
    "names": socket.if_nameindex(),
    "indices": [socket.if_nametoindex("ens3"), socket.if_indextoname(socket.if_nametoindex("ens4"))],
    "addresses": [address(0x8915), address(0x891B), address(0x8919)],
    "mac": ifreq(0x8927, "ens3")[2:8].hex(":"),
    "mtu": number(0x8921),
    "index": number(0x8933),
    "name": fcntl.ioctl(s, 0x8910, struct.pack("16xi20x", 100))[:4].decode(),
    "conf": [list_[at : at + 16].rstrip(b"\\0").decode() for at in range(0, length, 40)],
    "conf length": conf(0)[0] == length,
    "short conf": conf(79)[0],
    "driver": [driver[at : at + 32].rstrip(b"\\0").decode() for at in (4, 100)],
    "link": struct.unpack_from("I", ethtool(10, 8), 4)[0],
    "speed": struct.unpack_from("H", ethtool(1, 44), 12)[0],
    "no such setting": fails(ifreq, 0x8922, "ens3"),
    "no such interface": fails(ifreq, 0x8933, "ens9"),
    "resolved": socket.getaddrinfo("fe80::1%ens4", 7, type=socket.SOCK_STREAM)[0][4],
    "named": socket.getnameinfo(("fe80::1", 7, 0, 102), socket.NI_NUMERICHOST | socket.NI_NUMERICSERV),
    "folder": sorted(os.listdir("/sys/class/net")),
    "relative": sorted(os.listdir(os.open("/sys/class", 0)) and os.listdir(os.open("/sys/class/net", 0))),
    "proc": [line.split(":")[0].strip() for line in open("/proc/net/dev")][2:],
}))
"""


@pytest.fixture(scope="module")
def report():
    result = Machine(hcas=2).run(PYTHON, "-c", ASK)
    assert result.status == 0, result.output
    return json.loads(result.output)


def test_names_and_indices(report):
    host = [list(entry) for entry in socket.if_nameindex()]
    assert report["names"] == [*host, [100, "ens3"], [102, "ens4"]]
    assert report["indices"] == [100, "ens4"] and report["index"] == 100 and report["name"] == "ens3"
    assert report["proc"][-2:] == ["ens3", "ens4"] and "lo" in report["proc"]


def test_addresses(report):
    assert report["addresses"] == ["10.77.0.1", "255.255.255.0", "10.77.0.255"]
    assert report["mac"] == MAC and report["mtu"] == 4200
    assert report["conf"][-2:] == ["ens3", "ens4"] and report["conf length"] and report["short conf"] == 40


def test_what_is_not_there_is_an_error(report):
    assert report["no such setting"] == 95 and report["no such interface"] == 19  # EOPNOTSUPP, ENODEV


def test_driver_and_link(report):
    assert report["driver"][1] == "0000:00:03.0" and report["driver"][0]
    assert report["link"] == 1 and report["speed"] == 200000 % 65536


def test_scopes_of_link_local_addresses(report):
    assert report["resolved"] == ["fe80::1", 7, 0, 102] and report["named"] == ["fe80::1%ens4", "7"]


def test_the_folder_of_interfaces(report):
    assert {"ens3", "ens4"} <= set(report["folder"]) and report["folder"] == report["relative"]
    shell = "for i in /sys/class/net/*; do [ -e $i/address ] || echo $i; done; ls -l /sys/class/net/ /sys/class/net/ens3/"
    result = Machine().run("sh", "-c", shell)
    assert result.status == 0 and "ens3 -> ../../devices/pci" in result.output, result.output
    for name in ("address", "mtu", "operstate", "ifindex", "type", "device"):
        assert f" {name}\n" in result.output or f" {name} ->" in result.output


def test_ifconfig():
    one = Machine().run("ifconfig", "ens3").output
    assert "mtu 4200" in one and "inet 10.77.0.1  netmask 255.255.255.0  broadcast 10.77.0.255" in one
    assert f"inet6 {LINK_LOCAL}  prefixlen 64  scopeid 0x20<link>" in one and f"ether {MAC}" in one
    of_host = subprocess.run(["ifconfig", "lo"], capture_output=True, text=True, check=True).stdout
    every = Machine(hcas=2).run("ifconfig", "-a").output
    # The host's own interfaces, whichever it has, stay in the list.
    assert {"ens3", "ens4", "lo"} <= set(re.findall(r"^(\w+): ", every, re.M))
    assert of_host.split("RX")[0] in every


# ---- netlink: iproute2, ethtool


def ip(*arguments, hcas=2, before="true"):
    """What `ip -j` prints on a machine, after a shell command."""
    words = " ".join(arguments)
    result = Machine(hcas=hcas).run("sh", "-c", f"{before}; ip -j {words}")
    assert result.status == 0, result.output
    return json.loads(result.output.splitlines()[-1])


def of_host(*arguments):
    return json.loads(subprocess.run(["ip", "-j", *arguments], capture_output=True, check=True).stdout)


def test_ip_lists_the_hosts_interfaces_and_ours():
    entries = ip("addr", "show")
    assert entries[:-2] == of_host("addr", "show")
    assert [entry["ifname"] for entry in entries[-2:]] == ["ens3", "ens4"]
    assert [info["local"] for info in entries[-2]["addr_info"]] == ["10.77.0.1", LINK_LOCAL]
    assert ip("link", "show")[:-2] == of_host("link", "show")


@pytest.mark.parametrize("command", ["addr", "link"])
def test_ip_shows_one_interface(command):
    (entry,) = ip(command, "show", "dev", "ens4")
    assert entry["ifname"] == "ens4" and entry["address"] == "02:68:63:61:00:02" and entry["mtu"] == 4200
    assert entry["flags"] == ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"] and entry["operstate"] == "UP"
    if command == "addr":
        families = {info["family"]: (info["prefixlen"], info["scope"]) for info in entry["addr_info"]}
        assert families == {"inet": (24, "global"), "inet6": (64, "link")}


@pytest.mark.parametrize("family, address", [("-4", "10.77.0.2/24"), ("-6", "fe80::68:63ff:fe61:2/64")])
def test_ip_in_brief(family, address):
    lines = Machine(hcas=2).run("ip", "-br", family, "addr").output.splitlines()
    assert lines[-1].split() == ["ens4", "UP", address] and lines[0].startswith("lo ")


def test_ip_of_a_host_interface_is_the_kernels():
    assert ip("addr", "show", "dev", "lo") == of_host("addr", "show", "dev", "lo")


def test_ip_sets_nothing_but_up_and_down():
    result = Machine().run(
        "sh", "-c", "ip addr add 1.2.3.4/24 dev ens3; ip link del ens3; ip link set ens3 mtu 1500"
    )
    assert result.output.splitlines() == ["RTNETLINK answers: Operation not supported"] * 3
    (entry,) = ip("link", "show", "ens3", before="ip link set ens3 down")
    assert entry["operstate"] == "DOWN" and "UP" not in entry["flags"]


DUMPS = """
import socket, struct
def dump(kind, room, peek):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    s.sendto(struct.pack("=IHHIIB15x", 32, kind, 0x301, 7, 0, 0), (0, 0))
    indices = []
    while True:
        size = len(s.recv(room, socket.MSG_PEEK)) if peek else None
        data = s.recvfrom(room)[0] if peek else s.recvmsg(room)[0]
        assert size in (None, len(data))
        while data:
            length, kind, _, seq = struct.unpack_from("=IHHI", data)
            assert seq == 7 and length <= len(data)
            if kind == 3:
                return indices
            indices.append(struct.unpack_from("=i", data, 20)[0])
            data = data[(length + 3) & ~3 :]
for kind in (18, 22):
    answers = [dump(kind, room, peek) for room in (4096, 32768) for peek in (False, True)]
    assert all(answer == answers[0] for answer in answers) and 102 in answers[0] and 1 in answers[0], answers
"""


def test_dumps_in_every_way_of_receiving():
    result = Machine(hcas=2).run(PYTHON, "-c", DUMPS)
    assert result.status == 0, result.output


def test_ethtool():
    result = Machine().run("sh", "-c", "ethtool ens3; ethtool -i ens3; ethtool -P ens3; ethtool lo")
    assert "Speed: 200000Mb/s" in result.output and "Duplex: Full" in result.output
    assert "bus-info: 0000:00:03.0" in result.output and f"Permanent address: {MAC}" in result.output
    assert result.output.count("Link detected: yes") == 2, result.output


def test_rdma():
    machine = Machine(hcas=2)
    assert machine.run("rdma", "link", "show", "hcasim1/1").output == (
        "link hcasim1/1 state ACTIVE physical_state LINK_UP netdev ens4 \n"
    )
    (device,) = json.loads(machine.run("rdma", "-j", "dev", "show", "hcasim0").output)
    assert device["ifname"] == "hcasim0" and device["node_type"] == "ca"
    wrong = machine.run("rdma", "link", "show", "mlx5_0")
    assert wrong.status and "mlx5_0" in wrong.output


# ---- TCP at the adapters' addresses, with IPv6 sockets

STREAMS = """
import socket
six = socket.AF_INET6
for host, scope in (("fe80::68:63ff:fe61:1", 100), ("::ffff:10.77.0.1", 0)):
    listener = socket.socket(six)
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1 if scope else 0)
    listener.bind((host, 0, 0, scope))
    listener.listen()
    stream = socket.socket(six)
    stream.connect((host, listener.getsockname()[1], 0, scope))
    for name in (listener.getsockname(), stream.getpeername(), stream.getsockname(), listener.accept()[1]):
        assert (name[0], name[3]) == (host, scope), name
"""


def test_streams_at_ipv6_addresses():
    result = Machine().run(PYTHON, "-c", STREAMS)
    assert result.status == 0, result.output
