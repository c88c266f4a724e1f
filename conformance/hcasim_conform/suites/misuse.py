# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Mistakes that the page does not describe: a device that declares to detect them must refuse the region."""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import Case, Suite

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
