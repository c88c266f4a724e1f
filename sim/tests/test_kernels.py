# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""--kernel 6.1 and latest: the same programs run on both, and 6.1 refuses newer calls as Linux 6.1 does."""
import pytest

from conftest import RDMA_CORE_BUILD, Machine, free_port
from test_rdma_core import NEWER_BUILD, OUTCOMES, SUITES, Suite

KERNELS = ["6.1", "latest"]
SAME = ["test_device", "test_cq", "test_pd"]  # of rdma-core 56.1, which uses nothing newer
newer = pytest.mark.skipif(not (NEWER_BUILD / "bin").exists(), reason="ci/setup did not get rdma-core 65.0")

RESOLVE_ADDRINFO = "test_rdmacm.CMTestCase.test_rdmacm_async_resolve_addrinfo"
# Tests of rdma-core 65.0 that need more than 6.1. rdma_resolve_addrinfo() works only by writing an event, so
# its test ends with an error.
YOUNGER = {
    "test_device.DeviceTest.test_query_port_speed": "skipped",
    "test_dmah.DMAHandleTest.test_dmah_with_mrex": "skipped",
    "test_dmah.DMAHandleTest.test_dmah_persistent_memory": "skipped",
    "test_dmah.DMAHandleTest.test_dmah_mrex_odp_bad_flow": "skipped",
    RESOLVE_ADDRINFO: "ERROR",
}


def machine(kernel, hcas=1):
    return Machine(hcas=hcas, options=["--kernel", kernel])


@pytest.mark.parametrize("kernel", KERNELS)
def test_devinfo(kernel, devinfo):
    result = machine(kernel).run(RDMA_CORE_BUILD / "bin/ibv_devinfo", "-v")
    assert result.status == 0 and result.output == devinfo


@pytest.mark.parametrize("kernel", KERNELS)
def test_pingpong(kernel, gid_index):
    common = [
        RDMA_CORE_BUILD / "bin/ibv_rc_pingpong",
        "-N",
        "-c",
        "-p",
        free_port(),
        "-g",
        gid_index,
        "-n",
        100,
    ]
    ends = machine(kernel, 2).run_pair([*common, "-d", "hcasim0"], [*common, "-d", "hcasim1", "localhost"])
    assert "100 iters in" in ends.server and "100 iters in" in ends.client


@pytest.mark.parametrize("kernel", KERNELS)
def test_rping(kernel):
    rping = RDMA_CORE_BUILD / "bin/rping"
    machine(kernel, 2).run_pair(
        [rping, "-C", 10, "-s", "-a", "10.77.0.1"],
        [rping, "-C", 10, "-c", "-a", "10.77.0.1", "-I", "10.77.0.2"],
    )


@pytest.mark.parametrize("module", SAME)
def test_rdma_core_56(module):
    """On 6.1 its tests have the results that the committed list has for the latest kernel."""
    suite = Suite(RDMA_CORE_BUILD, "hcasim0", ["--kernel", "6.1"])
    results, output = suite.run_module(module)
    got = {name.removeprefix(f"tests.{module}."): result.split(" ")[0] for name, result in results.items()}
    for (of, test), (expected, _) in SUITES["56"].expected.items():
        if of == module:
            assert got[test] in OUTCOMES[expected], f"{test}: {got[test]}\n{output}"


@newer
def test_rdma_core_65():
    suite = Suite(NEWER_BUILD, "hcasim0", ["--kernel", "6.1"])
    results = {}
    for part in ["test_device", "test_dmah", RESOLVE_ADDRINFO]:
        results.update(suite.run_module(part)[0])
    results = {name.removeprefix("tests."): result.split(" ")[0] for name, result in results.items()}
    assert {name: results.pop(name) for name in YOUNGER} == YOUNGER
    assert not {"FAIL", "ERROR"} & set(results.values()), results
