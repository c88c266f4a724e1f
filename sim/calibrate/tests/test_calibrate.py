# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim calibrate: the committed profile is what it writes, and the model with it is near the engine."""
import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

TOP = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("HCASIM_BUILD", TOP / "build/release"))
PROFILES = TOP / "sim/timing/profiles"


def calibrate(*arguments):
    command = [BUILD / "bin/hcasim", "calibrate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def rtl(tmp_path_factory):
    """(profile that was written, figures)"""
    folder = tmp_path_factory.mktemp("rtl")
    files = ["--write", folder / "rtl.yaml", "--json", folder / "rtl.json"]
    result = calibrate("--against", "rtl", "--profile", "gen4x16-200g", *files)
    assert result.returncode == 0, result.stderr
    return (folder / "rtl.yaml").read_text(), json.loads((folder / "rtl.json").read_text())


def test_the_committed_profile_is_what_it_writes(rtl):
    written, _ = rtl
    command = "hcasim calibrate --against rtl --write"
    assert (PROFILES / "rtl.yaml").read_text() == written, f"the engine's cycles have changed: {command}"


def test_the_model_is_near_the_engine(rtl):
    _, figures = rtl
    mixes = yaml.safe_load((TOP / "sim/calibrate/mixes.yaml").read_text())
    assert list(figures["model"]) == list(figures["engine"]) == [mix["name"] for mix in mixes]
    for name, engine in figures["engine"].items():
        for key in ("latency_ps", "ps_per_wqe"):
            assert figures["model"][name][key] == pytest.approx(engine[key], rel=0.1), (name, key)


def test_a_foreign_engine(tmp_path):
    """rtl:small counts 4 cycles for FETCH and DECODE; mixes that it cannot do are errors in the table."""
    result = calibrate("--against", "rtl:small", "--json", tmp_path / "small.json")
    assert result.returncode == 0, result.stderr
    figures = json.loads((tmp_path / "small.json").read_text())
    assert (
        figures["figures"]["fetch"] == figures["figures"]["decode"] == {"fixed": 4, "per_item": 0, "width": 0}
    )
    assert "LOC_QP_OP_ERR" in figures["engine"]["read_64"]["error"]
    assert figures["engine"]["send_64"]["latency_ps"] > 0
    assert result.stdout.count("LOC_QP_OP_ERR") == sum("error" in r for r in figures["engine"].values())


def test_figures_that_are_set(tmp_path):
    """Longer cables: the message and its acknowledgement each pass two of them."""
    (tmp_path / "mixes.yaml").write_text("- {name: one, op: SEND, size: 64}\n")
    latency = []
    for ns in (10, 1010):
        figures = tmp_path / f"{ns}.json"
        result = calibrate(
            "--against",
            "rtl",
            "--mixes",
            tmp_path / "mixes.yaml",
            "--set",
            f"wire.propagation={ns}",
            "--json",
            figures,
        )
        assert result.returncode == 0, result.stderr
        latency.append(json.loads(figures.read_text())["model"]["one"]["latency_ps"])
    assert latency[1] - latency[0] == pytest.approx(4e6, abs=1000)  # 1 ns: clock edges


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--against", "c"], "'c' counts no cycles"),
        (["--against", "lockstep"], "'lockstep' counts no cycles"),
        (["--against", "c:plugin"], "'c:plugin': the engine counts no cycles"),
        (["--against", "nobody"], "'nobody' is unknown"),
        (["--against", "rtl:small", "--profile", "nothing"], "'nothing' is unknown"),
        (["--against", "rtl:small", "--mixes", "/nowhere"], "--mixes '/nowhere'"),
        (["--against", "rtl:small", "--set", "pcie.mps=250"], "value 250 must be a power of two"),
    ],
)
def test_what_is_refused(arguments, message):
    result = calibrate(*arguments)
    assert result.returncode in (1, 2) and message in result.stderr, result.stderr


@pytest.mark.parametrize(
    "mixes, message",
    [
        ("- {name: x, op: FLY, size: 8}", "op: 'FLY' is not one of"),
        ("- {name: x, op: SEND, size: many}", "is not NAME OP SIZE"),
        ("- {name: x, op: SEND, size: 64, batch: 0}", "is not NAME OP SIZE"),
        ("- {name: x, size: 64}", "not a list of mixes with name, op and size"),
    ],
)
def test_bad_mixes(tmp_path, mixes, message):
    (tmp_path / "mixes.yaml").write_text(mixes + "\n")
    result = calibrate("--against", "rtl:small", "--mixes", tmp_path / "mixes.yaml")
    assert result.returncode == 2 and message in result.stderr, result.stderr
