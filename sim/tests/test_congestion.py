# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Two adapters write to a third one (hcasim-incast), in simulated time: DCQCN, and priority pause."""
import json
import re
import subprocess
from collections import defaultdict
from types import SimpleNamespace

import pytest

from conftest import BUILD, Machine

COUNTERS = ["np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled"]
CNP = "infiniband.bth.opcode == 0x81"


def run(folder, *figures, engine="c"):
    sets = [word for figure in figures for word in ("--set", figure)]
    options = ["--profile", "connectx3", "--trace", str(folder), "--engine", engine, *sets]
    machine = Machine(hcas=3, options=options)
    paths = [f"/sys/class/infiniband/hcasim{n}/ports/1/hw_counters/{c}" for n in range(3) for c in COUNTERS]
    result = machine.run("sh", "-c", f"{BUILD}/bin/hcasim-incast && grep -H . {' '.join(paths)}")
    assert result.status == 0, result.output
    counters = defaultdict(dict)
    for hca, name, value in re.findall(r"(hcasim\d)/ports/1/hw_counters/(\w+):(\d+)", result.output):
        counters[hca][name] = int(value)
    log = [json.loads(line) for line in (folder / "events.log").read_text().splitlines()]
    sent = {e["frame"]: e for e in log if e["event"] == "sent"}
    data = [e for e in sent.values() if e.get("opcode", "").startswith("RC_RDMA_WRITE")]
    arrived = {e["frame"]: e["ps"] for e in log if e["event"] == "arrived"}
    paused = [e for e in log if e["event"] == "stall" and e["cause"] == "pause"]
    return SimpleNamespace(
        folder=folder, counters=counters, sent=sent, data=data, arrived=arrived, paused=paused
    )


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    return run(tmp_path_factory.mktemp("without"))


@pytest.fixture(scope="module")
def dcqcn(tmp_path_factory):
    return run(tmp_path_factory.mktemp("dcqcn"), "dcqcn.enable=1")


def both(traffic):
    """The second half of the time in which both send: the data frames of each sender."""
    times = {n: [e["ps"] for e in traffic.data if e["hca"] == f"hcasim{n}"] for n in range(2)}
    start, end = times[1][0], min(times[0][-1], times[1][-1])
    start = (start + end) // 2
    return [
        [e for e in traffic.data if e["hca"] == f"hcasim{n}" and start <= e["ps"] < end] for n in range(2)
    ]


def queueing(traffic, frames):
    """Picoseconds from the last bit sent to the frame's arrival, of the worst frame."""
    return max(traffic.arrived[e["frame"]] - e["end"] for e in frames)


def test_counters_are_those_of_the_wire(dcqcn):
    cnps = [e for e in dcqcn.sent.values() if e.get("opcode") == "CNP"]
    receiver = dcqcn.counters["hcasim2"]
    assert len(cnps) > 4 and {e["hca"] for e in cnps} == {"hcasim2"}
    assert receiver["np_cnp_sent"] == len(cnps) <= receiver["np_ecn_marked_roce_packets"] < len(dcqcn.data)
    handled = [dcqcn.counters[f"hcasim{n}"]["rp_cnp_handled"] for n in range(2)]
    assert sum(handled) == len(cnps) and min(handled) > 0 and receiver["rp_cnp_handled"] == 0


def test_wireshark_reads_notifications(dcqcn):
    command = ["tshark", "-r", dcqcn.folder / "wire.pcap", "-Y", CNP, "-T", "fields", "-e", "ip.dsfield"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert printed == ["0xc2"] * dcqcn.counters["hcasim2"]["np_cnp_sent"]


def test_without_it_nothing_is_marked(without):
    assert not any(value for counters in without.counters.values() for value in counters.values())
    assert not any(e.get("opcode") == "CNP" for e in without.sent.values())


def test_rates_and_queue(without, dcqcn):
    """Each sender has about its share of the receiver's link, and the queue does not fill."""
    shares = [sum(e["len"] for e in frames) for frames in both(dcqcn)]
    assert min(shares) / max(shares) > 0.7, shares
    queues = [queueing(traffic, sum(both(traffic), [])) for traffic in (without, dcqcn)]
    assert queues[1] < queues[0] / 10, queues


@pytest.mark.parametrize("engine", ["c", pytest.param("rtl", marks=pytest.mark.night)])
def test_a_slow_receiver_pauses_its_priority(tmp_path, engine):
    """Queue pairs of either engine stop while theirs is paused, and nothing is lost: hcasim-incast has all it waits for."""
    traffic = run(tmp_path, "wire.pfc=1", "fifo.rx=4", "engine.stages.rx.fixed=4000", engine=engine)
    assert {e["hca"] for e in traffic.paused} == {"hcasim0", "hcasim1"}
    assert len({e["psn"] for e in traffic.data}) == len(traffic.data) / 2


@pytest.mark.night
def test_notifications_slow_down_the_rtl_engine(tmp_path, without):
    """Its requests are paced by the rate of their queue pair, too."""
    traffic = run(tmp_path, "dcqcn.enable=1", engine="rtl")
    handled = [traffic.counters[f"hcasim{n}"]["rp_cnp_handled"] for n in range(2)]
    assert min(handled) > 0 and sum(handled) == traffic.counters["hcasim2"]["np_cnp_sent"]
    queues = [queueing(t, sum(both(t), [])) for t in (without, traffic)]
    assert queues[1] < queues[0] / 10, queues
