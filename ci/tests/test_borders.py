# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ci/borders: a forbidden include is found in any place."""
import subprocess
from pathlib import Path

import pytest

BORDERS = Path(__file__).parent.parent / "borders"

TREE = {
    "containers/table.h": "",
    "core/hca.h": '#include "containers/table.h"',
    "core/base/base.h": '#include "core/hca.h"',
    "core/queues/queues.h": '#include "core/base/base.h"',
    "core/responder/responder.c": '#include "core/queues/queues.h"',
    "devices/driver.h": '#include "../core/hca.h"',
    "devices/common/common.h": '#include "devices/driver.h"',
    "devices/mlx5/driver/driver.h": '#include "devices/common/common.h"',
    "devices/mlx5/driver/qp.c": '#include "driver.h"',
    "devices/native/format.h": '#include "core/hca.h"',
    "timing/wire.cpp": '#include "devices/driver.h"\n#include <vector>\n#include "generated.h"',
    "kernel/qp.c": '#include "devices/driver.h"',
    "core/tests/all.c": '#include "kernel/qp.h"',
    "kernel/qp.h": "",
    "core/requester/decode.c": "#include <hcasim_core.h>",
    "devices/native/driver.c": '#include "hcasim_hw.h"',
    "calibrate/load.cpp": "#include <hcasim_hw.h>",
    "core/tests/native.c": '#include "hcasim_hw.h"',
}
HEADERS = {  # generated ones
    "hcasim_core.h": "#include <stdint.h>",
    "hcasim_hw.h": '#include "hcasim_core.h"',
    "hcasim_rules.h": '#include "hcasim_hw.h"',
    "hcasim_ops.h": '#include "hcasim_core.h"\n#include <hcasim_rules.h>',
    "hcasim_mlx5.h": "",
}


def borders(tmp_path, **changed):
    for name, text in {**TREE, **changed}.items():
        path = tmp_path / "sim" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    headers = tmp_path / "include"
    headers.mkdir(exist_ok=True)
    for name, text in HEADERS.items():
        (headers / name).write_text(text + "\n")
    result = subprocess.run([BORDERS, tmp_path, headers], capture_output=True, text=True)
    return result.returncode, result.stdout


def test_a_tree_in_order(tmp_path):
    assert borders(tmp_path) == (0, "")


@pytest.mark.parametrize(
    "source, header, why",
    [
        ("core/base/timer.c", "core/queues/queues.h", "sim/core/base does not stand on sim/core/queues"),
        ("containers/table.c", "core/hca.h", "sim/containers does not stand on sim/core"),
        ("core/hca.c", "devices/driver.h", "sim/core does not stand on sim/devices"),
        ("kernel/cm.c", "core/hca.h", "sim/kernel does not stand on sim/core"),
        ("timing/port.cpp", "core/base/base.h", "base.h is sim/core's own"),
        ("timing/wire.cpp", "devices/native/format.h", "format.h is sim/devices's own"),
        (
            "devices/mlx5/driver/cq.c",
            "devices/native/format.h",
            "the device family mlx5 does not stand on the device family native",
        ),
        (
            "devices/native/driver.c",
            "../mlx5/driver/driver.h",
            "the device family native does not stand on the device family mlx5",
        ),
        (
            "devices/common/eq.c",
            "devices/native/format.h",
            "devices/common does not stand on the device family native",
        ),
        ("timing/wire.cpp", "../kernel/qp.h", "sim/timing does not stand on sim/kernel"),
    ],
)
def test_against_the_order(tmp_path, source, header, why):
    status, output = borders(tmp_path, **{source: f'#include "{header}"'})
    assert (status, output.count("\n")) == (1, 1)
    assert output.startswith(f"sim/{source} includes ") and output.endswith(f": {why}\n")


@pytest.mark.parametrize(
    "source, include, chain, family",
    [
        ("core/requester/wqe.c", "<hcasim_hw.h>", "hcasim_hw.h", "native"),
        ("kernel/mr.c", '"hcasim_hw.h"', "hcasim_hw.h", "native"),
        ("core/requester/wqe.c", "<hcasim_ops.h>", "hcasim_ops.h -> hcasim_rules.h -> hcasim_hw.h", "native"),
        ("devices/mlx5/format.c", '"hcasim_rules.h"', "hcasim_rules.h -> hcasim_hw.h", "native"),
        ("devices/driver.h", "<hcasim_mlx5.h>", "hcasim_mlx5.h", "mlx5"),
        ("calibrate/load.cpp", "<hcasim_mlx5.h>", "hcasim_mlx5.h", "mlx5"),
    ],
)
def test_a_generated_header_of_a_family(tmp_path, source, include, chain, family):
    status, output = borders(tmp_path, **{source: f"#include {include}"})
    assert status == 1
    assert output == f"sim/{source} includes {chain}: the interface of the device family {family}\n"


def test_the_headers_of_this_tree():
    """They are generated from its spec/: core and kernel reach none of a family's."""
    result = subprocess.run([BORDERS], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_an_unknown_room(tmp_path):
    assert borders(tmp_path, **{"core/attic/old.c": ""}) == (
        1,
        "sim/core/attic/old.c: ci/borders does not know this room\n",
    )
