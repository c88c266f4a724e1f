# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
import json
import functools
import os
import stat
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "sim/cli"), str(HERE.parents[1] / "sim/tests")]

from by_day import pytest_collection_modifyitems, pytest_configure  # noqa: E402, F401  (hooks of pytest)
from hcasim_conform.model import capabilities  # noqa: E402
from hcasim_conform.select.covering import base, covering  # noqa: E402
from hcasim_conform.select.enumeration import Enumerator  # noqa: E402
from hcasim_conform.model.tables import Tables  # noqa: E402

REPO = HERE.parents[1]
ATTRIBUTES = (
    "MEM_WINDOW_TYPE_1",
    "MEM_WINDOW_TYPE_2",
    "XRC",
    "FLUSH",
    "ATOMIC_WRITE",
    "UD_IP_CSUM",
    "ATOMICS",
    "SRQ",
    "DEVICE_MEMORY",
    "TAG_MATCHING",
    "WORK_QUEUES",
    "IMPORT",
    "TSO",
)


@pytest.fixture(scope="session")
def tables():
    return Tables()


@pytest.fixture(scope="session")
def enumerator(tables):
    return Enumerator(tables)


@pytest.fixture(scope="session")
def defined(enumerator):
    """Every defined cell."""
    return list(enumerator.defined())


@pytest.fixture(scope="session")
def cells(enumerator):
    """The cells of every run."""
    blocks = enumerator.blocks.values()
    return [b.cell(where) for b in blocks for where in base(b)] + list(enumerator.extra.values())


@pytest.fixture(scope="session")
def chosen(enumerator):
    """The covering set of a seed."""
    return functools.cache(lambda seed: covering(enumerator, seed))


class ById:
    """Cells by id, also those that are never run."""

    def __init__(self, enumerator):
        self.enumerator = enumerator

    def __getitem__(self, cell_id):
        cell = self.enumerator.find(cell_id)
        if not cell:
            raise KeyError(cell_id)
        return cell

    def __contains__(self, cell_id):
        return self.enumerator.find(cell_id) is not None


@pytest.fixture(scope="session")
def by_id(enumerator):
    return ById(enumerator)


@pytest.fixture(scope="session")
def man_pages():
    source = Path(os.environ.get("RDMA_CORE_SOURCE", REPO / "build" / "rdma-core-src"))
    return source / "libibverbs" / "man"


@pytest.fixture(scope="session")
def build():
    """The build folder whose programs are tested."""
    return Path(os.environ.get("HCASIM_BUILD", REPO / "build" / "release"))


@pytest.fixture
def report_of():
    """The report of a device with all capabilities; `change` is applied to both of its ends."""
    tables = Tables()

    def make(**change):
        end = {
            "fw_ver": "1",
            "gid": "::ffff:192.0.2.1",
            "operations": {t: [op.name for op in tables.operations if t in op.wr] for t in tables.qp_types},
            "attributes": list(ATTRIBUTES),
            "on_demand": {t: list(capabilities.ON_DEMAND) for t in capabilities.ON_DEMAND_TYPES},
            "limits": {"max_sge": 30, "max_inline_data": 128},
            **change,
        }
        return {
            "kernel": "6.1",
            "requester": {"device": "a", **end},
            "responder": {"device": "b", **end},
        }

    return make


@pytest.fixture
def fake_bin(tmp_path, report_of, monkeypatch):
    """A folder of programs in which the runner is fake_runner.py."""
    monkeypatch.setenv("FAKE_REPORT", json.dumps(report_of()))
    folder = tmp_path / "bin"
    folder.mkdir()
    runner = folder / "hcasim-conform-runner"
    runner.write_text(f"#!{sys.executable}\n" + (HERE / "fake_runner.py").read_text(encoding="utf-8"))
    runner.chmod(runner.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.fixture
def write_dut(tmp_path):
    """Writes a DUT file of a device that needs no start command."""

    def write(differences=(), **more):
        import yaml

        doc = {
            "name": "fake",
            "doc": "answers as told",
            "start": [],
            "requester": {"device": "a", "port": 1, "gid_index": 0},
            "responder": {"device": "b", "port": 1, "gid_index": 0},
            "mtu": 1024,
            "timeout_ms": 100,
            "differences": list(differences),
        }
        doc.update(more)
        path = tmp_path / "fake.yaml"
        path.write_text(yaml.safe_dump(doc), encoding="utf-8")
        return path

    return write
