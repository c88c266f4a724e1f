/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Mistakes of a program that the page does not describe. A device need not detect them; one whose DUT file declares
 * that it does must refuse the region and stay usable (erratum MISUSE).
 */
#include "suites/kit.h"

/* A region with one complete SEND; `wrong` makes the additional calls. */
static void region_with(struct kit *k, void (*wrong)(struct link *l, struct log *log))
{
	struct link *l = k->l;
	struct log *log = &k->res->log;
	static struct plan plan;
	int ret;

	if (!kit_link(k, API_WR, NULL) || !kit_plan(k, &plan))
		return;
	log_call(log, "ibv_wr_start(qpx)");
	ibv_wr_start(l->qpx);
	l->qpx->wr_id = plan.wr_id;
	l->qpx->wr_flags = IBV_SEND_SIGNALED;
	log_call(log, "ibv_wr_send(qpx)");
	ibv_wr_send(l->qpx);
	if (l->qpt == IBV_QPT_UD)
		ibv_wr_set_ud_addr(l->qpx, l->ah, l->peer->qp_num, LINK_QKEY);
	log_call(log, "ibv_wr_set_sge(qpx, lkey, (uintptr_t)addr, %u)", plan.sge[0].length);
	ibv_wr_set_sge(l->qpx, plan.sge[0].lkey, plan.sge[0].addr, plan.sge[0].length);
	wrong(l, log);
	log_call(log, "ibv_wr_complete(qpx)");
	ret = ibv_wr_complete(l->qpx);
	k->res->err = ret;
	KIT_CHECK(k, ret, "ibv_wr_complete took the region, must refuse it");
	judge_errno(&k->res->verdict, ret, k->r->dut.refusal.invalid);
	kit_alive(k, l);
	collect_extra(l, k->res);
	if (KIT_GOOD(k))
		collect_memory(l, 0, k->res);
}

static void data_again(struct link *l, struct log *log)
{
	log_call(log, "ibv_wr_set_sge(qpx, lkey, (uintptr_t)addr, 16)");
	ibv_wr_set_sge(l->qpx, l->local.mr->lkey, (uintptr_t)l->local.base, 16);
}

static void address(struct link *l, struct log *log)
{
	log_call(log, "ibv_wr_set_ud_addr(qpx, ah, remote_qpn, 0x%x)", LINK_QKEY);
	ibv_wr_set_ud_addr(l->qpx, l->ah, l->peer->qp_num, LINK_QKEY);
}

static void srq_number(struct link *l, struct log *log)
{
	log_call(log, "ibv_wr_set_xrc_srqn(qpx, 1)");
	ibv_wr_set_xrc_srqn(l->qpx, 1);
}

static void builder(struct link *l, struct log *log)
{
	log_call(log, "ibv_wr_rdma_write(qpx, rkey, remote_addr) /* not named in send_ops_flags */");
	ibv_wr_rdma_write(l->qpx, l->target.mr->rkey, (uintptr_t)l->target.base);
	/* no setter, which would be refused, too */
}

static void misuse_data(struct kit *k)
{
	region_with(k, data_again);
}

SCENARIO(misuse_data) = {
	{"second-data-setter", SUITE("misuse"), QPS("RC UC UD"), POSTS("SEND 64"),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/DATA-transfer-setters"), LEVEL("SHOULD"), ERRATA("MISUSE"),
	 NEEDS("misuse"), SAYS("ibv_wr_complete fails, nothing is executed, and the QP works afterwards")},
	{},
};

static void misuse_address(struct kit *k)
{
	region_with(k, address);
}

SCENARIO(misuse_address) = {
	{"ud_addr", SUITE("misuse"), QPS("RC UC"), POSTS("SEND 64"),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/QP-Specific-setters"), LEVEL("SHOULD"), ERRATA("MISUSE"),
	 NEEDS("misuse"), SAYS("ibv_wr_complete fails, nothing is executed, and the QP works afterwards")},
	{"second-ud_addr", QPS("UD")},
	{},
};

static void misuse_srqn(struct kit *k)
{
	region_with(k, srq_number);
}

SCENARIO(misuse_srqn) = {
	{"xrc_srqn", SUITE("misuse"), QPS("RC UC UD"), POSTS("SEND 64"),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/QP-Specific-setters"), LEVEL("SHOULD"), ERRATA("MISUSE"),
	 NEEDS("misuse"), SAYS("ibv_wr_complete fails, nothing is executed, and the QP works afterwards")},
	{},
};

static void misuse_builder(struct kit *k)
{
	region_with(k, builder);
}

SCENARIO(misuse_builder) = {
	{"unasked-builder", SUITE("misuse"), QPS("RC UC"), POSTS("SEND 64"),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/DATA-transfer-setters"), LEVEL("SHOULD"), ERRATA("MISUSE"),
	 NEEDS("misuse"), SAYS("ibv_wr_complete fails, nothing is executed, and the QP works afterwards")},
	{},
};
