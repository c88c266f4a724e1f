# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The engine rtl:small on the machine: what the conformance suite has to say of it, and its waveform."""
import os
import re
import subprocess
from pathlib import Path

BUILD = Path(os.environ.get("HCASIM_BUILD", Path(__file__).resolve().parents[3] / "build/release"))
HCASIM = BUILD / "bin/hcasim"


KINDS = ("sge", "sge-0", "none", "inline-0", "inline-1")
LACKS = "wr/rdma_read/rc/sge/-/signaled"


def test_its_operations_pass_and_others_fail(tmp_path):
    """One run: finding the cells takes longer than running them."""
    places = [
        f"{api}/{op}/rc/{kind}/-/signaled"
        for api in ("wr", "post")
        for op in ("send", "rdma_write")
        for kind in KINDS
    ]
    cells = " or ".join([*places, LACKS])
    words = [
        HCASIM,
        "conform",
        "--no-tap",
        "--jobs",
        "1",
        "--engine",
        "rtl:small",
        "-k",
        cells,
        "--out",
        tmp_path,
    ]
    result = subprocess.run(words, capture_output=True, text=True)
    fails = [line for line in result.stdout.splitlines() if line.startswith("fail ")]
    assert len(fails) == 1 and fails[0].startswith(
        f"fail {LACKS}: requester CQE: status LOC_QP_OP_ERR"
    ), fails
    passed = int(re.search(r"(\d+) pass, 1 fail,", result.stdout)[1])
    assert passed == len(places), result.stdout


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
