# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Unmodified libmlx5 on `--device mlx5`, of three releases of rdma-core."""
import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from scapy.layers.inet import UDP
from scapy.layers.l2 import Ether  # noqa: F401  (PcapReader finds the layers)
from scapy.utils import PcapReader

from conftest import BUILD, NEWER, NIGHTLY, TOP, Machine, free_port
from test_perftest import COMBINATIONS

DEBIAN = Path("/usr/lib/x86_64-linux-gnu/libibverbs/libmlx5-rdmav34.so")
DEVICES = ("mlx5_0", "mlx5_1")
ITERATIONS = 100


@pytest.fixture
def machine(release):
    return Machine(hcas=2, options=["--device", "mlx5"], release=release)


def run_pair(machine, program, *flags, server=(), client=("localhost",)):
    common = [machine.bin / program, *flags]
    return machine.run_pair([*common, "-d", DEVICES[0], *server], [*common, "-d", DEVICES[1], *client])


def pingpong(machine, transport, *flags):
    ends = run_pair(
        machine, f"ibv_{transport}_pingpong", "-p", free_port(), "-g", 3, "-n", ITERATIONS, *flags
    )
    for output in (ends.server, ends.client):
        assert f"{ITERATIONS} iters in" in output and "invalid data" not in output, output


def test_devinfo(machine):
    result = machine.run(machine.bin / "ibv_devinfo", "-v")
    assert result.status == 0, result.output
    assert re.findall(r"hca_id:\s+(\S+)", result.output) == list(DEVICES)
    for line in (
        r"vendor_id:\s+0x02c9",
        r"vendor_part_id:\s+4123",
        r"fw_ver:\s+20\.31\.1014",
        r"max_sge:\s+30",
    ):
        assert re.search(line, result.output), line
    assert re.search(r"hca_core_clock:\s+1000000kHZ", result.output)


@pytest.mark.cover(0)
def test_pci_address(machine):
    """UCX reads the identity below the path without links: the host may have another device of that address."""
    real = "import os; print(os.path.realpath('/sys/class/infiniband/mlx5_0/device'))"
    folder = machine.run("/usr/bin/python3", "-c", real).output.strip()
    assert folder.startswith("/sys/devices/pci")
    assert machine.run("cat", f"{folder}/vendor", f"{folder}/device").output.split() == ["0x15b3", "0x101b"]
    assert machine.run("cat", f"{folder}/local_cpus").status != 0  # it has none, whatever the host's has


@pytest.mark.cover(1)
@pytest.mark.parametrize("flags", [[], ["-e"]], ids=["poll", "events"])
@pytest.mark.parametrize("size", [1, 100, 4096, 100000])
@pytest.mark.parametrize("transport", ["rc", "uc"])
def test_connected(machine, transport, size, flags):
    """One byte is sent inline, through BlueFlame; 100000 are many packets."""
    pingpong(machine, transport, "-c", "-s", size, *flags)


@pytest.mark.cover(1)
@pytest.mark.parametrize("flags", [[], ["-e"]], ids=["poll", "events"])
def test_datagram(machine, flags):
    pingpong(machine, "ud", "-c", "-s", 1000, *flags)


def test_source_port_of_an_address_handle(tmp_path):
    """libmlx5 chooses it, at random without a flow label, and it is that of the packets."""
    machine = Machine(hcas=2, options=["--device", "mlx5", "--trace", tmp_path], system=False)
    result = machine.run(BUILD / "bin/hcasim-datagram")
    assert result.status == 0, result.output
    wqes = map(json.loads, (tmp_path / "wqe.log").read_text().splitlines())
    # the field is 14 bytes behind the control segment, which has 16
    wanted = [int(wqe["raw"][60:64], 16) for wqe in wqes if "dest_qpn" in wqe]
    with PcapReader(str(tmp_path / "wire.pcap")) as reader:
        ports = [frame[UDP].sport for frame in reader if UDP in frame]
    assert len(wanted) == 2 and ports == wanted


@pytest.mark.cover(1)
@pytest.mark.parametrize("flags", [[], ["-e"], ["-q", 1]])
def test_shared_receive_queue(machine, flags):
    pingpong(machine, "srq", "-s", 4096, *flags)


@pytest.mark.cover(0)
def test_extended_queues(machine):
    """-N posts by ibv_wr_*, -t polls by ibv_start_poll() and reads completion timestamps."""
    pingpong(machine, "rc", "-c", "-N")
    pingpong(machine, "rc", "-c", "-t")


@pytest.mark.cover(1)
@pytest.mark.parametrize("flags", [[], ["-e"], ["-s", 10000, "-m", 256]])
def test_xrc(machine, flags):
    ends = run_pair(machine, "ibv_xsrq_pingpong", "-p", free_port(), "-g", 3, "-n", ITERATIONS, *flags)
    assert "success" in ends.server and "success" in ends.client


def test_thread_domains():
    """Threads on one QP, on one each, and on one each in a thread domain, with doorbells in pages of its own."""
    machine = Machine(hcas=2, options=["--device", "mlx5"], system=False)
    result = machine.run(BUILD / "bin/hcasim-mt-post")
    assert result.status == 0 and re.search(r"tests +3 +3 +3 +0", result.output), result.output


def test_work_queues():
    """Frames of 32 flows over four work queues, each in the one that its hash names."""
    result = Machine(hcas=2, options=["--device", "mlx5"], system=False).run(BUILD / "bin/hcasim-rss")
    assert result.status == 0, result.output


LIBRARIES = {"debian": DEBIAN.parent.parent, "newer": NEWER / "lib"}


def own_program(machine, release, env, name, *arguments):
    """A program of this build, with the libraries of the release."""
    libraries = {"LD_LIBRARY_PATH": LIBRARIES[release]} if release in LIBRARIES else {}
    variables = [f"{name}={value}" for name, value in {**env, **libraries}.items()]
    return machine.run("env", *variables, BUILD / "bin" / name, *arguments)


@pytest.mark.cover(0)
def test_vlan_stripping(machine, release):
    """Of a raw QP, and of a work queue, which can change it while it receives."""
    result = own_program(machine, release, {}, "hcasim-vlan")
    assert result.status == 0, result.output


def hcasim(*words):
    command = [BUILD / "bin/hcasim", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_doorbell_ahead_of_its_record(tmp_path):
    """Two doorbells and two pushes whose record does not cover them: nothing is executed, and the trace says why."""
    machine = Machine(hcas=2, options=["--device", "mlx5", "--trace", tmp_path], system=False)
    result = machine.run(BUILD / "bin/hcasim-doorbell-record")
    assert result.status == 0, result.output
    qpn = int(re.search(r"QP (\d+)", result.output)[1])
    stat = json.loads(hcasim("stat", "--json", tmp_path))
    row = {"qpn": qpn, "count": 4, "doorbell": 3, "record": 2}
    assert stat["adapters"][DEVICES[0]]["doorbells_ahead"] == [row]
    assert re.search(rf"ahead of its record .*\n +QP {qpn} +4 +3 +2\n", hcasim("stat", tmp_path))


@pytest.mark.cover(0)
def test_frames_as_dpdk_sends_them(machine, release):
    """Headers inside the Ethernet segment, one checksum alone; headers, hash and tag in CQEs."""
    result = own_program(machine, release, {}, "hcasim-ethernet")
    assert result.status == 0, result.output


@pytest.mark.cover(0)
def test_flows_of_roce_packets(machine, release):
    """Through tables of DEVX: an entry counts the requests of an RC pair, and one stops them."""
    result = own_program(machine, release, {}, "hcasim-flows", "roce")
    assert result.status == 0, result.output


@pytest.mark.cover(0)
def test_flows_that_change_headers(machine, release):
    """What is sent and what is received: every byte, and the checksums."""
    result = own_program(machine, release, {}, "hcasim-flows", "header")
    assert result.status == 0, result.output


@pytest.mark.cover(0)
def test_flow_actions_that_are_left(machine):
    program = f"{BUILD}/bin/hcasim-flows leave"
    result = machine.run("sh", "-c", f"{program} && {program} && {program}")
    assert result.status == 0, result.output


INLINE_TIMES = 16  # SENDs, READs and atomics of hcasim-inline-payload each


@pytest.mark.cover(1)
@pytest.mark.parametrize(
    "size, env, short, atomics",
    [
        (32, {}, True, True),
        (33, {}, False, True),
        (64, {"MLX5_CQE_SIZE": "128"}, True, True),
        (65, {"MLX5_CQE_SIZE": "128"}, False, True),
        (32, {"MLX5_SCATTER_TO_CQE": "0"}, False, False),
    ],
    ids=["short", "long", "short-128", "long-128", "off"],
)
def test_payload_in_cqes(tmp_path, release, size, env, short, atomics):
    """Short receives and results come in CQEs, out of which libmlx5 copies them; else they are DMA writes."""
    machine = Machine(hcas=2, options=["--device", "mlx5", "--trace", tmp_path], release=release)
    order = ["reversed"] if atomics else []  # docs/mlx5-findings.md, D42
    result = own_program(machine, release, env, "hcasim-inline-payload", size, *order)
    if "MLX5_CQE_SIZE" in env and release != "newer":
        # docs/mlx5-findings.md, D37: libmlx5 before 65.0 takes a result from one byte before the CQE
        assert result.status == 1 and re.search(r"split_equals\(l.buf\[1\] \+ FAR|htobe64", result.output)
        return
    assert result.status == 0, result.output
    cqes = [json.loads(line) for line in (tmp_path / "cqe.log").read_text().splitlines()]
    inline = Counter(cqe["payload"] for cqe in cqes if "payload" in cqe)
    assert (inline[size], inline[8]) == (2 * INLINE_TIMES * short, INLINE_TIMES * atomics)
    tlps = map(json.loads, (tmp_path / "tlp.log").read_text().splitlines())
    writes = sum(tlp.get("class") == "payload" and tlp["type"] == "MWr" for tlp in tlps)
    assert bool(writes) == (not short)


CELLS = [  # what a resize keeps, while completions arrive, and a CQ in a parent domain
    "suite/cq/rc/resize",
    "suite/cq/rc/resize-armed",
    "suite/cq/rc/resize-full",
    "suite/cq/rc/parent-domain",
]


@pytest.mark.cover(1)
@pytest.mark.parametrize("cqe_size", [64, 128])
def test_cells(cqe_size, release, tmp_path):
    system = ["--system-verbs"] if release == "debian" else []
    start = ["hcasim", "run", *system, "--device", "mlx5", "--hcas", "2", "--"]
    libraries = f", LD_LIBRARY_PATH: {LIBRARIES[release]}" if release in LIBRARIES else ""
    dut = tmp_path / "dut.yaml"
    dut.write_text(
        f"extends: {TOP / 'conformance/duts/mlx5.yaml'}\nname: mlx5-resized\nstart: {start}\n"
        f"env: {{MLX5_CQE_SIZE: '{cqe_size}'{libraries}}}\n"
    )
    command = [
        BUILD / "bin/hcasim",
        "conform",
        "--strict",
        "--dut",
        dut,
        "--jobs",
        "1",
        "--no-tap",
        "--out",
        tmp_path,
    ]
    done = subprocess.run(
        [*command, "-k", " or ".join(CELLS)], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0 and f"{len(CELLS)} pass" in done.stdout, done.stdout + done.stderr


PERFTEST = [
    ["ib_write_bw", "-s", 4096],
    ["ib_send_bw", "-s", 4096, "-e"],
    ["ib_read_bw", "-s", 65536],
    ["ib_atomic_bw"],
    ["ib_write_lat", "-s", 8],
    ["ib_send_bw", "-c", "UD", "-s", 1024],
    ["ib_send_bw", "-c", "UC", "-s", 1024],
    ["ib_send_lat", "-c", "XRC", "-s", 64],
]


def perftest(machine, program, *flags):
    """Debian's perftest, which knows the part number: it posts by ibv_wr_*."""
    ends = run_pair(machine, f"/usr/bin/{program}", "-p", free_port(), *flags)
    assert re.search(r"^ *\d+ +\d+ +\d+\.\d+ ", ends.client, re.M), ends.client
    assert re.findall(r"ibv_wr\* API +: (\w+)", ends.client + ends.server) == ["ON", "ON"]


installed = pytest.mark.skipif(
    not (DEBIAN.exists() and Path("/usr/bin/ib_write_bw").exists()), reason="not installed"
)


@installed
@pytest.mark.parametrize("test", PERFTEST, ids=lambda test: "-".join(map(str, test)))
def test_perftest(test):
    program, *flags = test
    machine = Machine(hcas=2, options=["--device", "mlx5"], system=True)
    perftest(machine, program, "-x", 3, "-F", "-n", 200, *flags)


@installed
@pytest.mark.parametrize("program, connection", COMBINATIONS if NIGHTLY else [("ib_send_lat", "UC")])
def test_perftest_by_default(machine, program, connection):
    """Nothing is given but the connection type: default GID, size, iterations."""
    perftest(machine, program, "-c", connection)


OLD_KERNEL = BUILD / "sim/tests/libhcasim_old_kernel.so"


@pytest.mark.cover(1)
@pytest.mark.parametrize("flags", [[], ["-e"]], ids=["poll", "events"])
def test_static_pages(machine, flags, tmp_path):
    """The kernel refuses a request that says what the library can do: it gets static user access pages."""
    refused = tmp_path / "refused"
    preload = f'LD_PRELOAD="$LD_PRELOAD:{OLD_KERNEL}" HCASIM_OLD_KERNEL={refused} exec "$@"'
    program = ["/bin/sh", "-c", preload, "sh", machine.bin / "ibv_rc_pingpong", "-g", 3, "-p", free_port()]
    common = [*program, "-n", ITERATIONS, "-c", *flags, "-d"]
    ends = machine.run_pair([*common, DEVICES[0]], [*common, DEVICES[1], "localhost"])
    assert f"{ITERATIONS} iters in" in ends.client and "invalid data" not in ends.client, ends.client
    assert len(refused.read_bytes()) == 2  # one for each end
