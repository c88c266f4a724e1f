# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Many objects in one process are created, and destroyed or left at exit, up to every reported limit.

Testing all limits takes minutes: `ctest -C soak -L soak` sets HCASIM_GROWTH=all. Otherwise only the
smallest limit is tested.
"""
import os

import pytest

from conftest import BUILD, Machine, last_json

GROWTH = BUILD / "bin/hcasim-growth"
LIMITED = ["pd", "mr", "mw", "ah", "cq", "srq", "qp", "mcast", "member", "wq", "table"]
KINDS = [*LIMITED, "channel", "flow", "id", "conn"]
ALL = os.environ.get("HCASIM_GROWTH") == "all"
FEW = 1500  # more than the freed numbers that are not reused yet, so numbers are reused


def grow(kind, count, how):
    result = Machine().run(GROWTH, kind, count, how)
    assert result.status == 0, result.output
    return last_json(result.output)


@pytest.mark.once
@pytest.mark.parametrize("kind", KINDS)
def test_many_are_destroyed(kind):
    assert grow(kind, FEW, "destroy")["count"] == FEW


@pytest.mark.night
@pytest.mark.parametrize("kind", KINDS)
def test_many_are_left_behind(kind):
    assert grow(kind, FEW, "exit")["count"] == FEW


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", LIMITED if ALL else LIMITED[:1])
def test_every_limit(kind):
    """Creates as many as ibv_query_device(3) reports; one more fails with ENOMEM."""
    grow(kind, "max", "exit")
