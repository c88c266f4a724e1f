/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* States in which a send queue stops, and what becomes of its requests: SQD and back, SQE and back, RESET. */
#include <string.h>

#include "judge/watchdog.h"
#include "link/link_modify.h"
#include "suites/kit.h"

static bool move_to(struct kit *k, struct ibv_qp *qp, enum ibv_qp_state state, const char *name)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int ret;

	log_call(&k->res->log,
		 "ibv_modify_qp(%s, &(struct ibv_qp_attr){.qp_state = IBV_QPS_%s}, IBV_QP_STATE)",
		 qp == k->l->qp ? "qp" : "peer", name);
	ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	return KIT_MUST(k, !ret, "ibv_modify_qp to %s failed with %s", name, errno_name(ret));
}

static bool stop(struct kit *k, bool notify)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = notify};
	int ret;

	log_call(&k->res->log,
		 "ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = "
		 "%d}, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY)",
		 notify);
	ret = ibv_modify_qp(k->l->qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
	return KIT_MUST(k, !ret, "ibv_modify_qp to SQD failed with %s", errno_name(ret));
}

static void expect_draining(struct kit *k, bool draining)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int ret = ibv_query_qp(k->l->qp, &attr, IBV_QP_STATE, &init);

	KIT_CHECK(k, !ret, "ibv_query_qp failed with %s", errno_name(ret));
	KIT_CHECK(k, attr.qp_state == IBV_QPS_SQD, "the QP is in state %d, expected SQD", attr.qp_state);
	KIT_CHECK(k, !attr.sq_draining == !draining, "sq_draining is %d, expected %d", attr.sq_draining,
		  draining);
}

static void expect_no_async(struct kit *k, const char *when)
{
	struct ibv_async_event event;

	while (kit_next_async(k->l->qp->context, 0, &event))
		if (event.event_type == IBV_EVENT_SQ_DRAINED)
			KIT_FAULT(k, "IBV_EVENT_SQ_DRAINED came %s", when);
}

/* Plans all requests, with all receives but those that the caller wants to be missing. */
static bool plan_only(struct kit *k, struct plan *plans)
{
	int ret = 0;

	for (unsigned int i = 0; i < k->cell->num_wr && !ret; i++)
		ret = plan_wr(&plans[i], k->l, &k->cell->wr[i], i, k->r->seed);
	return KIT_MUST(k, !ret, "buffers of the case: %s", errno_name(ret));
}

static bool post_some(struct kit *k, struct plan *plans, unsigned int first, unsigned int num)
{
	struct posted posted = post_list(k->l, plans + first, num, &k->res->log);

	return KIT_MUST(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
}

/* The requests from `first` on are executed, and nothing else is. */
static void carried_out(struct kit *k, struct plan *plans, unsigned int first, unsigned int num)
{
	struct expect requester = {0}, responder = {0};
	unsigned int first_use = k->l->next_use;

	for (unsigned int i = first; i < first + num; i++)
		plan_execute(&plans[i], k->l, &requester, &responder);
	collect(k->l, &requester, &responder, k->res);
	collect_extra(k->l, k->res);
	if (KIT_GOOD(k) && k->l->qpt == IBV_QPT_UC)
		kit_alive(
			k,
			k->l); /* a WRITE of UC completes before its data is visible: this SEND follows it */
	if (KIT_GOOD(k))
		collect_memory(k->l, first_use, k->res);
}

/* Waits until the first bytes of a message are in the responder's memory: it has been started. */
static bool has_started(struct kit *k, const struct plan *plan)
{
	struct watchdog p = watchdog(k->l->dut->timeout_ms);

	do
		link_fetch(k->l);
	while (memcmp(plan->target, plan->payload, 64) && !watchdog_expired(&p) && !remote_broken());
	if (!memcmp(plan->target, plan->payload, 64))
		return true;
	KIT_FAULT(k, "the first bytes of the message do not arrive");
	return false;
}

/* Time for whatever must not happen: a message of another pair of QPs. */
static void let_pass(struct kit *k)
{
	struct link other = {0};

	if (kit_link_second(k, &other, API_POST, NULL))
		kit_alive(k, &other);
}

/*
 * The first request, an RDMA WRITE with immediate of several packets, waits for a receive when the queue is stopped;
 * the others are posted then.
 */
static void sqd_busy(struct kit *k)
{
	static const struct ibv_qp_attr quick = {
		.min_rnr_timer = 12, .rnr_retry = 7, .timeout = 14, .retry_cnt = 7};
	static const struct link_opts opts = {.attr = &quick};
	static struct plan plans[CELL_MAX_WR];
	unsigned int num = k->cell->num_wr - 1;
	int ret;

	kit_drain_async(k->r->dut.requester.ctx);
	if (!kit_link(k, API_POST, &opts) || !plan_only(k, plans) || !post_some(k, plans, 0, 1) ||
	    !has_started(k, &plans[0]) || !stop(k, true))
		return;
	expect_draining(k, true);
	if (!KIT_GOOD(k) || !post_some(k, plans, 1, num))
		return;
	expect_no_async(k, "before the queue was drained");
	log_call(&k->res->log, "/* only now: receives */");
	ret = link_fill_recv(k->l);
	KIT_CHECK(k, !ret, "posting receives failed with %s", errno_name(ret));
	carried_out(k, plans, 0, 1);
	if (!KIT_GOOD(k) || !kit_expect_async(k, k->l->qp->context, IBV_EVENT_SQ_DRAINED, k->l->qp))
		return;
	expect_draining(k, false);
	let_pass(k);
	kit_expect_none(k, k->l, k->l->cq);
	if (KIT_GOOD(k))
		collect_memory(k->l, k->l->next_use, k->res);
	if (!KIT_GOOD(k) || !move_to(k, k->l->qp, IBV_QPS_RTS, "RTS"))
		return;
	carried_out(k, plans, 1, num);
	if (KIT_GOOD(k))
		kit_alive(k, k->l);
	expect_no_async(k, "a second time");
}

SCENARIO(sqd_busy) = {
	{"sqd-busy", SUITE("state"), QPS("RC XRC_SEND"),
	 POSTS("RDMA_WRITE_WITH_IMM 3000+, SEND 700+, RDMA_READ 1500+, RDMA_WRITE 2500+, "
	       "ATOMIC_FETCH_AND_ADD 8+, SEND_WITH_IMM 0+"),
	 CLAUSE("ibv_get_async_event/DESCRIPTION/IBV_EVENT_SQ_DRAINED"),
	 ALSO("ibv_query_qp/DESCRIPTION/sq_draining"), ERRATA("SQ-DRAINED"),
	 SAYS("IBV_EVENT_SQ_DRAINED when the request that was started has completed, not before; those "
	      "posted meanwhile are executed in RTS, once and in order")},
	{},
};

/* Another attribute changes in SQD, which is no reason for another event. */
static void change(struct kit *k)
{
	const bool ud = k->l->qpt == IBV_QPT_UD;
	struct ibv_qp_attr attr = {.qkey = LINK_QKEY, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	int ret = ibv_modify_qp(k->l->qp, &attr, ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);

	KIT_CHECK(k, !ret, "ibv_modify_qp of %s in SQD failed with %s", ud ? "qkey" : "qp_access_flags",
		  errno_name(ret));
	expect_no_async(k, "after another attribute was changed");
}

/* Nothing is outstanding: the queue is drained at once. With and without the event, twice. */
static void sqd_idle(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];

	kit_drain_async(k->r->dut.requester.ctx);
	if (!kit_link(k, API_POST, NULL))
		return;
	kit_alive(k, k->l);
	for (int turn = 0; turn < 4 && KIT_GOOD(k); turn++) {
		if (!kit_plan(k, plans) || !stop(k, turn & 1) || !post_some(k, plans, 0, k->cell->num_wr))
			return;
		if (turn & 1 && !kit_expect_async(k, k->l->qp->context, IBV_EVENT_SQ_DRAINED, k->l->qp))
			return;
		expect_draining(k, false);
		kit_expect_none(k, k->l, k->l->cq);
		if (KIT_GOOD(k))
			change(k);
		if (!KIT_GOOD(k) || !move_to(k, k->l->qp, IBV_QPS_RTS, "RTS"))
			return;
		carried_out(k, plans, 0, k->cell->num_wr);
		expect_no_async(k, turn & 1 ? "a second time" : "without being asked for");
	}
}

SCENARIO(sqd_idle) = {
	{"sqd-idle", SUITE("state"), QPS("RC XRC_SEND"),
	 POSTS("RDMA_WRITE 900+, SEND 910+, RDMA_READ 920+, SEND_WITH_IMM 930+"),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/en_sqd_async_notify"),
	 ALSO("ibv_query_qp/DESCRIPTION/sq_draining"), ERRATA("SQ-DRAINED"),
	 SAYS("a queue with nothing outstanding is drained at once, the event comes if it was asked for")},
	{"sqd-idle", QPS("UC"), POSTS("RDMA_WRITE 900+, SEND 910+, SEND_WITH_IMM 920+")},
	{"sqd-idle", QPS("UD"), POSTS("SEND 900+, SEND_WITH_IMM 910+")},
	{},
};

/* The peer of a UC QP sends an empty message, whose receive is posted now. */
static void receives(struct kit *k)
{
	struct link *l = k->l;
	struct ibv_recv_wr recv = {.wr_id = 0x4ece}, *bad_recv;
	struct ibv_send_wr wr = kit_wr(0x5e4d, IBV_WR_SEND, NULL);
	int ret = ibv_post_recv(l->qp, &recv, &bad_recv);

	if (!ret)
		ret = kit_post(k, l->peer, l->qp, &wr, NULL);
	if (ret)
		KIT_FAULT(k, "a receive, or the send of the peer, was refused with %s", errno_name(ret));
	else if (kit_expect(k, l, l->peer_cq, l->peer, 0x5e4d, IBV_WC_SUCCESS))
		kit_expect(k, l, l->cq, l->qp, 0x4ece, IBV_WC_SUCCESS);
}

/* From SQE to RTS. The caller may say that the state is SQE. */
static bool leave_sqe(struct kit *k, bool says)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE};

	if (!says)
		return move_to(k, k->l->qp, IBV_QPS_RTS, "RTS");
	log_call(&k->res->log, "ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, "
			       ".cur_qp_state = IBV_QPS_SQE}, IBV_QP_STATE | IBV_QP_CUR_STATE)");
	if (!kit_holds(k, !ibv_modify_qp(k->l->qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE)))
		KIT_FAULT(k, "the move to RTS with cur_qp_state = IBV_QPS_SQE failed");
	return KIT_GOOD(k);
}

/*
 * The queue of an unreliable QP stops at a request that fails; moved back to RTS it goes on with what is posted then.
 * The receive queue has gone on all the time.
 */
static void sqe_back(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	unsigned int num = k->cell->num_wr, bad = kit_arg(k, "bad", 1);
	struct ibv_send_wr wr[CELL_MAX_WR];

	if (!kit_link(k, API_POST, NULL))
		return;
	for (int turn = 0; turn < 3 && KIT_GOOD(k); turn++) {
		struct expect requester = {0}, responder = {0};
		unsigned int first_use = k->l->next_use;

		if (!kit_plan(k, plans))
			return;
		kit_list(k, plans, num, wr);
		wr[bad].sg_list[0].lkey ^= 0x5a;
		for (unsigned int i = 0; i < bad; i++)
			plan_execute(&plans[i], k->l, &requester, &responder);
		for (unsigned int i = bad; i < num; i++)
			plan_fail(&plans[i], k->l, i > bad ? IBV_WC_WR_FLUSH_ERR : k->cell->status,
				  &requester);
		if (kit_post(k, k->l->qp, k->l->peer, wr, NULL)) {
			KIT_FAULT(k, "posting was refused");
			return;
		}
		collect(k->l, &requester, &responder, k->res);
		kit_expect_state(k, k->l->qp, IBV_QPS_SQE);
		if (!KIT_GOOD(k))
			return;
		collect_memory(k->l, first_use, k->res);
		if (KIT_GOOD(k) && k->l->qpt == IBV_QPT_UC)
			receives(k);
		if (!KIT_GOOD(k) || !leave_sqe(k, turn == 1) || !kit_plan(k, plans) ||
		    !post_some(k, plans, 0, num))
			return;
		carried_out(k, plans, 0, num);
	}
}

SCENARIO(sqe_back) = {
	{"sqe-back-0", SUITE("state"), QPS("UC UD"),
	 POSTS("SEND 64+ unsignaled, SEND_WITH_IMM 128+ unsignaled, SEND 192+, SEND 256+, SEND_WITH_IMM "
	       "320+"),
	 ARGS({"bad", 0}), CLAUSE("ibv_modify_qp/DESCRIPTION/qp_state"), ERRATA("SQ-ERROR-STATE FLUSH-ORDER"),
	 STATUS("LOC_PROT_ERR"),
	 SAYS("those before the bad request are executed, it completes with IBV_WC_LOC_PROT_ERR, those "
	      "behind it are flushed; back in RTS the queue carries out what is posted then")},
	{"sqe-back-2",
	 POSTS("SEND 64+, SEND_WITH_IMM 128+ unsignaled, SEND 192+ unsignaled, SEND 256+, SEND_WITH_IMM "
	       "320+"),
	 ARGS({"bad", 2})},
	{"sqe-back-4",
	 POSTS("SEND 64+, SEND_WITH_IMM 128+ unsignaled, SEND 192+, SEND 256+, SEND_WITH_IMM 320+ "
	       "unsignaled"),
	 ARGS({"bad", 4})},
	{},
};

/* Requests, of which the first fails: the others are still being flushed when it has completed. */
#define LONG 1200

/* A list of which the first is refused, one more as soon as that has completed, and two after the move to RTS. */
static bool post_around(struct kit *k, struct ibv_wc *wc)
{
	struct ibv_sge sge = {(uintptr_t)k->l->local.base, 8, k->l->local.mr->lkey ^ 0x5a00};
	static struct ibv_send_wr wr[LONG + 3];
	struct ibv_send_wr *bad;
	struct link *l = k->l;
	int ret;

	for (unsigned int i = 0; i < LONG + 3; i++) {
		wr[i] = kit_wr(i, IBV_WR_SEND, i ? NULL : &sge);
		wr[i].next = i + 1 < LONG || i == LONG + 1 ? &wr[i + 1] : NULL;
	}
	ret = ibv_post_send(l->qp, wr, &bad);
	if (!ret && !kit_wait(k, l, l->cq, wc))
		return false;
	ret = ret ? ret : ibv_post_send(l->qp, &wr[LONG], &bad);
	if (!ret && !move_to(k, l->qp, IBV_QPS_RTS, "RTS"))
		return false;
	ret = ret ? ret : ibv_post_send(l->qp, &wr[LONG + 1], &bad);
	return KIT_MUST(k, !ret, "posting was refused with %s", errno_name(ret));
}

/*
 * What is posted before the move to RTS is flushed, or executed if the adapter finds it only then; what is posted after it
 * is executed.
 */
static bool is_as_posted(struct kit *k, const struct ibv_wc *wc, unsigned int i, bool *done)
{
	const bool flushed = wc->status == IBV_WC_WR_FLUSH_ERR && !*done && i <= LONG;

	*done = *done || wc->status == IBV_WC_SUCCESS;
	if (!kit_holds(k, wc->wr_id == i && (i ? flushed || wc->status == IBV_WC_SUCCESS
					       : wc->status == k->cell->status)))
		KIT_FAULT(k, "request %u of %u: wr_id %llu, status %s", i, LONG + 3,
			  (unsigned long long)wc->wr_id, value_name(status_names, wc->status));
	return KIT_GOOD(k);
}

/* The queue is moved back to RTS while its flush errors are still being written. */
static void sqe_busy(struct kit *k)
{
	static const struct link_opts opts = {.sq_depth = LONG + 3, .cq_depth = 2 * LONG};
	struct ibv_wc wc;

	if (!kit_link(k, API_POST, &opts))
		return;
	for (unsigned int turn = 0; turn < 8 && KIT_GOOD(k); turn++) {
		bool done = false;

		if (!post_around(k, &wc))
			return;
		for (unsigned int i = 0; i < LONG + 3; i++)
			if ((i && !kit_wait(k, k->l, k->l->cq, &wc)) || !is_as_posted(k, &wc, i, &done))
				return;
		kit_expect_state(k, k->l->qp, IBV_QPS_RTS);
	}
}

SCENARIO(sqe_busy) = {
	{"sqe-back-busy", SUITE("state"), QPS("UC"), POSTS("SEND 64+"),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/qp_state"), ERRATA("SQ-ERROR-STATE FLUSH-ORDER"),
	 STATUS("LOC_PROT_ERR"), NARROW,
	 SAYS("back in RTS the queue stays there, though flush errors of what failed in front were "
	      "still being written")},
	{},
};

/*
 * RESET drops what was posted: outstanding requests have no completion, are not executed in the next life of the
 * QP, and leave no trace in its counters, which have other values then.
 */
static void reborn(struct kit *k)
{
	static const struct ibv_qp_attr patient = {
		.min_rnr_timer = 14, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7};
	static const struct link_opts opts = {.attr = &patient};
	static struct plan old[CELL_MAX_WR], plans[CELL_MAX_WR];
	struct link *l = k->l;
	int ret;

	if (!kit_link(k, API_POST, &opts))
		return;
	for (int turn = 0; turn < 3 && KIT_GOOD(k); turn++) {
		/* no receive: nothing behind the first message completes */
		if (!plan_only(k, old) || !post_some(k, old, 0, k->cell->num_wr))
			return;
		if (turn)
			let_pass(k);
		if (!KIT_GOOD(k) || !move_to(k, l->qp, IBV_QPS_RESET, "RESET") ||
		    !move_to(k, l->peer, IBV_QPS_RESET, "RESET"))
			return;
		kit_expect_none(k, l, l->cq);
		l->next_use = l->next_post; /* the receives of the old life are gone */
		ret = link_connect(l, &k->res->log);
		KIT_CHECK(k, !ret, "%s failed with %s", l->step, errno_name(ret));
		if (!kit_plan(k, plans) || !post_some(k, plans, 0, k->cell->num_wr))
			return;
		carried_out(k, plans, 0, k->cell->num_wr);
		if (turn == 1)
			kit_alive(k, l);
		if (!KIT_GOOD(k) || !move_to(k, l->qp, IBV_QPS_RESET, "RESET") ||
		    !move_to(k, l->peer, IBV_QPS_RESET, "RESET"))
			return;
		l->next_use = l->next_post;
		ret = link_connect(l, &k->res->log);
		KIT_CHECK(k, !ret, "%s failed with %s", l->step, errno_name(ret));
		arena_reset(&l->local);
		arena_reset(&l->target);
	}
}

SCENARIO(reborn) = {
	{"reborn", SUITE("state"), QPS("RC"),
	 POSTS("SEND 1500+, RDMA_WRITE 2500+, RDMA_READ 2500+, SEND_WITH_IMM 33+, RDMA_WRITE_WITH_IMM "
	       "1+, SEND 0+"),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/qp_state"), ERRATA("QP-RECYCLE"),
	 SAYS("nothing that was outstanding at RESET is completed or executed; the next life's "
	      "requests are")},
	{},
};
