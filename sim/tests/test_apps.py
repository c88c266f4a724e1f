# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""UCX, libfabric, Open MPI, MPICH and gloo from Debian, unmodified, on adapters of two families. docs/running.md explains
the variables."""
import json
import re
import signal
import subprocess

import pytest

from conftest import ADAPTERS, HERE, Machine, describe, families, free_port, last_json, pair_command

PACKETS = "/sys/class/infiniband/{}/ports/1/counters/port_xmit_packets"
UCX_ERROR = re.compile(r"UCX\s+(?:ERROR|WARN|FATAL).*")


def count_packets(adapters):
    return ["cat", *(PACKETS.format(adapter) for adapter in adapters)]


def start(family, hcas=2):
    return Machine(hcas=hcas, options=["--device", family])


def run_ends(family, server, client, **more):
    """Server and client, each with status and output, and the number of packets that each adapter sent."""
    after = count_packets(ADAPTERS[family])
    result = start(family).run(*pair_command(server, client, after=after, **more))
    ends = last_json(result.output)
    assert result.status == 0 or any(end["status"] for end in ends.values()), result.output
    packets = [int(line) for line in ends["after"]["output"].split()]
    return (ends["server"], ends["client"]), packets


def describe_pair(ends):
    return describe(dict(zip(("server", "client"), ends)))


def run_pair(family, server, client):
    """Checks that both ends succeed; returns their output and the number of packets each adapter sent."""
    ends, packets = run_ends(family, server, client)
    assert not any(end["status"] for end in ends), describe_pair(ends)
    return ends[0]["output"], ends[1]["output"], packets


# ---- UCX ----


def ucx_perftest(family, test, size, iterations, transports, ends=(0, 1), more=()):
    flags = ["-p", free_port(), "-t", test, "-s", size, "-n", iterations, "-w", 5]
    ends = [
        ["env", f"UCX_TLS={transports}", f"UCX_NET_DEVICES={ADAPTERS[family][end]}:1", *more, "ucx_perftest"]
        for end in ends
    ]
    server, client, packets = run_pair(family, [*ends[0], *flags[:2]], [*ends[1], *flags, "localhost"])
    for output in (server, client):
        assert not UCX_ERROR.search(output), output
    # `inf`: rate since the previous line, if that line was printed after the last message.
    row = re.search(r"^Final:\s+(\d+)(?:\s+(?:[\d.]+|inf))+$", client, re.M)
    assert row and int(row[1]) == iterations, client
    return packets


@families()
@pytest.mark.parametrize("size", [8, 1000, 100000])
@pytest.mark.parametrize(
    "test",
    ["tag_lat", "tag_bw", "tag_sync_lat", "stream_bw", "stream_lat", "ucp_am_bw", "ucp_am_lat", "ucp_put_lat"]
    + ["ucp_put_bw", "ucp_get"],
)
def test_ucx(test, size, family):
    packets = ucx_perftest(family, test, size, 200, "ib")
    assert min(packets) > 100, packets


@families()
@pytest.mark.parametrize("test", ["ucp_add", "ucp_fadd", "ucp_swap", "ucp_cswap"])
def test_ucx_atomics(test, family):
    assert min(ucx_perftest(family, test, 8, 200, "ib")) > 100


@families()
@pytest.mark.parametrize("transports", ["rc_v", "ud_v"])
def test_ucx_transports(transports, family):
    """rc_v connects over UD; ud_v sends everything over UD, in packets of the path's MTU."""
    packets = ucx_perftest(family, "tag_bw", 100000, 100, transports)
    assert packets[1] > 100 * 100000 / 4096


@pytest.mark.parametrize(
    "test, size", [("tag_bw", 100000), ("ucp_am_bw", 4000), ("ucp_get", 100000), ("ucp_fadd", 8)]
)
@pytest.mark.parametrize("transports", ["rc_x", "ud_x"])
def test_ucx_accelerated(transports, test, size):
    """UCX's own posting on mlx5: WQEs with inline data and SGEs, which no library of verbs makes."""
    assert max(ucx_perftest("mlx5", test, size, 200, transports)) > 200


def test_ucx_over_ipv6():
    """Without the variable UCX chooses the first IPv4 entry of the GID table."""
    assert min(ucx_perftest("native", "tag_lat", 1000, 200, "ud_v", more=["UCX_IB_GID_INDEX=0"])) > 200


def test_ucx_on_one_adapter():
    sent, idle = ucx_perftest("native", "tag_bw", 1000, 200, "ib", ends=(0, 0))
    assert sent > 200 and idle == 0


@pytest.mark.once
@families(every_time=True)
def test_ucx_finds_the_adapter(family):
    """With UCX's hooks of memory mapping calls, which are on by default."""
    result = start(family, hcas=1).run("ucx_info", "-d")
    assert result.status == 0 and not UCX_ERROR.search(result.output), result.output
    found = set(re.findall(rf"Transport: (\w+)\s+#\s+Device: {ADAPTERS[family][0]}:1", result.output))
    accelerated = {"rc_mlx5", "ud_mlx5"} if family == "mlx5" else set()
    assert found == {"rc_verbs", "ud_verbs"} | accelerated


# ---- libfabric ----

FABRIC_SIZES = ["64", "256", "1k", "4k", "64k", "1m"]
# What ofi_rxm of libfabric 1.17 may do after the last message, if the host is so busy that the peer has left before it
# polls: it closes the connection, and what it has not polled is reported as flushed, or never, although the CQE is there
# and says that it succeeded (no CQE in the adapters' trace has another status). Later releases poll before they close.
FLUSHED_BY_LIBFABRIC = "cq_readerr: Work Request Flushed Error"


def left_too_early(end):
    return FLUSHED_BY_LIBFABRIC in end["output"] or end["status"] == -signal.SIGXCPU


def fi_pingpong(family, provider, endpoint, sizes, iterations=50):
    """Checks the messages at both ends (-c). Returns how many packets each adapter sent."""
    port = free_port()
    command = ["fi_pingpong", "-c", "-I", iterations, "-p", provider, "-e", endpoint]
    server, client = [*command, "-B", port], [*command, "-P", port, "127.0.0.1"]
    ends, packets = run_ends(family, server, client, after_client=10)
    for end in ends:
        rows = re.findall(r"^(\w+)\s+(\d+)\s+=(\d+)\s", end["output"], re.M)
        assert rows == [(size, str(iterations), str(iterations)) for size in sizes], describe_pair(ends)
    if "rxm" in provider and any(map(left_too_early, ends)):
        pytest.skip("libfabric handled the peer's disconnection before completions that it had")
    assert not any(end["status"] for end in ends), describe_pair(ends)
    return packets


@families()
@pytest.mark.parametrize(
    "provider, endpoint",
    [("verbs;ofi_rxd", "rdm"), ("verbs;ofi_rxm", "rdm"), ("verbs", "msg")],
)
def test_libfabric(provider, endpoint, family):
    """Reliable datagrams over UD, and over RC; connections, which need rdma_cm."""
    assert max(fi_pingpong(family, provider, endpoint, FABRIC_SIZES)) > 2 * 50 * (1 << 20) / 4096


@families(every_time=True)
def test_libfabric_datagrams(family):
    assert max(fi_pingpong(family, "verbs", "dgram", FABRIC_SIZES[:4])) > 4 * 50


# ---- MPI ----


def compile_mpi(program, compiler):
    flags = ["-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *flags, str(HERE / "mpi_exchange.c"), "-o", str(program)], check=True)
    return program


@pytest.fixture(scope="module")
def open_mpi_program(tmp_path_factory):
    return compile_mpi(tmp_path_factory.mktemp("mpi") / "mpi_exchange", "mpicc.openmpi")


@pytest.fixture(scope="module")
def mpich_program(tmp_path_factory):
    return compile_mpi(tmp_path_factory.mktemp("mpi") / "mpi_exchange", "mpicc.mpich")


def run_mpi(family, *job):
    script = "import json, subprocess, sys; done = subprocess.run(json.loads(sys.argv[1])).returncode; "
    script += "print(*(open(name).read().strip() for name in sys.argv[2:])); sys.exit(done)"
    adapters = [PACKETS.format(adapter) for adapter in ADAPTERS[family]]
    result = start(family).run("/usr/bin/python3", "-c", script, json.dumps(job), *adapters)
    assert result.status == 0, result.output
    assert "2 ranks, 29 messages, 0 errors" in result.output
    assert not UCX_ERROR.search(result.output), result.output
    assert sum(map(int, result.output.splitlines()[-1].split())) > 1000


def run_open_mpi(family, transports, program):
    """mpirun has to run as root, too, and with two ranks on any number of cores."""
    mpirun = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2"]
    modules = ["--mca", "pml", "ucx", "--mca", "osc", "ucx"]
    run_mpi(family, *mpirun, *modules, "-x", f"UCX_TLS={transports},self", str(program))


@pytest.mark.parametrize(
    "family, transports",
    [
        ("native", "ib"),
        ("native", "rc_v"),
        ("native", "ud_v"),
        ("mlx5", "rc_x"),
        ("mlx5", "ud_x"),
        ("mlx5", "rc_v"),
    ],
)
def test_open_mpi(open_mpi_program, transports, family):
    run_open_mpi(family, transports, open_mpi_program)


@families()
@pytest.mark.parametrize("transports", ["ib", "rc_v", "ud_v"])
def test_mpich(mpich_program, transports, family):
    """Debian's MPICH uses UCX. Without MPIR_CVAR_NOLOCAL, two ranks on one host use shared memory."""
    settings = ["-genv", "MPIR_CVAR_NOLOCAL", "1", "-genv", "UCX_TLS", f"{transports},self"]
    run_mpi(family, "mpirun.mpich", "-np", "2", *settings, str(mpich_program))


# ---- gloo ----


@families()
def test_gloo(tmp_path, family):
    """Sums of four ranks over verbs, without TCP but for the addresses."""
    program, store = tmp_path / "gloo_sum", tmp_path / "store"
    store.mkdir()
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["g++", *flags, HERE / "gloo_sum.cpp", "-o", program, "-lgloo", "-lpthread"], check=True)
    result = start(family).run(program, ADAPTERS[family][0], 1, store)
    assert result.status == 0, result.output
    assert sorted(result.output.splitlines()) == [f"rank {rank}: 0 wrong sums" for rank in range(4)]
