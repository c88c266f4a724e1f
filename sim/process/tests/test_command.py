# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim run: exit status, options, clean-up."""
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from conftest import CLIENT, DEVINFO, HCASIM, hcasim_run


@pytest.mark.parametrize("status", [0, 1, 42])
def test_status_of_the_command(status):
    assert hcasim_run("/bin/sh", "-c", f"exit {status}").returncode == status


def test_status_of_a_signal():
    assert hcasim_run("/bin/sh", "-c", "kill -KILL $$").returncode == 128 + signal.SIGKILL


def test_no_such_program():
    result = hcasim_run("/no/such/program")
    assert result.returncode == 127 and "/no/such/program" in result.stderr


@pytest.mark.parametrize(
    "options, named",
    [
        (["--hcas", "0"], "'0'"),
        (["--hcas", "17"], "'17'"),
        (["--kernel", "6.2"], "--kernel: invalid choice: '6.2' (choose from "),
        (["--kernel", ""], "--kernel: invalid choice: ''"),
        (["--profile", "none"], "gen4x16-200g"),
        (["--profile", "./none.yaml"], "./none.yaml"),
        (["--seed", "-1"], "'-1'"),
        (["--attach", "nobody"], "'nobody'"),
        (["--attach", "nobody", "--set", "pcie.mps=128"], "--set is for a new machine"),
        (["--attach", "nobody", "--hcas", "2"], "--hcas is for a new machine"),
        (["--no-events"], "--no-events has no effect without --trace"),
        (["--wave", "w.fst"], "--wave has no effect without --engine lockstep"),
    ],
)
def test_bad_options_are_named(options, named):
    result = hcasim_run("/bin/true", options=options)
    assert result.returncode == 2 and named in result.stderr


def test_bad_profile_is_named():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write("nonsense: 1\n")
        file.flush()
        result = hcasim_run("/bin/true", options=["--profile", file.name])
    assert result.returncode == 2 and "nonsense" in result.stderr


def test_nothing_to_run():
    result = subprocess.run([HCASIM, "run"], capture_output=True, text=True)
    assert result.returncode == 2 and "CMD" in result.stderr


def test_everything_is_removed():
    result = hcasim_run("/bin/sh", "-c", "echo $HCASIM_RUNTIME")
    assert result.returncode == 0
    assert not Path(result.stdout.strip()).exists()


@pytest.mark.parametrize("hcas", [1, 2, 16])
def test_adapters(hcas):
    result = hcasim_run(DEVINFO, "-l", options=["--hcas", str(hcas)])
    assert result.returncode == 0
    assert result.stdout.count("hcasim") == hcas


def test_a_second_command_on_a_running_machine():
    name = f"test-{os.getpid()}"
    first = subprocess.Popen(
        [HCASIM, "run", "--name", name, "--", CLIENT, "hold"], stdout=subprocess.PIPE, text=True
    )
    assert first.stdout.readline() == "open\n"
    second = subprocess.run(
        [HCASIM, "run", "--attach", name, "--", CLIENT, "files"], capture_output=True, text=True
    )
    again = hcasim_run("/bin/true", options=["--name", name])
    first.terminate()
    first.communicate()
    assert second.returncode == 0, second.stderr
    assert again.returncode == 2 and "runs already" in again.stderr


def test_listings_are_sorted_by_name():
    """Whatever order the file system has, libibverbs lists hcasim0 first."""
    names = [f"hcasim{number}" for number in range(12)]
    options = ["--hcas", str(len(names))]
    listing = hcasim_run("ls", "-U", "/sys/class/infiniband", "/sys/class/infiniband_verbs", options=options)
    there = listing.stdout.split()
    assert there[1:13] == names, listing.stdout
    assert there[14:] == ["abi_version", *(f"uverbs{number}" for number in range(len(names)))]
    assert hcasim_run(DEVINFO, "-l", options=options).stdout.split()[3:] == names
    listing = hcasim_run(CLIENT, "listing", options=["--hcas", "16"])
    assert listing.returncode == 0, listing.stderr


def left_machine(folder, age):
    """A folder as a killed machine leaves it, `age` seconds ago."""
    folder.mkdir()
    (folder / "sysfs").mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as closed:
        closed.bind(f"{folder}/socket")
    os.utime(folder / "socket", (time.time() - age,) * 2)
    return folder


def test_the_folder_of_a_killed_machine_is_removed():
    """By the next machine, which leaves those that have only just begun, and those that run, even if they do not listen."""
    command = [HCASIM, "run", "--", "/bin/sh", "-c", f"echo $HCASIM_RUNTIME; exec {CLIENT} hold"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    folder = Path(running.stdout.readline().strip())
    assert running.stdout.readline() == "open\n"
    os.utime(folder / "socket", (time.time() - 100,) * 2)
    old = left_machine(folder.parent / f"hcasim-test-old-{os.getpid()}", 100)
    new = left_machine(folder.parent / f"hcasim-test-new-{os.getpid()}", 0)
    locked = left_machine(folder.parent / f"hcasim-test-locked-{os.getpid()}", 100)
    lock = os.open(locked, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    hcasim_run("/bin/true")
    assert [f.exists() for f in (old, new, locked, folder)] == [False, True, True, True]
    os.close(lock)
    shutil.rmtree(new)
    shutil.rmtree(locked)
    running.terminate()
    assert running.wait() == 128 + signal.SIGTERM


LISTING = """
set -e
test -c /dev/infiniband/uverbs0
test "$(echo $(ls /dev/infiniband))" = "rdma_cm uverbs0"
test -c /dev/infiniband/rdma_cm
test "$(cat /sys/class/misc/rdma_cm/abi_version)" = 4
test "$(ls /sys/class/infiniband)" = hcasim0
test "$(cat /sys/class/infiniband_verbs/uverbs0/ibdev)" = hcasim0
test "$(realpath /sys/class/infiniband/hcasim0/device)" = "/sys$(realpath /sys/class/infiniband/hcasim0/device | cut -c5-)"
test -d "$(realpath /sys/class/infiniband/hcasim0)"
test "$(stat -c %t:%T /dev/infiniband/uverbs0)" = e7:c0
cd /sys/class/infiniband/hcasim0/ports/1
test "$(cat state)" = "4: ACTIVE"
ls -la /dev/infiniband
"""


def test_folders():
    result = hcasim_run("/bin/sh", "-c", LISTING)
    assert result.returncode == 0 and result.stderr == "", result.stdout + result.stderr


NETDEV = """
set -e
name=$(cat /sys/class/infiniband/hcasim0/ports/1/gid_attrs/ndevs/0)
rdma link show -j
ip -j addr show dev $name
"""


def test_network_interfaces():
    result = hcasim_run("/bin/sh", "-c", NETDEV)
    assert result.returncode == 0, result.stderr
    links, addresses = (json.loads(line) for line in result.stdout.splitlines())
    assert links[0]["ifname"] == "hcasim0" and links[0]["port"] == 1
    assert addresses[0]["ifname"] == links[0]["netdev"]
    assert addresses[0]["addr_info"][0]["family"] == "inet"
    assert len(addresses[0]["address"].split(":")) == 6
