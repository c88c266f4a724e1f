/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Lists with a bad request at any index, judged by the same rules as the postings of the matrix. */
#include "suites/kit.h"

static void as(struct kit *k, enum api api)
{
	struct cell cell = *k->cell;

	cell.api = api;
	cell.create = CREATE_OK;
	cell.post = POST_REFUSED;
	cell.bad_wr = kit_arg(k, "bad", 0);
	cell.event = -1;
	if (api == API_POST)
		run_matrix_cell(k->r, &cell, k->res);
	else
		run_recv_cell(k->r, &cell, k->res);
}

static void bad_send(struct kit *k)
{
	as(k, API_POST);
}

SCENARIO(bad_send) = {
	{"send-sges-0", SUITE("bad_wr"), QPS("RC UC UD RAW_PACKET XRC_SEND"),
	 POSTS("SEND 16+ most+1, 3 x SEND 600"), ARGS({"bad", 0}), CLAUSE("ibv_post_send/DESCRIPTION/bad_wr"),
	 ERRATA("POST-ERRNO"),
	 SAYS("ibv_post_send fails, bad_wr names work request {bad}, those before it are executed, "
	      "nothing else is; a following SEND works")},
	{"send-sges-1", POSTS("SEND 600, SEND 16+ most+1, 2 x SEND 600"), ARGS({"bad", 1})},
	{"send-sges-2", POSTS("2 x SEND 600, SEND 16+ most+1, SEND 600"), ARGS({"bad", 2})},
	{"send-sges-3", POSTS("3 x SEND 600, SEND 16+ most+1"), ARGS({"bad", 3})},
	{"send-inline-0", POSTS("SEND inline 1 most+1, 3 x SEND 600"), ARGS({"bad", 0})},
	{"send-inline-1", POSTS("SEND 600, SEND inline 1 most+1, 2 x SEND 600"), ARGS({"bad", 1})},
	{"send-inline-2", POSTS("2 x SEND 600, SEND inline 1 most+1, SEND 600"), ARGS({"bad", 2})},
	{"send-inline-3", POSTS("3 x SEND 600, SEND inline 1 most+1"), ARGS({"bad", 3})},
	{"send-operation-0", QPS("RC XRC_SEND"), POSTS("TSO! 600, 3 x SEND 600"), ARGS({"bad", 0}),
	 ERRATA("")},
	{"send-operation-0", QPS("UC"), POSTS("RDMA_READ! 600, 3 x SEND 600"), ARGS({"bad", 0})},
	{"send-operation-0", QPS("UD"), POSTS("RDMA_WRITE! 600, 3 x SEND 600"), ARGS({"bad", 0})},
	{"send-operation-0", QPS("RAW_PACKET"), POSTS("SEND_WITH_IMM! 600, 3 x SEND 600"), ARGS({"bad", 0})},
	{"send-operation-1", QPS("RC XRC_SEND"), POSTS("SEND 600, TSO! 600, 2 x SEND 600"), ARGS({"bad", 1})},
	{"send-operation-1", QPS("UC"), POSTS("SEND 600, RDMA_READ! 600, 2 x SEND 600"), ARGS({"bad", 1})},
	{"send-operation-1", QPS("UD"), POSTS("SEND 600, RDMA_WRITE! 600, 2 x SEND 600"), ARGS({"bad", 1})},
	{"send-operation-1", QPS("RAW_PACKET"), POSTS("SEND 600, SEND_WITH_IMM! 600, 2 x SEND 600"),
	 ARGS({"bad", 1})},
	{"send-operation-2", QPS("RC XRC_SEND"), POSTS("2 x SEND 600, TSO! 600, SEND 600"), ARGS({"bad", 2})},
	{"send-operation-2", QPS("UC"), POSTS("2 x SEND 600, RDMA_READ! 600, SEND 600"), ARGS({"bad", 2})},
	{"send-operation-2", QPS("UD"), POSTS("2 x SEND 600, RDMA_WRITE! 600, SEND 600"), ARGS({"bad", 2})},
	{"send-operation-2", QPS("RAW_PACKET"), POSTS("2 x SEND 600, SEND_WITH_IMM! 600, SEND 600"),
	 ARGS({"bad", 2})},
	{"send-operation-3", QPS("RC XRC_SEND"), POSTS("3 x SEND 600, TSO! 600"), ARGS({"bad", 3})},
	{"send-operation-3", QPS("UC"), POSTS("3 x SEND 600, RDMA_READ! 600"), ARGS({"bad", 3})},
	{"send-operation-3", QPS("UD"), POSTS("3 x SEND 600, RDMA_WRITE! 600"), ARGS({"bad", 3})},
	{"send-operation-3", QPS("RAW_PACKET"), POSTS("3 x SEND 600, SEND_WITH_IMM! 600"), ARGS({"bad", 3})},
	{},
};

static void bad_recv(struct kit *k)
{
	as(k, API_RECV);
}

SCENARIO(bad_recv) = {
	{"recv-sges-0", SUITE("bad_wr"), QPS("RC UC UD RAW_PACKET"),
	 POSTS("SEND 16+ most+1 unsignaled, 3 x SEND 100+1+599 unsignaled"), ARGS({"bad", 0}),
	 CLAUSE("ibv_post_recv/DESCRIPTION/bad_wr"), ERRATA("POST-ERRNO"),
	 SAYS("ibv_post_recv fails, bad_wr names work request {bad}, those before it are executed, "
	      "nothing else is; a following SEND works")},
	{"recv-sges-1",
	 POSTS("SEND 100+1+599 unsignaled, SEND 16+ most+1 unsignaled, 2 x SEND 100+1+599 unsignaled"),
	 ARGS({"bad", 1})},
	{"recv-sges-2",
	 POSTS("2 x SEND 100+1+599 unsignaled, SEND 16+ most+1 unsignaled, SEND 100+1+599 unsignaled"),
	 ARGS({"bad", 2})},
	{"recv-sges-3", POSTS("3 x SEND 100+1+599 unsignaled, SEND 16+ most+1 unsignaled"), ARGS({"bad", 3})},
	{},
};

static void bad_srq_recv(struct kit *k)
{
	as(k, API_SRQ);
}

SCENARIO(bad_srq_recv) = {
	{"srq-sges-0", SUITE("bad_wr"), QPS("RC UD XRC_SEND"),
	 POSTS("SEND 16+ most+1 unsignaled, 3 x SEND 100+1+599 unsignaled"), ARGS({"bad", 0}),
	 CLAUSE("ibv_post_srq_recv/DESCRIPTION/bad_wr"), ERRATA("POST-ERRNO"), NEEDS("srq"),
	 SAYS("ibv_post_srq_recv fails, bad_wr names work request {bad}, those before it are executed, "
	      "nothing else is; a following SEND works")},
	{"srq-sges-1",
	 POSTS("SEND 100+1+599 unsignaled, SEND 16+ most+1 unsignaled, 2 x SEND 100+1+599 unsignaled"),
	 ARGS({"bad", 1})},
	{"srq-sges-2",
	 POSTS("2 x SEND 100+1+599 unsignaled, SEND 16+ most+1 unsignaled, SEND 100+1+599 unsignaled"),
	 ARGS({"bad", 2})},
	{"srq-sges-3", POSTS("3 x SEND 100+1+599 unsignaled, SEND 16+ most+1 unsignaled"), ARGS({"bad", 3})},
	{},
};

/* A flag that verbs.h does not have. */
static void unknown_flag(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct expect requester = {0}, responder = {0};
	struct ibv_send_wr wr[CELL_MAX_WR];
	int at = kit_arg(k, "bad", 0), bad, rc;

	if (!kit_link(k, API_POST, NULL) || !kit_plan(k, plans))
		return;
	kit_list(k, plans, k->cell->num_wr, wr);
	wr[at].send_flags |= 1u << 30;
	rc = kit_post(k, k->l->qp, k->l->peer, wr, &bad);
	k->res->err = rc;
	KIT_CHECK(k, rc, "a request with a flag that does not exist was taken");
	judge_errno(&k->res->verdict, rc, k->r->dut.refusal.invalid);
	if (rc)
		KIT_CHECK(k, bad == at, "bad_wr names request %d, expected %d", bad, at);
	for (int i = 0; i < (rc ? at : (int)k->cell->num_wr); i++)
		plan_execute(&plans[i], k->l, &requester, &responder);
	collect(k->l, &requester, &responder, k->res);
	if (KIT_GOOD(k))
		collect_received(k->l, 0, k->res);
	if (KIT_GOOD(k))
		kit_alive(k, k->l);
	collect_extra(k->l, k->res);
	if (KIT_GOOD(k))
		collect_memory(k->l, 0, k->res);
}

SCENARIO(unknown_flag) = {
	{"send-flag", SUITE("bad_wr"), QPS("RC UC UD XRC_SEND"), POSTS("3 x SEND 600"),
	 FORMS({"-0", {{"bad", 0}}}, {"-1", {{"bad", 1}}}, {"-2", {{"bad", 2}}}),
	 CLAUSE("ibv_post_send/DESCRIPTION/send_flags"), LEVEL("SHOULD"), ERRATA("FLAGS-UNKNOWN POST-ERRNO"),
	 SAYS("ibv_post_send fails, bad_wr names work request {bad}, those before it are executed")},
	{},
};

/* More SGEs than the QP was granted. */
static bool spoil(struct link *l, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	if (l->cap.max_send_sge + 1 > CELL_MAX_SGE)
		return false;
	for (unsigned int i = 0; i <= l->cap.max_send_sge; i++)
		sge[i] = (struct ibv_sge){arena_address(&l->local, l->local.base), 1, l->local.mr->lkey};
	wr->sg_list = sge;
	wr->num_sge = l->cap.max_send_sge + 1;
	return true;
}

/* To SQE by a request whose key is wrong (erratum SQ-ERROR-STATE), to other states by ibv_modify_qp(). */
static bool move(struct kit *k, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	struct ibv_sge sge = {arena_address(&k->l->local, k->l->local.base), 16,
			      k->l->local.mr->lkey ^ 0x5500};
	struct ibv_send_wr wr = kit_wr(0xbad, IBV_WR_SEND, &sge);
	int ret;

	if (state == IBV_QPS_SQE) {
		wr.wr.ud.ah = k->l->ah;
		wr.wr.ud.remote_qpn = k->l->peer->qp_num;
		wr.wr.ud.remote_qkey = LINK_QKEY;
		ret = kit_post(k, k->l->qp, k->l->peer, &wr, NULL);
		if (!ret && !kit_expect(k, k->l, k->l->cq, k->l->qp, wr.wr_id, IBV_WC_LOC_PROT_ERR))
			return false;
	} else {
		log_call(&k->res->log,
			 "ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = %d}, IBV_QP_STATE)", state);
		ret = ibv_modify_qp(k->l->qp, &attr, IBV_QP_STATE);
	}
	return KIT_MUST(k, !ret, "the QP cannot be moved to state %d: %s", state, errno_name(ret));
}

/*
 * A list whose request `bad` cannot be taken, in a state in which others are: in SQD they wait, in SQE and ERR they are
 * flushed.
 */
static void bad_in_state(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	static struct ibv_sge sge[CELL_MAX_SGE];
	struct expect requester = {0}, responder = {0};
	struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS};
	struct ibv_send_wr wr[CELL_MAX_WR];
	enum ibv_qp_state state = kit_arg(k, "state", IBV_QPS_ERR);
	int at = kit_arg(k, "bad", 0), bad, rc;

	if (!kit_link(k, API_POST, NULL) || !kit_plan(k, plans) || !move(k, state))
		return;
	kit_list(k, plans, k->cell->num_wr, wr);
	if (!spoil(k->l, &wr[at], sge))
		return;
	link_push(k->l);
	rc = kit_post(k, k->l->qp, k->l->peer, wr, &bad);
	k->res->err = rc;
	KIT_CHECK(k, rc, "a request with too many SGEs was taken");
	judge_errno(&k->res->verdict, rc, k->r->dut.refusal.invalid);
	KIT_CHECK(k, bad == at, "bad_wr names request %d, expected %d", bad, at);
	if (state == IBV_QPS_SQD) {
		kit_expect_none(k, k->l, k->l->cq);
		rc = ibv_modify_qp(k->l->qp, &rts, IBV_QP_STATE);
		KIT_CHECK(k, !rc, "ibv_modify_qp from SQD to RTS failed with %s", errno_name(rc));
	}
	for (int i = 0; i < at; i++) {
		if (state == IBV_QPS_SQD)
			plan_execute(&plans[i], k->l, &requester, &responder);
		else
			plan_fail(&plans[i], k->l, IBV_WC_WR_FLUSH_ERR, &requester);
	}
	collect(k->l, &requester, &responder, k->res);
	if (KIT_GOOD(k) && state == IBV_QPS_SQD)
		kit_alive(k, k->l);
	else
		kit_expect_none(k, k->l, k->l->cq);
	if (KIT_GOOD(k) && state == IBV_QPS_SQD)
		collect_memory(k->l, 0, k->res);
}

SCENARIO(bad_in_state) = {
	{"send-in-sqd", SUITE("bad_wr"), QPS("RC UC UD XRC_SEND"), POSTS("3 x SEND 600"),
	 ARGS({"state", IBV_QPS_SQD}), FORMS({"-0", {{"bad", 0}}}, {"-2", {{"bad", 2}}}),
	 CLAUSE("ibv_post_send/DESCRIPTION/bad_wr"), ERRATA("POST-ERRNO FLUSH-ORDER SQ-ERROR-STATE"),
	 SAYS("in SQD ibv_post_send fails, bad_wr names work request {bad}, those before it wait for "
	      "RTS and are executed")},
	{"send-in-err", ARGS({"state", IBV_QPS_ERR}), FORMS({"-0", {{"bad", 0}}}, {"-2", {{"bad", 2}}}),
	 SAYS("in ERR ibv_post_send fails, bad_wr names work request {bad}, those before it are flushed")},
	{"send-in-sqe", QPS("UC UD"), ARGS({"state", IBV_QPS_SQE}),
	 FORMS({"-0", {{"bad", 0}}}, {"-2", {{"bad", 2}}}),
	 SAYS("in SQE ibv_post_send fails, bad_wr names work request {bad}, those before it are flushed")},
	{},
};

#define LONG 600 /* longer than a queue of the requested small size */

/* A list that is longer than the queue: as many are taken as fit, the next is named, and all that were taken are executed. */
static void list_full(struct kit *k)
{
	static struct plan plan[CELL_MAX_WR];
	static struct ibv_send_wr wr[LONG];
	const struct link_opts opts = {.sq_depth = 8, .cq_depth = LONG};
	struct ibv_send_wr *bad = NULL;
	unsigned int taken;
	int rc;

	if (!kit_link(k, API_POST, &opts) || !kit_plan(k, plan))
		return;
	for (unsigned int i = 0; i < LONG; i++) {
		post_fill(&wr[i], k->l, &plan[0]);
		wr[i].wr_id = i;
		wr[i].next = i + 1 < LONG ? &wr[i + 1] : NULL;
	}
	for (int turn = 0; turn < 2; turn++) {
		log_call(&k->res->log, "ibv_post_send(qp, wr, &bad_wr) /* %d requests */", LONG);
		rc = ibv_post_send(k->l->qp, wr, &bad);
		k->res->err = rc;
		KIT_CHECK(k, rc && bad >= wr && bad < wr + LONG,
			  "a list of %d requests was taken, or bad_wr names none of them", LONG);
		judge_errno(&k->res->verdict, rc, k->r->dut.refusal.full);
		taken = bad - wr;
		KIT_CHECK(k, taken >= k->l->cap.max_send_wr, "request %u was refused, %u are granted", taken,
			  k->l->cap.max_send_wr);
		for (unsigned int i = 0; i < taken; i++)
			if (!kit_expect(k, k->l, k->l->cq, k->l->qp, i, IBV_WC_SUCCESS))
				return;
		kit_expect_none(k, k->l, k->l->cq);
	}
}

SCENARIO(list_full) = {
	{"send-full", SUITE("bad_wr"), QPS("RC UC XRC_SEND"), POSTS("RDMA_WRITE 64"),
	 CLAUSE("ibv_post_send/DESCRIPTION/bad_wr"), ERRATA("QUEUE-FULL POST-ERRNO"),
	 SAYS("of a list that is longer than the queue as many as granted are taken, bad_wr names the "
	      "first that was not; those that were taken are executed, and there is room again")},
	{"send-full", QPS("UD"), POSTS("SEND 64")},
	{},
};
