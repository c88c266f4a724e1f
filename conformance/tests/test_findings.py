# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The pages that describe the known differences of other people's providers, against the DUT files."""
import os
import re
import subprocess
from pathlib import Path

import pytest

from conftest import REPO
from hcasim_conform.run import dut

# No cell of the DUT `rxe` can tell: its device has what librxe grants too much.
BY_SOURCE = {"D1"}
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
    passed.discard(None)  # rows that nobody has examined yet
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


PROGRAMS = REPO / "conformance/findings/mlx5"
RDMA_CORE = Path(os.environ.get("RDMA_CORE_BUILD", REPO / "build/rdma-core"))


@pytest.fixture(scope="module")
def mlx5():
    return (REPO / "docs/mlx5-findings.md").read_text(encoding="utf-8")


def sections(page):
    """{D1: its section}; two findings may share one."""
    parts = re.split(r"^(?=#{2,3} )", page, flags=re.M)
    return {
        name: part
        for part in parts
        if part.startswith("### D")
        for name in re.findall(r"D\d+", part.split("\n")[0].split(". ")[0])
    }


def test_each_finding_of_mlx5_is_whole(mlx5):
    """The sentence of the page, the program, libmlx5's line, what to change or what is unknown, and whether 65.0 has it."""
    found = sections(mlx5)
    for name, text in found.items():
        assert re.search(r"^> \w+\(3\)", text, re.M), name
        assert f"[`{name}.c`](../conformance/findings/mlx5/{name}.c)" in text, name
        assert re.search(r"`[\w/]+\.[ch]:\d+", text), name
        row = re.search(rf"^\| .*\[{name}\]\(.*$", mlx5, re.M)[0]
        assert all(column.strip() for column in row.split("|")[1:-1]), row
    assert {path.stem for path in PROGRAMS.glob("*.c")} == set(found)


def test_each_difference_of_mlx5_is_described(mlx5):
    table = mlx5[mlx5.index("## Not bugs") :]
    described = set(sections(mlx5)) | set(re.findall(r"^\| (D\d+) \|", table, re.M))
    rows = [row for name in ("mlx5", "mlx5-44", "mlx5-65") for row in dut.load(name).differences]
    assert {number(row) for row in rows} <= described


def test_lines_of_65_are_those_of_the_dut_file(mlx5):
    table = dict(re.findall(r"^\| (D\d+) \| [^|]*:\d[^|]* \| ([^|]*) \|$", mlx5, re.M))
    assert len(table) > 10
    moved = {number(row): row.lines["65.0"] for row in dut.load("mlx5").differences if "65.0" in row.lines}
    assert set(moved) <= set(table)


def test_the_programs_of_the_findings_compile():
    include = ["-I", REPO / "conformance", "-I", RDMA_CORE / "include"]
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers"]
    command = ["cc", "-std=gnu11", "-fsyntax-only", *warnings, *include, *sorted(PROGRAMS.glob("*.c"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
