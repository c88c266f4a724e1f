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

const struct scenario tag_scenarios[] = {
	{"tag_match", tag_match},           {"tag_order", tag_order},
	{"tag_phase", tag_phase},           {"tag_none", tag_none},
	{"tag_rendezvous", tag_rendezvous}, {"tag_incomplete", tag_incomplete},
	{"tag_unreadable", tag_unreadable}, {"tag_delete", tag_delete},
	{"tag_silent", tag_silent},         {"tag_full", tag_full},
	{"tag_refused", tag_refused},       {NULL, NULL},
};
