# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Many completion channels, and running out of descriptors."""
import json
import resource

import pytest

from conftest import BUILD, Machine

CHANNELS = BUILD / "bin/hcasim-channels"


def limit(soft, hard):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.once
def test_ten_thousand_channels():
    """Each event arrives at its own channel; bench/growth uses the times."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < 10200:
        pytest.skip(f"this process may open {hard} files only: ulimit -Hn")
    result = Machine(hcas=2).run(CHANNELS, 10000)
    assert result.status == 0, result.output
    assert json.loads(result.output)["channels"] == 10000


def test_no_descriptors_left():
    """EMFILE if the program has none left; ENFILE and a message if the device process has none left."""
    result = Machine().run(CHANNELS, "limits", preexec_fn=limit(300, 400))
    assert result.status == 0, result.output
    assert result.output.count("hcasim: the device process has no descriptors left for one more program") == 1
