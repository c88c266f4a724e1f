/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Receivers that are not ready, peers that do not answer, and how long a requester goes on. */
#include <string.h>

#include "../journal.h"
#include "kit.h"

static struct ibv_qp_attr timers(const struct kit *k)
{
	return (struct ibv_qp_attr){
		.min_rnr_timer = kit_arg(k, "timer", 1),
		.rnr_retry = kit_arg(k, "rnr_retry", 6),
		.timeout = kit_arg(k, "timeout", 14),
		.retry_cnt = kit_arg(k, "retry_cnt", 7),
	};
}

/* The requests of the cell, with no receive posted. */
static bool post_unready(struct kit *k, struct plan *plans, struct ibv_send_wr *wr)
{
	int ret = 0;

	for (unsigned int i = 0; i < k->cell->num_wr && !ret; i++)
		ret = plan_wr(&plans[i], k->l, &k->cell->wr[i], i, k->r->seed);
	if (!ret) {
		kit_list(k, plans, k->cell->num_wr, wr);
		ret = kit_post(k, k->l->qp, k->l->peer, wr, NULL);
	}
	if (ret)
		KIT_FAULT(k, "posting was refused with %s", errno_name(ret));
	return !ret;
}

/* The first request ends with the status of the cell, not before `least_us`, the others are flushed. */
static void expect_given_up(struct kit *k, const struct ibv_send_wr *wr, uint64_t began)
{
	uint64_t least = kit_arg(k, "least_us", 0), took;

	if (!kit_expect(k, k->l, k->l->cq, k->l->qp, wr[0].wr_id, k->cell->status))
		return;
	took = kit_now_us() - began;
	KIT_CHECK(k, took >= least, "given up after %llu us, must not be before %llu us",
		  (unsigned long long)took, (unsigned long long)least);
	for (unsigned int i = 1; i < k->cell->num_wr && KIT_GOOD(k); i++)
		kit_expect(k, k->l, k->l->cq, k->l->qp, wr[i].wr_id, IBV_WC_WR_FLUSH_ERR);
	kit_expect_state(k, k->l->qp, IBV_QPS_ERR);
	kit_expect_none(k, k->l, k->l->cq);
	if (KIT_GOOD(k))
		collect_memory(k->l, k->l->next_use, k->res);
}

static void rnr_exhausted(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct ibv_send_wr wr[CELL_MAX_WR];
	const struct ibv_qp_attr attr = timers(k);
	const struct link_opts opts = {.attr = &attr};
	uint64_t began;

	if (!kit_link(k, API_POST, &opts))
		return;
	began = kit_now_us();
	if (post_unready(k, plans, wr))
		expect_given_up(k, wr, began);
}

/* Receives for the first QP, which must have gone on: its requests are executed. */
static void get_ready(struct kit *k, struct plan *plans)
{
	struct expect requester = {0}, responder = {0};
	unsigned int first_use = k->l->next_use;
	int ret;

	kit_expect_none(k, k->l, k->l->cq);
	log_call(&k->res->log, "/* only now: receives for the first QP */");
	ret = link_fill_recv(k->l);
	KIT_CHECK(k, !ret, "posting receives failed with %s", errno_name(ret));
	for (unsigned int i = 0; i < k->cell->num_wr; i++)
		plan_execute(&plans[i], k->l, &requester, &responder);
	if (KIT_GOOD(k))
		collect(k->l, &requester, &responder, k->res);
	if (KIT_GOOD(k))
		collect_memory(k->l, first_use, k->res);
}

/* Another QP with a finite count shows when more attempts than any count allows have been made. */
static void rnr_endless(struct kit *k)
{
	static struct plan plans[2][CELL_MAX_WR];
	struct ibv_send_wr wr[2][CELL_MAX_WR];
	struct ibv_qp_attr patient = timers(k), finite = timers(k);
	struct link_opts endless = {.attr = &patient}, bounded = {.attr = &finite};
	struct link clock = {0};
	struct kit beside = {.r = k->r, .cell = k->cell, .res = k->res, .l = &clock};

	patient.rnr_retry = 7;
	finite.rnr_retry = 6;
	if (kit_link(k, API_POST, &endless) && kit_link_beside(k, &clock, API_POST, &bounded) &&
	    post_unready(k, plans[0], wr[0]) && post_unready(&beside, plans[1], wr[1]) &&
	    kit_expect(k, &clock, clock.cq, clock.qp, wr[1][0].wr_id, IBV_WC_RNR_RETRY_EXC_ERR))
		get_ready(k, plans[0]);
	link_destroy(&clock);
}

/* The peer is gone, or in a state in which it answers nothing. */
static int silence_peer(struct kit *k, struct link *l)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	int ret;

	if (kit_arg(k, "destroy", 0)) {
		log_call(&k->res->log, "ibv_destroy_qp(peer)");
		ret = ibv_destroy_qp(l->peer);
		if (!ret)
			l->peer = NULL;
		return ret;
	}
	log_call(&k->res->log,
		 "ibv_modify_qp(peer, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RESET}, IBV_QP_STATE)");
	return ibv_modify_qp(l->peer, &attr, IBV_QP_STATE);
}

/* The requests of the cell, to a peer that is silent by then. */
static bool post_to_nobody(struct kit *k, struct link *l, struct plan *plans, struct ibv_send_wr *wr)
{
	struct kit here = {.r = k->r, .cell = k->cell, .res = k->res, .l = l};
	struct ibv_qp was = *l->peer; /* the journal names a QP that may be gone */
	struct ibv_send_wr *bad;
	int ret = 0;

	for (unsigned int i = 0; i < k->cell->num_wr && !ret; i++)
		ret = plan_wr(&plans[i], l, &k->cell->wr[i], i, k->r->seed);
	if (!ret)
		ret = silence_peer(k, l);
	if (!ret) {
		kit_list(&here, plans, k->cell->num_wr, wr);
		log_call(&k->res->log, "ibv_post_send(qp, wr, &bad_wr) /* %u requests */", k->cell->num_wr);
		end_push();
		ret = ibv_post_send(l->qp, wr, &bad);
		journal_list(&k->res->log, l->qp, &was, wr, ret, bad);
	}
	if (ret)
		KIT_FAULT(k, "posting to a silent peer failed with %s", errno_name(ret));
	return !ret;
}

static void retry_exhausted(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct ibv_send_wr wr[CELL_MAX_WR];
	const struct ibv_qp_attr attr = timers(k);
	const struct link_opts opts = {.attr = &attr};
	uint64_t began;

	if (!kit_link(k, API_POST, &opts))
		return;
	began = kit_now_us();
	if (post_to_nobody(k, k->l, plans, wr))
		expect_given_up(k, wr, began);
}

/* Timeout 0 never gives up: not while another QP gives up all its attempts. */
static void timeout_endless(struct kit *k)
{
	static struct plan plans[2][CELL_MAX_WR];
	struct ibv_qp_attr patient = timers(k), finite = timers(k);
	struct link_opts endless = {.attr = &patient}, bounded = {.attr = &finite};
	struct ibv_send_wr wr[2][CELL_MAX_WR];
	struct link clock = {0};

	patient.timeout = 0;
	if (kit_link(k, API_POST, &endless) && kit_link_beside(k, &clock, API_POST, &bounded) &&
	    post_to_nobody(k, k->l, plans[0], wr[0]) && post_to_nobody(k, &clock, plans[1], wr[1]) &&
	    kit_expect(k, &clock, clock.cq, clock.qp, wr[1][0].wr_id, IBV_WC_RETRY_EXC_ERR))
		kit_expect_none(k, k->l, k->l->cq);
	link_destroy(&clock);
}

const struct scenario retry_scenarios[] = {
	{"rnr_exhausted", rnr_exhausted},
	{"rnr_endless", rnr_endless},
	{"retry_exhausted", retry_exhausted},
	{"timeout_endless", timeout_endless},
	{NULL, NULL},
};
