/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibv_resize_cq(3) with entries that are not polled yet. */
#include <errno.h>
#include <string.h>

#include "suites/completions/bench.h"

#define STEPS    21
#define UNPOLLED 6
#define CQS      8
#define ENTRIES  200 /* a size that no other CQ of the runner has */

static bool resize(struct bench *b, int cqe)
{
	int ret = ibv_resize_cq(b->cq, cqe);

	log_call(&b->k->res->log, "ibv_resize_cq(cq, %d) /* %u entries are not polled */", cqe, bench_num(b));
	if (ret)
		KIT_FAULT(b->k, "a resize to %d entries failed with %s, %u are not polled", cqe,
			  errno_name(ret), bench_num(b));
	else if (b->cq->cqe < cqe)
		KIT_FAULT(b->k, "after a resize to %d entries cqe is %d", cqe, b->cq->cqe);
	return KIT_GOOD(b->k);
}

/*
 * One resize: `before` entries are polled first, so that the others are at different places of the ring; `left` stay in
 * the CQ, and `meanwhile` more come while it is resized. Then the new size is filled, and again if `turn`.
 */
static bool resize_step(struct bench *b, struct link *l, int cqe, unsigned int before, unsigned int left,
			unsigned int meanwhile, bool turn)
{
	unsigned int full;

	if (!bench_put(b, l, before) || !bench_take(b, before) || !bench_put(b, l, left))
		return false;
	if (meanwhile && !(bench_arm(b, 1) && bench_send(b, l, meanwhile, true)))
		return false;
	if (!resize(b, cqe) || (meanwhile && !bench_event(b)))
		return false;
	full = b->cq->cqe <= BENCH_MOST ? (unsigned int)b->cq->cqe : (unsigned int)cqe;
	if (!bench_put(b, l, full - left - meanwhile) || !bench_empty(b))
		return false;
	return !turn || (bench_put(b, l, full) && bench_empty(b));
}

static void resize_kept(struct kit *k)
{
	static const int sizes[] = {8, 4, 16, 5, 4, 7, 12};
	struct bench b = {0};
	int now = 4;

	if (bench_open(&b, k, now) && bench_link(&b, k->l, NULL))
		for (unsigned int step = 0; step < STEPS; step++) {
			int next = sizes[step % 7];
			/* a full CQ may have no room for what a device marks the end of the old ring with */
			unsigned int most = (now < next ? now : next) - 1, left = step * 5 % (most + 1);
			unsigned int meanwhile = step % 4 == 3 ? most - left : 0;

			if (!resize_step(&b, k->l, next, step % 3, left, meanwhile, step % 2))
				break;
			now = next;
		}
}

SCENARIO(resize_kept) = {
	{"resize", SUITE("cq"), QPS("RC"), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 CLAUSE("ibv_resize_cq/NOTES/cqe"),
	 SAYS("larger, smaller and exactly sufficient, with entries at every place of the ring that "
	      "are not polled, and with some that come meanwhile: all are polled, in order, and the "
	      "new size holds")},
	{},
};

/* A CQ that is armed stays armed, and one that is not, not. */
static void resize_armed(struct kit *k)
{
	struct bench b = {0};

	if (bench_open(&b, k, 4) && bench_link(&b, k->l, NULL)) {
		for (int turn = 0; turn < 4 && KIT_GOOD(k); turn++)
			(void)(bench_put(&b, k->l, 1 + turn % 2) && bench_empty(&b) &&
			       bench_arm(&b, turn & 1) && resize(&b, turn & 2 ? 4 : 16) &&
			       bench_send(&b, k->l, 2, true) && bench_event(&b) && bench_empty(&b));
		if (KIT_GOOD(k) && end_cq_event_ready(b.channel, 0))
			KIT_FAULT(k, "a second completion event came for one request of notification");
		/* nothing has come since the resize */
		for (int solicited = 0; solicited < 2 && KIT_GOOD(k); solicited++)
			(void)(resize(&b, solicited ? 5 : 9) && bench_arm(&b, solicited) &&
			       bench_quiet(&b, k->l) && bench_send(&b, k->l, 2, true) && bench_event(&b) &&
			       bench_empty(&b));
	}
}

SCENARIO(resize_armed) = {
	{"resize-armed", SUITE("cq"), QPS("RC"), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 CLAUSE("ibv_req_notify_cq/DESCRIPTION/any"),
	 SAYS("a request of notification outlives a resize, and has one event")},
	{},
};

/* A full CQ may have no room to mark the end of the old ring: it is resized, or stays as it was. */
static void resize_full(struct kit *k)
{
	static const int sizes[] = {16, 4, 8};
	struct bench b = {0};

	if (bench_open(&b, k, 8) && bench_link(&b, k->l, NULL))
		for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && KIT_GOOD(k); i++) {
			int cqe = b.cq->cqe, ret;

			if (cqe > BENCH_MOST || !bench_put(&b, k->l, cqe))
				break;
			ret = ibv_resize_cq(b.cq, sizes[i]);
			log_call(&k->res->log, "ibv_resize_cq(cq, %d) /* %d of %d entries are not polled */",
				 sizes[i], cqe, cqe);
			if (ret ? b.cq->cqe != cqe : b.cq->cqe < cqe)
				KIT_FAULT(k,
					  "a resize of a full CQ of %d to %d entries returned %s, and cqe is "
					  "%d",
					  cqe, sizes[i], ret ? errno_name(ret) : "0", b.cq->cqe);
			else if (bench_take(&b, 1) && bench_put(&b, k->l, 1))
				bench_empty(&b);
		}
}

SCENARIO(resize_full) = {
	{"resize-full", SUITE("cq"), QPS("RC"), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 CLAUSE("ibv_resize_cq/DESCRIPTION/unpolled"), LEVEL("SHOULD"), ERRATA("RESIZE-FULL"),
	 SAYS("a CQ full of entries that are not polled is resized, or refused and as before: all are "
	      "polled, in order, and it still works")},
	{},
};

/* Sizes that cannot be, also one that a power of two above it could be: the CQ stays as it was. */
static void resize_refused(struct kit *k)
{
	const int bad[] = {UNPOLLED - 1, 2, 1, 0, -1, k->r->dut.requester.attr.max_cqe + 1};
	struct bench b = {0};

	if (bench_open(&b, k, 8) && bench_link(&b, k->l, NULL) && bench_put(&b, k->l, UNPOLLED))
		for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]) && KIT_GOOD(k); i++) {
			int cqe = b.cq->cqe, ret = ibv_resize_cq(b.cq, bad[i]);

			log_call(&k->res->log, "ibv_resize_cq(cq, %d) /* %d entries are not polled */",
				 bad[i], UNPOLLED);
			k->res->err = ret;
			if (ret != EINVAL)
				KIT_FAULT(k,
					  "a resize to %d with %d entries that are not polled returned %s, "
					  "expected EINVAL",
					  bad[i], UNPOLLED, ret ? errno_name(ret) : "0");
			else if (b.cq->cqe != cqe)
				KIT_FAULT(k, "cqe was %d and is %d after a resize that was refused", cqe,
					  b.cq->cqe);
			else /* the oldest is polled, and another comes */
				(void)(bench_take(&b, 1) && bench_put(&b, k->l, 1));
		}
	if (KIT_GOOD(k) && resize(&b, UNPOLLED))
		bench_empty(&b);
}

SCENARIO(resize_refused) = {
	{"resize-refused", SUITE("cq"), QPS("RC"), CLAUSE("ibv_resize_cq/DESCRIPTION/unpolled"),
	 LEVEL("SHOULD"), ERRATA("RESIZE-TOO-SMALL"),
	 SAYS("EINVAL for fewer entries than are not polled, none, and more than max_cqe; nothing has "
	      "changed")},
	{},
};

/* Half of several CQs of one size, whose rings may lie in one mapping, is resized and destroyed: the others are whole. */
static void resize_others(struct kit *k)
{
	static struct link l[CQS];
	struct bench b[CQS] = {0};
	int i;

	memset(l, 0, sizeof(l));
	for (i = 0; i < CQS && KIT_GOOD(k); i++)
		(void)(bench_open(&b[i], k, ENTRIES) && bench_link(&b[i], &l[i], NULL) &&
		       bench_put(&b[i], &l[i], 3));
	for (i = 1; i < CQS && KIT_GOOD(k); i += 2)
		(void)(resize(&b[i], 3 * ENTRIES) && bench_put(&b[i], &l[i], 2) && bench_empty(&b[i]));
	for (i = 1; i < CQS; i += 2) {
		link_destroy(&l[i]);
		bench_close(&b[i]);
	}
	for (i = 0; i < CQS && KIT_GOOD(k); i += 2)
		(void)(bench_put(&b[i], &l[i], 2) && bench_empty(&b[i]));
}

SCENARIO(resize_others) = {
	{"resize-others", SUITE("cq"), QPS("RC"), CLAUSE("ibv_resize_cq/NOTES/cqe"),
	 SAYS("CQs that were resized are destroyed, and CQs of the size that they had keep their "
	      "entries and still work")},
	{},
};
