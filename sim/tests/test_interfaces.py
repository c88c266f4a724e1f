# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The adapters' network interfaces as programs see them that were not written for verbs, beside the host's own."""
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
def told():
    result = Machine(hcas=2).run(PYTHON, "-c", ASK)
    assert result.status == 0, result.output
    return json.loads(result.output)


def test_names_and_indices(told):
    host = [list(entry) for entry in socket.if_nameindex()]
    assert told["names"] == [*host, [100, "ens3"], [102, "ens4"]]
    assert told["indices"] == [100, "ens4"] and told["index"] == 100 and told["name"] == "ens3"
    assert told["proc"][-2:] == ["ens3", "ens4"] and "lo" in told["proc"]


def test_addresses(told):
    assert told["addresses"] == ["10.77.0.1", "255.255.255.0", "10.77.0.255"]
    assert told["mac"] == MAC and told["mtu"] == 4200
    assert told["conf"][-2:] == ["ens3", "ens4"] and told["conf length"] and told["short conf"] == 40


def test_what_is_not_there_is_an_error(told):
    assert told["no such setting"] == 95 and told["no such interface"] == 19  # EOPNOTSUPP, ENODEV


def test_driver_and_link(told):
    assert told["driver"][1] == "0000:00:03.0" and told["driver"][0]
    assert told["link"] == 1 and told["speed"] == 200000 % 65536


def test_scopes_of_link_local_addresses(told):
    assert told["resolved"] == ["fe80::1", 7, 0, 102] and told["named"] == ["fe80::1%ens4", "7"]


def test_the_folder_of_interfaces(told):
    assert {"ens3", "ens4"} <= set(told["folder"]) and told["folder"] == told["relative"]
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
    assert (
        re.findall(r"^(\w+): ", every, re.M)[-3:] == ["ens3", "ens4", "lo"]
        and of_host.split("RX")[0] in every
    )
