/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The keys of memory windows: old and new ones, every low byte, and one that is not for local memory. */
#include "suites/memory/mw_kit.h"

/* The key from before the bind is invalid. */
static void mw_old_key(struct kit *k)
{
	struct ibv_mw *mw = mw_new(k, NULL, IBV_MW_TYPE_2);
	struct bind b = mw_usual(k->l);
	uint32_t old = mw ? mw->rkey : 0;

	if (mw && mw_bind(k, mw, &b) && mw_opens(k, mw))
		mw_closed(k, old);
	mw_free(k, mw);
}

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
	mw_free(k, mw);
}

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
	mw_free(k, mw);
}

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
	mw_free(k, mw);
}

const struct scenario window_key_scenarios[] = {
	{"mw_old_key", mw_old_key},
	{"mw_new_key", mw_new_key},
	{"mw_tags", mw_tags},
	{"mw_as_lkey", mw_as_lkey},
	{NULL, NULL},
};
