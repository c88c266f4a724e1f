/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Atomics of two QPs that compete for one word. */
#include <endian.h>
#include <string.h>

#include "suites/kit.h"

#define EACH CELL_MAX_WR

/* The requests of one QP, all for the word at `target`. */
static void aim(struct kit *k, struct plan *plans, struct ibv_send_wr *wr, uint64_t target, uint32_t rkey)
{
	kit_list(k, plans, k->cell->num_wr, wr);
	for (unsigned int i = 0; i < k->cell->num_wr; i++) {
		wr[i].wr.atomic.remote_addr = target;
		wr[i].wr.atomic.rkey = rkey;
		wr[i].wr.atomic.compare_add = kit_arg(k, "add", 1);
	}
}

/* Marks the values that the requests brought; each is the number of additions before it. */
static void mark(struct kit *k, struct link *l, const struct plan *plans, uint64_t start, bool *taken)
{
	unsigned int num = k->cell->num_wr;
	uint64_t value;

	link_fetch(l);
	for (unsigned int i = 0; i < num; i++) {
		memcpy(&value, arena_at(&l->local, plans[i].sge[0].addr), sizeof(value));
		value -= start;
		KIT_CHECK(k, value < 2 * num, "a request brought %lld more than the first value of the word",
			  (long long)value);
		KIT_CHECK(k, !taken[value], "two requests brought the same value: the word was read twice");
		taken[value] = true;
	}
}

static void expect_all(struct kit *k, struct link *l, const struct plan *plans)
{
	for (unsigned int i = 0; i < k->cell->num_wr; i++)
		if (!kit_expect(k, l, l->cq, l->qp, plans[i].wr_id, IBV_WC_SUCCESS))
			return;
}

static void compete(struct kit *k, struct kit *there)
{
	static struct plan plans[CELL_MAX_WR], theirs[CELL_MAX_WR];
	struct ibv_send_wr wr[CELL_MAX_WR], their_wr[CELL_MAX_WR];
	struct link *l = k->l, *other = there->l;
	bool taken[2 * EACH] = {false};
	uint64_t target, start, last;

	if (!kit_plan(k, plans) || !kit_plan(there, theirs))
		return;
	memcpy(&start, plans[0].target, sizeof(start));
	target = arena_address(&l->target, plans[0].target);
	aim(k, plans, wr, target, l->target.mr->rkey);
	aim(there, theirs, their_wr, target, l->target.mr->rkey);
	KIT_CHECK(k,
		  !kit_post(k, l->qp, l->peer, wr, NULL) &&
			  !kit_post(there, other->qp, other->peer, their_wr, NULL),
		  "posting was refused");
	expect_all(k, l, plans);
	if (KIT_GOOD(k))
		expect_all(there, other, theirs);
	if (KIT_GOOD(k))
		mark(k, l, plans, start, taken);
	if (KIT_GOOD(k))
		mark(k, other, theirs, start, taken);
	memcpy(&last, plans[0].target, sizeof(last));
	KIT_CHECK(k, !KIT_GOOD(k) || last == start + 2 * k->cell->num_wr, "the word has %lld additions of %u",
		  (long long)(last - start), 2 * k->cell->num_wr);
}

static void atomics_compete(struct kit *k)
{
	struct link other = {0};
	struct kit there = {.r = k->r, .cell = k->cell, .res = k->res, .l = &other};

	if (kit_link(k, API_POST, NULL) && kit_link_second(k, &other, API_POST, NULL))
		compete(k, &there);
}

SCENARIO(atomics_compete) = {
	{"two-qps", SUITE("atomic"), QPS("RC XRC_SEND"), POSTS("8 x ATOMIC_FETCH_AND_ADD"), ARGS({"add", 1}),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/Atomic-operations"),
	 SAYS("each addition of two QPs to one word brings a value that no other brings, and none is "
	      "lost")},
	{},
};
