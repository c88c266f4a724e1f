# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Network interfaces of the simulated adapters, from the simulated sysfs tree, in iproute2's words."""
import fcntl
import ipaddress
import os
import shutil
import socket
import struct
import sys

CLASS = "/sys/class/infiniband"


def read(*path):
    with open(os.path.join(CLASS, *path)) as file:
        return file.read().strip()


def addresses_of(device, port):
    """IP addresses behind the port's GIDs: IPv4 ones are mapped, link-local ones are themselves."""
    found = []
    gids = os.path.join(CLASS, device, "ports", port, "gids")
    for index in sorted(os.listdir(gids), key=int):
        address = ipaddress.IPv6Address(read(device, "ports", port, "gids", index))
        address = address.ipv4_mapped or address
        if int(address) and address not in found:
            found.append(address)
    return found


def mac_of(device, port):
    """From the link-local GID: a MAC with ff:fe in its middle and the universal bit turned."""
    for address in addresses_of(device, port):
        packed = address.packed
        if address.version == 6 and address.is_link_local and packed[11:13] == b"\xff\xfe":
            mac = bytes([packed[8] ^ 2]) + packed[9:11] + packed[13:]
            return ":".join(f"{byte:02x}" for byte in mac)
    return "00:00:00:00:00:00"


def is_up(device, name):
    return bool(int(read(device, "device", "net", name, "flags"), 16) & 1)


def set_link(name, up):
    """SIOCSIFFLAGS of netdevice(7), which the machine answers for its interfaces."""
    SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
    request = struct.Struct("16sH22x")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        _, flags = request.unpack(fcntl.ioctl(any_socket, SIOCGIFFLAGS, request.pack(name.encode(), 0)))
        flags = flags | IFF_UP if up else flags & ~IFF_UP
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, request.pack(name.encode(), flags))


def ports():
    """(device, port, network interface) of every port; the interface is None where there is none."""
    for device in sorted(os.listdir(CLASS)):
        for port in sorted(os.listdir(os.path.join(CLASS, device, "ports")), key=int):
            try:
                name = read(device, "ports", port, "gid_attrs", "ndevs", "0")
            except OSError:
                name = None
            yield device, port, name


def real_program(name):
    """The system's own `name`: the next one in PATH that is not in this folder."""
    here = os.path.dirname(os.path.abspath(__file__))
    rest = [folder for folder in os.environ.get("PATH", "").split(":") if os.path.abspath(folder) != here]
    return shutil.which(name, path=":".join([*rest, "/usr/sbin", "/sbin", "/usr/bin"]))


def run_real(name, args):
    program = real_program(name)
    if not program:
        print(f"{name}: not installed; only simulated interfaces are known", file=sys.stderr)
        sys.exit(127)
    os.execv(program, [name, *args])
