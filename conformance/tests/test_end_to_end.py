# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The real driver, runner, libibverbs and device: `hcasim conform` as a person calls it."""
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from scapy.contrib.roce import BTH
from scapy.utils import PcapReader

from hcasim_conform import dut, results

CELLS = "wr/send/rc/sge/ and not ip_csum"
CELL = "wr/send/rc/sge/-/solicited"
# Each API, operation and setter; what stands around them are SENDs.
CALLS = "suite or /signaled and not (/uc/ or /xrc or of-3 or after or interleaved or threads)"


@pytest.fixture
def conform(build, tmp_path, monkeypatch):
    program = build / "bin" / "hcasim"
    assert program.exists(), f"{program} is not built: set HCASIM_BUILD"

    def run(*args, **env):
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        command = [str(program), "conform", "--out", str(tmp_path), "--jobs", "1", *args]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        record = tmp_path / "results.json"
        data = results.load(record) if record.exists() else None
        return done, data

    return run


@pytest.fixture
def quick_dut(tmp_path):
    """The native adapter, given up on sooner."""
    doc = yaml.safe_load((dut.DUTS / "native.yaml").read_text(encoding="utf-8"))
    doc.update(timeout_ms=1000, differences=[])
    path = tmp_path / "quick.yaml"
    path.write_text(yaml.safe_dump(doc), encoding="utf-8")
    return str(path)


def failing(data):
    return {row["id"]: row["faults"][0] for row in data["cells"] if row["outcome"] != "pass"}


def test_cells_pass(conform, quick_dut):
    done, data = conform("--dut", quick_dut, "-k", CELLS)
    assert failing(data) == {}
    assert done.returncode == 0, done.stderr
    assert all(row["calls"] and row["seen"] for row in data["cells"])


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


@pytest.mark.parametrize(
    "cells, outcome, words",
    [([CELL], "unexpected", None), ([CELL, "wr/nowhere/*"], "unexpected", "stale key: 'wr/nowhere/*'")],
)
def test_a_list_of_differences_that_is_not_true_fails_the_run(conform, quick_dut, cells, outcome, words):
    """The device has no fault there: the cell passes, and a pattern matches none."""
    doc = yaml.safe_load(open(quick_dut, encoding="utf-8"))
    doc["differences"] = [{"clause": "*", "cells": cells, "reason": "it was so once"}]
    with open(quick_dut, "w", encoding="utf-8") as file:
        yaml.safe_dump(doc, file)
    done, data = conform("--dut", quick_dut, "-k", CELLS)
    assert done.returncode == 1
    assert [row["outcome"] for row in data["cells"] if row["id"] == CELL] == [outcome]
    assert not words or any(words in fault for fault in data["faults"]), data["faults"]


def test_a_device_name_that_is_not_there(conform, quick_dut, tmp_path):
    path = tmp_path / "other.yaml"
    text = (tmp_path / "quick.yaml").read_text(encoding="utf-8").replace("hcasim1", "hcasim9")
    path.write_text(text, encoding="utf-8")
    done, data = conform("--dut", str(path), "-k", CELLS)
    assert done.returncode == 1
    assert all("no RDMA device 'hcasim9'" in fault for fault in failing(data).values())


def reproduction(calls):
    """A function that makes these calls, as the report gives them to be copied."""
    lines = [call if call.startswith("/*") else f"{call};" for call in calls]
    return "\n".join(
        ['#include "reproduce.h"', "void reproduce(void);", "void reproduce(void)", "{", *lines, "}", ""]
    )


def test_the_calls_of_the_report_compile(conform, quick_dut, build):
    """Of every API, operation and setter: one of each form, whatever its numbers are."""
    _, data = conform("--dut", quick_dut, "-k", CALLS)
    forms = {
        re.sub(r"0x[0-9a-f]+|\b\d+\b", "#", call): call for row in data["cells"] for call in row["calls"]
    }
    assert len(forms) > 100
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    rdma_core = re.search(r"^RDMA_CORE_BUILD:PATH=(.*)$", cache, re.M)[1]
    include = ["-I", str(Path(__file__).parents[1]), "-I", f"{rdma_core}/include"]
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers"]
    compiler = ["cc", "-std=gnu11", "-fsyntax-only", *warnings, *include, "-x", "c", "-"]
    done = subprocess.run(compiler, input=reproduction(forms.values()), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_device_of_this_machine_and_its_peer(build, tmp_path):
    """`device:NAME --peer NAME`, inside a simulated machine: two adapters, no DUT file."""
    hcasim = str(build / "bin" / "hcasim")
    command = [hcasim, "run", "--hcas", "2", "--", hcasim, "conform", "--dut", "device:hcasim0/1/0"]
    command += ["--peer", "hcasim1", "--out", str(tmp_path), "-k", CELLS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    data = results.load(tmp_path)
    assert failing(data) == {}
    assert done.returncode == 0, done.stderr
    assert data["dut"]["responder"]["device"] == "hcasim1"
    assert data["findings"] == []


def artefacts(data):
    return {row["id"]: row["artefacts"] for row in data["cells"] if row["artefacts"]}


def test_a_tap_leaves_captures_that_scapy_reads(conform, quick_dut, tmp_path):
    path = Path(quick_dut)
    # scapy computes the ICRC of IPv4 only
    path.write_text(
        path.read_text(encoding="utf-8").replace("gid_index: 0", "gid_index: 1"), encoding="utf-8"
    )
    done, data = conform("--dut", quick_dut, "-k", CELLS)
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


def test_without_a_tap(conform, quick_dut):
    done, data = conform("--dut", quick_dut, "-k", CELLS, "--no-tap")
    assert done.returncode == 0 and artefacts(data) == {}
