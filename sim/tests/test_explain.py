# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim explain on real runs: what hcasim-refused does wrong on each family, its source lines, and programs that wait."""
import json
import re
import subprocess

import pytest

from conftest import BUILD, HERE, RDMA_CORE_BUILD, Machine

HCASIM = BUILD / "bin/hcasim"
PREFIX = {"native": "hcasim", "mlx5": "mlx5_", "rxe": "rxe"}
# (rule, words of the cause, how often) of hcasim-refused.
WRONG = [
    (
        "REM_INV_REQ_ERR",
        "does not permit an RDMA_WRITE: it needs IBV_ACCESS_REMOTE_WRITE in qp_access_flags, which are none",
        1,
    ),
    ("REM_ACCESS_ERR", "is not valid (any more): the key of the MR of 65536 bytes at", 1),
    ("REM_ACCESS_ERR", "the RDMA_READ of 8 bytes at 0x", 1),
    ("REM_INV_REQ_ERR", "the SEND of 8 bytes is longer than the receive that QP", 1),
    ("RNR_RETRY_EXC_ERR", "within the RNR retries; the sender gave up after 3", 1),
    ("RETRY_EXC_ERR", "gave up after 2 retries of at least 4.19 ms each: QP", 1),
    ("RETRY_EXC_ERR", "gave up after 1 retries", 1),
    ("PORT_ERR", "the link of port 1 went down", 1),
    ("qkey", "the Q_Key of the datagram is 0x11111112, and QP", 1),
    ("no_receive", "no receive is posted", 1),
    ("datagram_space", "has no room for these 56", 1),
    ("no_qp", "there is no such QP", 1),
]


def explain(folder):
    done = subprocess.run([HCASIM, "explain", "--json", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)["problems"]


def line_of(words):
    lines = (HERE / "refused.c").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if words in line)


@pytest.fixture(scope="module", params=PREFIX)
def refused(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    options = ["--device", request.param, "--trace", str(folder)]
    result = Machine(hcas=2, options=options).run(BUILD / "bin/hcasim-refused")
    assert result.status == 0, result.output
    return folder, explain(folder)


@pytest.mark.parametrize("rule, words, times", WRONG)
def test_causes(refused, rule, words, times):
    found = [p for p in refused[1] if p["rule"] == rule and words in p["cause"]]
    assert len(found) == times, json.dumps(refused[1], indent=1)


def test_every_failure_is_explained(refused):
    """Each completion with an error is a problem, or a consequence of one."""
    folder, problems = refused
    failed = [json.loads(line) for line in (folder / "cqe.log").read_text().splitlines()]
    failed = [cqe for cqe in failed if cqe["status"] != "OK"]
    flushed = sum(int(re.search(r"then (\d+)", text)[1]) for p in problems for text in p["consequences"])
    named = sum(p["count"] for p in problems if p["rule"].endswith("_ERR") and p["rule"] != "PORT_ERR")
    assert len(failed) == flushed + named


def test_posting_call(refused):
    """Functions, the innermost first, with lines where there is -g; on mlx5, rxe and native alike."""
    found = next(p for p in refused[1] if p["rule"] == "RNR_RETRY_EXC_ERR")
    place = rf"called by fails\(\) at \S*/sim/tests/refused\.c:{line_of('pair_post(')}, process"
    assert "link_post() at hcasim-refused+0x" in found["posted_by"]  # built without -g
    assert re.search(place, found["posted_by"])  # ccache may keep the folder of another work tree


def test_packets_are_named(refused):
    found = next(p for p in refused[1] if p["rule"] == "REM_ACCESS_ERR" and "RDMA_READ" in p["cause"])
    assert re.search(
        r"frame \d+ of wire.pcap, RC_RDMA_READ_REQUEST, PSN \d+: \S+1 answered it with NAK REM_ACCESS",
        found["packet"],
    )


def test_calls_are_recorded(refused):
    """verbs.log has the objects of the program with their numbers, and each event."""
    records = [json.loads(line) for line in (refused[0] / "verbs.log").read_text().splitlines()]
    made = [r for r in records if r.get("call") == "create_qp" and "errno" not in r]
    gone = [r for r in records if r.get("call") == "destroy_qp"]
    assert len(made) >= 30 and len(gone) >= 30
    assert all(r["granted"]["max_send_wr"] >= 8 and r["stack"] for r in made)
    assert {"device", "PORT_ERR", "PORT_ACTIVE", "released"} <= {r.get("event") for r in records}
    stacks = [json.loads(line) for line in (refused[0] / "posts.log").read_text().splitlines()]
    assert any("/hcasim-refused+0x" in frame for r in stacks if "frames" in r for frame in r["frames"])


def test_run_explains_and_keeps_the_status():
    result = Machine(options=["--explain"]).run("sh", "-c", "exit 7")
    assert result.status == 7 and "nothing went wrong" in result.output


def test_waits_for_a_connection():
    rping = RDMA_CORE_BUILD / "bin/rping"
    result = Machine(options=["--explain"]).run("timeout", "3", rping, "-s", "-a", "10.77.0.1", "-C", "1")
    assert "waits for an event of the connection manager" in result.output, result.output
    assert "rdma_listen() on 10.77.0.1:7174: no connection request has come" in result.output
