# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A difference of the RTL engine on the machine: the engine with a planted fault, in lockstep with the C engine."""
import os
import subprocess
import sys
from pathlib import Path

BUILD = Path(os.environ.get("HCASIM_BUILD", Path(__file__).resolve().parents[3] / "build/release"))
HCASIM = BUILD / "bin/hcasim"
DV = Path(__file__).resolve().parents[2] / "dv"
FST_HEADER = bytes([0]) + (329).to_bytes(8, "big")  # kind and length of the first block of every FST file
sys.path.insert(0, str(DV))
import plant  # noqa: E402


def number_of(module, wrong):
    listed = plant.faults(DV / "faults.txt")
    return next(n for n, fault in enumerate(listed, 1) if (fault[0], fault[3]) == (module, wrong))


def run(fault, wave):
    engine = BUILD / "rtl_model/engine/rtl-faulty.so"
    words = [HCASIM, "run", "--engine", f"lockstep:{engine}", "--hcas", "2", "--wave", wave, "--"]
    return subprocess.run(
        [*words, BUILD / "bin/hcasim-counters"],
        env={**os.environ, "HCASIM_RTL_FAULT": str(fault)},
        capture_output=True,
        text=True,
    )


def test_without_a_fault_there_is_none(tmp_path):
    result = run(0, tmp_path / "none.fst")
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_wrong_bit_of_a_frame_is_found_and_has_a_waveform(tmp_path):
    result = run(number_of("hcasim_header", "bth.migreq = 1'b0;"), tmp_path / "frame.fst")
    assert result.returncode == 125, result.stdout + result.stderr
    assert "differ: frame: byte " in result.stderr
    files = [
        line.split(": ", 1)[1].split(", and")[0]
        for line in result.stderr.splitlines()
        if "waveform of" in line
    ]
    assert len(files) == 1, result.stderr
    assert Path(files[0]).read_bytes().startswith(FST_HEADER)
    assert Path(files[0]).stat().st_size > 1000
