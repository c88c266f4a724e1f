# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hcasim explain on traces that are written here: each status, event and refused call has a rule that names its cause."""
import json
import os
import re
from pathlib import Path

import pytest

from conftest import TOP, hcasim
from hcasim_cli.explain import calls, completions, events
from written_trace import INIT_MASK, RTR_MASK, RTS_MASK, Trace

VERBS_H = Path(os.environ["RDMA_CORE_BUILD"]) / "include/infiniband/verbs.h"


def enum(name, prefix):
    body = re.search(rf"enum {name} {{(.*?)}};", VERBS_H.read_text(), re.S)[1]
    return re.findall(rf"\b{prefix}(\w+)", body)


@pytest.fixture
def trace(tmp_path):
    return Trace(tmp_path)


def only(problems):
    assert len(problems) == 1, problems
    return problems[0]


# ---- The tables are complete ----


def test_every_completion_status_has_a_rule():
    statuses = set(enum("ibv_wc_status", "IBV_WC_")) - {"SUCCESS"}
    assert len(statuses) > 20 and statuses == set(completions.RULES)


def test_every_asynchronous_event_has_a_rule():
    names = set(enum("ibv_event_type", "IBV_EVENT_"))
    assert len(names) > 15 and names == set(events.RULES)


def test_kernel_names_the_same_events():
    source = (TOP / "sim/kernel/log.c").read_text()
    named = re.search(r"event_names\[\] = {(.*?)};", source, re.S)[1]
    assert re.findall(r'"(\w+)"', named) == enum("ibv_event_type", "IBV_EVENT_")


# Calls that only inform, or whose refusal says no more than its errno.
BY_ERRNO = {
    "alloc_pd",
    "alloc_dm",
    "open_xrcd",
    "open_qp",
    "modify_cq",
    "req_notify_cq",
    "create_flow",
    "advise_mr",
}
BY_ERRNO |= {"create_rwq_ind_table"}


def test_every_call_of_the_kernel_has_a_rule():
    source = (TOP / "sim/kernel/log.c").read_text()
    named = set(re.findall(r'(?:CMD|CMD_EX|METH)\([\w, ]+, "(\w+)"', source))
    assert len(named) > 30
    assert named - set(calls.RULES) == BY_ERRNO


def test_text_and_json(trace):
    """The same problems in both forms, with exit status 1."""
    trace.wqe(rkey=0)
    trace.cqe("REM_ACCESS_ERR")
    text, found = (hcasim("explain", *words, trace.write()) for words in ([], ["--json"]))
    assert (text.returncode, found.returncode) == (1, 1)
    problem = only(json.loads(found.stdout)["problems"])
    assert text.stdout.startswith(f"1. {problem['title']}, at ") and problem["cause"] + "." in text.stdout


def test_nothing_went_wrong(trace):
    trace.wqe()
    trace.cqe("OK")
    done = hcasim("explain", trace.write())
    assert done.returncode == 0 and "nothing went wrong" in done.stdout


# ---- Keys ----


def test_range_is_exceeded(trace):
    trace.wqe(length=8192)
    trace.refused("rkey_range", "REM_ACCESS")
    trace.cqe("REM_ACCESS_ERR")
    found = only(trace.explain())
    assert (
        found["cause"]
        == "rkey 0x1301 belongs to an MR of 4096 bytes at 0x10000; the RDMA_WRITE of 8192 bytes at 0x10000 exceeds it by 4096"
    )
    assert found["title"] == "QP 16 of a0: RDMA_WRITE failed with IBV_WC_REM_ACCESS_ERR"
    assert "RDMA_WRITE #0, 8192 bytes, signaled" in found["work_request"]
    assert "a1 answered it with NAK REM_ACCESS (rkey_range)" in found["packet"]


KEYS = {
    "before": ({"addr": 0xFF00}, "at 0xff00 is outside: no memory region has these bytes"),
    "null": ({"rkey": 0}, "rkey 0x0 is 0: no memory region was given"),
    "unknown": ({"rkey": 0x7701}, "belongs to no memory region or window of a1"),
    "changed": ({"rkey": 0x1302}, "the key of the MR of 4096 bytes at 0x10000 is 0x1301"),
    "other_adapter": ({"rkey": 0x1201}, "belongs to an MR of 4096 bytes at 0x10000 of a0"),
    "read_only": ({"rkey": 0x1401}, "without IBV_ACCESS_REMOTE_WRITE; its access flags are LOCAL_WRITE"),
    "other_pd": ({"rkey": 0x1501}, "of protection domain 5; the QP is of protection domain 0"),
    "deregistered": ({"rkey": 0x1601}, "which was deregistered before the access"),
}


@pytest.mark.parametrize("name", KEYS)
def test_remote_key(trace, name):
    trace.region(2, 3, 0x10000, 4096, 1, 0x1401)
    trace.call(2, "alloc_pd", handle=5)
    trace.region(2, 4, 0x10000, 4096, 15, 0x1501, pd=5)
    trace.region(2, 6, 0x10000, 4096, 15, 0x1601)
    trace.call(2, "dereg_mr", mr_handle=6)
    trace.wqe(**KEYS[name][0])
    trace.refused("rkey", "REM_ACCESS")
    trace.cqe("REM_ACCESS_ERR")
    assert KEYS[name][1] in only(trace.explain())["cause"]


def test_local_key(trace):
    trace.wqe("RDMA_READ", lkey=0x1401)
    trace.region(1, 3, 0x10000, 4096, 0, 0x1401)
    trace.cqe("LOC_PROT_ERR", "LKEY_ACCESS")
    assert (
        "lkey 0x1401 belongs to an MR of 4096 bytes at 0x10000 without IBV_ACCESS_LOCAL_WRITE"
        in only(trace.explain())["cause"]
    )


def test_program_ended_too_early(trace):
    trace.wqe()
    trace.cqe("LOC_PROT_ERR", "DMA_FAULT")
    trace.verb(hca="a0", event="released", file=1)
    assert "process 7 ended while the request was under way" in only(trace.explain())["cause"]


# ---- Statuses ----

SEND = {"op": "SEND"}
STATUSES = {
    "LOC_LEN_ERR": (SEND, {}, None, "longer than the longest message"),
    "LOC_QP_OP_ERR": (SEND, {"vendor_err": "RD_ATOMIC_LIMIT"}, None, "need max_rd_atomic"),
    "MW_BIND_ERR": ({"op": "BIND_MW"}, {"vendor_err": "LKEY_ACCESS"}, None, "IBV_ACCESS_MW_BIND"),
    "BAD_RESP_ERR": (SEND, {}, None, "not a conforming responder"),
    "LOC_ACCESS_ERR": (SEND, {"op": "RECV"}, None, "is not mapped any more"),
    "REM_INV_REQ_ERR": (
        {"op": "RDMA_READ"},
        {},
        ("permission", "INV_REQ"),
        "does not permit an RDMA_READ: it needs IBV_ACCESS_REMOTE_READ in qp_access_flags",
    ),
    "REM_OP_ERR": (SEND, {}, ("receive_key", "REM_OP"), "the receive of QP 17 of a1 has an lkey"),
    "RETRY_EXC_ERR": (
        SEND,
        {},
        ("qp_state", None),
        "gave up after 3 retries of at least 4.19 ms each: QP 17 of a1 dropped its packets",
    ),
    "RNR_RETRY_EXC_ERR": (
        SEND,
        {},
        ("no_receive", "RNR"),
        "no receive was posted on QP 17 of a1 within the RNR retries; the sender gave up after 7",
    ),
    "FATAL_ERR": (SEND, {}, None, "the device process has ended"),
    "GENERAL_ERR": (SEND, {}, None, "does not know"),
    "TM_ERR": (SEND, {"op": "TM_DEL"}, None, "not in the tag list any more"),
    "TM_RNDV_INCOMPLETE": (SEND, {"op": "TM_RECV"}, None, "longer than the tagged buffer"),
    "REM_ABORT_ERR": (SEND, {}, None, "no adapter of this simulator"),
    "RESP_TIMEOUT_ERR": (SEND, {}, None, "no adapter of this simulator"),
}


@pytest.mark.parametrize("status", STATUSES)
def test_status(trace, status):
    wqe, cqe, refused, words = STATUSES[status]
    trace.wqe(**wqe)
    if refused:
        trace.refused(*refused)
    trace.cqe(status, **cqe)
    found = only(trace.explain())
    assert words in found["cause"] and found["rule"] == status


REFUSED = {
    "receive_space": "is longer than the receive that QP 17 of a1 had posted",
    "rd_atomic": "than max_dest_rd_atomic of QP 17 of a1 allows, 2; max_rd_atomic here is 4",
    "atomic_alignment": "is not a multiple of 8",
    "length": "that of the sender is 1024 bytes (IBV_QP_PATH_MTU)",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_invalid_request(trace, reason):
    trace.wqe("ATOMIC_FA")
    trace.refused(reason, "INV_REQ")
    trace.cqe("REM_INV_REQ_ERR")
    assert REFUSED[reason] in only(trace.explain())["cause"]


def test_receive_is_too_short(trace):
    trace.wqe("SEND", length=500)
    trace.cqe("LOC_LEN_ERR", "RQ_TOO_SHORT", op="RECV", hca="a1", qpn=17)
    assert "the SEND of 500 bytes from the peer is longer than the receive" in only(trace.explain())["cause"]


def test_no_such_peer(trace):
    trace.modify(1, 16, 2, RTR_MASK, dest_qp_num=99)
    trace.wqe("SEND")
    trace.cqe("RETRY_EXC_ERR")
    assert "no QP 99 (IBV_QP_DEST_QPN) was ever created" in only(trace.explain())["cause"]


def test_numbers_of_packets_differ(trace):
    trace.modify(1, 16, 3, RTS_MASK, sq_psn=5)
    trace.wqe("SEND")
    trace.refused("gap")
    trace.cqe("RETRY_EXC_ERR")
    assert "starts at PSN 5 (IBV_QP_SQ_PSN), but QP 17 of a1 expects 0" in only(trace.explain())["cause"]


def test_flushed_requests_are_consequences(trace):
    trace.wqe("SEND")
    trace.refused("no_receive", "RNR")
    trace.cqe("RNR_RETRY_EXC_ERR")
    for index in (1, 2):
        trace.wqe("SEND", index)
        trace.cqe("WR_FLUSH_ERR", wqe_index=index)
    found = only(trace.explain())
    assert found["consequences"] == ["then 2 requests were flushed on QP 16 of a0 (IBV_WC_WR_FLUSH_ERR)"]


def test_flushed_by_the_program(trace):
    trace.modify(1, 16, 6, 1)
    trace.wqe("SEND")
    trace.cqe("WR_FLUSH_ERR")
    assert "the program moved QP 16 of a0 to ERR" in only(trace.explain())["cause"]


def test_receives_are_flushed_by_a_disconnection(trace):
    trace.modify(1, 16, 6, 1)
    trace.cqe("WR_FLUSH_ERR", op="RECV")
    assert only(trace.explain())["note"]


def test_equal_problems_are_counted(trace):
    for _ in range(3):
        trace.cqe("LOC_PROT_ERR", "BAD_LKEY", op="RECV")
    assert only(trace.explain())["count"] == 3


# ---- Events ----


def test_overflow(trace):
    for index in range(128):
        trace.wqe(index=index)
        trace.cqe("OK", wqe_index=index)
    trace.verb(hca="a0", event="CQ_ERR", cqn=3)
    trace.verb(hca="a0", event="QP_FATAL", qpn=16)
    found = only(trace.explain())
    assert found["cause"].startswith("CQ 3 overflowed: 128 entries, 129 completions.")
    assert found["event"] == "IBV_EVENT_QP_FATAL of QP 16 at a0"


EVENTS = {
    "QP_FATAL": ({"qpn": 16}, "could not read its queues"),
    "QP_REQ_ERR": ({"qpn": 16}, "was not valid"),
    "QP_ACCESS_ERR": ({"qpn": 16}, "was not permitted"),
    "PATH_MIG_ERR": ({"qpn": 16}, "alternate path"),
    "DEVICE_FATAL": ({"port": 0}, "the adapter is lost"),
    "PORT_ERR": ({"port": 1}, "port 1 went down"),
    "SRQ_ERR": ({"srqn": 9}, "SRQ 9 is in error"),
    "WQ_FATAL": ({"wqn": 9}, "WQ 9 is in error"),
}


@pytest.mark.parametrize("event", EVENTS)
def test_event(trace, event):
    members, words = EVENTS[event]
    trace.verb(hca="a0", event=event, **members)
    assert words in only(trace.explain())["cause"]


@pytest.mark.parametrize("event", events.NORMAL)
def test_event_of_normal_operation(trace, event):
    """It is a note, and no reason for the exit status 1."""
    trace.verb(hca="a0", event=event, qpn=16)
    assert only(trace.explain())["note"]


CM = {
    "CM_ADDR_ERROR": (-19, "no adapter's network interface leads there"),
    "CM_ROUTE_ERROR": (-110, "rdma_resolve_route() to 1.2.3.4:5"),
    "CM_CONNECT_ERROR": (-22, "could not be made"),
    "CM_UNREACHABLE": (-110, "did not answer"),
    "CM_REJECTED": (8, "no program listens on that port"),
    "CM_DEVICE_REMOVAL": (0, "was removed"),
    "CM_MULTICAST_ERROR": (-22, "rdma_join_multicast() failed"),
}


@pytest.mark.parametrize("event", CM)
def test_connection_event(trace, event):
    status, words = CM[event]
    trace.verb(file=3, event=event, id=1, status=status, dst="1.2.3.4:5")
    found = only(trace.explain())
    assert words in found["cause"] and found["title"] == f"RDMA_CM_EVENT_{event[3:]}"


# ---- Refused calls ----

CALLS = {
    "big_queue": ("create_qp", {"max_send_wr": 1000}, "max_send_wr is 1000, and the adapter has at most 100"),
    "no_entry": ("create_cq", {"cqe": 0}, "cqe is 0"),
    "big_cq": ("create_cq", {"cqe": 5000}, "cqe is 5000, and the adapter has at most 1000"),
    "vector": ("create_cq", {"cqe": 5, "comp_vector": 77}, "comp_vector is 77"),
    "big_srq": ("create_srq", {"max_wr": 51}, "max_wr is 51, and the adapter has at most 50"),
    "rights": ("reg_mr", {"access_flags": "0x2", "length": 1}, "need IBV_ACCESS_LOCAL_WRITE, too"),
    "empty": ("reg_mr", {"access_flags": "0x1", "length": 0}, "the length is 0"),
    "unmapped": (
        "reg_mr",
        {"access_flags": "0x1", "length": 9, "start": "0x5", "errno": "EFAULT"},
        "are not all mapped",
    ),
    "in_use": (
        "dealloc_pd",
        {"pd_handle": 0, "errno": "EBUSY"},
        "PD 0 is still used by MR of 4096 bytes at 0x10000, QP 16 of a0",
    ),
    "cq_in_use": ("destroy_cq", {"cq_handle": 1, "errno": "EBUSY"}, "is still used by QP 16 of a0"),
    "no_grh": ("create_ah", {"port_num": 1, "is_global": 0}, "RoCE needs a GID"),
    "no_port": ("create_ah", {"port_num": 0}, "ports count from 1"),
    "not_ud": ("attach_mcast", {"qp_handle": 16, "gid": "ff" * 16}, "only UD QPs are in multicast groups"),
    "errno": ("alloc_pd", {"errno": "ENOMEM"}, "a limit of the adapter or of memory is reached"),
    "queue_full": (
        "post_send",
        {"qpn": 16, "opcode": 2, "num_sge": 1, "send_flags": "0x0", "errno": "ENOMEM"},
        "is full because no request was signaled",
    ),
    "sges": (
        "post_send",
        {"qpn": 16, "opcode": 2, "num_sge": 2, "send_flags": "0x0"},
        "2 SGEs, and QP 16 of a0 has max_send_sge 1",
    ),
    "inline": (
        "post_send",
        {"qpn": 16, "opcode": 2, "num_sge": 1, "length": 9, "send_flags": "0x8"},
        "9 bytes with IBV_SEND_INLINE",
    ),
    "recv_full": (
        "post_recv",
        {"qpn": 16, "num_sge": 1, "errno": "ENOMEM"},
        "the receive queue is full: max_recv_wr is 4",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_refused_call(trace, name):
    call, members, words = CALLS[name]
    by = {"by": "library", "hca": "a0", "pid": 7, "tid": 7}
    if call.startswith("post_"):  # not a call to the kernel
        trace.verb(call=call, **{"errno": "EINVAL"} | by | members)
    else:
        trace.call(1, call, **{"errno": "EINVAL"} | members)
    assert words in only(trace.explain())["cause"]


TRANSITIONS = {
    "none": (2, {"from": 0}, "is in RESET, and there is no transition to RTR; after RESET comes INIT"),
    "missing": (
        2,
        {"from": 1, "required": hex(RTR_MASK | 0x8000), "optional": "0x1"},
        "INIT to RTR of an RC QP needs IBV_QP_MIN_RNR_TIMER",
    ),
    "extra": (1, {"from": 0, "required": "0x38", "optional": "0x1"}, "does not take IBV_QP_TIMEOUT"),
    "mtu": (2, {"path_mtu": 5}, "path_mtu is 4096, and the port's active_mtu is 1024"),
    "no_gid": (2, {"is_global": 0}, "is_global is 0: RoCE needs a GID"),
    "port": (2, {"av_port": 0}, "ah_attr.port_num is 0"),
    "reads": (2, {"max_dest_rd_atomic": 99}, "max_dest_rd_atomic is 99, and the adapter has at most 16"),
}


@pytest.mark.parametrize("name", TRANSITIONS)
def test_refused_transition(trace, name):
    state, members, words = TRANSITIONS[name]
    mask = {"missing": RTR_MASK & ~0x8000, "extra": INIT_MASK | 0x200}.get(name, RTR_MASK)
    trace.modify(1, 16, state, mask, errno="EINVAL", **members)
    assert words in only(trace.explain())["cause"]


def test_what_libraries_try_is_no_problem(trace):
    trace.call(1, "method 0x5", errno="EPROTONOSUPPORT")
    trace.call(1, "rdma_get_cm_event", errno="EAGAIN")
    assert trace.explain() == []


def test_refusal_is_reported_once(trace):
    trace.call(1, "create_cq", cqe=0, errno="EINVAL")
    trace.verb(hca="a0", pid=7, tid=7, by="library", call="create_cq", cqe=0, errno="EINVAL")
    assert only(trace.explain())["count"] == 1


# ---- Datagrams, full queues, and who waits ----


def test_dropped_datagram(trace):
    trace.qp(2, 30, qp_type=4)
    trace.refused("qkey", qpn=30)
    found = only(trace.explain())
    assert "the Q_Key is not that of the QP; the sender is not told" in found["cause"]


def waits(trace, syscall, **more):
    trace.verb(event="waits", pid=7, tid=7, syscall=syscall, **more)
    return only(trace.explain())["cause"]


def test_full_queue_without_signal(trace):
    for index in range(4):
        trace.wqe(index=index, flags=())
    assert "is full because no request was signaled: max_send_wr is 4" in only(trace.explain())["cause"]


def test_waits_without_signal(trace):
    trace.wqe(flags=())
    assert "QP 16 of a0 waits for nothing: its last request (RDMA_WRITE) had no IBV_SEND_SIGNALED" in waits(
        trace, "running"
    )


def test_waits_for_receive(trace):
    trace.wqe("SEND")
    trace.refused("no_receive", "RNR")
    assert (
        "QP 16 of a0 repeats the SEND for ever, as rnr_retry is 7: no receive is posted on QP 17 of a1"
        in waits(trace, "running")
    )


def test_waits_for_a_peer_that_drops(trace):
    trace.modify(1, 16, 3, RTS_MASK, timeout=0)
    trace.wqe("SEND")
    trace.refused("qp_state")
    text = waits(trace, "running")
    assert "QP 17 of a1 dropped the packets of QP 16 of a0: the QP is not in a state" in text
    assert "its timeout is 0, so it waits for ever" in text


def test_waits_in_wrong_state(trace):
    trace.qp(1, 18)
    assert "QP 18 of a0 is in RESET" in waits(trace, "running")


def channel(trace):
    trace.call(1, "create_cq", cqe=8, comp_channel=9, handle=8, cqn=8, granted={"cqe": 8})


def test_not_armed(trace):
    channel(trace)
    trace.cqe("OK", cqn=8)
    text = waits(trace, "read", object="completion channel")
    assert (
        "ibv_get_cq_event()" in text
        and "CQ 8 of a0 was not armed, or only for solicited completions, when 1 completion came" in text
    )


def test_not_armed_again(trace):
    channel(trace)
    trace.cqe("OK", cqn=8)
    trace.verb(hca="a0", event="COMP", cqn=8)
    trace.cqe("OK", cqn=8)
    assert "CQ 8 of a0 was not armed again after its last event" in waits(
        trace, "read", object="completion channel"
    )


def test_events_not_acknowledged(trace):
    channel(trace)
    trace.call(1, "destroy_cq", cq_handle=8, comp_events=2)
    assert "ibv_destroy_cq() waits until the program has acknowledged 2 completion events" in waits(
        trace, "futex"
    )


def test_nobody_connects(trace):
    trace.verb(file=3, pid=7, tid=7, call="rdma_listen", id=0, src="0.0.0.0:7000")
    assert "rdma_listen() on 0.0.0.0:7000: no connection request has come" in waits(
        trace, "read", object="rdma_cm channel"
    )


def test_sleep_is_no_problem(trace):
    trace.verb(event="waits", pid=7, tid=7, syscall="clock_nanosleep")
    assert trace.explain() == []


def test_where_completions_came(trace):
    trace.cqe("OK", op="RECV")
    trace.wqe()
    trace.cqe("OK")
    trace.call(1, "destroy_qp", qp_handle=16)
    trace.call(2, "destroy_qp", qp_handle=17)
    assert "CQ 3 of a0 got 2 completions so far" in waits(trace, "running")


def test_a_process_that_went_on_does_not_wait(trace):
    trace.verb(event="waits", pid=7, tid=7, syscall="nanosleep")
    trace.call(1, "alloc_pd", handle=20)
    assert trace.explain() == []


# ---- The calls that posted ----


def test_post_of_a_torn_push(trace):
    """A push left the write-combining buffer in two TLPs, after one that left it in one: the second names its own call."""
    stacks = [{"stack": n, "pid": 7, "frames": [f"/bin/none+0x{n}000"]} for n in (1, 2)]
    stores = [(1, at) for at in (0, 8)] + [(2, at) for at in (0, 8)]
    for number, at in stores:
        trace.logs["posts.log"].append(
            {"ps": 1, "hca": "a0", "pid": 7, "tid": 7, "bar": 2, "addr": hex(at), "len": 8, "stack": number}
        )
    trace.logs["posts.log"][:0] = stacks
    for ps, at, length in ((10, 0, 16), (20, 0, 8), (30, 8, 8)):
        trace.logs["tlp.log"].append(
            {
                "ps": ps,
                "arrival": ps + 1,
                "hca": "a0",
                "dir": "down",
                "type": "MWr",
                "bar": 2,
                "addr": hex(at),
                "len": length,
            }
        )
    for index, store in ((0, 11), (1, 31)):
        step = {
            "event": "step",
            "ps": store,
            "end": store,
            "hca": "a0",
            "stage": "doorbell",
            "qpn": 16,
            "index": index,
        }
        trace.logs["events.log"].append(step | {"store": store, "pushed": True})
        trace.wqe("SEND", index, lkey=0)
    trace.cqe("LOC_PROT_ERR", wqe_index=1)
    assert "none+0x1fff, process 7" in only(trace.explain())["posted_by"]


# ---- Folders ----


def test_no_folder_of_a_trace(tmp_path):
    done = hcasim("explain", tmp_path)
    assert done.returncode == 2 and "has no verbs.log: it is no folder of hcasim run --trace" in done.stderr
    assert hcasim("explain", tmp_path / "none").returncode == 2


def test_truncated_log(trace):
    trace.write()
    with open(trace.folder / "verbs.log", "a", encoding="utf-8") as file:
        file.write('{"ps":1,')
    done = hcasim("explain", trace.folder)
    assert done.returncode == 2 and "verbs.log" in done.stderr


def test_without_events_log(trace):
    trace.wqe()
    trace.cqe("LOC_PROT_ERR", "BAD_LKEY", wqe_index=0)
    trace.write()
    (trace.folder / "events.log").unlink()
    done = hcasim("explain", trace.folder)
    assert done.returncode == 1 and "--no-events" in done.stdout
