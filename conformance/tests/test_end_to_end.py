# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The real driver, runner, libibverbs and device: `hcasim conform` as a user calls it."""
import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml
from scapy.contrib.roce import BTH
from scapy.utils import PcapReader

from parts import part
from hcasim_conform.run import dut
from hcasim_conform.report import results
from hcasim_conform.model.cells import defined
from hcasim_conform.select.covering import base

SCHEMA = json.loads(results.SCHEMA.read_text(encoding="utf-8"))
CELLS = "wr/send/rc/sge/ and not ip_csum"
CELL = "wr/send/rc/sge/-/solicited"
# Each API, operation and setter; the other requests of these cells are SENDs.
CALLS = "suite or /signaled and not (/uc/ or /xrc or of-3 or after or interleaved or threads)"


@pytest.fixture
def conform(build, tmp_path, monkeypatch):
    program = build / "bin" / "hcasim"
    assert program.exists(), f"{program} is not built: set HCASIM_BUILD"

    def run(*args, **env):
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        command = [str(program), "conform", "--strict", "--out", str(tmp_path), "--jobs", "1", *args]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        record = tmp_path / "results.json"
        data = results.load(record) if record.exists() else None
        if data:
            jsonschema.validate(json.loads(record.read_text(encoding="utf-8")), SCHEMA)
        return done, data

    return run


def write_quick_dut(tmp_path, **changes):
    """The native adapter with a shorter timeout."""
    doc = {"extends": str(dut.DUTS / "native.yaml"), "timeout_ms": 1000, **changes}
    path = tmp_path / "quick.yaml"
    path.write_text(yaml.safe_dump(doc), encoding="utf-8")
    return str(path)


SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>

/* As a provider may: a call that succeeds changes errno, and one that fails does not set it. */
struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *(*real)(struct ibv_context *, int, void *, struct ibv_comp_channel *, int) =
		dlsym(RTLD_NEXT, "ibv_create_cq");
	struct ibv_cq *cq = real(ctx, cqe, cq_context, channel, vector);

	errno = EIO;
	return cq;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	return NULL;
}
"""


@pytest.fixture
def no_srq(build, tmp_path):
    """Words of a start command: a library in which ibv_create_srq() fails and does not say why."""
    source, library = tmp_path / "shim.c", tmp_path / "shim.so"
    source.write_text(SHIM, encoding="utf-8")
    include = build.parent / "rdma-core" / "include"
    subprocess.run(["cc", "-shared", "-fPIC", "-I", include, "-o", library, source, "-ldl"], check=True)
    return ["sh", "-c", f'LD_PRELOAD="{library}:$LD_PRELOAD" exec "$0" "$@"']


@pytest.fixture
def quick_dut(tmp_path):
    return write_quick_dut(tmp_path)


def failing(data):
    return {row["id"]: row["faults"][0] for row in data["cells"] if row["outcome"] != "pass"}


def test_cells_pass(conform, quick_dut):
    done, data = conform("--dut", quick_dut, "-k", CELLS)
    assert failing(data) == {}
    assert done.returncode == 0, done.stderr
    assert all(row["calls"] and row["seen"] for row in data["cells"])


@pytest.mark.parametrize("peer", [False, True])
def test_a_creation_that_fails_without_errno(conform, no_srq, tmp_path, peer):
    """What an earlier call has left in errno is not the reason."""
    start = ["hcasim", "run", "--hcas", "2", "--"]
    ends = (
        {"start": start, "peer_command": [*no_srq, "hcasim-conform-runner", "--peer"]}
        if peer
        else {"start": start + no_srq}
    )
    path = write_quick_dut(tmp_path, **ends)
    done, data = conform("--dut", path, "--no-tap", "-k", "srq/post_srq_recv/rc or suite/objects/rc/held")
    assert done.returncode == 1
    said = {fault for row in data["cells"] for fault in row["faults"] if "EIO" in fault or "errno" in fault}
    assert said >= {"ibv_create_srq failed with no errno"} and not [text for text in said if "EIO" in text]


def test_a_crash_of_the_runner_costs_its_cell(conform, quick_dut):
    done, data = conform("--dut", quick_dut, "-k", CELLS, HCASIM_CONFORM_TEST_CRASH=CELL)
    assert done.returncode == 1
    assert list(failing(data)) == [CELL]
    assert "SIGABRT" in failing(data)[CELL]


def test_a_hang_of_the_runner_costs_its_cell(conform, quick_dut):
    done, data = conform("--dut", quick_dut, "-k", CELLS, HCASIM_CONFORM_TEST_HANG=CELL)
    assert done.returncode == 1
    assert list(failing(data)) == [CELL]
    assert "no progress" in failing(data)[CELL]


# A wrapper of the runner that stops the device process when that cell has begun.
STOPPING = """
import os, signal, subprocess, sys
sys.path.insert(0, sys.argv[1])
from device_process import find_device
device = find_device(os.getppid())
runner = subprocess.Popen(sys.argv[3:], stdout=subprocess.PIPE)
for line in runner.stdout:
    if b'"begin"' in line and sys.argv[2].encode() + b'"' in line:
        os.kill(device, signal.SIGSTOP)
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
sys.exit(runner.wait())
"""


def test_a_device_that_stands_still_fails_the_run(conform, quick_dut, tmp_path):
    """The cell at that time, or the next one, fails; later cells get a new device and pass."""
    script = tmp_path / "stopping.py"
    script.write_text(STOPPING, encoding="utf-8")
    doc = yaml.safe_load(Path(quick_dut).read_text(encoding="utf-8"))
    doc["start"] = [
        *dut.load("native").start,
        sys.executable,
        str(script),
        str(Path(__file__).parents[2] / "sim" / "tests"),
        CELL,
    ]
    Path(quick_dut).write_text(yaml.safe_dump(doc), encoding="utf-8")
    done, data = conform("--dut", quick_dut, "--no-tap", "-k", CELLS)
    assert done.returncode == 1
    outcomes = [row["outcome"] for row in data["cells"]]
    assert 1 <= outcomes.count("fail") <= 3 and outcomes.count("pass") == len(outcomes) - outcomes.count(
        "fail"
    )


@pytest.mark.parametrize(
    "cells, outcome, words",
    [([CELL], "unexpected", None), ([CELL, "wr/nowhere/*"], "unexpected", "stale key: 'wr/nowhere/*'")],
)
def test_a_list_of_differences_that_is_not_true_fails_the_run(conform, quick_dut, cells, outcome, words):
    """The device has no such fault: the cell passes, and a pattern matches no cell."""
    doc = yaml.safe_load(open(quick_dut, encoding="utf-8"))
    doc["differences"] = [{"clause": "*", "cells": cells, "reason": "it was so once"}]
    with open(quick_dut, "w", encoding="utf-8") as file:
        yaml.safe_dump(doc, file)
    done, data = conform("--dut", quick_dut, "-k", CELLS)
    assert done.returncode == 1
    assert [row["outcome"] for row in data["cells"] if row["id"] == CELL] == [outcome]
    assert not words or any(words in fault for fault in data["faults"]), data["faults"]


def test_a_wait_that_is_known_to_be_in_vain_is_short(conform, tmp_path):
    """Nothing arrives on this wire. The test's own limit is 120 s."""
    lost = {"clause": "*", "cells": ["wr/send/uc/*"], "timeout_ms": 100, "reason": "all packets are lost"}
    path = write_quick_dut(
        tmp_path,
        start=["hcasim", "run", "--hcas", "2", "--fault", "loss=1", "--"],
        timeout_ms=60000,
        differences=[lost],
    )
    done, data = conform("--dut", path, "--no-tap", "-k", "wr/send/uc/sge/-/signaled")
    assert done.returncode == 0, done.stdout + done.stderr
    assert data["cells"] and all("did not come" in row["faults"][0] for row in data["cells"])


WRONG = [
    (["--peer", "hcasim9"], "no RDMA device 'hcasim9' here; there are: hcasim0 hcasim1"),
    (["--peer", "hcasim1/2"], "device 'hcasim1' has no port 2, the last one is 1"),
    (["--peer", "hcasim1/1/99"], "device 'hcasim1' port 1 has no GID with index 99; there are: 0 1"),
    (["--peer", "hcasim1/1/5"], "device 'hcasim1' port 1 has no GID with index 5; there are: 0 1"),
    (["--dut", "device:none"], "no RDMA device 'none' here"),
    (["--engine", "none"], "argument --engine: 'none' is unknown; available: c"),
    (["--set", "pcie.mps=5"], "pcie.mps: value 5 is out of range, 128 to 4096 B"),
    (["--peer-command", "no-such-program"], "(no-such-program) cannot be started: No such file"),
]


@pytest.mark.parametrize("words, message", WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_what_is_refused_before_the_first_cell(conform, words, message):
    done, data = conform(*words, "-k", CELLS)
    assert (done.returncode, data) == (2, None)
    assert (
        done.stderr.startswith("hcasim conform: ") and message in done.stderr and done.stderr.count("\n") == 1
    )


def reproduction(calls):
    """A function with these calls, as the report's "Copy C" gives them."""
    lines = [call if call.startswith("/*") else f"{call};" for call in calls]
    return "\n".join(
        ['#include "reproduce.h"', "void reproduce(void);", "void reproduce(void)", "{", *lines, "}", ""]
    )


def test_the_calls_of_the_report_compile(conform, quick_dut, build):
    """Calls of every API, operation and setter: one of each form, ignoring numbers; of a part of the cells."""
    _, data = conform("--dut", quick_dut, "-k", CALLS, "--shard", f"{part(6)}/6")
    forms = {
        re.sub(r"0x[0-9a-f]+|\b\d+\b", "#", call): call for row in data["cells"] for call in row["calls"]
    }
    assert len(forms) > 100, len(forms)
    include = ["-I", str(Path(__file__).parents[1]), *rdma_core(build, "-I", "include")]
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers"]
    compiler = ["cc", "-std=gnu11", "-fsyntax-only", *warnings, *include, "-x", "c", "-"]
    done = subprocess.run(compiler, input=reproduction(forms.values()), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


ABRUPT = "suite/state/rc and (abrupt-reset-mixed or abrupt-doorbells or abrupt-destroyed-mixed)"


@pytest.mark.cover(1)
@pytest.mark.parametrize("latency_ns", [0, 20_000, 1_000_000])
@pytest.mark.parametrize("name", ["native", "mlx5"])  # not rxe, where these cells fail for another reason
def test_commands_keep_the_order_of_pcie(conform, name, latency_ns):
    """RESET and destroy pass neither the doorbells before them nor the CQEs of what they end, however long the link."""
    done, data = conform("--dut", name, "-k", ABRUPT, "--no-tap", "--set", f"pcie.latency={latency_ns}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {row["outcome"] for row in data["cells"]} == {"pass"}


CQE = re.compile(r"(requester|responder) CQE (\w+)(?: (\w+))?")
STATEMENT = re.compile(r"\s*(/\*.*\*/|.*;)\s*$")  # as in templates/cell.js
# Each data setter and each region, on the row where most of them are legal.
WHOLE = ("wr/send_imm/rc", "wr/rdma_write/xrc_send", "wr/send/ud", "post/send_imm/rc")


def of_all_kinds(enumerator):
    """The plain cell of each API, operation and QP type, legal or not; of WHOLE also the cells one step away."""
    ids = [block.id_of(block.plain) for block in enumerator.blocks.values()]
    for head in WHOLE:
        block = enumerator.blocks[tuple(head.split("/"))]
        ids += [block.id_of(where) for where in base(block)]
    extra = [c for c in enumerator.extra.values() if c.api in ("recv", "srq", "writev") and defined(c)]
    return list(dict.fromkeys(ids + [c.id for c in extra]))


def program_of(rows):
    """One program of all cells; the environment selects the cell."""
    lines = ['#include "reproduce.h"', "#include <stdlib.h>", "void reproduce(void)", "{"]
    lines.append('switch (atoi(getenv("CELL"))) {')
    for number, row in enumerate(rows):
        calls = [call if STATEMENT.match(call) else f"{call};" for call in row["calls"]]
        lines += [f"case {number}: {{", *calls, "break; }"]
    return "\n".join([*lines, "}", "}", ""])


def about(build, key):
    return json.loads((build / "build.json").read_text(encoding="utf-8"))[key]


def rdma_core(build, option, folder):
    """The option with a folder of the build's rdma-core; none, if the build uses the system's."""
    ours = about(build, "rdma_core")
    return [option, str(build / ours / folder)] if ours else []


def sanitizers(build):
    runtime = Path(about(build, "sanitizer_runtime")).name
    kinds = {"libasan": "address,undefined", "libtsan": "thread"}
    return [f"-fsanitize={kinds[runtime.split('.')[0]]}"] if runtime else []


def compiled(rows, build, folder):
    command = ["cc", "-std=gnu11", *sanitizers(build), "-I", str(Path(__file__).parents[1])]
    command += [*rdma_core(build, "-I", "include"), "-x", "c", "-", "-x", "none"]
    command += [str(build / "lib" / "libhcasim-reproduce.a"), *rdma_core(build, "-L", "lib")]
    command += ["-lrdmacm", "-libverbs", "-ljansson", "-o", str(folder / "cells")]
    done = subprocess.run(command, input=program_of(rows), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "cells"


def reported(row):
    """The result of a cell in the record: completions in any order, and whether anything was refused."""
    return sorted(CQE.findall(row["seen"])), set(
        re.findall(r"(?:refused|failed) with (\w+)|errno (\w+)", row["seen"])
    )


def test_the_calls_of_the_report_reproduce_the_cell(conform, quick_dut, build, enumerator, tmp_path):
    """A program of the calls of a cell does what the cell did, on the same device: a fifth of the cells."""
    cells = of_all_kinds(enumerator)[part(5) - 1 :: 5]
    done, data = conform("--dut", quick_dut, "--no-tap", "-k", " or ".join(cells))
    assert done.returncode == 0, done.stderr
    rows = data["cells"]
    assert len(rows) > 40
    program = compiled(rows, build, tmp_path)
    ends = "hcasim0 hcasim1 10.77.0.1 10.77.0.2"
    loop = f"for i in $(seq 0 {len(rows) - 1}); do echo; echo cell; CELL=$i {program} {ends} || echo status $?; done"
    command = [str(build / "bin" / "hcasim"), "run", "--hcas", "2", "--", "sh", "-c", loop]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    found = done.stdout.split("\ncell\n")[1:]
    assert len(found) == len(rows), done.stderr
    for row, said in zip(rows, found):
        # a window is bound before it is invalidated, by a request that is not in the record
        own = [line for line in said.splitlines() if not line.endswith("wr_id 0x0") or "BIND_MW" not in line]
        completions, refusals = reported(row)
        assert "status" not in said, (row["id"], said)
        assert sorted(CQE.findall("\n".join(own))) == completions, (row["id"], said)
        for pair in refusals:
            assert f": {max(pair)}" in said, (row["id"], said)


def test_a_device_of_this_machine_and_its_peer(build, tmp_path):
    """`device:NAME --peer NAME`, inside a simulated machine: two adapters, no DUT file."""
    hcasim = str(build / "bin" / "hcasim")
    command = [
        hcasim,
        "run",
        "--hcas",
        "2",
        "--",
        hcasim,
        "conform",
        "--strict",
        "--dut",
        "device:hcasim0/1/0",
    ]
    command += ["--peer", "hcasim1", "--out", str(tmp_path), "-k", CELLS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    data = results.load(tmp_path)
    assert failing(data) == {}
    assert done.returncode == 0, done.stderr
    assert data["dut"]["responder"]["device"] == "hcasim1"
    assert data["findings"] == []


def artefacts(data):
    return {row["id"]: row["artefacts"] for row in data["cells"] if row["artefacts"]}


def test_a_tap_leaves_captures_that_scapy_reads(conform, tmp_path):
    ipv4 = {"gid_index": 1}  # scapy computes the ICRC of IPv4 only
    done, data = conform("--dut", write_quick_dut(tmp_path, requester=ipv4, responder=ipv4), "-k", CELLS)
    assert failing(data) == {} and done.returncode == 0, done.stderr
    kept = artefacts(data)
    assert kept
    for cell, found in kept.items():
        by_kind = {a["kind"]: a for a in found}
        assert "SEND" in by_kind["wqe"]["text"] and "MWr" in by_kind["tlp"]["text"], cell
        with PcapReader(str(tmp_path / by_kind["pcap"]["path"])) as reader:
            packets = list(reader)
        assert packets and len(packets) == len(by_kind["pcap"]["text"].splitlines())
        for packet in packets:
            assert packet[BTH].icrc.to_bytes(4, "big") == packet[BTH].compute_icrc(b"")


# Operations of RC and a datagram whose GRH is judged; the tap checks the version of each packet.
ROCE_V1 = "wr/ and rc/sge/-/signaled or suite/datagram/ud/"


@pytest.mark.cover(1)
@pytest.mark.parametrize("index", [0, 2], ids=["link-local", "ipv4"])
@pytest.mark.parametrize("family", ["native", "mlx5"])
def test_roce_v1(conform, tmp_path, family, index):
    """A GID index is all that a DUT file needs for RoCEv1."""
    ends = {role: {"gid_index": index} for role in ("requester", "responder")}
    doc = {"extends": str(dut.DUTS / f"{family}.yaml"), **ends}
    path = tmp_path / "roce_v1.yaml"
    path.write_text(yaml.safe_dump(doc), encoding="utf-8")
    figures = ["--set", "adapter.roce_v1=1"] if family == "native" else []
    done, data = conform("--dut", str(path), *figures, "-k", ROCE_V1)
    assert done.returncode == 0 and len(data["cells"]) > 8, done.stderr
    assert not [row["id"] for row in data["cells"] if row["outcome"] == "fail"]
    captures = [a for found in artefacts(data).values() for a in found if a["kind"] == "pcap"]
    assert captures and all("RoCEv1" in line for a in captures for line in a["text"].splitlines())


def test_without_a_tap(conform, quick_dut):
    done, data = conform("--dut", quick_dut, "-k", CELLS, "--no-tap")
    assert done.returncode == 0 and artefacts(data) == {}
