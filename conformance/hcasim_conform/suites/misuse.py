# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Mistakes that the page does not describe: a device that declares to detect them must refuse the region."""
from dataclasses import replace

from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import Case, Suite

POST = "ibv_post_send/RETURN-VALUE"
FAILURE = "ibv_wr_post/RETURN-VALUE/failure"
SETTERS = "ibv_wr_post/WORK-REQUESTS/DATA-transfer-setters"
QP_SETTERS = "ibv_wr_post/WORK-REQUESTS/QP-Specific-setters"


class Misuse(Suite):
    def cases(self):
        for qpt in ("RC", "UC", "UD"):
            yield self._case(qpt, "second-data-setter", "misuse_data", SETTERS)
            yield self._case(qpt, "xrc_srqn", "misuse_srqn", QP_SETTERS)
        for qpt in ("RC", "UC"):
            yield self._case(qpt, "ud_addr", "misuse_address", QP_SETTERS)
            yield self._case(qpt, "unasked-builder", "misuse_builder", SETTERS)
        yield self._case("UD", "second-ud_addr", "misuse_address", QP_SETTERS)
        yield from self._arguments()

    def _arguments(self):
        """Arguments that no request can have."""
        windows = ("memory_windows/1", "memory_windows/2")
        for qpt, ask in (("RC", ("SEND", "BIND_MW")), ("UC", ("SEND", "BIND_MW")), ("UD", ("SEND", "TSO"))):
            says = "of three requests the second is refused, whatever is wrong with it, and the first is executed"
            case = self._case(qpt, "arguments", "argument_list", POST)
            needs = (*case.needs, *windows, *(f"operations/{qpt}/{name}" for name in ask))
            yield replace(case, says=says, wrs=case.wrs * 3, ask=ask, needs=needs)
        says = "of three requests the second is refused, whose inline lengths add up to 8 in 32 bits"
        case = self._case("RC", "inline-sum", "argument_list", POST)
        yield replace(case, says=says, wrs=case.wrs * 3, args={"sum": 1}, needs=())
        for qpt, ask in (("RC", ("SEND", "FLUSH", "ATOMIC_WRITE", "BIND_MW")), ("UD", ("SEND", "TSO"))):
            says = "a region is refused as a whole, whatever is wrong with one of its requests"
            case = self._case(qpt, "arguments-wr", "argument_region", FAILURE)
            needs = (*case.needs, *windows, *(f"operations/{qpt}/{name}" for name in ask))
            yield replace(case, says=says, ask=ask, needs=needs)

    def _case(self, qpt, case, scenario, clause):
        return Case(
            suite="misuse",
            qpt=qpt,
            case=case,
            scenario=scenario,
            says="ibv_wr_complete fails, nothing is executed, and the QP works afterwards",
            expect=Expect(clause, level="SHOULD", errata=("MISUSE",)),
            wrs=(self.work("SEND", qpt, size=64),),
            needs=("misuse",),
        )
