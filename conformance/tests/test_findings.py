# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The pages that describe the known differences of other people's providers, against the DUT files."""
import re

import pytest

from conftest import REPO
from hcasim_conform.run import dut

# No cell of the DUT `rxe` can tell: its device has what librxe grants too much; nothing shows a lock that is given back twice.
BY_SOURCE = {"D1", "D51"}
LIBRXE = ("rxe", "rxe-44", "rxe-65")  # of rdma-core 56.1, 44.0, 65.0


def number(difference):
    """The number that the reason begins with, as "D12"."""
    found = re.match(r"(D\d+)( to D\d+)?: ", difference.reason) if difference else None
    return found[1] if found else None


@pytest.fixture(scope="module")
def soft_roce():
    return (REPO / "docs/soft-roce.md").read_text(encoding="utf-8")


def owners(page):
    return dict(re.findall(r"^### (D\d+)\. .*\nWhose: \*\*(librxe|kernel)\*\*[,;]", page, re.M))


def test_each_difference_of_soft_roce_is_described(soft_roce):
    rows = [row for name in ("soft-roce", *LIBRXE) for row in dut.load(name).differences]
    findings = re.findall(r"^### (D\d+)\.", soft_roce, re.M)
    assert len(findings) == len(set(findings))
    assert {number(row) for row in rows} - {None} | BY_SOURCE == set(findings)


def test_whose_each_difference_of_soft_roce_is(soft_roce, cells):
    """What fails on librxe with the simulated device, too, is librxe's; what passes there is the kernel's."""
    linux, model = dut.load("soft-roce"), dut.load("rxe")
    librxes = {number(row) for name in LIBRXE for row in dut.load(name).differences} - {None}
    passed = set()
    for cell in cells:
        if (of_linux := linux.difference(cell)) and not model.difference(cell):
            passed.add(number(of_linux))
    found = {name: "librxe" if name in librxes else "kernel" for name in librxes | passed}
    found |= dict.fromkeys(BY_SOURCE, "librxe")
    assert owners(soft_roce) == found


def test_the_table_of_owners(soft_roce):
    for owner in ("librxe", "kernel"):
        size, names = re.search(rf"^\| {owner} \((\d+)\) \| (.*) \|$", soft_roce, re.M).groups()
        assert names.split(", ") == sorted(
            (name for name, whose in owners(soft_roce).items() if whose == owner), key=lambda n: int(n[1:])
        )
        assert int(size) == len(names.split(", "))


def test_files_named_rxe_c_are_told_apart(soft_roce):
    """The provider and the kernel's driver both have an rxe.c."""
    texts = [path.read_text(encoding="utf-8") for path in dut.DUTS.glob("*.yaml")]
    for text in [soft_roce, *texts]:
        assert not re.findall(r"(?<!providers/rxe/)(?<!sw/rxe/)\brxe\.c\b.*", text)
