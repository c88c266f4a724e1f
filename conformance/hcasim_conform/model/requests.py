# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Work requests as the tables describe them, in the cells that post them."""
from hcasim_conform.model.axes import SIGNALED, mandatory_setter, plain_data
from hcasim_conform.model.cells import Wr


def work(op, data, qp_setter, flags, **more):
    return Wr(
        op=op.name,
        data=data,
        qp_setter=qp_setter,
        flags=flags,
        effect=op.memory,
        wc=op.wc if "SIGNALED" in flags else None,
        recv=op.recv,
        imm="WITH_IMM" in op.recv_flags,
        inv="WITH_INV" in op.recv_flags,
        **more,
    )


def plain_send(tables, qpt, data=None):
    """The signalled SEND that is posted with the cell's request: legal on every QP type."""
    send = tables.operation("SEND")
    return work(send, data or plain_data(send, qpt), mandatory_setter(send, qpt), SIGNALED)
