# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The engine rtl:small on the machine: what the conformance suite has to say of it, and its waveform."""
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("HCASIM_BUILD", Path(__file__).resolve().parents[3] / "build/release"))
HCASIM = BUILD / "bin/hcasim"


def conform(tmp_path, cells, *options):
    words = [HCASIM, "conform", "--no-tap", "--jobs", "1", "-k", cells, "--out", tmp_path, *options]
    return subprocess.run(words, capture_output=True, text=True)


@pytest.mark.parametrize("operation", ["send", "rdma_write"])
@pytest.mark.parametrize("api", ["wr", "post"])
def test_its_operations_pass(tmp_path, api, operation):
    data = [f"{api}/{operation}/rc/{kind}" for kind in ("sge/", "sge-0/", "none/", "inline-0/", "inline-1/")]
    cells = f"({' or '.join(data)}) and signaled and not (of-3 or after or interleaved or threads or list)"
    result = conform(tmp_path, cells, "--engine", "rtl:small")
    assert result.returncode == 0 and " 0 fail," in result.stdout, result.stdout + result.stderr


def test_an_operation_that_it_lacks_fails(tmp_path):
    result = conform(tmp_path, "wr/rdma_read/rc/sge/-/signaled", "--engine", "rtl:small")
    assert result.returncode == 1 and "LOC_QP_OP_ERR" in result.stdout, result.stdout + result.stderr


def test_the_first_difference_has_a_waveform(tmp_path):
    """The small engine reads one WQE at a time: in lockstep it differs soon."""
    wave = tmp_path / "small.fst"
    words = [HCASIM, "run", "--engine", "lockstep:rtl:small", "--hcas", "2", "--wave", wave, "--"]
    result = subprocess.run([*words, BUILD / "bin/hcasim-counters"], capture_output=True, text=True)
    assert result.returncode == 125, result.stdout + result.stderr
    assert "lockstep: engines c and rtl:small differ: " in result.stderr
    files = [
        line.split(": ", 1)[1].split(", and")[0]
        for line in result.stderr.splitlines()
        if "waveform of" in line
    ]
    assert len(files) == 1 and Path(files[0]).stat().st_size > 100, result.stderr
