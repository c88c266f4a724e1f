# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim run --record, hcasim replay, and the golden set of traces/."""
import os
import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
BUILD = Path(os.environ.get("HCASIM_BUILD", TOP / "build/release"))
TOOL = BUILD / "sim/record/tests/hcasim-record-tool"
PLANTED = BUILD / "sim/core/tests/libcore_planted.so"  # the C engine, which retries once too often
GOLDEN = sorted((TOP / "traces").glob("*.rec"))


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def replay(*arguments):
    return run(BUILD / "bin/hcasim", "replay", *arguments)


def alter(record, to, what):
    made = run(TOOL, "alter", record, to, what)
    assert made.returncode == 0, made.stderr
    return to


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A record that this build made."""
    path = tmp_path_factory.mktemp("record") / "paging.rec"
    made = run(BUILD / "bin/hcasim", "run", "--hcas", 2, "--record", path, "--", BUILD / "bin/hcasim-paging")
    assert made.returncode == 0, made.stderr
    return path


def golden(name):
    return TOP / "traces" / f"{name}.rec"


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden(path):
    result = replay(path)
    assert (result.returncode, result.stderr) == (0, "")
    assert re.fullmatch(rf"{path}: \d{{4,}} events, no difference\n", result.stdout)


def test_golden_set_has_every_operation_on_every_type():
    """Those that the tables of ibv_wr_post(3) allow: hcasim conform --list has them as cells of these types."""
    sends = {"SEND", "SEND_IMM"}
    writes = sends | {"SEND_INV", "RDMA_WRITE", "RDMA_WRITE_IMM", "BIND_MW", "LOCAL_INV"}
    reads = writes | {"RDMA_READ", "ATOMIC_CS", "ATOMIC_FA", "FLUSH", "ATOMIC_WRITE"}
    wanted = {
        "rc": reads,
        "lossy": reads,
        "xrc_send": reads,
        "uc": writes,
        "ud": sends | {"TSO"},
        "raw_packet": {"SEND", "TSO"},
    }
    for name, operations in wanted.items():
        printed = replay("--print", golden(name)).stdout
        done = re.findall(r" CQE .* op=REQ wqe_op=(\w+) .* status=OK ", printed)
        assert operations - set(done) == set(), name


def test_own_record(recorded):
    printed = replay("--print", recorded).stdout
    # Calls of the driver, stores of the program, and what the driver does in a callback.
    for kind in (
        "hca_qp_create",
        "hca_page_request",
        "store",
        "irq",
        "read",
        "kernel_read",
        "TLP",
        "WQE",
        "CQE",
        "end",
    ):
        assert re.search(rf"^\d+ \d+ ps {kind}( |$)", printed, re.M), kind
    result = replay(recorded)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("kind", ["loss", "read_ur", "read_poison", "read_lost"])
def test_faults(tmp_path, kind):
    """The same ones again, in a run that they end (of PCIe) or not."""
    path = tmp_path / "faults.rec"
    bench = [BUILD / "bin/hcasim-bench", "write", 64, 1, 100]
    made = run(
        BUILD / "bin/hcasim", "run", "--hcas", 2, "--fault", f"{kind}=0.05", "--record", path, "--", *bench
    )
    assert made.returncode == (0 if kind == "loss" else 1), made.stderr
    result = replay(path)
    assert (result.returncode, result.stderr) == (0, "")


def test_counted_flows(tmp_path):
    """Flows count into memory that their command has passed, until they are destroyed."""
    path = tmp_path / "flows.rec"
    program = ["--device", "mlx5", "--hcas", 2, "--record", path, "--", BUILD / "bin/hcasim-flows", "roce"]
    made = run(BUILD / "bin/hcasim", "run", *program)
    assert made.returncode == 0, made.stderr
    result = replay(path)
    assert (result.returncode, result.stderr) == (0, "")


def test_other_engine():
    result = replay("--engine", "c:plugin", golden("rc"))
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "what, text",
    [
        ("cqe-byte", r"CQE: raw: byte \d+ of 64 is 0x[0-9a-f]{2}, recorded 0x"),
        ("tlp-byte", r"TLP: data"),
        ("frame-byte", r"frame: data: byte \d+ of \d+ is"),
        ("wqe-byte", r"WQE: raw: byte"),
        ("cqe-late", r"CQE: time is \d+ ps, recorded \d+ ps"),
        ("no-tlp", r"TLP: "),
        ("no-cqe", r"CQE: it was not recorded here, but "),
        ("no-store", r"(WQE|TLP|run|advance|store|end of (run|store)): "),
        ("answer", r"."),
        ("no-answer", r"(kernel_)?read: it was not recorded here, but |read: segments"),
    ],
)
def test_difference(tmp_path, what, text):
    result = replay(alter(golden("rc"), tmp_path / "altered.rec", what))
    assert result.returncode == 1
    assert re.match(
        rf"hcasim replay: \S+: first difference at event \d+, \d+ ps: {text}", result.stderr
    ), result.stderr
    assert re.search(r"^  (last )?work request: hcasim[01], QP \d+, ring index \d+:$", result.stderr, re.M)


def test_engine_with_a_fault(tmp_path):
    """It retries once too often, which shows when every packet is lost."""
    path = tmp_path / "lost.rec"
    options = ["--hcas", 2, "--fault", "loss=1", "--record", path]
    run(BUILD / "bin/hcasim", "run", *options, "--", BUILD / "bin/hcasim-counters")
    assert replay(path).returncode == 0
    result = replay("--engine", PLANTED, path)
    assert result.returncode == 1
    assert re.search(r"first difference at event \d+, \d+ ps: ", result.stderr), result.stderr
    assert re.search(r"^  (last )?work request: hcasim[01], QP \d+, ring index \d+:$", result.stderr, re.M)


@pytest.mark.parametrize(
    "change, text",
    [
        (lambda data: data[: len(data) // 2], "is truncated"),
        (lambda data: data[:-1], "is truncated"),
        (lambda data: data[:14] + b"7" + data[15:], "has format version 7, expected 1: record it again"),
        (
            lambda data: data[:16] + b"0" * 16 + data[32:],
            "has schema 0000000000000000 of commands and events, expected",
        ),
        (lambda data: b"#!/bin/sh\n", "is not a record of `hcasim run --record`"),
        (lambda data: b"", "is not a record of `hcasim run --record`"),
        (lambda data: data[:999] + bytes([data[999] ^ 4]) + data[1000:], "is damaged: "),
        (lambda data: data + b"x", "is damaged: it goes on after its end"),
    ],
)
def test_refused(tmp_path, change, text):
    path = tmp_path / "bad.rec"
    path.write_bytes(change(golden("ud").read_bytes()))
    for option in ([], ["--print"]):
        result = replay(*option, path)
        assert result.returncode == 2
        assert result.stdout == "" and result.stderr.startswith(
            f"hcasim replay: {path} {text}"
        ), result.stderr


def test_no_such_file(tmp_path):
    result = replay(tmp_path / "none.rec")
    assert (result.returncode, result.stderr.count("No such file or directory")) == (2, 1)
    result = run(BUILD / "bin/hcasim", "run", "--record", tmp_path / "no/folder.rec", "--", "true")
    assert result.returncode == 2 and f"cannot write {tmp_path}/no/folder.rec" in result.stderr


def test_damaged_files(tmp_path):
    result = run(TOOL, "fuzz", golden("ud"), tmp_path / "fuzzed.rec", 3000)
    assert (result.returncode, result.stderr) == (0, "")
