/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* XRC: a request names its SRQ, and with it a protection domain; the SRQ must be of the QP's XRC domain. */
#include <errno.h>
#include <string.h>

#include "link/link_xrc.h"
#include "link/link_modify.h"
#include "suites/kit.h"

#define LEN 200
#define MEM 32768 /* of a target: READ responses of many packets */

struct target {
	struct ibv_pd *pd;
	struct ibv_xrcd *own; /* NULL: the link's */
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	uint32_t srqn;
	struct ibv_mr *mr;
	uint8_t *buf;
};

static bool create_sized(struct kit *k, struct target *t, bool other_domain, int cqe)
{
	const struct end *end = &k->r->dut.responder;
	struct ibv_srq_attr attr = {.max_wr = 4, .max_sge = 1};
	struct ibv_xrcd *xrcd = other_domain ? link_xrcd(end->ctx) : k->l->xrcd;

	t->pd = ibv_alloc_pd(end->ctx);
	t->cq = ibv_create_cq(end->ctx, cqe, NULL, NULL, 0);
	t->buf = end_alloc(end->pd, MEM);
	if (t->pd && t->cq && xrcd && t->buf) {
		memset(t->buf, 0x77, MEM);
		t->srq = link_xrc_srq(t->pd, xrcd, t->cq, &attr);
		t->mr = ibv_reg_mr(t->pd, t->buf, MEM,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	}
	if (!t->srq || !t->mr || ibv_get_srq_num(t->srq, &t->srqn)) {
		KIT_FAULT(k, "the second SRQ: %s", errno_name(errno));
		return false;
	}
	return true;
}

static bool create(struct kit *k, struct target *t, bool other_domain)
{
	return create_sized(k, t, other_domain, 16);
}

static bool post_receive(struct kit *k, struct target *t, struct ibv_mr *mr)
{
	struct ibv_sge sge = {(uintptr_t)t->buf, LEN, mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 0x584c, .sg_list = &sge, .num_sge = 1}, *bad;
	int ret = ibv_post_srq_recv(t->srq, &wr, &bad);

	return KIT_MUST(k, !ret, "the receive was refused with %s", errno_name(ret));
}

static bool request(struct kit *k, enum ibv_wr_opcode op, uint32_t srqn, uint8_t *to, uint32_t rkey,
		    enum ibv_wc_status status)
{
	struct link *l = k->l;
	struct ibv_sge sge = {(uintptr_t)l->local.base, LEN, l->local.mr->lkey};
	struct ibv_send_wr wr = kit_wr(0x584c0, op, &sge);
	int ret;

	wr.qp_type.xrc.remote_srqn = srqn;
	if (op == IBV_WR_RDMA_WRITE) {
		wr.wr.rdma.remote_addr = (uintptr_t)to;
		wr.wr.rdma.rkey = rkey;
	}
	memset(l->local.base, 0x31 + op, LEN);
	end_push();
	ret = kit_post(k, l->qp, l->peer, &wr, NULL);
	if (ret)
		KIT_FAULT(k, "posting was refused with %s", errno_name(ret));
	return !ret && kit_expect(k, l, l->cq, l->qp, 0x584c0, status);
}

static bool holds(struct kit *k, struct target *t, uint8_t value)
{
	static uint8_t want[LEN];

	end_sync();
	memset(want, value, LEN);
	judge_bytes(&k->res->verdict, "memory of the second SRQ's protection domain", want, t->buf, LEN);
	return KIT_GOOD(k);
}

static struct ibv_send_wr access_to(int i, enum ibv_wr_opcode op, uint32_t srqn, struct ibv_sge *sge,
				    const void *remote, uint32_t rkey)
{
	struct ibv_send_wr wr = kit_wr(i, op, sge);

	wr.qp_type.xrc.remote_srqn = srqn;
	wr.wr.rdma.remote_addr = (uintptr_t)remote;
	wr.wr.rdma.rkey = rkey;
	return wr;
}

/* READs of the second SRQ's memory are still answered when a WRITE for the first comes: each is checked in its own domain. */
static bool in_flight(struct kit *k, struct target *t)
{
	struct link *l = k->l;
	const uint32_t lkey = l->local.mr->lkey;
	uint8_t *to = l->local.base + LEN;
	struct ibv_sge sge[] = {{(uintptr_t)to, MEM, lkey},
				{(uintptr_t)to + MEM, MEM, lkey},
				{(uintptr_t)l->local.base, LEN, lkey}};
	struct ibv_send_wr wr[] = {
		access_to(0, IBV_WR_RDMA_READ, t->srqn, &sge[0], t->buf, t->mr->rkey),
		access_to(1, IBV_WR_RDMA_READ, t->srqn, &sge[1], t->buf, t->mr->rkey),
		access_to(2, IBV_WR_RDMA_WRITE, l->srqn, &sge[2], l->target.base, l->target.mr->rkey),
	};
	unsigned int at = 0;
	int ret;

	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	ret = kit_post(k, l->qp, l->peer, wr, NULL);
	if (ret)
		KIT_FAULT(k, "posting was refused with %s", errno_name(ret));
	for (unsigned int i = 0; i < 3 && KIT_GOOD(k); i++)
		kit_expect(k, l, l->cq, l->qp, i, IBV_WC_SUCCESS);
	while (at < 2 * MEM && to[at] == (at % MEM < LEN ? 0x31 + IBV_WR_RDMA_WRITE : 0x77))
		at++;
	if (KIT_GOOD(k) && !kit_holds(k, at == 2 * MEM))
		KIT_FAULT(k, "byte %u of the READs is wrong", at);
	return KIT_GOOD(k);
}

/* Two SRQs of one domain, each with its own protection domain, CQ and memory. */
static void xrc_second_srq(struct kit *k)
{
	struct target t = {};
	struct ibv_wc wc;

	if (kit_link(k, API_POST, NULL) && create(k, &t, false) && post_receive(k, &t, t.mr)) {
		kit_alive(k, k->l);
		if (KIT_GOOD(k) && request(k, IBV_WR_SEND, t.srqn, NULL, 0, IBV_WC_SUCCESS) &&
		    kit_wait(k, k->l, t.cq, &wc)) {
			if (wc.status != IBV_WC_SUCCESS || wc.byte_len != LEN || wc.wr_id != 0x584c)
				KIT_FAULT(k, "the receive has status %s, %u bytes",
					  value_name(status_names, wc.status), wc.byte_len);
			holds(k, &t, 0x31 + IBV_WR_SEND);
		}
		if (KIT_GOOD(k))
			kit_alive(k, k->l);
		if (KIT_GOOD(k) && request(k, IBV_WR_RDMA_WRITE, t.srqn, t.buf, t.mr->rkey, IBV_WC_SUCCESS) &&
		    holds(k, &t, 0x31 + IBV_WR_RDMA_WRITE) && in_flight(k, &t) &&
		    request(k, IBV_WR_RDMA_WRITE, k->l->srqn, t.buf, t.mr->rkey, k->cell->status))
			holds(k, &t, 0x31 + IBV_WR_RDMA_WRITE);
	}
}

SCENARIO(xrc_second_srq) = {
	{"second-srq", SUITE("xrc"), QPS("XRC_SEND"), POSTS("SEND 64"),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/QP-Specific-setters/XRC_SEND"), LEVEL("SHOULD"),
	 ERRATA("XRC-TARGET"), STATUS("REM_ACCESS_ERR"),
	 SAYS("messages arrive in the SRQ that they name, with its completions and its protection "
	      "domain's memory; a WRITE for an SRQ of another protection domain than the region is "
	      "refused")},
	{},
};

/* The receive's memory is of another protection domain than its SRQ. */
static void xrc_receive_pd(struct kit *k)
{
	struct target t = {};
	struct ibv_wc wc;

	if (kit_link(k, API_POST, NULL) && create(k, &t, false) && post_receive(k, &t, k->l->recv.mr) &&
	    request(k, IBV_WR_SEND, t.srqn, NULL, 0, k->cell->status) && kit_wait(k, k->l, t.cq, &wc)) {
		if (wc.status != IBV_WC_LOC_PROT_ERR)
			KIT_FAULT(k, "the receive has status %s, expected LOC_PROT_ERR",
				  value_name(status_names, wc.status));
		holds(k, &t, 0x77);
	}
}

SCENARIO(xrc_receive_pd) = {
	{"receive-pd", SUITE("xrc"), QPS("XRC_SEND"), POSTS("SEND 64"),
	 CLAUSE("ibv_reg_mr/DESCRIPTION/access"), LEVEL("SHOULD"), ERRATA("XRC-TARGET"), STATUS("REM_OP_ERR"),
	 SAYS("IBV_WC_LOC_PROT_ERR in a receive whose memory is of another protection domain than its "
	      "SRQ")},
	{},
};

/* An SRQ of another XRC domain. */
static void xrc_other_domain(struct kit *k)
{
	struct target t = {};

	if (kit_link(k, API_POST, NULL) && create(k, &t, true) && post_receive(k, &t, t.mr) &&
	    request(k, IBV_WR_SEND, t.srqn, NULL, 0, k->cell->status) && holds(k, &t, 0x77)) {
		kit_expect_none(k, k->l, t.cq);
		if (kit_link(k, API_POST, NULL) &&
		    request(k, IBV_WR_RDMA_WRITE, t.srqn, t.buf, t.mr->rkey, k->cell->status))
			holds(k, &t, 0x77);
	}
}

SCENARIO(xrc_other_domain) = {
	{"other-domain", SUITE("xrc"), QPS("XRC_SEND"), POSTS("SEND 64"),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/QP-Specific-setters/XRC_SEND"), LEVEL("SHOULD"),
	 ERRATA("XRC-TARGET"), STATUS("REM_INV_REQ_ERR"),
	 SAYS("requests for an SRQ of another XRC domain complete with IBV_WC_REM_INV_REQ_ERR, and "
	      "change nothing")},
	{},
};

/* The errors of the SRQ, of its CQ, and of the QP whose completion did not fit, may come in any order. */
static void expect_srq_error(struct kit *k, const struct target *t)
{
	struct ibv_async_event event;
	bool cq = false, srq = false, qp = false;

	while (!(cq && srq && qp)) {
		KIT_CHECK(k, kit_next_async(k->r->dut.responder.ctx, k->r->dut.timeout_ms, &event),
			  "the asynchronous event of the %s did not come",
			  !cq    ? "CQ"
			  : !srq ? "SRQ"
				 : "QP");
		seen(k->res, "event '%s'; ", ibv_event_type_str(event.event_type));
		if (event.event_type == IBV_EVENT_CQ_ERR && !cq && event.element.cq == t->cq)
			cq = true;
		else if (event.event_type == IBV_EVENT_SRQ_ERR && !srq && event.element.srq == t->srq)
			srq = true;
		else if (event.event_type == IBV_EVENT_QP_FATAL && !qp && event.element.qp == k->l->peer)
			qp = true;
		else if (event.event_type != IBV_EVENT_COMM_EST)
			KIT_CHECK(k, false, "the asynchronous event '%s' came, or names another object",
				  ibv_event_type_str(event.event_type));
	}
	kit_expect_state(k, k->l->peer, IBV_QPS_ERR);
}

/* One message more than the CQ of the SRQ holds. */
static bool overrun(struct kit *k, struct target *t)
{
	struct link *l = k->l;
	struct ibv_sge sge = {(uintptr_t)l->local.base, LEN, l->local.mr->lkey};
	struct ibv_send_wr wr = kit_wr(0x584c1, IBV_WR_SEND, &sge);
	struct ibv_wc wc;

	kit_drain_async(k->r->dut.responder.ctx);
	for (int i = 0; i < 3; i++) /* more than one, which the device may have read when the SRQ fails */
		if (!post_receive(k, t, t->mr))
			return false;
	for (int i = 0; i < t->cq->cqe; i++)
		if (!request(k, IBV_WR_SEND, t->srqn, NULL, 0, IBV_WC_SUCCESS) || !post_receive(k, t, t->mr))
			return false;
	wr.qp_type.xrc.remote_srqn = t->srqn;
	if (kit_post(k, l->qp, l->peer, &wr, NULL)) {
		KIT_FAULT(k, "posting was refused");
		return false;
	}
	expect_srq_error(k, t);
	return KIT_GOOD(k) && kit_wait(k, l, l->cq, &wc); /* it arrived, or the receiver has failed before */
}

static bool up_again(struct kit *k)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct link *l = k->l;
	bool up = !ibv_modify_qp(l->qp, &reset, IBV_QP_STATE) &&
		  !ibv_modify_qp(l->peer, &reset, IBV_QP_STATE) && !link_peer_steps(l, 0, 3) &&
		  !link_restart(l);

	return KIT_MUST(k, up, "the QPs could not be connected again");
}

static bool next_event(struct kit *k, unsigned int timeout_ms, struct ibv_async_event *event)
{
	while (kit_next_async(k->r->dut.responder.ctx, timeout_ms, event))
		if (event->event_type != IBV_EVENT_COMM_EST)
			return true;
	return false;
}

/* The receiver's QP has failed, with one event: that of its SRQ, or of the key if that is wrong, too. */
static bool failed_once(struct kit *k, bool bad_key)
{
	struct ibv_async_event event;

	if (!next_event(k, k->r->dut.timeout_ms, &event) || event.element.qp != k->l->peer ||
	    (event.event_type != IBV_EVENT_QP_FATAL &&
	     !(bad_key && event.event_type == IBV_EVENT_QP_ACCESS_ERR))) {
		KIT_FAULT(k, "the asynchronous event of the receiver's QP did not come");
		return false;
	}
	seen(k->res, "event '%s'; ", ibv_event_type_str(event.event_type));
	kit_expect_state(k, k->l->peer, IBV_QPS_ERR);
	if (KIT_GOOD(k) && next_event(k, 0, &event))
		KIT_FAULT(k, "the asynchronous event '%s' came after that of the same fault",
			  ibv_event_type_str(event.event_type));
	return KIT_GOOD(k);
}

/* A WRITE with immediate for a failed SRQ, with a key that is none: either is refused, and nothing is written. */
static void write_failed(struct kit *k, struct target *t)
{
	struct link *l = k->l;
	struct ibv_sge sge = {(uintptr_t)l->local.base, LEN, l->local.mr->lkey};
	struct ibv_send_wr wr = kit_wr(0x584c2, IBV_WR_RDMA_WRITE_WITH_IMM, &sge);
	struct ibv_wc wc;

	kit_drain_async(k->r->dut.responder.ctx);
	wr.qp_type.xrc.remote_srqn = t->srqn;
	wr.wr.rdma.remote_addr = (uintptr_t)t->buf + 2048;
	wr.wr.rdma.rkey = t->mr->rkey ^ 0x5500;
	KIT_CHECK(k, !kit_post(k, l->qp, l->peer, &wr, NULL), "posting was refused");
	if (!kit_wait(k, l, l->cq, &wc))
		return;
	KIT_CHECK(k, wc.status == IBV_WC_REM_OP_ERR || wc.status == IBV_WC_REM_ACCESS_ERR,
		  "a WRITE to a failed SRQ has status %s, expected REM_OP_ERR or REM_ACCESS_ERR",
		  value_name(status_names, wc.status));
	failed_once(k, true);
}

/*
 * An SRQ whose CQ is overrun takes no messages any more, though receives are left in it: that is no lack of them, which
 * would be RNR. Those of other SRQs arrive, also through the QPs to which nothing was sent before.
 */
static void xrc_overrun(struct kit *k)
{
	static const struct ibv_qp_attr no_rnr = {
		.min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7, .rnr_retry = 0};
	const struct link_opts opts = {.attr = &no_rnr};
	struct link idle = {0};
	struct target t = {};

	if (kit_link(k, API_POST, &opts) && create_sized(k, &t, false, 1) &&
	    kit_link_second(k, &idle, API_POST, NULL) && overrun(k, &t) && up_again(k)) {
		kit_alive(k, k->l);
		if (KIT_GOOD(k))
			kit_alive(k, &idle);
		kit_drain_async(k->r->dut.responder.ctx);
		if (KIT_GOOD(k) && request(k, IBV_WR_SEND, t.srqn, NULL, 0, k->cell->status) &&
		    failed_once(k, false) && up_again(k))
			write_failed(k, &t);
	}
}

SCENARIO(xrc_overrun) = {
	{"srq", SUITE("overrun"), QPS("XRC_SEND"), POSTS("SEND 64"),
	 CLAUSE("ibv_get_async_event/DESCRIPTION/IBV_EVENT_SRQ_ERR"), LEVEL("SHOULD"), ERRATA("XRC-TARGET"),
	 STATUS("REM_OP_ERR"),
	 SAYS("when the CQ of an SRQ overruns, IBV_EVENT_CQ_ERR and IBV_EVENT_SRQ_ERR name the two; a "
	      "message for the SRQ is then refused, and one for another SRQ arrives")},
	{},
};

#define NAMESAKES 3000 /* SRQs, created one after the other: numbers come twice in the same order */

/*
 * Those before the one with the number have another CQ: their destruction must not touch the entries that are left. So
 * the first time that the number comes shows what comes before it.
 */
static bool namesake(struct kit *k, struct target *t)
{
	uint32_t number = 0, last = 0, before = UINT32_MAX;

	for (unsigned int i = 0; i < NAMESAKES; i++) {
		struct ibv_srq_attr attr = {.max_wr = 4, .max_sge = 1};
		struct ibv_cq *cq = last == before ? t->cq : k->l->peer_cq;

		t->srq = link_xrc_srq(t->pd, k->l->xrcd, cq, &attr);
		if (!t->srq || ibv_get_srq_num(t->srq, &number)) {
			KIT_FAULT(k, "another SRQ: %s", errno_name(errno));
			return false;
		}
		if (number == t->srqn && cq == t->cq)
			return true;
		if (number == t->srqn)
			before = last;
		last = number;
		ibv_destroy_srq(t->srq);
	}
	seen(k->res, "no new SRQ has the old one's number; ");
	return false;
}

/* Messages, of which the last one's receive is not polled, and all have arrived. */
static bool leave_entries(struct kit *k, struct target *t)
{
	for (int i = 0; i < 3; i++)
		if (!post_receive(k, t, t->mr) || !request(k, IBV_WR_SEND, t->srqn, NULL, 0, IBV_WC_SUCCESS))
			return false;
	return true;
}

/* What a destroyed SRQ has left in its CQ does not turn up as completions of a new SRQ with its number. */
static void xrc_namesake(struct kit *k)
{
	struct target t = {};
	struct ibv_wc wc;

	if (!kit_link(k, API_POST, NULL) || !create(k, &t, false) || !leave_entries(k, &t))
		return;
	log_call(&k->res->log, "ibv_destroy_srq(srq) /* SRQ 0x%x */", t.srqn);
	KIT_CHECK(k, !ibv_destroy_srq(t.srq), "ibv_destroy_srq failed");
	if (!KIT_GOOD(k) || !namesake(k, &t))
		return;
	for (int i = 0; i < 3 && KIT_GOOD(k); i++)
		post_receive(k, &t, t.mr);
	if (KIT_GOOD(k) && ibv_poll_cq(t.cq, 1, &wc))
		KIT_FAULT(k, "a completion of a new SRQ to which nothing was sent");
	else if (KIT_GOOD(k) && request(k, IBV_WR_SEND, t.srqn, NULL, 0, IBV_WC_SUCCESS) &&
		 kit_wait(k, k->l, t.cq, &wc) && (wc.status || wc.wr_id != 0x584c))
		KIT_FAULT(k, "the receive of the new SRQ has status %s", value_name(status_names, wc.status));
}

SCENARIO(xrc_namesake) = {
	{"namesake", SUITE("xrc"), QPS("XRC_SEND"), POSTS("SEND 64"), CLAUSE("ibv_poll_cq/NOTES/removed"),
	 LEVEL("SHOULD"), ERRATA("CQ-PURGE"),
	 SAYS("completions of an SRQ that is destroyed do not turn up for a new one with its number")},
	{},
};
