# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""--trace: other tools can read wire.pcap and agree with it."""
import json
import re
import subprocess
from collections import defaultdict

import pytest
from scapy.contrib.roce import BTH
from scapy.utils import PcapReader

from conftest import BUILD, Machine
from test_perftest import perftest
from test_pingpong import pingpong

# What each traced program must have put on the wire, as Wireshark names it.
RUNS = {
    "rc": ["SEND First", "SEND Middle", "SEND Last", "Acknowledge"],
    "uc": ["SEND First", "SEND Middle", "SEND Last"],
    "ud": ["SEND only"],
    "ib_write_bw": ["RDMA WRITE First", "RDMA WRITE Middle", "RDMA WRITE Last"],
    "ib_read_bw": ["RDMA READ Request", "RDMA READ response First", "RDMA READ response Last"],
    "ib_atomic_bw": ["FetchAdd", "ATOMIC Acknowledge"],
}


@pytest.fixture(scope="module", params=RUNS)
def trace(request, tmp_path_factory, gid_index):
    folder = tmp_path_factory.mktemp(request.param)
    machine = Machine(hcas=2, options=["--trace", str(folder)])
    if request.param.startswith("ib_"):
        size = [] if "atomic" in request.param else ["-s", 16384]
        perftest(request.param, "-n", 20, *size, machine=machine)
    else:
        size = 1024 if request.param == "ud" else 10000
        pingpong(machine, request.param, gid_index, size, "-c", iterations=20)
    return request.param, folder


def packets(folder):
    with PcapReader(str(folder / "wire.pcap")) as reader:
        return list(reader)


def test_tshark_names_every_opcode(trace):
    program, folder = trace
    # Wireshark's RPC-over-RDMA heuristic calls some payloads malformed.
    details = subprocess.run(
        ["tshark", "-r", folder / "wire.pcap", "-V", "--disable-protocol", "rpcordma"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    opcodes = re.findall(r"^\s*Opcode: (.*) \(\d+\)$", details, re.M)
    assert len(opcodes) == len(packets(folder)) > 0
    assert not [name for name in opcodes if "Unknown" in name or "Reserved" in name]
    assert "Malformed" not in details and "[Expert Info (Error" not in details
    for wanted in RUNS[program]:
        assert any(wanted.lower() in name.lower() for name in opcodes), (wanted, sorted(set(opcodes)))


def test_scapy_agrees_with_every_icrc(trace):
    _, folder = trace
    for number, packet in enumerate(packets(folder), 1):
        icrc = packet[BTH].icrc.to_bytes(4, "big")  # as in the file
        assert icrc == packet[BTH].compute_icrc(b""), f"packet {number}"


def test_without_trace_nothing_is_written(tmp_path, monkeypatch, gid_index):
    monkeypatch.chdir(tmp_path)
    pingpong(Machine(hcas=2), "rc", gid_index, 64, iterations=10)
    assert not list(tmp_path.iterdir())


def cpus_of_lines(tmp_path, way, *options):
    """{(page, line): CPUs that stored to it} of BAR 2, as recorded, and seconds that CPUs stalled for lines."""
    record, folder = tmp_path / f"{way}.rec", tmp_path / way
    machine = Machine(hcas=2, options=["--record", str(record), "--trace", str(folder), *options])
    result = machine.run(BUILD / "bin/hcasim-mt-post", way)
    assert result.status == 0, result.output
    printed = subprocess.run(
        [BUILD / "bin/hcasim", "replay", "--print", record], capture_output=True, text=True, check=True
    ).stdout
    lines = defaultdict(set)
    for cpu, offset in re.findall(r" ps store hca=0 cpu=(\d+) bar=2 offset=0x([0-9a-f]+) ", printed):
        lines[int(offset, 16) // 64].add(int(cpu))
    again = subprocess.run(
        [BUILD / "bin/hcasim", "replay", record], capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stderr
    stalls = [json.loads(line) for line in (folder / "events.log").read_text().splitlines()]
    return lines, sum(e["end"] - e["ps"] for e in stalls if e.get("cause") == "shared_line")


def test_threads_are_cpus(tmp_path):
    """Four threads: on one QP they store to the same lines, which costs time; in thread domains they do not."""
    figure = ["--set", "root.shared_line=200"]
    shared, waited = cpus_of_lines(tmp_path, "shared", *figure)
    own, never = cpus_of_lines(tmp_path, "td", *figure)
    assert max(map(len, shared.values())) == 4, shared
    assert len(set().union(*own.values())) >= 4 and all(len(cpus) == 1 for cpus in own.values()), own
    assert waited >= 200_000 and never == 0


def test_thread_domains_share_no_doorbell_page(tmp_path):
    """Each thread's QP has its doorbells and BlueFlame pushes in a page of its own."""
    machine = Machine(hcas=2, options=["--trace", str(tmp_path)])
    result = machine.run(BUILD / "bin/hcasim-mt-post", "td")
    assert result.status == 0, result.output
    pages = defaultdict(set)  # pages used by each QP
    for line in (tmp_path / "tlp.log").read_text().splitlines():
        tlp = json.loads(line)
        if tlp["type"] != "MWr" or tlp["dir"] != "down" or tlp["bar"] != 2:
            continue
        page, offset = divmod(int(tlp["addr"], 16), 4096)
        data = bytes.fromhex(tlp["data"])
        if offset == 0:  # the doorbell: QPN in its lowest bytes
            pages[int.from_bytes(data[:3], "little")].add(page)
        elif offset in (0x800, 0x900):  # a pushed WQE: QPN in its ctrl segment
            pages[int.from_bytes(data[4:7], "little")].add(page)
    used = [page for of_qp in pages.values() for page in of_qp]
    assert len(pages) == 4 and len(used) == len(set(used)) == 4, dict(pages)
