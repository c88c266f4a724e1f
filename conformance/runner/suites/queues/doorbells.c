/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* More doorbells than a busy device takes at once: what they announce must not be lost. */
#include <errno.h>
#include <string.h>

#include "suites/completions/bench.h"

#define LONG_WRITES 8
#define LONG_BYTES  32768
#define FILLERS     800
#define TURNS       2
#define NUM_QPS     3

/* Keeps the device busy. */
static bool post_long(struct kit *k, struct link *l)
{
	struct ibv_send_wr wr[LONG_WRITES];
	struct ibv_sge sge = {arena_address(&l->local, l->local.base), LONG_BYTES, l->local.mr->lkey};

	for (unsigned int i = 0; i < LONG_WRITES; i++) {
		wr[i] = kit_wr(0x1000 + i, IBV_WR_RDMA_WRITE, &sge);
		wr[i].wr.rdma.remote_addr = arena_address(&l->target, l->target.base);
		wr[i].wr.rdma.rkey = l->target.mr->rkey;
		wr[i].next = i + 1 < LONG_WRITES ? &wr[i + 1] : NULL;
	}
	return kit_posts(k, l->qp, l->peer, wr);
}

/* A request by itself, and a list of two. */
static bool post_short(struct kit *k, struct link *l)
{
	struct ibv_send_wr wr[3];
	struct ibv_sge sge[3];
	int ret;

	for (unsigned int i = 0; i < 3; i++) {
		sge[i] = (struct ibv_sge){arena_address(&l->local, l->local.base), 8 + i, l->local.mr->lkey};
		wr[i] = kit_wr(0x2000 + i, IBV_WR_RDMA_WRITE, &sge[i]);
		wr[i].wr.rdma.remote_addr = arena_address(&l->target, l->target.base + 64 * i);
		wr[i].wr.rdma.rkey = l->target.mr->rkey;
	}
	wr[1].next = &wr[2];
	ret = kit_post(k, l->qp, l->peer, &wr[0], NULL);
	ret = ret ? ret : kit_post(k, l->qp, l->peer, &wr[1], NULL);
	return KIT_MUST(k, !ret, "posting was refused with %s", errno_name(ret));
}

static bool completed(struct kit *k, struct bench *b, struct link *l)
{
	for (unsigned int i = 0; i < 3; i++)
		if (!kit_expect(k, l, b->cq, l->qp, 0x2000 + i, IBV_WC_SUCCESS))
			return false;
	return true;
}

/* Each CQ is armed, and each QP has requests; then the device must answer a command. */
static void turn(struct kit *k, struct bench *b, struct link *l, struct ibv_cq *filler)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (!post_long(k, k->l))
		return;
	for (unsigned int i = 0; i < FILLERS; i++)
		ibv_req_notify_cq(filler, 0);
	for (unsigned int i = 0; i < NUM_QPS; i++)
		if (!bench_arm(&b[i], 0) || !post_short(k, &l[i]))
			return;
	ibv_query_qp(l[0].qp, &attr, IBV_QP_STATE, &init);
	for (unsigned int i = 0; i < NUM_QPS; i++)
		if (!completed(k, &b[i], &l[i]) || !bench_event(&b[i]))
			return;
	for (unsigned int i = 0; i < LONG_WRITES; i++)
		if (!kit_expect(k, k->l, k->l->cq, k->l->qp, 0x1000 + i, IBV_WC_SUCCESS))
			return;
}

static void many_doorbells(struct kit *k)
{
	static struct link l[NUM_QPS];
	const struct link_opts busy = {.sq_depth = LONG_WRITES, .mtu = IBV_MTU_256};
	struct ibv_comp_channel *none = ibv_create_comp_channel(k->r->dut.requester.ctx);
	struct ibv_cq *filler = none ? ibv_create_cq(k->r->dut.requester.ctx, 1, NULL, none, 0) : NULL;
	struct bench b[NUM_QPS] = {0};
	bool good = filler && kit_link(k, API_POST, &busy);

	memset(l, 0, sizeof(l));
	for (unsigned int i = 0; i < NUM_QPS && good; i++)
		good = bench_open(&b[i], k, 8) &&
		       bench_link(&b[i], &l[i], &(struct link_opts){.sq_depth = 8});
	for (int i = 0; i < TURNS && good && KIT_GOOD(k); i++)
		turn(k, b, l, filler);
}

SCENARIO(many_doorbells) = {
	{"doorbells", SUITE("cq"), QPS("RC"), CLAUSE("ibv_req_notify_cq/DESCRIPTION/any"), NARROW,
	 SAYS("requests of three QPs and requests of notification that follow hundreds of others at "
	      "once are carried out")},
	{},
};
