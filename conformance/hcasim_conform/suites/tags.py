# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The suite about tag matching: shared receive queues with a tag list."""
from hcasim_conform.model.cells import Expect
from hcasim_conform.suites.base import Case, Suite

PAGE = "ibv_post_srq_ops/DESCRIPTION/"
TEXT = "tag_matching/"
RNDV, FIN, EAGER = 1, 2, 3  # enum ibv_tmh_op
UNKNOWN = 9
TMH, BOTH = 16, 32  # bytes of headers
LONG = 9000  # several packets


class Tags(Suite):
    def cases(self):
        yield from self._matches()
        yield from self._messages()
        yield from self._rendezvous()
        yield from self._operations()
        yield from self._places()

    def _matches(self):
        whole = -1
        mask, miss = f"{PAGE}mask", f"{TEXT}unexpected"
        for case, tag, bits, sent in (
            ("match", 0x1234, whole, 0x1234),
            ("mask", 0x34, 0xFF, 0x1234),
            ("any", 0, 0, 0x1234),
        ):
            says = "a message whose tag, under the mask, is that of the entry goes to its buffer without its header"
            yield self._case(case, "tag_match", mask, says, tag=tag, mask=bits, sent=sent)
        for case, tag, bits, sent in (
            ("differs", 0x1234, whole, 0x1235),
            ("mask-differs", 0x34, 0xFF, 0x3412),
            ("never", 0x1234, 0xFF, 0x1234),  # bits of the tag outside of the mask: nothing equals it
        ):
            says = "a message whose tag is another goes complete to a receive, and completes without flags"
            errata = ("TM-UNEXPECTED",)
            args = {"tag": tag, "mask": bits, "sent": sent, "matches": 0}
            yield self._case(case, "tag_match", miss, says, errata, **args)
        one = "data and match are reported in one completion, with tag and priv of the header"
        two = "the match is reported with the first packet, the data with the last, for the same recv_wr_id"
        same = {"tag": 5, "mask": whole, "sent": 5}
        for length in (0, 1, 200):
            yield self._case(f"bytes-{length}", "tag_match", f"{TEXT}single", one, length=length, **same)
        yield self._case(f"bytes-{LONG}", "tag_match", f"{TEXT}two", two, length=LONG, **same)
        says = "the first of two completions counts no byte, the second has no tag"
        args = {"length": LONG, "info": 1, **same}
        yield self._case("match-info", "tag_match", f"{TEXT}two", says, ("TM-INFO",), **args)
        says = "a message to a QP with a send queue of its own matches like any other"
        yield self._case("match-own_sends", "tag_match", mask, says, ("TM-SENDS",), own_sends=1, **same)
        says = "data is scattered over the SGEs of the buffer"
        yield self._case("sge-2", "tag_match", f"{TEXT}skip", says, length=LONG, two=1, **same)
        yield self._case("sge-2-short", "tag_match", f"{TEXT}skip", says, length=99, two=1, **same)
        for any_first in (0, 1):
            says = "of several entries that match, messages take the one that was added first"
            case = "order-any-first" if any_first else "order-any-second"
            yield self._case(case, "tag_order", f"{TEXT}order", says, any_first=any_first)

    def _messages(self):
        for by_add in (0, 1):
            says = (
                "after an unexpected message new entries do not match, and completions ask for a report, until "
                f"{'an ADD' if by_add else 'a SYNC'} has reported as many messages as were unexpected"
            )
            case = f"phase-{'add' if by_add else 'sync'}"
            yield self._case(case, "tag_phase", f"{TEXT}phase", says, ("TM-UNEXPECTED",), by_add=by_add)
        says = "the message goes complete to a receive, whatever is in the list, and is not counted"
        for case, opcode, length, errata in (
            ("no_tag", 0, 100, ()),
            ("no_tag-1", 0, 1, ()),
            ("no_tag-long", 0, LONG, ()),
            ("fin", FIN, BOTH, ("TM-NO-TAG",)),
            ("unknown", UNKNOWN, 100, ("TM-NO-TAG",)),
            ("eager-short", EAGER, TMH - 1, ("TM-NO-TAG",)),
            ("rndv-short", RNDV, BOTH - 1, ("TM-NO-TAG",)),
            ("rndv-long", RNDV, LONG, ("TM-NO-TAG",)),
            ("no_tag-40", 0, BOTH + 8, ()),
            ("rndv-over", RNDV, 0, ("TM-NO-TAG",)),  # one byte more than max_rndv_hdr_size
        ):
            yield self._case(
                case,
                "tag_none",
                f"{TEXT}no-tag",
                says,
                ("TM-NO-TAG", *errata)[:1],
                opcode=opcode,
                length=length,
            )

    def _rendezvous(self):
        says = "the device reads the data, and then sends IBV_TMH_FIN with the headers of the request"
        for length in (1, 1000, LONG):
            yield self._case(f"rndv-{length}", "tag_rendezvous", f"{TEXT}fin", says, length=length)
        says = "the first of two completions counts no byte, the second has no tag"
        yield self._case("rndv-info", "tag_rendezvous", f"{TEXT}two", says, ("TM-INFO",), info=1)
        says = "a request with further bytes behind its headers, as many as max_rndv_hdr_size allows, is served like any other"
        yield self._case("rndv-meta", "tag_rendezvous", f"{TEXT}fin", says, meta=1)
        yield self._case("rndv-longest", "tag_rendezvous", f"{TEXT}fin", says, longest=1)
        says = "more requests at a time than a device serves at once: each is matched, read and answered, in order, twice"
        yield self._case("rndv-many", "tag_rendezvous_many", f"{TEXT}fin", says)
        says = "QPs that go to RESET while requests are served forget them; the next ones are matched, read and answered"
        yield self._case("rndv-stopped", "tag_rendezvous_stopped", f"{TEXT}fin", says, ("QP-RECYCLE",))
        says = "each request that was matched has a second completion when its QP goes to ERR: with its data, or flushed"
        yield self._case("rndv-err", "tag_rendezvous_stopped", f"{TEXT}fin", says, ("QP-RECYCLE",), err=1)
        says = "the READ fails: the match is reported, then IBV_WC_REM_ACCESS_ERR, nothing is written, and the QP is in ERR"
        yield self._case(
            "rndv-rkey", "tag_unreadable", f"{TEXT}fin", says, ("FAILURE-STATUS",), level="SHOULD"
        )
        says = "software gets both headers in the tagged buffer, and nothing is read"
        clause = f"{TEXT}incomplete"
        yield self._case("rndv-incomplete", "tag_incomplete", clause, says)
        yield self._case(
            "rndv-own_sends", "tag_incomplete", clause, says, ("TM-SENDS",), own_sends=1, length=100
        )

    def _operations(self):
        signaled, deleted = f"{PAGE}signaled", f"{PAGE}del"
        says = "the entry is removed: its message is unexpected"
        yield self._case("del", "tag_delete", deleted, says, ("TM-UNEXPECTED",))
        yield self._case("del-silent", "tag_delete", signaled, f"{says}; nothing completes", signaled=0)
        says = "an entry whose message came first cannot be deleted: IBV_WC_TM_ERR"
        yield self._case("del-late", "tag_delete", deleted, says, late=1)
        yield self._case("del-late-silent", "tag_delete", signaled, "nothing completes", late=1, signaled=0)
        yield self._case(
            "add-silent", "tag_silent", signaled, "the entry matches, and its ADD does not complete"
        )
        says = "a full list refuses an entry, and has room again when one has been used"
        yield self._case("full", "tag_full", f"{PAGE}max_num_tags", says)
        yield from self._edges()
        for which, (case, clause) in enumerate(
            (("sge-over", "max_sge"), ("del-nothing", "handle"), ("opcode", "opcode"))
        ):
            says = "the operation is refused, and the next one executed"
            yield self._case(case, "tag_refused", PAGE + clause, says, ("POST-ERRNO",), which=which)

    def _edges(self):
        """Full rings, every handle, lists with a mistake, entries that fail."""
        limits, create = ("TM-LIMITS",), "ibv_create_srq_ex/DESCRIPTION/"
        says = "as many operations as asked for are outstanding, each completes with its wr_id, at every place of the ring"
        for case, ops in (("ring", 5), ("ring-8", 8)):  # no power of two, and one
            yield self._case(case, "tag_ring", f"{create}max_ops", says, limits, ops=ops)
        says = "more than 65536 operations, posted in lists, all complete, and the list works"
        yield self._case("count", "tag_count", f"{create}max_ops", says, limits)
        says = "each entry has a handle of its own, which deletes it and no other; one of no entry is refused"
        yield self._case("handles", "tag_handles", f"{PAGE}handle", says, ("TM-LIMITS", "POST-ERRNO"))
        says = "a new list whose memory comes from the allocator of a parent domain has no handle yet: each is refused"
        yield self._case("no-handles", "tag_no_handles", f"{PAGE}handle", says, ("TM-LIMITS", "POST-ERRNO"))
        says = (
            "bad_wr names the mistake in a list of operations; those before it are executed, and nothing else"
        )
        yield self._case("list", "tag_list", "ibv_post_srq_ops/RETURN-VALUE", says, ("POST-ERRNO",))
        says = "a queue without a tag list refuses operations"
        yield self._case("no-list", "tag_no_list", "ibv_post_srq_ops/RETURN-VALUE", says, ("POST-ERRNO",))
        says = "at the limits of tm_caps a queue is created and holds as many entries as asked for; EINVAL beyond"
        yield self._case("create", "tag_create", f"{create}max_num_tags", says, limits)
        for case, args in (("qp-gone", {}), ("qp-gone-one-cq", {"one_cq": 1}), ("queue-gone", {"queue": 1})):
            says = "completions of entries stay when a QP is destroyed, and go with their queue; those of the other queue stay"
            yield self._case(
                case, "tag_gone", f"{create}max_num_tags", says, ("TM-LIMITS", "CQ-PURGE"), **args
            )
        says = "unexpected_cnt counts only with IBV_OPS_TM_SYNC; one, two and three unexpected messages are reported"
        yield self._case("counted", "tag_counted", f"{TEXT}phase", says, ("TM-UNEXPECTED",))
        says = "an ADD that is not signaled gives its place back when its entry is used"
        yield self._case("places", "tag_places", f"{create}max_ops", says, limits)
        says = "with one operation always outstanding, each completion makes room for another one"
        yield self._case("never-empty", "tag_never_empty", f"{create}max_ops", says, limits)
        says = "operations that are not signaled take no entry of the CQ"
        yield self._case("silent-many", "tag_silent_many", f"{PAGE}signaled", says, limits)
        says = "the handle of an entry whose DEL came too late is given out once"
        yield self._case("late-handle", "tag_late", f"{PAGE}handle", says, limits)
        for case, own, peers, args in (
            ("entry-short", "LOC_LEN_ERR", "REM_INV_REQ_ERR", {"room": 64}),
            ("entry-bad-key", "LOC_PROT_ERR", "REM_OP_ERR", {"room": 100, "bad_key": 1}),
        ):
            says = f"IBV_WC_{own} for the entry, IBV_WC_{peers} for the sender, and room for another entry"
            yield self._case(case, "tag_fails", f"{create}max_num_tags", says, limits, own, **args)

    def _places(self):
        says = "a CQ that is full, and is polled, has room for as many completions again, every time"
        yield self._case("small-cq", "tag_small_cq", f"{TEXT}no-tag", says, ("TM-NO-TAG",))
        says = "an entry whose pages the device does not have is taken before another one with the same tag"
        yield self._case(
            "absent", "tag_absent", f"{TEXT}order", says, needs=("on_demand/RC/SRQ_RECV",), sent_again=1
        )
        says = "several queues with a tag list, and then as many XRC domains with a QP each, are created"
        needs = ("operations/XRC_SEND",)
        yield self._case(
            "numbers",
            "tag_numbers",
            "ibv_create_srq_ex/DESCRIPTION/max_num_tags",
            says,
            ("TM-LIMITS",),
            needs=needs,
        )

    @staticmethod
    def _case(case, scenario, clause, says, errata=(), status=None, level=None, needs=(), **args):
        return Case(
            suite="tags",
            qpt="RC",
            case=case,
            scenario=scenario,
            says=says,
            expect=Expect(clause, errata=tuple(errata), status=status, **({"level": level} if level else {})),
            args=args,
            needs=("tag_matching", *needs),
        )
