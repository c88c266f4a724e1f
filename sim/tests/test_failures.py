# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""An application that is killed, and a device process that is killed: nothing hangs, nothing is lost."""
import contextlib
import json
import os
import signal

import pytest

from conftest import BUILD, Machine, describe, families, free_port, last_json, pair_command
from device_process import find_device

ENDLESS = 1_000_000_000


def pingpong_commands(machine, gid_index, *flags):
    program = machine.bin / "ibv_rc_pingpong"
    common = ["-p", free_port(), "-g", gid_index, *flags]
    server_device, client_device = machine.pair_devices()
    return [program, "-d", server_device, *common], [program, "-d", client_device, *common, "localhost"]


def start_endless(machine, gid_index, **more):
    """Starts an endless pingpong; returns it and its process ids when traffic is about to start."""
    server, client = pingpong_commands(machine, gid_index, "-n", ENDLESS)
    process = machine.start_pair(
        server, ["/usr/bin/stdbuf", "-oL", *client], announce="remote address", **more
    )
    return process, json.loads(process.stdout.readline())


def end_pair(process, pids, victim):
    """Kills one end and terminates the other, which might wait forever. Returns how all ended."""
    os.kill(pids.pop(victim), signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):  # it may have ended already
        os.kill(pids.popitem()[1], signal.SIGTERM)
    return last_json(process.communicate()[0])


@pytest.mark.parametrize("victim", ["client", "server"])
def test_a_killed_application_leaves_the_machine_usable(victim, gid_index):
    machine = Machine(hcas=2)
    again = pair_command(*pingpong_commands(machine, gid_index, "-c"))
    ends = end_pair(*start_endless(machine, gid_index, after=again), victim)
    assert ends[victim]["status"] == -signal.SIGKILL, describe(ends)
    after = last_json(ends["after"]["output"])
    assert (after["server"]["status"], after["client"]["status"]) == (0, 0), describe(after)


def test_other_applications_go_on(gid_index):
    """A pair that runs while another pair's client is killed completes all its iterations."""
    machine = Machine(hcas=2)
    other = pair_command(*pingpong_commands(machine, gid_index, "-c", "-n", 5000))
    ends = end_pair(*start_endless(machine, gid_index, other=other), "client")
    others = last_json(ends["other"]["output"])
    assert (others["server"]["status"], others["client"]["status"]) == (0, 0), describe(others)


@families(every_time=True)
def test_a_killed_device_process_ends_its_applications(family, gid_index):
    """Both ends get flush errors and fail by themselves, instead of polling forever."""
    process, _ = start_endless(Machine(hcas=2, family=family), gid_index)
    os.kill(find_device(process.pid), signal.SIGKILL)
    ends = last_json(process.communicate()[0])
    assert ends["server"]["status"] > 0 and ends["client"]["status"] > 0, describe(ends)


@families(every_time=True)
def test_a_killed_device_process_is_a_fatal_event(family):
    machine = Machine(family=family)
    process = machine.start(machine.bin / "ibv_asyncwatch", "-d", machine.adapters[0])
    assert "async event FD" in process.stdout.readline()
    os.kill(find_device(process.pid), signal.SIGKILL)
    assert "IBV_EVENT_DEVICE_FATAL" in process.stdout.readline()


@pytest.mark.once
@families(every_time=True)
@pytest.mark.parametrize("hcas", [1, 2])
def test_outstanding_work_of_a_killed_device_process_is_flushed(family, hcas):
    process = Machine(hcas=hcas, family=family).start(BUILD / "bin/hcasim-lost")
    assert process.stdout.readline() == "outstanding\n"
    os.kill(find_device(process.pid), signal.SIGKILL)
    assert process.stdout.readline() == "flushed\n"
    assert process.wait() == 125  # the command succeeded, but its machine failed
