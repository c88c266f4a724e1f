# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Suites about queues: full ones, states of a QP, shared receive queues, completion queues."""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import CONNECTED, RELIABLE, SIGNALED, Case, Suite

MAX_SEND = "ibv_create_qp/DESCRIPTION/max_send_wr"
MAX_RECV = "ibv_create_qp/DESCRIPTION/max_recv_wr"
STATE = "ibv_post_send/DESCRIPTION/state"
QP_STATE = "ibv_modify_qp/DESCRIPTION/qp_state"
FAILURE = "ibv_wr_post/RETURN-VALUE/failure"
SRQ_RECV = "ibv_post_srq_recv/DESCRIPTION"
MODERATE = "ibv_modify_cq/DESCRIPTION/cq_count"
POLLED = ("ibv_poll_cq/DESCRIPTION/fewer", "ibv_poll_cq/RETURN-VALUE")
TIMESTAMP = "ibv_create_cq_ex/DESCRIPTION/ibv_wc_read_completion_ts"
SOLICITED = "ibv_req_notify_cq/DESCRIPTION/solicited"
EXTRA = "ibv_get_cq_event/NOTES/extra"
SOLICITED_TOO = ("SOLICITED", *SIGNALED)
SHORT_OF = {"reset": 3, "init": 2, "rtr": 1}
ALSO = {"attributes": ("ibv_create_srq/NOTES/destroy", "ibv_modify_srq/NOTES/none-modified")}

# Completion events. Case: scenario, clause, expectation, further clauses.
NOTIFY = {
    "any": (
        "event_any",
        "ibv_req_notify_cq/NOTES/one-shot",
        "one event for a new CQE, and no second without a new request",
        ("ibv_req_notify_cq/DESCRIPTION/any",),
    ),
    "solicited-only": (
        "event_solicited",
        SOLICITED,
        "an event for a solicited message, none for another",
        ("ibv_req_notify_cq/DESCRIPTION/unsolicited",),
    ),
    "error": (
        "event_error",
        SOLICITED,
        "an event for a CQE in error, although only solicited ones were asked for",
        (),
    ),
}

# Programs that poll a few completions at a time (completions/bounded.c). Case: number of the pattern, whether a message
# comes late, what is lost, level, clause, expectation.
BOUNDED = {
    "drain": (0, 0, 0, "MUST", EXTRA, "to arm, poll until the CQ is empty and wait loses no wake-up"),
    "drain-late": (0, 1, 0, "MUST", EXTRA, "nor when a message comes between arm and poll: the event is there"),
    "budget": (1, 0, 0, "MUST", EXTRA, "to wait only if an armed CQ was empty loses no wake-up"),
    "budget-late": (1, 1, 0, "MUST", EXTRA, "nor when a message comes between arm and last poll"),
    "arm-first": (
        2, 0, 1, "SHOULD", "ibv_req_notify_cq/DESCRIPTION/any",
        "to arm and then poll a few loses the wake-up: no event for what an event has reported, one with the next message",
    ),
    "arm-last": (
        3, 1, 2, "SHOULD", "ibv_req_notify_cq/DESCRIPTION/any",
        "a message between the last poll and the arm has its event at once or with the next message",
    ),
}  # fmt: skip


class Queues(Suite):
    def cases(self):
        for suite in (self._full, self._states, self._srq, self._completions):
            yield from suite()

    def _full(self):
        for qpt in CONNECTED + ("RAW_PACKET",):
            name = "SEND" if qpt in ("UD", "RAW_PACKET") else "RDMA_WRITE"
            yield Case(
                suite="full",
                qpt=qpt,
                case="send-queue",
                scenario="sq_full",
                says="as many requests as were granted are taken while none was polled, a later one is refused and named "
                "by bad_wr; all that were taken are executed, and then there is room for as many again",
                expect=Expect(MAX_SEND, errata=("QUEUE-FULL",)),
                wrs=(self.work(name, qpt, size=64),),
            )
        for qpt in RELIABLE + ("UC",):
            yield Case(
                suite="full",
                qpt=qpt,
                case="region",
                scenario="region_full",
                says="a critical region that does not fit is refused as a whole, and the next one works; one of as many requests as "
                "were granted is taken, and another one when all of these have completed",
                expect=Expect(FAILURE, errata=("QUEUE-FULL",)),
                wrs=(self.work("RDMA_WRITE", qpt, size=64),),
                ask=("SEND", "RDMA_WRITE"),
            )
        for qpt in ("RC", "UC", "UD"):
            for srq in (0, 1) if qpt != "UC" else (0,):
                yield Case(
                    suite="full",
                    qpt=qpt,
                    case="shared-receive-queue" if srq else "receive-queue",
                    scenario="recv_full",
                    says="as many receives as were granted are taken, a later one is refused and named by bad_wr",
                    expect=Expect(MAX_RECV, errata=("QUEUE-FULL",)),
                    args={"srq": srq},
                    needs=("srq",) if srq else (),
                )

    def _states(self):
        yield Case(
            suite="state",
            qpt="RC",
            case="after-reset",
            scenario="after_reset",
            says="a QP that was in RESET has no receives, and takes as many sends and receives as were granted",
            expect=Expect(QP_STATE, errata=("QP-RECYCLE",)),
        )
        for qpt in CONNECTED:
            for state, short_of in SHORT_OF.items():
                for api, scenario in (("post", "send_early"), ("wr", "region_early")):
                    yield Case(
                        suite="state",
                        qpt=qpt,
                        case=f"{state}-{api}",
                        scenario=scenario,
                        says=f"a send in {state.upper()} is refused, and is not executed once the QP is in RTS",
                        expect=Expect(STATE, errata=("POST-IN-RESET",)),
                        wrs=(self.work("SEND", qpt),),
                        args={"short_of": short_of},
                    )
        for qpt in ("RC", "UC", "UD"):
            yield Case(
                suite="state",
                qpt=qpt,
                case="recycle",
                scenario="recycle",
                says="after ERR and RESET both QPs come up again and carry SENDs, three times",
                expect=Expect(QP_STATE, errata=("QP-RECYCLE",)),
                wrs=(self.work("SEND", qpt),),
            )

    def _srq(self):
        limit, resize = "ibv_modify_srq/NOTES/limit", "ibv_modify_srq/DESCRIPTION/IBV_SRQ_MAX_WR"
        drain = "ibv_get_async_event/DESCRIPTION/IBV_EVENT_QP_LAST_WQE_REACHED"
        kinds = (
            (
                "limit",
                "srq_limit",
                limit,
                (),
                "one limit event when fewer receives than the limit are left, not before",
            ),
            (
                "limit-refused",
                "srq_limit_refused",
                "ibv_modify_srq/NOTES/none-modified",
                (),
                "a limit above the size is refused, nothing has changed, the queue works",
            ),
            (
                "resize",
                "srq_resize",
                resize,
                (),
                "what was posted is still there, the new size holds, one that is just enough is taken, one below is refused",
            ),
            (
                "shared",
                "srq_shared",
                SRQ_RECV,
                ("COMPLETION-ORDER",),
                "messages of four QPs take the receives in order",
            ),
        )
        kinds += (
            (
                "limits",
                "srq_limits",
                "ibv_query_srq/NOTES/srq_limit",
                (),
                "each limit causes one event when fewer receives are left, and is 0 then; one that was replaced or "
                "withdrawn causes none",
            ),
            (
                "attributes",
                "srq_attributes",
                "ibv_create_srq/DESCRIPTION/granted",
                (),
                "SRQs up to the device's limits are created, larger ones are not; one that a QP uses is not destroyed; "
                "attributes that are refused change nothing",
            ),
            (
                "out-of-order",
                "srq_out_of_order",
                "ibv_post_srq_recv/NOTES/buffers",
                (),
                "the message is where wr_id says, also if two QPs receive at the same time and receives end in another "
                "order than they were posted",
            ),
            (
                "held",
                "srq_held",
                "ibv_post_srq_recv/NOTES/buffers",
                (),
                "a receive that is not polled while twice as many as the queue holds are posted and end keeps its wr_id and its buffer",
            ),
        )
        for qpt in ("RC", "UD"):
            for case, scenario, clause, errata, says in kinds:
                yield self._shared(qpt, case, scenario, clause, errata, says)
        yield Case(
            suite="sges",
            qpt="RC",
            case="srq-shorter",
            scenario="srq_shorter",
            says="a receive of one SGE, where one of two was posted before, refuses a message that is longer, and nothing of "
            "it is written behind the SGE",
            expect=Expect(SRQ_RECV, errata=("FAILURE-STATUS",), status="REM_INV_REQ_ERR"),
            wrs=(self.work("SEND", "RC"),),
            needs=("srq",),
        )
        says = "IBV_EVENT_QP_LAST_WQE_REACHED for the QP that goes to ERR, also the second time; the receives stay for the other QP"
        yield self._shared("RC", "drain", "srq_drain", drain, ("SRQ-DRAIN",), says)

    def _shared(self, qpt, case, scenario, clause, errata, says):
        return Case(
            suite="srq",
            qpt=qpt,
            case=case,
            scenario=scenario,
            says=says,
            expect=Expect(clause, errata=errata, also=ALSO.get(case, ())),
            wrs=(self.work("SEND", qpt),),
            args={"most": 1000} if qpt == "UD" else {},
            needs=("srq",),
        )

    def _completions(self):
        for qpt in ("RC", "UC"):
            says = "IBV_EVENT_CQ_ERR for the CQ into which more completions come than it holds"
            overrun = "ibv_poll_cq/NOTES/overrun"
            yield self._event("overrun", qpt, "event", "cq_overrun", overrun, says, name="RDMA_WRITE")
        for qpt in ("RC", "UC", "UD"):
            yield from self._notify(qpt)
            says = "never more entries than asked for, in order, each once, nothing written beyond them"
            removed = "ibv_poll_cq/NOTES/removed"
            yield self._event(
                "poll", qpt, "several", "poll_many", removed, says, 7, also=POLLED, flags=SOLICITED_TOO
            )
        for case, kind in BOUNDED.items():
            for ex in (0, 1):
                yield self._bounded(case + ("-ex" if ex else ""), ex, *kind)
        yield from self._datagrams()

    @staticmethod
    def _bounded(case, ex, pattern, late, lost, level, clause, says):
        return Case(
            suite="notify",
            qpt="RC",
            case=f"bounded-{case}",
            scenario="bounded_poll",
            says=says,
            expect=Expect(clause, level=level, errata=("NOTIFY-ORDER",) if lost else ()),
            args={"ex": ex, "pattern": pattern, "late": late, "lost": lost},
        )

    def _notify(self, qpt):
        for case, (scenario, clause, says, also) in NOTIFY.items():
            yield self._event("notify", qpt, case, scenario, clause, says, also=also)
        if qpt != "UD":
            scenario, clause, says, also = NOTIFY["solicited-only"]
            says += ", of RDMA WRITE with immediate data"
            yield self._event(
                "notify",
                qpt,
                "solicited-write",
                scenario,
                clause,
                says,
                name="RDMA_WRITE_WITH_IMM",
                also=also,
            )
        says = "no event before as many completions have come as cq_count says, and one then"
        yield self._event("notify", qpt, "moderated", "event_moderated", MODERATE, says, level="SHOULD")
        says = "each completion has a time later than that of the one before, between those of the clock"
        yield self._event("notify", qpt, "timestamps", "timestamps", TIMESTAMP, says, errata=("TIMESTAMP",))

    def _datagrams(self):
        for ex in (0, 1):
            yield Case(
                suite="datagram",
                qpt="UD",
                case="fields-ex" if ex else "fields",
                scenario="datagram",
                says="IBV_WC_GRH, src_qp, sl and path bits are right, the first 40 bytes hold sender and receiver, and an "
                "address handle made of them reaches the sender",
                expect=Expect(
                    "ibv_poll_cq/DESCRIPTION/IBV_WC_GRH",
                    errata=("GRH-ROCE",),
                    also=("ibv_post_recv/NOTES/grh",),
                ),
                wrs=(self.work("SEND", "UD"),),
                args={"ex": ex},
            )

        yield Case(
            suite="datagram",
            qpt="UD",
            case="wrong-qkey",
            scenario="wrong_qkey",
            says="the request completes, and nothing arrives; a datagram with the right Q_Key does",
            expect=Expect("ibv_modify_qp/DESCRIPTION/qkey", errata=("QKEY",)),
            wrs=(self.work("SEND", "UD", size=64),),
        )
        yield Case(
            suite="datagram",
            qpt="UD",
            case="own-qkey",
            scenario="own_qkey",
            says="with the most significant bit of remote_qkey set the datagram has the Q_Key of the QP that sends it, and arrives",
            expect=Expect("ibv_modify_qp/DESCRIPTION/qkey", level="SHOULD", errata=("QKEY-OWN",)),
            wrs=(self.work("SEND", "UD", size=64),),
        )

    def _event(
        self,
        suite,
        qpt,
        case,
        scenario,
        clause,
        says,
        number=1,
        name="SEND",
        level="MUST",
        errata=(),
        also=(),
        flags=SIGNALED,
    ):
        return Case(
            suite=suite,
            qpt=qpt,
            case=case,
            scenario=scenario,
            says=says,
            expect=Expect(clause, level=level, errata=errata, also=also),
            wrs=tuple(self.work(name, qpt, flags if i == number - 1 else SIGNALED) for i in range(number)),
        )
