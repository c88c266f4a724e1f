# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Programs of TCP over rsockets: librspreload.so of three releases, unmodified programs.

Each has to use RDMA on the adapter that it names. Without an RDMA connection that library falls back to TCP,
and the program would still succeed.
"""
import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import PYTHON, RDMA_CORE_BUILD, TOP, Machine

NEWER = Path(os.environ.get("RDMA_CORE_NEWER_BUILD", TOP / "build/rdma-core-65"))
DEBIANS = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so"
SERVER = "10.77.0.2"  # not the adapter that a loopback address selects
NC = ["nc.traditional", "-l", "-s", SERVER, "-p", "7000"]  # socket(), accept(): no newer functions
newer = pytest.mark.skipif(not (NEWER / "lib").exists(), reason="ci/setup did not get rdma-core 65.0")
RELEASES = [
    pytest.param(None, id="debian"),
    pytest.param(RDMA_CORE_BUILD, id="56.1"),
    pytest.param(NEWER, id="65.0", marks=newer),
]


def over_rsockets(command, release, before=True):
    """`command` with librspreload.so before or after the other preloads, and that release's libraries."""
    library = f"{release}/lib/librspreload.so" if release else DEBIANS
    preload = f"{library}:$LD_PRELOAD" if before else f"$LD_PRELOAD:{library}"
    folder = f"LD_LIBRARY_PATH={release}/lib" if release else ""
    return ["/bin/sh", "-c", f'{folder} LD_PRELOAD="{preload}" exec "$@"', "sh", *command]


def run_pair(tmp_path, release, server, client, **more):
    """Runs a pair and checks that it used RDMA. Returns the output of both ends."""
    order = {key: more.pop(key) for key in ["before"] if key in more}
    machine = Machine(hcas=2, system=release is None, options=["--trace", str(tmp_path)])
    ends = machine.run_pair(
        over_rsockets(server, release, **order), over_rsockets(client, release, **order), **more
    )
    command = [
        "tshark",
        "-r",
        str(tmp_path / "wire.pcap"),
        "-Y",
        "infiniband.reth",
        "-T",
        "fields",
        "-e",
        "ip.src",
    ]
    writes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert writes and set(writes) == {SERVER}, f"RDMA WRITEs of {set(writes)}\n{ends.server}\n{ends.client}"
    return ends


def answering(tmp_path):
    """A web server that answers one request of any kind."""
    answer = tmp_path / "answer"
    answer.write_text("HTTP/1.0 200 OK\r\nContent-Length: 12\r\n\r\nby rsockets\n")
    return ["/bin/sh", "-c", f'exec "$@" <{answer}', "sh", *NC]


@pytest.mark.parametrize("before", [True, False], ids=["before", "behind"])
@pytest.mark.parametrize("release", RELEASES)
def test_curl(tmp_path, release, before):
    """At any place of librspreload.so in the list: ours is the last one and gets the calls for the kernel."""
    client = ["curl", "-s", f"http://{SERVER}:7000/"]
    ends = run_pair(tmp_path, release, answering(tmp_path), client, before=before, endless=True)
    assert ends.client == "by rsockets\n"


@pytest.mark.parametrize("release", RELEASES)
def test_another_preload_list(tmp_path, release):
    """A list without ours, as with `LD_PRELOAD=librspreload.so nc ...` in a shell of the machine."""
    client = [
        "/bin/sh",
        "-c",
        'LD_PRELOAD="${LD_PRELOAD%%:*}" exec "$@"',
        "sh",
        "curl",
        "-s",
        f"http://{SERVER}:7000/",
    ]
    assert run_pair(tmp_path, release, answering(tmp_path), client, endless=True).client == "by rsockets\n"


SERVE = f"""
import socket
connection, peer = socket.create_server(("{SERVER}", 7000)).accept()
connection.sendall(connection.recv(100)[::-1])
print(peer[0])
"""
ASK = f"""
import socket
connection = socket.create_connection(("{SERVER}", 7000))
connection.sendall(b"hello")
print(connection.recv(100))
"""


@newer
def test_python(tmp_path):
    ends = run_pair(tmp_path, NEWER, [PYTHON, "-c", SERVE], [PYTHON, "-c", ASK])
    assert (ends.server, ends.client) == (f"{SERVER}\n", "b'olleh'\n")


@newer
def test_nc(tmp_path):
    server = ["nc.openbsd", "-l", "-N", SERVER, "7000"]
    run_pair(tmp_path, NEWER, server, ["/bin/sh", "-c", f"echo ho | nc.openbsd -v -N {SERVER} 7000"])


@newer
def test_iperf3(tmp_path):
    client = ["iperf3", "-J", "-c", SERVER, "-n", "1M"]
    end = json.loads(run_pair(tmp_path, NEWER, ["iperf3", "-s", "-1", "-B", SERVER], client).client)["end"]
    # Bytes that the server has counted when the client reports the end; a block has 128 KiB.
    assert end["sum_sent"]["bytes"] >= 1 << 20 and end["sum_received"]["bytes"] > 1 << 17
