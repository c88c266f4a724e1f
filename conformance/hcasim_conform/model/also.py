# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The further sentences that a plain cell tests: each cell names one, but a request that is posted, executed and
completed shows several. They are named at cells that differ from the plain one in one value at most."""

USAGE = "ibv_wr_post/USAGE/"
SETTERS = "ibv_wr_post/WORK-REQUESTS/DATA-transfer-setters/"
OF_EVERY_REGION = (
    USAGE + "ibv_create_qp_ex",
    USAGE + "send_ops_flags",
    USAGE + "critical-region",
    USAGE + "builder",
    USAGE + "wr_id",
    "ibv_wr_post/EXAMPLE",
)
IN_A_BATCH = (USAGE + "wr_id", USAGE + "before-builder")
OF_DATA = {
    "sge_list-1": (SETTERS + "ibv_wr_set_sge/equivalent",),
    "inline_list-1": (SETTERS + "ibv_wr_set_inline_data/equivalent",),
    "inline": (SETTERS + "inline", SETTERS + "inline-identical"),
}


def _plain(tables, api, op, qpt, data):
    """The request with its one SGE, signalled."""
    signaled = tables.flag("SIGNALED")
    if api == "post":
        return (signaled.post_clause, "ibv_post_send/RETURN-VALUE", *_received(op))
    also = [op.clause, signaled.clause, *OF_EVERY_REGION]
    if data.setter == "sge":
        also.append(tables.setters["sge"])
    if qpt in ("UD", "XRC_SEND") and op.srqn + (qpt == "UD"):
        also.append(tables.setters["ud_addr" if qpt == "UD" else "xrc_srqn"])
    return (*also, *_received(op))


def _received(op):
    """What the receiver's completion says."""
    return tuple(f"ibv_poll_cq/DESCRIPTION/IBV_WC_{flag}" for flag in op.recv_flags)


def of_request(tables, api, op, qpt, data, flags, plain):
    """The sentences of a legal request that is alone; `plain`: its data setter is the plain one."""
    if plain and flags == ("SIGNALED",):
        return _plain(tables, api, op, qpt, data)
    if api == "wr" and plain and not flags:
        return (USAGE + "wr_flags",)
    if plain and flags == ("SOLICITED",) and op.recv:
        return (tables.flag("SOLICITED").clause + "/packet",)
    if api == "wr" and flags == ("SIGNALED",):
        return OF_DATA.get(data.id, ())
    return ()
