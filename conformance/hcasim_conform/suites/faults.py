# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Suites about peers that are not ready or do not answer, and about what keys allow."""
from dataclasses import replace

from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import RELIABLE, Case, Suite, widened

RNR_TIMER = "ibv_modify_qp/DESCRIPTION/min_rnr_timer"
RNR_RETRY = "ibv_modify_qp/DESCRIPTION/rnr_retry"
RETRY_CNT = "ibv_modify_qp/DESCRIPTION/retry_cnt"
TIMEOUT = "ibv_modify_qp/DESCRIPTION/timeout"
ACCESS = "ibv_reg_mr/DESCRIPTION/access"
ERROR = "ibv_poll_cq/DESCRIPTION/error"
ZERO_BASED = "ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ZERO_BASED"
DEREG = "ibv_reg_mr/RETURN-VALUE/dereg"

# Erratum RNR-TIMER: code -> microseconds
RNR_TIMERS = {0: 655_360, 1: 10, 8: 160, 12: 640, 14: 1280, 16: 2560}
# enum ibv_access_flags
ACCESS_FLUSH_GLOBAL, FLUSH_GLOBAL, FLUSH_PERSISTENT = 1 << 8, 1, 2  # the last two: enum ibv_placement_type
LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC = 1, 2, 4, 8
ACCESS_ZERO_BASED = 1 << 5


def ack_timeout_us(code):
    """Erratum ACK-TIMEOUT."""
    return int(4.096 * 2**code)


class Faults(Suite):
    def cases(self):
        for suite in (self._rnr, self._retry, self._keys):
            yield from suite()

    def _rnr(self):
        for qpt in RELIABLE:
            for count in range(7):
                code = 0 if qpt == "RC" and count == 1 else 1  # 0 is the longest
                yield self._rnr_case(qpt, f"rnr_retry-{count}", RNR_RETRY, "RNR-RETRY", "SEND", count, code)
            for code in filter(None, RNR_TIMERS):
                yield self._rnr_case(qpt, f"min_rnr_timer-{code}", RNR_TIMER, "RNR-TIMER", "SEND", 2, code)
            yield self._rnr_case(qpt, "write_imm", RNR_RETRY, "RNR-RETRY", "RDMA_WRITE_WITH_IMM", 2, 1)
            yield Case(
                suite="rnr",
                qpt=qpt,
                case="rnr_retry-7",
                scenario="rnr_endless",
                says="the request is still tried when another QP has given up after 6 repetitions, and is "
                "executed once a receive is posted",
                expect=Expect(RNR_RETRY, errata=("RNR-RETRY", *widened(qpt))),
                wrs=(self.work("SEND", qpt),) * 2,
                args={"timer": 8, "rnr_retry": 7},
            )

    def _rnr_case(self, qpt, case, clause, erratum, name, count, code):
        return Case(
            suite="rnr",
            qpt=qpt,
            case=case,
            scenario="rnr_exhausted",
            says=f"without a receive the first request completes with IBV_WC_RNR_RETRY_EXC_ERR after {count} "
            f"repetitions of at least {RNR_TIMERS[code]} us each, the second with IBV_WC_WR_FLUSH_ERR",
            expect=Expect(clause, status="RNR_RETRY_EXC_ERR", errata=(erratum, "FLUSH-ORDER", *widened(qpt))),
            wrs=(self.work(name, qpt), self.work("SEND", qpt, ())),
            args={
                "rnr_retry": count,
                "timer": code,
                "gap_us": RNR_TIMERS[code],
                "least_us": count * RNR_TIMERS[code],
            },
        )

    def _retry(self):
        for qpt in RELIABLE:
            for count in (0, 1, 3, 7):
                yield self._retry_case(qpt, f"retry_cnt-{count}", RETRY_CNT, "RETRY-COUNT", "SEND", count, 8)
            for code in (6, 11, 12):
                yield self._retry_case(qpt, f"timeout-{code}", TIMEOUT, "ACK-TIMEOUT", "SEND", 2, code)
            for name in ("RDMA_WRITE", "RDMA_READ", "ATOMIC_FETCH_AND_ADD"):
                short = self.tables.operation(name).short
                yield self._retry_case(qpt, f"gone-{short}", RETRY_CNT, "RETRY-COUNT", name, 1, 8, destroy=1)
            yield Case(
                suite="retry",
                qpt=qpt,
                case="timeout-0",
                scenario="timeout_endless",
                says="without a timeout the request is not given up while another QP gives up all its attempts",
                expect=Expect(
                    TIMEOUT, level="SHOULD", status="RETRY_EXC_ERR", errata=("ACK-TIMEOUT", *widened(qpt))
                ),
                wrs=(self.work("SEND", qpt),),
                args={"timeout": 8, "retry_cnt": 7},
            )

    def _retry_case(self, qpt, case, clause, erratum, name, count, code, **args):
        least = ack_timeout_us(code)
        return Case(
            suite="retry",
            qpt=qpt,
            case=case,
            scenario="retry_exhausted",
            says=f"the first request completes with IBV_WC_RETRY_EXC_ERR after {count} repetitions, not before "
            f"{least} us each, the second with IBV_WC_WR_FLUSH_ERR",
            expect=Expect(clause, status="RETRY_EXC_ERR", errata=(erratum, "FLUSH-ORDER", *widened(qpt))),
            wrs=(self.work(name, qpt), self.work("SEND", qpt, ())),
            args={
                "retry_cnt": count,
                "timeout": code,
                "gap_us": least,
                "least_us": (count + 1) * least,
                **args,
            },
        )

    def _keys(self):
        """Regions: every access flag, both bounds, protection domains, and deregistration."""
        remote = (
            ("RDMA_WRITE", REMOTE_WRITE),
            ("RDMA_READ", REMOTE_READ),
            ("ATOMIC_FETCH_AND_ADD", REMOTE_ATOMIC),
            ("ATOMIC_CMP_AND_SWP", REMOTE_ATOMIC),
        )
        for qpt in RELIABLE:
            for name, right in remote:
                short = self.tables.operation(name).short
                yield self._key(qpt, f"no-right-{short}", "key_right", name, {"without": right})
                yield self._key(qpt, f"dereg-{short}", "key_dereg", name, {}, DEREG, "KEY-LIFETIME")
                if qpt == "RC":
                    yield self._key(
                        qpt,
                        f"qp-no-right-{short}",
                        "key_qp_right",
                        name,
                        {"without": right},
                        "ibv_modify_qp/DESCRIPTION/qp_access_flags",
                        "QP-RIGHTS",
                    )
            yield from self._enough(qpt)
            if qpt == "RC":
                yield Case(
                    suite="keys",
                    qpt=qpt,
                    case="dereg-during-read",
                    scenario="read_dereg",
                    says="a READ of a region that is deregistered meanwhile brings every byte, or is refused with an event",
                    expect=Expect(DEREG, status="REM_ACCESS_ERR", errata=("KEY-LIFETIME", "FAILURE-STATUS")),
                    wrs=(self.work("RDMA_READ", qpt, size=64),),
                    args={"sent_again": 1},  # not judged at the tap: how much is answered depends on the time
                )
                yield Case(
                    suite="keys",
                    qpt=qpt,
                    case="dereg-during-atomics",
                    scenario="atomics_dereg",
                    says="atomics of two QPs to a region that is deregistered meanwhile are executed and complete with success, or "
                    "are refused: the sum is that of those that succeeded",
                    expect=Expect(DEREG, status="REM_ACCESS_ERR", errata=("KEY-LIFETIME", "FAILURE-STATUS")),
                    wrs=(self.work("ATOMIC_FETCH_AND_ADD", qpt),),
                    args={"sent_again": 1},
                )
            for name, _ in remote:
                short = self.tables.operation(name).short
                yield self._key(qpt, f"byte-before-{short}", "key_range", name, {"before": 1})
                yield self._key(qpt, f"byte-behind-{short}", "key_range", name, {})
                yield self._key(qpt, f"other-pd-{short}", "key_other_pd", name, {})
            for name in ("SEND", "RDMA_WRITE", "RDMA_READ"):
                yield from self._local(qpt, name)
            yield from self._answers(qpt)
            yield self._write_imm(qpt)
            yield from self._zero_based(qpt)
            yield self._flush(qpt, "flush-no-right", {"type": FLUSH_GLOBAL})
            yield self._flush(
                qpt, "flush-persistent", {"type": FLUSH_PERSISTENT, "with": ACCESS_FLUSH_GLOBAL}
            )
            yield from self._flushes(qpt)

    def _enough(self, qpt):
        """The right that an operation needs is enough, and ATOMIC_WRITE needs that of a WRITE."""
        for name, access in (
            ("RDMA_WRITE", LOCAL_WRITE | REMOTE_WRITE),
            ("RDMA_READ", REMOTE_READ),
            ("ATOMIC_FETCH_AND_ADD", LOCAL_WRITE | REMOTE_ATOMIC),
            ("ATOMIC_CMP_AND_SWP", LOCAL_WRITE | REMOTE_ATOMIC),
            ("ATOMIC_WRITE", LOCAL_WRITE | REMOTE_WRITE),
        ):
            short = self.tables.operation(name).short
            yield replace(
                self._key(qpt, f"only-right-{short}", "key_enough", name, {"access": access}),
                ask=("SEND", name) if name == "ATOMIC_WRITE" else ("SEND",),
                says="the operation is executed on a region that has no other right",
                expect=Expect(ACCESS, errata=("KEY-RIGHTS",)),
            )
        yield replace(
            self._key(qpt, "no-right-atomic_write", "key_right", "ATOMIC_WRITE", {"without": REMOTE_WRITE}),
            ask=("SEND", "ATOMIC_WRITE"),
        )
        yield replace(
            self._flush(
                qpt, "flush-only-right", {"type": FLUSH_GLOBAL, "with": ACCESS_FLUSH_GLOBAL, "alone": 1}
            ),
            says="the operation is executed on a region that has no other right",
            expect=Expect(ACCESS, errata=("KEY-RIGHTS",)),
        )

    def _answers(self, qpt):
        """The memory of an answer may be checked before the request is sent or when the answer arrives."""
        for name in ("RDMA_READ", "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD"):
            short = self.tables.operation(name).short
            both = "IBV_WC_LOC_PROT_ERR or IBV_WC_REM_ACCESS_ERR; no memory is touched"
            kinds = [(f"local-and-rkey-{short}", {"bad_lkey": 1, "bad_rkey": 1}, both)]
            if name != "RDMA_READ":
                own = "IBV_WC_LOC_PROT_ERR; the remote word is as it was, or as the operation leaves it"
                kinds.append((f"local-{short}", {"bad_lkey": 1}, own))
            for case, args, says in kinds:
                errata = ("ANSWER-KEY", "FAILURE-STATUS")
                yield Case(
                    suite="keys",
                    qpt=qpt,
                    case=case,
                    scenario="answer_key",
                    says=says,
                    expect=Expect(ERROR, level="SHOULD", status="LOC_PROT_ERR", errata=errata),
                    wrs=(self.work(name, qpt),),
                    args=args,
                )

    def _write_imm(self, qpt):
        return Case(
            suite="keys",
            qpt=qpt,
            case="rkey-rdma_write_imm",
            scenario="write_imm_key",
            says="IBV_WC_REM_ACCESS_ERR at the requester, IBV_WC_LOC_ACCESS_ERR in the receive that the message took",
            expect=Expect(ERROR, status="REM_ACCESS_ERR", errata=("WRITE-IMM-ACCESS", "FAILURE-STATUS")),
            wrs=(self.work("RDMA_WRITE_WITH_IMM", qpt, size=64),),
        )

    def _zero_based(self, qpt):
        for name in ("RDMA_WRITE", "RDMA_READ"):
            for side in ("local", "remote"):
                yield Case(
                    suite="keys",
                    qpt=qpt,
                    case=f"zero-based-{side}-{self.tables.operation(name).short}",
                    scenario="zero_based",
                    says=f"the {side} address is an offset from the beginning of the region",
                    expect=Expect(ZERO_BASED, errata=("ZERO-BASED",)),
                    wrs=(self.work(name, qpt),),
                    args={"remote": int(side == "remote"), "access": ACCESS_ZERO_BASED},
                )

    def _flushes(self, qpt):
        """Levels and lengths."""
        good = {"type": FLUSH_GLOBAL, "with": ACCESS_FLUSH_GLOBAL}
        for case, args, status in (
            ("flush-whole", {"length": 4096}, None),
            ("flush-byte-behind", {"length": 4097}, "REM_ACCESS_ERR"),
            ("flush-level-region", {"length": 4097, "level": 1}, None),
        ):
            says = f"IBV_WC_{status or 'SUCCESS'}: a range must lie in the region, the level of a region needs no range"
            yield replace(
                self._flush(qpt, case, {**good, **args}),
                says=says,
                expect=Expect(ACCESS, status=status, errata=("KEY-RIGHTS", "FLUSH-LEVEL")),
            )
        says = "a length of more than 32 bits is refused, or completes with an error"
        yield replace(
            self._flush(qpt, "flush-long", good),
            scenario="flush_long",
            says=says,
            expect=Expect(ACCESS, errata=("KEY-RIGHTS", "FLUSH-LEVEL")),
        )

    def _flush(self, qpt, case, args):
        return Case(
            suite="keys",
            qpt=qpt,
            case=case,
            scenario="flush_right",
            says="IBV_WC_REM_ACCESS_ERR: the region was not registered for this placement",
            expect=Expect(ACCESS, status="REM_ACCESS_ERR", errata=("KEY-RIGHTS",)),
            wrs=(self.work("FLUSH", qpt),),
            args=args,
            ask=("SEND", "FLUSH"),
        )

    def _key(self, qpt, case, scenario, name, args, clause=ACCESS, erratum="KEY-RIGHTS"):
        return Case(
            suite="keys",
            qpt=qpt,
            case=case,
            scenario=scenario,
            says="IBV_WC_REM_ACCESS_ERR "
            + ("or IBV_WC_REM_INV_REQ_ERR " if erratum == "QP-RIGHTS" else "")
            + "at the requester, and not a byte of the region is touched",
            expect=Expect(clause, status="REM_ACCESS_ERR", errata=(erratum, "FAILURE-STATUS")),
            wrs=(self.work(name, qpt, size=64),),
            args=args,
        )

    def _local(self, qpt, name):
        short = self.tables.operation(name).short
        kinds = [
            (f"local-dereg-{short}", {"dereg": 1}, DEREG, "KEY-LIFETIME"),
            (f"local-other-pd-{short}", {"other_pd": 1}, ACCESS, "KEY-RIGHTS"),
        ]
        if name == "RDMA_READ":
            args = {"without": LOCAL_WRITE | REMOTE_WRITE | REMOTE_ATOMIC}
            kinds.append((f"local-no-right-{short}", args, ACCESS, "KEY-RIGHTS"))
        for case, args, clause, erratum in kinds:
            yield Case(
                suite="keys",
                qpt=qpt,
                case=case,
                scenario="local_key",
                says="IBV_WC_LOC_PROT_ERR, and not a byte of the region is touched",
                expect=Expect(clause, status="LOC_PROT_ERR", errata=(erratum, "FAILURE-STATUS")),
                wrs=(self.work(name, qpt, size=64),),
                args=args,
            )
