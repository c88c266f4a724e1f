# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs groups of cells, each in a separate runner process.

When a runner crashes or hangs, its current cell fails with the reason, and
another runner continues with the next cell.
"""
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path

from hcasim_conform.programs import RUNNER
from hcasim_conform.taps import judge as taps
from hcasim_conform.run.watchdog import Watchdog

GROUP_SIZE = (100, 2000)  # least and most cells of a process, if there are enough
# The runner gets the seed of message contents, and `brief`: no list of calls for cells that pass.
NEXT = " / "  # between lines of a complaint
COMPLAINT = 60  # last lines of stderr that a fault quotes: room for the report of a lockstep engine
HOW = {"seed": 0, "brief": False}
FIGURES = re.compile(r"0x[0-9a-f]+|[0-9]+")  # of a fault: they differ from cell to cell
CELLS_WERE_RUN = (0, 1)  # exit statuses of the runner: all passed, some failed


@dataclass(slots=True)  # there may be 250,000
class Result:
    passed: bool
    seen: str = ""
    faults: list = field(default_factory=list)
    calls: list = field(default_factory=list)
    errno: str | None = None
    us: int = 0
    late: bool = False  # a wait timed out
    observed: list = field(
        default_factory=list
    )  # (check, value, excused) of each check that saw something else
    artefacts: list = field(default_factory=list)  # of the taps
    clock: tuple = (None, None)  # simulated nanoseconds at its start and end
    posts: list = field(default_factory=list)  # the postings, and the return values of the API
    ends: list = field(default_factory=list)  # device and GID of requester and responder
    runs: list = field(default_factory=list)  # of a flaky cell: outcome and observation of each run


def failed(reason):
    return Result(False, seen=reason, faults=[reason])


def worst(results):
    """The result of a cell that was run several times: the first failure."""
    return next((result for result in results if not result.passed), results[0])


def wire_of(cell):
    """Faults that its wire must have, or NARROW."""
    return getattr(cell, "wire", "")


def _kin(cell):
    """Groups cells of one operation that can share a QP and its memory."""
    e = cell.expect
    return cell.short, e.create, e.post == "refused" and e.bad_wr == 0


def groups(cells, jobs=1):
    """Cells that share an API, a QP type and a wire, in pieces that one process runs."""
    by_kind = {}
    for cell in cells:
        by_kind.setdefault((cell.api, cell.qpt, wire_of(cell)), []).append(cell)
    least, most = GROUP_SIZE
    size = max(least, min(most, len(cells) // (8 * jobs)))
    for kind in by_kind.values():
        kind.sort(key=_kin)
        for start in range(0, len(kind), size):
            yield kind[start : start + size]


def died(code):
    """How a process ended, by its status or by that of a wrapper that reports it as a shell does."""
    number = -code if code < 0 else code - 128 if code > 128 else 0
    try:
        return f"the runner died of {signal.Signals(number).name}"
    except ValueError:
        return f"the runner ended with status {code}"


def environment(dut, bin_dir):
    """Environment of a runner and its start command: programs of this build come first in PATH."""
    env = dict(os.environ, **dut.env)
    env["PATH"] = f"{bin_dir}{os.pathsep}{env.get('PATH', '')}"
    return env


class Process:
    """One runner process: its output lines, and how it ended."""

    def __init__(self, dut, bin_dir, cells, how=HOW, start=None):
        env = environment(dut, bin_dir)
        read, write = self.pipe()
        self.stdout = open(read, "rb", buffering=0)
        self.stderr = tempfile.TemporaryFile()
        with tempfile.TemporaryFile() as lines, open(write, "wb", buffering=0) as stdout:
            lines.write(json.dumps({**dut.runner_line, **how}).encode() + b"\n")
            for cell in cells:
                lines.write(json.dumps(dut.line(cell)).encode() + b"\n")
            lines.seek(0)
            self.proc = subprocess.Popen(
                [*(start or dut.start), str(Path(bin_dir) / RUNNER)],
                stdin=lines,
                stdout=stdout,
                stderr=self.stderr,
                env=env,
                start_new_session=True,
            )
        self.groups = [self.proc.pid, *dut.groups]
        self.stalled = False

    @staticmethod
    def pipe():
        """The pipe for its output lines."""
        return os.pipe()

    def lines(self, seconds, start=0):
        """Yields decoded lines; ends at end of file, or if none came within `seconds` of processor time.

        The first may take `start` seconds more.
        """
        watchdog = Watchdog(self.groups, seconds + start)
        with selectors.DefaultSelector() as selector:
            selector.register(self.stdout, selectors.EVENT_READ)
            rest = b""
            while True:
                if not selector.select(watchdog.slice):
                    if watchdog.expired():
                        self.stalled = True
                        return
                    continue
                chunk = os.read(self.stdout.fileno(), 65536)
                if not chunk:
                    return
                watchdog.restart(seconds)
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    yield json.loads(line)

    def end(self):
        """Reaps the process and says how it ended."""
        if self.stalled:
            self._signal(signal.SIGTERM)
        try:
            code = self.proc.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            code = self.proc.wait()
        self._signal(signal.SIGKILL)  # processes that the wrapper may have left behind
        self.stdout.close()
        return code

    def _signal(self, number):
        try:
            os.killpg(self.proc.pid, number)
        except ProcessLookupError:
            pass

    def complaint(self):
        """A complaint with the end of its output to stderr."""
        self.stderr.seek(0)
        text = self.stderr.read().decode(errors="replace").strip().splitlines()
        self.stderr.close()
        return NEXT.join(text[-COMPLAINT:])


class Stuck:
    """Counts cells in a row that timed out for the same reason."""

    NEW_PROCESS = 3  # after so many a new process shows whether the device works again
    GIVE_UP = 6  # after so many it does not

    def __init__(self):
        self.number = 0
        self.faults = []

    def add(self, result, killed=False):
        """`killed`: the process has ended, the next cell has a new one. True: it needs one, or nothing helps."""
        late = result.late and not result.passed
        if not late or self._alike(result.faults) != self._alike(self.faults):
            self.number = 0
        self.faults = result.faults if late else []
        if late:
            self.number += 2 if killed else 1
        return self.number == self.NEW_PROCESS or self.hopeless

    @staticmethod
    def _alike(faults):
        return [FIGURES.sub("#", fault) for fault in faults]

    @property
    def hopeless(self):
        return self.number >= self.GIVE_UP


class GroupRun:
    def __init__(self, dut, bin_dir, cells, report, complain, how=HOW):
        self.dut = dut
        self.bin_dir = bin_dir
        self.left = deque(cells)
        self.how = how
        self.report = report  # report(cell, result)
        self.complain = complain  # complain(text): faults that belong to no cell
        self.enough = lambda cell, result: False  # called after each cell: true skips the rest
        self.stop = lambda: False  # called before each process: the same
        self.stuck = Stuck()
        # a cell waits at most for its completions, its event and a SEND
        self.silence = 2 + 4 * dut.timeout

    def run(self):
        while self.left and not self.stop():
            if not self._run_once():
                return
            if self.stuck.hopeless:
                self._give_up()

    def _take(self, process, done):
        """Reads one process to its end. Returns its current cell, and its message if it could not start."""
        current, error = None, None
        for line in process.lines(self.silence, self.dut.start_time):
            if "error" in line:
                error = line["error"]
            elif "begin" in line:
                current = self.left.popleft()
                if current.id != line["begin"]:  # a provider that writes where it must not
                    done(current, failed(f"the runner's memory is damaged: it began {line['begin']!r}"))
                    process.stalled, current = True, None
                    break
            else:
                result, ended, current = self.result(line), current, None
                stuck = self._is_stuck(ended, result)
                done(ended, result)
                if self.enough(ended, result):
                    process.stalled = True  # do not wait for its end
                    self.left.clear()
                    break
                if stuck:
                    process.stalled = True
                    break
        return current, error

    @staticmethod
    def result(line):
        result = Result(
            line["pass"], sys.intern(line["seen"]), line["faults"], line["calls"], line["errno"], line["us"]
        )
        result.observed = line.get("observed", [])
        result.late = line.get("late", result.late)
        result.clock = tuple(line.get("clock", result.clock))
        result.posts = line.get("posts", result.posts)
        result.ends = [line[end] for end in ("from", "to") if end in line]
        return result

    def _run_once(self):
        """False if another process would fail in the same way."""
        with taps.watch(self.dut, self.report, wire_of(self.left[0])) as watch:
            return self._run_watched(watch)

    def _run_watched(self, watch):
        before = len(self.left)
        try:
            process = Process(self.dut, self.bin_dir, self.left, self.how, watch.start)
        except OSError as error:
            self._fail_rest(f"{' '.join(self.dut.start) or RUNNER}: {error.strerror}: {error.filename}")
            return False
        current, error = self._take(process, watch.done)
        code = process.end()
        complaint = process.complaint()
        if current:
            how = (
                f"no progress for {self.silence:g} s, the runner was killed"
                if process.stalled
                else died(code)
            )
            result = replace(failed(f"{how}{': ' + complaint if complaint else ''}"), late=process.stalled)
            self._is_stuck(current, result, killed=True)
            watch.done(current, result)
        elif len(self.left) == before:
            self._fail_rest(
                error or f"{died(code)} before the first cell{': ' + complaint if complaint else ''}"
            )
            return False
        elif code not in CELLS_WERE_RUN and not process.stalled:
            # a crash while objects are destroyed, or a sanitizer's finding
            self.complain(
                f"after the last cell of a group {died(code)}{': ' + complaint if complaint else ''}"
            )
        return True

    def _is_stuck(self, cell, result, killed=False):
        """A cell that is expected to fail may time out as often as it likes."""
        known = self.dut.difference(cell)
        return not (known and known.whole) and self.stuck.add(result, killed)

    def _give_up(self):
        why = f"not run: cells before it timed out, each for the same reason: {self.stuck.faults[0]}"
        while self.left:
            self.report(self.left.popleft(), replace(failed(why), late=True))

    def _fail_rest(self, reason):
        while self.left:
            self.report(self.left.popleft(), failed(f"the device under test could not be started: {reason}"))
