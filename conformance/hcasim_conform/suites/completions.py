# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Suites about a completion queue alone: its size, what is polled, and what is reported of it."""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import Case, Suite

RESIZE = "ibv_resize_cq/DESCRIPTION/unpolled"
CQE = "ibv_resize_cq/NOTES/cqe"
FIRST = "ibv_poll_cq/DESCRIPTION/first"
ITERATOR = "ibv_create_cq_ex/DESCRIPTION/ibv_next_poll"
EMPTY = "ibv_create_cq_ex/DESCRIPTION/ibv_start_poll"
ANY = "ibv_req_notify_cq/DESCRIPTION/any"
MODERATE = "ibv_modify_cq/DESCRIPTION/cq_count"
CREATE = "ibv_create_cq/DESCRIPTION/cqe"
CREATE_EX = "ibv_create_cq_ex/DESCRIPTION/flags"
DOMAIN = "ibv_create_cq_ex/DESCRIPTION/parent_domain"
WALLCLOCK = "ibv_create_cq_ex/DESCRIPTION/ibv_wc_read_completion_wallclock_ns"
EVENT = "ibv_get_cq_event/DESCRIPTION/cq_context"
ACK = "ibv_get_cq_event/NOTES/acks"

# Case: scenario, clause, level, errata, whether there is one for each way of polling, expectation.
KINDS = (
    ("resize", "resize_kept", CQE, "MUST", (), True,
     "larger, smaller and exactly sufficient, with entries at every place of the ring that are not polled, and with some "
     "that come meanwhile: all are polled, in order, and the new size holds"),
    ("resize-armed", "resize_armed", ANY, "MUST", (), True,
     "a request of notification outlives a resize, and has one event"),
    ("resize-full", "resize_full", RESIZE, "SHOULD", ("RESIZE-FULL",), True,
     "a CQ full of entries that are not polled is resized, or refused and as before: all are polled, in order, and it still works"),
    ("resize-refused", "resize_refused", RESIZE, "SHOULD", ("RESIZE-TOO-SMALL",), False,
     "EINVAL for fewer entries than are not polled, none, and more than max_cqe; nothing has changed"),
    ("resize-others", "resize_others", CQE, "MUST", (), False,
     "CQs that were resized are destroyed, and CQs of the size that they had keep their entries and still work"),
    ("counts", "poll_counts", FIRST, "MUST", ("COMPLETION-ORDER",), True,
     "any number is polled at a time, at every place of the ring, each completion once and with its own fields"),
    ("numbers", "poll_numbers", FIRST, "MUST", ("COMPLETION-ORDER",), False,
     "0, 1, several, and more than there are: as many as asked for, or all that are there"),
    ("edges", "batch_edges", EMPTY, "SHOULD", ("POLL-ATTR",), False,
     "ENOENT of an empty CQ from start and next, a refusal of an unknown attribute, and the CQ still works"),
    ("threads", "batch_threads", ITERATOR, "SHOULD", ("POLL-LOCK",), False,
     "another thread polls after the batch, and each completion is polled once"),
    ("locked", "batch_locked", ITERATOR, "SHOULD", ("POLL-LOCK",), False,
     "the same of CQs of ibv_create_cq_ex with every attribute but IBV_CREATE_CQ_ATTR_SINGLE_THREADED or a thread domain"),
    ("turns", "batch_turns", FIRST, "MUST", ("COMPLETION-ORDER",), True,
     "a CQ is filled and emptied by one poll, four times, and is never polled when it is empty: no completion is lost"),
    ("order", "notify_order", ANY, "MUST", ("NOTIFY-ORDER",), True,
     "any and solicited in both orders, repeated, and after each event: events for exactly what was asked for"),
    ("doorbells", "many_doorbells", ANY, "MUST", (), False,
     "requests of three QPs and requests of notification that follow hundreds of others at once are carried out"),
    ("shared-channel", "notify_shared", EVENT, "MUST", (), False,
     "three CQs of one channel and of different vectors: each event names its CQ and the context of that"),
    ("acknowledged", "notify_acked", ACK, "MUST", (), False,
     "three events are acknowledged in one call, and the CQ can be destroyed"),
    ("moderation", "moderation", MODERATE, "SHOULD", ("MODERATION",), False,
     "an event after the count or the period, also when they are changed while completions are held back"),
    ("sizes", "create_sizes", CREATE, "SHOULD", ("CQ-LIMITS",), False,
     "at least as many entries as asked for, max_cqe included, and each of them is used; EINVAL beyond the limits"),
    ("flags", "create_flags", CREATE_EX, "SHOULD", ("CQ-LIMITS",), False,
     "flags that verbs.h defines are accepted or not supported, others are refused"),
    ("parent-domain", "create_domain", DOMAIN, "SHOULD", ("PARENT-BUSY",), False,
     "a CQ of a parent domain works, and the domain cannot be deallocated before it"),
)  # fmt: skip

# What removes or moves entries, in the order of completions/excluded.c, and what it needs.
EXCLUDED = {
    "reset": (),
    "destroy": (),
    "resize": (),
    "reset-wq": ("work_queues",),
    "destroy-wq": ("work_queues",),
    "destroy-srq": ("srq", "operations/XRC_SEND/SEND"),
}

ASYNC = "ibv_get_async_event/DESCRIPTION/IBV_EVENT_"

# Case: scenario, event, status of the request, expectation.
EVENTS = (
    ("established", "async_established", "COMM_EST", None, "for the QP in RTR for which a message came, and not for another one"),
    ("drained", "async_drained", "SQ_DRAINED", None, "for the QP that asked for it when it went to SQD, twice, and not for another one"),
    ("access", "async_refused", "QP_ACCESS_ERR", "REM_ACCESS_ERR", "for the responder's QP whose peer used a wrong rkey"),
    ("request", "async_refused", "QP_REQ_ERR", "REM_INV_REQ_ERR", "for the responder's QP that got an atomic that is not aligned"),
    ("overrun", "async_overrun", "CQ_ERR", None, "for the CQ of receives that are too many, IBV_EVENT_QP_FATAL for their QP; another CQ works"),
)  # fmt: skip

MIX = ("RDMA_WRITE", "SEND_WITH_IMM", "RDMA_READ", "SEND", "RDMA_WRITE_WITH_IMM", "ATOMIC_FETCH_AND_ADD")


FULL = "no CQ has an error while that of a QP's requests is full and its receives complete into another one"


class Completions(Suite):
    def cases(self):
        for kind in KINDS:
            yield from self._kind(*kind)
        says = "receives, sends of every kind, a failure and flushed requests of two QPs: each has the fields of its own"
        for ex in (0, 1):
            yield self._case(
                "mixed", "batch_mixed", Expect(ITERATOR if ex else FIRST, errata=("FAILURE-STATUS",)), says, ex,
                tuple(self.work(name, "RC", size=100 + 10 * at) for at, name in enumerate(MIX))
            )  # fmt: skip
            for srq in (0, 1):
                yield self._case(
                    "reset-srq" if srq else "reset",
                    "purge",
                    Expect("ibv_poll_cq/NOTES/removed", level="SHOULD", errata=("CQ-PURGE",)),
                    "entries of a QP that is reset or destroyed are gone, those of the other QP are polled, in order",
                    ex,
                    srq=srq,
                )

        yield self._case(
            "namesake",
            "namesake",
            Expect("ibv_poll_cq/NOTES/removed", level="SHOULD", errata=("CQ-PURGE",)),
            "entries of a QP that is destroyed do not turn up for a new QP with its number",
            0,
        )
        yield self._case("wallclock", "wallclock", Expect(WALLCLOCK, level="SHOULD"), "each completion has the time of "
                         "the system's clock when it came, also when several are polled in one batch", 1, many=False)  # fmt: skip
        yield self._case("wallclock-single", "wallclock", Expect(WALLCLOCK, level="SHOULD"), "the same of a CQ that is polled "
                         "by one thread, IBV_CREATE_CQ_ATTR_SINGLE_THREADED", 1, many=False, single=1)  # fmt: skip
        yield from self._excluded()
        yield from self._events()

    def _excluded(self):
        for act, (case, needs) in enumerate(EXCLUDED.items()):
            yield Case(
                suite="cq",
                qpt="RC",
                case=f"excludes-{case}",
                scenario="batch_excludes",
                says="another thread's call waits for the end of the batch, whose completions are polled, in order",
                expect=Expect(ITERATOR, level="SHOULD", errata=("POLL-LOCK",)),
                args={"act": act, "ex": 1},
                needs=needs,
            )

    def _events(self):
        for case, scenario, event, status, says in EVENTS:
            yield self._event(case, scenario, event, status, f"IBV_EVENT_{event} {says}")
        yield self._event("full", "async_full", "CQ_ERR", None, FULL)

    @staticmethod
    def _event(case, scenario, event, status, says):
        return Case(
            suite="async",
            qpt="RC",
            case=case,
            scenario=scenario,
            says=says,
            expect=Expect(ASYNC + event, level="SHOULD", errata=("ASYNC-WHEN",), status=status),
            args={"access": int(case == "access")},
        )

    def _kind(self, case, scenario, clause, level, errata, both, says):
        for ex in (0, 1) if both else (1 if scenario.startswith("batch") else 0,):
            yield self._case(case, scenario, Expect(clause, level=level, errata=errata), says, ex, many=both)

    @staticmethod
    def _case(case, scenario, expect, says, ex, wrs=(), srq=0, many=True, **args):
        return Case(
            suite="cq",
            qpt="RC",
            case=case + ("-ex" if ex and many else ""),
            scenario=scenario,
            says=says,
            expect=expect,
            wrs=wrs,
            args={"ex": ex, "srq": srq, **args},
            needs=("srq",) if srq else (),
        )
