# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Cases of other suites on a device whose queues inside hold as little as they can: doorbells find no room, and each stage
waits for the next one. What a program sees must be the same."""
from dataclasses import replace

from hcasim_conform.model.cells import NARROW, Expect
from hcasim_conform.suites.base import Case

ABRUPT = tuple(f"abrupt-{to}{mix}" for to in ("reset", "err", "destroyed") for mix in ("", "-mixed"))
STOPPED = ("receives", "stopped-reset", "stopped-err", "stopped-destroyed")

# Suite and QP type: cases that keep several queues busy, stop them, or have much sent again.
CHOSEN = {
    ("answers", "rc"): None,
    ("atomic", "rc"): ("same-address-post",),
    ("cq", "rc"): (
        "doorbells",
        "mixed",
        "order",
        "shared-channel",
        "resize",
        "tags",
        "several-types",
        "reset",
    ),
    ("device_memory", "rc"): ("send-local", "rdma_read-local"),
    ("fence", "rc"): ("all",),
    ("flush", "rc"): ("rkey-write", "lkey-write", "lkey-read", "lkey-send", "receive-lkey", "receive-short"),
    ("flush", "uc"): None,
    ("full", "rc"): ("send-queue", "unsignaled"),
    ("mtu", "rc"): ("256-rdma",),
    ("notify", "rc"): ("solicited-only", "moderated"),
    ("objects", "rc"): ("regions-turn", "windows-turn"),
    ("order", "rc"): ("mixed-each",),
    ("order", "xrc_send"): ("mixed-each",),
    ("overrun", "rc"): None,
    ("packet", "rc"): ("sequence", "rnr", "resources", "repeated", "refused"),
    ("packet", "xrc_send"): ("sequence", "repeated"),
    ("packet", "uc"): ("lost",),
    ("paging", "rc"): (
        "send-remote",
        "rdma_read-local",
        "unmapped-behind",
        "gap-send",
        "gap-result",
        *STOPPED,
    ),
    ("paging", "uc"): STOPPED,
    ("paging", "ud"): STOPPED,
    ("region", "rc"): ("threads-own-qps",),
    ("ring", "rc"): ("several-qps", "each", "long-lists"),
    ("ring", "uc"): ("several-qps",),
    ("ring", "ud"): ("several-qps",),
    ("rnr", "rc"): ("late-behind", "late-inside"),
    ("srq", "rc"): ("shared", "limits", "drain", "resize", "held"),
    ("state", "rc"): (*ABRUPT, "sqd-busy", "reborn"),
    ("state", "uc"): ("abrupt-reset", "abrupt-destroyed", "sqe-back-2"),
    ("tags", "rc"): ("full", "rndv-many", "rndv-stopped", "rndv-err"),
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
        chosen = CHOSEN.get((case.suite, case.qpt.lower()), ())
        if not case.wire and (chosen is None or case.case in chosen):
            says = f"with queues of one entry inside the device: {case.says}"
            yield replace(case, suite="narrow", case=f"{case.suite}-{case.case}", says=says, wire=NARROW)
