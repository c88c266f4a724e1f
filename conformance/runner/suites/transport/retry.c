/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Receivers that are not ready, peers that do not answer, and how often a requester retries. */
#include <string.h>

#include "suites/kit.h"

static struct ibv_qp_attr timers(const struct kit *k)
{
	return (struct ibv_qp_attr){
		.min_rnr_timer = kit_arg(k, "timer", 1),
		.rnr_retry = kit_arg(k, "rnr_retry", 6),
		.timeout = kit_arg(k, "timeout", 14),
		.retry_cnt = kit_arg(k, "retry_cnt", 7),
	};
}

/* Posts the requests of the cell on the kit's link in a way that they cannot be executed yet. */
typedef bool post_fn(struct kit *k, struct plan *plans, struct ibv_send_wr *wr);

static int plan_all(struct kit *k, struct plan *plans)
{
	int ret = 0;

	for (unsigned int i = 0; i < k->cell->num_wr && !ret; i++)
		ret = plan_wr(&plans[i], k->l, &k->cell->wr[i], i, k->r->seed);
	return ret;
}

/* Posts to a peer without a receive. */
static bool post_unready(struct kit *k, struct plan *plans, struct ibv_send_wr *wr)
{
	int ret = plan_all(k, plans);

	if (!ret) {
		kit_list(k, plans, k->cell->num_wr, wr);
		ret = kit_post(k, k->l->qp, k->l->peer, wr, NULL);
	}
	return KIT_MUST(k, !ret, "posting was refused with %s", errno_name(ret));
}

/* Destroys the peer, or moves it to a state in which it does not answer. */
static int silence_peer(struct kit *k)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	int ret;

	if (kit_arg(k, "destroy", 0)) {
		log_call(&k->res->log, "ibv_destroy_qp(peer)");
		ret = ibv_destroy_qp(k->l->peer);
		if (!ret)
			k->l->peer = NULL;
		return ret;
	}
	log_call(&k->res->log,
		 "ibv_modify_qp(peer, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RESET}, IBV_QP_STATE)");
	return ibv_modify_qp(k->l->peer, &attr, IBV_QP_STATE);
}

/* Posts to a peer that does not answer any more. */
static bool post_to_nobody(struct kit *k, struct plan *plans, struct ibv_send_wr *wr)
{
	struct ibv_qp was = *k->l->peer; /* the journal needs the QP's number, and the QP may be destroyed */
	int ret = plan_all(k, plans);

	if (!ret)
		ret = silence_peer(k);
	if (!ret) {
		kit_list(k, plans, k->cell->num_wr, wr);
		ret = kit_post(k, k->l->qp, &was, wr, NULL);
	}
	return KIT_MUST(k, !ret, "posting to a silent peer failed with %s", errno_name(ret));
}

/* The first request completes with the status of the cell, not before `least_us`; the others are flushed. */
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

static void exhausted(struct kit *k, post_fn *post)
{
	static struct plan plans[CELL_MAX_WR];
	struct ibv_send_wr wr[CELL_MAX_WR];
	const struct ibv_qp_attr attr = timers(k);
	const struct link_opts opts = {.attr = &attr};
	uint64_t began;

	if (!kit_link(k, API_POST, &opts))
		return;
	began = kit_now_us();
	if (post(k, plans, wr))
		expect_given_up(k, wr, began);
}

static void rnr_exhausted(struct kit *k)
{
	exhausted(k, post_unready);
}

SCENARIO(rnr_exhausted) = {
	{"rnr_retry", SUITE("rnr"), QPS("RC XRC_SEND"), POSTS("SEND 600, SEND 600 unsignaled"),
	 ARGS({"timer", 1}, {"gap_us", 10}),
	 FORMS({"-0", {{"rnr_retry", 0}}}, {"-2", {{"rnr_retry", 2}, {"least_us", 20}}},
	       {"-3", {{"rnr_retry", 3}, {"least_us", 30}}}, {"-4", {{"rnr_retry", 4}, {"least_us", 40}}},
	       {"-5", {{"rnr_retry", 5}, {"least_us", 50}}}, {"-6", {{"rnr_retry", 6}, {"least_us", 60}}}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/rnr_retry"),
	 ERRATA("RNR-RETRY FLUSH-ORDER XRC_SEND/XRC-ATTRIBUTES"), STATUS("RNR_RETRY_EXC_ERR"),
	 SAYS("without a receive the first request completes with IBV_WC_RNR_RETRY_EXC_ERR after "
	      "{rnr_retry} repetitions of at least {gap_us} us each, the second with "
	      "IBV_WC_WR_FLUSH_ERR")},
	{"rnr_retry-1", QPS("RC"),
	 ARGS({"rnr_retry", 1}, {"timer", 0}, {"gap_us", 655360}, {"least_us", 655360}),
	 ERRATA("RNR-RETRY FLUSH-ORDER")},
	{"min_rnr_timer", QPS("RC XRC_SEND"), ARGS({"rnr_retry", 2}),
	 FORMS({"-1", {{"timer", 1}, {"gap_us", 10}, {"least_us", 20}}},
	       {"-8", {{"timer", 8}, {"gap_us", 160}, {"least_us", 320}}},
	       {"-12", {{"timer", 12}, {"gap_us", 640}, {"least_us", 1280}}},
	       {"-14", {{"timer", 14}, {"gap_us", 1280}, {"least_us", 2560}}},
	       {"-16", {{"timer", 16}, {"gap_us", 2560}, {"least_us", 5120}}}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/min_rnr_timer"),
	 ERRATA("RNR-TIMER FLUSH-ORDER XRC_SEND/XRC-ATTRIBUTES")},
	{"write_imm", POSTS("RDMA_WRITE_WITH_IMM 600, SEND 600 unsignaled"),
	 ARGS({"rnr_retry", 2}, {"timer", 1}, {"gap_us", 10}, {"least_us", 20}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/rnr_retry"),
	 ERRATA("RNR-RETRY FLUSH-ORDER XRC_SEND/XRC-ATTRIBUTES")},
	{"rnr_retry-1", QPS("XRC_SEND"), POSTS("SEND 600, SEND 600 unsignaled"),
	 ARGS({"rnr_retry", 1}, {"timer", 1}, {"gap_us", 10}, {"least_us", 10})},
	{},
};

static void retry_exhausted(struct kit *k)
{
	exhausted(k, post_to_nobody);
}

SCENARIO(retry_exhausted) = {
	{"retry_cnt", SUITE("retry"), QPS("RC XRC_SEND"), POSTS("SEND 600, SEND 600 unsignaled"),
	 ARGS({"timeout", 8}, {"gap_us", 1048}),
	 FORMS({"-0", {{"retry_cnt", 0}, {"least_us", 1048}}}, {"-1", {{"retry_cnt", 1}, {"least_us", 2096}}},
	       {"-3", {{"retry_cnt", 3}, {"least_us", 4192}}},
	       {"-7", {{"retry_cnt", 7}, {"least_us", 8384}}}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/retry_cnt"),
	 ERRATA("RETRY-COUNT FLUSH-ORDER XRC_SEND/XRC-ATTRIBUTES"), STATUS("RETRY_EXC_ERR"),
	 SAYS("the first request completes with IBV_WC_RETRY_EXC_ERR after {retry_cnt} repetitions, "
	      "not before {gap_us} us each, the second with IBV_WC_WR_FLUSH_ERR")},
	{"timeout", ARGS({"retry_cnt", 2}),
	 FORMS({"-6", {{"timeout", 6}, {"gap_us", 262}, {"least_us", 786}}},
	       {"-11", {{"timeout", 11}, {"gap_us", 8388}, {"least_us", 25164}}},
	       {"-12", {{"timeout", 12}, {"gap_us", 16777}, {"least_us", 50331}}}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/timeout"),
	 ERRATA("ACK-TIMEOUT FLUSH-ORDER XRC_SEND/XRC-ATTRIBUTES")},
	{"gone-{short}", POSTS("{op} 600, SEND 600 unsignaled"), OPS("RDMA_WRITE RDMA_READ"),
	 ARGS({"retry_cnt", 1}, {"timeout", 8}, {"gap_us", 1048}, {"least_us", 2096}, {"destroy", 1}),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/retry_cnt"),
	 ERRATA("RETRY-COUNT FLUSH-ORDER XRC_SEND/XRC-ATTRIBUTES")},
	{"gone-atomic_fetch_add", POSTS("ATOMIC_FETCH_AND_ADD, SEND 600 unsignaled"),
	 ARGS({"retry_cnt", 1}, {"timeout", 8}, {"gap_us", 1048}, {"least_us", 2096}, {"destroy", 1})},
	{},
};

/*
 * A QP that retries without limit: it has not given up when another one, with a limit, has made all its attempts.
 * The caller completes the plans of the first.
 */
static bool outlasts(struct kit *k, const struct ibv_qp_attr *patient, const struct ibv_qp_attr *finite,
		     post_fn *post, enum ibv_wc_status status, struct plan *plans)
{
	static struct plan clock_plans[CELL_MAX_WR];
	const struct link_opts endless = {.attr = patient}, bounded = {.attr = finite};
	struct ibv_send_wr wr[CELL_MAX_WR], clock_wr[CELL_MAX_WR];
	struct link clock = {0};
	struct kit bounded_kit = {.r = k->r, .cell = k->cell, .res = k->res, .l = &clock};
	bool good = kit_link(k, API_POST, &endless) && kit_link_second(k, &clock, API_POST, &bounded) &&
		    post(k, plans, wr) && post(&bounded_kit, clock_plans, clock_wr) &&
		    kit_expect(k, &clock, clock.cq, clock.qp, clock_wr[0].wr_id, status);

	if (good)
		kit_expect_none(k, k->l, k->l->cq);
	return good;
}

/* Posts receives for the first QP, which must still be retrying: its requests are executed. */
static void get_ready(struct kit *k, struct plan *plans)
{
	struct expect requester = {0}, responder = {0};
	unsigned int first_use = k->l->next_use;
	int ret;

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

static void rnr_endless(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct ibv_qp_attr patient = timers(k), finite = timers(k);

	patient.rnr_retry = 7;
	finite.rnr_retry = 6;
	if (outlasts(k, &patient, &finite, post_unready, IBV_WC_RNR_RETRY_EXC_ERR, plans))
		get_ready(k, plans);
}

SCENARIO(rnr_endless) = {
	{"rnr_retry-7", SUITE("rnr"), QPS("RC XRC_SEND"), POSTS("2 x SEND 600"),
	 ARGS({"timer", 8}, {"rnr_retry", 7}), CLAUSE("ibv_modify_qp/DESCRIPTION/rnr_retry"),
	 ERRATA("RNR-RETRY XRC_SEND/XRC-ATTRIBUTES"),
	 SAYS("the request is still tried when another QP has given up after 6 repetitions, and is "
	      "executed once a receive is posted")},
	{},
};

/* Timeout 0: no limit. */
static void timeout_endless(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct ibv_qp_attr patient = timers(k), finite = timers(k);

	patient.timeout = 0;
	outlasts(k, &patient, &finite, post_to_nobody, IBV_WC_RETRY_EXC_ERR, plans);
}

SCENARIO(timeout_endless) = {
	{"timeout-0", SUITE("retry"), QPS("RC XRC_SEND"), POSTS("SEND 600"),
	 ARGS({"timeout", 8}, {"retry_cnt", 7}), CLAUSE("ibv_modify_qp/DESCRIPTION/timeout"), LEVEL("SHOULD"),
	 ERRATA("ACK-TIMEOUT XRC_SEND/XRC-ATTRIBUTES"), STATUS("RETRY_EXC_ERR"),
	 SAYS("without a timeout the request is not given up while another QP gives up all its attempts")},
	{},
};
