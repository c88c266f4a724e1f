# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""UCX, libfabric, Open MPI and MPICH from Debian, unmodified. docs/running.md explains the variables."""
import json
import re
import subprocess

import pytest

from conftest import HERE, Machine, describe, free_port, last_json, pair_command

PACKETS = "/sys/class/infiniband/{}/ports/1/counters/port_xmit_packets"
UCX_ERROR = re.compile(r"UCX\s+(?:ERROR|WARN|FATAL).*")


def count_packets(adapters):
    return ["cat", *(PACKETS.format(adapter) for adapter in adapters)]


def run_pair(server, client, adapters=("hcasim0", "hcasim1")):
    """Checks that both ends succeed; returns their output and the number of packets each adapter sent."""
    machine = Machine(hcas=2)
    result = machine.run(*pair_command(server, client, after=count_packets(adapters)))
    ends = last_json(result.output)
    assert all(end["status"] == 0 for end in ends.values()), describe(ends)
    assert result.status == 0, result.output
    packets = [int(line) for line in ends["after"]["output"].split()]
    return ends["server"]["output"], ends["client"]["output"], packets


# ---- UCX ----


def ucx_perftest(test, size, iterations, transports, adapters=("hcasim0:1", "hcasim1:1"), more=()):
    flags = ["-p", free_port(), "-t", test, "-s", size, "-n", iterations, "-w", 5]
    ends = [
        ["env", f"UCX_TLS={transports}", f"UCX_NET_DEVICES={adapter}", *more, "ucx_perftest"]
        for adapter in adapters
    ]
    server, client, packets = run_pair([*ends[0], *flags[:2]], [*ends[1], *flags, "localhost"])
    for output in (server, client):
        assert not UCX_ERROR.search(output), output
    # `inf`: rate since the previous line, if that line was printed after the last message.
    row = re.search(r"^Final:\s+(\d+)(?:\s+(?:[\d.]+|inf))+$", client, re.M)
    assert row and int(row[1]) == iterations, client
    return packets


@pytest.mark.parametrize("size", [8, 1000, 100000])
@pytest.mark.parametrize(
    "test",
    ["tag_lat", "tag_bw", "tag_sync_lat", "stream_bw", "stream_lat", "ucp_am_bw", "ucp_am_lat", "ucp_put_lat"]
    + ["ucp_put_bw", "ucp_get"],
)
def test_ucx(test, size):
    packets = ucx_perftest(test, size, 200, "ib")
    assert min(packets) > 100, packets


@pytest.mark.parametrize("test", ["ucp_add", "ucp_fadd", "ucp_swap", "ucp_cswap"])
def test_ucx_atomics(test):
    assert min(ucx_perftest(test, 8, 200, "ib")) > 100


@pytest.mark.parametrize("transports", ["rc_v", "ud_v"])
def test_ucx_transports(transports):
    """rc_v connects over UD; ud_v sends everything over UD, in packets of the path's MTU."""
    packets = ucx_perftest("tag_bw", 100000, 100, transports)
    assert packets[1] > 100 * 100000 / 4096


def test_ucx_over_ipv6():
    """Without the variable UCX chooses the first IPv4 entry of the GID table."""
    assert min(ucx_perftest("tag_lat", 1000, 200, "ud_v", more=["UCX_IB_GID_INDEX=0"])) > 200


def test_ucx_on_one_adapter():
    sent, idle = ucx_perftest("tag_bw", 1000, 200, "ib", adapters=("hcasim0:1", "hcasim0:1"))
    assert sent > 200 and idle == 0


@pytest.mark.once
def test_ucx_finds_the_adapter():
    """With UCX's hooks of memory mapping calls, which are on by default."""
    result = Machine().run("ucx_info", "-d")
    assert result.status == 0 and not UCX_ERROR.search(result.output), result.output
    found = set(re.findall(r"Transport: (\w+)\s+#\s+Device: hcasim0:1", result.output))
    assert found >= {"rc_verbs", "ud_verbs"}


# ---- libfabric ----

FABRIC_SIZES = ["64", "256", "1k", "4k", "64k", "1m"]


def fi_pingpong(provider, endpoint, sizes, iterations=50):
    """Checks the messages at both ends (-c). Returns how many packets each adapter sent."""
    port = free_port()
    command = ["fi_pingpong", "-c", "-I", iterations, "-p", provider, "-e", endpoint]
    server, client, packets = run_pair([*command, "-B", port], [*command, "-P", port, "127.0.0.1"])
    for output in (server, client):
        rows = re.findall(r"^(\w+)\s+(\d+)\s+=(\d+)\s", output, re.M)
        assert rows == [(size, str(iterations), str(iterations)) for size in sizes], output
    return packets


@pytest.mark.parametrize(
    "provider, endpoint",
    [("verbs;ofi_rxd", "rdm"), ("verbs;ofi_rxm", "rdm"), ("verbs", "msg")],
)
def test_libfabric(provider, endpoint):
    """Reliable datagrams over UD, and over RC; connections, which need rdma_cm."""
    assert max(fi_pingpong(provider, endpoint, FABRIC_SIZES)) > 2 * 50 * (1 << 20) / 4096


def test_libfabric_datagrams():
    assert max(fi_pingpong("verbs", "dgram", FABRIC_SIZES[:4])) > 4 * 50


# ---- MPI ----


def compile_mpi(tmp_path_factory, compiler):
    program = tmp_path_factory.mktemp("mpi") / "mpi_exchange"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *flags, str(HERE / "mpi_exchange.c"), "-o", str(program)], check=True)
    return program


@pytest.fixture(scope="module")
def open_mpi_program(tmp_path_factory):
    return compile_mpi(tmp_path_factory, "mpicc.openmpi")


@pytest.fixture(scope="module")
def mpich_program(tmp_path_factory):
    return compile_mpi(tmp_path_factory, "mpicc.mpich")


def run_mpi(*job):
    script = "import json, subprocess, sys; done = subprocess.run(json.loads(sys.argv[1])).returncode; "
    script += "print(*(open(name).read().strip() for name in sys.argv[2:])); sys.exit(done)"
    adapters = [PACKETS.format(f"hcasim{i}") for i in range(2)]
    result = Machine(hcas=2).run("/usr/bin/python3", "-c", script, json.dumps(job), *adapters)
    assert result.status == 0, result.output
    assert "2 ranks, 29 messages, 0 errors" in result.output
    assert not UCX_ERROR.search(result.output), result.output
    assert sum(map(int, result.output.splitlines()[-1].split())) > 1000


@pytest.mark.parametrize("transports", ["ib", "rc_v", "ud_v"])
def test_open_mpi(open_mpi_program, transports):
    """mpirun has to run as root, and with two ranks on any number of cores."""
    mpirun = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2"]
    modules = ["--mca", "pml", "ucx", "--mca", "osc", "ucx"]
    run_mpi(*mpirun, *modules, "-x", f"UCX_TLS={transports},self", str(open_mpi_program))


@pytest.mark.parametrize("transports", ["ib", "rc_v", "ud_v"])
def test_mpich(mpich_program, transports):
    """Debian's MPICH uses UCX. Without MPIR_CVAR_NOLOCAL, two ranks on one host use shared memory."""
    settings = ["-genv", "MPIR_CVAR_NOLOCAL", "1", "-genv", "UCX_TLS", f"{transports},self"]
    run_mpi("mpirun.mpich", "-np", "2", *settings, str(mpich_program))
