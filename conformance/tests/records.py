# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Generates records of runs, of any size, for the tests of code that reads records."""
from hcasim_conform.report import results

OPS = {"send": "SEND", "send_imm": "SEND_WITH_IMM", "rdma_write": "RDMA_WRITE", "rdma_read": "RDMA_READ"}
TYPES = ("RC", "UC", "UD", "RAW_PACKET", "XRC_SEND")
FLAGS = ("-", "signaled", "fence", "fence+signaled", "solicited", "solicited+signaled")
CLAUSE = "ibv_wr_post/WORK-REQUESTS/Message-Send/ibv_wr_send"
REASONS = {"known": "the firmware is <old>", "unexpected": "was broken", "skipped": "no XRC"}


def row(cell_id, outcome="pass", level="MUST", **more):
    api, short, qpt = cell_id.split("/")[:3]
    bad = outcome in ("fail", "flaky", "known")
    passing = {"outcome": "pass", "seen": "all is well", "faults": [], "observed": []}
    return {
        "id": cell_id,
        "api": api,
        "op": OPS.get(short, short.upper()),
        "qp": qpt.upper(),
        "level": level,
        "clause": CLAUSE,
        "also": [],
        "errata": ["SRC-SEND"] if qpt == "xrc_send" else [],
        "expected": "accepted; every byte in its place",
        "outcome": outcome,
        "seen": "" if outcome == "skipped" else "requester CQE SUCCESS SEND; responder CQE SUCCESS RECV",
        "faults": ["byte 3 <is> wrong"] if bad else [],
        "observed": ["bytes.memory=1 at 3"] if bad else [],
        "calls": [] if outcome == "skipped" else CALLS,
        "errno": "EINVAL" if bad else None,
        "us": 5,
        "reason": REASONS.get(outcome),
        "artefacts": [],
        "runs": [{**passing, "outcome": "fail", "faults": ["byte 3 <is> wrong"]}, passing]
        if outcome == "flaky"
        else [],
        **more,
    }


CALLS = [
    "/* on the connected QP of the cell before */",
    "ibv_wr_start(qpx)",
    "qpx->wr_id = 0xc0de, qpx->wr_flags = IBV_SEND_SIGNALED",
    "ibv_wr_send(qpx)",
    "ibv_wr_set_sge(qpx, lkey, addr, 64)",
    "ibv_wr_complete(qpx)",
]


def rows(number):
    """That many cells, as similar to each other as those of an exhaustive run."""
    made, step = [], 0
    while len(made) < number:
        for api in ("wr", "post"):
            for short in OPS:
                for qpt in TYPES:
                    for flags in FLAGS:
                        cell_id = f"{api}/{short}/{qpt.lower()}/sge_list-{step}/-/{flags}"
                        wr_id = f"qpx->wr_id = 0xc0de{len(made):08x}0000, qpx->wr_flags = 0"
                        calls = (
                            CALLS[:2]
                            + [wr_id, CALLS[3]]
                            + [f"ibv_wr_set_sge_list(qpx, {step}, sg_list)", CALLS[5]]
                        )
                        made.append(row(cell_id, calls=calls, us=step))
        step += 1
    return made[:number]


def record(cells, name="fake", **more):
    end = {"device": "a", "port": 1, "gid_index": 0}
    return {
        "version": results.VERSION,
        "dut": {"name": name, "doc": "answers as told", "requester": end, "responder": end},
        "command": f"hcasim conform --dut {name}",
        "versions": {"hcasim": "1", "rdma-core": "56.1", "kernel": "6", "python": "3"},
        "mode": "covering",
        "seed": 0,
        "repeat": 1,
        "strict": False,
        "expression": None,
        "requirements": [],
        "shard": None,
        "started": "2026-01-02T03:04:05+00:00",
        "seconds": 1.5,
        "counts": results.count(cells),
        "summary": results.summarize(cells),
        "faults": [],
        "findings": [],
        "clauses": {CLAUSE: "the sentence of the page"},
        "errata": {
            "SRC-SEND": {"level": "MUST", "page": "SRC SEND", "decision": "XRC_SEND", "reason": "a misprint"}
        },
        "cells": cells,
        **more,
    }
