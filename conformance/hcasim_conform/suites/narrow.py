# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Cases of other suites on a device whose queues inside hold as little as they can: doorbells find no room, and each stage
waits for the next one. What a program sees must be the same."""
from dataclasses import replace

from hcasim_conform.model.cells import NARROW, Expect
from hcasim_conform.suites.base import Case

# Suite and QP type: cases that keep several queues busy, or stop them. Each reaches something in the simulated adapters that no
# other cell does (docs/mutants.md).
CHOSEN = {
    ("cq", "rc"): ("doorbells",),
    ("objects", "rc"): ("regions-turn",),
    ("paging", "rc"): ("stopped-reset", "stopped-err", "stopped-destroyed"),
    ("ring", "rc"): ("several-qps",),
    ("ring", "ud"): ("several-qps",),
    ("state", "rc"): (
        "abrupt-doorbells",
        "abrupt-reset-several",
        *(f"abrupt-{to}-mixed" for to in ("reset", "err", "destroyed")),
    ),
    ("state", "uc"): ("abrupt-destroyed", "sqe-back-busy"),
    ("tags", "rc"): ("rndv-many", "rndv-stopped", "rndv-err"),
}


def narrow(cases):
    """The chosen ones among these cases, each with a narrow device, and those for such a device alone."""
    yield Case(
        suite="narrow",
        qpt="RC",
        case="most-regions",
        scenario="most_regions",
        says="on a device of few regions and windows there are no more than max_mr and max_mw, and room for one when one has ended",
        expect=Expect("ibv_reg_mr/RETURN-VALUE/dereg"),
        needs=("memory_windows/2",),
        wire=NARROW,
    )
    yield Case(
        suite="narrow",
        qpt="RC",
        case="most-queues",
        scenario="most_queues",
        says="on a device of few CQs, SRQs and QPs there are no more than max_cq, max_srq and max_qp, and room for one when one has ended",
        expect=Expect("ibv_query_device/NOTES/limits"),
        wire=NARROW,
    )
    for case in cases:
        if case.case in CHOSEN.get((case.suite, case.qpt.lower()), ()):
            says = f"with queues of one entry inside the device: {case.says}"
            yield replace(case, suite="narrow", case=f"{case.suite}-{case.case}", says=says, wire=NARROW)
