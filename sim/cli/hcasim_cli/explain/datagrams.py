# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Why datagrams were dropped. Their senders do not learn it: UD and UC have no acknowledgements."""
from .completions import DROPPED

GRH = 40  # bytes before each datagram
SILENT = "the sender is not told, as UD and UC have no acknowledgements"


def request_of(folder, dropped):
    """The work request whose packet was dropped: the last one that was sent there before."""
    frame = folder.sent.get(getattr(dropped, "frame", 0))
    sender, dest = getattr(frame, "hca", None), getattr(dropped, "qpn", getattr(frame, "dqpn", None))
    sent = [w for w in folder.wqes if w.hca == sender and w.ps <= dropped.ps and is_for(folder, w, dest)]
    return max(sent, key=lambda w: w.ps, default=None)


def is_for(folder, wqe, dest):
    if hasattr(wqe, "dest_qpn"):
        return wqe.dest_qpn & 0xFFFFFF == dest
    qp = folder.objects.find("qp", wqe.hca, wqe.qpn, wqe.ps)
    return bool(qp) and qp.attr("dest_qp_num", wqe.ps) == dest


def qkey(qp, wqe, ps):
    return f"the Q_Key of the datagram is {wqe.qkey}, and {qp.name} has {qp.attr('qkey', ps)} (IBV_QP_QKEY)"


def datagram_space(qp, wqe, _ps):
    return (
        f"the datagram has {wqe.length} bytes, and {GRH} more come before it (the GRH): the next receive of {qp.name} "
        f"has no room for these {wqe.length + GRH}"
    )


WITH_REQUEST = {"qkey": qkey, "datagram_space": datagram_space}


def cause(qp, dropped, wqe):
    rule = WITH_REQUEST.get(dropped.reason)
    text = rule(qp, wqe, dropped.ps) if rule and qp and hasattr(wqe, "dest_qpn") else DROPPED[dropped.reason]
    return f"{text}; {SILENT}"
