# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""GID tables of both RoCE versions, what is on the wire for each, and two ends of different versions."""
import json
import re
import subprocess

import pytest

from conftest import BUILD, Machine

OPERATIONS = ("SEND", "WRITE", "READ", "atomic")
V1, V2 = "IB/RoCE v1", "RoCE v2"
LOCAL, IPV4 = "fe80", "0000"  # first words of the GIDs
BOTH = {"mlx5": ["--device", "mlx5"], "native": ["--set", "adapter.roce_v1=1"]}
RESPONDER = {"mlx5": "mlx5_1", "native": "hcasim1"}
GROUP = "00000000000000000000ffffef010203"


@pytest.fixture(params=BOTH)
def family(request):
    """One whose tables have both versions."""
    return request.param


def versions(options, *indexes, trace=None):
    """{operation: how it ended, or what came} of hcasim-roce-versions."""
    more = ["--trace", str(trace)] if trace else []
    result = Machine(hcas=2, options=[*options, *more]).run(BUILD / "bin/hcasim-roce-versions", *indexes)
    assert result.status == 0, result.output
    return dict(re.findall(r"^(\w+): (.*)$", result.output, re.M))


def frames(trace, expression):
    """How many frames of the capture tshark finds."""
    command = ["tshark", "-r", trace / "wire.pcap", "-Y", expression, "--disable-protocol", "rpcordma"]
    return len(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())


@pytest.mark.parametrize(
    "options, table",
    [
        (BOTH["mlx5"], [(LOCAL, V1), (LOCAL, V2), (IPV4, V1), (IPV4, V2)]),
        (BOTH["native"], [(LOCAL, V1), (LOCAL, V2), (IPV4, V1), (IPV4, V2)]),
        ([], [(LOCAL, V2), (IPV4, V2)]),
        (["--device", "rxe", *BOTH["native"]], [(LOCAL, V2), (IPV4, V2)]),
    ],
    ids=["mlx5", "native-both", "native", "rxe"],
)
def test_table(options, table):
    """In the order of Linux: in sysfs, and as ibv_query_gid_ex() has it, whose types ibv_devinfo prints."""
    machine = Machine(options=options)
    ports = "/sys/class/infiniband/*/ports/1"
    show = f"cd {ports} && for i in gid_attrs/types/*; do echo $(cat gids/${{i##*/}}) $(cat $i); done"
    result = machine.run("sh", "-c", f"{machine.bin}/ibv_devinfo -v; {show}")
    assert result.status == 0, result.output
    assert re.findall(r"^(fe80|0000):\S+ (.*v\d)$", result.output, re.M) == table
    printed = re.findall(r"GID\[\s*(\d+)\]:\s+(\S+), (.*)$", result.output, re.M)
    found = [(int(i), LOCAL if gid.startswith("fe80") else IPV4, kind) for i, gid, kind in printed]
    assert found == [(i, gid, kind.removeprefix("IB/")) for i, (gid, kind) in enumerate(table)]


def test_interface(family):
    """An interface has each address once, and programs find it."""
    show = (
        "name=$(cat /sys/class/infiniband/*/ports/1/gid_attrs/ndevs/3); ip -j addr show dev $name; rdma link"
    )
    result = Machine(options=BOTH[family]).run("sh", "-c", show)
    assert result.status == 0, result.output
    shown = re.findall(r'"local": ?"([^"]*)"', result.output)
    assert sorted(gid[:4] for gid in shown) == ["10.7", "fe80"], result.output
    assert re.search(r"^link .* netdev \w+", result.output, re.M), result.output


def datagram(seen, name):
    """Service level, and the bytes in front of a datagram as four fields: version to hop limit, source, destination."""
    level, grh = re.fullmatch(r"sl (\d+) ([0-9a-f]{80})", seen[name]).groups()
    return int(level), grh[:16], grh[16:48], grh[48:]


@pytest.mark.cover(1)
@pytest.mark.parametrize("index", [0, 2], ids=["link-local", "ipv4"])
def test_v1(family, index, tmp_path):
    """Every frame has EtherType 0x8915 and a GRH, which the receiver of a datagram gets as it is."""
    seen = versions(BOTH[family], index, index, trace=tmp_path)
    assert {seen[name] for name in OPERATIONS} == {"success"}
    roce = frames(tmp_path, "eth.type == 0x8915 && infiniband.grh.nxthdr == 0x1b && infiniband.bth")
    assert roce == frames(tmp_path, "frame") == 10  # a request and an answer each, and two datagrams
    assert frames(tmp_path, "infiniband.aeth") and not frames(tmp_path, "_ws.malformed || udp")
    for name in ("UD", "group"):
        level, head, source, destination = datagram(seen, name)
        assert (level, head) == (0, "6000000000281b40")  # BTH, DETH, 16 octets, ICRC
        assert source.startswith("fe80") == (index == 0)
        assert destination == GROUP if name == "group" else destination != source
    events = [json.loads(line) for line in (tmp_path / "events.log").read_text().splitlines()]
    sent = [event for event in events if event["event"] == "sent"]
    assert len(sent) == roce and all("opcode" in event for event in sent)


@pytest.mark.cover(1)
@pytest.mark.parametrize("index", [1, 3], ids=["link-local", "ipv4"])
def test_v2(family, index, tmp_path):
    seen = versions(BOTH[family], index, index, trace=tmp_path)
    assert {seen[name] for name in OPERATIONS} == {"success"}
    assert frames(tmp_path, "udp.dstport == 4791 && infiniband.bth") == frames(tmp_path, "frame")
    assert datagram(seen, "UD")[0] == (9 if index == 1 else 10)


@pytest.mark.cover(1)
@pytest.mark.parametrize("indexes", [(2, 3), (3, 2)], ids=["v1-to-v2", "v2-to-v1"])
def test_different_versions(family, indexes, tmp_path):
    """No answer comes, as on a ConnectX: the port has the GID for both versions, but the queue pair has one. Datagrams arrive."""
    seen = versions(BOTH[family], *indexes, trace=tmp_path)
    assert {seen[name] for name in OPERATIONS} == {"transport retry counter exceeded"}
    assert datagram(seen, "UD")[0] == (0 if indexes[0] == 2 else 10)
    events = [json.loads(line) for line in (tmp_path / "events.log").read_text().splitlines()]
    refused = [
        event["reason"]
        for event in events
        if event["event"] == "refused" and event["hca"] == RESPONDER[family]
    ]
    assert refused == ["roce_version"] * 16  # four requests, and three retries of each
