# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Applications on the border: descriptors, processes, threads, faults, ends."""
import contextlib
import os
import pty
import select
import signal
import subprocess

import pytest

from conftest import CLIENT, HCASIM, hcasim_run


@pytest.mark.parametrize("action", ["files", "fork", "exec", "pass", "threads", "closeall", "hooked"])
def test_application(client, action):
    client(action)


def test_simulated_time_follows_the_wall_clock(client):
    """100 ms of sleep: the clock moved on by about as much (the process may be late, never early)."""
    moved = int(client("clock")) / 1e12
    assert 0.09 <= moved < 10


def test_a_store_to_an_unmapped_page_is_a_fault():
    result = hcasim_run(CLIENT, "unmapped")
    # AddressSanitizer's own handler, where there is one, is chained to: it reports, and ends with 1.
    sanitized = "AddressSanitizer: SEGV" in result.stderr
    assert result.returncode == (1 if sanitized else 128 + signal.SIGSEGV)
    assert "hcasim: pid" not in result.stderr


def test_an_unsupported_store_names_the_instruction():
    result = hcasim_run(CLIENT, "locked")
    assert result.returncode == 128 + signal.SIGSEGV
    assert "cannot carry out" in result.stderr and "lock " in result.stderr


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def device_of(launcher):
    """(guardian, device) below `hcasim run`."""
    for child in children(launcher):
        with open(f"/proc/{child}/comm") as file:
            if file.read().startswith("hcasim-"):
                return child, children(child)[0]
    raise LookupError("no device process")


def wait_end(pidfd):
    """A process that is not ours to wait for: its pidfd says when it has ended."""
    assert select.select([pidfd], [], [], 10)[0] == [pidfd]
    os.close(pidfd)


def read_until(stream, text):
    seen = b""
    while text not in seen:
        seen += stream.read(100)
    return seen


def pending(pid, number):
    with open(f"/proc/{pid}/status") as file:
        (masks,) = [line for line in file if line.startswith("ShdPnd")]
    return int(masks.split()[1], 16) >> number - 1 & 1


def read_all(stream):
    """Until the last process on the terminal has ended."""
    seen = b""
    with contextlib.suppress(OSError):
        while more := stream.read(100):
            seen += more
    return seen


def start(*command):
    process = subprocess.Popen([HCASIM, "run", "--", *command], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "open\n"
    return process


def test_a_killed_device_process_is_a_fatal_event():
    process = start(CLIENT, "fatal")
    os.kill(device_of(process.pid)[1], signal.SIGKILL)
    assert process.stdout.readline() == "fatal\n"
    assert process.wait() == 125  # the command ended well, its machine did not


def test_a_killed_guardian_ends_the_machine():
    process = start(CLIENT, "fatal")
    guardian, device = device_of(process.pid)
    end = os.pidfd_open(device)
    os.kill(guardian, signal.SIGKILL)
    process.communicate()
    wait_end(end)


def test_a_device_that_hangs_goes_with_its_launcher():
    """Stopped, it neither reads nor ends; the guardian waits a while and kills it."""
    # The command itself is killed with its launcher: the application is not the command here.
    process = start("/bin/sh", "-c", '"$0" fatal & wait', CLIENT)
    guardian, device = device_of(process.pid)
    ends = [os.pidfd_open(pid) for pid in (guardian, device)]
    os.kill(device, signal.SIGSTOP)
    process.kill()
    process.wait()
    assert process.stdout.readline() == "fatal\n"
    for end in ends:
        wait_end(end)
    process.stdout.close()


def test_a_device_that_hangs_ends_with_the_command():
    process = start(CLIENT, "hold")
    guardian, device = device_of(process.pid)
    end = os.pidfd_open(device)
    os.kill(device, signal.SIGSTOP)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    wait_end(end)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_signals_reach_the_command(number):
    process = start(CLIENT, "hold")
    process.send_signal(number)
    process.communicate()
    assert process.returncode == 128 + number


def ended(pid):
    """It has ended, whether its new parent has waited for it or not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@pytest.mark.parametrize("ignores", ["", "trap '' TERM;"], ids=["ends", "ignores"])
@pytest.mark.parametrize("then", ["wait", "exit 3"])
def test_programs_in_the_background_end_with_the_machine(then, ignores):
    """The shell does not pass a signal on. A program that polls would never learn that the adapter has gone."""
    background = f'({ignores} exec "$0" hold) & holder=$!; sleep 300 > /dev/null 2>&1 &'
    script = f"{background} read go; echo $holder $!; {then}"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([HCASIM, "run", "--", "/bin/sh", "-c", script, CLIENT], **pipes)
    assert process.stdout.readline() == "open\n"
    process.stdin.write("go\n")
    process.stdin.flush()
    holder, bystander = map(int, process.stdout.readline().split())
    if then == "wait":
        process.send_signal(signal.SIGTERM)
    _, errors = process.communicate()
    assert process.returncode == (128 + signal.SIGTERM if then == "wait" else 3)
    assert ended(holder) and f": {holder}\n" in errors
    assert not ended(bystander)  # it uses no adapter
    os.kill(bystander, signal.SIGKILL)


# Says who sent each SIGINT: the kernel, for a key, or a process. Ends with SIGQUIT.
SENDERS = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGQUIT])
print("ready", flush=True)
while (got := signal.sigwaitinfo([signal.SIGINT, signal.SIGQUIT])).si_signo == signal.SIGINT:
    print("key" if got.si_code > 0 else "process", flush=True)
"""


def test_ctrl_c_reaches_the_command_once():
    """The terminal itself sends it to the command, which is in the foreground."""
    pid, terminal = pty.fork()
    if not pid:
        os.execv(HCASIM, [HCASIM, "run", "--", "/usr/bin/python3", "-c", SENDERS])
    with open(terminal, "r+b", buffering=0) as stream:
        seen = read_until(stream, b"ready")
        for _ in range(20):  # one that comes while another is pending would not show
            stream.write(b"\x03")
            seen += read_until(stream, b"key")
            while pending(pid, signal.SIGINT):  # hcasim run has it, too
                pass
        os.kill(pid, signal.SIGQUIT)  # passed on after whatever was before it
        seen += read_all(stream)
        assert seen.count(b"key") == 20 and b"process" not in seen
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_killed_launcher_ends_the_device_and_the_command():
    process = start(CLIENT, "hold")
    command = next(pid for pid in children(process.pid) if pid not in device_of(process.pid))
    ends = [os.pidfd_open(pid) for pid in (*device_of(process.pid), command)]
    with open(f"/proc/{command}/environ", "rb") as file:
        folder = next(line for line in file.read().split(b"\0") if line.startswith(b"HCASIM_RUNTIME="))
    process.kill()
    process.wait()
    for end in ends:
        wait_end(end)
    assert not os.path.exists(folder.split(b"=")[1])
    process.stdout.close()
