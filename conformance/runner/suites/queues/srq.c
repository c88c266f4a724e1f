/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared receive queues: limit, size, several QPs, and the last WQE of one of them. */
#include <errno.h>
#include <string.h>

#include "link/link_modify.h"
#include "suites/kit.h"

#define SHARERS 4

/* Sends the first request of the cell `times` times; each must complete on both sides. */
static void send_times(struct kit *k, struct link *l, unsigned int times)
{
	static struct plan plan;

	for (unsigned int i = 0; i < times && KIT_GOOD(k); i++) {
		struct expect requester = {0}, responder = {0};
		struct posted posted;
		int ret = plan_wr(&plan, l, &k->cell->wr[0], 0, k->r->seed);

		KIT_CHECK(k, !ret, "buffers of the case: %s", errno_name(ret));
		posted = post_list(l, &plan, 1, &k->res->log);
		KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
		plan_execute(&plan, l, &requester, &responder);
		collect(l, &requester, &responder, k->res);
	}
}

/* Whether a limit event is queued; other events are caused by the connection and are discarded. */
static bool limit_event(struct kit *k)
{
	struct ibv_context *ctx = k->r->dut.responder.ctx;
	struct ibv_async_event event;

	while (kit_next_async(ctx, 0, &event))
		if (event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED)
			return true;
	return false;
}

static bool set_up(struct kit *k)
{
	int ret;

	kit_drain_async(k->r->dut.responder.ctx);
	if (!kit_link(k, API_SRQ, NULL))
		return false;
	if (!kit_holds(k, !limit_event(k)))
		KIT_FAULT(k, "a limit event of an SRQ for which no limit was set");
	ret = link_fill_recv(k->l);
	if (ret)
		KIT_FAULT(k, "posting receives failed with %s", errno_name(ret));
	return KIT_GOOD(k);
}

static int modify(struct kit *k, uint32_t limit)
{
	struct ibv_srq_attr attr = {.srq_limit = limit};

	log_call(&k->res->log, "ibv_modify_srq(srq, &(struct ibv_srq_attr){.srq_limit = %u}, IBV_SRQ_LIMIT)",
		 limit);
	return ibv_modify_srq(k->l->srq, &attr, IBV_SRQ_LIMIT);
}

/* Eight receives and a limit of five: the fourth message causes one event. */
static void srq_limit(struct kit *k)
{
	struct ibv_srq_attr attr;
	int ret;

	if (!set_up(k))
		return;
	ret = modify(k, LINK_RECV_SLOTS - 3);
	KIT_CHECK(k, !ret, "setting the limit failed with %s", errno_name(ret));
	ret = ibv_query_srq(k->l->srq, &attr);
	KIT_CHECK(k, !ret && attr.srq_limit == LINK_RECV_SLOTS - 3, "ibv_query_srq says a limit of %u",
		  attr.srq_limit);
	send_times(k, k->l, 3);
	KIT_CHECK(k, !KIT_GOOD(k) || !limit_event(k),
		  "the limit event came with as many receives left as the limit");
	send_times(k, k->l, 1);
	if (!KIT_GOOD(k) ||
	    !kit_expect_async(k, k->r->dut.responder.ctx, IBV_EVENT_SRQ_LIMIT_REACHED, k->l->srq))
		return;
	send_times(k, k->l, 2);
	KIT_CHECK(k, !KIT_GOOD(k) || !limit_event(k), "a second limit event came for one arming");
}

SCENARIO(srq_limit) = {
	{"limit", SUITE("srq"), QPS("RC"), POSTS("SEND 600"), CLAUSE("ibv_modify_srq/NOTES/limit"),
	 NEEDS("srq"), SAYS("one limit event when fewer receives than the limit are left, not before")},
	{"limit", QPS("UD"), ARGS({"most", 1000})},
	{},
};

/* A limit above the size is refused and changes nothing. */
static void srq_limit_refused(struct kit *k)
{
	struct ibv_srq_attr before, after;
	int ret;

	if (!set_up(k))
		return;
	ret = ibv_query_srq(k->l->srq, &before);
	KIT_CHECK(k, !ret, "ibv_query_srq failed with %s", errno_name(ret));
	ret = modify(k, before.max_wr + 1);
	KIT_CHECK(k, ret, "a limit of one more than the queue holds was taken");
	k->res->err = ret;
	ret = ibv_query_srq(k->l->srq, &after);
	KIT_CHECK(k, !ret && before.max_wr == after.max_wr && before.srq_limit == after.srq_limit,
		  "the refused call has changed max_wr or srq_limit");
	send_times(k, k->l, 2);
}

SCENARIO(srq_limit_refused) = {
	{"limit-refused", SUITE("srq"), QPS("RC"), POSTS("SEND 600"),
	 CLAUSE("ibv_modify_srq/NOTES/none-modified"), NEEDS("srq"),
	 SAYS("a limit above the size is refused, nothing has changed, the queue works")},
	{"limit-refused", QPS("UD"), ARGS({"most", 1000})},
	{},
};

static void srq_resize(struct kit *k)
{
	struct ibv_srq_attr attr, now;
	int ret;

	if (!set_up(k))
		return;
	if (!(k->r->dut.responder.attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE)) {
		seen(k->res, "the device cannot resize SRQs; ");
		return;
	}
	ret = ibv_query_srq(k->l->srq, &attr);
	KIT_CHECK(k, !ret, "ibv_query_srq failed with %s", errno_name(ret));
	attr.max_wr *= 2;
	attr.max_sge = UINT32_MAX; /* irrelevant for ibv_modify_srq(), says its page */
	log_call(&k->res->log,
		 "ibv_modify_srq(srq, &(struct ibv_srq_attr){.max_wr = %u, .max_sge = %u}, IBV_SRQ_MAX_WR)",
		 attr.max_wr, attr.max_sge);
	ret = ibv_modify_srq(k->l->srq, &attr, IBV_SRQ_MAX_WR);
	KIT_CHECK(k, !ret, "the resize failed with %s", errno_name(ret));
	ret = ibv_query_srq(k->l->srq, &now);
	KIT_CHECK(k, !ret && now.max_wr >= attr.max_wr, "max_wr is %u after a resize to %u", now.max_wr,
		  attr.max_wr);
	send_times(k, k->l, LINK_RECV_SLOTS); /* the receives posted before are still queued */
	if (KIT_GOOD(k))
		kit_alive(k, k->l);
	ret = link_fill_recv(k->l);
	KIT_CHECK(k, !ret, "posting receives failed with %s", errno_name(ret));
	attr.max_wr = LINK_RECV_SLOTS;
	attr.max_sge = 0;
	ret = ibv_modify_srq(k->l->srq, &attr, IBV_SRQ_MAX_WR);
	KIT_CHECK(k, !ret, "a resize to the %u receives that are posted failed with %s", attr.max_wr,
		  errno_name(ret));
	attr.max_wr = LINK_RECV_SLOTS / 2;
	attr.max_sge = UINT32_MAX;
	ret = ibv_modify_srq(k->l->srq, &attr, IBV_SRQ_MAX_WR);
	KIT_CHECK(k, ret, "a resize to %u was taken with %d receives posted", attr.max_wr, LINK_RECV_SLOTS);
	send_times(k, k->l, LINK_RECV_SLOTS);
}

SCENARIO(srq_resize) = {
	{"resize", SUITE("srq"), QPS("RC"), POSTS("SEND 600"),
	 CLAUSE("ibv_modify_srq/DESCRIPTION/IBV_SRQ_MAX_WR"), NEEDS("srq"),
	 SAYS("what was posted is still there, the new size holds, one that is just enough is taken, "
	      "one below is refused")},
	{"resize", QPS("UD"), ARGS({"most", 1000})},
	{},
};

/* Four QPs in turn: receives are consumed in the order of posting, whichever QP the message is for. */
static void srq_shared(struct kit *k)
{
	static struct link others[SHARERS];
	struct link_opts opts = {0};

	memset(others, 0, sizeof(others));
	if (!set_up(k))
		return;
	opts.srq = k->l->srq;
	for (unsigned int i = 0; i < SHARERS && KIT_GOOD(k); i++)
		kit_link_second(k, &others[i], API_SRQ, &opts);
	for (unsigned int turn = 0; turn < LINK_RECV_SLOTS && KIT_GOOD(k); turn++) {
		struct link *l = &others[turn % SHARERS];
		struct arena own = l->recv;

		/* the buffers, and the order in which they were posted, are those of the first link */
		memcpy(l->slot, k->l->slot, sizeof(l->slot));
		l->recv = k->l->recv;
		l->next_post = k->l->next_post;
		l->next_use = k->l->next_use;
		send_times(k, l, 1);
		k->l->next_use = l->next_use;
		k->l->loose[turn] = l->loose[turn];
		l->recv = own;
	}
	if (KIT_GOOD(k))
		collect_memory(k->l, 0, k->res);
}

SCENARIO(srq_shared) = {
	{"shared", SUITE("srq"), QPS("RC"), POSTS("SEND 600"), CLAUSE("ibv_post_srq_recv/DESCRIPTION"),
	 ERRATA("COMPLETION-ORDER"), NEEDS("srq"), SAYS("messages of four QPs take the receives in order")},
	{"shared", QPS("UD"), ARGS({"most", 1000})},
	{},
};

/* No QP has said so far that it takes no more receives. */
static bool none_reached(struct kit *k, const char *when)
{
	struct ibv_async_event event;

	while (kit_next_async(k->r->dut.responder.ctx, 0, &event))
		if (event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED)
			KIT_FAULT(k, "IBV_EVENT_QP_LAST_WQE_REACHED came %s", when);
	return KIT_GOOD(k);
}

/* A request that is posted on the QP in ERR is flushed, and causes no second event. */
static bool reached_once(struct kit *k, struct link *leaver)
{
	struct ibv_send_wr wr = kit_wr(0xf1a5, IBV_WR_SEND, NULL), *bad;
	int ret;

	log_call(&k->res->log, "/* a SEND without data is posted on it */");
	ret = ibv_post_send(leaver->peer, &wr, &bad);
	if (ret)
		KIT_FAULT(k, "posting on a QP in ERR was refused with %s", errno_name(ret));
	else if (kit_expect(k, leaver, leaver->peer_cq, leaver->peer, 0xf1a5, IBV_WC_WR_FLUSH_ERR))
		kit_expect_state(k, leaver->peer, IBV_QPS_ERR);
	return KIT_GOOD(k) && none_reached(k, "a second time");
}

/* It says that it takes no more receives, once, and has taken none. */
static bool last_reached(struct kit *k, struct link *leaver)
{
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	int ret;

	if (!none_reached(k, "for a QP that was not in ERR"))
		return false;
	log_call(&k->res->log, "ibv_modify_qp(other, &(struct ibv_qp_attr){.qp_state = IBV_QPS_ERR}, "
			       "IBV_QP_STATE) /* another QP of the SRQ */");
	ret = ibv_modify_qp(leaver->peer, &err, IBV_QP_STATE);
	if (ret)
		KIT_FAULT(k, "ibv_modify_qp to ERR failed with %s", errno_name(ret));
	else if (kit_expect_async(k, k->r->dut.responder.ctx, IBV_EVENT_QP_LAST_WQE_REACHED, leaver->peer))
		kit_expect_none(k, leaver, leaver->peer_cq);
	return KIT_GOOD(k);
}

/* A QP with receives of its own completes them; the event is for QPs of an SRQ. */
static void own_receives(struct kit *k)
{
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_recv_wr wr = {.wr_id = 0x0e}, *bad;
	const struct link_opts opts = {.windows = true};
	struct link own = {0};

	if (kit_link_second(k, &own, API_POST, &opts)) {
		if (ibv_post_recv(own.peer, &wr, &bad) || ibv_modify_qp(own.peer, &err, IBV_QP_STATE))
			KIT_FAULT(k, "a receive, or ibv_modify_qp to ERR: %s", errno_name(errno));
		else if (kit_expect(k, &own, own.peer_cq, own.peer, wr.wr_id, IBV_WC_WR_FLUSH_ERR) &&
			 reached_once(k, &own))
			kit_expect_none(k, &own, own.peer_cq);
	}
}

/* A QP moved to the error state reports LAST_WQE_REACHED, once each time; the other QPs still work, and do not. */
static void srq_drain(struct kit *k)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct link_opts opts = {0};
	struct link leaver = {0};
	int ret;

	if (!set_up(k))
		return;
	opts.srq = k->l->srq;
	opts.windows = true; /* the peer can send */
	send_times(k, k->l, 2);
	ret = link_fill_recv(k->l);
	KIT_CHECK(k, !ret, "posting receives failed with %s", errno_name(ret));
	if (kit_link_second(k, &leaver, API_SRQ, &opts) && last_reached(k, &leaver) &&
	    reached_once(k, &leaver)) {
		ret = ibv_modify_qp(leaver.peer, &reset, IBV_QP_STATE);
		ret = ret ? ret : link_peer_steps(&leaver, 0, 2);
		if (ret)
			KIT_FAULT(k, "the QP cannot be brought up again: %s", errno_name(ret));
		else
			last_reached(k, &leaver);
	}
	if (KIT_GOOD(k))
		send_times(k, k->l, LINK_RECV_SLOTS);
	if (none_reached(k, "for a QP that was not in ERR"))
		own_receives(k);
}

SCENARIO(srq_drain) = {
	{"drain", SUITE("srq"), QPS("RC"), POSTS("SEND 600"),
	 CLAUSE("ibv_get_async_event/DESCRIPTION/IBV_EVENT_QP_LAST_WQE_REACHED"), ERRATA("SRQ-DRAIN"),
	 NEEDS("srq"),
	 SAYS("IBV_EVENT_QP_LAST_WQE_REACHED for the QP that goes to ERR, also the second time; the "
	      "receives stay for the other QP")},
	{},
};
