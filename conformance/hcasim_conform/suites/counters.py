# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Completion counters (rdma-core 65): values, attachment, and what they count."""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import Case, Suite

CREATE = "ibv_create_comp_cntr/"
ATTACH = "ibv_qp_attach_comp_cntr/"
CAPS = "ibv_query_comp_cntr_caps/"
# In the order of enum ibv_qp_attach_comp_cntr_op: True if the peer posts it.
OPS = {
    "send": False,
    "recv": False,
    "rdma-read": False,
    "remote-rdma-read": True,
    "rdma-write": False,
    "remote-rdma-write": True,
}
WRS, BYTES = 0, 1


class Counters(Suite):
    def cases(self):
        yield self._case(
            "values",
            "counter_values",
            "both counts begin at 0, are set and added to apart from each other, and wrap beyond max_value; flags are refused",
            (CREATE + "DESCRIPTION/two",),
            *(
                CREATE + "DESCRIPTION/" + name
                for name in ("set", "set-err", "inc", "inc-err", "read", "read-err")
            ),
            CREATE + "ARGUMENTS/flags",
            CAPS + "ARGUMENTS/max_value",
            CAPS + "ARGUMENTS/max_counters",
        )
        yield self._case(
            "attach",
            "counter_attached",
            "in RESET and INIT only; one counter for an operation of a QP; none is destroyed before the QP",
            (ATTACH + "DESCRIPTION/state",),
            *(ATTACH + name for name in ("DESCRIPTION/most-one", "DESCRIPTION/detach", "ERRORS/EBUSY")),
            CREATE + "DESCRIPTION/destroy",
            CREATE + "ERRORS/EBUSY",
        )
        yield from self._counts()
        yield self._case(
            "failed",
            "counter_failed",
            "a SEND and a receive that are flushed count in the error counts, and not in the others",
            (CREATE + "DESCRIPTION/two", "COUNTED"),
        )
        yield self._case(
            "two-qps",
            "counter_shared",
            "a counter of two QPs has the sum",
            (ATTACH + "DESCRIPTION/several",),
        )

    def _counts(self):
        """One operation of a QP that is connected to itself, and a second counter for all the others."""
        says = "counts one of them, its {}, and a second counter what is left"
        for op, (name, remote) in enumerate(OPS.items()):
            which = ATTACH + ("DESCRIPTION/remote" if remote else "DESCRIPTION/local")
            for kind, clause in ((WRS, "ARGUMENTS/WRS"), (BYTES, "ARGUMENTS/BYTES")):
                yield self._case(
                    f"{name}-{'bytes' if kind else 'wrs'}",
                    "counter_counts",
                    f"of a SEND, an RDMA WRITE and an RDMA READ {says.format('bytes' if kind else 'work request')}",
                    (which,),
                    CREATE + clause,
                    CAPS + "ARGUMENTS/ops",
                    op=op,
                    type=kind,
                )
        yield self._case(
            "unsignaled",
            "counter_counts",
            "requests that are not signaled count as well",
            (ATTACH + "DESCRIPTION/local", "COUNTED"),
            op=0,
            signaled=0,
        )

    def _case(self, case, scenario, says, expect, *also, **args):
        clause, *errata = expect
        return Case(
            suite="counters",
            qpt="RC",
            case=case,
            scenario=scenario,
            says=says,
            expect=Expect(clause, errata=tuple(errata), also=also),
            args=args,
            needs=("completion_counters",),
        )
