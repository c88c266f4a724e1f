# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Many connections and large windows through the real provider: what the caches of a profile cost, as `hcasim stat` says."""
import json
import subprocess

import pytest

from conftest import BUILD, Machine

ENTRIES, MISS = 16, 1000  # ns
ROUNDS = 4


def run(folder, qps, pages, figures, batch=1):
    """The figures of `hcasim stat` after WRITEs over so many connections and pages, in turn."""
    sets = [word for figure in figures for word in ("--set", figure)]
    options = ["--profile", "connectx3", "--trace", str(folder), *sets]
    program = [BUILD / "bin/hcasim-working-set", qps, pages, ROUNDS, batch]
    result = Machine(hcas=2, options=options).run(*program)
    assert result.status == 0, result.output
    stat = subprocess.run(
        [BUILD / "bin/hcasim", "stat", "--json", folder], capture_output=True, text=True, check=True
    )
    return json.loads(stat.stdout)


def latency(stat):
    """Median in nanoseconds, from store to CQE."""
    return stat["operations"]["RDMA_WRITE"]["p50_ps"] / 1000


def cache(name, **figures):
    return [f"{name}.entries={ENTRIES}", f"{name}.ways={ENTRIES}"] + [
        f"{name}.{key}={value}" for key, value in figures.items()
    ]


def counts(stat, name):
    """Hits and misses at both ends."""
    none = {"hits": 0, "misses": 0}
    found = [adapter["caches"].get(name, none) for adapter in stat["adapters"].values()]
    return [(entry["hits"], entry["misses"]) for entry in found]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return run(tmp_path_factory.mktemp("alone"), 1, 1, [])


def test_connections(tmp_path, alone):
    """As many connections as entries cost nothing after the first round; one more, and each WRITE misses at both ends."""
    figures = cache("qp_cache", miss=MISS)
    fits = run(tmp_path / "fits", ENTRIES, 1, figures)
    more = run(tmp_path / "more", ENTRIES + 1, 1, figures)
    assert latency(fits) == pytest.approx(latency(alone), abs=50)
    assert [misses for _, misses in counts(fits, "qp_cache")] == [ENTRIES] * 2
    assert latency(more) == pytest.approx(latency(alone) + 2 * MISS, abs=50)
    assert [misses for _, misses in counts(more, "qp_cache")] == [ROUNDS * (ENTRIES + 1)] * 2


def test_window(tmp_path, alone):
    """The same for the pages of a window."""
    figures = cache("mtt_cache", miss=MISS)
    fits = run(tmp_path / "fits", 1, ENTRIES, figures)
    more = run(tmp_path / "more", 1, 2 * ENTRIES, figures)
    assert latency(fits) == pytest.approx(latency(alone), abs=50)
    assert latency(more) == pytest.approx(latency(alone) + 2 * MISS, abs=50)
    assert [misses for _, misses in counts(more, "mtt_cache")] == [ROUNDS * 2 * ENTRIES] * 2
    wider = run(tmp_path / "wider", 1, 2 * ENTRIES, [*figures, "mtt_cache.page=16384"])
    assert latency(wider) == pytest.approx(latency(alone), abs=50)


def test_read_of_a_miss(tmp_path, alone):
    """A context is read over PCIe, in requests that tlp.log has."""
    stat = run(tmp_path, 2 * ENTRIES, 1, cache("qp_cache", read=256))
    tlps = [json.loads(line) for line in (tmp_path / "tlp.log").read_text().splitlines()]
    reads = [tlp for tlp in tlps if tlp["type"] == "MRd" and tlp.get("class") == "qpc"]
    assert len(reads) == sum(misses for _, misses in counts(stat, "qp_cache"))
    assert {tlp["len"] for tlp in reads} == {256}
    assert latency(stat) > latency(alone) + 2 * 250  # a DMA read of connectx3 takes about 290 ns


def test_queue_deeper_than_its_cache(tmp_path):
    """Work requests are read again, once more of them are outstanding than the cache has entries."""
    figures = cache("wqe_cache", miss=MISS)
    fits = run(tmp_path / "fits", 1, 4 * ENTRIES, figures, batch=ENTRIES // 2)
    more = run(tmp_path / "more", 1, 4 * ENTRIES, figures, batch=4 * ENTRIES)
    assert counts(fits, "wqe_cache")[0][1] == 0
    assert counts(more, "wqe_cache")[0][1] > ENTRIES
