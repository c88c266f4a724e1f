# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim run: starts a machine, runs a command on it, ends the machine."""
import contextlib
import ctypes
import glob
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from . import exits, machine_folder, versions
from .errors import RunError, naming
from .options import parse, parser
from .profile import ProfileError, effective_file

GRACE = 10.0  # seconds that applications have to end by themselves once the device is gone
END = 5.0  # seconds from SIGTERM to SIGKILL, for applications
VALGRIND_OPTS = [f"--px-{code}=allregs-at-mem-access" for code in ("default", "file-backed")]


def say(text):
    print(f"hcasim: {text}", file=sys.stderr, flush=True)


def trace_folder(path):
    with naming(f"--trace '{path}'", exits.WRONG):
        os.makedirs(path, exist_ok=True)
    return os.path.abspath(path)


class Machine:
    """The device process, with a socket to it: READY arrives there, and closing it ends the process."""

    def __init__(self, build, options):
        self.build = build
        self.quiet = options.quiet
        self.process = None
        self.reported = False
        self.scratch = contextlib.ExitStack()
        profile = self.profile_file(options)
        trace = trace_folder(options.trace) if options.trace is not None else None
        self.traced = trace is not None
        self.folder = machine_folder.make(options.name)
        lock = machine_folder.lock(self.folder)
        self.scratch.callback(os.close, lock)
        self.lifeline, theirs = socket.socketpair()
        command = [build.device_program, "--runtime", self.folder, "--launcher-fd", str(theirs.fileno())]
        command += [
            "--device",
            options.device,
            "--hcas",
            options.hcas,
            "--profile",
            profile,
            "--seed",
            str(options.seed),
        ]
        command += ["--kernel", options.kernel, "--engine", options.engine, "--clock", options.clock]
        if options.wave is not None:
            command += ["--wave", os.path.abspath(options.wave)]
        if trace:
            command += ["--trace", trace]
        if options.no_events:
            command += ["--no-events"]
        if options.no_memlock:
            command += ["--no-memlock"]
        if options.record is not None:
            command += ["--record", os.path.abspath(options.record)]
        if options.fault is not None:
            command += ["--fault", options.fault]
        try:
            # A session of its own: Ctrl-C at the terminal is for the applications, not for the device.
            self.process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno(), lock],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            self.end()
            raise RunError(f"cannot start {build.device_program}: {error.strerror}") from None
        finally:
            theirs.close()

    def profile_file(self, options):
        try:
            return self.scratch.enter_context(effective_file(self.build, options.profile, options.set))
        except (ProfileError, OSError) as error:
            raise RunError(str(error), exits.WRONG) from None

    def wait_ready(self):
        if self.lifeline.recv(6, socket.MSG_WAITALL) != b"READY\n":
            status = self.process.wait()
            if status == exits.WRONG:  # it has said why
                raise RunError("", status)
            raise RunError(f"the device process did not start (status {status})")
        marks = {
            "quiet": self.quiet,
            "traced": self.traced,
        }  # the preload library, or environment_for(), looks for them
        for name in [name for name, on in marks.items() if on]:
            with open(f"{self.folder}/{name}", "w"):
                pass

    def end(self):
        """Ends the process and removes its folder; returns its status."""
        self.lifeline.close()
        status = None
        if self.process:
            # The device process first releases what the last program left, which may take long. Its guardian
            # kills it if it makes no progress.
            status = self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.scratch.close()
        return status


def prepend(environment, name, *values, separator=":"):
    old = environment.get(name, "")
    environment[name] = separator.join([*filter(None, values), *([old] if old else [])])


def users_verbs(environment):
    """The folder in the user's own LD_LIBRARY_PATH with a libibverbs, which then takes precedence, or None."""
    folders = environment.get("LD_LIBRARY_PATH", "")
    named = [folder or "." for folder in folders.split(":") if folders]
    return next((folder for folder in named if os.path.exists(f"{folder}/libibverbs.so.1")), None)


def brings_verbs(build, program):
    """Whether a program is linked to its own libibverbs; the preload library decides, as for every executed program."""
    ask = ctypes.CDLL(build.preload).hcasim_brings_verbs
    ask.restype = ctypes.c_bool
    return ask(os.fsencode(program))


def give_verbs(build, environment, program):
    """Puts the rdma-core of this build into the environment, unless the program has its own."""
    environment["HCASIM_VERBS"] = build.rdma_core_lib
    if not brings_verbs(build, program):
        prepend(environment, "LD_LIBRARY_PATH", build.rdma_core_lib)
    return build.rdma_core_lib


def choose_verbs(build, environment, system, program):
    """The folder of the libibverbs that the user names or this build has; None: the system's is used."""
    named = users_verbs(environment)
    if named or system or not build.rdma_core:
        return named
    return give_verbs(build, environment, program)


def providers(build, verbs, folder):
    """Providers for RDMAV_DRIVERS: libhcasim, and, for adapters of this machine, those that belong to the libibverbs in
    `verbs`. Programs find no others: /etc/libibverbs.d is empty there. A libhcasim in that folder takes precedence over
    that of this build.
    """

    def there(name, *places):
        paths = [f"{place}/lib{name}" for place in places]
        return [path for path in paths if glob.glob(f"{glob.escape(path)}-rdmav*.so")]

    with open(f"{folder}/providers") as file:
        present = {line.split()[1] for line in file} - {"hcasim"}
    if not verbs and present:
        verbs = os.path.dirname(versions.system_library() or "")
    if not verbs:
        return [build.provider]
    verbs = os.path.abspath(verbs)
    upstream = [path for name in sorted(present) for path in there(name, verbs, f"{verbs}/libibverbs")]
    return [*(there("hcasim", verbs) or [build.provider]), *upstream]


def environment_for(build, folder, system, program):
    environment = dict(os.environ, HCASIM_RUNTIME=folder)
    # A sanitizer's runtime must come first in every process, our library last: it takes the place of the kernel.
    prepend(environment, "LD_PRELOAD", build.sanitizer_runtime)
    preload = build.preload_virtual if os.path.exists(f"{folder}/virtual") else build.preload
    calls = build.calls if os.path.exists(f"{folder}/traced") else None
    environment["LD_PRELOAD"] = ":".join(filter(None, [environment.get("LD_PRELOAD"), calls, preload]))
    if build.sanitizer_runtime:
        # Other people's programs run under the sanitizer, too; do not report their leaks.
        environment.setdefault("ASAN_OPTIONS", "detect_leaks=0")
    verbs = choose_verbs(build, environment, system, program)
    # The fault handler needs up-to-date registers in valgrind's signal frames. The user's options come later and win.
    prepend(environment, "VALGRIND_OPTS", *VALGRIND_OPTS, separator=" ")
    drivers = ":".join(providers(build, verbs, folder))
    environment["RDMAV_DRIVERS"] = environment["IBV_DRIVERS"] = drivers
    environment["HCASIM_PROVIDER"] = build.provider  # for programs that load another libibverbs
    prepend(environment, "PATH", build.wrappers)
    if build.rdma_core:
        environment["PATH"] += f":{build.rdma_core_bin}"  # ibv_devinfo and so on, if the system has none
    return environment


def obstacle(build, program):
    """Why the preload library cannot be loaded into a program, as one sentence, or None; the library decides."""
    ask = ctypes.CDLL(build.preload).hcasim_obstacle
    ask.restype = ctypes.c_bool
    text = ctypes.create_string_buffer(5000)
    return os.fsdecode(text.value) if ask(os.fsencode(program), text, ctypes.c_size_t(len(text))) else None


class Dependent:
    """Called in a process before it executes its program: should its launcher be killed, it is killed, too."""

    SET_PDEATHSIG = 1  # prctl(2)

    def __init__(self):
        self.launcher = os.getpid()
        self.prctl = ctypes.CDLL(None).prctl

    def __call__(self):
        self.prctl(self.SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != self.launcher:
            os.kill(os.getpid(), signal.SIGKILL)


def start_command(build, command, environment, program, quiet):
    sentence = obstacle(build, program)
    if sentence and not quiet:
        say(sentence)
    try:
        return subprocess.Popen(command, env=environment, preexec_fn=Dependent())
    except FileNotFoundError:
        raise RunError(f"'{command[0]}': no such program", exits.NOT_FOUND) from None
    except OSError as error:
        raise RunError(f"'{command[0]}': {error.strerror}", exits.CANNOT_RUN) from None


def applications(folder):
    """All processes on the machine: those with its folder in their environment."""
    mark = f"HCASIM_RUNTIME={folder}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:  # it has ended, or belongs to another user
            continue
    return found


def device_files():
    """Inodes of the sockets that applications hold as open device files: those with an address of ours."""
    with open("/proc/net/unix") as file:
        return {line.split()[6] for line in file if " @hcasim:" in line}


def uses(pid, sockets):
    """Whether the process holds one of these sockets."""
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return False
    return any(link.startswith("socket:[") and link[8:-1] in sockets for link in links)


def end_users(folder):
    """The command has ended, and the machine ends: so do processes that still use an adapter, as at any shutdown. A
    program that polls would never learn of it."""
    sockets = device_files()
    pids = [pid for pid in applications(folder) if uses(pid, sockets)]
    files = []
    for pid in pids:
        with contextlib.suppress(OSError):
            files.append(os.pidfd_open(pid))
    if not files:
        return
    say(
        f"the command has ended: terminating processes that still use an adapter: {', '.join(map(str, pids))}"
    )
    end = time.monotonic() + END
    for file in files:
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(file, signal.SIGTERM)
    for file in files:
        if not readable([file], max(0.0, end - time.monotonic())):
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(file, signal.SIGKILL)
        os.close(file)


def signal_all(folder, number):
    for pid in applications(folder):
        try:
            os.kill(pid, number)
        except OSError:
            continue


def readable(files, seconds):
    """Descriptors of `files` that are readable or at their end, waiting up to `seconds`."""
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    timeout = None if seconds is None else seconds * 1000
    return [file for file, _ in poll.poll(timeout)]


def end_applications(machine, command_fd):
    """The device process has ended, and applications have been notified; terminates those that do not end."""
    if readable([command_fd], GRACE):
        return
    say(f"applications still running {GRACE:g} s after the device process ended: terminating them")
    signal_all(machine.folder, signal.SIGTERM)
    if readable([command_fd], END):
        return
    signal_all(machine.folder, signal.SIGKILL)


def wait_both(machine, process):
    """Waits for the command while watching the device process."""
    command_fd = os.pidfd_open(process.pid)
    try:
        watched = [command_fd, machine.lifeline.fileno()] if machine else [command_fd]
        ready = readable(watched, None)
        if command_fd not in ready:
            status = machine.process.wait()
            readable([command_fd], 1.0)  # let applications print their own messages first
            describe_end(status)
            machine.reported = True
            end_applications(machine, command_fd)
    finally:
        os.close(command_fd)
    return process.wait()


def describe_end(status):
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    say(f"the device process {how}: the adapters are gone")


class Forward:
    """SIGTERM and SIGHUP are passed on. SIGINT and SIGQUIT are, if a process sent them: from the terminal they reach
    the command by themselves.

    Installed before the command starts; an earlier signal is passed on once it has started.
    """

    TYPED = (signal.SIGINT, signal.SIGQUIT)

    def __init__(self):
        self.process = None
        self.early = []
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.handle)

    def handle(self, number, _frame):
        if self.process:
            self.process.send_signal(number)
        else:
            self.early.append(number)

    def to(self, process):
        self.process = process
        for number in self.early:
            process.send_signal(number)
        signal.pthread_sigmask(signal.SIG_BLOCK, self.TYPED)
        threading.Thread(target=self.wait_typed, daemon=True).start()

    def wait_typed(self):
        while True:
            info = signal.sigwaitinfo(self.TYPED)
            if info.si_code <= 0:  # SI_USER and its kin; the kernel's own, for a key, is above
                self.process.send_signal(info.si_signo)


def end_on_signal(number, _frame):
    raise SystemExit(exits.SIGNALED + number)


def run_on(build, folder, machine, options, command):
    forward = Forward()
    program = shutil.which(command[0]) or command[0]
    environment = environment_for(build, folder, options.system_verbs, program)
    process = start_command(build, command, environment, program, options.quiet)
    forward.to(process)
    status = wait_both(machine, process)
    return status if status >= 0 else exits.SIGNALED - status


def attach(build, options, command):
    found = machine_folder.find(options.attach)
    if not found:
        raise RunError(f"no machine named '{options.attach}' runs", exits.WRONG)
    return run_on(build, found, None, options, command)


def start_and_run(build, options, command):
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_on_signal)
    machine = Machine(build, options)
    try:
        machine.wait_ready()
        status = run_on(build, machine.folder, machine, options, command)
        end_users(machine.folder)
    except BaseException:
        machine.end()
        raise
    ended = machine.end()
    if ended and not machine.reported:
        describe_end(ended)
    # A machine that fails only afterwards does not hide that a signal ended the command.
    return exits.MACHINE_FAILED if machine.reported or (ended and status < exits.SIGNALED) else status


def run_and_explain(build, options, command):
    from .explain import explain  # it reads traces: only if it is needed
    from .views import view

    with tempfile.TemporaryDirectory(prefix="hcasim-explain-") as folder:
        options.trace = options.trace or folder
        status = start_and_run(build, options, command)
        view(lambda: explain(options.trace, sys.stderr))
    return status


def main(build, args):
    options, command = parse(build, args)
    run = attach if options.attach else run_and_explain if options.explain else start_and_run
    try:
        return run(build, options, command)
    except RunError as error:
        if str(error):
            say(str(error))
        return error.status


__all__ = ["main", "parser"]
