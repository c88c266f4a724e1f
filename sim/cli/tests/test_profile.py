# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim profile, and --set of the commands that have a profile."""
import json
import os
import re
from pathlib import Path

import jsonschema
import pytest
import yaml
from conftest import hcasim

DEVINFO = Path(os.environ["RDMA_CORE_BUILD"]) / "bin/ibv_devinfo"
PROFILES = Path(__file__).resolve().parents[2] / "timing/profiles"
NAMES = sorted(path.stem for path in PROFILES.glob("*.yaml"))


def printed(*words):
    result = hcasim("profile", *words)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return yaml.safe_load(result.stdout)


def refused(status, *words):
    result = hcasim(*words)
    assert result.returncode == status and not result.stdout, result.stdout
    return result.stderr


@pytest.mark.parametrize("name", NAMES)
def test_print_has_all_that_the_file_has(name):
    assert printed(name, "--print") == yaml.safe_load((PROFILES / f"{name}.yaml").read_text())


def test_without_a_name_it_is_the_default_of_run():
    assert printed("--print") == printed("gen4x16-200g")
    assert printed("--set", "pcie.mps=128")["pcie"]["mps"]["value"] == 128


def test_list():
    assert [line.split()[0] for line in hcasim("profile").stdout.splitlines()] == NAMES


def test_set_changes_its_figure_and_nothing_else():
    profile = printed(
        "connectx3", "--set", "pcie.mps=128", "--set", "engine.stages.fetch.fixed=2.5", "--print"
    )
    expected = printed("connectx3")
    expected["pcie"]["mps"] = {"value": 128, "unit": "B", "source": "--set pcie.mps=128"}
    fixed = {"value": 2.5, "unit": "cycles", "source": "--set engine.stages.fetch.fixed=2.5"}
    expected["engine"]["stages"]["fetch"]["fixed"] = fixed
    assert profile == expected


def test_a_figure_with_a_default_follows_until_it_is_set(tmp_path):
    """Also in a file that was printed."""
    own = tmp_path / "own.yaml"
    own.write_text(hcasim("profile", "connectx3", "--set", "engine.stages.respond.fixed=50").stdout)
    line = '      # interval: {value: 60, unit: cycles, source: "as fixed"}'
    assert line in hcasim("profile", own, "--set", "engine.stages.respond.fixed=60").stdout.splitlines()
    stage = printed(
        own, "--set", "engine.stages.respond.interval=7", "--set", "engine.stages.respond.fixed=60"
    )
    figures = stage["engine"]["stages"]["respond"]
    assert figures["interval"]["value"] == 7 and figures["fixed"]["value"] == 60
    assert "units" not in figures


def test_the_last_of_two_counts():
    assert printed("rtl", "--set", "pcie.tags=3", "--set", "pcie.tags=4")["pcie"]["tags"]["value"] == 4


def test_schema():
    schema = json.loads(hcasim("profile", "--schema").stdout)
    for name in NAMES:
        jsonschema.Draft202012Validator(schema).validate(printed(name, "--set", "pcie.latency=0.001"))


@pytest.mark.parametrize(
    "figure, words",
    [
        ("pcie.mps=250", ["'pcie.mps=250'", "value 250 must be a power of two", "7.5.3.4"]),
        ("pcie.mps=8192", ["value 8192 is out of range, 128 to 4096 B", "7.5.3.4"]),
        ("pcie.tags=0", ["pcie.tags: value 0 is out of range, 1 to 1024 reads"]),
        ("pcie.tags=1.5", ["value 1.5 must be a whole number"]),
        ("pcie.tags=many", ["value 'many' is not a number"]),
        ("pcie.tags=", ["value '' is not a number"]),
        ("pcie.mpx=1", ["unknown key 'pcie.mpx'; the closest one is 'pcie.mps'"]),
        ("mps=128", ["unknown key 'mps'; the closest one is 'pcie.mps'"]),
        ("engine.stages.fecth.fixed=1", ["the closest one is 'engine.stages.fetch.fixed'"]),
        ("pcie=1", ["unknown key 'pcie'"]),
        ("engine.stages.rx.units=0", ["value 0 is out of range, 1 to 64 units", "passes nothing on"]),
        ("engine.stages.rx.units=1.5", ["engine.stages.rx.units: value 1.5 must be a whole number"]),
        ("engine.stages.rx.interval=-1", ["engine.stages.rx.interval: value -1 is out of range"]),
        ("engine.stages.rx.interval=1000001", ["out of range, 0 to 1000000 cycles"]),
        ("engine.stages.rx.interval_width=4097", ["out of range, 0 to 4096 B/cycle"]),
        ("pcie.store_headers=0", ["value 0 is out of range, 1 to 4096 TLPs", "no store ever leaves"]),
        ("pcie.store_data=63", ["value 63 is out of range, 64 to 1048576 B", "a store has up to 64 B"]),
        ("root.store_queue=0", ["value 0 is out of range, 1 to 4096 TLPs", "passes nothing on"]),
        ("fifo.doorbell_waits=2", ["value 2 is out of range, 0 to 1 bool"]),
        ("wire.pause_reaction=-1", ["value -1 is out of range, 0 to 1000000 ns"]),
        ("engine.stages.rx.intervall=1", ["the closest one is 'engine.stages.rx.interval'"]),
        ("pcie.mps", ["'pcie.mps': is not KEY=VALUE"]),
    ],
)
def test_what_is_refused(figure, words):
    """By the same sentence in both commands; nothing runs."""
    printing = refused(2, "profile", "gen4x16-200g", "--set", figure)
    assert all(word in printing for word in words), printing
    assert refused(2, "run", "--set", figure, "--", "/bin/echo", "ran") == printing


def test_figures_that_contradict_each_other():
    message = refused(2, "profile", "rtl", "--set", "pcie.posted_data=128")
    assert "pcie.mps: value" in message and "is larger than pcie.posted_data, 128 B" in message


def test_what_profile_refuses():
    assert "'nobody' is unknown" in refused(2, "profile", "nobody")
    assert "--schema is that of all profiles" in refused(2, "profile", "rtl", "--schema")
    assert "--schema is that of all profiles" in refused(2, "profile", "--schema", "--set", "pcie.mps=128")
    assert "--set" in refused(2, "replay", "--set", "pcie.mps=128", "a.rec")  # a record has its profile


def test_a_run_has_the_figures(tmp_path):
    """The adapter reports the MTU that fits, and the record has the profile as it was."""
    record = tmp_path / "r.rec"
    result = hcasim("run", "--set", "wire.mtu=1500", "--record", record, "--", DEVINFO)
    assert result.returncode == 0 and re.search(r"active_mtu:\s+1024", result.stdout), result.stderr
    text = hcasim("replay", "--print", record).stdout
    assert 'profile_name="gen4x16-200g.yaml"' in text and '"--set wire.mtu=1500"' in text.replace("\\", "")
    assert hcasim("replay", record).returncode == 0
