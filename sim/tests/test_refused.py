# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The counters of each device family in sysfs: hcasim-refused moves them, with faults and congestion on the wire the rest.

That each counter of the adapter counts what it says is the matter of core.counters; these tests are about the files.
"""
import json
import re
import subprocess
import sys
from collections import Counter

import pytest

from conftest import BUILD, Machine

sys.path.insert(0, str(BUILD / "spec/python"))
from hcasim_spec import COUNTERS  # noqa: E402

PREFIX = {"native": "hcasim", "mlx5": "mlx5_", "rxe": "rxe"}
FAULTS = "loss=0.01,dup=0.02,reorder=0.02,corrupt=0.01"
# Native files that need packets which no program sends, hardware that fails, a second port, or GIDs of RoCEv1: core.counters
# has them.
BROKEN = {
    "bf_torn",
    "refused_cnp",
    "refused_dgid",
    "refused_duplicate",
    "refused_flush_type",
    "refused_gsi_full",
    "refused_invalidate",
    "refused_length",
    "refused_malformed",
    "refused_memory",
    "refused_order",
    "refused_pages",
    "refused_pkey",
    "refused_port_down",
    "refused_rd_atomic",
    "refused_receive_key",
    "refused_receive_wqe",
    "refused_rkey_access",
    "refused_rkey_pd",
    "refused_roce_version",
    "refused_rx_fifo",
    "refused_sgid",
    "refused_skipped",
    "refused_steered",
    "refused_transport",
    "refused_wrong_port",
    "refused_xrc_srq",
    "req_remote_operation_errors",
    "resp_remote_operation_errors",
    "num_page_faults",
    "num_prefetch",
    "num_invalidations",
    "rx_raw_frames",
    "tx_raw_frames",
}


def run(family, program, hcas=2, options=()):
    """The program's output, and the files of each adapter: {path below the port: number}."""
    machine = Machine(hcas=hcas, options=["--device", family, *options])
    files = "/sys/class/infiniband/*/ports/1/*counters/*"
    result = machine.run("sh", "-c", f"{BUILD}/bin/{program} && grep -H . {files}")
    assert result.status == 0, result.output
    ends = [{} for _ in range(hcas)]
    found = re.findall(rf"infiniband/{PREFIX[family]}(\d+)/ports/1/(\w+/\w+):(\d+)\n", result.output)
    for adapter, path, value in found:
        ends[int(adapter)][path] = int(value)
    return result.output, ends


@pytest.fixture(scope="module", params=PREFIX)
def family(request):
    return request.param


@pytest.fixture(scope="module")
def known(family, tmp_path_factory):
    """What hcasim-refused does, with its trace."""
    folder = tmp_path_factory.mktemp(family)
    output, ends = run(family, "hcasim-refused", options=["--trace", str(folder)])
    events = [json.loads(line) for line in (folder / "events.log").read_text().splitlines()]
    stat = subprocess.run([BUILD / "bin/hcasim", "stat", "--json", folder], capture_output=True, check=True)
    responder = json.loads(stat.stdout)["adapters"][f"{PREFIX[family]}1"]
    return output, ends, [e for e in events if e["event"] == "refused"], responder["refused"]


@pytest.fixture(scope="module")
def lossy(family):
    return run(family, "hcasim-refused lossy", options=["--fault", FAULTS])[1]


@pytest.fixture(scope="module")
def congested(family):
    options = ["--profile", "connectx3", "--set", "dcqcn.enable=1"]
    return run(family, "hcasim-incast", hcas=3, options=options)[1]


def test_files(family, known):
    """The folders have the declared files, no others."""
    for end in known[1]:
        assert set(end) == {*COUNTERS[family], "hw_counters/lifespan"}


def test_each_moves(family, known, lossy, congested):
    """A declared file moves, unless it is declared to be always 0."""
    for path, (counter, _, always_0) in COUNTERS[family].items():
        total = sum(end[path] for ends in (known[1], lossy, congested) for end in ends)
        if always_0:
            assert counter is None and total == 0, path
        elif counter in BROKEN:
            assert family == "native" or path.endswith("rp_cnp_ignored"), f"{path}: no program moves it"
        else:
            assert total > 0, f"{path} never moved"


def test_requester_and_responder(family, known):
    """The counts of hcasim-refused, at the end that sends the requests and at the other one."""
    requester, responder = known[1]
    expected = {
        "rnr_nak_sent": (0, 4),  # rnr_retry is 3
        "rnr_nak_received": (4, 0),
        "rnr_nak_retry_err": (3, 0),
        "refused_no_receive": (0, 5),  # and a datagram
        "rx_atomic_requests": (0, 11),
        "rx_read_requests": (0, 2),
        "rx_write_requests": (0, 3),
        "refused_atomic_alignment": (0, 10),
        "refused_permission": (0, 1),
        "refused_rkey": (0, 1),
        "refused_rkey_range": (0, 1),
        "refused_receive_space": (0, 1),
        "refused_qkey": (0, 1),
        "refused_datagram_space": (0, 1),
        "req_remote_invalid_request": (12, 0),
        "req_remote_access_errors": (2, 0),
        "resp_remote_access_errors": (0, 2),
        "req_rnr_retries_exceeded": (1, 0),
        "req_transport_retries_exceeded": (2, 0),
        "req_cqe_error": (31, 0),
        "req_cqe_flush_error": (14, 0),
        "resp_local_length_error": (0, 1),
        "resp_cqe_error": (0, 2),
        "resp_cqe_flush_error": (0, 1),
        "receives": (0, 5),
        "sends": (11, 0),
        "link_downed": (1, 0),
        "duplicate_request": (0, 0),
        "out_of_sequence": (0, 0),
        "refused_icrc": (0, 0),
    }
    compared = 0
    for path, (counter, unit, _) in COUNTERS[family].items():
        if counter in expected:
            compared += 1
            assert (requester[path], responder[path]) == expected[counter], path
            assert unit == 1
    assert compared >= {"native": len(expected), "mlx5": 15, "rxe": 8}[family]


def test_port(family, known):
    """Packets and octets. The two ports have the same traffic, but the requester's own datagram to a group comes back to it."""
    if family == "rxe":
        assert not [path for path in COUNTERS[family] if path.startswith("counters/")]
        return
    requester, responder = known[1]
    for end in (requester, responder):
        for way in ("xmit", "rcv"):
            packets = end[f"counters/port_{way}_packets"]
            both = end[f"counters/unicast_{way}_packets"] + end[f"counters/multicast_{way}_packets"]
            assert packets == both
            assert packets * 58 / 4 <= end[f"counters/port_{way}_data"] <= packets * 1100 / 4
    for sender, receiver, more in ((requester, responder, 0), (responder, requester, 1)):
        packets = receiver["counters/port_rcv_packets"] - sender["counters/port_xmit_packets"]
        words = receiver["counters/port_rcv_data"] - sender["counters/port_xmit_data"]
        assert packets == more
        assert words in (
            82 // 4 * more,
            82 // 4 * more + 1,
        )  # Ethernet, IPv4, UDP, BTH, DETH, 16 octets, ICRC
        assert receiver["counters/multicast_rcv_packets"] == 1
    assert requester["counters/multicast_xmit_packets"] == 1
    assert requester["counters/port_xmit_discards"] == 2
    assert responder["counters/port_xmit_discards"] == 0


def test_query_port(known):
    """ibv_query_port(3): a datagram with a wrong Q_Key is a violation at its receiver."""
    output = known[0]
    assert "end 0: bad_pkey_cntr 0 qkey_viol_cntr 0\n" in output
    assert "end 1: bad_pkey_cntr 0 qkey_viol_cntr 1\n" in output


def test_trace(family, known):
    """events.log names the reason, the NAK and the frame of each packet that was refused."""
    naks = Counter()
    for event in known[2]:
        assert event["qpn"] and event["frame"]
        if (
            event["hca"][-1] == "1" and event["reason"] != "qp_state"
        ):  # how much follows a NAK depends on timing
            naks[event["reason"], event.get("nak")] += 1
    atomics = "permission" if family == "rxe" else "atomic_alignment"  # see refused.c
    assert naks == Counter({(atomics, "INV_REQ"): 10}) + Counter(
        {
            ("permission", "INV_REQ"): 1,
            ("rkey", "REM_ACCESS"): 1,
            ("rkey_range", "REM_ACCESS"): 1,
            ("receive_space", "INV_REQ"): 1,
            ("no_receive", "RNR"): 4,
            ("no_receive", None): 1,
            ("no_qp", None): 1,
            ("qkey", None): 1,
            ("datagram_space", None): 1,
        }
    )


def test_stat(known):
    """hcasim stat counts the same."""
    _, _, events, rows = known
    counts = Counter((e["reason"], e.get("nak")) for e in events if e["hca"][-1] == "1")
    assert {(row["reason"], row["nak"]): row["count"] for row in rows} == counts


@pytest.mark.parametrize("name", PREFIX)
def test_lifespan(name):
    """hw_counters/lifespan is a file that a program reads and writes; nonsense does not stay there."""
    file = f"/sys/class/infiniband/{PREFIX[name]}0/ports/1/hw_counters/lifespan"
    script = f"cat {file}; for n in 500 20000 x 0; do echo $n > {file}; cat {file}; done"
    result = Machine(options=["--device", name]).run("sh", "-c", script)
    assert result.output.split() == ["10", "500", "500", "500", "0"], result.output
