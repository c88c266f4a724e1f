# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The gate of a provider's CI: each fault of conformance/mutants/providers, planted into rdma-core's source, must turn
`hcasim conform --diff BASELINE` red at the cells named for it, and no other cell that is run.

ci/test has a part of the faults; with HCASIM_GATE=all, as in the nightly run, all of them.
"""
import os
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from parts import part
from conftest import REPO
from hcasim_conform.mutants import provider as providers

NAMES = ("mlx5", "rxe")
PARTS = 32
RDMA_CORE = Path(os.environ.get("RDMA_CORE_BUILD", REPO / "build" / "rdma-core"))
SOURCE = Path(os.environ.get("RDMA_CORE_SOURCE", REPO / "build" / "rdma-core-src"))


pytestmark = pytest.mark.skipif(
    not providers.fits(SOURCE), reason=f"the lists are for rdma-core {providers.RELEASE}"
)


def faults(name):
    listed = providers.load(providers.FAULTS / f"{name}.yaml")
    return listed if os.environ.get("HCASIM_GATE") == "all" else listed[part(PARTS) - 1 :: PARTS]


CHOSEN = [(name, fault) for name in NAMES for fault in faults(name)]
CAUGHT = [(name, fault) for name, fault in CHOSEN if fault.red]


class Gate:
    """`hcasim conform` on a provider with and without faults."""

    def __init__(self, name, build, folder):
        self.name = name
        self.hcasim = build / "bin" / "hcasim"
        self.folder = folder
        self.provider = providers.Provider(name, SOURCE, RDMA_CORE)
        self.baseline = cache(self._baseline)

    def conform(self, fault, cells, out, lib=None, gate=()):
        figures = [word for figure in fault.figures for word in ("--set", figure)]
        command = [self.hcasim, "conform", "--strict", "--dut", self.name, *figures, "-k", " or ".join(cells)]
        environment = dict(os.environ, **({"LD_LIBRARY_PATH": str(lib)} if lib else {}))
        return subprocess.run(
            [str(word) for word in (*command, "--out", out, *gate)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def _baseline(self, figures):
        """A run of rdma-core's own build, with the cells of all faults that have these figures."""
        alike = [fault for name, fault in CAUGHT if (name, fault.figures) == (self.name, figures)]
        cells = dict.fromkeys(cell for fault in alike for cell in fault.cells)
        out = self.folder / "-".join(("baseline", *figures))
        done = self.conform(alike[0], cells, out)
        assert done.returncode == 0, f"the provider as it is: {done.stdout}{done.stderr}"
        return out

    def judge(self, fault, name, edits):
        """Exit status and output of the gate for a provider with these edits, on the cells of a fault."""
        folder = self.folder / name
        lib = self.provider.make(replace(fault, edits=tuple(edits)), folder)
        gate = ["--diff", self.baseline(fault.figures)]
        return self.conform(fault, fault.cells, folder / "run", lib, gate)


@pytest.fixture(scope="module")
def gates(build, tmp_path_factory):
    return cache(lambda name: Gate(name, build, tmp_path_factory.mktemp(name)))


@pytest.mark.parametrize("name", sorted({name for name, _ in CAUGHT}))
def test_a_rebuilt_provider_without_a_fault_passes(name, gates):
    fault = next(fault for named, fault in CAUGHT if named == name)
    done = gates(name).judge(fault, "unmodified", [(*where, find, find) for *where, find, _ in fault.edits])
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


@pytest.mark.parametrize("name, fault", CAUGHT, ids=[f"{name}-{fault.id}" for name, fault in CAUGHT])
def test_a_fault_is_caught_at_its_cells(name, fault, gates):
    done = gates(name).judge(fault, fault.id, fault.edits)
    assert done.returncode == 1, f"{done.stdout}{done.stderr}"
    assert not providers.complaints(fault, done.stdout), done.stdout


@pytest.mark.parametrize(
    "name, fault",
    [(name, fault) for name, fault in CHOSEN if fault.not_caught],
    ids=lambda value: getattr(value, "id", value),
)
def test_a_fault_that_no_cell_shows_compiles(name, fault, gates, tmp_path):
    gates(name).provider.make(fault, tmp_path)
