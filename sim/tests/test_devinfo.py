# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Programs that query: device lists, ibv_devinfo, ip, rdma; and links that are set down and up."""
import json
import re

import pytest

from conftest import PYTHON, Machine


@pytest.mark.once
def test_devinfo_verbose_names_the_device(devinfo):
    assert re.search(r"hca_id:\s+hcasim0", devinfo)
    assert re.search(r"transport:\s+InfiniBand", devinfo)
    assert re.search(r"link_layer:\s+Ethernet", devinfo)
    assert re.search(r"state:\s+PORT_ACTIVE", devinfo)


@pytest.mark.parametrize("hcas", [1, 2, 16])
def test_every_adapter_is_listed_once(hcas):
    machine = Machine(hcas=hcas)
    result = machine.run(machine.bin / "ibv_devices")
    assert result.status == 0, result.output
    names = re.findall(r"^\s+(hcasim\d+)\s+([0-9a-f]{16})$", result.output, re.M)
    assert sorted(name for name, _ in names) == sorted(f"hcasim{index}" for index in range(hcas))
    assert len({guid for _, guid in names}) == hcas


def test_adapters_have_addresses_of_their_own():
    machine = Machine(hcas=2)
    result = machine.run(machine.bin / "ibv_devinfo", "-v")
    gids = re.findall(r"GID\[\s*\d+\]:\s+(\S+), RoCE v2", result.output)
    assert gids and len(set(gids)) == len(gids), result.output


def test_exit_status_is_the_programs_own():
    assert Machine().run("/bin/sh", "-c", "exit 7").status == 7


def test_an_unknown_device_is_reported_by_the_program():
    machine = Machine()
    result = machine.run(machine.bin / "ibv_devinfo", "-d", "mlx5_0")
    assert result.status != 0
    assert "mlx5_0" in result.output


def link_states(machine, set_down):
    """The state of both adapters' links in `ip`, `rdma`, SIOCGIFFLAGS and getifaddrs() after a command."""
    ask = """
import ctypes, ctypes.util, fcntl, json, socket, struct, subprocess
def output(*command):
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
class Entry(ctypes.Structure):
    pass
Entry._fields_ = [("next", ctypes.POINTER(Entry)), ("name", ctypes.c_char_p), ("flags", ctypes.c_uint)]
libc = ctypes.CDLL(None)
entry, listed = ctypes.POINTER(Entry)(), {}
assert libc.getifaddrs(ctypes.byref(entry)) == 0
while entry:
    listed[entry.contents.name.decode()] = entry.contents.flags & 1
    entry = entry.contents.next
any_socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for link in output("rdma", "link", "show", "-j"):
    name = link["netdev"]
    shown = output("ip", "-j", "addr", "show", "dev", name)[0]
    flags = struct.unpack("16sH22x", fcntl.ioctl(any_socket, 0x8913, struct.pack("16s24x", name.encode())))[1]
    print(link["state"], shown["operstate"], "UP" in shown["flags"], flags & 1, listed[name])
"""
    result = machine.run("/bin/sh", "-ec", f'{set_down}; exec {PYTHON} -c "$0"', ask)
    assert result.status == 0, result.output
    return result.output.splitlines()


@pytest.mark.once
@pytest.mark.parametrize(
    "command", ["ip link set dev {} {}", "ip link set {1} dev {0}", "/sbin/ifconfig {} {}"]
)
def test_a_link_goes_down_and_up(command):
    up, down = "ACTIVE UP True 1 1", "DOWN DOWN False 0 0"
    set_down = command.format("ens4", "down")
    assert link_states(Machine(hcas=2), set_down) == [up, down]
    assert link_states(Machine(hcas=2), set_down + "; " + command.format("ens4", "up")) == [up, up]


@pytest.mark.parametrize(
    "arguments, error",
    [
        ("dev ens3 sideways", '"sideways" is a garbage'),
        ("ens3 mtu 1500", "Operation not supported"),
        ("ens3 promisc on", "Operation not supported"),
        ("dev ens5 down", 'Cannot find device "ens5"'),
    ],
)
def test_wrong_settings_of_a_link(arguments, error):
    machine = Machine(hcas=2)
    result = machine.run("/bin/sh", "-c", f"ip link set {arguments} && exit 100; exec rdma link show -j")
    assert result.status == 0 and error in result.output, result.output
    assert [link["state"] for link in json.loads(result.output.splitlines()[-1])] == ["ACTIVE", "ACTIVE"]
