# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The suite about connections of rdma_cm: parameters, private data, refusals."""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import Suite, cm_case

CONNECT, ACCEPT, EVENT = (
    "rdma_connect/CONNECTION-PROPERTIES/",
    "rdma_accept/",
    "rdma_get_cm_event/CONN-EVENT-DATA/",
)
FIELDS = ("initiator_depth", "flow_control", "retry_count", "rnr_retry_count", "srq", "qp_num")

# Most bytes of private data, of a request and of an answer, on InfiniBand and RoCE.
ASK, REPLY = 56, 196


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
            "RDMA_CM_EVENT_REJECTED, with the data that rdma_reject() was given",
            Expect("rdma_reject/NOTES/private_data"),
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
