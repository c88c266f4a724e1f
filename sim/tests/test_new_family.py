# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""docs/add-a-device.md: its commands make a family, from the skeleton, in a copy of the tree; its tables are complete."""
import os
import re
import shutil
import subprocess

import pytest

from conftest import NIGHTLY, RDMA_CORE_BUILD, TOP

PAGE = (TOP / "docs/add-a-device.md").read_text()
RDMA_CORE_SOURCE = os.environ.get("RDMA_CORE_SOURCE", TOP / "build/rdma-core-src")
LEFT_OUT = " ..."


def steps():
    """The commands of the page, each with the lines that it shows."""
    found = []
    for line in "".join(re.findall(r"^```console\n(.*?)^```$", PAGE, re.M | re.S)).splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        elif line != LEFT_OUT:
            found[-1][1].append(" ".join(line.split()))
    return found


@pytest.fixture(name="clone")
def clone_tree(tmp_path):
    """The files of this tree as a clone in which ci/setup has run would have them."""
    files = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(files, cwd=TOP, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (TOP / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, tmp_path / name)
    (tmp_path / "build").mkdir()
    (tmp_path / "build/rdma-core").symlink_to(RDMA_CORE_BUILD)
    (tmp_path / "build/rdma-core-src").symlink_to(RDMA_CORE_SOURCE)
    return tmp_path


def run(clone, command):
    done = subprocess.run(
        command,
        shell=True,
        cwd=clone,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.skipif(not NIGHTLY, reason="builds the tree: in ci/nightly")
@pytest.mark.timeout(1500)  # with an empty ccache it builds the whole tree
def test_the_commands_of_the_page(clone):
    for command, shown in steps():
        status, output = run(clone, command)
        lines = [" ".join(line.split()) for line in output.splitlines()]
        assert status == 0 and set(shown) <= set(lines), f"$ {command}\n{output[-5000:]}"
    hcasim = "build/release/bin/hcasim run --device acme --hcas 2"
    assert "rxe_acme1" in run(clone, f"{hcasim} -- ibv_devices")[1]
    status, output = run(clone, f"{hcasim} -- ibv_rc_pingpong")
    assert status == 1 and "Couldn't create CQ" in output, output
    names = run(clone, f"{hcasim} -- ls /sys/class/infiniband/rxe_acme0/ports/1/counters")[1]
    assert "port_xmit_data" in names
    driver = clone / "sim/devices/acme/driver/driver.c"
    driver.write_text(driver.read_text().replace("\t.query_port = common_query_port,\n", ""))
    assert run(clone, "cmake --build --preset release --target hcasim-device")[0] == 0
    status, output = run(clone, f"{hcasim} -- ibv_devices")
    assert (status, output) == (
        2,
        "hcasim-device: device family 'acme': no query_port, which every family needs (docs/add-a-device.md)\n",
    )


@pytest.mark.parametrize("name, status", [("rxe", 1), ("Acme", 2), ("two-ports", 2), ("", 2)])
def test_a_name_that_cannot_be(tmp_path, name, status):
    tree = tmp_path / "spec/families"
    tree.mkdir(parents=True)
    (tree / "rxe.yaml").touch()
    done = subprocess.run(
        [TOP / "ci/new-family", name, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == status and done.stderr.startswith("ci/new-family: ")
    assert not (tmp_path / "sim").exists()


def members(header, structure):
    """Function pointers of a structure."""
    text = (TOP / "sim" / header).read_text()
    return set(
        re.findall(r"\(\*(\w+)\)\(", re.search(rf"^struct {structure} \{{\n.*?^\}};", text, re.M | re.S)[0])
    )


def rows_of_the_table():
    """Groups of sim/devices/operations.c: name, operations, formats."""
    text = (TOP / "sim/devices/operations.c").read_text()
    groups = re.search(r"^\} groups\[\] = \{\n(.*?)^\};", text, re.M | re.S)[1]
    for name, row in re.findall(r'\{"([^"]+)",\s*\{([^{}]*)\}\}', groups):
        yield name, re.findall(r"OP\((\w+)\)", row), re.findall(r"FORMAT\((\w+)\)", row)


def named(text):
    return re.findall(r"`(\w+)`", text)


def test_the_table_is_that_of_the_program():
    section = PAGE.split("## Required and optional operations")[1].split("Each of these")[0]
    cells = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")][1:]
    assert [(cell[0].strip(), named(cell[1]), named(cell[2])) for cell in cells] == list(rows_of_the_table())


def test_every_member_is_on_the_page():
    """Once: in a row of the table, or in the list of what is optional by itself."""
    alone = PAGE.split("Each of these is optional by itself:")[1].split("\n## ")[0]
    alone = [
        name for line in alone.splitlines() if line.startswith("| `") for name in named(line.split("|")[1])
    ]
    listed = alone + [name for _, operations, formats in rows_of_the_table() for name in operations + formats]
    assert len(listed) == len(set(listed))
    assert set(listed) == members("devices/driver.h", "drv_ops") | members(
        "core/personality.h", "hca_personality"
    )
