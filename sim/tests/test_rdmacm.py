# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Programs of the connection manager: rdma-core's examples, both its build's and Debian's, and perftest -R."""
import pytest

from conftest import Machine

SERVER = "10.77.0.1"  # hcasim0
CLIENT = "10.77.0.2"  # hcasim1

# (server, client): what both print when all went well; the client's arguments come after the common ones.
PROGRAMS = {
    "rping": (["rping", "-C", "20", "-s"], ["rping", "-C", "20", "-c", "-a", SERVER]),
    "rping-two-adapters": (
        ["rping", "-C", "20", "-S", "4096", "-s", "-a", SERVER],
        ["rping", "-C", "20", "-S", "4096", "-c", "-a", SERVER, "-I", CLIENT],
    ),
    "ucmatose": (["ucmatose", "-c", "8", "-C", "10", "-S", "2000"], None),
    "udaddy": (["udaddy", "-c", "8", "-C", "10"], None),
    "rdma_client": (["rdma_server"], ["rdma_client", "-s", SERVER]),
}


def on_machine(server, client, system):
    machine = Machine(hcas=2, system=system)
    client = client or [*server, "-s", SERVER]
    return machine.run_pair([machine.bin / server[0], *server[1:]], [machine.bin / client[0], *client[1:]])


@pytest.mark.parametrize("system", [False, True], ids=["56.1", "debian"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, system):
    on_machine(*PROGRAMS[name], system)


@pytest.mark.parametrize("system", [False, True], ids=["56.1", "debian"])
def test_multicast(system):
    receiver = ["mckey", "-m", "239.1.1.1", "-b", SERVER]
    sender = ["mckey", "-m", "239.1.1.1", "-b", CLIENT, "-s"]
    ends = on_machine(receiver, sender, system)
    assert "return status 0" in ends.server and "return status 0" in ends.client


@pytest.mark.once
def test_once():
    for name in ("rping-two-adapters", "udaddy"):
        on_machine(*PROGRAMS[name], False)
