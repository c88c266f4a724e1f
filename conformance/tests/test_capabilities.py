# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Capabilities: what a cell needs, what a DUT file declares, what a device reports, and contradictions."""
import json

import jsonschema
import pytest

from hcasim_conform.model import capabilities
from hcasim_conform import cli
from hcasim_conform.run import drive
from hcasim_conform.run import dut
from hcasim_conform.report import results

PICK = "wr/send/rc/sge/-/signaled or wr/flush/rc/none/-/signaled"


@pytest.fixture
def declare(write_dut):
    """A DUT with these capabilities in its file."""

    def load(**declared):
        return dut.load(str(write_dut(capabilities=declared)))

    return load


def lacks(device, by_id, cell_id):
    return device.lacks(by_id[cell_id])


ENDS = {
    "requester": {"device": "a", "port": 1, "gid_index": 0, "address": "192.0.2.1"},
    "responder": {"device": "b", "port": 1, "gid_index": 0, "address": "192.0.2.2"},
}


def test_a_device_that_has_everything_runs_every_cell(write_dut, cells):
    faults, narrow = {"start": ["run", "--fault", "{faults}"]}, {"start": ["run", "--set", "fifo.tx=1"]}
    device = dut.load(
        str(
            write_dut(
                capabilities={"misuse": True, "completion_counters": True},
                faults=faults,
                narrow=narrow,
                **ENDS,
            )
        )
    )
    assert all(device.supports(c) for c in cells)


def test_a_wire_with_faults(write_dut, by_id):
    """Cells that need one are skipped if the DUT has no command for it; the command contains its faults."""
    lossy, plain = by_id["suite/lossy/rc/loss"], by_id["suite/psn/rc/wrap-send"]
    device = dut.load(str(write_dut()))
    assert device.lacks(lossy) == "wire: the DUT file has no way to a wire with faults"
    assert device.supports(plain)
    device = dut.load(str(write_dut(start=["run"], faults={"start": ["run", "--fault", "{faults}"]})))
    assert device.supports(lossy)
    assert device.start_for(lossy.wire) == ["run", "--fault", "loss=0.05"]
    assert device.start_for("") == ["run"]
    groups = list(drive.groups([lossy, plain, by_id["suite/lossy/rc/doubled"]]))
    assert [{cell.wire for cell in group} for group in groups] == [{"loss=0.05"}, {""}, {"dup=1"}]


def test_a_narrow_device(write_dut, by_id):
    """Cells that need one are skipped if the DUT has no command for it; it is not that for a wire with faults."""
    narrow = by_id["suite/narrow/rc/cq-doorbells"]
    device = dut.load(str(write_dut(start=["run"], faults={"start": ["run", "--fault", "{faults}"]})))
    assert device.lacks(narrow) == "narrow: the DUT file has no way to a device with short queues inside"
    device = dut.load(str(write_dut(start=["run"], narrow={"start": ["run", "--set", "fifo.tx=1"]})))
    assert device.supports(narrow)
    assert device.start_for(narrow.wire) == ["run", "--set", "fifo.tx=1"]
    assert device.lacks(by_id["suite/lossy/rc/loss"]) == "wire: the DUT file has no way to a wire with faults"
    groups = list(drive.groups([narrow, by_id["suite/cq/rc/doorbells"]]))
    assert [[cell.id for cell in group] for group in groups] == [[narrow.id], ["suite/cq/rc/doorbells"]]


def test_what_the_pages_do_not_ask_for_must_be_declared(write_dut, cells):
    device = dut.load(str(write_dut(capabilities={}, **ENDS)))
    assert {c.short for c in cells if not device.supports(c)} == {"misuse", "counters", "lossy", "narrow"}


@pytest.mark.parametrize(
    "declared, cell_id, missing",
    [
        ({"operations": {"RC": ["SEND"]}}, "wr/rdma_write/rc/sge/-/signaled", "operations/RC/RDMA_WRITE"),
        ({"operations": {"RC": ["SEND"]}}, "post/rdma_read/rc/inline/-/signaled", "operations/RC/RDMA_READ"),
        ({"operations": {"RC": ["SEND"]}}, "suite/keys/rc/flush-no-right", "operations/RC/FLUSH"),
        ({"operations": {"RC": "all"}}, "wr/send/ud/sge/ud_addr/signaled", "operations/UD"),
        ({"operations": {"RC": "all"}}, "srq/post_srq_recv/xrc_recv/sge/-/-", "operations/XRC_SEND"),
        ({"operations": {"RC": "all"}}, "wr/send/raw_packet/sge/-/signaled", "operations/RAW_PACKET"),
        ({"operations": {"UD": ["SEND"]}}, "wr/send_tso/ud/sge/ud_addr/signaled", "operations/UD/TSO"),
        ({"memory_windows": [1]}, "wr/bind_mw/rc/none/-/signaled", "memory_windows/2"),
        ({"memory_windows": []}, "wr/send_inv/rc/sge/-/signaled", "memory_windows/2"),
        ({"flags": ["SIGNALED"]}, "wr/send_tso/ud/sge/ud_addr/ip_csum+signaled", "flags/IP_CSUM"),
        ({"srq": False}, "srq/post_srq_recv/rc/sge/-/-", "srq"),
        ({"device_memory": False}, "suite/device_memory/rc/send-local", "device_memory"),
        ({"tag_matching": False}, "suite/tags/rc/match", "tag_matching"),
        ({"work_queues": False}, "suite/wq/raw_packet/states", "work_queues"),
        ({"imports": False}, "suite/objects/rc/imports", "imports"),
        ({"on_demand": {}}, "suite/paging/rc/send-local", "on_demand/RC/SEND"),
        ({"on_demand": {"RC": ["SEND"]}}, "suite/paging/rc/send-remote", "on_demand/RC/RECV"),
        (
            {"on_demand": {"XRC_SEND": ["RECV"]}},
            "suite/paging/xrc_send/send-remote",
            "on_demand/XRC_SEND/SRQ_RECV",
        ),
    ],
)
def test_a_cell_that_needs_a_denied_capability(declare, by_id, declared, cell_id, missing):
    assert lacks(declare(**declared), by_id, cell_id) == f"the device has no {missing}"


@pytest.mark.parametrize(
    "declared, cell_id",
    [
        ({"operations": {"RC": ["SEND"]}}, "wr/send/rc/sge/-/signaled"),
        # what every device must refuse is also run on one without the capability
        ({"operations": {"RC": ["SEND"], "UC": ["SEND"]}}, "wr/rdma_read/uc/sge/-/signaled"),
        ({"operations": {"UC": ["SEND"]}}, "post/rdma_read/uc/sge/-/signaled"),
        ({"memory_windows": []}, "wr/bind_mw/ud/none/ud_addr/signaled"),
    ],
)
def test_a_cell_that_needs_nothing_of_it(declare, by_id, declared, cell_id):
    assert lacks(declare(**declared), by_id, cell_id) is None


def test_limits(declare, by_id):
    device = declare(limits={"max_sge": 2, "max_inline_data": 64})
    assert "max_sge of 3, the device has 2" in lacks(device, by_id, "wr/send/rc/sge_list-3/-/signaled")
    assert "max_inline_data of 112" in lacks(device, by_id, "wr/send/rc/inline/-/signaled")
    granted = by_id["wr/send/rc/inline-max/-/signaled"]  # its length is the granted one
    assert device.supports(granted)
    assert (device.line(granted)["ask_sge"], device.line(granted)["ask_inline"]) == (2, 64)
    assert granted.line()["ask_inline"] == 128


def test_a_cell_names_what_else_it_needs(declare, by_id):
    class Cell:
        api, qpt, wrs, needs = "suite", "RC", (), ("operations/RC/RDMA_READ", "srq")

    assert declare(srq=False).lacks(Cell) == "the device has no srq"
    assert declare(operations={"RC": ["SEND"]}).lacks(Cell) == "the device has no operations/RC/RDMA_READ"


def found(declared, reported):
    own = capabilities.Capabilities(declared) if declared is not None else None
    return {(f.kind, f.capability) for f in capabilities.findings(own, reported)}


def test_no_finding_where_all_agree(report_of):
    assert found({"limits": {"max_sge": 30, "max_inline_data": 128}}, report_of()) == set()
    assert found(None, report_of()) == set()


def operations(report, qpt, without=(), also=()):
    ops = report["requester"]["operations"]
    return {**ops, qpt: [op for op in ops[qpt] if op not in without] + list(also)}


@pytest.mark.parametrize(
    "declared, without, finding",
    [
        ({"operations": {"RC": "all"}}, None, ("denied", "operations/UC")),
        ({"srq": False}, None, ("denied", "srq")),
        ({"device_memory": False}, None, ("denied", "device_memory")),
        ({"memory_windows": [2]}, None, ("denied", "memory_windows/1")),
        ({"flags": ["SIGNALED"]}, None, ("denied", "flags/IP_CSUM")),
        ({"on_demand": {}}, None, ("denied", "on_demand/RC")),
        ({"on_demand": {"UD": ["SEND"]}}, None, ("denied", "on_demand/UD/RECV")),
        ({"limits": {"max_sge": 29}}, None, ("denied", "limits/max_sge")),
        ({"limits": {"max_sge": 31}}, None, ("absent", "limits/max_sge")),
        ({}, "SRQ", ("absent", "srq")),
        ({}, "DEVICE_MEMORY", ("absent", "device_memory")),
        ({}, "TAG_MATCHING", ("absent", "tag_matching")),
        ({}, "WORK_QUEUES", ("absent", "work_queues")),
        ({}, "IMPORT", ("absent", "imports")),
        ({}, "UD_IP_CSUM", ("absent", "flags/IP_CSUM")),
        ({}, "MEM_WINDOW_TYPE_1", ("absent", "memory_windows/1")),
        ({}, "FLUSH", ("contradiction", "attributes/FLUSH")),
    ],
)
def test_findings(report_of, declared, without, finding):
    report = report_of()
    kept = [a for a in report["requester"]["attributes"] if a != without]
    assert finding in found(declared, report_of(attributes=kept))


def test_an_operation_on_one_qp_type(report_of):
    report = report_of()
    fewer = report_of(operations=operations(report, "UC", without=["BIND_MW"]))
    assert found({}, fewer) == {("absent", "operations/UC/BIND_MW")}
    rc = capabilities.Capabilities({"operations": {"RC": ["SEND"]}}).operations["RC"]
    assert rc == ("SEND",)


def test_both_ends_count(report_of):
    report = report_of()
    less = report_of(operations={**operations(report, "RC", without=["SEND"]), "UC": []})["responder"]
    del less["operations"]["UD"]
    less["attributes"] = [a for a in less["attributes"] if a != "SRQ"]
    absent = {"srq", "operations/RC/SEND", "operations/UD"}
    absent |= {f"operations/UC/{op}" for op in report["requester"]["operations"]["UC"]}
    for ends in ({**report, "responder": less}, {**report, "requester": less}):
        assert found({}, ends) == {("absent", capability) for capability in absent}


def test_a_device_without_a_declaration_is_what_it_reports(write_dut, report_of, by_id):
    device = dut.load(str(write_dut()))
    flush = by_id["wr/flush/rc/none/-/signaled"]
    assert device.supports(flush)
    report = report_of()
    less = report_of(
        operations={
            t: [o for o in ops if o != "FLUSH"] for t, ops in report["requester"]["operations"].items()
        },
        attributes=[a for a in report["requester"]["attributes"] if a != "FLUSH"],
    )
    assert device.learn(less) == []
    assert device.lacks(flush) == "the device has no operations/RC/FLUSH"
    assert device.findings == []


# -- a run


@pytest.fixture
def conform(fake_bin, write_dut, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)

    def run(report=None, **doc):
        if report:
            monkeypatch.setenv("FAKE_REPORT", json.dumps(report))
        path, out = write_dut(**doc), tmp_path / "out"
        status = cli.main(None, ["--dut", str(path), "--bin", str(fake_bin), "--out", str(out), "-k", PICK])
        return status, results.load(out)

    return run


def test_skipped_cells_are_counted_with_their_reason(conform, report_of):
    attributes = ["SRQ", "DEVICE_MEMORY", "TAG_MATCHING", "WORK_QUEUES", "IMPORT", "MEM_WINDOW_TYPE_1"]
    report = report_of(operations={"RC": ["SEND"]}, attributes=attributes)
    declared = {"operations": {"RC": ["SEND"]}, "memory_windows": [1], "flags": ["SIGNALED"]}
    status, data = conform(report, capabilities=declared)
    assert status == 1  # has windows but no operation that binds one
    assert [f["kind"] for f in data["findings"]] == ["contradiction"]
    outcome = {row["id"]: (row["outcome"], row["reason"]) for row in data["cells"]}
    why = "the device has no operations/RC/FLUSH"
    assert outcome["wr/send/rc/sge/-/signaled"] == ("pass", None)
    assert outcome["wr/flush/rc/none/-/signaled"] == ("skipped", why)
    skipped = [i for i, (o, _) in outcome.items() if o == "skipped"]
    assert all(i.startswith("wr/flush/") for i in skipped)
    assert data["summary"]["skipped"] == len(skipped)
    assert data["counts"]["left_out"][why] == len(skipped)


def test_a_finding_fails_the_run_and_is_in_the_record(conform, capsys):
    status, data = conform(capabilities={"srq": False})
    assert status == 1
    assert [(f["kind"], f["capability"], f["reason"]) for f in data["findings"]] == [("denied", "srq", None)]
    assert "finding" in capsys.readouterr().out
    schema = json.loads(results.SCHEMA.read_text(encoding="utf-8"))
    jsonschema.validate(results.pack(data), schema)


def test_a_known_finding_does_not_fail_the_run(conform):
    known = [{"capability": "srq", "reason": "found to lose receives"}]
    status, data = conform(capabilities={"srq": False}, findings=known)
    assert status == 0
    assert data["findings"][0]["reason"] == "found to lose receives"


def test_a_difference_of_another_kernel_is_none_here(conform):
    row = {"clause": "*", "cells": ["wr/send/rc/sge/-/signaled"], "reason": "found to fail there"}
    assert conform(differences=[{**row, "kernel": "0.0-*"}])[0] == 0
    status, data = conform(differences=[{**row, "kernel": "6.1*"}])
    assert status == 1 and data["summary"]["unexpected"] == 1


def test_a_finding_that_is_gone_fails_the_run(conform):
    status, data = conform(findings=[{"capability": "srq", "reason": "found to lose receives"}])
    assert status == 1
    assert data["faults"] == ["DUT file: stale key: finding 'srq' is not found any more"]


@pytest.mark.parametrize(
    "change, words",
    [
        ({"capabilities": {"operations": {"RD": "all"}}}, "capabilities/operations.*RD"),
        ({"capabilities": {"operations": {"RC": ["TELEPORT"]}}}, "capabilities/operations/RC"),
        ({"capabilities": {"memory_windows": [3]}}, "capabilities/memory_windows/0"),
        ({"capabilities": {"limits": {"max_sge": 0}}}, "capabilities/limits/max_sge"),
        ({"capabilities": {"wings": 2}}, "capabilities.*wings"),
        ({"findings": [{"capability": "srq"}]}, "findings/0.*reason"),
        ({"service": []}, "service"),
    ],
)
def test_a_bad_field_is_named_with_its_file(write_dut, change, words):
    with pytest.raises(dut.DutError, match=f"fake.yaml: {words}"):
        dut.load(str(write_dut(**change)))


# -- device:NAME, --peer


def test_a_device_of_this_machine():
    device = dut.load("device:mlx5_0/2/3", "mlx5_1")
    assert device.runner_line["dut"]["requester"] == {"device": "mlx5_0", "port": 2, "gid_index": 3}
    assert device.runner_line["dut"]["responder"] == {"device": "mlx5_1", "port": 1, "gid_index": 0}
    assert (device.start, device.declared, device.name) == ([], None, "device-mlx5-0")
    alone = dut.load("device:rxe0").runner_line["dut"]
    assert alone["requester"] == alone["responder"]


def test_rdma_cm_needs_addresses(write_dut, by_id, report_of):
    cell = by_id["writev/rdma_post_writev/rc/sge/-/signaled"]
    assert dut.load(str(write_dut(**ENDS, capabilities={}))).supports(cell)
    without = dut.load(str(write_dut(**ENDS, capabilities={"rdma_cm": False})))
    assert without.lacks(cell) == "the device has no rdma_cm"
    device = dut.load("device:a")
    device.learn(report_of(gid="fe80::1"))
    assert "no address" in device.lacks(cell)
    device.learn(report_of())
    assert device.supports(cell)
    assert device.line(cell)["id"] == cell.id
    assert device.runner_line["dut"]["requester"]["address"] == "192.0.2.1"


def test_a_peer_in_place_of_the_files(write_dut):
    device = dut.load(str(write_dut()), "c/1/7")
    assert device.runner_line["dut"]["responder"] == {"device": "c", "port": 1, "gid_index": 7}


@pytest.mark.parametrize("name", ["device:", "device:a/b", "device:a/1/2/3", "device:a/0"])
def test_a_bad_device_name(name):
    with pytest.raises(dut.DutError, match="device"):
        dut.load(name)


# -- the service of a DUT


SERVICE = """#!/bin/sh
echo '{answer}'
cat >/dev/null
echo gone >"{mark}"
"""


@pytest.fixture
def service(tmp_path):
    def write(answer):
        path, mark = tmp_path / "service", tmp_path / "mark"
        path.write_text(SERVICE.format(answer=answer, mark=mark), encoding="utf-8")
        path.chmod(0o755)
        return {"service": ["./service"]}, mark

    return write


def test_a_service_lives_as_long_as_the_run(conform, service):
    doc, mark = service('{"ready": true}')
    status, _ = conform(**doc)
    assert (status, mark.exists()) == (0, True)


@pytest.mark.parametrize(
    "answer, words", [('{"error": "no qemu here"}', "no qemu here"), ("what?", "said 'what?'")]
)
def test_a_service_that_does_not_start(
    conform, service, capsys, answer, words, fake_bin, write_dut, tmp_path
):
    doc, _ = service(answer)
    path = write_dut(**doc)
    assert (
        cli.main(None, ["--dut", str(path), "--bin", str(fake_bin), "--out", str(tmp_path / "o"), "-k", PICK])
        == 2
    )
    assert words in capsys.readouterr().err


def test_a_service_that_is_not_there(fake_bin, write_dut, tmp_path, capsys):
    path = write_dut(service=["no-such-service"])
    assert (
        cli.main(None, ["--dut", str(path), "--bin", str(fake_bin), "--out", str(tmp_path / "o"), "-k", PICK])
        == 2
    )
    assert "no-such-service: No such file" in capsys.readouterr().err
