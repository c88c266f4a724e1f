# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim-observe on a real Linux 6.1 with rdma_rxe (QEMU), and on each family of a simulated 6.1: the same lines."""
import sys

import pytest

from conftest import BUILD, TOP, Machine

sys.path.insert(0, str(TOP / "conformance/softroce"))
import image  # noqa: E402
import machine as linux  # noqa: E402

PROGRAM = BUILD / "bin/hcasim-observe"
SUBJECTS = ("memory", "memlock", "queues")
BACKPORT = "Debian's 6.1.192 has a change of 6.15; --kernel 6.1 is the first 6.1"
RXE_LIMIT = (
    "a property of rdma_rxe, which takes the limit of a new SRQ; mlx5_ib and the native driver ignore it"
)
# Why an observation is another one here, on all families or on some.
OTHER = {
    "ibv_modify_qp of an unknown handle": {"all": BACKPORT},
    "ibv_query_qp of an unknown handle": {"all": BACKPORT},
    "ibv_reg_mr with an unknown PD": {"all": BACKPORT},
    "its limit": {"native": RXE_LIMIT, "mlx5": RXE_LIMIT},
    "a queue of 4096 entries": {"mlx5": "its queues are memory of the program, which counts"},
}


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    folder = tmp_path_factory.mktemp("linux")
    kernel = image.Kernel()
    image.build(folder / "initramfs", PROGRAM, kernel)
    machine = linux.Machine(folder, kernel, folder / "initramfs", 0)
    machine.boot()
    yield machine
    machine.kill()


def observations(text):
    return dict(line.rsplit(": ", 1) for line in text.splitlines() if ": " in line)


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("family", ["native", "mlx5", "rxe"])
def test_the_same_as_on_linux(real, subject, family):
    text, status = real.execute(subject)
    assert status == 0, text
    here = Machine(options=["--device", family, "--kernel", "6.1"], memlock=True).run(PROGRAM, subject)
    assert here.status == 0, here.output
    want, got = observations(text), observations(here.output)
    assert want and want.keys() <= got.keys()  # Linux 6.1 has secret memory only where it is switched on
    different = {what for what in want if want[what] != got[what]}
    expected = {what for what in want if OTHER.get(what, {}).keys() & {"all", family}}
    assert different == expected, {what: (want[what], got[what]) for what in different ^ expected}
