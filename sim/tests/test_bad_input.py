# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Bad input through the whole stack, and programs killed during traffic: clear errors, no hangs."""
import os
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import BUILD, TOP, Machine, describe, free_port, last_json, pair_command
from device_process import find_device

BIN = BUILD / "bin"
FAILURE_CLIENT = BIN / "hcasim-failure-client"
PROFILE = TOP / "sim/timing/profiles/gen4x16-200g.yaml"
IN_TIME = 10  # seconds within which everything has to end by itself


def during_traffic(machine, gid_index, *program):
    """Runs a program while a pingpong with validated data completes on the same machine."""
    common = ["-p", free_port(), "-g", gid_index, "-n", 1000, "-c"]
    pingpong = machine.bin / "ibv_rc_pingpong"
    one, other = machine.pair_devices()
    job = pair_command(
        [pingpong, "-d", one, *common],
        [pingpong, "-d", other, *common, "localhost"],
        other=list(map(str, program)),
    )
    result = machine.run(*job)
    ends = last_json(result.output)
    assert [end["status"] for end in ends.values()] == [0, 0, 0], describe(ends)
    assert result.status == 0, result.output
    return ends["other"]["output"]


def test_hostile_system_calls(gid_index):
    """Every ioctl attribute and every byte of write() commands wrong in turn, on the real device file."""
    during_traffic(Machine(hcas=2), gid_index, BIN / "hcasim-hostile-uverbs")


@pytest.mark.parametrize("hcas", [1, 2])
def test_hostile_work_requests(hcas, gid_index):
    """WQEs, doorbells, doorbell records and memory: each field wrong in turn."""
    during_traffic(Machine(hcas), gid_index, BIN / "hcasim-hostile-wqe")


@pytest.mark.once
@pytest.mark.parametrize("program", ["hcasim-hostile-uverbs", "hcasim-hostile-wqe"])
def test_hostile_programs_alone(program):
    result = Machine(hcas=2).run(BIN / program)
    assert result.status == 0, result.output


@pytest.mark.parametrize("action", ["fork", "exec", "dup2", "exit"])
def test_what_applications_do_to_themselves(action, gid_index):
    during_traffic(Machine(hcas=2), gid_index, FAILURE_CLIENT, action)


def test_a_killed_peer_is_an_error(gid_index):
    """Retries run out and the rest is flushed; a new pair of the same application works."""
    output = during_traffic(Machine(hcas=2), gid_index, FAILURE_CLIENT, "widow")
    assert output == "error, then flushed\na fresh pair works\n"


ALL_AT_ONCE = """
for action in writes writes sleeps; do
    "$0" $action &
    pids="$pids $!"
done
status=0
for pid in $pids; do
    wait $pid || status=1
done
exit $status
"""


def test_a_killed_device_process_is_an_error_for_everybody():
    """Flush errors, DEVICE_FATAL, EIO, in programs that poll and in one that sleeps; all end in time."""
    process = Machine(hcas=2).start("/bin/sh", "-c", ALL_AT_ONCE, FAILURE_CLIENT)
    assert [process.stdout.readline() for _ in range(3)] == ["traffic\n"] * 3
    begin = time.monotonic()
    os.kill(find_device(process.pid), signal.SIGKILL)
    output, _ = process.communicate()
    assert output.count("fatal\n") == 3, output
    assert "terminated" not in output and time.monotonic() - begin < IN_TIME, output
    assert process.returncode == 125  # the command succeeded, but its machine failed


def holdings(pid):
    """Descriptors and resident KiB of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return len(os.listdir(f"/proc/{pid}/fd")), int(resident.split()[1])


def settled_fds(pid, expected):
    """Waits until the device process has noticed the exit, which it does shortly after the test."""
    limit = time.monotonic() + IN_TIME
    while holdings(pid)[0] != expected and time.monotonic() < limit:
        select.select([], [], [], 0.01)
    return holdings(pid)[0]


def kill_in_mid_traffic(name):
    command = [str(BIN / "hcasim"), "run", "--attach", name, "--", str(FAILURE_CLIENT), "writes"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as launcher:
        assert launcher.stdout.readline() == "traffic\n"
        with open(f"/proc/{launcher.pid}/task/{launcher.pid}/children") as children:
            os.kill(int(children.read()), signal.SIGKILL)
        assert launcher.wait() == 128 + signal.SIGKILL


def test_killed_applications_leave_nothing_behind():
    name = f"bad-input-{os.getpid()}"
    machine = Machine(hcas=2, options=["--name", name]).start(
        "/bin/sh", "-c", "echo up; exec cat /dev/zero >/dev/null"
    )
    assert machine.stdout.readline() == "up\n"
    device = find_device(machine.pid)
    fds, _ = holdings(device)
    for _ in range(5):
        kill_in_mid_traffic(name)
    assert settled_fds(device, fds) == fds
    _, resident = holdings(device)
    for _ in range(15):
        kill_in_mid_traffic(name)
    assert settled_fds(device, fds) == fds
    assert holdings(device)[1] - resident < 1024
    machine.terminate()
    machine.communicate()


# ---- Command lines ----


@pytest.mark.parametrize(
    "options, named",
    [
        (["--trace", "/proc/x"], "--trace '/proc/x': No such file"),
        (["--trace", "/dev/null"], "--trace '/dev/null': File exists"),
        (["--trace", "/dev/null/x"], "--trace '/dev/null/x': Not a directory"),
        (["--trace", ""], "--trace ''"),
        (["--fault", ""], "unknown kind ''"),
        (["--fault", "loss"], "'' is not a probability"),
        (["--fault", "loss=1.5"], "'1.5' is not a probability"),
        (["--fault", "loss=nan"], "'nan' is not a probability"),
        (["--fault", "loss=0.1x"], "'0.1x' is not a probability"),
        (["--fault", "loss=0.1,,dup=0.1"], "unknown kind ''"),
        (["--fault", "fire=1"], "unknown kind 'fire'"),
        (["--profile", "/dev/null"], "'/dev/null'"),
        (["--profile", ""], "'' is unknown"),
        (["--profile", "/proc/self/mem"], "/proc/self/mem"),
        (["--name", "../x"], "'../x' is not a name"),
        (["--name", ""], "'' is not a name"),
        (["--name", "\u00e9"], "is not a name"),
        (["--seed", "0x1_0000_0000_0000_0000"], "is not a number"),
        (["--hcas", "2", "--hcas"], "--hcas"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_options(options, named):
    result = Machine(options=options).run("/bin/true")
    assert result.status == 2, result.output
    assert named in result.output and "Traceback" not in result.output, result.output


@pytest.mark.parametrize(
    "spoil, named",
    [
        (lambda text: b"", "profile"),
        (lambda text: os.urandom(4096), "profile"),
        (lambda text: text[: len(text) // 2], "profile"),
        (lambda text: text.replace(b"mtu: {value: ", b"mtu: {value: -"), "wire.mtu"),
        (lambda text: text.replace(b"mtu: {value: ", b"mtu: {value: 1e300"), "wire.mtu"),
        (lambda text: text.replace(b"mtu: {value: ", b"mtu: {value: x"), "wire.mtu"),
        (lambda text: text.replace(b"mtu: ", b"mtv: "), "mtv"),
        (lambda text: text + text, "twice"),
        (lambda text: b"a: &a [*a, *a]\n" + text, "'a'"),
        (lambda text: b"- " * 100000, "profile"),
    ],
)
def test_profiles(spoil, named, tmp_path):
    """Each is refused with the file's name, and the line or the value."""
    file = tmp_path / "spoiled.yaml"
    file.write_bytes(spoil(PROFILE.read_bytes()))
    result = Machine(options=["--profile", str(file)]).run("/bin/true")
    assert result.status == 2 and str(file) in result.output and named in result.output, result.output


@pytest.mark.parametrize(
    "options, named",
    [
        ([], "--runtime and --profile"),
        (["--runtime", "/nonexistent", "--profile", PROFILE], "/nonexistent"),
        (["--runtime", "/dev/null", "--profile", PROFILE], "/dev/null"),
        (["--runtime", "{empty}", "--profile", "/nonexistent"], "profile /nonexistent"),
        (["--runtime", "{full}", "--profile", PROFILE], "not empty"),
        (["--runtime", "{empty}", "--profile", PROFILE, "--hcas", "17"], "--hcas is '17'"),
        (["--runtime", "{empty}", "--profile", PROFILE, "--seed", "-1"], "--seed is '-1'"),
        (["--runtime", "{empty}", "--profile", PROFILE, "--kernel", "5"], "--kernel is '5'"),
        (["--runtime", "{empty}", "--profile", PROFILE, "--launcher-fd", "77"], "--launcher-fd"),
        (["--runtime", "{empty}", "--profile", PROFILE, "--trace", "/proc/x"], "/proc/x"),
        (["--runtime", "{empty}/" + "x" * 200, "--profile", PROFILE], "File name too long"),
    ],
)
def test_device_process(options, named, tmp_path):
    """Started by hand with wrong options: an error, and the contents of the folder stay."""
    for folder in ("empty", "full", "empty/" + "x" * 200):
        (tmp_path / folder).mkdir()
    if "x" * 200 not in str(options):
        (tmp_path / "empty" / ("x" * 200)).rmdir()
    (tmp_path / "full/file").write_text("mine")
    options = [str(word).format(empty=tmp_path / "empty", full=tmp_path / "full") for word in options]
    result = subprocess.run(
        [BIN / "hcasim-device", *options],
        capture_output=True,
        text=True,
        timeout=IN_TIME,
        stdin=subprocess.DEVNULL,
    )
    assert result.returncode > 0 and named in result.stderr, result.stderr
    assert (tmp_path / "full/file").read_text() == "mine"
