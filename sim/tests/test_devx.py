# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Queues and tables of DEVX on `--device mlx5`, with classes of rdma-core's own tests, some of which want root."""
import os
import signal
from pathlib import Path

from conftest import HERE, PYTHON, RDMA_CORE_BUILD, TOP, Machine
from device_process import find_device

SOURCE = Path(os.environ.get("RDMA_CORE_SOURCE", TOP / "build/rdma-core-src"))


def start_devx(command):
    """A command of the shell, in which $Q is devx_queues.py with its options, and $S steering.py."""
    path = ":".join(map(str, (RDMA_CORE_BUILD / "python", SOURCE, SOURCE / "tests")))
    queues, steering = (f"{PYTHON} {HERE / name} --dev mlx5_0" for name in ("devx_queues.py", "steering.py"))
    environment = dict(os.environ, PYTHONPATH=path, LD_LIBRARY_PATH=str(RDMA_CORE_BUILD / "lib"))
    environment.update(Q=queues, S=steering)
    return Machine(options=["--device", "mlx5"]).start("sh", "-c", command, env=environment)


def test_devx_queues():
    process = start_devx("$Q leave && $Q leave && $Q memory")
    output = process.communicate()[0]
    assert process.returncode == 0, output
    assert output.startswith("left\nleft\n") and "\nOK" in output, output


def test_steering():
    process = start_devx("$S leave && $S leave && $S tag miss order")
    output = process.communicate()[0]
    assert process.returncode == 0, output
    assert output.startswith("left 3\nleft 3\n") and "Ran 3 tests" in output and "\nOK" in output, output


def test_tunnels():
    """rdma-core's own tests, without the question to devlink for which they are skipped."""
    names = [f"packet_reformat_root_{name}" for name in ("l2_gre", "l3_gre", "l2_geneve", "l3_geneve")]
    process = start_devx(" ".join(["$S tx_packet_reformat", *names]))
    output = process.communicate()[0]
    assert process.returncode == 0 and "Ran 5 tests" in output and output.endswith("\nOK\n"), output


def test_devx_queue_of_a_killed_device_process_is_flushed():
    process = start_devx("exec $Q lost")
    assert process.stdout.readline() == "outstanding\n"
    os.kill(find_device(process.pid), signal.SIGKILL)
    output = process.communicate()[0]
    assert "flushed\n" in output, output
