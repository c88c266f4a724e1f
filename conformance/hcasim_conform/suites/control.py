# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Objects and queries that carry no request: what they say, what they refuse, and what depends on what."""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import Case, Suite

# Case: (QP type, scenario, clause, expectation, level, needed capabilities).
CASES = {
    "device": (
        "RC",
        "device",
        "ibv_query_device/RETURN-VALUE",
        "both queries agree, limits are plausible and agree with the flags, a caller with a shorter structure gets no more",
        "MUST",
        (),
    ),
    "ports": (
        "RC",
        "ports",
        "ibv_query_gid/RETURN-VALUE",
        "ports, GIDs and P_Keys: each query agrees with the others; what is not there fails as its page says",
        "MUST",
        (),
    ),
    "clock": (
        "RC",
        "clock_values",
        "ibv_query_rt_values_ex/RETURN-VALUE",
        "the raw clock runs; a value that was not asked for is not written, one that is unknown is refused or not reported",
        "MUST",
        (),
    ),
    "strings": (
        "RC",
        "strings",
        "ibv_event_type_str/RETURN-VALUE",
        "each asynchronous event has a string of its own",
        "MUST",
        (),
    ),
    "busy": (
        "RC",
        "busy",
        "ibv_alloc_pd/NOTES/busy",
        "a PD with a region, an address handle, an SRQ or a QP, and a CQ with a QP, are not destroyed, and work afterwards",
        "SHOULD",
        ("srq",),
    ),
    "parent-domains": (
        "RC",
        "parents",
        "ibv_alloc_parent_domain/DESCRIPTION/interchangeable",
        "objects of parent domains work; neither the PD nor the thread domain is deallocated before them; unknown members "
        "of comp_mask are refused",
        "SHOULD",
        ("srq",),
    ),
    "allocators": (
        "RC",
        "allocators",
        "ibv_alloc_parent_domain/ARGUMENTS/alloc",
        "a parent domain's allocator gives memory, declines, or fails at each of its calls: what needs the memory is not "
        "created, and all memory is freed with the arguments with which it was allocated",
        "MUST",
        ("srq",),
    ),
    "many-queues": (
        "RC",
        "many_queues",
        "ibv_query_device/NOTES/limits",
        "queues of many sizes are there at a time, and each carries its own messages, also after half of them were replaced",
        "SHOULD",
        (),
    ),
    "queue-numbers": (
        "RC",
        "queue_numbers",
        "ibv_query_device/NOTES/limits",
        "two queues whose numbers differ only above the lowest 12 bits, as they do where thousands are there: each carries its "
        "own messages",
        "SHOULD",
        (),
    ),
    "srq-numbers": (
        "RC",
        "srq_numbers",
        "ibv_query_device/NOTES/limits",
        "SRQs whose numbers are powers of two receive messages after hundreds of others, of several sizes, came and went",
        "SHOULD",
        ("srq",),
    ),
    "srq-grows": (
        "RC",
        "srq_grows",
        "ibv_modify_srq/DESCRIPTION/IBV_SRQ_MAX_WR",
        "an SRQ whose receives have all been used is made larger: each of those that are posted then is used once, in order",
        "SHOULD",
        ("srq",),
    ),
    "queue-handles": (
        "RC",
        "queue_handles",
        "ibv_query_device/NOTES/limits",
        "a QP with the number that was the handle of a work queue carries its messages after that was destroyed",
        "SHOULD",
        ("work_queues",),
    ),
    "xrc-domains": (
        "XRC_SEND",
        "xrc_domains",
        "ibv_open_xrcd/DESCRIPTION/O_EXCL",
        "a domain is that of its file, until its last user closes it; O_CREAT and O_EXCL",
        "MUST",
        (),
    ),
    "open_qp": (
        "XRC_SEND",
        "opened_qp",
        "ibv_open_qp/NOTES/not-exist",
        "two handles of an XRC_RECV QP: attributes that are set by one are reported by the other; the QP lives until both are "
        "destroyed; a wrong number, type or domain is refused",
        "MUST",
        (),
    ),
    "reg_mr": (
        "RC",
        "registration",
        "ibv_reg_mr/DESCRIPTION/local-write",
        "every set of rights is granted, or refused if it has remote and not local write access; so is what is no memory",
        "MUST",
        ("memory_windows/2",),
    ),
    "dma-buf": (
        "RC",
        "dma_buf",
        "ibv_reg_mr/RETURN-VALUE/lkey",
        "what is written at the addresses from a region's iova on is in its dma-buf from the offset on; nothing is written beyond its "
        "length",
        "MUST",
        (),
    ),
    "rereg_mr": (
        "RC",
        "reregistration",
        "ibv_rereg_mr/DESCRIPTION/flags",
        "rights, address and PD, alone and together: what is not named stays, and requests see the new ones at once",
        "MUST",
        (),
    ),
    "imports": (
        "RC",
        "imports",
        "ibv_import_device/DESCRIPTION/context",
        "an imported context, with its PD and region, carries requests like the original, at the same time; what is imported goes "
        "without the original, and a region that one of them deregisters is gone for both",
        "MUST",
        ("srq", "imports"),
    ),
    "imports-device-memory": (
        "RC",
        "imports",
        "ibv_import_dm/RETURN-VALUE",
        "device memory that is imported holds what is copied to the original, and the other way round",
        "MUST",
        ("srq", "imports", "device_memory"),
    ),
    "srq-limits": (
        "RC",
        "srq_create",
        "ibv_create_srq/DESCRIPTION/granted",
        "as many receives and SGEs as the device says that it has are granted, one more is refused; so are unknown types and members",
        "SHOULD",
        ("srq",),
    ),
    "srq-sizes": (
        "RC",
        "srq_live",
        "ibv_modify_srq/NOTES/none-modified",
        "an SRQ takes as many receives as it was granted, and reports them; a resize counts at once, one that is refused changes "
        "nothing",
        "MUST",
        ("srq",),
    ),
    "xrc-srq-limits": (
        "XRC_SEND",
        "srq_create",
        "ibv_create_srq/DESCRIPTION/granted",
        "the same of an SRQ of an XRC domain, which needs the domain and a CQ",
        "SHOULD",
        ("srq",),
    ),
    "xrc-srq-sizes": (
        "XRC_SEND",
        "srq_live",
        "ibv_modify_srq/NOTES/none-modified",
        "an SRQ of an XRC domain takes as many receives as it was granted, and has a number",
        "MUST",
        ("srq",),
    ),
    "device-memory": (
        "RC",
        "device_memory",
        "ibv_alloc_dm/RETURN-VALUE",
        "buffers keep their own contents up to their last byte; copies, regions and sizes beyond are refused",
        "MUST",
        ("device_memory",),
    ),
    "address-handles": (
        "UD",
        "address_handles",
        "ibv_create_ah/RETURN-VALUE",
        "a port or GID that is none, and no GRH where the port requires one, are refused; traffic class, flow label and hop "
        "limit of the handle are those of the header that arrives before the datagram",
        "SHOULD",
        (),
    ),
    "flows": (
        "RAW_PACKET",
        "flows",
        "ibv_create_flow/ERRORS/EINVAL",
        "a rule with a port, type, flag, member or specification that is none, or of an RC QP, is refused",
        "MUST",
        (),
    ),
    "flow-fields": (
        "RAW_PACKET",
        "flow_fields",
        "ibv_create_flow/DESCRIPTION/mask",
        "for each field of Ethernet, IPv4, IPv6, TCP and UDP: a frame with the value of the rule is received, none that differs in a "
        "bit of it",
        "MUST",
        (),
    ),
    "flow-in-init": (
        "RAW_PACKET",
        "flow_in_init",
        "ibv_modify_qp/DESCRIPTION/qp_state",
        "a raw QP in INIT with a receive and a flow gets no frame; in RTR it does",
        "MUST",
        (),
    ),
    "flow-types": (
        "RAW_PACKET",
        "flow_types",
        "ibv_create_flow/ERRORS/EINVAL",
        "a specification of a type that does not exist is refused with an errno",
        "MUST",
        (),
    ),
    "multicast": (
        "UD",
        "groups",
        "ibv_create_qp/NOTES/multicast",
        "a QP that is attached to a group is not destroyed and stays as it is; once detached it is",
        "MUST",
        (),
    ),
    "ece": (
        "RC",
        "ece_options",
        "ibv_query_ece/DESCRIPTION/state",
        "a new QP has options of the device's vendor, which can be set; those that are accepted are reported, and accepted again; "
        "another vendor_id and a comp_mask are refused",
        "SHOULD",
        (),
    ),
    "ece-every": (
        "RC",
        "ece_options",
        "ibv_set_ece/ARGUMENTS/accepted",
        "of options with every bit set the device accepts those that it has, and the QP connects",
        "SHOULD",
        (),
    ),
    "rate-limits": (
        "RAW_PACKET",
        "rate_limits",
        "ibv_modify_qp_rate_limit/RETURN-VALUE",
        "limits that the device names are taken, others and unknown members are refused",
        "MUST",
        (),
    ),
}


# Further sentences that a case shows.
ALSO = {
    "imports": (
        "ibv_import_pd/DESCRIPTION/use",
        "ibv_import_mr/DESCRIPTION/unimport",
        "ibv_import_mr/NOTES/addr",
    ),
}
ARGS = {
    "ece-every": {"every": 1},
    "dma-buf": {"less": 0},
    "imports-device-memory": {"device_memory": 1},
    "xrc-srq-limits": {"xrc": 1},
    "xrc-srq-sizes": {"xrc": 1},
}


class Control(Suite):
    def cases(self):
        for case, (qpt, scenario, clause, says, level, needs) in CASES.items():
            yield Case(
                suite="objects",
                qpt=qpt,
                case=case,
                scenario=scenario,
                says=says,
                expect=Expect(clause, level=level, also=ALSO.get(case, ())),
                args=ARGS.get(case, {}),
                needs=needs,
            )
