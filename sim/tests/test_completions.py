# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The completion statuses and asynchronous events of docs/completions.md, as a program sees them."""
import re

import pytest

from conftest import BUILD, RDMA_CORE_BUILD, TOP, Machine

PAGE = (TOP / "docs/completions.md").read_text()


ELSEWHERE = re.compile(r"\((core test|suite|`test_failures.py`)")  # what else causes the status


def rows(titles):
    """The rows of the table with these column titles, as lists of cells."""
    table = PAGE.split("| " + " | ".join(titles) + " |\n", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]


def names(cell):
    return re.findall(r"`(\w+)`", cell)


@pytest.fixture(scope="module")
def seen():
    result = Machine(hcas=2).run(BUILD / "bin/hcasim-completions")
    assert result.status == 0, result.output
    return result.output


@pytest.mark.once
def test_each_status_with_its_vendor_err(seen):
    page, elsewhere = {}, set()
    for status, places, vendors, when in rows(["status", "at", "vendor_err", "when"]):
        for side in places.split(", "):
            page[names(status)[0], side] = set(vendors.split(", "))
            if ELSEWHERE.search(when):
                elsewhere.add((names(status)[0], side))
    found = re.findall(r"^status (\w+) (\w+) (\w+)$", seen, re.M)
    for status, vendor, side in found:
        assert vendor in page[status, side], (status, vendor, side)
    statuses = {status for status, *_ in found} | {status for status, _ in elsewhere}
    assert statuses == {status for status, _ in page}


def test_the_page_knows_every_status():
    header = (RDMA_CORE_BUILD / "include/infiniband/verbs.h").read_text()
    body = re.search(r"enum ibv_wc_status \{(.*?)\}", header, re.S)[1]
    given = {names(row[0])[0] for row in rows(["status", "at", "vendor_err", "when"])}
    never = {name for row in rows(["status", "reason"]) for name in names(row[0])}
    assert not given & never
    assert given | never == set(re.findall(r"IBV_WC_(\w+)", body))


def test_events(seen):
    text = {
        "QP_REQ_ERR": "invalid request local work queue error",
        "QP_ACCESS_ERR": "local access violation work queue error",
        "COMM_EST": "communication established",
        "SQ_DRAINED": "send queue drained",
        "QP_LAST_WQE_REACHED": "last WQE reached",
        "PORT_ERR": "port error",
        "PORT_ACTIVE": "port active",
    }
    for event, _, when in rows(["event", "of", "when"]):
        if not ELSEWHERE.search(when):
            assert f"event {text[names(event)[0]]}\n" in seen
