# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim calibrate: published experiments against the model."""
import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

TOP = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("HCASIM_BUILD", TOP / "build/release"))
sys.path.append(str(TOP / "sim/tests"))

from host_load import load  # noqa: E402

SMALL = {
    "name": "small",
    "title": "a read of 64 B",
    "source": "pcie-bench/data",
    "profile": "pcie3x8",
    "program": "dma",
    "quantity": "latency",
    "unit": "ns",
    "axis": "size",
    "within": 7,
    "series": [
        {
            "name": "read",
            "run": {"traffic": "read_latency"},
            "rows": [{"at": 64, "published": 600, "use": "check"}],
        }
    ],
}


def calibrate(*arguments):
    command = [BUILD / "bin/hcasim", "calibrate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rows_of(tmp_path, *arguments):
    figures = tmp_path / "rows.json"
    result = calibrate(*arguments, "--json", figures)
    assert result.returncode == 0, result.stderr
    return json.loads(figures.read_text()), result.stdout


def write(tmp_path, **changes):
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump({**SMALL, **changes}))
    return path


BY_DAY = ["dma-read-latency", "connectx3-latency", "inline-gathered"]
IN_THE_NIGHT = [
    "connectx3-rate",
    "connectx6-depth",
    "pcie-bench",
    "wire-efficiency",
    "connectx3-size",
    "bulk-mtu",
    "atomic-latency",
    "atomics",
    "send-mtu",
    "connectx6-threads",
]


@pytest.mark.parametrize(
    "name", BY_DAY + [pytest.param(name, marks=pytest.mark.night) for name in IN_THE_NIGHT]
)
def test_within_bounds(tmp_path, name):
    rows, _ = rows_of(tmp_path, "-k", name)
    published = [row for row in rows if row["published"]]
    assert published and all(row["within"] for row in published), [r for r in published if not r["within"]]
    assert all(row["use"] == "prediction" for row in rows if not row["published"])


def test_the_mechanism_in_the_table(tmp_path):
    """WRITE of 256 B is so much slower than of 128 B because its payload is read by DMA; gathered, 128 B are as slow."""
    rows, _ = rows_of(tmp_path, "-k", "inline-gathered")
    model = {(row["series"], row["size"]): row["model"] for row in rows}
    assert model["inline", 256] == model["gathered", 256]
    assert 0.4 < model["gathered", 128] - model["inline", 128] < 0.7


def test_what_is_pushed(tmp_path):
    """Without prefer_bf the adapter reads WQEs whose payload is not inline: one DMA read more, from a memory of 1 us."""
    series = [
        {"name": name, "run": {"op": op, "inline": inline}, "rows": [{"at": 0}, {"at": 1}]}
        for name, op, inline in (("inline", "write", 64), ("gathered", "write", 0), ("read", "read", 64))
    ]
    path = write(
        tmp_path,
        program="verbs",
        profile="connectx6",
        set=["root.read_latency=1000"],
        unit="us",
        axis="prefer_bf",
        run={"size": 64},
        series=series,
    )
    rows, _ = rows_of(tmp_path, "--experiments", path)
    model = {(row["series"], row["prefer_bf"]): row["model"] for row in rows}
    assert model["inline", 0] == model["inline", 1]
    for name in ("gathered", "read"):
        assert 1.0 < model[name, 0] - model[name, 1] < 2.0


def assert_same_beside_a_load(tmp_path, *command):
    idle, _ = rows_of(tmp_path, *command)
    with load():
        loaded, _ = rows_of(tmp_path, *command)
    assert [row["model"] for row in loaded] == [row["model"] for row in idle]


EVERY = sorted(path.stem for path in (TOP / "sim/calibrate/experiments").glob("*.yaml"))


@pytest.mark.parametrize("name", EVERY)
def test_every_row_is_the_same_beside_a_load(tmp_path, name):
    assert_same_beside_a_load(tmp_path, "--experiments", TOP / f"sim/calibrate/experiments/{name}.yaml")


def test_threads_are_the_same_beside_a_load(tmp_path):
    """Threads that share a doorbell register come to it in an order that is not the host's."""
    path = tmp_path / "shared.yaml"
    shared = yaml.safe_load((TOP / "sim/calibrate/experiments/threads-registers.yaml").read_text())
    run = {**shared["run"], "count": 32}
    series = [{**entry, "rows": [{"at": 4}]} for entry in shared["series"] if entry["name"] == "one register"]
    path.write_text(yaml.safe_dump({**shared, "name": "shared", "run": run, "series": series}))
    assert_same_beside_a_load(tmp_path, "--experiments", path)


FIT = {"profile": "pcie3x8", "experiments": ["small"], "figures": {"root.read_latency": [150, 400]}}


def read_rows(*published):
    """Reads of 64 B on from which the model's latency follows, if memory takes 300 ns."""
    uses = ["fitted", "check", "check"]
    return [
        {
            "name": "read",
            "run": {"traffic": "read_latency"},
            "rows": [
                {"at": size, "published": ns, "use": use}
                for (size, ns), use in zip(published, uses, strict=True)
            ],
        }
    ]


def test_a_fit(tmp_path):
    """Figures that the model made with another latency of memory lead back to it; rows are named by their use."""
    series = read_rows((64, 1), (256, 1), (512, 1))
    made, _ = rows_of(
        tmp_path, "--experiments", write(tmp_path, series=series), "--set", "root.read_latency=300"
    )
    series = read_rows(*((row["size"], row["model"]) for row in made))
    (tmp_path / "fit.yaml").write_text(yaml.safe_dump(FIT))
    profile = tmp_path / "found.yaml"
    fit = ["--fit", tmp_path / "fit.yaml", "--write", profile]
    rows, text = rows_of(tmp_path, "--experiments", write(tmp_path, series=series), *fit)
    found = yaml.safe_load(profile.read_text())["root"]["read_latency"]
    assert found["value"] == pytest.approx(300, abs=1)
    assert found["source"] == "fitted by hcasim calibrate --fit fit to small read 64"
    assert "fitted, 1 rows: small read 64\nonly checked, 2 rows: small read 256; small read 512" in text
    assert all(abs(row["error_percent"]) < 0.2 for row in rows)
    again, _ = rows_of(tmp_path, "--experiments", tmp_path / "small.yaml", "--profile", profile)
    assert [row["model"] for row in again] == [row["model"] for row in rows]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"figures": {"root.read_latency": [400, 150]}}, "figures.root.read_latency: 400 is not below 150"),
        ({"figures": {"root.read_latency": [300, 400]}}, "200 of profile pcie3x8 is not in [300, 400]"),
        ({"figures": {"root.speed": [1, 2]}}, "figures.root.speed: profile pcie3x8 has no such figure"),
        ({"experiments": ["large"]}, "experiments: 'large' is not one of small"),
        ({"experiments": "small"}, "experiments: 'small' is not of type 'array'"),
        ({"profile": "nobody"}, "profile: 'nobody' is unknown"),
    ],
)
def test_bad_fits(tmp_path, changes, message):
    series = read_rows((64, 600), (256, 666), (512, 746))
    (tmp_path / "fit.yaml").write_text(yaml.safe_dump({**FIT, **changes}))
    result = calibrate("--experiments", write(tmp_path, series=series), "--fit", tmp_path / "fit.yaml")
    assert result.returncode == 2 and message in result.stderr, result.stderr


@pytest.mark.parametrize("fit", ["connectx3", "connectx6"])
def test_the_committed_fits(fit):
    """Each figure of the fit says so in the profile, which names the rows."""
    spec = yaml.safe_load((TOP / f"sim/calibrate/fits/{fit}.yaml").read_text())
    profile = yaml.safe_load((TOP / f"sim/timing/profiles/{fit}.yaml").read_text())
    for key, (low, high) in spec["figures"].items():
        figure = functools.reduce(lambda part, name: part[name], key.split("."), profile)
        assert low <= figure["value"] <= high, key
        assert figure["source"].startswith(f"fitted by hcasim calibrate --fit {fit} to "), key
        for name in spec["experiments"]:
            data = yaml.safe_load((TOP / f"sim/calibrate/experiments/{name}.yaml").read_text())
            for series in data["series"]:
                fitted = [str(row["at"]) for row in series["rows"] if row["use"] == "fitted"]
                if not fitted:
                    continue
                assert f"{name} {series['name']} {', '.join(fitted)}" in figure["source"], key


def test_too_few_rows_held_out(tmp_path):
    series = read_rows((64, 600), (256, 666), (512, 746))
    for row in series[0]["rows"]:
        row["use"] = "fitted"
    (tmp_path / "fit.yaml").write_text(yaml.safe_dump(FIT))
    result = calibrate("--experiments", write(tmp_path, series=series), "--fit", tmp_path / "fit.yaml")
    assert "3 of 3 rows are fitted; at least a third must be" in result.stderr


def test_an_experiment_of_ones_own(tmp_path):
    """A vendor's file; a figure that the model misses is marked, and a slower memory shows in the model."""
    rows, text = rows_of(tmp_path, "--experiments", write(tmp_path))
    assert "OUT OF BOUNDS" not in text and "1 rows only checked" in text
    slow, text = rows_of(tmp_path, "--experiments", tmp_path / "small.yaml", "--set", "root.read_latency=300")
    assert slow[0]["model"] == pytest.approx(rows[0]["model"] + 100, abs=0.01)
    assert slow[0]["error_percent"] == pytest.approx(100 * (slow[0]["model"] / 600 - 1))
    assert not slow[0]["within"] and "OUT OF BOUNDS" in text


def test_a_published_range(tmp_path):
    series = [{**SMALL["series"][0], "rows": [{"at": 64, "published": [500, 700], "use": "check"}]}]
    rows, _ = rows_of(tmp_path, "--experiments", write(tmp_path, series=series))
    assert rows[0]["error_percent"] == 0
    series[0]["rows"][0]["published"] = [100, 200]
    rows, _ = rows_of(tmp_path, "--experiments", write(tmp_path, series=series))
    assert rows[0]["error_percent"] == pytest.approx(100 * (rows[0]["model"] / 200 - 1))


def test_the_page(tmp_path):
    """One file with a plot and a table of each experiment; a figure that the model misses is red."""
    series = [{**SMALL["series"][0], "rows": [{"at": 64, "published": 100, "use": "check"}, {"at": 128}]}]
    page = tmp_path / "page.html"
    _, text = rows_of(
        tmp_path, "--experiments", write(tmp_path, series=series, title="a < b"), "--html", page
    )
    html = page.read_text()
    assert html.count("<svg") == 1 and "a &lt; b" in html and "pcie-bench/data" in html
    assert html.count('<tr class="bad">') == text.count("OUT OF BOUNDS") == 1
    assert html.count('<tr class="prediction">') == 1 and text.count("  prediction\n") == 1
    assert "; 1 predictions; 1 out of bounds" in text
    assert "<img" not in html and "<link" not in html and "<script" not in html


def test_every_operation_runs(tmp_path):
    """Through the verbs API: each operation, from several queue pairs and threads."""
    rows = [
        {"at": 1, "run": {"op": op, "count": 64}}
        for op in ("write", "send", "read", "fetch_and_add", "compare_and_swap")
    ]
    rows += [
        {"at": 4, "run": {"count": 64, "inline": 64}},
        {"at": 4, "run": {"count": 64, "threads": 3, "registers": 2}},
        {"at": 1, "run": {"count": 64, "window": 65536, "batch": 4, "sges": 4, "signal": 16}},
    ]
    path = write(
        tmp_path,
        program="verbs",
        quantity="rate",
        unit="M/s",
        axis="qps",
        run={"size": 8},
        series=[{"name": "all", "rows": rows}],
    )
    found, _ = rows_of(tmp_path, "--experiments", path)
    assert len(found) == 8 and all(row["model"] > 0 for row in found)


def test_nothing_published(tmp_path):
    """Predictions, in the text, the page and the JSON."""
    series = [{**SMALL["series"][0], "rows": [{"at": 64}]}]
    changes = {key: value for key, value in SMALL.items() if key not in ("source", "within")}
    path, page = tmp_path / "small.yaml", tmp_path / "page.html"
    path.write_text(yaml.safe_dump({**changes, "series": series}))
    rows, text = rows_of(tmp_path, "--experiments", path, "--html", page)
    assert "published: nothing; what follows is a prediction of the model\n" in text
    assert rows[0]["use"] == "prediction" and rows[0]["within"] is None
    assert "A prediction: nothing is published." in page.read_text()


def test_sensitivity(tmp_path):
    """A DMA read of 64 B depends on the memory's latency, and not on the number of CQ objects; the sources say so."""
    profile = tmp_path / "open.yaml"
    sources = {
        "read_latency: {value: 200": "estimate, not calibrated yet",
        "max_cq: ": "estimate; doubled, rate READ 8 B moves by -3 %, and 12 more by 1 % or more: many",
        "transmit_buffer: ": "halved, no published row moves by 1 %",
        "width: {value: 0": "estimate, not calibrated yet",
    }

    def source_of(line):
        return next((source for key, source in sources.items() if key in line), "known")

    text = (TOP / "sim/timing/profiles/pcie3x8.yaml").read_text().splitlines()
    lines = [re.sub(r'source: ".*"', f'source: "{source_of(line)}"', line) for line in text]
    profile.write_text("\n".join(lines) + "\n")
    out = tmp_path / "said.yaml"
    options = ["--sensitivity", profile, "--experiments", write(tmp_path), "--write", out]
    result = calibrate(*options)
    assert result.returncode == 0, result.stderr
    figures = yaml.safe_load(out.read_text())
    assert "doubled, small read 64 moves by +33 %" in figures["root"]["read_latency"]["source"]
    assert figures["adapter"]["max_cq"]["source"] == "estimate; doubled, no published row moves by 1 %: many"
    assert figures["pcie"]["transmit_buffer"]["source"].startswith("doubled, ")
    assert figures["engine"]["stages"]["gather"]["width"]["source"] == (
        "estimate; 64 instead, no published row moves by 1 %"
    )
    assert "not calibrated yet" not in out.read_text()
    assert re.search(r"^root.read_latency +200  doubled, small read 64 moves by \+33 %$", result.stdout, re.M)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"axis": "colour"}, "axis: 'colour' is not one of"),
        ({"unit": "us", "quantity": "rate"}, "unit: 'us' of a rate, which has M/s"),
        ({"within": -1}, "within: -1 is less than or equal to the minimum of 0"),
        ({"run": {"op": "fly"}}, "run.op: 'fly' is not one of"),
        ({"extra": 1}, "'extra' was unexpected"),
        ({"profile": "nobody"}, "profile: 'nobody' is unknown"),
        ({"set": ["pcie.mps=250"]}, "value 250 must be a power of two"),
        (
            {"series": [{"name": "x", "rows": [{"at": 8, "published": 0, "use": "check"}]}]},
            "series.0.rows.0.published: 0 is",
        ),
        (
            {
                "series": [
                    {
                        "name": "x",
                        "run": {"traffic": "read_latency"},
                        "rows": [{"at": 8, "published": [2, 1], "use": "check"}],
                    }
                ]
            },
            "published: 2 is not below 1 (x 8)",
        ),
        ({"series": [{"name": "x", "rows": [{"at": 8, "published": 3}]}]}, "'use' is a dependency of"),
        ({"run": {"mtu": 256}}, "run.mtu: is not for program dma (read 64)"),
        ({"program": "verbs"}, "run.traffic: is not for program verbs (read 64)"),
        ({"series": [{"name": "x", "rows": [{"at": 8}]}]}, "run.traffic, run.size: missing"),
        (
            {
                "program": "verbs",
                "series": [{"name": "x", "run": {"op": "fetch_and_add"}, "rows": [{"at": 64}]}],
            },
            "small x 64: hcasim-experiment: size: '64' must be 8 for an atomic",
        ),
    ],
)
def test_bad_experiments(tmp_path, changes, message):
    path = write(tmp_path, **changes)
    result = calibrate("--experiments", path)
    assert result.returncode == 2 and message in result.stderr, result.stderr


def test_missing_source(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump({k: v for k, v in SMALL.items() if k != "source"}))
    result = calibrate("--experiments", path)
    assert f"{path}: source: missing, though rows have published figures" in result.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--experiments", "/nowhere"], "/nowhere: No such file or directory"),
        (["-k", "nothing"], "-k 'nothing': no experiment has it in its name"),
        (["--profile", "nobody"], "'nobody' is unknown"),
        (["--write"], "--write has no effect without --fit or --sensitivity"),
        (["--sensitivity", "nobody"], "'nobody' is unknown"),
        (["--fit", "nothing"], "--fit 'nothing': "),
    ],
)
def test_what_is_refused(arguments, message):
    result = calibrate(*arguments)
    assert result.returncode in (1, 2) and message in result.stderr, result.stderr


def test_the_same_name_twice(tmp_path):
    write(tmp_path)
    (tmp_path / "other.yaml").write_text((tmp_path / "small.yaml").read_text())
    result = calibrate("--experiments", tmp_path)
    assert "name: 'small' is that of" in result.stderr


def test_list():
    result = calibrate("--list")
    names = {line.split()[0] for line in result.stdout.splitlines()}
    assert names == {path.stem for path in (TOP / "sim/calibrate/experiments").glob("*.yaml")}
