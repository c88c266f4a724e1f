# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""report.html in a real browser: nothing is loaded, no errors, every cell is two clicks away."""
import copy
import json
import re

import pytest
import records
from browser import Browser

from hcasim_conform import commands
from hcasim_conform.report import html as report
from hcasim_conform.report import results

pytestmark = pytest.mark.night
PHONE, DESK = (360, 740), (1280, 860)
CELL = "wr/rdma_write/uc/sge/-/signaled"
HOSTILE = "</script><img src=x onerror=alert(1)> & \u2028 é"
OPEN = ".entry[open] .cell"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    it = Browser(tmp_path_factory.mktemp("profile"))
    yield it
    it.close()


@pytest.fixture(autouse=True)
def quiet(browser):
    """In every test the page must report no errors and must not request anything."""
    browser.errors.clear()
    browser.requests.clear()
    browser.size(*DESK)
    yield
    assert browser.errors == []
    assert [r for r in browser.requests if not r.startswith(("file:///", "about:"))] == []


@pytest.fixture(scope="module")
def whole(cells, tables):
    """The record of a device that passes all cells of the tables."""
    rows = []
    for cell in cells:
        row = records.row(
            cell.id, level=cell.expect.level, op=cell.op, qp=cell.qpt, clause=cell.expect.clause
        )
        rows.append({**row, "errata": list(cell.expect.errata), "expected": cell.expected()})
    return records.record(rows, clauses=tables.sentences, errata=tables.errata)


@pytest.fixture(scope="module")
def page(whole, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "report.html"
    report.write_html([whole], path)
    return path


def change(data, cell_id, **more):
    """A record with one cell changed."""
    data = copy.copy(data)
    data["cells"] = [{**row, **more} if row["id"] == cell_id else row for row in data["cells"]]
    return {**data, "summary": results.summarize(data["cells"])}


def key_of(cell_id):
    return "/".join(cell_id.split("/")[:3])


def open_cell(browser, cell_id):
    """Opens a cell with two clicks."""
    browser.click(f'.box[data-key="{key_of(cell_id)}"]')
    browser.click(f'.entry[data-id="{cell_id}"] > summary')
    browser.until(f"document.querySelector({json.dumps(OPEN)})")
    return browser.run(f"document.querySelector({json.dumps(OPEN)}).innerText")


# -- one run


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_every_row_of_the_table_is_two_clicks_away(browser, page, whole, tables, size):
    """The plain cell of each operation and QP type that ibv_wr_post(3) and ibv_post_send(3) have."""
    browser.size(*size)
    browser.open(page)
    rows = {row["id"]: row for row in whole["cells"]}
    plain = {}
    for cell_id, row in rows.items():
        legal = row["api"] in ("wr", "post") and row["qp"] in tables.operation(row["op"]).types(row["api"])
        if legal and cell_id.endswith("/signaled"):
            plain.setdefault(key_of(cell_id), cell_id)
    assert len(plain) > 50
    for cell_id in plain.values():
        text = open_cell(browser, cell_id)
        assert tables.sentences[rows[cell_id]["clause"]][:40] in text, cell_id
        assert rows[cell_id]["expected"] in text and "ibv_wr_start(qpx);" in text
        browser.click(".close")


def test_the_page_stands_alone(page):
    text = page.read_text(encoding="utf-8")
    assert "http://" not in text and "https://" not in text and "@import" not in text
    assert not re.search(r"<(script|link|img|iframe)[^>]*\b(src|href)=", text)


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_nothing_is_wider_than_the_screen(browser, page, size):
    browser.size(*size)
    for address in ("", f"#{CELL}"):
        browser.open(page, address)
        assert browser.run("document.documentElement.scrollWidth <= innerWidth")
        assert browser.run(
            "document.getElementById('panel').scrollWidth <= document.getElementById('panel').clientWidth"
        )
        assert browser.run(
            "[...document.querySelectorAll('.box .line')].every((e) => e.scrollWidth <= e.clientWidth)"
        )


def test_an_address_opens_its_cell(browser, page):
    browser.open(page, f"#{CELL}")
    assert browser.run("document.querySelector('.entry[open]').dataset.id") == CELL
    assert browser.run("document.activeElement.parentElement.dataset.id") == CELL
    browser.run("location.hash = '#wr/flush/rc/none/-/signaled'")
    browser.until("document.querySelector('.entry[open][data-id^=\"wr/flush/rc\"] .cell')")
    browser.open(page, "#wr/teleport/rc/sge/-/-")  # an unknown cell
    assert browser.run("document.querySelectorAll('.entry[open]').length") == 0


def test_the_copied_text_is_the_calls(browser, page, whole):
    browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    browser.open(page)
    open_cell(browser, CELL)
    browser.click(".calls .copy")
    browser.until("document.querySelector('.calls .copy').textContent === 'Copied'")
    text = browser.run("navigator.clipboard.readText()")
    assert text.startswith(f'#include "reproduce.h"\n\n/*\n * {CELL}\n * {row_clause(whole, CELL)}\n')
    assert text.split(" */\n", 1)[1] == (
        "void reproduce(void)\n{\n"
        "\t/* on the connected QP of the cell before */\n"
        "\tibv_wr_start(qpx);\n"
        "\tqpx->wr_id = 0xc0de, qpx->wr_flags = IBV_SEND_SIGNALED;\n"
        "\tibv_wr_send(qpx);\n"
        "\tibv_wr_set_sge(qpx, lkey, addr, 64);\n"
        "\tibv_wr_complete(qpx);\n"
        "}\n"
    )


def test_a_cell_that_passed_without_a_list_of_calls(browser, whole, tmp_path):
    """As in an exhaustive run: the page must not show an empty list of calls."""
    report.write_html([change(whole, CELL, calls=[])], tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    text = open_cell(browser, CELL)
    assert "records no calls of passing cells" in text and f"-k '{CELL}'" in text


def row_clause(data, cell_id):
    return next(row["clause"] for row in data["cells"] if row["id"] == cell_id)


def test_search(browser, page, whole):
    browser.open(page)
    browser.click("#find")
    browser.call("Input.insertText", text="RDMA_WRITE uc fence")
    wanted = [r for r in whole["cells"] if r["qp"] == "UC" and "RDMA_WRITE" in r["op"] and "fence" in r["id"]]
    said = f"{len(wanted)} of {len(whole['cells']):,} cells"
    browser.until(f"document.getElementById('found').textContent === {json.dumps(said)}")
    ops = browser.run("[...document.querySelectorAll('#api-wr tbody th')].map((e) => e.textContent)")
    assert ops == ["RDMA_WRITE", "RDMA_WRITE_WITH_IMM"]
    listed = browser.run("[...document.querySelectorAll('.entry')].map((e) => e.dataset.id)")
    assert sorted(listed) == sorted(row["id"] for row in wanted)
    browser.run(
        "(() => { const f = document.getElementById('find'); f.value = 'teleport'; f.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )
    browser.until("document.querySelector('.nothing')")


def test_keyboard(browser, page):
    browser.open(page)
    browser.key("/", "/")
    assert browser.run("document.activeElement.id") == "find"
    browser.run("document.querySelector('.box').focus()")
    browser.key("ArrowRight")
    browser.key("ArrowDown")
    assert browser.run("document.activeElement.dataset.key") == "wr/send_imm/uc"
    browser.key("Enter", "\r")
    browser.until("document.querySelector('#panel h2').textContent === 'SEND_WITH_IMM on UC'")
    assert browser.run("document.activeElement.id") == "panel"
    assert browser.run("document.querySelector('[data-key=\"wr/send_imm/uc\"]').ariaExpanded") == "true"
    browser.key("Escape")
    assert browser.run("document.activeElement.dataset.key") == "wr/send_imm/uc"
    assert browser.run("document.querySelectorAll('.box[aria-expanded=true]').length") == 0


def test_a_cell_that_fails(browser, whole, tmp_path):
    artefacts = [
        {"kind": "pcap", "path": "trace 1/wire.pcap", "text": None},
        {"kind": "wqe", "path": "trace 1/wqe.log", "text": "op RDMA_WRITE\n" + HOSTILE},
    ]
    data = change(whole, CELL, outcome="fail", faults=[HOSTILE, "second"], errno="EIO", artefacts=artefacts)
    data.update(faults=[HOSTILE], command=f"hcasim conform {HOSTILE}")
    report.write_html([data], tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    assert browser.run("document.querySelector('.verdict').textContent.trim()").startswith("✗ 1 of ")
    assert browser.run("document.querySelector('[data-key=\"wr/rdma_write/uc\"]').ariaLabel").startswith(
        "RDMA_WRITE on UC: 1 fail, "
    )
    assert browser.run("document.querySelectorAll('.entry').length") == 1  # cells that need attention
    text = open_cell(browser, CELL)
    assert HOSTILE in text.replace("\n", " ") or HOSTILE.replace("\u2028", "\n") in text
    assert "second" in text and "EIO" in text and "op RDMA_WRITE" in text
    links = browser.run("[...document.querySelectorAll('.artefact a')].map((e) => e.getAttribute('href'))")
    assert links == ["trace%201/wire.pcap", "trace%201/wqe.log"]


def test_a_known_difference_and_a_skipped_cell_give_their_reasons(browser, whole, tmp_path):
    other = "wr/send/xrc_send/sge/xrc_srqn/signaled"
    data = change(whole, CELL, outcome="known", reason="the firmware is old", faults=["late"])
    data = change(data, other, outcome="skipped", reason="the DUT file denies XRC", seen="", calls=[])
    report.write_html([data], tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    assert "the firmware is old" in open_cell(browser, CELL)
    browser.key("Escape")
    assert "the DUT file denies XRC" in open_cell(browser, other)


def test_known_differences_are_counted_by_cause(browser, whole, tmp_path):
    other = "wr/send/xrc_send/sge/xrc_srqn/signaled"
    data = change(whole, CELL, outcome="known", reason="D1: a.c:1: the firmware is old", faults=["late"])
    data = change(data, other, outcome="known", reason="D1: as above", faults=[])
    report.write_html([data], tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    rows = "[...document.querySelectorAll('.causes tbody tr')].map((e) => [...e.cells].map((c) => c.textContent))"
    assert browser.run(rows) == [["2", "1", "D1: a.c:1: the firmware is old"]]
    verdict = browser.run("document.querySelector('.verdict').textContent")
    assert "2 differ as the DUT file says, 1 of them ended early" in verdict


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(browser, page, scheme):
    """4.5 to 1, as WCAG 2 requires for text (AA)."""
    browser.colours(scheme)
    browser.open(page)
    names = "bg fg dim box focus wrong pass pass-bg fail fail-bg known known-bg known-2 unexpected unexpected-bg flaky flaky-bg skipped skipped-bg".split()
    script = f"{json.dumps(names)}.map((n) => getComputedStyle(document.documentElement).getPropertyValue('--' + n).trim())"
    colours = {
        n: c if len(c) == 7 else "#" + "".join(2 * d for d in c[1:])
        for n, c in zip(names, browser.run(script))
    }
    pairs = [(ink, ground) for ink in ("fg", "dim", "focus", "wrong", "pass") for ground in ("bg", "box")]
    pairs += [(o, f"{o}-bg") for o in ("pass", "fail", "flaky", "known", "unexpected", "skipped")] + [
        ("known", "known-2")
    ]
    for ink, ground in pairs:
        light, dark = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (scheme, ink, ground)
    browser.colours("light")


def test_a_run_of_all_cells_opens_at_once(browser, tmp_path):
    data = records.record(records.rows(50000))
    report.write_html([data], tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 5e6
    last = data["cells"][-1]["id"]
    browser.open(tmp_path / "report.html", f"#{last}")
    assert browser.run("document.querySelector('.entry[open]').dataset.id") == last
    assert data["cells"][-1]["calls"][2] in browser.run(
        f"document.querySelector({json.dumps(OPEN)}).innerText"
    )
    took = browser.run("performance.timing.domComplete - performance.timing.navigationStart")
    assert took < 10000  # ms; 300 on an idle core


# -- several runs


@pytest.fixture(scope="module")
def side(whole, tmp_path_factory):
    """Two runs in folders of their own, the second with a cell that fails and a missing one."""
    top = tmp_path_factory.mktemp("side")
    artefact = {"kind": "pcap", "path": "trace/wire.pcap", "text": None}
    second = change(
        whole, CELL, outcome="fail", faults=["late"], calls=["ibv_wr_start(other)"], artefacts=[artefact]
    )
    second = {**second, "dut": {**whole["dut"], "name": "rtl"}, "cells": second["cells"][1:]}
    second["summary"] = results.summarize(second["cells"])
    for name, data in (("a", whole), ("b", second)):
        (top / name).mkdir()
        results.write_json(data, top / name / "results.json")
    assert (
        commands.report_main(
            None, [str(top / "a"), str(top / "b" / "results.json"), "--out", str(top / "out")]
        )
        == 0
    )
    return top / "out" / "report.html"


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_side_by_side(browser, side, whole, size):
    browser.size(*size)
    browser.open(side)
    assert (
        browser.run("document.querySelector('h1').textContent.replace(/\\s+/g, ' ').trim()")
        == "A fake | B rtl"
    )
    marked = browser.run(
        "[...document.querySelectorAll('.box .different')].map((e) => e.closest('.box').dataset.key)"
    )
    assert marked == ["wr/rdma_write/uc"]  # a cell that one run does not have is no difference
    text = open_cell(browser, CELL)
    assert re.search(r"A\s*fake:\s*pass", text) and re.search(r"B\s*rtl:\s*fail", text)
    assert "ibv_wr_send(qpx);" in text and "ibv_wr_start(other);" in text  # the calls of each
    assert browser.run("document.querySelector('.artefact a').getAttribute('href')") == "../b/trace/wire.pcap"
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    browser.click(".close")
    assert "cell is not in the run" in open_cell(browser, whole["cells"][0]["id"])


def test_only_differences(browser, side):
    browser.open(side)
    browser.click("#differ")
    browser.until("document.getElementById('found').textContent.startsWith('1 of ')")
    listed = browser.run("[...document.querySelectorAll('.entry')].map((e) => e.dataset.id)")
    assert listed == [CELL]


def listed(browser):
    return browser.run("[...document.querySelectorAll('.entry')].map((e) => e.dataset.id)")


def test_a_flaky_cell_shows_each_run(browser, whole, tmp_path):
    runs = records.row(CELL, "flaky")["runs"]
    report.write_html([change(whole, CELL, outcome="flaky", runs=runs, faults=["late"])], tmp_path / "r.html")
    browser.open(tmp_path / "r.html")
    assert listed(browser) == [CELL]
    text = re.sub(r"\s+", " ", open_cell(browser, CELL))
    assert "run 1 fail: byte 3 <is> wrong" in text and "run 2 pass: all is well" in text


def test_only_what_is_worse_than_the_baseline(browser, whole, tmp_path):
    other = whole["cells"][7]["id"]
    before = change(whole, other, outcome="fail", faults=["old"])
    after = change(before, CELL, outcome="fail", faults=["new"])
    for name, data in (("before", before), ("after", after)):
        (tmp_path / name).mkdir()
        results.write_json(data, tmp_path / name / "results.json")
    args = [str(tmp_path / "after"), "--baseline", str(tmp_path / "before"), "--out", str(tmp_path)]
    assert commands.report_main(None, args) == 0
    browser.open(tmp_path / "report.html")
    assert sorted(listed(browser)) == sorted([CELL, other])
    browser.click("#changed")
    browser.until("document.getElementById('found').textContent.startsWith('1 of ')")
    assert listed(browser) == [CELL]
    assert "pass -> fail: new" in browser.run("document.querySelector('.entry .why').textContent")


def test_a_requirement_selects_its_cells(browser, whole, side):
    browser.open(side)
    rows = "[...document.querySelectorAll('.requirements tbody tr')]"
    row = f"{rows}.find((e) => e.querySelector('button').textContent === 'wr/3.1')"
    assert browser.run(f"{row}.children.length") == 4  # two devices
    browser.run(f"{row}.querySelector('button').click()")
    wanted = [r["id"] for r in whole["cells"] if r["clause"].endswith("/RDMA/ibv_wr_rdma_write")]
    browser.until(f"document.getElementById('found').textContent.startsWith('{len(wanted)} of ')")
    browser.until(f"document.querySelectorAll('.entry').length === {min(len(wanted), 200)}")


def test_two_runs_of_one_device_are_told_apart(whole, tmp_path):
    report.write_html([whole, whole], tmp_path / "report.html")
    assert "fake (1) | fake (2)" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_mutants(browser, whole, tmp_path, capsys):
    verdicts = [
        {"id": "a", "what": "the SE bit is lost", "caught": True, "red": [CELL]},
        {"id": "b", "what": "an index moves", "caught": False, "red": []},
    ]
    results.write_json(whole, tmp_path / "results.json")
    mutants = tmp_path / "mutants.json"
    args = [str(tmp_path), "--mutants", str(mutants), "--out", str(tmp_path)]
    assert commands.report_main(None, args) == 2
    mutants.write_text(json.dumps({"caught": 1, "mutants": 2}), encoding="utf-8")
    assert commands.report_main(None, args) == 2
    assert "mutants.json: not what" in capsys.readouterr().err
    mutants.write_text(json.dumps({"caught": 1, "mutants": 2, "verdicts": verdicts}), encoding="utf-8")
    assert commands.report_main(None, args) == 0
    browser.open(tmp_path / "report.html")
    assert "1 of 2 deliberate faults" in browser.run("document.querySelector('.mutants summary').textContent")
    browser.click(".mutants summary")
    browser.click(".mutants a")
    browser.until(f"document.querySelector({json.dumps(OPEN)})")
    assert browser.run("document.querySelector('.entry[open]').dataset.id") == CELL


def test_a_run_that_cannot_be_read(tmp_path, capsys):
    assert commands.report_main(None, [str(tmp_path / "none"), "--out", str(tmp_path)]) == 2
    assert "none" in capsys.readouterr().err
