/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* When the values of a critical region count, when its requests are executed, and which QPs have one. */
#include <string.h>

#include "suites/kit.h"

/* The requests of the cell in one region, with a call after the last setter; they must be executed. */
static void post_and_judge(struct kit *k, const struct inside *inside)
{
	static struct plan plans[CELL_MAX_WR];
	struct expect requester = {0}, responder = {0};
	struct posted posted;
	unsigned int first_use;

	if (!kit_plan(k, plans))
		return;
	first_use = k->l->next_use;
	posted = post_wr_inside(k->l, plans, k->cell->num_wr, false, inside, &k->res->log);
	KIT_CHECK(k, !posted.rc, "the region was refused with %s", errno_name(posted.rc));
	for (unsigned int i = 0; i < k->cell->num_wr; i++)
		plan_execute(&plans[i], k->l, &requester, &responder);
	if (KIT_GOOD(k))
		collect(k->l, &requester, &responder, k->res);
	collect_extra(k->l, k->res);
	if (KIT_GOOD(k))
		collect_memory(k->l, first_use, k->res);
}

static void overwrite(void *arg)
{
	struct kit *k = arg;

	log_call(&k->res->log, "qpx->wr_id = -1, qpx->wr_flags = 0 /* after the last builder */");
	k->l->qpx->wr_id = UINT64_MAX;
	k->l->qpx->wr_flags = 0;
}

static void values_of_builder(struct kit *k)
{
	const struct inside inside = {.call = overwrite, .arg = k, .last = true};

	if (kit_link(k, API_WR, NULL))
		post_and_judge(k, &inside);
}

SCENARIO(values_of_builder) = {
	{"values-of-builder", SUITE("builder"), QPS("RC UC XRC_SEND"), POSTS("SEND 600, RDMA_WRITE 600"),
	 CLAUSE("ibv_wr_post/USAGE/before-builder"), ASK("posts"),
	 SAYS("wr_id and wr_flags are those that were set when the builder was called, whatever is set "
	      "afterwards")},
	{"values-of-builder", QPS("UD"), POSTS("SEND 600"), ASK("")},
	{},
};

struct meanwhile {
	struct kit *k;
	struct link *other;
};

/* While the requests wait in their region, another QP's SEND is executed, and nothing of them may be seen. */
static void look_around(void *arg)
{
	const struct meanwhile *m = arg;
	struct kit *k = m->k;
	struct kit there = {.r = k->r, .cell = k->cell, .res = k->res, .l = m->other};

	kit_alive(&there, m->other);
	collect_extra(k->l, k->res);
	if (KIT_GOOD(k))
		collect_memory(k->l, k->l->next_use, k->res);
}

static void not_before_complete(struct kit *k)
{
	struct link other = {0};
	struct meanwhile m = {k, &other};
	const struct inside inside = {.call = look_around, .arg = &m, .last = true};

	if (kit_link(k, API_WR, NULL) && kit_link_second(k, &other, API_WR, NULL))
		post_and_judge(k, &inside);
}

SCENARIO(not_before_complete) = {
	{"not-before-complete", SUITE("builder"), QPS("RC UC XRC_SEND"), POSTS("SEND 600, RDMA_WRITE 600"),
	 CLAUSE("ibv_wr_post/USAGE/complete"), ASK("posts"),
	 SAYS("no byte moves and nothing completes before ibv_wr_complete(), while another QP carries "
	      "a SEND")},
	{"not-before-complete", QPS("UD"), POSTS("SEND 600"), ASK("")},
	{},
};

/* ibv_create_qp(), and ibv_create_qp_ex() without send_ops_flags: such QPs have no builders, and work all the same. */
static void ordinary_qp(struct kit *k)
{
	struct ibv_qp_init_attr_ex attr = {
		.cap = {1, 1, 1, 1},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = k->r->dut.requester.pd,
	};
	struct ibv_qp *qp;
	bool extended;

	if (!kit_link(k, kit_arg(k, "extended", 0) ? API_WR : API_POST, NULL))
		return;
	log_call(&k->res->log, "ibv_qp_to_qp_ex(qp)");
	KIT_CHECK(k, !ibv_qp_to_qp_ex(k->l->qp),
		  "ibv_qp_to_qp_ex gives an interface for a QP of ibv_create_qp");
	attr.send_cq = attr.recv_cq = k->l->cq;
	log_call(&k->res->log, "/* ibv_qp_to_qp_ex(ibv_create_qp_ex(ctx, attr)), without send_ops_flags */");
	qp = ibv_create_qp_ex(k->r->dut.requester.ctx, &attr);
	KIT_CHECK(k, qp, "ibv_create_qp_ex failed without send_ops_flags");
	extended = ibv_qp_to_qp_ex(qp);
	ibv_destroy_qp(qp);
	KIT_CHECK(k, !extended, "ibv_qp_to_qp_ex gives an interface for a QP without send_ops_flags");
	kit_alive(k, k->l);
}

SCENARIO(ordinary_qp) = {
	{"ordinary-qp", SUITE("builder"), QPS("RC"), CLAUSE("ibv_wr_post/USAGE/ibv_create_qp_ex"),
	 ERRATA("EXTENDED-QP"),
	 SAYS("ibv_qp_to_qp_ex gives NULL for a QP that was created without send_ops_flags; it carries "
	      "a SEND")},
	{},
};
