# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The suite about connections of rdma_cm: parameters, private data, refusals."""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import Case, Suite, cm_case

CONNECT, ACCEPT, EVENT = (
    "rdma_connect/CONNECTION-PROPERTIES/",
    "rdma_accept/",
    "rdma_get_cm_event/CONN-EVENT-DATA/",
)
TYPES, STATUS = "rdma_get_cm_event/EVENT-TYPES/", "rdma_get_cm_event/EVENT-DATA/status"
UD_EVENT = "rdma_get_cm_event/UD-EVENT-DATA/"
FIELDS = ("initiator_depth", "flow_control", "retry_count", "rnr_retry_count", "srq", "qp_num")

# Most bytes of private data, of a request and of an answer, on InfiniBand and RoCE.
ASK, REPLY = 56, 196


# Suite, case, scenario, what is tested, clauses.
IDS = (
    (
        "connect",
        "second-qp",
        "id_second_qp",
        "a second rdma_create_qp() of an id fails with an errno, and the id keeps its QP",
        Expect("rdma_create_qp/NOTES/single", also=("rdma_cm/RETURN-CODES/errno",)),
    ),
    (
        "connect",
        "unconnected",
        "id_unconnected",
        "rdma_disconnect() of an id without a device fails with an errno",
        Expect("rdma_cm/RETURN-CODES/errno"),
    ),
    (
        "connect",
        "one-cq",
        "id_one_cq",
        "a QP uses the one CQ that its id has for both directions, and rdma_destroy_qp() destroys it once",
        Expect("rdma_create_qp/NOTES/cqs"),
    ),
    (
        "connect",
        "limits",
        "id_limits",
        "rdma_connect() and rdma_accept() refuse more RDMA READs than the device has, either way",
        Expect(
            CONNECT + "responder_resources",
            also=(CONNECT + "initiator_depth", ACCEPT + "CONNECTION-PROPERTIES/responder_resources"),
        ),
    ),
    (
        "connect",
        "qp-refused",
        "id_failing_qp",
        "rdma_create_qp() of too many SGEs has the errno of ibv_create_qp(), and leaves no CQ; the next one works",
        Expect("rdma_create_qp/RETURN-VALUE", also=("rdma_cm/RETURN-CODES/errno",)),
    ),
    (
        "connect",
        "bound",
        "id_bound",
        "an id that is bound to an address has a port, a device and a GID at once",
        Expect("rdma_bind_addr/NOTES/port", also=("rdma_bind_addr/DESCRIPTION/device",)),
    ),
    (
        "connect",
        "source-family",
        "id_source_family",
        "rdma_resolve_addr() refuses a source address of an unknown family with an errno",
        Expect("rdma_resolve_addr/RETURN-VALUE"),
    ),
    (
        "connect",
        "own-srq",
        "id_own_srq",
        "rdma_create_qp() uses the SRQ of its id",
        Expect("rdma_create_srq/DESCRIPTION"),
    ),
    (
        "connect",
        "server-sends",
        "id_server_sends",
        "after rdma_accept() the server's QP is in RTS and takes a send, before any event",
        Expect("rdma_create_qp/NOTES/transitions"),
    ),
    (
        "connect",
        "client-fails",
        "id_client_fails",
        "RDMA_CM_EVENT_CONNECT_ERROR with a status is the last event of a client whose QP fails",
        Expect(TYPES + "CONNECT_ERROR", also=(STATUS,)),
    ),
    (
        "endpoint",
        "both-ways",
        "ep_both_ways",
        "two connections of one rdma_create_ep() listener have their own QP and CQs, and a message passes each way",
        Expect(
            "rdma_create_ep/NOTES/passive",
            also=(
                "rdma_create_ep/NOTES/active",
                "rdma_create_id/NOTES/synchronous",
                "rdma_post_send/RETURN-VALUE",
                "rdma_get_recv_comp/RETURN-VALUE",
            ),
        ),
    ),
    (
        "endpoint",
        "refused",
        "ep_refused",
        "a synchronous rdma_connect() that is rejected fails with ECONNREFUSED",
        Expect("rdma_connect/RETURN-VALUE", also=("rdma_cm/RETURN-CODES/errno",)),
    ),
    (
        "endpoint",
        "no-address",
        "ep_no_address",
        "a synchronous rdma_resolve_addr() of an absent address fails, with the event's status as errno",
        Expect("rdma_resolve_addr/RETURN-VALUE", also=(STATUS,)),
    ),
    (
        "endpoint",
        "no-hints",
        "ep_no_hints",
        "rdma_getaddrinfo() without hints finds a numeric address and port",
        Expect("rdma_getaddrinfo/DESCRIPTION"),
    ),
    (
        "connect",
        "group",
        "id_group",
        "rdma_leave_multicast() returns 0 for a group of the id, and fails with an errno for any other",
        Expect("rdma_leave_multicast/RETURN-VALUE"),
    ),
    (
        "endpoint",
        "resolve-name",
        "ep_resolve_name",
        "a synchronous rdma_resolve_addrinfo() of a numeric address returns 0",
        Expect("rdma_resolve_addrinfo/RETURN-VALUE", also=("rdma_create_id/NOTES/synchronous",)),
    ),
)


class Connection(Suite):
    def cases(self):
        yield cm_case(
            "connect",
            "parameters",
            "connect_parameters",
            "each side's event has the parameters of the other one, and both QPs have those of the answer",
            Expect(
                EVENT + "responder_resources",
                also=(
                    *(EVENT + name for name in FIELDS),
                    CONNECT + "adjust",
                    CONNECT + "retry_count",
                    CONNECT + "rnr_retry_count",
                    CONNECT + "qp_num",
                ),
            ),
        )
        yield cm_case(
            "connect",
            "no-parameters",
            "connect_nothing",
            "an answer without parameters takes responder_resources and initiator_depth of the request",
            Expect(ACCEPT + "CONNECTION-PROPERTIES/NULL"),
        )
        yield cm_case(
            "connect",
            "private-data",
            "connect_data",
            f"0, 1 and the most bytes arrive, {ASK} of a request and {REPLY} of an answer, with zeros behind them; one more is refused",
            Expect(
                EVENT + "private_data",
                also=(
                    EVENT + "zeroed",
                    "rdma_connect/INFINIBAND-SPECIFIC/private_data",
                    ACCEPT + "INFINIBAND-SPECIFIC/private_data",
                ),
            ),
            request=ASK,
            answer=REPLY,
        )
        yield cm_case(
            "connect",
            "refused",
            "connect_refused",
            "RDMA_CM_EVENT_REJECTED with the reason of a refusal and the data that rdma_reject() was given",
            Expect("rdma_reject/NOTES/private_data", also=(TYPES + "REJECTED",)),
        )
        yield cm_case(
            "connect",
            "ended",
            "connect_ended",
            "after rdma_disconnect() by either side both sides have RDMA_CM_EVENT_DISCONNECTED, and their QPs are in ERR",
            Expect("rdma_disconnect/DESCRIPTION/event"),
        )
        yield cm_case(
            "connect",
            "backlog",
            "connect_backlog",
            "one request after another comes to a listener, more than its backlog: each of them was taken before the next",
            Expect("rdma_listen/ARGUMENTS/backlog"),
        )
        yield cm_case(
            "connect",
            "numbers",
            "connect_numbers",
            "without QPs each side's event has the qp_num and the srq that the other one gave",
            Expect(EVENT + "qp_num", also=(EVENT + "srq",)),
        )
        for row in IDS:
            yield cm_case(*row)
        yield from self._datagrams()
        yield Case(
            "inline",
            "RC",
            "work-queue",
            "inline_work_queue",
            "a work queue has the context that ibv_create_wq() was given",
            Expect("ibv_create_wq/RETURN-VALUE"),
            needs=("work_queues",),
        )
        yield Case(
            "inline",
            "RC",
            "old-provider",
            "inline_old_provider",
            "ibv_destroy_flow() of a context without extended verbs returns EOPNOTSUPP",
            Expect("ibv_create_flow/RETURN-VALUE/destroy"),
        )

    def _datagrams(self):
        yield self._datagram(
            "no-service",
            "ep_no_service",
            "RDMA_CM_EVENT_UNREACHABLE of a port without listener has a status, which is errno",
            Expect(TYPES + "UNREACHABLE", also=(STATUS, "rdma_connect/RETURN-VALUE")),
        )
        for bare, case in ((0, "datagrams"), (1, "datagrams-no-qp")):
            yield self._datagram(
                case,
                "ep_datagrams",
                "rdma_accept() returns, the listener can be destroyed, and the client's event says where to send",
                Expect(
                    UD_EVENT + "ah_attr",
                    also=(UD_EVENT + "qp_num", UD_EVENT + "qkey", "rdma_accept/DESCRIPTION/datagram"),
                ),
                bare=bare,
            )

    @staticmethod
    def _datagram(case, scenario, says, expect, **args):
        return Case("endpoint", "UD", case, scenario, says, expect, args=args, needs=("rdma_cm",))
