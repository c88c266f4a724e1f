/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include "suites/memory/mw_kit.h"

#include <errno.h>
#include <string.h>

#include "remote/remote.h"

static const int both_ways = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
const struct link_opts mw_link = {.windows = true};

struct ibv_mw *mw_new(struct kit *k, struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct link_opts opts = mw_link;
	struct ibv_mw *mw;

	opts.cq_ex = kit_arg(k, "ex", 0);
	if (!kit_link(k, kit_arg(k, "wr", 0) ? API_WR : API_POST, &opts))
		return NULL;
	arena_reset(&k->l->local);
	arena_reset(&k->l->target);
	arena_take(&k->l->target, MW_MARK + MW_PROBE); /* all memory that accesses may reach is checked */
	mw = ibv_alloc_mw(pd ? pd : k->r->dut.responder.pd, type);
	log_call(&k->res->log, "mw = ibv_alloc_mw(pd, IBV_MW_TYPE_%d)", type == IBV_MW_TYPE_1 ? 1 : 2);
	return KIT_MUST(k, mw, "ibv_alloc_mw failed with %s", errno_name(errno));
}

struct bind mw_usual(const struct link *l)
{
	return (struct bind){l->target.mr, (uintptr_t)l->target.base + MW_START, MW_LEN, both_ways};
}

int mw_post_bind(struct kit *k, struct ibv_mw *mw, const struct bind *b, uint32_t rkey)
{
	struct ibv_send_wr wr = kit_wr(0xb1d, IBV_WR_BIND_MW, NULL);

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){b->mr, b->addr, b->len, b->access};
	return kit_post(k, k->l->peer, k->l->qp, &wr, NULL);
}

bool mw_bind_key(struct kit *k, struct ibv_mw *mw, const struct bind *b, uint32_t rkey)
{
	int ret = mw_post_bind(k, mw, b, rkey);

	if (ret)
		KIT_FAULT(k, "posting the bind was refused with %s", errno_name(ret));
	else if (kit_expect(k, k->l, k->l->peer_cq, k->l->peer, 0xb1d, IBV_WC_SUCCESS))
		mw->rkey = rkey;
	return KIT_GOOD(k);
}

bool mw_bind(struct kit *k, struct ibv_mw *mw, const struct bind *b)
{
	return mw_bind_key(k, mw, b, ibv_inc_rkey(mw->rkey));
}

void mw_bind_refused(struct kit *k, struct ibv_mw *mw, const struct bind *b)
{
	int ret = mw_post_bind(k, mw, b, ibv_inc_rkey(mw->rkey));

	k->res->err = ret;
	seen(k->res, ret ? "the bind was refused with %s; " : "the bind was taken; ", errno_name(ret));
	if (!ret)
		kit_expect(k, k->l, k->l->peer_cq, k->l->peer, 0xb1d, k->cell->status);
}

bool mw_invalidate(struct kit *k, struct ibv_mw *mw)
{
	struct ibv_send_wr wr = kit_wr(0x11f, IBV_WR_LOCAL_INV, NULL);
	int ret;

	wr.invalidate_rkey = mw->rkey;
	ret = kit_post(k, k->l->peer, k->l->qp, &wr, NULL);
	if (ret)
		KIT_FAULT(k, "posting LOCAL_INV was refused with %s", errno_name(ret));
	else
		kit_expect(k, k->l, k->l->peer_cq, k->l->peer, 0x11f, IBV_WC_SUCCESS);
	return KIT_GOOD(k);
}

bool mw_reach(struct kit *k, struct link *l, enum ibv_wr_opcode op, uint8_t *from, uint32_t rkey,
	      const uint8_t *to, enum ibv_wc_status status)
{
	struct ibv_sge sge = {(uintptr_t)from, MW_PROBE, l->local.mr->lkey};
	struct ibv_send_wr wr = kit_wr(0x9706e, op, &sge);

	wr.wr.rdma.rkey = rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)to;
	if (kit_posts(k, l->qp, l->peer, &wr))
		kit_expect(k, l, l->cq, l->qp, 0x9706e, status);
	return KIT_GOOD(k);
}

uint8_t *mw_fresh(struct link *l)
{
	uint8_t *from = arena_take(&l->local, MW_PROBE);

	arena_fill(&l->local, from, MW_PROBE, (uint32_t)(uintptr_t)from);
	return from;
}

bool mw_wait_marker(struct kit *k, struct link *l)
{
	uint8_t *from = mw_fresh(l), *to = k->l->target.base + MW_MARK;
	uint64_t deadline = kit_now_us() + k->r->dut.timeout_ms * 1000ull;

	if (!mw_reach(k, l, IBV_WR_RDMA_WRITE, from, k->l->target.mr->rkey, to, IBV_WC_SUCCESS))
		return false;
	do
		end_sync();
	while (memcmp(to, from, MW_PROBE) && kit_now_us() < deadline);
	memcpy(arena_shadow(&k->l->target, to), from, MW_PROBE);
	return true;
}

bool mw_probe_on(struct kit *k, struct link *l, enum ibv_wr_opcode op, uint32_t rkey, uint64_t offset,
		 enum ibv_wc_status status)
{
	bool reliable = l->qpt != IBV_QPT_UC;
	uint8_t *from = mw_fresh(l), *to = k->l->target.base + offset;

	if (!mw_reach(k, l, op, from, rkey, to, reliable ? status : IBV_WC_SUCCESS) ||
	    (!reliable && !mw_wait_marker(k, l)))
		return false;
	if (status == IBV_WC_SUCCESS && op == IBV_WR_RDMA_WRITE) {
		memcpy(arena_shadow(&k->l->target, to), from, MW_PROBE);
	} else if (status == IBV_WC_SUCCESS) {
		end_sync();
		memcpy(arena_shadow(&l->local, from), to, MW_PROBE);
	}
	arena_judge(&k->res->verdict, &k->l->target);
	arena_judge(&k->res->verdict, &l->local);
	return KIT_GOOD(k);
}

bool mw_probe(struct kit *k, enum ibv_wr_opcode op, uint32_t rkey, uint64_t offset, enum ibv_wc_status status)
{
	return mw_probe_on(k, k->l, op, rkey, offset, status);
}

bool mw_opens(struct kit *k, const struct ibv_mw *mw)
{
	/* UC has no READ */
	return mw_probe(k, IBV_WR_RDMA_WRITE, mw->rkey, MW_START, IBV_WC_SUCCESS) &&
	       mw_probe(k, k->l->qpt == IBV_QPT_UC ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, mw->rkey,
			MW_START + MW_LEN - MW_PROBE, IBV_WC_SUCCESS);
}

void mw_closed(struct kit *k, uint32_t rkey)
{
	mw_probe(k, IBV_WR_RDMA_WRITE, rkey, MW_START, IBV_WC_REM_ACCESS_ERR);
}

void mw_free(struct kit *k, struct ibv_mw *mw)
{
	int ret = mw ? ibv_dealloc_mw(mw) : 0;

	if (ret)
		KIT_FAULT(k, "ibv_dealloc_mw failed with %s", errno_name(ret));
}
