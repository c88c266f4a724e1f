# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The border with applications, seen from outside: `hcasim run`, the control channel, the preload library.

HCASIM_BUILD names the build folder under test, RDMA_CORE_BUILD rdma-core's; `ctest` sets both.
"""
import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BUILD = Path(os.environ["HCASIM_BUILD"])
HCASIM = BUILD / "bin/hcasim"
CLIENT = BUILD / "sim/process/tests/process_client"
DEVINFO = Path(os.environ["RDMA_CORE_BUILD"]) / "bin/ibv_devinfo"


def hcasim_run(*command, options=(), **more):
    """Runs to the end; output and status."""
    more = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL, **more}
    return subprocess.run([HCASIM, "run", *options, "--", *map(str, command)], **more)


@pytest.fixture
def client():
    """Runs one action of process_client on a machine of its own; it must succeed."""

    def run(*action, **more):
        result = hcasim_run(CLIENT, *action, **more)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    return run
