/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Scenarios of tag matching: which entry a message takes, what completes when, and what is refused. */
#include <errno.h>

#include "suites/queues/tags.h"

#define TMH ((uint32_t)sizeof(struct ibv_tmh))
#define ALL UINT64_MAX

static const struct tags_opts usual;

/* ---- Matching ---- */

static uint64_t wide(struct kit *k, const char *name)
{
	uint64_t v = (uint32_t)kit_arg(k, name, 0);

	return v << 32 | v; /* all 64 bits take part */
}

/* The last completion is the first one of a message that matched. */
static bool has_tag(struct tags *t, uint64_t tag)
{
	if (!kit_holds(t->k, t->wc.tag == tag && t->wc.priv == TAGS_PRIV))
		KIT_FAULT(t->k, "tag or priv is not the message's");
	if (!kit_holds(t->k, t->wc.qp_num == t->l.peer->qp_num))
		KIT_FAULT(t->k, "qp_num is 0x%x, expected 0x%x", t->wc.qp_num, t->l.peer->qp_num);
	return KIT_GOOD(t->k);
}

static bool matched_at_once(struct tags *t, uint64_t tag)
{
	return tags_expect(t, TAGS_RECV + 1, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE) && has_tag(t, tag);
}

/* The match and the data have a completion each. With `info` each reports its own fact alone (erratum TM-INFO). */
static bool matched_in_two(struct tags *t, uint64_t tag)
{
	const bool info = kit_arg(t->k, "info", 0);

	if (!tags_expect(t, TAGS_RECV + 1, IBV_WC_TM_RECV, IBV_WC_SUCCESS, IBV_WC_TM_MATCH) ||
	    !has_tag(t, tag))
		return false;
	if (info && !kit_holds(t->k, !t->wc.byte_len))
		KIT_FAULT(t->k, "byte_len of a match without data is %u", t->wc.byte_len);
	if (!KIT_GOOD(t->k) ||
	    !tags_expect(t, TAGS_RECV + 1, IBV_WC_TM_RECV, IBV_WC_SUCCESS, IBV_WC_TM_DATA_VALID))
		return false;
	if (info && !kit_holds(t->k, !t->wc.tag && !t->wc.priv))
		KIT_FAULT(t->k, "tag 0x%llx, priv 0x%x of a completion that reports no match",
			  (unsigned long long)t->wc.tag, t->wc.priv);
	return KIT_GOOD(t->k);
}

/* One entry and one message: it matches, or takes a receive. */
static void match(struct kit *k, struct tags *t)
{
	const uint32_t len = kit_arg(k, "length", 100);
	struct tags_entry e = {.slot = 1,
			       .tag = wide(k, "tag"),
			       .mask = wide(k, "mask"),
			       .len = len ? len : 1,
			       .two = kit_arg(k, "two", 0)};
	const uint64_t sent = wide(k, "sent");

	if (!tags_recv(t, 0) || !tags_must_add(t, e, NULL) || !tags_send(t, IBV_TMH_EAGER, sent, TMH + len))
		return;
	if (!kit_arg(k, "matches", 1)) {
		if (tags_expect(t, TAGS_RECV, IBV_WC_TM_RECV, IBV_WC_SUCCESS, 0))
			tags_data(t, 0, t->from, TMH + len);
		return;
	}
	if (len > 4096 ? !matched_in_two(t, sent) : !matched_at_once(t, sent))
		return;
	KIT_CHECK(k, t->wc.byte_len == len, "byte_len is %u, expected %u", t->wc.byte_len, len);
	tags_data(t, 1, t->from + TMH, len);
}

static void tag_match(struct kit *k)
{
	const struct tags_opts opts = {.own_sends = kit_arg(k, "own_sends", 0)};

	tags_run(k, &opts, match);
}

SCENARIO(tag_match) = {
	{"match", SUITE("tags"), QPS("RC"), ARGS({"tag", 4660}, {"mask", -1}, {"sent", 4660}),
	 CLAUSE("ibv_post_srq_ops/DESCRIPTION/mask"), NEEDS("tag_matching"),
	 SAYS("a message whose tag, under the mask, is that of the entry goes to its buffer without "
	      "its header")},
	{"mask", ARGS({"tag", 52}, {"mask", 255}, {"sent", 4660})},
	{"any", ARGS({"sent", 4660})},
	{"differs", ARGS({"tag", 4660}, {"mask", -1}, {"sent", 4661}, {"matches", 0}),
	 CLAUSE("tag_matching/unexpected"), ERRATA("TM-UNEXPECTED"),
	 SAYS("a message whose tag is another goes complete to a receive, and completes without flags")},
	{"mask-differs", ARGS({"tag", 52}, {"mask", 255}, {"sent", 13330}, {"matches", 0})},
	{"never", ARGS({"tag", 4660}, {"mask", 255}, {"sent", 4660}, {"matches", 0})},
	{"bytes", ARGS({"tag", 5}, {"mask", -1}, {"sent", 5}),
	 FORMS({"-0", {{"length", 0}}}, {"-1", {{"length", 1}}}, {"-200", {{"length", 200}}}),
	 CLAUSE("tag_matching/single"), ERRATA(""),
	 SAYS("data and match are reported in one completion, with tag and priv of the header")},
	{"bytes-9000", ARGS({"length", 9000}, {"tag", 5}, {"mask", -1}, {"sent", 5}),
	 CLAUSE("tag_matching/two"),
	 SAYS("the match is reported with the first packet, the data with the last, for the same "
	      "recv_wr_id")},
	{"match-info", ARGS({"length", 9000}, {"info", 1}, {"tag", 5}, {"mask", -1}, {"sent", 5}),
	 ERRATA("TM-INFO"), SAYS("the first of two completions counts no byte, the second has no tag")},
	{"match-own_sends", ARGS({"own_sends", 1}, {"tag", 5}, {"mask", -1}, {"sent", 5}),
	 CLAUSE("ibv_post_srq_ops/DESCRIPTION/mask"), ERRATA("TM-SENDS"),
	 SAYS("a message to a QP with a send queue of its own matches like any other")},
	{"sge-2", ARGS({"two", 1}, {"tag", 5}, {"mask", -1}, {"sent", 5}),
	 FORMS({"", {{"length", 9000}}}, {"-short", {{"length", 99}}}), CLAUSE("tag_matching/skip"),
	 ERRATA(""), SAYS("data is scattered over the SGEs of the buffer")},
	{},
};

/* Of several entries that match, the one that was added first is taken. */
static void order(struct kit *k, struct tags *t)
{
	const bool any_first = kit_arg(k, "any_first", 0);
	const uint64_t mask[3] = {any_first ? 0 : ALL, any_first ? ALL : 0, ALL};

	for (unsigned int i = 0; i < 3; i++)
		if (!tags_must_add(t, (struct tags_entry){i, mask[i] ? 5 : 0, mask[i], 64, false, 0, 0, 0, 0},
				   NULL))
			return;
	for (unsigned int i = 0; i < 3; i++)
		if (!tags_send(t, IBV_TMH_EAGER, 5, TMH + 10 + i) ||
		    !tags_expect(t, TAGS_RECV + i, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE))
			return;
}

static void tag_order(struct kit *k)
{
	tags_run(k, &usual, order);
}

SCENARIO(tag_order) = {
	{"order-any", SUITE("tags"), QPS("RC"), FORMS({"-second"}, {"-first", {{"any_first", 1}}}),
	 CLAUSE("tag_matching/order"), NEEDS("tag_matching"),
	 SAYS("of several entries that match, messages take the one that was added first")},
	{},
};

/* ---- Unexpected messages ---- */

/* After an unexpected message new entries do not match, until it was reported: by a SYNC, or with an ADD. */
static void phase(struct kit *k, struct tags *t)
{
	struct tags_entry e = {.slot = 3, .tag = 7, .mask = ALL, .len = 64, .sync_req = IBV_WC_TM_SYNC_REQ};
	struct tags_entry second = {
		.slot = 6, .tag = 11, .mask = ALL, .len = 64, .sync_req = IBV_WC_TM_SYNC_REQ};
	const bool by_add = kit_arg(k, "by_add", 0);

	for (unsigned int i = 0; i < 3; i++)
		if (!tags_recv(t, i))
			return;
	if (!tags_must_add(t, (struct tags_entry){.slot = 4, .tag = 9, .mask = ALL, .len = 64}, NULL) ||
	    !tags_send(t, IBV_TMH_EAGER, 7, TMH + 9) ||
	    !tags_expect(t, TAGS_RECV, IBV_WC_TM_RECV, IBV_WC_SUCCESS, 0) || !tags_must_add(t, e, NULL) ||
	    !tags_must_add(t, second, NULL) || !tags_send(t, IBV_TMH_EAGER, 7, TMH + 9) ||
	    !tags_expect(t, TAGS_RECV + 1, IBV_WC_TM_RECV, IBV_WC_SUCCESS, 0))
		return;
	if (!tags_send(t, IBV_TMH_EAGER, 9, TMH + 9) || /* added before: it still matches */
	    !tags_expect(t, TAGS_RECV + 4, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE) ||
	    !tags_sync(t, 1, IBV_WC_TM_SYNC_REQ)) /* two were unexpected */
		return;
	e = (struct tags_entry){
		.slot = 5, .tag = 8, .mask = ALL, .len = 64, .flags = IBV_OPS_TM_SYNC, .count = 2};
	if (by_add ? !tags_must_add(t, e, NULL) : !tags_sync(t, 2, 0))
		return;
	if (tags_send(t, IBV_TMH_EAGER, 11, TMH + 9) &&
	    tags_expect(t, TAGS_RECV + 6, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE) &&
	    tags_send(t, IBV_TMH_EAGER, 7, TMH + 9))
		tags_expect(t, TAGS_RECV + 3, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE);
}

static void tag_phase(struct kit *k)
{
	tags_run(k, &usual, phase);
}

SCENARIO(tag_phase) = {
	{"phase-sync", SUITE("tags"), QPS("RC"), CLAUSE("tag_matching/phase"), ERRATA("TM-UNEXPECTED"),
	 NEEDS("tag_matching"),
	 SAYS("after an unexpected message new entries do not match, and completions ask for a report, "
	      "until a SYNC has reported as many messages as were unexpected")},
	{"phase-add", ARGS({"by_add", 1}),
	 SAYS("after an unexpected message new entries do not match, and completions ask for a report, "
	      "until an ADD has reported as many messages as were unexpected")},
	{},
};

/* A message without a tag passes an entry that matches everything, complete and uncounted. */
static void no_tag(struct kit *k, struct tags *t)
{
	uint32_t len = kit_arg(k, "length", 0);

	if (!len) /* one byte more than a request may have */
		len = tags_longest_request(t) + 1;
	if (!KIT_GOOD(k) || !tags_recv(t, 0) ||
	    !tags_must_add(t, (struct tags_entry){.slot = 1, .len = TAGS_SLOT}, NULL) ||
	    !tags_send(t, kit_arg(k, "opcode", IBV_TMH_NO_TAG), 3, len) ||
	    !tags_expect(t, TAGS_RECV, IBV_WC_TM_NO_TAG, IBV_WC_SUCCESS, 0))
		return;
	KIT_CHECK(k, t->wc.byte_len == len, "byte_len is %u, expected %u", t->wc.byte_len, len);
	if (!tags_data(t, 0, t->from, len) || !tags_sync(t, 0, 0))
		return;
	if (tags_send(t, IBV_TMH_EAGER, 3, TMH + 5))
		tags_expect(t, TAGS_RECV + 1, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE);
}

static void tag_none(struct kit *k)
{
	tags_run(k, &usual, no_tag);
}

SCENARIO(tag_none) = {
	{"no_tag", SUITE("tags"), QPS("RC"), ARGS({"opcode", 0}),
	 FORMS({"", {{"length", 100}}}, {"-1", {{"length", 1}}}, {"-long", {{"length", 9000}}},
	       {"-40", {{"length", 40}}}),
	 CLAUSE("tag_matching/no-tag"), ERRATA("TM-NO-TAG"), NEEDS("tag_matching"),
	 SAYS("the message goes complete to a receive, whatever is in the list, and is not counted")},
	{"fin", ARGS({"opcode", 2}, {"length", 32})},
	{"unknown", ARGS({"opcode", 9}, {"length", 100})},
	{"eager-short", ARGS({"opcode", 3}, {"length", 15})},
	{"rndv", ARGS({"opcode", 1}),
	 FORMS({"-short", {{"length", 31}}}, {"-long", {{"length", 9000}}}, {"-over", {{"length", 0}}})},
	{},
};

/* ---- Rendezvous ---- */

static void rendezvous(struct kit *k, struct tags *t)
{
	const uint32_t len = kit_arg(k, "length", 1000);
	uint8_t *fin = t->from + 4 * TAGS_SLOT;
	struct ibv_sge sge = {(uintptr_t)fin, TAGS_SLOT, t->from_mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 0xf1, .sg_list = &sge, .num_sge = 1}, *bad;
	int ret = ibv_post_recv(t->l.qp, &wr, &bad);

	t->meta = kit_arg(k, "meta", 0);
	if (kit_arg(k, "longest", 0))
		t->meta = tags_longest_request(t) - TAGS_BOTH;
	KIT_CHECK(k, !ret, "ibv_post_recv failed with %s", errno_name(ret));
	if (!KIT_GOOD(k) ||
	    !tags_must_add(t,
			   (struct tags_entry){.slot = 1, .tag = 4, .mask = ALL, .len = len + 1, .two = true},
			   NULL) ||
	    !tags_request(t, 4, len, 0) || !matched_in_two(t, 4))
		return;
	KIT_CHECK(k, t->wc.byte_len == len, "byte_len is %u, expected %u", t->wc.byte_len, len);
	if (!tags_data(t, 1, t->from + TAGS_SLOT, len) ||
	    !kit_expect(k, &t->l, t->l.cq, t->l.qp, 0xf1, IBV_WC_SUCCESS))
		return;
	KIT_CHECK(k, fin[0] == IBV_TMH_FIN, "the opcode of the message is %u, not IBV_TMH_FIN", fin[0]);
	KIT_CHECK(k, !memcmp(fin + 1, t->from + 1, TAGS_BOTH - 1),
		  "the message does not repeat the headers of the request");
}

static void tag_rendezvous(struct kit *k)
{
	tags_run(k, &usual, rendezvous);
}

SCENARIO(tag_rendezvous) = {
	{"rndv", SUITE("tags"), QPS("RC"),
	 FORMS({"-1", {{"length", 1}}}, {"-1000", {{"length", 1000}}}, {"-9000", {{"length", 9000}}}),
	 CLAUSE("tag_matching/fin"), NEEDS("tag_matching"),
	 SAYS("the device reads the data, and then sends IBV_TMH_FIN with the headers of the request")},
	{"rndv-info", ARGS({"info", 1}), CLAUSE("tag_matching/two"), ERRATA("TM-INFO"),
	 SAYS("the first of two completions counts no byte, the second has no tag")},
	{"rndv", FORMS({"-meta", {{"meta", 1}}}, {"-longest", {{"longest", 1}}}), CLAUSE("tag_matching/fin"),
	 ERRATA(""),
	 SAYS("a request with further bytes behind its headers, as many as max_rndv_hdr_size allows, "
	      "is served like any other")},
	{},
};

static void incomplete(struct kit *k, struct tags *t)
{
	if (!tags_must_add(t, (struct tags_entry){.slot = 1, .tag = 4, .mask = ALL, .len = 2000}, NULL) ||
	    !tags_request(t, 4, kit_arg(k, "length", 2001), 0) ||
	    !tags_expect(t, TAGS_RECV + 1, IBV_WC_TM_RECV, IBV_WC_TM_RNDV_INCOMPLETE, TAGS_DONE))
		return;
	if (tags_data(t, 1, t->from, TAGS_BOTH))
		kit_expect_none(k, &t->l, t->l.cq);
}

static void tag_incomplete(struct kit *k)
{
	const struct tags_opts opts = {.own_sends = kit_arg(k, "own_sends", 0)};

	tags_run(k, &opts, incomplete);
}

SCENARIO(tag_incomplete) = {
	{"rndv-incomplete", SUITE("tags"), QPS("RC"), CLAUSE("tag_matching/incomplete"),
	 NEEDS("tag_matching"), SAYS("software gets both headers in the tagged buffer, and nothing is read")},
	{"rndv-own_sends", ARGS({"own_sends", 1}, {"length", 100}), ERRATA("TM-SENDS")},
	{},
};

/* The sender's key is wrong: the READ fails, and nothing of its buffer is written. The QP is in ERR then. */
static void unreadable(struct kit *k, struct tags *t)
{
	static const uint8_t empty[1];

	if (!tags_must_add(t, (struct tags_entry){.slot = 1, .tag = 4, .mask = ALL, .len = 2000}, NULL) ||
	    !tags_request(t, 4, kit_arg(k, "length", 2000), 0x5a) ||
	    !tags_expect(t, TAGS_RECV + 1, IBV_WC_TM_RECV, IBV_WC_SUCCESS, IBV_WC_TM_MATCH) ||
	    !tags_expect(t, TAGS_RECV + 1, IBV_WC_TM_RECV, IBV_WC_REM_ACCESS_ERR, TAGS_FAILED))
		return;
	if (tags_data(t, 1, empty, 0))
		kit_expect_state(k, t->l.peer, IBV_QPS_ERR);
}

static void tag_unreadable(struct kit *k)
{
	tags_run(k, &usual, unreadable);
}

SCENARIO(tag_unreadable) = {
	{"rndv-rkey", SUITE("tags"), QPS("RC"), CLAUSE("tag_matching/fin"), LEVEL("SHOULD"),
	 ERRATA("FAILURE-STATUS"), NEEDS("tag_matching"),
	 SAYS("the READ fails: the match is reported, then IBV_WC_REM_ACCESS_ERR, nothing is written, "
	      "and the QP is in ERR")},
	{},
};

/* ---- Operations ---- */

/* An entry is deleted before its message comes, or too late. */
static void delete (struct kit *k, struct tags *t)
{
	const int flags = kit_arg(k, "signaled", 1) ? IBV_OPS_SIGNALED : 0;
	struct ibv_ops_wr del = {.wr_id = 0xde1, .opcode = IBV_WR_TAG_DEL, .flags = flags};
	const bool late = kit_arg(k, "late", 0);
	int ret;

	if (!tags_recv(t, 0) ||
	    !tags_must_add(t, (struct tags_entry){.slot = 1, .tag = 6, .mask = ALL, .len = 64},
			   &del.tm.handle))
		return;
	if (late && !tags_send(t, IBV_TMH_EAGER, 6, TMH + 9))
		return;
	ret = tags_post(t, &del);
	KIT_CHECK(k, !ret, "IBV_WR_TAG_DEL was refused with %s", errno_name(ret));
	if (late && !tags_expect(t, TAGS_RECV + 1, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE))
		return;
	if (flags && !tags_expect(t, 0xde1, IBV_WC_TM_DEL, late ? IBV_WC_TM_ERR : IBV_WC_SUCCESS, 0))
		return;
	if (!late && tags_sync(t, 0, 0) && tags_send(t, IBV_TMH_EAGER, 6, TMH + 9))
		tags_expect(t, TAGS_RECV, IBV_WC_TM_RECV, IBV_WC_SUCCESS, 0);
}

static void tag_delete(struct kit *k)
{
	tags_run(k, &usual, delete);
}

SCENARIO(tag_delete) = {
	{"del", SUITE("tags"), QPS("RC"), CLAUSE("ibv_post_srq_ops/DESCRIPTION/del"), ERRATA("TM-UNEXPECTED"),
	 NEEDS("tag_matching"), SAYS("the entry is removed: its message is unexpected")},
	{"del-silent", ARGS({"signaled", 0}), CLAUSE("ibv_post_srq_ops/DESCRIPTION/signaled"), ERRATA(""),
	 SAYS("the entry is removed: its message is unexpected; nothing completes")},
	{"del-late", ARGS({"late", 1}), CLAUSE("ibv_post_srq_ops/DESCRIPTION/del"),
	 SAYS("an entry whose message came first cannot be deleted: IBV_WC_TM_ERR")},
	{"del-late-silent", ARGS({"late", 1}, {"signaled", 0}),
	 CLAUSE("ibv_post_srq_ops/DESCRIPTION/signaled"), SAYS("nothing completes")},
	{},
};

/* Operations that are not signaled have an effect and no completion. */
static void silent(struct kit *k, struct tags *t)
{
	int ret = tags_add(t, (struct tags_entry){.slot = 1, .tag = 6, .mask = ALL, .len = 64}, NULL);

	KIT_CHECK(k, !ret, "IBV_WR_TAG_ADD was refused with %s", errno_name(ret));
	if (tags_sync(t, 0, 0) && tags_send(t, IBV_TMH_EAGER, 6, TMH + 9))
		tags_expect(t, TAGS_RECV + 1, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE);
}

static void tag_silent(struct kit *k)
{
	tags_run(k, &usual, silent);
}

SCENARIO(tag_silent) = {
	{"add-silent", SUITE("tags"), QPS("RC"), CLAUSE("ibv_post_srq_ops/DESCRIPTION/signaled"),
	 NEEDS("tag_matching"), SAYS("the entry matches, and its ADD does not complete")},
	{},
};

#define LIST 4

/* A list takes as many entries as it was made for, and another one when one has been used. */
static void full(struct kit *k, struct tags *t)
{
	struct tags_entry e = {.tag = 1, .mask = ALL, .len = 64};
	int ret;

	for (e.slot = 0; e.slot < LIST; e.slot++)
		if (!tags_must_add(t, e, NULL))
			return;
	ret = tags_add(t, e, NULL);
	KIT_CHECK(k, ret, "an entry was taken when the list was full");
	k->res->err = ret;
	if (!tags_send(t, IBV_TMH_EAGER, 1, TMH + 9) ||
	    !tags_expect(t, TAGS_RECV, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE) ||
	    !tags_must_add(t, e, NULL))
		return;
	for (e.slot = 1; e.slot <= LIST; e.slot++)
		if (!tags_send(t, IBV_TMH_EAGER, 1, TMH + 9) ||
		    !tags_expect(t, TAGS_RECV + e.slot, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE))
			return;
}

static void tag_full(struct kit *k)
{
	const struct tags_opts opts = {.num_tags = LIST};

	tags_run(k, &opts, full);
}

SCENARIO(tag_full) = {
	{"full", SUITE("tags"), QPS("RC"), CLAUSE("ibv_post_srq_ops/DESCRIPTION/max_num_tags"),
	 NEEDS("tag_matching"),
	 SAYS("a full list refuses an entry, and has room again when one has been used")},
	{},
};

/* What no list takes: a mistake of each kind. */
static void refused(struct kit *k, struct tags *t)
{
	struct ibv_device_attr_ex attr = {};
	struct ibv_sge sge[64] = {};
	struct ibv_ops_wr many = {.opcode = IBV_WR_TAG_ADD}, none = {.opcode = IBV_WR_TAG_DEL};
	struct ibv_ops_wr opcode = {.opcode = IBV_WR_TAG_SYNC + 1}, *wr[] = {&many, &none, &opcode};
	const int which = kit_arg(k, "which", 0);
	int ret = ibv_query_device_ex(k->r->dut.responder.ctx, NULL, &attr);

	KIT_CHECK(k, !ret, "ibv_query_device_ex failed with %s", errno_name(ret));
	many.tm.add.sg_list = sge;
	many.tm.add.num_sge = attr.tm_caps.max_sge + 1;
	none.tm.handle = 1; /* nothing was added */
	ret = tags_post(t, wr[which]);
	KIT_CHECK(k, ret, "the operation was taken");
	k->res->err = ret;
	tags_sync(t, 0, 0);
}

static void tag_refused(struct kit *k)
{
	tags_run(k, &usual, refused);
}

SCENARIO(tag_refused) = {
	{"sge-over", SUITE("tags"), QPS("RC"), CLAUSE("ibv_post_srq_ops/DESCRIPTION/max_sge"),
	 ERRATA("POST-ERRNO"), NEEDS("tag_matching"),
	 SAYS("the operation is refused, and the next one executed")},
	{"del-nothing", ARGS({"which", 1}), CLAUSE("ibv_post_srq_ops/DESCRIPTION/handle")},
	{"opcode", ARGS({"which", 2}), CLAUSE("ibv_post_srq_ops/DESCRIPTION/opcode")},
	{},
};
