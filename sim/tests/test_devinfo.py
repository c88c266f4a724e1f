# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Programs that only ask: device lists and ibv_devinfo."""
import re

import pytest

from conftest import Machine


@pytest.mark.once
def test_devinfo_verbose_names_the_device(devinfo):
    assert re.search(r"hca_id:\s+hcasim0", devinfo)
    assert re.search(r"transport:\s+InfiniBand", devinfo)
    assert re.search(r"link_layer:\s+Ethernet", devinfo)
    assert re.search(r"state:\s+PORT_ACTIVE", devinfo)


@pytest.mark.parametrize("hcas", [1, 2, 16])
def test_every_adapter_is_listed_once(hcas):
    machine = Machine(hcas=hcas)
    result = machine.run(machine.bin / "ibv_devices")
    assert result.status == 0, result.output
    names = re.findall(r"^\s+(hcasim\d+)\s+([0-9a-f]{16})$", result.output, re.M)
    assert sorted(name for name, _ in names) == sorted(f"hcasim{index}" for index in range(hcas))
    assert len({guid for _, guid in names}) == hcas


def test_adapters_have_addresses_of_their_own():
    machine = Machine(hcas=2)
    result = machine.run(machine.bin / "ibv_devinfo", "-v")
    gids = re.findall(r"GID\[\s*\d+\]:\s+(\S+), RoCE v2", result.output)
    assert gids and len(set(gids)) == len(gids), result.output


def test_exit_status_is_the_programs_own():
    assert Machine().run("/bin/sh", "-c", "exit 7").status == 7


def test_an_unknown_device_is_reported_by_the_program():
    machine = Machine()
    result = machine.run(machine.bin / "ibv_devinfo", "-d", "mlx5_0")
    assert result.status != 0
    assert "mlx5_0" in result.output
