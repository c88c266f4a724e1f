# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Suites about single packets, which a RAW_PACKET QP sends to a QP of another type.

The pages do not describe packets: these cells follow the IBTA, and have the level SHOULD.
"""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import CONNECTED, RELIABLE, Case, Suite

AH_ATTR = "ibv_modify_qp/DESCRIPTION/ah_attr"
PKEY_INDEX = "ibv_modify_qp/DESCRIPTION/pkey_index"
PATH_MTU = "ibv_modify_qp/DESCRIPTION/path_mtu"
MAX_DEST = "ibv_modify_qp/DESCRIPTION/max_dest_rd_atomic"
STATE = "ibv_modify_qp/DESCRIPTION/qp_state"
RQ_PSN = "ibv_modify_qp/DESCRIPTION/rq_psn"
QKEY = "ibv_modify_qp/DESCRIPTION/qkey"
RNR_TIMER = "ibv_modify_qp/DESCRIPTION/min_rnr_timer"
ACCESS = "ibv_reg_mr/DESCRIPTION/access"
MULTICAST = "ibv_attach_mcast/DESCRIPTION/attach"
GRH = "ibv_poll_cq/DESCRIPTION/IBV_WC_GRH"

FLUSH_GLOBAL = 1 << 8  # enum ibv_access_flags

# Requests that not every device has (enum kind in conformance/runner/suites/transport/refusal.c)
KINDS = {"": 0, "FLUSH": 1, "ATOMIC_WRITE": 2}


class Packets(Suite):
    def cases(self):
        for ipv4 in (0, 1):
            for qpt in CONNECTED:
                yield from self._checked(qpt, ipv4)
            for qpt in RELIABLE:
                yield from self._reliable(qpt, ipv4)
            for qpt in RELIABLE + ("UC",):
                if not ipv4:
                    yield self._begun(qpt)
            yield from self._unreliable(ipv4)

    def _checked(self, qpt, ipv4):
        yield self._case(
            qpt,
            "wrong",
            ipv4,
            "packet_wrong",
            PKEY_INDEX if qpt != "UD" else QKEY,
            "a packet with a wrong header, checksum, length, address, P_Key, transport or ICRC, or that is cut off, has no "
            "effect and no answer; the right one with the same PSN is executed",
            "PACKET-DROPPED",
            {"right": 0},  # the number of a packet that is sent as it should be
        )
        yield self._case(
            qpt,
            "harmless",
            ipv4,
            "packet_harmless",
            AH_ATTR,
            "packets are executed whatever the fields are that routers may change, or that are reserved",
            "PACKET-TAKEN",
        )

    def _reliable(self, qpt, ipv4):
        yield self._case(
            qpt,
            "sequence",
            ipv4,
            "packet_sequence",
            RQ_PSN,
            "one NAK for a gap; repeated WRITEs and SENDs are acknowledged, READs and parts of them answered again, atomics "
            "answered as before; answers come in order, with their PSNs and lengths",
            "PSN-REPEATED",
        )
        if ipv4:
            return
        yield self._case(
            qpt,
            "rnr",
            ipv4,
            "packet_rnr",
            RNR_TIMER,
            "for each code one RNR NAK with it for a message that finds no receive; the repeated message is received",
            "RNR-TIMER",
        )
        for name, kind in KINDS.items():
            short = f"-{name.lower()}" if name else ""
            yield self._case(
                qpt,
                f"refused{short}",
                ipv4,
                "packet_refused",
                PATH_MTU if not name else ACCESS,
                "each request that is out of order, of a wrong length, not aligned, or not allowed, is refused with its NAK; "
                "the QP goes to ERR with an event, or its receive completes in error; no other byte of memory changes",
                "PACKET-REFUSED",
                {"kind": kind},
                (f"operations/{qpt}/{name}",) if name else (),
            )
            yield from self._resources(qpt, short, kind, name)
        yield self._case(
            qpt,
            "bounds",
            ipv4,
            "packet_bounds",
            ACCESS,
            "WRITEs of the first and last bytes of a region are executed, and requests of no byte with any key and address",
            "KEY-RIGHTS",
        )

    def _begun(self, qpt):
        return self._case(
            qpt,
            "begun",
            0,
            "packet_begun",
            STATE,
            "RESET, with or without ERR before it, drops a message of which two packets have come, with its receive; the next "
            "message starts again, in a receive that was posted afterwards",
            "QP-RECYCLE",
        )

    def _resources(self, qpt, short, kind, name):
        """Requests that take a responder resource."""
        args = {"kind": kind, "rights": FLUSH_GLOBAL if name == "FLUSH" else 0}
        needs = (f"operations/{qpt}/{name}",) if name else ()
        yield self._case(
            qpt,
            f"resources{short}",
            0,
            "packet_resources",
            MAX_DEST,
            "as many requests as max_dest_rd_atomic that are answered later are executed at a time; one more is refused with NAK "
            "invalid request, after the others were answered; if it is 0 each is",
            "RD-ATOMIC-LIMIT",
            args,
            needs,
        )
        yield self._case(
            qpt,
            f"repeated{short}",
            0,
            "packet_repeated",
            MAX_DEST,
            "repeated requests are executed once and answered each time, also before the first answer; those that cannot "
            "be what was executed are dropped",
            "PSN-REPEATED",
            args,
            needs,
        )

    def _unreliable(self, ipv4):
        yield self._case(
            "UC",
            "lost",
            ipv4,
            "packet_lost",
            RQ_PSN,
            "a message of which any packet is lost, that finds no receive, does not fit or is not allowed, is dropped; "
            "the next one arrives whole",
            "UC-GAP",
        )
        yield self._case(
            "UD",
            "datagram",
            ipv4,
            "packet_datagram",
            GRH,
            "datagrams of all lengths arrive with their IP header, source QP and immediate data; one that finds no receive, or "
            "does not fit, is dropped",
            "UD-DROPPED",
        )
        yield self._case(
            "UD",
            "multicast",
            ipv4,
            "packet_multicast",
            MULTICAST,
            "each QP that is attached to a group gets a copy of each datagram to it that has the right P_Key, Q_Key and destination "
            "QP number, and a single one, until it is detached; no other QP does",
            "MULTICAST-COPY",
            also=("ibv_attach_mcast/NOTES/single",),
        )

    @staticmethod
    def _case(qpt, case, ipv4, scenario, clause, says, erratum, args=None, needs=(), also=()):
        return Case(
            suite="packet",
            qpt=qpt,
            case=case + ("-ipv4" if ipv4 else ""),
            scenario=scenario,
            says=says,
            expect=Expect(clause, level="SHOULD", errata=(erratum,), also=also),
            args={"ipv4": ipv4, **(args or {})},
            needs=("operations/RAW_PACKET", "operations/UC", *needs),
        )
