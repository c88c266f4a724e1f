# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What objects share and hold: destruction in use, one CQ of several queues, members asked for alone, the longest lists,
queues that stop while their requests are fetched."""
from dataclasses import replace

from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import Case, Suite

CQ_USED = "ibv_create_cq/NOTES/destroy"
FIRST = "ibv_poll_cq/DESCRIPTION/first"
FIELDS = "ibv_create_cq_ex/DESCRIPTION/wc_flags"
MEMBERS = "ibv_alloc_parent_domain/ARGUMENTS/comp_mask"
GRANTED = "ibv_create_qp/DESCRIPTION/granted"
MAX_SEND = "ibv_create_qp/DESCRIPTION/max_send_wr"
SRQ_GRANTED = "ibv_create_srq/DESCRIPTION/granted"
ERROR = "ibv_poll_cq/DESCRIPTION/error"
STATE = "ibv_modify_qp/DESCRIPTION/qp_state"
DEREG = "ibv_reg_mr/RETURN-VALUE/dereg"

MOST_SGES = 30  # of the adapters at hand
ALLOCATORS = 1  # IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS
LONGEST = {
    "inline": "with all inline data, of five sizes from 12 to 108 bytes",
    "sges": "with all SGEs, from 1 to 7",
    "unasked": "with all inline data that was granted and not asked for, with 1 to 7 SGEs",
    "atomics": "an atomic",
}
STATES = {"reset": 0, "err": 6, "destroyed": 7}  # enum ibv_qp_state; the last: another QP is created
AFTER = {
    "reset": "a QP that goes to RESET right after it got requests forgets it, and what it has completed",
    "err": "a QP that goes to ERR right after it got requests flushes what was not executed",
    "destroyed": "of a QP that is destroyed right after it got requests nothing is left for the next one, in the same CQs",
}

# Case: QP type, what holds what, sentence, further sentences, needed capabilities.
HELD = {
    "window": ("RC", "a PD with a window", "ibv_alloc_pd/NOTES/busy", (), ("memory_windows/2",)),
    "xrc": (
        "XRC_SEND",
        "an XRC domain with an SRQ or a QP, and the PD and the CQ of that SRQ",
        "ibv_open_xrcd/NOTES/busy",
        ("ibv_alloc_pd/NOTES/busy",),
        ("srq",),
    ),
    "region": (
        "RC",
        "device memory with a region, and the PD of the region",
        "ibv_alloc_dm/NOTES/busy",
        ("ibv_alloc_pd/NOTES/busy",),
        ("device_memory",),
    ),
    "table": (
        "RAW_PACKET",
        "the CQ of a work queue, a work queue in a table, a table with a QP",
        "ibv_create_wq/RETURN-VALUE/destroy",
        (),
        ("work_queues",),
    ),
    "flow": (
        "RAW_PACKET",
        "a QP with two flows, with one, and in RESET, and the PD of the QP",
        "ibv_create_flow/RETURN-VALUE/destroy",
        ("ibv_alloc_pd/NOTES/busy",),
        (),
    ),
}


class Sharing(Suite):
    def cases(self):
        yield from self._held()
        yield from self._mixtures()
        yield self._case(
            "cq",
            "RC",
            "fields-alone",
            "fields_alone",
            Expect(FIELDS),
            "a CQ with one flag of wc_flags gives the value that a CQ with all flags and ibv_poll_cq() give, and what needs no flag",
            more=0,
        )
        yield self._case(
            "cq",
            "RC",
            "lengths",
            "field_lengths",
            Expect(FIELDS),
            "ibv_wc_read_byte_len() is the length of the message, also where that needs 9, 16 and 17 bits",
        )
        yield self._case(
            "objects",
            "RC",
            "parent-members",
            "parent_members",
            Expect(MEMBERS),
            "allocators without a context get NULL, a context without allocators and members that are not named count for nothing",
            ("srq",),
            own=ALLOCATORS,
        )
        for qpt, srq in (("RC", 0), ("RC", 1), ("UD", 0), ("UD", 1)):
            yield self._case(
                "create",
                qpt,
                "most-sges" + ("-srq" if srq else ""),
                "most_sges",
                Expect(SRQ_GRANTED if srq else GRANTED, also=("ibv_query_device/NOTES/limits",)),
                "as many SGEs as the device has, of a receive, a send and a READ, each hold their bytes",
                ("srq",) if srq else (),
                srq=srq,
            )
        for qpt in ("RC", "UD"):
            yield self._case(
                "full",
                qpt,
                "longest",
                "full_of_longest",
                Expect(MAX_SEND, errata=("QUEUE-FULL",)),
                "a list of requests with as many SGEs as the QP has, longer than the queue: all that are taken, at least as many as "
                "were granted, are executed with their own bytes",
            )
        for qpt in ("RC", "UD", "XRC_SEND"):
            for kind, (case, what) in enumerate(LONGEST.items()):
                if case == "atomics" and qpt == "UD":
                    continue
                yield self._case(
                    "full",
                    qpt,
                    f"longest-{case}",
                    "longest_requests",
                    Expect(MAX_SEND, also=(GRANTED,)),
                    f"a list of as many requests as were granted, each {what}, is taken, and each is executed with its "
                    "own bytes",
                    kind=kind,
                )
        tso = self._case(
            "full",
            "UD",
            "longest-tso",
            "longest_requests",
            Expect(MAX_SEND, also=(GRANTED,)),
            "a list of as many segmentation requests as were granted, with headers from 1 to 66 bytes and 1 to 7 SGEs, is taken, "
            "and they complete in order",
            ("operations/UD/TSO",),
            kind=4,
        )
        yield replace(tso, ask=("SEND", "TSO"))
        yield self._case(
            "create",
            "RC",
            "read-sges-over",
            "read_sges_over",
            Expect("ibv_query_device/NOTES/limits", level="SHOULD", also=(GRANTED,)),
            "a READ of max_sge_rd SGEs and one more is refused, or completes in error, and no byte is read",
        )
        for qpt in ("RC", "UC"):
            for name, state in STATES.items():
                expect = Expect(STATE, errata=("QP-RECYCLE", "FLUSH-ORDER" if name == "err" else "CQ-PURGE"))
                says = f"{AFTER[name]}, in order, and works again"
                if qpt == "RC" and name == "reset":
                    several = f"eight QPs at a time: {says}"
                    yield self._case("state", qpt, "abrupt-reset-several", "abrupt_several", expect, several)
                    at_once = "what was rung for before RESET is not carried out after it; requests of other QPs are"
                    yield self._case("state", qpt, "abrupt-doorbells", "abrupt_doorbells", expect, at_once)
                yield self._case("state", qpt, f"abrupt-{name}", "abrupt", expect, says, to=state)
                if qpt == "RC":
                    says += ": WRITEs, READs, atomics and SENDs"
                    case = self._case(
                        "state", qpt, f"abrupt-{name}-mixed", "abrupt", expect, says, to=state, mixed=1
                    )
                    yield replace(
                        case, needs=("operations/RC/RDMA_READ", "operations/RC/ATOMIC_FETCH_AND_ADD")
                    )

        found = self._case(
            "objects",
            "RC",
            "many-srqs",
            "many_srqs",
            Expect(SRQ_GRANTED),
            "of many shared receive queues, some of which are destroyed, each other one has its own messages",
        )
        yield replace(found, needs=("srq",))
        for case, windows in (("regions", 0), ("windows", 1)):
            found = self._case(
                "objects",
                "RC",
                f"{case}-turn",
                "region_turns",
                Expect(DEREG, errata=("KEY-LIFETIME",)),
                f"{case} that end and begin hundreds of times: no two have a key at a time, each key is that of its region, and not valid afterwards",
                windows=windows,
            )
            yield replace(found, needs=("memory_windows/2",)) if windows else found

        for qpt, name in (("RC", "SEND"), ("RC", "RDMA_WRITE"), ("RC", "RDMA_READ"), ("UC", "RDMA_WRITE")):
            yield Case(
                suite="mtu",
                qpt=qpt,
                case=f"oversize-{self.tables.operation(name).short}",
                scenario="oversize",
                says="a message of max_msg_sz of the port and one byte is refused, or completes with IBV_WC_LOC_LEN_ERR; nothing arrives",
                expect=Expect(ERROR, level="SHOULD", status="LOC_LEN_ERR", errata=("OVERSIZE",)),
                wrs=(self.work(name, qpt),),
                ask_sge=MOST_SGES,
            )

        for name in ("RDMA_WRITE", "RDMA_READ"):
            yield Case(
                suite="mtu",
                qpt="RC",
                case=f"longest-{self.tables.operation(name).short}",
                scenario="oversize",
                says="a message of max_msg_sz of the port is no local error: a wrong rkey is refused by the responder",
                expect=Expect(ERROR, status="REM_ACCESS_ERR", errata=("FAILURE-STATUS",)),
                wrs=(self.work(name, "RC"),),
                ask_sge=MOST_SGES,
                args={"more": 0},
            )

    def _held(self):
        yield self._case(
            "objects",
            "RC",
            "held-queues",
            "held_queues",
            Expect(
                CQ_USED,
                also=("ibv_create_srq/NOTES/destroy", "ibv_create_comp_channel/NOTES/destroy"),
            ),
            "either CQ of a QP, its SRQ, and the channel of a CQ cannot be destroyed before their user",
            ("srq",),
            busy=0,
        )
        for name, (qpt, what, clause, also, needs) in HELD.items():
            yield self._case(
                "objects",
                qpt,
                f"held-{name}",
                f"held_by_{name}",
                Expect(clause, level="SHOULD", also=also, errata=("HELD",)),
                f"{what}: EBUSY, and each can be destroyed when its user is gone",
                needs,
                busy=1,
            )

    def _mixtures(self):
        for qpt, xrc in (("RC", 0), ("XRC_SEND", 1)):
            types = "RC, UD and XRC QPs" if xrc else "an RC and a UD QP"
            yield self._case(
                "cq",
                qpt,
                "several-types",
                "several_types",
                Expect(FIRST, errata=("COMPLETION-ORDER",)),
                f"one CQ of both queues of {types}: each completion has the fields of its own QP, and comes in its order",
                ("srq", "operations/RC", "operations/UD") if xrc else ("operations/UD",),
                xrc=xrc,
                more=0,
            )
        yield self._case(
            "cq",
            "RC",
            "tags",
            "tags_and_rc",
            Expect(FIRST, errata=("COMPLETION-ORDER",)),
            "completions of an RC QP and of a queue with tags in one CQ: each has its own fields",
            ("tag_matching",),
            more=0,
        )

    @staticmethod
    def _case(suite, qpt, case, scenario, expect, says, needs=(), **args):
        return Case(
            suite=suite,
            qpt=qpt,
            case=case,
            scenario=scenario,
            says=says,
            expect=expect,
            args=args,
            needs=needs,
        )
