# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Suite about what a requester makes of the answers that it gets: its responder is made by hand, packet by packet."""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import Case, Suite
from hcasim_conform.suites.faults import RETRY_CNT, RNR_RETRY, TIMEOUT
from hcasim_conform.suites.stopping import DRAINED, STATE

MAX_RD_ATOMIC = "ibv_modify_qp/DESCRIPTION/max_rd_atomic"
FENCE = "ibv_post_send/DESCRIPTION/send_flags/IBV_SEND_FENCE"
SQ_PSN = "ibv_modify_qp/DESCRIPTION/sq_psn"
ERROR = "ibv_poll_cq/DESCRIPTION/error"

# name, what it says, clause, further clauses, errata
CASES = (
    (
        "acks",
        "an acknowledge completes all requests before it, one for what is not outstanding none; what a NAK names is sent again, "
        "so often as retry_cnt without progress",
        RETRY_CNT,
        (SQ_PSN,),
        ("ANSWER", "RETRY-COUNT", "RELIABLE", "FLUSH-ORDER"),
    ),
    (
        "rnr",
        "an RNR NAK acknowledges what is before it, the rest is sent again, so often as rnr_retry without progress",
        RNR_RETRY,
        (),
        ("ANSWER", "RNR-RETRY", "FLUSH-ORDER"),
    ),
    (
        "reads",
        "no more READs and atomics are in flight than max_rd_atomic; fenced requests wait for all answers; what is missing of "
        "an answer is asked for again, and only that",
        MAX_RD_ATOMIC,
        (),
        ("ANSWER", "RD-ATOMIC", "RELIABLE"),
    ),
    (
        "fences",
        "a fenced LOCAL_INV or BIND_MW waits for the answers of READs and atomics before it: until then the window is as it was",
        FENCE,
        (),
        ("ANSWER", "INV-WHAT"),
    ),
    (
        "wrong",
        "each NAK and each answer that does not fit its request ends it with its status; nothing of it is in memory; an atomic of "
        "another length than 8 bytes, and a READ or atomic where none may be in flight, is not sent",
        ERROR,
        (),
        ("ANSWER", "FLUSH-ORDER"),
    ),
    (
        "stopped",
        "in SQD requests that were begun are repeated and completed, and no other begins; answers that come in ERR, or after "
        "RESET, count for nothing",
        DRAINED,
        (STATE,),
        ("ANSWER", "SQ-DRAINED", "QP-RECYCLE"),
    ),
    (
        "silent",
        "what was not acknowledged is sent again, not before the timeout, and given up after retry_cnt repetitions",
        TIMEOUT,
        (RETRY_CNT,),
        ("ANSWER", "ACK-TIMEOUT", "RETRY-COUNT"),
    ),
)

ARGS = {"fences": {"fence": 1}}
NEEDS = {"fences": ("memory_windows/2",)}


class Answers(Suite):
    def cases(self):
        for name, says, clause, also, errata in CASES:
            for ipv4 in (0, 1):
                if ipv4 and name != "acks":
                    continue
                yield Case(
                    suite="answers",
                    qpt="RC",
                    case=name + ("-ipv4" if ipv4 else ""),
                    scenario=f"answers_{name}",
                    says=says,
                    expect=Expect(clause, level="SHOULD", also=also, errata=errata),
                    args={"ipv4": ipv4, "more": 0, **ARGS.get(name, {})},  # more: than the scenario expects
                    needs=("operations/RAW_PACKET", "operations/UC", *NEEDS.get(name, ())),
                )
