# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""rdma-core's pingpong programs: server and client as two processes, on two adapters and on one."""
import pytest

from conftest import Machine, free_port

ITERATIONS = 1000
SIZES = [1, 64, 1500, 4096, 65536, 1048576]


def pingpong(machine, transport, gid_index, size, *flags, iterations=ITERATIONS):
    """One run; both ends validate what they received."""
    program = machine.bin / f"ibv_{transport}_pingpong"
    common = ["-p", free_port(), "-g", gid_index, "-s", size, "-n", iterations, *flags]
    server_device, client_device = machine.pair_devices()
    ends = machine.run_pair(
        [program, "-d", server_device, *common], [program, "-d", client_device, *common, "localhost"]
    )
    for output in (ends.server, ends.client):
        assert f"{iterations} iters in" in output, output
        assert f"{size * iterations * 2} bytes in" in output, output
        assert "invalid data" not in output, output


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("flags", [[], ["-e"]], ids=["poll", "events"])
@pytest.mark.parametrize("hcas", [2, 1])
@pytest.mark.parametrize("transport", ["rc", "uc"])
def test_connected(transport, hcas, flags, size, gid_index):
    pingpong(Machine(hcas=hcas), transport, gid_index, size, "-c", *flags)


@pytest.mark.parametrize("size", [1, 64, 1024, "mtu"])
@pytest.mark.parametrize("flags", [[], ["-e"]], ids=["poll", "events"])
@pytest.mark.parametrize("hcas", [2, 1])
def test_datagram(hcas, flags, size, gid_index, active_mtu):
    size = active_mtu if size == "mtu" else size
    pingpong(Machine(hcas=hcas), "ud", gid_index, size, "-c", *flags)


@pytest.mark.parametrize("mtu", [256, 512, 1024, 2048, 4096])
def test_every_path_mtu(mtu, gid_index):
    pingpong(Machine(hcas=2), "rc", gid_index, 10000, "-c", "-m", mtu, iterations=100)


def test_new_post_api(gid_index):
    """-N posts through ibv_wr_*, -t reads completion time stamps through the extended CQ."""
    pingpong(Machine(hcas=2), "rc", gid_index, 4096, "-c", "-N")
    pingpong(Machine(hcas=2), "rc", gid_index, 4096, "-c", "-t")


@pytest.mark.parametrize("flags", [[], ["-e"]], ids=["poll", "events"])
@pytest.mark.parametrize("hcas", [2, 1])
def test_shared_receive_queue(hcas, flags, gid_index):
    pingpong(Machine(hcas=hcas), "srq", gid_index, 4096, *flags)


@pytest.mark.parametrize("flags", [[], ["-e"]], ids=["poll", "events"])
@pytest.mark.parametrize("hcas", [2, 1])
def test_xrc(hcas, flags, gid_index):
    """Both processes open the XRC domain of one file."""
    machine = Machine(hcas=hcas)
    server_device, client_device = machine.pair_devices()
    common = [machine.bin / "ibv_xsrq_pingpong", "-p", free_port(), "-g", gid_index, *flags]
    ends = machine.run_pair([*common, "-d", server_device], [*common, "-d", client_device, "localhost"])
    assert "success" in ends.server and "success" in ends.client


@pytest.mark.once
@pytest.mark.parametrize("transport", ["rc", "uc", "ud"])
def test_once(transport, gid_index):
    pingpong(Machine(hcas=2), transport, gid_index, 1024, "-c", "-e", iterations=100)
    pingpong(Machine(hcas=1), transport, gid_index, 1024, "-c", iterations=100)
