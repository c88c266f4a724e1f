# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The responder's end in a separate process: --peer-command, and each way in which that process can fail."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from parts import part
from peer_frames import CALLS, HEAD
from hcasim_conform import cli
from hcasim_conform.run import drive
from hcasim_conform.run import dut
from hcasim_conform.report import results
from hcasim_conform.select.covering import base
from hcasim_conform.select.enumeration import Enumerator

HERE = Path(__file__).resolve().parent
MAGIC = 0x4C435048
SOME = "recv/rc or srq/ or (suite/ and not suite/counters) or writev/ or (/sge/ and /signaled and not (of-3 or after or interleaved or threads))"
SENDS = "wr/send/rc/sge/ and not ip_csum"
FEW = "wr/send/rc/sge/ and not (ip_csum or of-3 or after or interleaved or threads or batch)"
PEER = "hcasim-conform-runner --peer"


@pytest.fixture
def quick_dut(tmp_path):
    """The native adapter with a shorter timeout: path of its DUT file, and a function that runs it."""

    def write(**more):
        doc = {"extends": str(dut.DUTS / "native.yaml"), "timeout_ms": 1000, **more}
        path = tmp_path / "quick.yaml"
        path.write_text(yaml.safe_dump(doc), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def conform(build, tmp_path, quick_dut):
    def run(*args, **more):
        command = [
            str(build / "bin" / "hcasim"),
            "conform",
            "--strict",
            "--dut",
            quick_dut(**more),
            "--jobs",
            "1",
        ]
        command += ["--out", str(tmp_path / "out"), *args]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        record = tmp_path / "out" / "results.json"
        return done, results.load(record) if record.exists() else None

    return run


def failing(data):
    return {row["id"]: row["faults"] for row in data["cells"] if row["outcome"] != "pass"}


def test_two_processes(conform):
    """Every operation on every QP type, windows, keys, SRQs, events, connections: results as in one process.

    A fifth of these cells.
    """
    done, data = conform("--peer-command", PEER, "-k", SOME, "--shard", f"{part(5)}/5")
    assert failing(data) == {} and data["faults"] == []
    assert done.returncode == 0, done.stderr
    apis = {row["id"].split("/")[0] for row in data["cells"]}
    types = {row["id"].split("/")[2] for row in data["cells"]}
    assert apis == {"wr", "post", "recv", "srq", "writev", "suite"}
    assert types >= {"rc", "uc", "ud", "raw_packet", "xrc_send"}
    assert data["dut"]["peer_command"] == PEER.split()
    # no scenario is skipped because of a missing capability at the peer
    assert not [row["id"] for row in data["cells"] if re.search("the device (has no|cannot)", row["seen"])]


def test_a_device_and_a_peer_without_a_file(build, tmp_path):
    hcasim = str(build / "bin" / "hcasim")
    command = [hcasim, "run", "--hcas", "2", "--", hcasim, "conform", "--strict", "--dut", "device:hcasim0"]
    command += ["--peer", "hcasim1/1/0", "--peer-command", PEER, "--out", str(tmp_path), "-k", SENDS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    data = results.load(tmp_path)
    assert failing(data) == {} and done.returncode == 0, done.stderr
    assert data["dut"]["responder"]["device"] == "hcasim1"
    assert "of 'hcasim-conform-runner --peer'" in data["dut"]["doc"]


# -- a peer that fails during a run


@pytest.fixture
def broken(tmp_path):
    def command(how, call, count):
        script = [sys.executable, str(HERE / "broken_peer.py")]
        return [*script, how, call, str(count), str(tmp_path / "mark"), *PEER.split()]

    return command


def one(data):
    """The faults of the only cell that failed."""
    (faults,) = failing(data).values()
    return faults


def test_a_peer_that_crashes_costs_its_cell(conform, broken):
    """The message names the end; the next runner, with a new peer, continues with the next cell."""
    command = broken("crash", "post_recv", 20)
    done, data = conform("--no-tap", "-k", FEW, peer_command=command, start_ms=20000)
    assert done.returncode == 1 and len(data["cells"]) > 3
    assert len(one(data)) == 1 and "died of SIGSEGV in post_recv: " in one(data)[0], one(data)
    assert one(data)[0].endswith("the last output of the peer")


@pytest.fixture
def runner(build, tables):
    """The output of a runner with this peer for two cells, its status, and its duration in seconds."""
    cells = [
        c
        for c in base_cells(tables)
        if c.id in ("wr/send/rc/sge/-/signaled", "wr/rdma_write/rc/sge/-/signaled")
    ]

    def run(command, start_ms=20000, device="hcasim1"):
        native = dut.load("native", device, command)
        native.runner_line["dut"] |= {"timeout_ms": 500, "start_ms": start_ms}
        env = drive.environment(native, build / "bin")
        text = "".join(json.dumps(line) + "\n" for line in [native.runner_line, *(c.line() for c in cells)])
        start = [build / "bin" / "hcasim", "run", "--hcas", "2", "--", build / "bin" / drive.RUNNER]
        done = subprocess.run(
            start, input=text, capture_output=True, text=True, timeout=60, env=env, check=False
        )
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    return run


def base_cells(tables):
    blocks = Enumerator(tables).blocks.values()
    return [b.cell(where) for b in blocks for where in base(b)]


# how, at which call and which occurrence of it, and the expected message
BROKEN = [
    ("crash", "map", 1, "died of SIGSEGV in map: "),
    ("killed", "poll_cq", 1, "died of SIGKILL in poll_cq"),
    ("hang", "sync", 1, "did not answer sync within 2000 ms and was killed"),
    ("garbage", "req_notify_cq", 1, "no answer to req_notify_cq: 'Broadcast message from root"),
    ("garbage", "poll_cq", 1, "no answer to poll_cq: 'Broadcast message from root"),
    ("long", "modify_qp", 2, "no answer to modify_qp"),
    ("short", "create_qp", 1, "no answer to create_qp"),
]


@pytest.mark.parametrize("how, call, count, words", BROKEN, ids=[f"{b[0]}-{b[1]}" for b in BROKEN])
def test_what_is_said_of_a_peer_that_breaks(runner, broken, how, call, count, words):
    status, said = runner(broken(how, call, count))
    if "error" in said[-1]:  # before the first cell
        assert status == 2 and words in said[-1]["error"]
        return
    assert status == 1 and [*said[-1]][:1] == ["end"] and said[-1]["pass"] is False
    assert len(said[-1]["faults"]) == 1 and "the peer process (" in said[-1]["faults"][0]
    assert words in said[-1]["faults"][0]
    assert sum("end" in line for line in said) == 1  # the next cell is run by another runner


def test_an_error_of_a_call_is_that_of_the_device(runner, broken):
    """The peer continues: the cell fails as with both ends in one process, and the next one is run."""
    _, said = runner(broken("error", "create_qp", 1))
    ends = [line for line in said if "end" in line]
    assert [line["pass"] for line in ends] == [False, True]
    assert ends[0]["faults"] == ["ibv_create_qp of the peer failed with ENOMEM"]


# -- a peer that does not start

STARTS = [
    (["no-such-program"], "the peer process (no-such-program) cannot be started: No such file"),
    (
        ["sh", "-c", "echo Permission denied. >&2; exit 255"],
        "ended with status 255 in its start: Permission denied.",
    ),
    (["echo", "Welcome to host2"], "no answer to its start: 'Welcome to host2'"),
    (["echo", "hcasim-conform-peer 2 0"], "speaks version 2 of the protocol, this runner speaks 1"),
    (["echo", "hcasim-conform-peer 1 0"], "lays out its structures otherwise (stamp 00000000"),
    (["sleep", "60"], "did not answer its start within 2100 ms and was killed"),
]


@pytest.mark.parametrize(
    "command, words", STARTS, ids=["none", "refused", "motd", "version", "stamp", "silent"]
)
def test_a_peer_that_does_not_start(runner, command, words):
    status, said = runner(command, start_ms=100)
    assert status == 2 and words in said[-1]["error"]


def test_a_peer_that_does_not_start_ends_the_run(conform):
    done, data = conform("-k", FEW, peer_command=["sh", "-c", "echo Permission denied. >&2; exit 255"])
    assert (done.returncode, data) == (2, None)
    assert "ended with status 255 in its start: Permission denied." in done.stderr


def test_a_device_that_the_peer_does_not_have(runner):
    status, said = runner(PEER.split(), device="mlx5_7")
    assert status == 2 and "the peer: no RDMA device 'mlx5_7' here" in said[-1]["error"]


def test_a_peer_that_ends_badly(conform):
    """A crash at the end, or a sanitizer's finding, is a fault of the run, not of a cell."""
    done, data = conform(
        "--no-tap", "-k", FEW, peer_command=["sh", "-c", f"{PEER}; echo leaked >&2; exit 23"]
    )
    assert done.returncode == 1 and failing(data) == {}
    assert any("ended with status 23: leaked" in fault for fault in data["faults"]), data["faults"]


# -- the peer with invalid input


@pytest.fixture
def peer(build):
    def speak(data):
        command = [str(build / "bin" / drive.RUNNER), "--peer"]
        done = subprocess.run(command, input=data, capture_output=True, timeout=60, check=False)
        return done.returncode, done.stdout.split(b"\n", 1)[1], done.stderr.decode()

    return speak


def test_a_runner_that_is_gone(peer):
    assert peer(b"") == (0, b"", "")


@pytest.mark.parametrize(
    "frame",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        HEAD.pack(MAGIC, 9999, 1, 0, 0),
        HEAD.pack(MAGIC, 0, 1, 0, 0xFFFFFFFF),
        HEAD.pack(MAGIC, 0, 1, 0, 3) + b"abc",
    ],
    ids=["http", "number", "length", "structure"],
)
def test_what_is_no_call(peer, frame):
    status, said, words = peer(frame)
    assert (status, said) == (2, b"") and "what came is no call" in words


def test_a_call_that_is_cut_short(peer):
    status, _, words = peer(HEAD.pack(MAGIC, CALLS.index("sync"), 1, 0, 4000) + b"x")
    assert status == 2 and "cut short" in words


def test_a_call_before_the_device_is_open(peer):
    status, said, _ = peer(HEAD.pack(MAGIC, CALLS.index("query"), 1, 0, 0))
    assert (status, len(said)) == (0, HEAD.size)
    magic, _, _, error, length = HEAD.unpack(said)
    assert (magic, length) == (MAGIC, 0) and error > 0


# -- DUT file and command line


def test_a_command_and_its_words(write_dut):
    device = dut.load("device:mlx5_0/1/3", None, ["ssh", "host2", "runner", "--peer"])
    line = device.runner_line["dut"]
    assert line["peer_command"] == ["ssh", "host2", "runner", "--peer"]
    assert line["responder"] == line["requester"]  # the same device, on the other host
    assert line["start_ms"] == 30000 and device.start_time == 30
    path = write_dut(peer_command=["./there", "x"])
    assert dut.load(str(path)).runner_line["dut"]["peer_command"] == [str(path.parent / "there"), "x"]
    assert "peer_command" not in dut.load(str(write_dut())).runner_line["dut"]


@pytest.mark.parametrize("command", [[], "ssh host2", [1]])
def test_a_bad_command_in_a_file(write_dut, command):
    with pytest.raises(dut.DutError, match="peer_command"):
        dut.load(str(write_dut(peer_command=command)))


@pytest.mark.parametrize("text, words", [("'ssh", "No closing quotation"), ("", "is empty")])
def test_a_bad_command_line(capsys, text, words):
    with pytest.raises(SystemExit):
        cli.main(None, ["--peer-command", text])
    assert words in capsys.readouterr().err


# -- over ssh

SSHD = """
HostKey {key}
AuthorizedKeysFile {key}.pub
PidFile none
StrictModes no
UsePAM no
"""
# Variables of the simulated machine, which a login does not pass on. A real second host does not need them.
LOGIN = """#!/bin/sh
exec env -u LD_PRELOAD ssh -T -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \\
	-o LogLevel=ERROR -i '{key}' -o ProxyCommand="'{sshd}' -i -f '{folder}/sshd_config'" '{user}@host2' \\
	"env LD_PRELOAD='$LD_PRELOAD' LD_LIBRARY_PATH='$LD_LIBRARY_PATH' HCASIM_RUNTIME='$HCASIM_RUNTIME' \\
	RDMAV_DRIVERS='$RDMAV_DRIVERS' IBV_DRIVERS='$IBV_DRIVERS' '{runner}' --peer"
"""


def test_over_ssh(build, runner, tmp_path):
    """A real login without a port: sshd and ssh are connected by a pipe."""
    sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
    if os.geteuid() == 0:  # created by the system at boot
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (tmp_path / "sshd_config").write_text(SSHD.format(key=key), encoding="utf-8")
    login = tmp_path / "login"
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    text = LOGIN.format(key=key, sshd=sshd, folder=tmp_path, user=user, runner=build / "bin" / drive.RUNNER)
    login.write_text(text, encoding="utf-8")
    login.chmod(0o755)
    status, said = runner([str(login)])
    assert status == 0, said[-1]
    assert [line["pass"] for line in said if "end" in line] == [True, True]
