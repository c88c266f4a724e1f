# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What is made of several runs, and the small files of one: trend, baseline, badge."""
import gzip
from xml.etree import ElementTree

import records

from hcasim_conform import cli, commands
from hcasim_conform.report import badge, results

BASE, OTHER = "wr/send/rc/sge/-/signaled", "wr/send/rc/sge/-/fence"


def write(folder, outcomes, day=1, **more):
    rows = [records.row(cell_id, outcome) for cell_id, outcome in outcomes.items()]
    folder.mkdir(parents=True)
    data = records.record(rows, started=f"2026-01-{day:02}T03:04:05+00:00", **more)
    results.write_json(data, folder / "results.json")
    return data


def test_a_baseline_has_only_outcomes(tmp_path, capsys):
    noise = [{"kind": "tlp", "path": None, "text": "".join(f"{i} ns MRd {i * 7919:x}\n" for i in range(300))}]
    rows = [
        records.row(f"wr/send/rc/sge-{i}/-/-", ("pass", "known")[i % 2], artefacts=noise) for i in range(2000)
    ]
    data = records.record(rows)
    commands.write_reports(data, tmp_path)
    small = tmp_path / "baseline.json.gz"
    assert small.stat().st_size < 30000
    assert "MRd" not in gzip.decompress(small.read_bytes()).decode()
    base = results.load(small)
    assert [(r["id"], r["outcome"], r["observed"]) for r in base["cells"]] == [
        (r["id"], r["outcome"], r["observed"]) for r in data["cells"]
    ]
    assert base["summary"] == data["summary"]
    alone = tmp_path / "alone"
    alone.mkdir()
    small.rename(alone / "baseline.json.gz")  # the folder is enough
    assert cli.main(None, ["--diff", str(alone), str(tmp_path)]) == 0
    assert "2000 cells compared: 0 worse" in capsys.readouterr().out


def test_a_badge(tmp_path):
    summary = records.record([records.row(BASE), records.row(OTHER, "fail")])["summary"]
    red = ElementTree.fromstring(badge.draw(summary, 1))
    assert "".join(red.itertext()).count("1 of 2 pass, 1 fail") == 2
    assert badge.COLOURS[False] in badge.draw(summary, 1) and badge.COLOURS[True] in badge.draw(summary, 0)


def test_the_trend_of_a_folder(tmp_path, capsys):
    runs = tmp_path / "runs"
    write(runs / "b", {BASE: "fail", OTHER: "pass"}, 2)
    write(runs / "a", {BASE: "pass", OTHER: "pass"}, 1)
    write(runs / "c", {BASE: "pass", OTHER: "pass"}, 3)
    write(runs / "x", {BASE: "known"}, 4, dut={**records.record([])["dut"], "name": "<other>"})
    (runs / "no-run").mkdir()
    assert commands.trend_main(None, [str(runs), "--out", str(tmp_path)]) == 0
    assert "4 runs" in capsys.readouterr().out
    page = (tmp_path / "trend.html").read_text(encoding="utf-8")
    assert page.index(">x<") < page.index(">c<") < page.index(">b<") < page.index(">a<")
    assert page.count(f"{BASE}: pass -&gt; fail") == 1 and page.count("1 became better") == 1
    assert "&lt;other&gt;" in page and "<other>" not in page and "<script" not in page


def test_a_trend_of_nothing(tmp_path, capsys):
    for folder, words in (
        (tmp_path, "no folder in it has results.json"),
        (tmp_path / "none", "no such folder"),
    ):
        assert commands.trend_main(None, [str(folder), "--out", str(tmp_path)]) == 2
        assert words in capsys.readouterr().err
