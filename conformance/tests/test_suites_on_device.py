# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The scenarios of the suites can fail: each is run with a line that expects a wrong result.

The device is right and the line is wrong, so every case here must fail with the fault that is named.
"""
import json
import os
import subprocess

import pytest

from hcasim_conform.run import drive
from hcasim_conform.run import dut
from hcasim_conform import suites

# case, path of keys to the changed value in the line, the new value, words of the fault
DOCTORED = [
    ("order/rc/mixed", ("wrs", 2, "wc"), "SEND", "opcode FETCH_ADD, expected SEND"),
    ("order/rc/mixed-ex", ("wrs", 1, "wc"), "SEND", "opcode RDMA_WRITE, expected SEND"),
    ("order/ud/unsignaled-between", ("wrs", 0, "wc"), "SEND", "wr_id"),
    ("order/xrc_send/mixed-wr", ("wrs", 3, "recv"), "RECV_RDMA_WITH_IMM", "opcode RECV, expected"),
    ("sig_all/rc/unsignaled-post", ("args", "sig_all"), 0, "did not come"),
    ("sig_all/uc/signaled-wr", ("wrs", 0, "wc"), None, "wr_id"),
    ("reuse/rc/inline", ("wrs", 0, "effect"), "write", "bytes are wrong"),
    ("reuse/rc/recv-requests", ("wrs", 1, "recv"), None, "nothing asked for"),
    ("reuse/rc/completed", ("wrs", 0, "recv"), "RECV_RDMA_WITH_IMM", "opcode RECV, expected"),
    ("builder/rc/values-of-builder", ("wrs", 0, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("builder/ud/not-before-complete", ("wrs", 0, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("builder/rc/ordinary-qp", ("args", "extended"), 1, "gives an interface for a QP of ibv_create_qp"),
    ("atomic/rc/two-qps", ("args", "add"), 2, "brought"),
    ("writev/rc/not-connected", ("args", "connected"), 1, "must be -1"),
    ("writev/rc/local-deregistered", ("args", "kept"), 1, "status SUCCESS, expected LOC_PROT_ERR"),
    ("writev/rc/remote-deregistered", ("args", "kept"), 1, "status SUCCESS, expected REM_ACCESS_ERR"),
    ("flush/rc/rkey-write", ("status",), "LOC_PROT_ERR", "status REM_ACCESS_ERR, expected LOC_PROT_ERR"),
    ("flush/rc/lkey-send-ex", ("status",), "REM_ACCESS_ERR", "status LOC_PROT_ERR, expected REM_ACCESS_ERR"),
    ("flush/uc/lkey-write", ("status",), "WR_FLUSH_ERR", "status LOC_PROT_ERR, expected WR_FLUSH_ERR"),
    ("flush/rc/receive-short", ("status",), "REM_OP_ERR", "status REM_INV_REQ_ERR"),
    ("flush/rc/modify-err", ("status",), "SUCCESS", "status WR_FLUSH_ERR, expected SUCCESS"),
    ("bad_wr/rc/send-sges-2", ("args", "bad"), 1, "bad_wr names work request 2, expected 1"),
    ("bad_wr/ud/recv-sges-3", ("args", "bad"), 2, "bad_wr names work request 3, expected 2"),
    ("bad_wr/rc/srq-sges-0", ("args", "bad"), 1, "bad_wr names work request 0, expected 1"),
    ("rnr/rc/rnr_retry-2", ("args", "least_us"), 60_000_000, "given up after"),
    ("rnr/rc/rnr_retry-3", ("status",), "RETRY_EXC_ERR", "status RNR_RETRY_EXC_ERR"),
    ("rnr/rc/rnr_retry-7", ("wrs", 1, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("retry/rc/retry_cnt-1", ("args", "least_us"), 60_000_000, "given up after"),
    ("keys/rc/no-right-rdma_write", ("args", "without"), 0, "status SUCCESS, expected REM_ACCESS_ERR"),
    ("keys/rc/qp-no-right-rdma_read", ("args", "without"), 0, "status SUCCESS"),
    ("keys/rc/other-pd-rdma_write", ("status",), "SUCCESS", "status REM_ACCESS_ERR, expected SUCCESS"),
    ("keys/rc/dereg-rdma_read", ("status",), "SUCCESS", "status REM_ACCESS_ERR, expected SUCCESS"),
    ("keys/rc/local-no-right-rdma_read", ("args", "without"), 0, "status SUCCESS, expected LOC_PROT_ERR"),
    ("keys/rc/local-atomic_cmp_swp", ("args", "bad_lkey"), 0, "status SUCCESS, expected LOC_PROT_ERR"),
    (
        "keys/rc/rkey-rdma_write_imm",
        ("status",),
        "LOC_PROT_ERR",
        "status REM_ACCESS_ERR, expected LOC_PROT_ERR",
    ),
    (
        "keys/rc/zero-based-remote-rdma_write",
        ("args", "access"),
        0,
        "status REM_ACCESS_ERR, expected SUCCESS",
    ),
    ("mw/rc/new-key", ("args", "bits"), 1, "status REM_ACCESS_ERR, expected SUCCESS"),
    ("mw/rc/last-byte-exceeded", ("args", "at"), 120, "status SUCCESS, expected REM_ACCESS_ERR"),
    ("mw/rc/read-only", ("args", "without"), 0, "status SUCCESS, expected REM_ACCESS_ERR"),
    ("mw/rc/bind-beyond-region", ("args", "shift"), 0, "status SUCCESS, expected MW_BIND_ERR"),
    ("mw/rc/rebind-bound", ("status",), "SUCCESS", "status MW_BIND_ERR, expected SUCCESS"),
    ("mw/rc/other-qp", ("status",), "SUCCESS", "status REM_ACCESS_ERR, expected SUCCESS"),
    ("mw/uc/last-byte-exceeded", ("args", "at"), 120, "bytes are wrong"),
    ("mw/uc/read-only", ("args", "without"), 0, "bytes are wrong"),
    ("mw/uc/other-qp", ("status",), "SUCCESS", "bytes are wrong"),
    ("device_memory/rc/rdma_write-remote", ("wrs", 0, "effect"), "send", "bytes are wrong"),
    ("device_memory/rc/send-remote", ("wrs", 0, "effect"), "write", "bytes are wrong"),
    ("device_memory/rc/rdma_read-local", ("wrs", 1, "effect"), "send", "bytes are wrong"),
    ("differ/rc/list", ("wrs", 2, "effect"), "none", "bytes are wrong"),
    ("differ/xrc_send/region-ex", ("wrs", 1, "wc"), "RDMA_WRITE", "wr_id"),
    ("differ/ud/regions", ("wrs", 0, "recv"), "RECV_RDMA_WITH_IMM", "opcode RECV, expected"),
    ("differ/rc/ring-sizes-wr", ("wrs", 1, "effect"), "none", "bytes are wrong"),
    ("differ/ud/ring-headers-post", ("wrs", 1, "wc"), "SEND", "opcode TSO, expected SEND"),
    ("differ/ud/srq-receives", ("wrs", 0, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("differ/rc/receives-early", ("wrs", 1, "recv"), None, "nothing asked for"),
    ("state/rc/rtr-post", ("args", "short_of"), 0, "a send was taken before the QP is in RTS"),
    ("state/ud/init-wr", ("args", "short_of"), 0, "a region was taken before the QP is in RTS"),
    (
        "modify/rc/init-rtr",
        ("args", "required"),
        0x129190,
        "without pkey_index: returned 0, must be an errno",
    ),
    (
        "modify/rc/rts-rts-attributes",
        ("args", "optional"),
        0,
        "with cur_qp_state: returned 0, must be an errno",
    ),
    ("modify/ud/rtr-rts-attributes", ("args", "optional"), 0x4A, "with qp_access_flags: failed with EINVAL"),
    ("modify/uc/none", ("args", "RESET"), 1 << 1, "from RESET to INIT, with another attribute: returned 0"),
    ("modify/xrc_send/recv-to-err", ("args", "to"), 3, "from INIT to RTS, with another attribute: failed"),
    ("modify/rc/values", ("args", "type"), 99, "failed with"),
    ("create/rc/limits", ("args", "type"), 99, "failed with"),
    ("create/rc/masks", ("args", "type"), 99, "failed with"),
    ("sges/rc/refused-send", ("status",), "SUCCESS", "status LOC_PROT_ERR, expected SUCCESS"),
    ("sges/rc/receive-refused-srq", ("status",), "SUCCESS", "status REM_OP_ERR, expected SUCCESS"),
    ("sges/ud/regions-send", ("wrs", 0, "op"), "RDMA_WRITE", "was refused"),
    ("sges/rc/receive", ("scenario",), "receive_refused", "status REM_OP_ERR, expected SUCCESS"),
    ("rereg/rc/rights", ("status",), "SUCCESS", "status REM_ACCESS_ERR, expected SUCCESS"),
    ("xrc/xrc_send/other-domain", ("status",), "SUCCESS", "status REM_INV_REQ_ERR, expected SUCCESS"),
    (
        "packet/rc/resources-flush",
        ("args", "rights"),
        0,
        "packet 0 of a READ's answer has opcode 0x11",
    ),
    ("packet/rc/repeated-flush", ("args", "rights"), 0, "packet 0 of a READ's answer has opcode 0x11"),
    ("packet/ud/multicast", ("qp",), "UC", "the first member has the bytes of another datagram"),
    (
        "keys/rc/dereg-during-read",
        ("status",),
        "LOC_PROT_ERR",
        "status REM_ACCESS_ERR, expected SUCCESS or LOC_PROT_ERR",
    ),
    ("answers/rc/acks", ("args", "more"), 1, "the completion of request 2 did not come"),
    ("answers/rc/rnr", ("args", "more"), 1, "the completion of request 4 did not come"),
    ("answers/rc/reads", ("args", "more"), 1, "an answer with opcode 0x14"),
    ("answers/rc/stopped", ("args", "more"), 1, "an answer with opcode 0x14"),
    ("pacing/raw_packet/rate-limit", ("args", "kbps"), 99, "a limit of 99 kbps failed with EINVAL"),
    ("paging/rc/gap-read", ("status",), "LOC_PROT_ERR", "status REM_ACCESS_ERR, expected LOC_PROT_ERR"),
    ("paging/rc/gap-send", ("status",), "SUCCESS", "status LOC_PROT_ERR, expected SUCCESS"),
    ("overrun/xrc_send/srq", ("status",), "SUCCESS", "status REM_OP_ERR, expected SUCCESS"),
    ("keys/rc/dereg-during-atomics", ("status",), "LOC_PROT_ERR", "status REM_ACCESS_ERR after SUCCESS"),
    ("packet/ud/datagram", ("qp",), "UC", "src_qp"),
    ("checksum/raw_packet/shapes", ("scenario",), "offload_streams", "refused with EINVAL; stream"),
    ("fence/rc/after-reads", ("wrs", 4, "recv"), "RECV", "opcode RECV_RDMA_WITH_IMM, expected RECV"),
    ("mtu/rc/512-rdma", ("wrs", 3, "effect"), "write", "bytes are wrong"),
    ("rd_atomic/rc/1", ("wrs", 1, "wc"), "RDMA_READ", "opcode FETCH_ADD, expected RDMA_READ"),
    ("ring/rc/each", ("wrs", 3, "wc"), None, "wr_id"),
    ("rnr/rc/late-behind", ("wrs", 3, "effect"), "none", "bytes are wrong"),
    ("ring/rc/long-lists", ("wrs", 3, "effect"), "none", "bytes are wrong"),
    ("full/rc/deep", ("wrs", 0, "flags"), [], "did not come"),
    ("ring/rc/several-qps", ("wrs", 4, "effect"), "none", "bytes are wrong"),
    ("mtu/ud/longest", ("status",), "LOC_PROT_ERR", "too long completed with LOC_LEN_ERR"),
    ("tso/ud/too-long", ("status",), "LOC_QP_OP_ERR", "status LOC_LEN_ERR, expected LOC_QP_OP_ERR"),
    ("state/rc/sqd-busy", ("wrs", 2, "effect"), "none", "bytes are wrong"),
    ("state/rc/sqd-idle", ("wrs", 1, "wc"), None, "wr_id"),
    ("state/uc/sqe-back-2", ("status",), "LOC_LEN_ERR", "status LOC_PROT_ERR, expected LOC_LEN_ERR"),
    ("state/rc/reborn", ("wrs", 1, "effect"), "none", "bytes are wrong"),
    ("cq/rc/mixed", ("wrs", 1, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("cq/rc/mixed-ex", ("wrs", 2, "wc"), "SEND", "opcode RDMA_READ, expected SEND"),
    ("async/rc/access", ("args", "access"), 0, "status REM_INV_REQ_ERR, expected REM_ACCESS_ERR"),
    ("async/rc/request", ("status",), "REM_ACCESS_ERR", "status REM_INV_REQ_ERR, expected REM_ACCESS_ERR"),
    ("tags/rc/entry-short", ("status",), "LOC_PROT_ERR", "status REM_INV_REQ_ERR, expected REM_OP_ERR"),
    ("misuse/rc/arguments", ("wrs", 0, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("keys/rc/flush-whole", ("args", "length"), 4097, "status REM_ACCESS_ERR, expected SUCCESS"),
    ("keys/xrc_send/flush-level-region", ("args", "level"), 0, "status REM_ACCESS_ERR, expected SUCCESS"),
    ("flush/rc/range-write", ("status",), "SUCCESS", "status REM_ACCESS_ERR, expected SUCCESS"),
    ("flush/rc/misaligned-atomic", ("status",), "SUCCESS", "status REM_INV_REQ_ERR, expected SUCCESS"),
    ("flush/rc/local-range-send", ("status",), "SUCCESS", "status LOC_PROT_ERR, expected SUCCESS"),
    ("flush/rc/receive-lkey", ("status",), "SUCCESS", "status REM_OP_ERR, expected SUCCESS"),
    ("bad_wr/rc/send-flag-0", ("args", "bad"), 3, "a request with a flag that does not exist was taken"),
    ("bad_wr/rc/send-in-sqd-0", ("args", "bad"), 3, "a request with too many SGEs was taken"),
    ("bad_wr/rc/send-full", ("wrs", 0, "flags"), [], "a CQE of the requester did not come"),
    ("differ/ud/destinations-post", ("wrs", 0, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("retry/rc/timeout-0", ("args", "timeout"), 0, "a CQE of the requester did not come"),
    ("keys/rc/byte-before-rdma_write", ("status",), "SUCCESS", "status REM_ACCESS_ERR, expected SUCCESS"),
    ("psn/rc/wrap-send", ("wrs", 0, "effect"), "write", "bytes are wrong"),
    ("psn/rc/repeated-send", ("wrs", 0, "effect"), "none", "bytes are wrong"),
    ("lossy/rc/loss", ("wrs", 0, "effect"), "none", "bytes are wrong"),
    ("mw/rc/zero-based", ("status",), "SUCCESS", "status REM_ACCESS_ERR, expected SUCCESS"),
    ("mw/rc/neighbours", ("status",), "SUCCESS", "status REM_ACCESS_ERR, expected SUCCESS"),
    ("mw/rc/as-lkey", ("status",), "SUCCESS", "status LOC_PROT_ERR, expected SUCCESS"),
    (
        "mw/rc/local_inv-region",
        ("status",),
        "SUCCESS",
        "LOCAL_INV of a key that may not be invalidated: status MW_BIND_ERR",
    ),
    ("checksum/ud/udp-asked", ("wrs", 0, "flags"), [], "a CQE of the requester did not come"),
    ("full/rc/region", ("wrs", 0, "effect"), "none", "bytes are wrong"),
    ("srq/rc/limit", ("wrs", 0, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("srq/rc/limit-refused", ("wrs", 0, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("srq/rc/resize", ("wrs", 0, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("srq/rc/shared", ("wrs", 0, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("srq/rc/limits", ("wrs", 0, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("srq/rc/out-of-order", ("wrs", 0, "flags"), [], "a CQE of the requester did not come"),
    ("srq/rc/drain", ("wrs", 0, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("overrun/rc/event", ("wrs", 0, "flags"), [], "the asynchronous event 'CQ error' did not come"),
    ("notify/rc/any", ("wrs", 0, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("notify/rc/solicited-only", ("wrs", 0, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    ("notify/rc/moderated", ("wrs", 0, "wc"), "RDMA_WRITE", "opcode SEND, expected RDMA_WRITE"),
    (
        "notify/rc/bounded-drain",
        ("args", "pattern"),
        2,
        "waits for an event that does not come: 8 completions",
    ),
    (
        "notify/rc/bounded-budget",
        ("args", "pattern"),
        2,
        "waits for an event that does not come: 8 completions",
    ),
    ("notify/rc/bounded-arm-first", ("args", "pattern"), 0, "an event came for completions"),
    ("notify/rc/timestamps", ("wrs", 0, "flags"), [], "a CQE of the requester did not come"),
    ("poll/rc/several", ("wrs", 0, "flags"), [], "wr_id 0x"),
    ("datagram/ud/wrong-qkey", ("wrs", 0, "flags"), [], "a CQE of the requester did not come"),
    ("datagram/ud/own-qkey", ("wrs", 0, "flags"), [], "a CQE of the requester did not come"),
    ("full/rc/unsignaled", ("wrs", 0, "op"), "SEND", "status RNR_RETRY_EXC_ERR, expected SUCCESS"),
    ("rereg/rc/translation", ("status",), "SUCCESS", "status REM_ACCESS_ERR, expected SUCCESS"),
    ("xrc/xrc_send/second-srq", ("status",), "SUCCESS", "status REM_ACCESS_ERR, expected SUCCESS"),
    ("xrc/xrc_send/receive-pd", ("status",), "SUCCESS", "status REM_OP_ERR, expected SUCCESS"),
    ("packet/rc/refused", ("args", "kind"), 3, "an answer with opcode"),
    ("answers/rc/wrong", ("args", "more"), 1, "an answer with opcode"),
    ("tags/rc/match", ("args", "tag"), 0, "wr_id is 0x200, expected 0x201"),
    ("tags/rc/no_tag", ("args", "opcode"), 3, "wr_id is 0x201, expected 0x200"),
    ("cq/rc/several-types", ("args", "more"), 1, "wr_id 0x"),
    ("cq/rc/tags", ("args", "more"), 1, "status RNR_RETRY_EXC_ERR, expected SUCCESS"),
    ("cq/rc/fields-alone", ("args", "more"), 1, "byte_len is 0x76, expected 0x75"),
    ("objects/rc/dma-buf", ("args", "less"), 64, "beyond the region completed with SUCCESS"),
    ("objects/rc/parent-members", ("args", "own"), 0, "comp_mask 0x1: 5 calls of the allocator"),
    (
        "mtu/rc/oversize-send",
        ("status",),
        "SUCCESS",
        "a message of 2147483649 bytes completes with LOC_LEN_ERR, expected SUC",
    ),
    ("answers/rc/fences", ("args", "fence"), 0, "an answer with opcode"),
    ("region/rc/excludes-post_send", ("wrs", 0, "effect"), "write", "599 bytes are wrong"),
    ("mtu/rc/long", ("args", "bytes"), 0, "no memory of 0 bytes"),
    ("packet/rc/wrong", ("args", "right"), 1, "the receive has the contents of another packet"),
    ("packet/rc/sequence", ("qp",), "UC", "an expected packet did not come"),
    ("packet/rc/rnr", ("qp",), "UC", "an expected packet did not come"),
    ("packet/rc/bounds", ("qp",), "UC", "an expected packet did not come"),
    ("packet/uc/lost", ("qp",), "RC", "the completion of receive 0 did not come"),
    ("datagram/ud/address-ipv6", ("qp",), "UC", "the message has changed"),
    ("tags/rc/rndv-own_sends", ("args", "own_sends"), 0, "status is 0, expected 23"),
    ("connect/rc/private-data", ("args", "request"), 55, "rdma_connect with 56 bytes of private data must"),
    ("connect/rc/private-data", ("args", "answer"), 195, "rdma_accept with 196 bytes of private data must"),
    ("datagram/ud/fields", ("scenario",), "no_such", "the runner has no scenario 'no_such'"),
]

# Packets of packet/*/wrong that are sent as they should be: on each of these QPs, those that it has.
MOST_WRONG = 120
WRONG = ("rc/wrong", "rc/wrong-ipv4", "uc/wrong", "ud/wrong", "xrc_send/wrong")


def doctor(line, path, value):
    *way, last = path
    place = line
    for key in way:
        place = place[key]
    before = place.get(last, 0) if path[0] == "args" else place[last]  # an argument of 0 is not written
    assert before != value, path  # and other keys exist
    place[last] = value
    return line


def run(build, lines, name="native"):
    """The runner's answers to these lines, in one process."""
    native = dut.load(name)
    native.runner_line["dut"]["timeout_ms"] = 500
    text = "".join(json.dumps(line) + "\n" for line in [native.runner_line, *lines])
    command = [build / "bin" / "hcasim", "run", "--hcas", "2", "--", build / "bin" / drive.RUNNER]
    env = {**os.environ, **native.env}
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=120, check=False, env=env
    )
    said = [json.loads(line) for line in done.stdout.splitlines()]
    found = [a for a in said if "end" in a]
    assert len(found) == len(lines), (said[-1:], done.stderr)
    return found


@pytest.fixture(scope="module")
def cases(tables):
    return {c.id: c for c in suites.cases(tables)}


@pytest.fixture(scope="module")
def answers(build, cases):
    return run(build, [doctor(cases[f"suite/{c}"].line(), path, value) for c, path, value, _ in DOCTORED])


@pytest.mark.parametrize("number", range(len(DOCTORED)), ids=[entry[0] for entry in DOCTORED])
def test_a_doctored_line_fails(answers, number):
    case, _, _, words = DOCTORED[number]
    assert answers[number]["end"] == f"suite/{case}"
    assert words in "; ".join(answers[number]["faults"]), answers[number]


def test_each_wrong_packet_is_needed(build, cases):
    """packet/*/wrong fails if one of its packets is right, and each of them is wrong on some QP."""
    red = set()
    for case in WRONG:
        line = cases[f"suite/packet/{case}"].line()
        rows = [doctor(json.loads(json.dumps(line)), ("args", "right"), n + 1) for n in range(MOST_WRONG)]
        faults = [a["faults"] for a in run(build, rows)]
        there = [n for n, said in enumerate(faults) if "there is no packet" not in "; ".join(said)]
        assert there == list(range(len(there))) and len(there) < MOST_WRONG, case
        red |= {n for n in there if faults[n]}
        last = len(there) if case != "ud/wrong" else 0
        assert not last or last > 60, case
    assert red == set(range(max(red) + 1)), sorted(set(range(max(red) + 1)) - red)
