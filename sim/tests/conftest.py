# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Unmodified programs on the simulated machine. `ctest` sets these environment variables:

HCASIM_BUILD: the build folder under test. RDMA_CORE_BUILD, RDMA_CORE_SOURCE: the folders of rdma-core.
HCASIM_SYSTEM_VERBS: machines use Debian's rdma-core (`--system-verbs`) unless the test chooses otherwise.
HCASIM_PROGRAMS=nightly: also what is only for the nightly run (by_day.py).
HCASIM_ENGINE: the send engine of machines (`--engine`), otherwise c.
"""
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

import by_day
from by_day import ENGINE, NIGHTLY, pytest_collection_modifyitems  # noqa: F401  (a hook of pytest)

HERE = Path(__file__).parent
TOP = HERE.parent.parent
BUILD = Path(os.environ.get("HCASIM_BUILD", TOP / "build/release"))
RDMA_CORE_BUILD = Path(os.environ.get("RDMA_CORE_BUILD", TOP / "build/rdma-core"))
NEWER = Path(os.environ.get("RDMA_CORE_NEWER_BUILD", TOP / "build/rdma-core-65"))
READY = BUILD / "sim/tests/libhcasim_ready.so"
PYTHON = "/usr/bin/python3"
SYSTEM_VERBS = bool(os.environ.get("HCASIM_SYSTEM_VERBS"))


def pytest_configure(config):
    config.addinivalue_line("markers", "once: one run of each program, for the sanitizer configurations")
    by_day.pytest_configure(config)


_started = []


@pytest.fixture(autouse=True)
def end_what_was_started():
    """Ends the processes that a failed or killed test left running."""
    yield
    while _started:
        process = _started.pop()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()


# Where the programs of each release of rdma-core are.
RELEASES = {"built": RDMA_CORE_BUILD / "bin", "debian": Path("/usr/bin"), "newer": NEWER / "bin"}


@pytest.fixture(params=RELEASES)
def release(request):
    """Of rdma-core: 56.1 as built here, Debian's 44.0, or 65.0; each with its own providers."""
    if not (RELEASES[request.param] / "ibv_devinfo").exists():
        pytest.skip(f"{request.param}: not installed")
    return request.param


def pair_command(server, client, **more):
    job = {"server": list(map(str, server)), "client": list(map(str, client)), "ready": str(READY), **more}
    return [PYTHON, str(HERE / "pair.py"), json.dumps(job)]


# Perftest's programs and the connection types that they have.
CONNECTIONS = {
    "send": ["RC", "UC", "UD", "XRC"],
    "write": ["RC", "UC", "XRC"],
    "read": ["RC", "XRC"],
    "atomic": ["RC", "XRC"],
}

ADAPTERS = {"native": ("hcasim0", "hcasim1"), "mlx5": ("mlx5_0", "mlx5_1")}


def families(every_time=False):
    """Parametrizes a test: `mlx5` is for the nightly run, or for every one."""
    return pytest.mark.parametrize("family", list(ADAPTERS) if every_time or NIGHTLY else ["native"])


# What programs say of races of their own, which a busy host can let them lose after all their transfers.
OWN_RACES = {
    "Can't produce a report": "perftest could not compare cycle counter and time of day (get_clock.c)",
    "rdma_get_cm_event: Bad file descriptor": "main() closed the channel before cm_thread() used it again (rping.c)",
}


class Machine:
    """`hcasim run` with its options; programs are those of `release`, or else from rdma-core's build, or Debian's if `system`.

    The host's limit of locked memory means nothing to them, unless `memlock`.
    """

    def __init__(self, hcas=1, system=None, options=(), release=None, family=None, memlock=False):
        system = release == "debian" if release else SYSTEM_VERBS if system is None else system
        self.hcas = hcas
        self.bin = RELEASES[release or ("debian" if system else "built")]
        self.adapters = ADAPTERS[family or "native"]
        self.command = [
            str(BUILD / "bin/hcasim"),
            "run",
            "--hcas",
            str(hcas),
            "--engine",
            ENGINE,
            *([] if memlock else ["--no-memlock"]),
            *options,
        ]
        if family:
            self.command += ["--device", family]
        if system:
            self.command.append("--system-verbs")

    def start(self, *command, **options):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(
            [*self.command, "--", *map(str, command)], text=True, start_new_session=True, **streams, **options
        )
        _started.append(process)
        return process

    def run(self, *command, **options):
        """Runs until it ends; returns status and output (including standard error)."""
        process = self.start(*command, **options)
        output, _ = process.communicate()
        return SimpleNamespace(status=process.returncode, output=output)

    def start_pair(self, server, client, **more):
        return self.start(*pair_command(server, client, **more))

    def run_pair(self, server, client, **more):
        """Runs both ends in one machine, the client once the server listens; checks that both succeed."""
        result = self.run(*pair_command(server, client, **more))
        ends = last_json(result.output)
        judged = {name: end for name, end in ends.items() if name != "server" or "endless" not in more}
        # Of both ends, before one is judged: where one gives up, the other fails, too.
        for sign, reason in OWN_RACES.items():
            for name, end in judged.items():
                if sign in end["output"]:
                    pytest.skip(f"{name}: {reason}")
        for name, end in judged.items():
            assert end["status"] == 0, f"{name} ended with {end['status']}:\n{describe(ends)}"
        assert result.status == 0, result.output
        return SimpleNamespace(server=ends["server"]["output"], client=ends["client"]["output"])

    def pair_devices(self):
        """The device names of server and client: two adapters if there are two."""
        return self.adapters[0], self.adapters[min(self.hcas, 2) - 1]


def last_json(output):
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    raise AssertionError(f"pair.py gave no result:\n{output}")


def describe(ends):
    return "\n".join(f"--- {name} ({end['status']})\n{end['output']}" for name, end in ends.items())


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def devinfo():
    """The output of ibv_devinfo -v for hcasim0."""
    result = Machine().run(RDMA_CORE_BUILD / "bin/ibv_devinfo", "-v")
    assert result.status == 0, result.output
    return result.output


@pytest.fixture(scope="session")
def gid_index(devinfo):
    """The first RoCE v2 entry that IPv4 traffic uses."""
    entries = re.findall(r"GID\[\s*(\d+)\]:\s+(\S+), RoCE v2", devinfo)
    ipv4 = [index for index, gid in entries if gid.startswith("::ffff:")]
    assert entries, devinfo
    return (ipv4 or [entries[0][0]])[0]


@pytest.fixture(scope="session")
def active_mtu(devinfo):
    return int(re.search(r"active_mtu:\s+(\d+)", devinfo)[1])
