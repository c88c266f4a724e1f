/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Polling, completion events, and the completion fields of a datagram. */
#include <errno.h>
#include <string.h>

#include "hcasim_wire.h"
#include "judge/watchdog.h"
#include "suites/kit.h"

#define MODERATED 3

/* Posts one SEND to the peer and polls both completions. */
static void send_one(struct kit *k, unsigned int flags)
{
	struct link *l = k->l;
	struct cell_wr send = k->cell->wr[0];
	struct expect requester = {0}, responder = {0};
	static struct plan plan;
	struct posted posted;
	int ret;

	send.flags |= flags;
	ret = plan_wr(&plan, l, &send, 0, k->r->seed);
	if (!ret)
		ret = link_fill_recv(l);
	KIT_CHECK(k, !ret, "buffers of the case: %s", errno_name(ret));
	posted = post_list(l, &plan, 1, &k->res->log);
	KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
	plan_execute(&plan, l, &requester, &responder);
	collect(l, &requester, &responder, k->res);
}

static bool arm(struct kit *k, int solicited_only)
{
	int ret;

	log_call(&k->res->log, "ibv_req_notify_cq(peer_cq, %d)", solicited_only);
	ret = ibv_req_notify_cq(k->l->peer_cq, solicited_only);
	return KIT_MUST(k, !ret, "ibv_req_notify_cq failed with %s", errno_name(ret));
}

static void event_any(struct kit *k)
{
	if (!kit_link(k, API_POST, NULL) || !arm(k, 0))
		return;
	send_one(k, 0);
	if (KIT_GOOD(k) && !collect_event(k->l, true))
		KIT_FAULT(k, "no completion event came for a new CQE");
	if (KIT_GOOD(k))
		send_one(k, IBV_SEND_SOLICITED);
	if (KIT_GOOD(k) && collect_event(k->l, false))
		KIT_FAULT(k, "a second completion event came for one request of notification");
}

SCENARIO(event_any) = {
	{"any", SUITE("notify"), QPS("RC UC UD"), POSTS("SEND 600"),
	 CLAUSE("ibv_req_notify_cq/NOTES/one-shot"), ALSO("ibv_req_notify_cq/DESCRIPTION/any"),
	 SAYS("one event for a new CQE, and no second without a new request")},
	{},
};

static void event_solicited(struct kit *k)
{
	if (!kit_link(k, API_POST, NULL) || !arm(k, 1))
		return;
	send_one(k, 0);
	if (KIT_GOOD(k) && collect_event(k->l, false))
		KIT_FAULT(k, "a completion event came for an unsolicited message");
	if (KIT_GOOD(k))
		send_one(k, IBV_SEND_SOLICITED);
	if (KIT_GOOD(k) && !collect_event(k->l, true))
		KIT_FAULT(k, "no completion event came for a solicited message");
}

SCENARIO(event_solicited) = {
	{"solicited-only", SUITE("notify"), QPS("RC UC UD"), POSTS("SEND 600"),
	 CLAUSE("ibv_req_notify_cq/DESCRIPTION/solicited"), ALSO("ibv_req_notify_cq/DESCRIPTION/unsolicited"),
	 SAYS("an event for a solicited message, none for another")},
	{"solicited-write", QPS("RC UC"), POSTS("RDMA_WRITE_WITH_IMM 600"),
	 SAYS("an event for a solicited message, none for another, of RDMA WRITE with immediate data")},
	{},
};

/* With moderation an event comes at MODERATED completions and not before, if the device supports it. */
static void event_moderated(struct kit *k)
{
	struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE,
					  .moderate = {.cq_count = MODERATED}};
	int ret;

	if (!kit_link(k, API_POST, NULL))
		return;
	log_call(&k->res->log,
		 "ibv_modify_cq(peer_cq, &(struct ibv_modify_cq_attr){.moderate = {.cq_count = %d}})",
		 MODERATED);
	ret = ibv_modify_cq(k->l->peer_cq, &attr);
	if (ret == EOPNOTSUPP || ret == ENOSYS) {
		seen(k->res, "the device has no moderation; ");
		return;
	}
	KIT_CHECK(k, !ret, "ibv_modify_cq failed with %s", errno_name(ret));
	if (!arm(k, 0))
		return;
	for (unsigned int i = 1; i <= MODERATED && KIT_GOOD(k); i++) {
		send_one(k, 0);
		if (KIT_GOOD(k) && collect_event(k->l, i == MODERATED) != (i == MODERATED))
			KIT_FAULT(k,
				  i == MODERATED ? "no completion event came for %u completions"
						 : "a completion event came for %u completions",
				  i);
	}
}

SCENARIO(event_moderated) = {
	{"moderated", SUITE("notify"), QPS("RC UC UD"), POSTS("SEND 600"),
	 CLAUSE("ibv_modify_cq/DESCRIPTION/cq_count"), LEVEL("SHOULD"),
	 SAYS("no event before as many completions have come as cq_count says, and one then")},
	{},
};

/* Waits for the next completion of the peer and reads its timestamp. */
static bool time_of_next(struct kit *k, uint64_t *ts)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)k->l->peer_cq; /* begins with a struct ibv_cq */
	struct ibv_poll_cq_attr attr = {};
	struct watchdog p = watchdog(k->r->dut.timeout_ms);
	int ret;

	do
		ret = ibv_start_poll(cq, &attr);
	while (ret == ENOENT && !watchdog_expired(&p));
	if (!KIT_MUST(k, !ret, "a CQE of the responder did not come"))
		return false;
	*ts = ibv_wc_read_completion_ts(cq);
	if (cq->status)
		KIT_FAULT(k, "a receive ended with %s", value_name(status_names, cq->status));
	ibv_end_poll(cq);
	return KIT_GOOD(k);
}

static void timestamps(struct kit *k)
{
	static struct plan plan;
	const struct link_opts opts = {.cq_ex = true, .timestamps = true};
	const struct end *end = &k->r->dut.responder;
	uint64_t before, ts, after;
	struct posted posted;

	/* the CQs of both ends are asked for timestamps */
	if (!dut_ticks(&k->r->dut.requester, &before) || !dut_ticks(end, &before)) {
		seen(k->res, "the device has no clock; ");
		return;
	}
	if (!kit_link(k, API_POST, &opts))
		return;
	for (int i = 0; i < 3; i++) {
		if (!kit_plan(k, &plan))
			return;
		posted = post_list(k->l, &plan, 1, &k->res->log);
		KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
		if (!kit_expect(k, k->l, k->l->cq, k->l->qp, plan.wr_id, IBV_WC_SUCCESS) ||
		    !time_of_next(k, &ts))
			return;
		k->l->next_use++;
		KIT_CHECK(k, dut_ticks(end, &after), "ibv_query_rt_values_ex failed");
		KIT_CHECK(k, ts > before && ts <= after,
			  "the time of completion %d is %llu, not between %llu and %llu", i,
			  (unsigned long long)ts, (unsigned long long)before, (unsigned long long)after);
		before = ts;
	}
}

SCENARIO(timestamps) = {
	{"timestamps", SUITE("notify"), QPS("RC UC UD"), POSTS("SEND 600"),
	 CLAUSE("ibv_create_cq_ex/DESCRIPTION/ibv_wc_read_completion_ts"), ERRATA("TIMESTAMP"),
	 SAYS("each completion has a time later than that of the one before, between those of the clock")},
	{},
};

/* A completion in error counts as solicited. */
static void event_error(struct kit *k)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	int ret;

	if (!kit_link(k, API_POST, NULL) || !arm(k, 1))
		return;
	ret = link_fill_recv(k->l);
	KIT_CHECK(k, !ret, "posting receives failed with %s", errno_name(ret));
	log_call(&k->res->log,
		 "ibv_modify_qp(peer, &(struct ibv_qp_attr){.qp_state = IBV_QPS_ERR}, IBV_QP_STATE)");
	ret = ibv_modify_qp(k->l->peer, &attr, IBV_QP_STATE);
	KIT_CHECK(k, !ret, "ibv_modify_qp failed with %s", errno_name(ret));
	KIT_CHECK(k, collect_event(k->l, true), "no completion event came for a CQE in error");
	for (unsigned int i = 0; i < LINK_RECV_SLOTS; i++)
		if (!kit_expect(k, k->l, k->l->peer_cq, k->l->peer, link_recv_wr_id(i), IBV_WC_WR_FLUSH_ERR))
			return;
	kit_expect_none(k, k->l, k->l->peer_cq);
}

SCENARIO(event_error) = {
	{"error", SUITE("notify"), QPS("RC UC UD"), POSTS("SEND 600"),
	 CLAUSE("ibv_req_notify_cq/DESCRIPTION/solicited"),
	 SAYS("an event for a CQE in error, although only solicited ones were asked for")},
	{},
};

/* ibv_poll_cq() returns several at a time, never more than requested, each once. */
static void poll_many(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	unsigned int num = k->cell->num_wr, got = 0;
	struct posted posted;
	struct ibv_wc wc[4];

	if (!kit_link(k, API_POST, NULL) || !kit_plan(k, plans) || !arm(k, 1))
		return;
	posted = post_list(k->l, plans, num, &k->res->log);
	KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
	for (unsigned int i = 0; i < num; i++)
		if (!kit_expect(k, k->l, k->l->cq, k->l->qp, plans[i].wr_id, IBV_WC_SUCCESS))
			return;
	/* only the last message is solicited: when its event has come, all of them are in the CQ */
	KIT_CHECK(k, collect_event(k->l, true), "no completion event came for the last message");
	log_call(&k->res->log, "ibv_poll_cq(peer_cq, 3, wc) /* until %u are there */", num);
	while (got < num) {
		memset(wc, 0xee, sizeof(wc));
		int ret = ibv_poll_cq(k->l->peer_cq, 3, wc);

		KIT_CHECK(k, ret == (num - got < 3 ? (int)(num - got) : 3),
			  "ibv_poll_cq of 3 entries returned %d, and the CQ has %u", ret, num - got);
		KIT_CHECK(k, ((uint8_t *)wc)[ret * sizeof(wc[0])] == 0xee,
			  "an entry beyond the %d returned was written", ret);
		for (int i = 0; i < ret; i++, got++)
			KIT_CHECK(k, wc[i].wr_id == link_recv_wr_id(got), "wr_id 0x%llx, expected 0x%llx",
				  (unsigned long long)wc[i].wr_id, (unsigned long long)link_recv_wr_id(got));
	}
	kit_expect_none(k, k->l, k->l->peer_cq);
}

SCENARIO(poll_many) = {
	{"several", SUITE("poll"), QPS("RC UC UD"), POSTS("6 x SEND 600, SEND 600 solicited"),
	 CLAUSE("ibv_poll_cq/NOTES/removed"), ALSO("ibv_poll_cq/DESCRIPTION/fewer ibv_poll_cq/RETURN-VALUE"),
	 SAYS("never more entries than asked for, in order, each once, nothing written beyond them")},
	{},
};

/* More completions than the CQ holds, without polling. */
static void cq_overrun(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	const struct link_opts opts = {.cq_depth = 16, .sq_depth = 64};
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct link *l = k->l;
	struct ibv_send_wr wr, *bad;
	int ret = 0, posted = 0;

	if (!kit_link(k, API_POST, &opts) || !kit_plan(k, plans))
		return;
	kit_drain_async(ctx);
	kit_list(k, plans, 1, &wr);
	for (; !ret && posted <= l->cq->cqe && posted < (int)l->cap.max_send_wr; posted++)
		ret = ibv_post_send(l->qp, &wr, &bad);
	log_call(&k->res->log,
		 "ibv_post_send(qp, wr, &bad_wr) /* a signalled IBV_WR_RDMA_WRITE, %d times; the CQ holds %d "
		 "*/",
		 posted, l->cq->cqe);
	KIT_CHECK(k, !ret, "request %d was refused with %s", posted, errno_name(ret));
	if (posted <= l->cq->cqe)
		seen(k->res, "the CQ has more entries than the queue has requests; ");
	else
		kit_expect_async(k, ctx, IBV_EVENT_CQ_ERR, l->cq);
	kit_drain_async(ctx);
}

SCENARIO(cq_overrun) = {
	{"event", SUITE("overrun"), QPS("RC UC"), POSTS("RDMA_WRITE 600"),
	 CLAUSE("ibv_poll_cq/NOTES/overrun"),
	 SAYS("IBV_EVENT_CQ_ERR for the CQ into which more completions come than it holds")},
	{},
};

static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

/* The first 40 bytes: a GRH or IPv6 header, or an IPv4 header in the last 20 of them. */
static void judge_grh(struct kit *k, const uint8_t *grh)
{
	const struct end *sender = &k->r->dut.requester;
	const union ibv_gid *from = &sender->gid, *to = &k->r->dut.responder.gid;

	if (is_ipv4(from) && !sender->roce_v1) {
		KIT_CHECK(k, grh[20] == 0x45 && grh[29] == 17,
			  "the IPv4 header begins with 0x%02x, protocol %u", grh[20], grh[29]);
		KIT_CHECK(k, !memcmp(grh + 32, from->raw + 12, 4),
			  "the source address is not that of the sender");
		KIT_CHECK(k, !memcmp(grh + 36, to->raw + 12, 4),
			  "the destination is not the receiver's address");
		return;
	}
	KIT_CHECK(k, grh[0] >> 4 == 6, "the GRH begins with 0x%02x", grh[0]);
	KIT_CHECK(k, !sender->roce_v1 || grh[6] == HCASIM_GRH_NEXT_HEADER,
		  "the next header of the GRH is 0x%02x, expected 0x%02x", grh[6], HCASIM_GRH_NEXT_HEADER);
	KIT_CHECK(k, !memcmp(grh + 8, from, 16), "the source GID is not that of the sender");
	KIT_CHECK(k, !memcmp(grh + 24, to, 16), "the destination GID is not the receiver's");
}

/* A reply to the address in the completion and its GRH must reach the sender. */
static void answer(struct kit *k, struct ibv_wc *wc, uint8_t *buf)
{
	struct link *l = k->l;
	struct ibv_sge to = {(uintptr_t)arena_take(&l->local, LINK_GRH_LEN + 64), LINK_GRH_LEN + 64,
			     l->local.mr->lkey};
	struct ibv_sge from = {(uintptr_t)buf, 16, l->recv.mr->lkey};
	struct ibv_recv_wr recv = {.wr_id = 0xa5e1, .sg_list = &to, .num_sge = 1}, *bad;
	struct ibv_send_wr wr = kit_wr(0xa5e0, IBV_WR_SEND, &from);
	int ret = ibv_post_recv(l->qp, &recv, &bad);

	KIT_CHECK(k, !ret, "posting a receive failed with %s", errno_name(ret));
	log_call(&k->res->log, "ah = ibv_create_ah_from_wc(pd, wc, grh, port) /* an answer to wc->src_qp */");
	wr.wr.ud.ah = ibv_create_ah_from_wc(l->dut->responder.pd, wc, (struct ibv_grh *)buf,
					    l->dut->responder.port);
	KIT_CHECK(k, wr.wr.ud.ah, "ibv_create_ah_from_wc failed");
	wr.wr.ud.remote_qpn = wc->src_qp;
	wr.wr.ud.remote_qkey = LINK_QKEY;
	ret = kit_post(k, l->peer, l->qp, &wr, NULL);
	if (ret)
		KIT_FAULT(k, "posting the answer was refused with %s", errno_name(ret));
	else if (kit_expect(k, l, l->peer_cq, l->peer, 0xa5e0, IBV_WC_SUCCESS))
		kit_expect(k, l, l->cq, l->qp, 0xa5e1, IBV_WC_SUCCESS);
	ibv_destroy_ah(wr.wr.ud.ah);
}

static void datagram(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	struct link *l = k->l;
	const struct link_opts opts = {.cq_ex = kit_arg(k, "ex", 0)};
	struct posted posted;
	struct ibv_wc wc;

	if (!kit_link(k, kit_arg(k, "srq", 0) ? API_SRQ : API_POST, &opts) || !kit_plan(k, plans))
		return;
	posted = post_list(l, plans, 1, &k->res->log);
	KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
	if (!kit_expect(k, l, l->cq, l->qp, plans[0].wr_id, IBV_WC_SUCCESS) ||
	    !kit_wait(k, l, l->peer_cq, &wc))
		return;
	KIT_CHECK(k, wc.status == IBV_WC_SUCCESS, "the receive ended with %s",
		  value_name(status_names, wc.status));
	KIT_CHECK(k, wc.wc_flags & IBV_WC_GRH, "IBV_WC_GRH is not set");
	KIT_CHECK(k, wc.src_qp == l->qp->qp_num, "src_qp 0x%x, expected 0x%x", wc.src_qp, l->qp->qp_num);
	/* RoCE has no service level, and adapters use the field for different purposes */
	KIT_CHECK(k, wc.sl == 0 || l->dut->responder.port_attr.link_layer == IBV_LINK_LAYER_ETHERNET,
		  "sl %u, the address handle has 0", wc.sl);
	KIT_CHECK(k, wc.dlid_path_bits == 0, "dlid_path_bits %u, there are no LIDs here", wc.dlid_path_bits);
	end_sync();
	judge_grh(k, l->slot[0]);
	if (KIT_GOOD(k))
		answer(k, &wc, l->slot[0]);
}

SCENARIO(datagram) = {
	{"fields", SUITE("datagram"), QPS("UD"), POSTS("SEND 600"), FORMS({""}, {"-ex", {{"ex", 1}}}),
	 CLAUSE("ibv_poll_cq/DESCRIPTION/IBV_WC_GRH"), ALSO("ibv_post_recv/NOTES/grh"), ERRATA("GRH-ROCE"),
	 SAYS("IBV_WC_GRH, src_qp, sl and path bits are right, the first 40 bytes hold sender and "
	      "receiver, and an address handle made of them reaches the sender")},
	{"fields-srq", ARGS({"srq", 1}), NEEDS("srq")},
	{},
};

/* A datagram with a Q_Key other than the receiver's is dropped and consumes no receive. */
static void wrong_qkey(struct kit *k)
{
	static struct plan plan;
	struct link *l = k->l;
	struct ibv_send_wr wr;
	int ret;

	if (!kit_link(k, API_POST, NULL) || !kit_plan(k, &plan))
		return;
	kit_list(k, &plan, 1, &wr);
	wr.wr.ud.remote_qkey = LINK_QKEY ^ 1;
	ret = kit_post(k, l->qp, l->peer, &wr, NULL);
	KIT_CHECK(k, !ret, "posting was refused with %s", errno_name(ret));
	if (!kit_expect(k, l, l->cq, l->qp, plan.wr_id, IBV_WC_SUCCESS))
		return;
	/* Datagrams between two QPs keep their order, so a fault of the first shows at the second. */
	kit_alive(k, l);
	collect_extra(l, k->res);
	if (KIT_GOOD(k))
		collect_memory(l, 0, k->res);
}

SCENARIO(wrong_qkey) = {
	{"wrong-qkey", SUITE("datagram"), QPS("UD"), POSTS("SEND 64"),
	 CLAUSE("ibv_modify_qp/DESCRIPTION/qkey"), ERRATA("QKEY"),
	 SAYS("the request completes, and nothing arrives; a datagram with the right Q_Key does")},
	{},
};

/* With the most significant bit of remote_qkey set the packet has the Q_Key of the sending QP; its other bits do not count. */
static void own_qkey(struct kit *k)
{
	static struct plan plan;
	struct link *l = k->l;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	int ret;

	if (!kit_link(k, API_POST, NULL) || !kit_plan(k, &plan))
		return;
	kit_list(k, &plan, 1, &wr);
	wr.wr.ud.remote_qkey = 1u << 31 | (LINK_QKEY ^ 0x10001);
	ret = kit_post(k, l->qp, l->peer, &wr, NULL);
	KIT_CHECK(k, !ret, "posting was refused with %s", errno_name(ret));
	if (!kit_expect(k, l, l->cq, l->qp, plan.wr_id, IBV_WC_SUCCESS) || !kit_wait(k, l, l->peer_cq, &wc))
		return;
	KIT_CHECK(k, wc.status == IBV_WC_SUCCESS && wc.byte_len == plan.total + LINK_GRH_LEN,
		  "the receive ended with %s and %u bytes", value_name(status_names, wc.status), wc.byte_len);
	end_sync();
	KIT_CHECK(k, !memcmp(l->slot[0] + LINK_GRH_LEN, plan.payload, plan.total), "other bytes arrived");
}

SCENARIO(own_qkey) = {
	{"own-qkey", SUITE("datagram"), QPS("UD"), POSTS("SEND 64"), CLAUSE("ibv_modify_qp/DESCRIPTION/qkey"),
	 LEVEL("SHOULD"), ERRATA("QKEY-OWN"),
	 SAYS("with the most significant bit of remote_qkey set the datagram has the Q_Key of the QP "
	      "that sends it, and arrives")},
	{},
};
