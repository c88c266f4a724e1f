/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tag matching: what an operation of the list means by its flags and its count, and how long it takes up its place. */
#include <errno.h>

#include "suites/queues/tags.h"

#define TMH     ((uint32_t)sizeof(struct ibv_tmh))
#define ALL     UINT64_MAX
#define NUM_OPS 5
#define MANY    100 /* operations that are not signaled: more than the CQ holds */

static struct tags_entry entry(unsigned int slot)
{
	return (struct tags_entry){.slot = slot, .tag = slot, .mask = ALL, .len = 64};
}

/* The message of an entry, which must match it. */
static bool match(struct tags *t, unsigned int slot)
{
	return tags_send(t, IBV_TMH_EAGER, slot, TMH + 9) &&
	       tags_expect(t, TAGS_RECV + slot, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE);
}

static bool add_silently(struct tags *t, struct tags_entry e)
{
	const int ret = tags_add(t, e, NULL);

	if (!kit_holds(t->k, !ret))
		KIT_FAULT(t->k, "IBV_WR_TAG_ADD was refused with %s", errno_name(ret));
	return KIT_GOOD(t->k);
}

/* unexpected_cnt counts only with IBV_OPS_TM_SYNC, and then with all its bits. */
static void counted(struct kit *k, struct tags *t)
{
	struct tags_entry e = entry(1);

	(void)k;
	e.count = 9;
	if (!tags_must_add(t, e, NULL) || !match(t, 1) || !add_silently(t, e) || !match(t, 1))
		return;
	for (unsigned int n = 1; n <= 3; n++) {
		if (!tags_recv(t, 0) || !tags_send(t, IBV_TMH_EAGER, 7, TMH + 9) ||
		    !tags_expect(t, TAGS_RECV, IBV_WC_TM_RECV, IBV_WC_SUCCESS, 0) || !tags_sync(t, n, 0) ||
		    !tags_must_add(t, entry(2), NULL) || !match(t, 2))
			return;
	}
}

static void tag_counted(struct kit *k)
{
	tags_run(k, &(const struct tags_opts){.num_tags = 2}, counted);
}

SCENARIO(tag_counted) = {
	{"counted", SUITE("tags"), QPS("RC"), CLAUSE("tag_matching/phase"), ERRATA("TM-UNEXPECTED"),
	 NEEDS("tag_matching"),
	 SAYS("unexpected_cnt counts only with IBV_OPS_TM_SYNC; one, two and three unexpected messages "
	      "are reported")},
	{},
};

/* An operation that is not signaled gives its place back when its entry is used: there are more than max_ops. */
static void places(struct kit *k, struct tags *t)
{
	(void)k;
	for (unsigned int turn = 0; turn < 3; turn++) {
		for (unsigned int i = 0; i < NUM_OPS; i++)
			if (!add_silently(t, entry(i)))
				return;
		for (unsigned int i = 0; i < NUM_OPS; i++)
			if (!match(t, i))
				return;
	}
}

static void tag_places(struct kit *k)
{
	tags_run(k, &(const struct tags_opts){.num_tags = NUM_OPS, .max_ops = NUM_OPS}, places);
}

SCENARIO(tag_places) = {
	{"places", SUITE("tags"), QPS("RC"), CLAUSE("ibv_create_srq_ex/DESCRIPTION/max_ops"),
	 ERRATA("TM-LIMITS"), NEEDS("tag_matching"),
	 SAYS("an ADD that is not signaled gives its place back when its entry is used")},
	{},
};

static bool post_sync(struct tags *t, uint64_t wr_id, int flags)
{
	struct ibv_ops_wr wr = {.wr_id = wr_id, .opcode = IBV_WR_TAG_SYNC, .flags = flags};
	const int ret = tags_post(t, &wr);

	if (!kit_holds(t->k, !ret))
		KIT_FAULT(t->k, "operation %u was refused with %s", (unsigned int)wr_id, errno_name(ret));
	return KIT_GOOD(t->k);
}

/* The list of operations is never empty: each completion makes room for one more. */
static void never_empty(struct kit *k, struct tags *t)
{
	if (!post_sync(t, 0, IBV_OPS_SIGNALED))
		return;
	for (unsigned int i = 1; i < 4 * NUM_OPS && KIT_GOOD(k); i++)
		if (!post_sync(t, i, IBV_OPS_SIGNALED) ||
		    !tags_expect(t, i - 1, IBV_WC_TM_SYNC, IBV_WC_SUCCESS, 0))
			return;
	tags_expect(t, 4 * NUM_OPS - 1, IBV_WC_TM_SYNC, IBV_WC_SUCCESS, 0);
}

static void tag_never_empty(struct kit *k)
{
	tags_run(k, &(const struct tags_opts){.max_ops = NUM_OPS}, never_empty);
}

SCENARIO(tag_never_empty) = {
	{"never-empty", SUITE("tags"), QPS("RC"), CLAUSE("ibv_create_srq_ex/DESCRIPTION/max_ops"),
	 ERRATA("TM-LIMITS"), NEEDS("tag_matching"),
	 SAYS("with one operation always outstanding, each completion makes room for another one")},
	{},
};

/* Operations that are not signaled take no entry of the CQ. */
static void silent_many(struct kit *k, struct tags *t)
{
	for (unsigned int i = 0; i < MANY; i++)
		if (!post_sync(t, i, 0))
			return;
	if (post_sync(t, MANY, IBV_OPS_SIGNALED) && tags_expect(t, MANY, IBV_WC_TM_SYNC, IBV_WC_SUCCESS, 0) &&
	    KIT_GOOD(k) && tags_must_add(t, entry(1), NULL))
		match(t, 1);
}

static void tag_silent_many(struct kit *k)
{
	tags_run(k, &(const struct tags_opts){.max_ops = MANY + 1}, silent_many);
}

SCENARIO(tag_silent_many) = {
	{"silent-many", SUITE("tags"), QPS("RC"), CLAUSE("ibv_post_srq_ops/DESCRIPTION/signaled"),
	 ERRATA("TM-LIMITS"), NEEDS("tag_matching"),
	 SAYS("operations that are not signaled take no entry of the CQ")},
	{},
};

/* The handle of an entry whose DEL came too late is given out once. Members of an ADD count for nothing in a DEL. */
static void late(struct kit *k, struct tags *t)
{
	struct ibv_ops_wr del = {.wr_id = 0xde1, .opcode = IBV_WR_TAG_DEL, .flags = IBV_OPS_SIGNALED};
	uint32_t handle[2];
	int ret;

	del.tm.unexpected_cnt = 1000;
	del.tm.add.sg_list = (void *)8; /* nothing is there */
	del.tm.add.num_sge = 1;
	if (!tags_must_add(t, entry(1), &del.tm.handle) || !tags_send(t, IBV_TMH_EAGER, 1, TMH + 9))
		return;
	ret = tags_post(t, &del);
	KIT_CHECK(k, !ret, "IBV_WR_TAG_DEL was refused with %s", errno_name(ret));
	if (!tags_expect(t, TAGS_RECV + 1, IBV_WC_TM_RECV, IBV_WC_SUCCESS, TAGS_DONE) ||
	    !tags_expect(t, 0xde1, IBV_WC_TM_DEL, IBV_WC_TM_ERR, 0) ||
	    !tags_must_add(t, entry(2), &handle[0]) || !tags_must_add(t, entry(3), &handle[1]))
		return;
	KIT_CHECK(k, handle[0] != handle[1], "two entries have handle 0x%x", handle[0]);
	if (match(t, 3))
		match(t, 2);
}

static void tag_late(struct kit *k)
{
	tags_run(k, &(const struct tags_opts){.num_tags = 2}, late);
}

SCENARIO(tag_late) = {
	{"late-handle", SUITE("tags"), QPS("RC"), CLAUSE("ibv_post_srq_ops/DESCRIPTION/handle"),
	 ERRATA("TM-LIMITS"), NEEDS("tag_matching"),
	 SAYS("the handle of an entry whose DEL came too late is given out once")},
	{},
};

#define LIST 48 /* operations of a list: fewer than the CQ holds */

/* More operations than 16 bits count, in lists whose last one is signaled; the count turns over inside a list. */
static void count(struct kit *k, struct tags *t)
{
	struct ibv_ops_wr wr[LIST], *failed;

	log_call(&k->res->log, "/* lists of %d IBV_WR_TAG_SYNC each, more than %d in all */", LIST, 1 << 16);
	for (unsigned int i = 0; i < LIST; i++)
		wr[i] = (struct ibv_ops_wr){.wr_id = i,
					    .opcode = IBV_WR_TAG_SYNC,
					    .flags = i + 1 < LIST ? 0 : IBV_OPS_SIGNALED,
					    .next = i + 1 < LIST ? &wr[i + 1] : NULL};
	for (unsigned int done = 0; done < (1 << 16) + LIST; done += LIST) {
		const int ret = ibv_post_srq_ops(t->srq, wr, &failed);

		KIT_CHECK(k, !ret, "after %u operations one was refused with %s", done, errno_name(ret));
		if (!tags_expect(t, LIST - 1, IBV_WC_TM_SYNC, IBV_WC_SUCCESS, 0))
			return;
	}
	if (tags_must_add(t, entry(1), NULL)) /* and the list still works */
		match(t, 1);
}

static void tag_count(struct kit *k)
{
	tags_run(k, &(const struct tags_opts){.num_tags = 8, .max_ops = LIST}, count);
}

SCENARIO(tag_count) = {
	{"count", SUITE("tags"), QPS("RC"), CLAUSE("ibv_create_srq_ex/DESCRIPTION/max_ops"),
	 ERRATA("TM-LIMITS"), NEEDS("tag_matching"),
	 SAYS("more than 65536 operations, posted in lists, all complete, and the list works")},
	{},
};
