# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Suites about memory windows, critical regions between threads, segments and checksums."""
from dataclasses import replace

from hcasim_conform.model.cells import Data, Expect
from hcasim_conform.suites.base import RELIABLE, SIGNALED, Case, Suite, pieces
from hcasim_conform.suites.faults import ACCESS_ZERO_BASED, ZERO_BASED

BOUND = "ibv_alloc_mw/DESCRIPTION/bound"
NOT_BOUND = "ibv_alloc_mw/DESCRIPTION/not-bound"
INVALIDATED = "ibv_alloc_mw/DESCRIPTION/invalidated"
MW_ACCESS = "ibv_bind_mw/DESCRIPTION/mw_access_flags"
MW_LOCAL_WRITE = "ibv_bind_mw/DESCRIPTION/REMOTE_WRITE"
MW_RKEY = "ibv_bind_mw/RETURN-VALUE/rkey"
MW_TRANSPORT = "ibv_bind_mw/DESCRIPTION/transport"
REREG = "ibv_rereg_mr/DESCRIPTION/flags"
MW_NEW_KEY = "ibv_wr_post/WORK-REQUESTS/Memory-Windows/ibv_wr_bind_mw"
MW_BIND = "ibv_reg_mr/DESCRIPTION/IBV_ACCESS_MW_BIND"
DEREG_BOUND = "ibv_reg_mr/NOTES/dereg"
LOCK = "ibv_wr_post/CONCURRENCY/lock"
TD = "ibv_wr_post/CONCURRENCY/td"
TD_LOCKING = "ibv_alloc_td/DESCRIPTION/locking"
# Arguments of posting/halted.c.
HALTED = {"rq": {}, "srq": {"srq": 1}, "srq-resize": {"srq": 1, "resize": 1}}
HALTED_SAYS = (
    "while one thread posts a receive, of which the list of SGEs cannot be read for a while, another one posts to the same "
    "queue, or makes it too small: both receives are used, each once"
)
TSO_ALSO = tuple(
    f"ibv_wr_post/WORK-REQUESTS/Message-Send/ibv_wr_send_tso/{name}" for name in ("segments", "hdr")
)
CSUM_OK = "ibv_poll_cq/DESCRIPTION/IBV_WC_IP_CSUM_OK"
LOCAL = ("LOCAL_INV",)
WINDOW, ACCESS_MW_BIND, LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC = 128, 1 << 4, 1, 2, 4, 8

REFUSED = "an access through the window completes with IBV_WC_REM_ACCESS_ERR"
REFUSED_UC = "a write through the window changes no byte; on UC the requester is not told"
BAD_BIND = "the bind is refused, or completes with IBV_WC_MW_BIND_ERR"


class Objects(Suite):
    def cases(self):
        for suite in (self._windows, self._regions, self._tso, self._checksum, self._padding, self._shapes):
            yield from suite()

    def _windows(self):
        yield from self._windows_of("RC")
        yield from self._windows_of("UC")

    def _windows_of(self, qpt):
        refused = REFUSED if qpt == "RC" else REFUSED_UC
        yield self._mw(qpt, "last-byte-exceeded", "mw_bound", BOUND, {"at": WINDOW - 7})
        yield self._mw(qpt, "first-byte-before", "mw_bound", BOUND, {"at": -1})
        yield self._mw(qpt, "read-only", "mw_bound", MW_ACCESS, {"without": REMOTE_WRITE})
        if qpt == "RC":  # UC has no READ
            yield self._mw(qpt, "read-exceeded", "mw_bound", BOUND, {"at": WINDOW - 7, "read": 1})
            says = "a window for reads of a region without local write access is read; writes are refused"
            args = {"mr_reads": 1, "without": REMOTE_WRITE}
            yield self._mw(qpt, "read-only-region", "mw_bound", MW_LOCAL_WRITE, args, says)
            yield self._mw(qpt, "write-only", "mw_bound", MW_ACCESS, {"without": REMOTE_READ, "read": 1})
        yield self._mw(qpt, "not-bound", "mw_not_bound", NOT_BOUND, {})
        yield self._mw(qpt, "key-before-bind", "mw_old_key", INVALIDATED, {})
        yield self._mw(qpt, "local_inv", "mw_local_inv", INVALIDATED, {}, posts=LOCAL)
        yield self._mw(qpt, "local_inv-and-bind", "mw_local_inv", INVALIDATED, {"rebind": 1}, posts=LOCAL)
        yield self._mw(qpt, "send_inv", "mw_send_inv", INVALIDATED, {})
        yield self._mw(qpt, "send_inv-ex", "mw_send_inv", INVALIDATED, {"ex": 1})
        if qpt == "RC":
            says = (
                "the receive completes in error, its QP goes to ERR, and the sender's request is not refused"
            )
            args = (INVALIDATED, {}, says, None, ("INV-WHAT",))
            yield self._mw(qpt, "send_inv-region", "mw_send_inv_region", *args, posts=("SEND_WITH_INV",))
        else:
            says = "the message is dropped, and the next one is received"
            args = (INVALIDATED, {}, says, None, ("INV-UC",))
            yield self._mw(qpt, "send_inv-region", "mw_send_inv_region", *args, posts=("SEND_WITH_INV",))
        says = "the low 8 bits of the rkey that the bind gave are those of the window's; its other bits stay"
        yield self._mw(
            qpt,
            "new-key",
            "mw_new_key",
            MW_NEW_KEY,
            {"bits": 0x5A5A5A00},
            says,
            None,
            ("MW-KEY",),
            posts=("BIND_MW",),
        )
        yield self._mw(qpt, "other-qp", "mw_other_qp", BOUND, {}, errata=("MW-REBIND",))
        yield self._mw(qpt, "newer-qp", "mw_newer_qp", BOUND, {}, errata=("MW-REBIND",))
        if qpt == "RC":
            says = "windows of an older and of a newer protection domain than the QP's are not bound, and not invalidated"
            args = ({}, says, "MW_BIND_ERR", ("MW-RIGHTS", "INV-WHAT"))
            yield self._mw(
                qpt, "other-domains", "mw_other_domains", BOUND, *args, posts=("LOCAL_INV", "BIND_MW")
            )
        yield self._mw(
            qpt, "rebind-bound", "mw_rebind_bound", INVALIDATED, {}, BAD_BIND, "MW_BIND_ERR", ("MW-REBIND",)
        )
        for case, clause, args in (
            ("bind-beyond-region", BOUND, {"shift": 1}),
            ("bind-other-pd", BOUND, {"other_pd": 1}),
            ("bind-no-key", BOUND, {"wrong_key": 0x5A5A}),
            ("bind-no-bind-right", MW_BIND, {"mr_without": ACCESS_MW_BIND}),
            ("bind-no-local-write", MW_LOCAL_WRITE, {"mr_without": LOCAL_WRITE}),
            (
                "bind-atomic-no-local-write",
                MW_LOCAL_WRITE,
                {"mr_without": LOCAL_WRITE, "access": REMOTE_ATOMIC},
            ),
        ):
            yield self._mw(qpt, case, "mw_bad_bind", clause, args, BAD_BIND, "MW_BIND_ERR")
        says = "a window of type 2 cannot be bound to no byte: IBV_WC_MW_BIND_ERR, or a refusal at posting"
        args = ({"empty": 1}, says, "MW_BIND_ERR", ("MW-EMPTY",))
        yield self._mw(qpt, "bind-no-byte", "mw_bad_bind", BOUND, *args)
        if qpt == "RC":
            yield self._mw(
                qpt,
                "bind-zero-based-region",
                "mw_bad_bind",
                ZERO_BASED,
                {"mr_also": ACCESS_ZERO_BASED},
                BAD_BIND,
                "MW_BIND_ERR",
                ("ZERO-BASED",),
            )
            says = "ibv_alloc_mw() of a type that does not exist fails with EINVAL"
            yield self._mw(qpt, "unknown-type", "mw_unknown_type", NOT_BOUND, {}, says, None, ("MW-TYPE",))
        holds = "ibv_dereg_mr() fails while the window is bound, and works when it is void"
        yield self._mw(qpt, "dereg-bound", "mw_holds_mr", DEREG_BOUND, {}, holds, None, (), posts=LOCAL)
        yield self._mw(
            qpt, "dealloc-bound", "mw_holds_mr", INVALIDATED, {"dealloc": 1}, f"{holds}; then {refused}"
        )
        yield self._mw(qpt, "zero-based", "mw_zero_based", MW_ACCESS, {})
        yield self._mw(qpt, "neighbours", "mw_neighbours", BOUND, {}, posts=LOCAL)
        says = "writes from the first byte of a region on arrive through a window of all of it"
        yield self._mw(qpt, "whole", "mw_whole", BOUND, {}, says, None)
        says = f"when the QP of a bound window is destroyed the region can be deregistered, and {refused}"
        yield self._mw(
            qpt,
            "destroyed-qp",
            "mw_of_destroyed_qp",
            DEREG_BOUND,
            {},
            says,
            errata=("MW-REBIND", "MW-RIGHTS"),
        )
        if qpt == "RC":  # the peer's memory may not be accessed through UC
            says = "IBV_WC_LOC_PROT_ERR: the key of a window is not one for local memory"
            for case, tag in (("as-lkey", 0), ("as-lkey-3", 3)):
                yield self._mw(qpt, case, "mw_as_lkey", BOUND, {"tag": tag}, says, "LOC_PROT_ERR")
            says = "a window is bound, reached and invalidated with each small value in its key's low byte"
            yield self._mw(qpt, "low-bytes", "mw_tags", MW_NEW_KEY, {}, says, None, ("MW-KEY",), posts=LOCAL)
            yield from self._enough(qpt)
        for case, kind in (("region", 0), ("type-1", 1), ("other-qp", 2), ("nothing", 3)):
            says = "LOCAL_INV completes with IBV_WC_MW_BIND_ERR, and a window of another QP stays bound"
            args = (INVALIDATED, {"kind": kind}, says, "MW_BIND_ERR", ("INV-WHAT",))
            yield self._mw(qpt, f"local_inv-{case}", "mw_inv_refused", *args, posts=LOCAL)
        says = "a window that was never bound, or is invalidated a second time, may be invalidated; it can be bound then"
        yield self._mw(
            qpt, "local_inv-free", "mw_inv_free", INVALIDATED, {}, says, None, ("MW-FREE",), posts=LOCAL
        )
        says = "ibv_rereg_mr() fails while a window is bound to the region, and works when it is void"
        yield self._mw(
            qpt, "rereg-bound", "mw_rereg_bound", REREG, {}, says, None, ("MW-REREG",), posts=LOCAL
        )
        says = "ibv_bind_mw() on a QP in RESET, or on a UD QP, fails and leaves mw->rkey; a bind elsewhere works then"
        args = (MW_TRANSPORT, {}, says, None, ())
        yield self._mw(qpt, "type-1-refused", "mw_type_1_refused", *args, kind=1, also=(MW_RKEY,))
        for case, clause, args in (
            ("type-1-rebind", MW_RKEY, {}),
            ("type-1-unbind", INVALIDATED, {"unbind": 1}),
        ):
            says = "each bind gives a new rkey that works; " + refused.replace(
                "the window", "the rkey of before"
            )
            yield self._mw(qpt, case, "mw_type_1", clause, args, says, errata=("MW-REBIND",), kind=1)

    def _enough(self, qpt):
        says = "the operation is executed through a window with the one right that it needs"
        for kind in (1, 2):
            for name, access in (("ATOMIC_FETCH_AND_ADD", REMOTE_ATOMIC), ("ATOMIC_WRITE", REMOTE_WRITE)):
                case = f"only-right-{self.tables.operation(name).short}{'-type-1' if kind == 1 else ''}"
                args = (
                    {"type": kind, "access": access, "wr": int(name == "ATOMIC_WRITE")},
                    says,
                    None,
                    ("MW-RIGHTS",),
                )
                yield replace(
                    self._mw(qpt, case, "mw_enough", MW_ACCESS, *args, kind=kind),
                    wrs=(self.work(name, qpt),),
                    ask=("SEND", name) if name == "ATOMIC_WRITE" else ("SEND",),
                )

    def _mw(
        self,
        qpt,
        case,
        scenario,
        clause,
        args,
        says=None,
        status="REM_ACCESS_ERR",
        errata=("MW-RIGHTS",),
        kind=2,
        posts=(),
        also=(),
    ):
        return Case(
            suite="mw",
            qpt=qpt,
            case=case,
            scenario=scenario,
            says=says or (REFUSED if qpt == "RC" else REFUSED_UC),
            expect=Expect(clause, status=status, errata=errata, also=also),
            args=args,
            needs=(f"memory_windows/{kind}", *(f"operations/{qpt}/{name}" for name in posts)),
        )

    def _regions(self):
        """The critical region belongs to one thread and one QP."""
        for qpt in RELIABLE + ("UC",):
            wrs = tuple(self.work("RDMA_WRITE", qpt) for _ in range(3))
            for case, scenario, says in (
                (
                    "threads-one-qp",
                    "threads_one_qp",
                    "the requests of a region complete together, each thread's in order",
                ),
                (
                    "threads-two-qps",
                    "threads_two_qps",
                    "both threads' regions are executed, each on its own QP",
                ),
            ):
                yield self._region(qpt, case, scenario, LOCK, says, wrs, {})
        send = (self.work("SEND", "RC"),)
        waits = "the other thread gets in only when the region is left"
        yield self._region("RC", "excludes-region", "region_excludes", LOCK, waits, send, {})
        yield self._region("RC", "excludes-post_send", "region_excludes", LOCK, waits, send, {"list": 1})
        bind = self._region("RC", "excludes-bind_mw", "region_excludes_bind", LOCK, waits, (), {})
        yield replace(bind, needs=("memory_windows/1",))
        own = (
            "each of five threads writes its own bytes through a QP of its own, and finds its own completions"
        )
        yield self._region("RC", "threads-own-qps", "threads_own_qps", LOCK, own, (), {})
        for case, spare in (("threads-own-domains", 1), ("threads-many-domains", 80)):
            domains = f"{own}; all but one have a thread domain of their own"
            several = self._region("RC", case, "threads_own_qps", TD_LOCKING, domains, (), {"spare": spare})
            yield replace(several, expect=Expect(TD_LOCKING, level="SHOULD", errata=("TD-LOCK",)))
        once = "receives that several threads post to one queue are all there, and each completion is polled by one of them"
        for case, srq in (("threads-one-rq", 0), ("threads-one-srq", 1)):
            shared = self._region("RC", case, "threads_one_queue", TD_LOCKING, once, (), {"srq": srq})
            yield replace(
                shared, expect=Expect(TD_LOCKING, level="SHOULD", errata=("TD-LOCK",)), needs=("srq",) * srq
            )
        for case, args in HALTED.items():
            halted = self._region("RC", f"halted-{case}", "threads_halted", TD_LOCKING, HALTED_SAYS, (), args)
            yield replace(
                halted,
                expect=Expect(TD_LOCKING, level="SHOULD", errata=("TD-LOCK",)),
                needs=("srq",) * args.get("srq", 0),
            )
        free = "a thread on another QP does not wait"
        yield self._region("RC", "of-one-qp", "region_of_one_qp", LOCK, free, send, {})
        yield Case(
            suite="region",
            qpt="RC",
            case="thread-domain",
            scenario="thread_domain",
            says="a second entry does not wait: the QP has a thread domain",
            expect=Expect(TD, level="SHOULD", errata=("TD-LOCK",), also=(TD_LOCKING,)),
            wrs=send,
            ask=("SEND", "RDMA_WRITE"),
        )

    @staticmethod
    def _region(qpt, case, scenario, clause, says, wrs, args):
        return Case(
            suite="region",
            qpt=qpt,
            case=case,
            scenario=scenario,
            says=says,
            expect=Expect(clause),
            wrs=wrs,
            args=args,
            ask=("SEND", "RDMA_WRITE"),
        )

    def _tso(self):
        op = self.tables.operation("TSO")
        for qpt in op.post:
            for case, size, mss in (
                ("one-segment", 300, 512),
                ("full-segments", 1536, 512),
                ("last-short", 1500, 512),
                ("last-of-six", 1030, 512),
                ("odd-segments", 700, 101),
                ("one-byte-segments", 7, 1),
                ("segment-of-all", 700, 700),
                ("segment-of-all-but-one", 700, 699),
                ("segment-of-more", 700, 701),
                ("one-byte", 1, 1),
                ("longer-than-a-frame", 12000, 900),
            ):
                yield self._segments(qpt, case, size, {"mss": mss})
            yield self._segments(qpt, "options", 1030, {"mss": 512, "options": 8})
            yield self._segments(qpt, "too-long", 12000, {"mss": 11000}, "LOC_LEN_ERR")
            yield self._segments(qpt, "not-tcp", 700, {"mss": 100, "protocol": 17}, "LOC_QP_OP_ERR")

    def _segments(self, qpt, case, size, args, status=None):
        op = self.tables.operation("TSO")
        refused = f"IBV_WC_{status}, and nothing arrives"
        return Case(
            suite="tso",
            qpt=qpt,
            case=case,
            scenario="segments",
            says=refused
            if status
            else "each segment arrives with its own IP length, IP id and TCP sequence number, CWR only in the "
            "first, FIN and PSH only in the last, both checksums right, and its piece of the payload",
            expect=Expect(
                op.effect_clause, status=status, errata=("TSO-HDR", "TSO-UD"), also=() if status else TSO_ALSO
            ),
            wrs=(self.work("TSO", qpt, data=pieces(size)),),
            args=args,
        )

    def _checksum(self):
        flag = self.tables.flag("IP_CSUM")
        for qpt in ("UD", "RAW_PACKET"):
            for protocol in ("udp", "tcp"):
                for asked, size, region, case in (
                    (True, 300, 0, "asked"),
                    (False, 300, 0, "not-asked"),
                    (True, 301, 0, "odd"),
                    (True, 302, 1, "region"),
                    (False, 300, 0, "other-flags"),
                ):
                    others = ("FENCE", "SOLICITED") if case == "other-flags" else ()
                    flags = SIGNALED + (("IP_CSUM",) if asked else ()) + others
                    data = Data("sge", "sge", (size,))
                    yield Case(
                        suite="checksum",
                        qpt=qpt,
                        case=f"{protocol}-{case}",
                        scenario="checksums",
                        says=(
                            "the IPv4 and the transport checksum are put in, and the receiver has IBV_WC_IP_CSUM_OK"
                            if asked
                            else "wrong checksums arrive as they were sent, without IBV_WC_IP_CSUM_OK"
                        ),
                        expect=Expect(
                            (flag.clause if region else flag.post_clause) if asked else CSUM_OK,
                            errata=("IP-CSUM-UD",) if qpt == "UD" else (),
                        ),
                        wrs=(self.work("SEND", qpt, flags, data),),
                        args={"tcp": int(protocol == "tcp"), "region": region},
                        needs=("flags/IP_CSUM",),
                    )

    def _padding(self):
        yield Case(
            suite="checksum",
            qpt="RAW_PACKET",
            case="padding",
            scenario="padding",
            says="a frame of 20 bytes arrives with 60, and the other 40 are zeros",
            expect=Expect(
                "ibv_wr_post/WORK-REQUESTS/Message-Send/ibv_wr_send", level="SHOULD", errata=("RAW-PADDING",)
            ),
            wrs=(self.work("SEND", "RAW_PACKET", data=Data("sge", "sge", (20,))),),
        )

    def _shapes(self):
        """Frames with VLAN tags, options, extension headers, and fragments."""
        flag, tso = self.tables.flag("IP_CSUM"), self.tables.operation("TSO")
        for qpt in ("UD", "RAW_PACKET"):
            yield Case(
                suite="checksum",
                qpt=qpt,
                case="shapes",
                scenario="offload_shapes",
                says="on request each checksum that a frame has becomes right, whatever headers it has, and nothing else changes; "
                "IBV_WC_IP_CSUM_OK for right ones of IPv4, and for no others",
                expect=Expect(flag.post_clause, level="SHOULD", errata=("IP-CSUM-SCOPE", "IP-CSUM-UD")),
                wrs=(self.work("SEND", qpt, SIGNALED + ("IP_CSUM",), Data("sge", "sge", (300,))),),
            )
            yield Case(
                suite="checksum",
                qpt=qpt,
                case="broken",
                scenario="offload_broken",
                says="a frame whose IP header has a wrong version, length or chain arrives as it is, whether checksums were asked "
                "for or not, and without IBV_WC_IP_CSUM_OK",
                expect=Expect(CSUM_OK, level="SHOULD", errata=("IP-CSUM-SCOPE", "IP-CSUM-UD")),
                wrs=(self.work("SEND", qpt, SIGNALED + ("IP_CSUM",), Data("sge", "sge", (300,))),),
            )
            yield Case(
                suite="tso",
                qpt=qpt,
                case="broken",
                scenario="offload_refused",
                says="IBV_WC_LOC_QP_OP_ERR for each header that does not end with that of a TCP packet, and nothing arrives",
                expect=Expect(
                    tso.effect_clause, level="SHOULD", status="LOC_QP_OP_ERR", errata=("TSO-HDR", "TSO-UD")
                ),
                wrs=(self.work("TSO", qpt, size=600),),
            )
            yield Case(
                suite="tso",
                qpt=qpt,
                case="shapes",
                scenario="offload_streams",
                says="segments of streams with VLAN tags, options and extension headers arrive with the right headers",
                expect=Expect(tso.effect_clause, level="SHOULD", errata=("TSO-HDR", "TSO-UD")),
                wrs=(self.work("TSO", qpt, size=600),),
            )
