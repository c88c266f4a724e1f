# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Debian 12's own libibverbs 44 and its programs with our provider: the same plugin ABI."""
import re

import pytest

import conftest
from conftest import Machine
from test_apps import FABRIC_SIZES, fi_pingpong, ucx_perftest
from test_pingpong import pingpong


def test_devinfo():
    machine = Machine(system=True)
    result = machine.run(machine.bin / "ibv_devinfo", "-v")
    assert result.status == 0, result.output
    assert re.search(r"hca_id:\s+hcasim0", result.output)


def test_the_library_is_debians():
    machine = Machine(system=True)
    result = machine.run("/bin/sh", "-c", f"LD_DEBUG=libs {machine.bin}/ibv_devices")
    loaded = re.findall(r"calling init: (\S*libibverbs\.so\S*)", result.output)
    assert loaded and all("rdma-core" not in path for path in loaded), result.output


@pytest.mark.cover(1)
@pytest.mark.parametrize("flags", [[], ["-e"]], ids=["poll", "events"])
@pytest.mark.parametrize("hcas", [2, 1])
@pytest.mark.parametrize("transport", ["rc", "uc", "ud"])
def test_pingpong(transport, hcas, flags, gid_index):
    pingpong(Machine(hcas=hcas, system=True), transport, gid_index, 1024, "-c", *flags)


def test_new_post_api(gid_index):
    """ibv_wr_*: comp_mask of struct verbs_qp has the offset of libibverbs 44."""
    pingpong(Machine(hcas=2, system=True), "rc", gid_index, 4096, "-c", "-N")
    pingpong(Machine(hcas=2, system=True), "rc", gid_index, 4096, "-c", "-t")


@pytest.fixture
def system_verbs(monkeypatch):
    monkeypatch.setattr(conftest, "SYSTEM_VERBS", True)


def test_ucx(system_verbs):
    """The nightly run does this with all of test_apps.py."""
    assert min(ucx_perftest("native", "tag_bw", 1000, 200, "ib")) > 100


def test_libfabric(system_verbs):
    assert max(fi_pingpong("native", "verbs", "msg", FABRIC_SIZES)) > 2 * 50 * (1 << 20) / 4096
