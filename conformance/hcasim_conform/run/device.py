# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The device under test, for all runner processes: its service, and its attributes."""
import json
import os
import selectors
import subprocess
import tempfile
from typing import NamedTuple

from hcasim_cli import exits

from hcasim_conform.run import drive

FOLDER = "HCASIM_DUT_DIR"  # a folder shared by the service and the start command
READY_WITHIN = 180  # seconds: enough for a machine that boots on a busy host
ANSWER_WITHIN = 60
STOP_WITHIN = 10
NOT_STARTED = (exits.WRONG, exits.CANNOT_RUN, exits.NOT_FOUND)  # of a start command, as hcasim run


class DeviceError(Exception):
    """The device does not exist or cannot be started."""


class Query:
    """Takes the place of a cell among the lines of a runner."""

    api = "query"

    @staticmethod
    def line():
        return {"query": True}


class Device:
    def __init__(self, dut, bin_dir):
        self.dut = dut
        self.bin_dir = bin_dir
        self.folder = None
        self.service = None

    def start(self):
        """Starts the service and queries the device. Returns the resulting faults of the run."""
        self._start_service()
        answer = ask(self.dut, self.bin_dir)
        if answer.refused:
            self.stop()
            raise DeviceError(answer.complaint)
        if answer.reported is None:
            return [f"the device could not be asked what it can do: {answer.complaint}"]
        return self.dut.learn(answer.reported)

    def stop(self):
        """Stops the service by closing its stdin."""
        if self.service:
            self.service.stdin.close()
            try:
                self.service.wait(STOP_WITHIN)
            except subprocess.TimeoutExpired:
                self.service.kill()
                self.service.wait()
            self.service.stdout.close()
            self.service = None
            self.dut.groups = []
        if self.folder:
            self.folder.cleanup()
            self.folder = None

    def _start_service(self):
        if not self.dut.service:
            return
        self.folder = tempfile.TemporaryDirectory(prefix="hcasim-dut-")
        self.dut.env[FOLDER] = self.folder.name
        command = self.dut.service
        env = drive.environment(self.dut, self.bin_dir)
        try:
            self.service = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, start_new_session=True
            )
        except OSError as error:
            raise DeviceError(f"{self.dut.name}: {' '.join(command)}: {error.strerror}") from error
        self.dut.groups = [self.service.pid]
        answer = self._first_line()
        if "error" in answer:
            self.stop()
            raise DeviceError(f"{self.dut.name}: {answer['error']}")

    def _first_line(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.service.stdout, selectors.EVENT_READ)
            if not selector.select(READY_WITHIN):
                return {"error": f"the service was not ready within {READY_WITHIN} s"}
        line = self.service.stdout.readline()
        try:
            return json.loads(line)
        except ValueError:
            return {
                "error": f"the service said {line.decode(errors='replace').strip()!r} and not that it is ready"
            }


class Answer(NamedTuple):
    """The device's report, or why there is none."""

    reported: dict | None
    complaint: str | None = None
    refused: bool = False  # command line or DUT file are wrong; else the device has failed


def ask(dut, bin_dir, within=ANSWER_WITHIN):
    reported, error = None, {}
    try:
        process = drive.Process(dut, bin_dir, [Query])
    except OSError as problem:
        return Answer(None, f"{problem.filename}: {problem.strerror}", True)
    for line in process.lines(within, dut.start_time):
        reported = line.get("reported", reported)
        error = line if "error" in line else error
    code = process.end()
    complaint = process.complaint()
    if reported:
        return Answer(reported)
    if process.stalled:
        return Answer(None, f"no answer within {within} s")
    if error:
        return Answer(None, error["error"], error.get("wrong", False))
    if complaint and code in NOT_STARTED:
        return Answer(None, complaint.split(drive.NEXT)[-1], True)
    return Answer(None, f"{drive.died(code)}: {complaint}".rstrip(": "))


def describe(dut):
    """Versions of the device, in addition to those of the machine that runs the suite."""
    return {f"{dut.name} kernel": dut.reported["kernel"]} if dut.reported and foreign(dut) else {}


def foreign(dut):
    return dut.reported["kernel"] != os.uname().release
