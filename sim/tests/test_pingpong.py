# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""rdma-core's pingpong programs: server and client as two processes, on two adapters and on one."""
import pytest

from conftest import NIGHTLY, Machine, free_port

ITERATIONS = 1000 if NIGHTLY else 200
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


@pytest.mark.cover(2)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("flags", [[], ["-e"]], ids=["poll", "events"])
@pytest.mark.parametrize("hcas", [2, 1])
@pytest.mark.parametrize("transport", ["rc", "uc"])
def test_connected(transport, hcas, flags, size, gid_index):
    iterations = 100 if size > 65536 else ITERATIONS
    pingpong(Machine(hcas=hcas), transport, gid_index, size, "-c", *flags, iterations=iterations)


@pytest.mark.cover(1)
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


@pytest.mark.cover(1)
@pytest.mark.parametrize("flags", [[], ["-e"]], ids=["poll", "events"])
@pytest.mark.parametrize("hcas", [2, 1])
def test_shared_receive_queue(hcas, flags, gid_index):
    pingpong(Machine(hcas=hcas), "srq", gid_index, 4096, *flags)


@pytest.mark.parametrize(
    "flags", [["-q", 1], ["-q", 40, "-n", 100], ["-r", 40, "-n", 200], ["-m", 256, "-s", 10000, "-n", 100]]
)
def test_shared_receive_queue_sizes(flags, gid_index):
    """Few and many queue pairs, a short queue, messages of many packets."""
    machine = Machine(hcas=2)
    common = [machine.bin / "ibv_srq_pingpong", "-p", free_port(), "-g", gid_index, "-c", *flags]
    ends = machine.run_pair([*common, "-d", "hcasim0"], [*common, "-d", "hcasim1", "localhost"])
    for output in (ends.server, ends.client):
        assert "iters in" in output and "invalid data" not in output, output


@pytest.mark.cover(1)
@pytest.mark.parametrize("size", [[], ["-s", 10000, "-m", 256]], ids=["", "packets"])
@pytest.mark.parametrize("flags", [[], ["-e"]], ids=["poll", "events"])
@pytest.mark.parametrize("hcas", [2, 1])
def test_xrc(hcas, flags, size, gid_index):
    """Both processes open the XRC domain of one file."""
    machine = Machine(hcas=hcas)
    server_device, client_device = machine.pair_devices()
    common = [machine.bin / "ibv_xsrq_pingpong", "-p", free_port(), "-g", gid_index, *flags, *size]
    ends = machine.run_pair([*common, "-d", server_device], [*common, "-d", client_device, "localhost"])
    assert "success" in ends.server and "success" in ends.client


@pytest.mark.parametrize("flags", ["", "-e"], ids=["poll", "events"])
def test_xrc_several_clients(flags, gid_index):
    """The server answers through one client's queue pair to another client's SRQ: they share the adapter."""
    machine = Machine(hcas=2)
    program = f"{machine.bin}/ibv_xsrq_pingpong -p {free_port()} -g {gid_index} -n 20 {flags}"
    clients = "".join(f"{program} -d hcasim1 localhost & c{n}=$!; " for n in range(3))
    ends = machine.run_pair(
        ["sh", "-c", f"exec {program} -d hcasim0 -c 3"],
        ["sh", "-c", f"{clients} wait $c0 && wait $c1 && wait $c2"],
    )
    assert ends.client.count("success") == 3 and "success" in ends.server


@pytest.mark.once
@pytest.mark.parametrize("transport", ["rc", "uc", "ud"])
def test_once(transport, gid_index):
    pingpong(Machine(hcas=2), transport, gid_index, 1024, "-c", "-e", iterations=100)
    pingpong(Machine(hcas=1), transport, gid_index, 1024, "-c", iterations=100)
