# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The suite about work queues, tables of them, and QPs that spread frames over a table."""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import Case, Suite

# Case: (scenario, clause, further clauses, expectation, errata).
CASES = {
    "live": (
        "wq_live",
        "ibv_create_wq/DESCRIPTION/granted",
        ("ibv_modify_wq/DESCRIPTION/wq_state",),
        "a work queue takes as many receives as it was granted, each of as many SGEs, and refuses one more; in RESET it refuses "
        "all, in ERR it flushes them in order; RESET and destruction forget what is posted and completed",
        ("WQ-STATES",),
    ),
    "namesake": (
        "wq_namesake",
        "ibv_poll_cq/NOTES/removed",
        (),
        "completions of a work queue that is destroyed do not turn up for a new one with its number",
        ("CQ-PURGE",),
    ),
    "creation": (
        "wq_creation",
        "ibv_create_wq/RETURN-VALUE",
        ("ibv_create_wq/RETURN-VALUE/destroy",),
        "a type, flag, member or size that the device does not have is refused with an errno; PD and CQ of a work queue are not "
        "destroyed",
        ("WQ-STATES",),
    ),
    "domains": (
        "domain_work_queues",
        "ibv_alloc_pd/NOTES/busy",
        (),
        "a PD and a parent domain, with an allocator that gives memory or declines, are not deallocated before their work queue",
        ("HELD", "PARENT-BUSY"),
    ),
    "states": (
        "wq_states",
        "ibv_modify_wq/DESCRIPTION/curr_wq_state",
        ("ibv_modify_wq/RETURN-VALUE",),
        "a curr_wq_state that is not that of the queue, a state, attribute or flag that is none, and transitions that do not exist "
        "are refused, and the queue stays in its state",
        ("WQ-STATES",),
    ),
    "tables": (
        "wq_tables",
        "ibv_create_rwq_ind_table/RETURN-VALUE",
        (),
        "tables of all sizes up to the limit of the device, and none beyond; work queues in a table, and a table with a QP, are not "
        "destroyed; a QP over a table needs a PD, a table, and a hash that the device has",
        ("RSS-HASH",),
    ),
    "hash": (
        "rss_fields",
        "ibv_create_qp_ex/DESCRIPTION/rx_hash_fields_mask",
        ("ibv_create_rwq_ind_table/NOTES/hash",),
        "each frame arrives in the work queue that the hash of its fields names, for sets of fields of IPv4, IPv6, TCP and UDP",
        ("RSS-HASH",),
    ),
    "drops": (
        "rss_drops",
        "ibv_create_wq/DESCRIPTION/IBV_WQ_FLAGS_DELAY_DROP",
        (),
        "frames to a work queue that is not in RDY, or has no receive, are dropped, and others arrive",
        ("WQ-STATES", "RSS-HASH"),
    ),
    "overrun": (
        "rss_overrun",
        "ibv_get_async_event/DESCRIPTION/IBV_EVENT_CQ_ERR",
        (),
        "when the CQ of a work queue overruns, IBV_EVENT_CQ_ERR and IBV_EVENT_WQ_FATAL name the two, and other work queues go on",
        ("ASYNC-WHEN", "WQ-STATES"),
    ),
}


class WorkQueues(Suite):
    def cases(self):
        for case, (scenario, clause, also, says, errata) in CASES.items():
            yield Case(
                suite="wq",
                qpt="RAW_PACKET",
                case=case,
                scenario=scenario,
                says=says,
                expect=Expect(clause, level="SHOULD", errata=errata, also=also),
                needs=("work_queues",),
            )
