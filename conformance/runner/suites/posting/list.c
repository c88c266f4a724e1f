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

static void bad_recv(struct kit *k)
{
	as(k, API_RECV);
}

static void bad_srq_recv(struct kit *k)
{
	as(k, API_SRQ);
}

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
	KIT_CHECK(k, bad == at, "bad_wr names request %d, expected %d", bad, at);
	for (int i = 0; i < at; i++)
		plan_execute(&plans[i], k->l, &requester, &responder);
	collect(k->l, &requester, &responder, k->res);
	if (KIT_GOOD(k))
		kit_alive(k, k->l);
	collect_extra(k->l, k->res);
	if (KIT_GOOD(k))
		collect_memory(k->l, 0, k->res);
}

const struct scenario list_scenarios[] = {
	{"bad_send", bad_send}, {"unknown_flag", unknown_flag},
	{"bad_recv", bad_recv}, {"bad_srq_recv", bad_srq_recv},
	{NULL, NULL},
};
