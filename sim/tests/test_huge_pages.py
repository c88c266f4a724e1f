# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Two runs at once, and one that is killed: huge_pages.py with a file instead of the kernel's count."""
import subprocess
import sys

import pytest

from conftest import HERE

HOLDER = """
import sys
from pathlib import Path
from huge_pages import huge_pages
with huge_pages(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])):
    print("in", flush=True)
    sys.stdin.read(1)
"""


@pytest.fixture
def files(tmp_path):
    count = tmp_path / "nr_hugepages"
    count.write_text("3\n")
    return count, tmp_path / "lock"


@pytest.fixture
def start(files):
    started = []

    def start_one(wanted):
        command = [sys.executable, "-c", HOLDER, str(wanted), *map(str, files)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        process = subprocess.Popen(command, cwd=HERE, **pipes)
        started.append(process)
        return process

    yield start_one
    for process in started:
        process.kill()
        process.communicate()


def wait_in(process):
    assert process.stdout.readline() == "in\n"


def locked_waiters(path):
    """The processes that wait for the lock of this file: the lines of /proc/locks with an arrow."""
    with open("/proc/locks") as file:
        return [line for line in file if "->" in line and f":{path.stat().st_ino} " in line]


def test_what_was_found_is_restored(files, start):
    one = start(16)
    wait_in(one)
    assert files[0].read_text() == "16"
    one.communicate("x")
    assert files[0].read_text() == "3\n" and files[1].read_text() == ""


def test_enough_is_left_alone(files, start):
    one = start(2)
    wait_in(one)
    assert files[0].read_text() == "3\n"


def test_two_runs(files, start):
    one = start(16)
    wait_in(one)
    other = start(8)
    while not locked_waiters(files[1]):
        assert other.poll() is None
    assert files[0].read_text() == "16"
    one.communicate("x")
    wait_in(other)
    assert files[0].read_text() == "8"
    other.communicate("x")
    assert files[0].read_text() == "3\n"


def test_a_killed_run(files, start):
    one = start(16)
    wait_in(one)
    one.kill()
    one.wait()
    assert files[0].read_text() == "16"
    other = start(8)
    wait_in(other)
    other.communicate("x")
    assert files[0].read_text() == "3\n"
