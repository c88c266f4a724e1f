# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Cases of other suites on a device whose queues inside hold as little as they can: doorbells find no room, and each stage
waits for the next one. What a program sees must be the same."""
from dataclasses import replace

from hcasim_conform.model.cells import NARROW, Expect
from hcasim_conform.suites.base import Case

# Suite and QP type: cases that keep several queues busy, or stop them.
CHOSEN = {
    ("cq", "rc"): ("doorbells", "mixed", "order", "shared-channel", "resize", "tags", "several-types"),
    ("ring", "rc"): ("several-qps", "each", "long-lists"),
    ("ring", "uc"): ("several-qps",),
    ("ring", "ud"): ("several-qps",),
    ("order", "rc"): ("mixed-each",),
    ("order", "xrc_send"): ("mixed-each",),
    ("fence", "rc"): ("all",),
    ("mtu", "rc"): ("256-rdma",),
    ("paging", "rc"): ("send-remote", "rdma_read-local"),
    ("region", "rc"): ("threads-own-qps",),
    ("rnr", "rc"): ("late-behind",),
    ("srq", "rc"): ("shared", "limits"),
    ("state", "rc"): tuple(
        f"abrupt-{to}{mix}" for to in ("reset", "err", "destroyed") for mix in ("", "-mixed")
    ),
    ("state", "uc"): ("abrupt-reset", "abrupt-destroyed"),
    ("objects", "rc"): ("regions-turn", "windows-turn"),
    ("tags", "rc"): ("full", "rndv-many", "rndv-stopped"),
    ("packet", "rc"): ("resources",),
    ("notify", "rc"): ("solicited-only", "moderated"),
}


def narrow(cases):
    """The chosen ones among these cases, each with a narrow device, and one for such a device alone."""
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
    for case in cases:
        if case.case in CHOSEN.get((case.suite, case.qpt.lower()), ()):
            says = f"with queues of one entry inside the device: {case.says}"
            yield replace(case, suite="narrow", case=f"{case.suite}-{case.case}", says=says, wire=NARROW)
