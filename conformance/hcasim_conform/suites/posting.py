# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Suites about posting: order, completions, memory that the caller may reuse, lists with a bad request."""
from hcasim_conform.suites.base import CONNECTED, READ, RELIABLE, SIGNALED, Case, Suite
from hcasim_conform.model.cells import Data, Expect, Wr

ORDER = "ibv_poll_cq/DESCRIPTION/first"
ERROR = "ibv_poll_cq/DESCRIPTION/error"
FLAGS = "ibv_post_send/DESCRIPTION/send_flags"
SIG_ALL = "ibv_create_qp/DESCRIPTION/sq_sig_all"


class Posting(Suite):
    def cases(self):
        for suite in (self._order, self._atomics, self._sig_all, self._reuse, self._flush, self._bad_wr):
            yield from suite()

    def _order(self):
        """Completions come in the order of posting, for all operations and ways of posting."""
        for qpt in CONNECTED:
            names = self._mix(qpt)
            full = tuple(self.work(n, qpt, size=2500 if n == "RDMA_READ" else 300) for n in names)
            sparse = tuple(
                self.work(n, qpt, SIGNALED if i in (3, len(names) - 1) else ()) for i, n in enumerate(names)
            )
            asked = tuple(dict.fromkeys(["SEND"] + names))
            for name, wrs, args in (
                ("mixed", full, {}),
                ("mixed-each", full, {"each": 1}),
                ("mixed-wr", full, {"wr": 1}),
                ("mixed-turns", full, {"wr": 1, "each": 1, "turns": 1}),
                ("mixed-ex", full, {"ex": 1}),
                ("unsignaled-between", sparse, {}),
                ("unsignaled-between-wr", sparse, {"wr": 1}),
                ("unsignaled-between-ex", sparse, {"ex": 1}),
            ):
                yield Case(
                    suite="order",
                    qpt=qpt,
                    case=name,
                    scenario="in_order",
                    says="the completions of both sides come in the order of posting, one for each signalled "
                    "request, with every field that is valid right; all data in its place",
                    expect=Expect(ORDER, errata=("COMPLETION-ORDER",)),
                    wrs=wrs,
                    args=args,
                    ask=asked,
                )
            for family in (4, 6):
                yield Case(
                    suite="order",
                    qpt=qpt,
                    case=f"ipv{family}",
                    scenario="in_order",
                    says=f"the same between GIDs of IPv{family}",
                    expect=Expect(
                        ORDER, also=("ibv_modify_qp/DESCRIPTION/ah_attr",), errata=("COMPLETION-ORDER",)
                    ),
                    wrs=full,
                    args={"family": family},
                    ask=asked,
                )

    def _atomics(self):
        """Properties of atomics that a table of single requests does not test."""
        swap, add = "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD"
        for qpt in RELIABLE:
            for case, names, args, says in (
                ("compare-differs", (swap,), {"differ": 1}, "the value is returned and not swapped"),
                (
                    "same-address",
                    (add, add, add, add),
                    {"same": 1},
                    "each returns what the one before it left",
                ),
                (
                    "swap-then-add",
                    (swap, swap, add),
                    {"same": 1},
                    "the second comparison fails, the addition sees the swap",
                ),
            ):
                for api in ("post", "wr"):
                    yield Case(
                        suite="atomic",
                        qpt=qpt,
                        case=f"{case}-{api}",
                        scenario="in_order",
                        says=says,
                        expect=Expect(self.tables.operation(names[0]).effect_clause),
                        wrs=tuple(self.work(name, qpt) for name in names),
                        args={**args, "wr": int(api == "wr")},
                        ask=("SEND", *dict.fromkeys(names)),
                    )

    def _sig_all(self):
        for qpt in CONNECTED:
            wanted = ("RDMA_READ", "SEND", "RDMA_WRITE", "BIND_MW")
            names = [n for n in wanted if qpt in self.tables.operation(n).post]
            for how, flags in (("unsignaled", ()), ("signaled", SIGNALED)):
                for api in ("post", "wr"):
                    yield Case(
                        suite="sig_all",
                        qpt=qpt,
                        case=f"{how}-{api}",
                        scenario="in_order",
                        says="every request has one completion, whether it asks for it or not",
                        expect=Expect(SIG_ALL),
                        wrs=tuple(self.work(n, qpt, flags, sig_all=True) for n in names),
                        args={"sig_all": 1, "wr": int(api == "wr")},
                        ask=tuple(dict.fromkeys(["SEND"] + names)),
                    )
        # A device may answer short requests in the completion entry itself if every request has one.
        for qpt in RELIABLE:
            for api in ("post", "wr"):
                yield Case(
                    suite="sig_all",
                    qpt=qpt,
                    case=f"short-{api}",
                    scenario="in_order",
                    says="short READs arrive as long ones do",
                    expect=Expect(SIG_ALL, also=(self.tables.operation(READ).effect_clause,)),
                    wrs=tuple(
                        self.work(READ, qpt, (), Data("sge", "sge", (size,)), sig_all=True)
                        for size in (1, 32, 33, 64, 65)
                    ),
                    args={"sig_all": 1, "wr": int(api == "wr")},
                    ask=("SEND", READ),
                )

    def _reuse(self):
        inline = Data("inline_list-3", "inline", (40, 1, 59))
        clause = "ibv_post_send/NOTES/inline"
        for qpt in CONNECTED:
            names = [n for n in ("SEND", "RDMA_WRITE") if qpt in self.tables.operation(n).post]
            for case, data, why in (
                ("inline", Data("inline", "inline", (100,)), clause),
                ("inline-list", inline, clause),
                ("requests", None, "ibv_post_send/DESCRIPTION/state"),
            ):
                yield Case(
                    suite="reuse",
                    qpt=qpt,
                    case=case,
                    scenario="reuse",
                    says="what was overwritten as soon as the call was back has no effect on what is executed",
                    expect=Expect(why),
                    wrs=tuple(self.work(n, qpt, data=data) for n in names * 2),
                )
            for api in ("recv", "srq") if qpt in ("RC", "UD") else ("recv",):
                if qpt == "XRC_SEND":
                    continue
                call = self.tables.calls["ibv_post_recv" if api == "recv" else "ibv_post_srq_recv"]
                yield Case(
                    suite="reuse",
                    qpt=qpt,
                    case=f"{api}-requests",
                    scenario="reuse_recv",
                    says="the receives are used as they were posted",
                    expect=Expect(call.clause),
                    wrs=(self.work("SEND", qpt),) * 2,
                    args={"srq": int(api == "srq")},
                    needs=("srq",) if api == "srq" else (),
                )

    def _flush(self):
        """A request that fails, and the completions of all others."""
        write, read = "RDMA_WRITE", "RDMA_READ"
        causes = (
            # case, scenario, failing operation, status, QP types
            ("rkey-write", "flush_rkey", write, "REM_ACCESS_ERR", ("RC", "XRC_SEND")),
            ("rkey-read", "flush_rkey", read, "REM_ACCESS_ERR", ("RC", "XRC_SEND")),
            ("rkey-atomic", "flush_rkey", "ATOMIC_FETCH_AND_ADD", "REM_ACCESS_ERR", ("RC", "XRC_SEND")),
            ("range-write", "flush_remote_range", write, "REM_ACCESS_ERR", ("RC", "XRC_SEND")),
            ("range-read", "flush_remote_range", read, "REM_ACCESS_ERR", ("RC", "XRC_SEND")),
            (
                "misaligned-atomic",
                "flush_misaligned",
                "ATOMIC_CMP_AND_SWP",
                "REM_INV_REQ_ERR",
                ("RC", "XRC_SEND"),
            ),
            ("lkey-write", "flush_lkey", write, "LOC_PROT_ERR", ("RC", "UC", "XRC_SEND")),
            ("lkey-read", "flush_lkey", read, "LOC_PROT_ERR", ("RC", "XRC_SEND")),
            ("lkey-send", "flush_lkey", "SEND", "LOC_PROT_ERR", CONNECTED),
            ("local-range-send", "flush_local_range", "SEND", "LOC_PROT_ERR", CONNECTED),
            ("receive-short", "flush_recv_short", "SEND", "REM_INV_REQ_ERR", ("RC",)),
            ("receive-lkey", "flush_recv_lkey", "SEND", "REM_OP_ERR", ("RC",)),
        )
        for case, scenario, name, status, types in causes:
            for qpt in types:
                yield self._failure(case, scenario, name, status, qpt)
                if scenario in ("flush_rkey", "flush_lkey"):
                    yield self._failure(f"{case}-ex", scenario, name, status, qpt, ex=1)
                    yield self._failure(f"{case}-unsignaled", scenario, name, status, qpt, ())
        for qpt in ("RC", "XRC_SEND"):
            wrs = tuple(self.work("SEND", qpt, SIGNALED if i % 2 else ()) for i in range(4))
            yield Case(
                suite="flush",
                qpt=qpt,
                case="modify-err",
                scenario="flush_modify",
                says="all that is outstanding, and all that is posted afterwards, completes with "
                "IBV_WC_WR_FLUSH_ERR in the order of posting; no memory is touched",
                expect=Expect(ERROR, status="WR_FLUSH_ERR", errata=("FLUSH-ORDER",)),
                wrs=wrs,
                args={"bad": 0},
            )

        for qpt in CONNECTED:
            for state, short_of in (("init", 2), ("rtr", 1)):
                yield Case(
                    suite="flush",
                    qpt=qpt,
                    case=f"err-from-{state}",
                    scenario="flush_unready",
                    says=f"what is posted in ERR, to a QP that came there from {state.upper()}, is taken, and completes with "
                    "IBV_WC_WR_FLUSH_ERR",
                    expect=Expect(ERROR, status="WR_FLUSH_ERR", errata=("FLUSH-ORDER",)),
                    wrs=tuple(self.work("SEND", qpt, SIGNALED if i % 2 else ()) for i in range(3)),
                    args={"bad": 0, "short_of": short_of},
                )

    def _failure(self, case, scenario, name, status, qpt, flags=SIGNALED, **args):
        good = "RDMA_WRITE" if qpt != "UD" else None
        before = (self.work(good, qpt), self.work(good, qpt, ())) if good else ()
        # Its local memory may be checked before it is sent or when its answer arrives (erratum ANSWER-KEY):
        # later requests are known not to be executed only if they wait for the answer.
        answer = (scenario, name) == ("flush_lkey", "RDMA_READ")
        fence = ("FENCE",) if answer else ()
        errata = ("FAILURE-STATUS", "FLUSH-ORDER", "SQ-ERROR-STATE") + (("ANSWER-KEY",) if answer else ())
        behind = (self.work(name, qpt, fence), self.work("SEND", qpt), self.work("SEND", qpt, ()))
        return Case(
            suite="flush",
            qpt=qpt,
            case=case,
            scenario=scenario,
            says=f"the requests before it are executed, it completes with IBV_WC_{status}, those behind it and those "
            "posted later with IBV_WC_WR_FLUSH_ERR in the order of posting, signalled or not; nothing of them is "
            "executed",
            expect=Expect(ERROR, status=status, errata=errata),
            wrs=before + (self.work(name, qpt, flags),) + behind,
            args={"bad": len(before), **args},
        )

    def _bad_wr(self):
        """The bad request at each index of a list."""
        over = Data("sge_list-over", "sge_list", (16,), "sge", 1)
        too_long = Data("inline-over", "inline", (1,), "inline", 1)
        for qpt in self.tables.qp_types:
            bads = [("sges", "SEND", over), ("inline", "SEND", too_long)]
            windows = ("BIND_MW", "LOCAL_INV", "SEND_WITH_INV")
            missing = [op.name for op in self.tables.operations if qpt not in op.post]
            wrong = next((name for name in missing if name not in windows), None)
            if wrong:
                bads.append(("operation", wrong, None))
            for kind, name, data in bads:
                for at in range(4):
                    wrs = [self.work("SEND", qpt) for _ in range(4)]
                    wrs[at] = self.work(name, qpt, data=data)
                    found = () if kind == "operation" else ("POST-ERRNO",)  # the table
                    yield self._list("send", qpt, f"send-{kind}-{at}", wrs, at, found)
        for qpt in CONNECTED:
            for at in range(3):
                yield Case(
                    suite="bad_wr",
                    qpt=qpt,
                    case=f"send-flag-{at}",
                    scenario="unknown_flag",
                    says=f"ibv_post_send fails, bad_wr names work request {at}, those before it are executed",
                    expect=Expect(FLAGS, level="SHOULD", bad_wr=at, errata=("FLAGS-UNKNOWN", "POST-ERRNO")),
                    wrs=(self.work("SEND", qpt),) * 3,
                    args={"bad": at},
                )
        yield from self._states()
        for call, api in (("ibv_post_recv", "recv"), ("ibv_post_srq_recv", "srq")):
            for qpt in self.tables.calls[call].qp_types:
                peer = "XRC_SEND" if qpt == "XRC_RECV" else qpt
                for at in range(4):
                    good = Data("sge_list-3", "sge_list", (100, 1, 599))
                    wrs = [
                        Wr("SEND", over if i == at else good, "none", (), "send", None, "RECV")
                        for i in range(4)
                    ]
                    yield self._list(api, peer, f"{api}-sges-{at}", wrs, at)

    def _states(self):
        says = {
            "SQD": "wait for RTS and are executed",
            "SQE": "are flushed",
            "ERR": "are flushed",
        }
        for qpt in CONNECTED:
            for state in ("SQD", "ERR") + (("SQE",) if qpt in ("UC", "UD") else ()):
                for at in (0, 2):
                    yield Case(
                        suite="bad_wr",
                        qpt=qpt,
                        case=f"send-in-{state.lower()}-{at}",
                        scenario="bad_in_state",
                        says=f"in {state} ibv_post_send fails, bad_wr names work request {at}, those before it {says[state]}",
                        expect=Expect(
                            "ibv_post_send/DESCRIPTION/bad_wr",
                            errata=("POST-ERRNO", "FLUSH-ORDER", "SQ-ERROR-STATE"),
                        ),
                        wrs=(self.work("SEND", qpt),) * 3,
                        args={"bad": at, "state": {"SQD": 4, "SQE": 5, "ERR": 6}[state]},
                    )
            yield Case(
                suite="bad_wr",
                qpt=qpt,
                case="send-full",
                scenario="list_full",
                says="of a list that is longer than the queue as many as granted are taken, bad_wr names the first that was "
                "not; those that were taken are executed, and there is room again",
                expect=Expect("ibv_post_send/DESCRIPTION/bad_wr", errata=("QUEUE-FULL", "POST-ERRNO")),
                wrs=(self.work("RDMA_WRITE" if qpt != "UD" else "SEND", qpt, size=64),),
            )

    def _list(self, api, qpt, case, wrs, at, errata=("POST-ERRNO",)):
        call = {"send": "ibv_post_send", "recv": "ibv_post_recv", "srq": "ibv_post_srq_recv"}[api]
        return Case(
            suite="bad_wr",
            qpt=qpt,
            case=case,
            scenario={"send": "bad_send", "recv": "bad_recv", "srq": "bad_srq_recv"}[api],
            says=f"{call} fails, bad_wr names work request {at}, those before it are executed, nothing else is; a "
            "following SEND works",
            expect=Expect(f"{call}/DESCRIPTION/bad_wr", bad_wr=at, post="refused", errata=errata),
            wrs=tuple(wrs),
            args={"bad": at},
            needs=("srq",) if api == "srq" else (),
        )
