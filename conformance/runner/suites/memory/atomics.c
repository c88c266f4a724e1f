/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Atomics on 64 bits: carries over each byte, and a difference in any one byte. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "suites/kit.h"

#define WORD 4096 /* offset of the word */
#define PAGE 4096

struct step {
	uint64_t before, add; /* FETCH_ADD; CMP_SWP: the value that is stored */
	uint64_t compare;
	bool swap;
};

static bool post_atomic(struct kit *k, const struct step *s, uint64_t *result)
{
	struct link *l = k->l;
	struct ibv_sge sge = {(uintptr_t)result, 8, l->local.mr->lkey};
	struct ibv_send_wr wr =
		kit_wr(0xa70, s->swap ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);

	wr.wr.atomic.remote_addr = (uintptr_t)l->target.base + WORD;
	wr.wr.atomic.rkey = l->target.mr->rkey;
	wr.wr.atomic.compare_add = s->swap ? s->compare : s->add;
	wr.wr.atomic.swap = s->swap ? s->add : 0;
	if (l->qpt == IBV_QPT_XRC_SEND)
		wr.qp_type.xrc.remote_srqn = l->srqn;
	return kit_posts(k, l->qp, l->peer, &wr);
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
	if (!post_atomic(k, s, result) || !kit_expect(k, l, l->cq, l->qp, 0xa70, IBV_WC_SUCCESS))
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

/* An addition to the last word of a region, behind which nothing is mapped if it is of this process. */
static bool add_to_end(struct kit *k, uint8_t *mem, struct ibv_mr *mr)
{
	struct link *l = k->l;
	uint64_t *word = (uint64_t *)(mem + PAGE) - 1;
	struct ibv_sge sge = {(uintptr_t)l->local.base, 8, l->local.mr->lkey};
	struct ibv_send_wr wr = kit_wr(0xa71, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);

	*word = 40;
	end_written(word, sizeof(*word));
	end_push();
	wr.wr.atomic.remote_addr = (uintptr_t)word;
	wr.wr.atomic.rkey = mr->rkey;
	wr.wr.atomic.compare_add = 2;
	if (l->qpt == IBV_QPT_XRC_SEND)
		wr.qp_type.xrc.remote_srqn = l->srqn;
	if (!kit_posts(k, l->qp, l->peer, &wr) || !kit_expect(k, l, l->cq, l->qp, 0xa71, IBV_WC_SUCCESS))
		return false;
	end_sync();
	if (*word != 42)
		KIT_FAULT(k, "the last word is %llu, expected 42", (unsigned long long)*word);
	return KIT_GOOD(k);
}

/* One page; the one behind it is no memory, unless the other process has it. */
static void last_word(struct kit *k)
{
	const bool remote = k->r->dut.remote;
	struct ibv_pd *pd = k->r->dut.responder.pd;
	uint8_t *mem = remote ? end_alloc(pd, PAGE) : made_pages(2 * PAGE, MAP_PRIVATE);
	struct ibv_mr *mr;

	KIT_CHECK(k, mem, "no memory");
	if (!remote)
		munmap(mem + PAGE, PAGE);
	mr = ibv_reg_mr(pd, mem, PAGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	if (!mr)
		KIT_FAULT(k, "ibv_reg_mr failed with %s", errno_name(errno));
	else
		add_to_end(k, mem, mr);
}

static void atomic_bytes(struct kit *k)
{
	const struct link_opts opts = {.sq_sig_all = kit_arg(k, "sig_all", 0)};

	if (!kit_link(k, API_POST, &opts))
		return;
	arena_reset(&k->l->local);
	arena_reset(&k->l->target);
	arena_take(&k->l->target, WORD + 64);
	if (carries(k) && comparisons(k))
		last_word(k);
}

SCENARIO(atomic_bytes) = {
	{"bytes", SUITE("atomic"), QPS("RC XRC_SEND"), POSTS("ATOMIC_FETCH_AND_ADD, ATOMIC_CMP_AND_SWP"),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/Atomic-operations/ibv_wr_atomic_fetch_add"),
	 SAYS("additions carry over each byte border, comparisons fail if any one byte differs; the "
	      "old value is brought")},
	{"bytes-sig-all", ARGS({"sig_all", 1}),
	 SAYS("additions carry over each byte border, comparisons fail if any one byte differs; the "
	      "old value is brought, with sq_sig_all")},
	{},
};
