/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The keys of memory windows: old and new ones, every low byte, one that is not for local memory, and one right alone. */
#include <string.h>

#include "suites/memory/mw_kit.h"

/* The key from before the bind is invalid. */
static void mw_old_key(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct bind b = mw_usual(k->l);
	uint32_t old = mw ? mw->rkey : 0;

	if (mw && mw_bind(k, mw, &b) && mw_opens(k, mw))
		mw_closed(k, old);
}

SCENARIO(mw_old_key) = {
	{"key-before-bind", SUITE("mw"), QPS("RC"), CLAUSE("ibv_alloc_mw/DESCRIPTION/invalidated"),
	 ERRATA("MW-RIGHTS"), STATUS("REM_ACCESS_ERR"), NEEDS("memory_windows/2"),
	 SAYS("an access through the window completes with IBV_WC_REM_ACCESS_ERR")},
	{"key-before-bind", QPS("UC"),
	 SAYS("a write through the window changes no byte; on UC the requester is not told")},
	{},
};

/* Only the low 8 bits of the new key are used. */
static void mw_new_key(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct bind b = mw_usual(k->l);
	uint32_t rkey = mw ? ibv_inc_rkey(mw->rkey) : 0;
	int ret = mw ? mw_post_bind(k, mw, &b, rkey ^ kit_arg(k, "bits", 0)) : 0;

	if (ret)
		KIT_FAULT(k, "posting the bind was refused with %s", errno_name(ret));
	else if (mw && kit_expect(k, k->l, k->l->peer_cq, k->l->peer, 0xb1d, IBV_WC_SUCCESS)) {
		mw->rkey = rkey;
		mw_opens(k, mw);
	}
}

SCENARIO(mw_new_key) = {
	{"new-key", SUITE("mw"), QPS("RC UC"), ARGS({"bits", 1515870720}),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/Memory-Windows/ibv_wr_bind_mw"), ERRATA("MW-KEY"),
	 NEEDS("memory_windows/2 operations/{qp}/BIND_MW"),
	 SAYS("the low 8 bits of the rkey that the bind gave are those of the window's; its other bits "
	      "stay")},
	{},
};

/* A bind with this low byte of the key, or with the next key if the window has it already. */
static bool bind_tagged(struct kit *k, struct ibv_mw *mw, const struct bind *b, uint8_t tag)
{
	const uint32_t rkey = (mw->rkey & ~0xffu) | tag;

	return mw_bind_key(k, mw, b, rkey == mw->rkey ? ibv_inc_rkey(rkey) : rkey);
}

/* Small values in the low byte of a key mean nothing to the device. */
static void mw_tags(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct bind b = mw_usual(k->l);

	for (uint8_t tag = 0; mw && tag < 8 && KIT_GOOD(k); tag++)
		(void)(bind_tagged(k, mw, &b, tag) && mw_opens(k, mw) && mw_invalidate(k, mw));
}

SCENARIO(mw_tags) = {
	{"low-bytes", SUITE("mw"), QPS("RC"),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/Memory-Windows/ibv_wr_bind_mw"), ERRATA("MW-KEY"),
	 NEEDS("memory_windows/2 operations/{qp}/LOCAL_INV"),
	 SAYS("a window is bound, reached and invalidated with each small value in its key's low byte")},
	{},
};

/* The key of a window is not one for local memory (IBTA 10.6.7.2.1), whatever its low byte is. */
static void mw_as_lkey(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct bind b = mw_usual(k->l);
	struct ibv_sge sge = {(uintptr_t)k->l->target.base + MW_START, MW_PROBE, 0};
	struct ibv_send_wr wr = kit_wr(0x13e4, IBV_WR_RDMA_WRITE, &sge);

	if (mw && bind_tagged(k, mw, &b, (uint8_t)kit_arg(k, "tag", 0))) {
		sge.lkey = mw->rkey;
		wr.wr.rdma.remote_addr = (uintptr_t)k->l->local.base;
		wr.wr.rdma.rkey = k->l->local.mr->rkey;
		if (kit_post(k, k->l->peer, k->l->qp, &wr, NULL))
			KIT_FAULT(k, "posting was refused");
		else
			kit_expect(k, k->l, k->l->peer_cq, k->l->peer, 0x13e4, k->cell->status);
	}
}

SCENARIO(mw_as_lkey) = {
	{"as-lkey", SUITE("mw"), QPS("RC"), FORMS({""}, {"-3", {{"tag", 3}}}),
	 CLAUSE("ibv_alloc_mw/DESCRIPTION/bound"), ERRATA("MW-RIGHTS"), STATUS("LOC_PROT_ERR"),
	 NEEDS("memory_windows/2"),
	 SAYS("IBV_WC_LOC_PROT_ERR: the key of a window is not one for local memory")},
	{},
};

/* Binds the window, of either type, for this access. */
static bool bind_for(struct kit *k, struct ibv_mw *mw, int access)
{
	struct bind b = mw_usual(k->l);
	struct ibv_mw_bind bind = {.wr_id = 0x71b, .send_flags = IBV_SEND_SIGNALED};
	int ret;

	b.access = access;
	if (mw->type == IBV_MW_TYPE_2)
		return mw_bind(k, mw, &b);
	bind.bind_info = (struct ibv_mw_bind_info){b.mr, b.addr, b.len, b.access};
	ret = ibv_bind_mw(k->l->peer, mw, &bind);
	if (ret)
		KIT_FAULT(k, "ibv_bind_mw failed with %s", errno_name(ret));
	return !ret && kit_expect(k, k->l, k->l->peer_cq, k->l->peer, 0x71b, IBV_WC_SUCCESS);
}

/* FETCH_ADD of 1 to the first word of the window. */
static int post_add(struct kit *k, const struct ibv_mw *mw, uint8_t *to)
{
	struct link *l = k->l;
	uint8_t *from = mw_fresh(l);
	struct ibv_sge sge = {(uintptr_t)from, MW_PROBE, l->local.mr->lkey};
	struct ibv_send_wr wr = kit_wr(0x3041, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
	uint64_t word;

	memcpy(&word, arena_shadow(&l->target, to), sizeof(word));
	memcpy(arena_shadow(&l->local, from), &word, sizeof(word));
	word++;
	memcpy(arena_shadow(&l->target, to), &word, sizeof(word));
	wr.wr.atomic.remote_addr = (uintptr_t)to;
	wr.wr.atomic.rkey = mw->rkey;
	wr.wr.atomic.compare_add = 1;
	return kit_post(k, l->qp, l->peer, &wr, NULL);
}

static int post_atomic_write(struct kit *k, const struct ibv_mw *mw, uint8_t *to)
{
	static const uint8_t bytes[MW_PROBE] = {8, 7, 6, 5, 4, 3, 2, 1};

	memcpy(arena_shadow(&k->l->target, to), bytes, sizeof(bytes));
	return kit_atomic_write(k, 0x3041, mw->rkey, to, bytes);
}

static bool change_word(struct kit *k, const struct ibv_mw *mw)
{
	struct link *l = k->l;
	uint8_t *to = l->target.base + MW_START;
	int ret = kit_arg(k, "wr", 0) ? post_atomic_write(k, mw, to) : post_add(k, mw, to);

	if (ret)
		KIT_FAULT(k, "posting was refused with %s", errno_name(ret));
	return !ret && kit_expect(k, l, l->cq, l->qp, 0x3041, IBV_WC_SUCCESS);
}

/* The window gives the one right that the operation needs. */
static void mw_enough(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, kit_arg(k, "type", 2) == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);

	if (mw && bind_for(k, mw, kit_arg(k, "access", 0)) && change_word(k, mw)) {
		end_sync();
		arena_judge(&k->res->verdict, &k->l->target);
		arena_judge(&k->res->verdict, &k->l->local);
	}
}

SCENARIO(mw_enough) = {
	{"only-right-atomic_fetch_add-type-1", SUITE("mw"), QPS("RC"), POSTS("ATOMIC_FETCH_AND_ADD"),
	 ARGS({"type", 1}, {"access", IBV_ACCESS_REMOTE_ATOMIC}),
	 CLAUSE("ibv_bind_mw/DESCRIPTION/mw_access_flags"), ERRATA("MW-RIGHTS"), NEEDS("memory_windows/1"),
	 SAYS("the operation is executed through a window with the one right that it needs")},
	{"only-right-atomic_write-type-1", POSTS("ATOMIC_WRITE!"),
	 ARGS({"type", 1}, {"access", IBV_ACCESS_REMOTE_WRITE}, {"wr", 1}), ASK("posts")},
	{"only-right-atomic_fetch_add", POSTS("ATOMIC_FETCH_AND_ADD"),
	 ARGS({"type", IBV_QPT_RC}, {"access", IBV_ACCESS_REMOTE_ATOMIC}), NEEDS("memory_windows/2"),
	 ASK("")},
	{"only-right-atomic_write", POSTS("ATOMIC_WRITE!"),
	 ARGS({"type", IBV_QPT_RC}, {"access", IBV_ACCESS_REMOTE_WRITE}, {"wr", 1}), ASK("posts")},
	{},
};
