/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Atomics on 64 bits: carries over each byte, a difference in any one byte, and several QPs on one word. */
#include <string.h>

#include "suites/kit.h"

#define WORD   4096 /* offset of the word */
#define RIVALS 3
#define ADDS   5 /* of each QP */

struct step {
	uint64_t before, add; /* FETCH_ADD; CMP_SWP: the value that is stored */
	uint64_t compare;
	bool swap;
};

static bool post_atomic(struct kit *k, struct link *l, const struct link *target, const struct step *s,
			uint64_t *result, uint64_t wr_id)
{
	struct ibv_sge sge = {(uintptr_t)result, 8, l->local.mr->lkey};
	struct ibv_send_wr wr =
		kit_wr(wr_id, s->swap ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
	int ret;

	wr.wr.atomic.remote_addr = (uintptr_t)target->target.base + WORD;
	wr.wr.atomic.rkey = target->target.mr->rkey;
	wr.wr.atomic.compare_add = s->swap ? s->compare : s->add;
	wr.wr.atomic.swap = s->swap ? s->add : 0;
	if (l->qpt == IBV_QPT_XRC_SEND)
		wr.qp_type.xrc.remote_srqn = l->srqn;
	ret = kit_post(k, l->qp, l->peer, &wr, NULL);
	if (ret)
		KIT_FAULT(k, "posting was refused with %s", errno_name(ret));
	return !ret;
}

/* Puts the word into memory, executes the atomic on it, and checks the result, the word and all bytes around it. */
static bool execute(struct kit *k, const struct step *s)
{
	struct link *l = k->l;
	uint64_t *word = (uint64_t *)(l->target.base + WORD), *result = (uint64_t *)arena_take(&l->local, 8);
	uint64_t after = s->swap ? (s->before == s->compare ? s->add : s->before) : s->before + s->add;

	*word = s->before;
	arena_written(&l->target, (uint8_t *)word, 8);
	end_written(word, 8);
	memcpy(arena_shadow(&l->target, (uint8_t *)word), &after, 8);
	memset(result, 0xdb, 8);
	memcpy(arena_shadow(&l->local, (uint8_t *)result), &s->before, 8);
	link_push(l);
	if (!post_atomic(k, l, l, s, result, 0xa70) || !kit_expect(k, l, l->cq, l->qp, 0xa70, IBV_WC_SUCCESS))
		return false;
	link_fetch(l);
	arena_judge(&k->res->verdict, &l->target);
	arena_judge(&k->res->verdict, &l->local);
	if (!KIT_GOOD(k))
		KIT_FAULT(k, "%s: 0x%llx, operand 0x%llx, compared with 0x%llx: memory 0x%llx, result 0x%llx",
			  s->swap ? "CMP_AND_SWP" : "FETCH_AND_ADD", (unsigned long long)s->before,
			  (unsigned long long)s->add, (unsigned long long)s->compare,
			  (unsigned long long)*word, (unsigned long long)*result);
	return KIT_GOOD(k);
}

static bool carries(struct kit *k)
{
	const uint64_t odd = 0x8123456789abcdefull;
	bool good = execute(k, &(struct step){.before = ~0ull, .add = 1}) &&
		    execute(k, &(struct step){.before = odd, .add = -1ull}) &&
		    execute(k, &(struct step){.before = odd, .add = odd});

	for (unsigned int bits = 8; bits < 64 && good; bits += 8)
		good = execute(k, &(struct step){.before = odd | ((1ull << bits) - 1), .add = 1}) &&
		       execute(k, &(struct step){.before = odd, .add = 0xffull << bits});
	return good;
}

static bool comparisons(struct kit *k)
{
	const uint64_t is = 0x1122334455667788ull, new = 0xf0e1d2c3b4a59687ull;
	bool good = execute(k, &(struct step){is, new, is, true}) &&
		    execute(k, &(struct step){0, new, 0, true}) &&
		    execute(k, &(struct step){~0ull, 0, ~0ull, true}) &&
		    execute(k, &(struct step){new, is, is, true});

	for (unsigned int byte = 0; byte < 8 && good; byte++)
		good = execute(k, &(struct step){is, new, is ^ 0x80ull << 8 * byte, true}) &&
		       execute(k, &(struct step){is, new, is ^ 1ull << 8 * byte, true});
	return good;
}

static void atomic_bytes(struct kit *k)
{
	if (!kit_link(k, API_POST, NULL))
		return;
	arena_reset(&k->l->local);
	arena_reset(&k->l->target);
	arena_take(&k->l->target, WORD + 64);
	if (carries(k))
		comparisons(k);
}

/* No two additions bring the same value, and none is lost. */
static void judge_sums(struct kit *k, const uint64_t *results, const uint64_t *word)
{
	bool seen_value[RIVALS * ADDS] = {};

	end_sync();
	KIT_CHECK(k, *word == RIVALS * ADDS, "the word is %llu after %u additions", (unsigned long long)*word,
		  RIVALS * ADDS);
	for (unsigned int i = 0; i < RIVALS * ADDS; i++) {
		KIT_CHECK(k, results[i] < RIVALS * ADDS && !seen_value[results[i]],
			  "two additions brought %llu", (unsigned long long)results[i]);
		KIT_CHECK(k, !(i % ADDS) || results[i] > results[i - 1],
			  "additions of one QP were not in order");
		seen_value[results[i]] = true;
	}
}

/* Several QPs add to one word at the same time. */
static void atomic_rivals(struct kit *k)
{
	static struct link others[RIVALS - 1];
	struct link *link[RIVALS] = {k->l, &others[0], &others[1]};
	const struct step add = {.add = 1};
	uint64_t results[RIVALS * ADDS], *word;
	bool good = kit_link(k, API_POST, NULL);

	memset(others, 0, sizeof(others));
	for (unsigned int i = 1; i < RIVALS && good; i++)
		good = kit_link_second(k, link[i], API_POST, NULL);
	if (good) {
		word = (uint64_t *)(k->l->target.base + WORD);
		*word = 0;
		end_written(word, 8);
		link_push(k->l);
	}
	for (unsigned int i = 0; i < RIVALS * ADDS && good; i++) {
		struct link *l = link[i % RIVALS];

		good = post_atomic(k, l, k->l, &add, (uint64_t *)l->local.base + i / RIVALS, i);
	}
	for (unsigned int i = 0; i < RIVALS * ADDS && good; i++)
		good = kit_expect(k, link[i % RIVALS], link[i % RIVALS]->cq, link[i % RIVALS]->qp, i,
				  IBV_WC_SUCCESS);
	for (unsigned int i = 0; i < RIVALS * ADDS && good; i++)
		results[i] = ((uint64_t *)link[i / ADDS]->local.base)[i % ADDS];
	if (good)
		judge_sums(k, results, word);
	for (unsigned int i = 1; i < RIVALS; i++)
		link_destroy(link[i]);
}

const struct scenario atomic_scenarios[] = {
	{"atomic_bytes", atomic_bytes},
	{"atomic_rivals", atomic_rivals},
	{NULL, NULL},
};
