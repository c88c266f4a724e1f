// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completions, in the order of each queue. They stay in their queue until the COMPLETE stage takes them, so nothing
 * here can overflow.
 */
#include "core/queues/queues.h"
#include "core/queues/tags.h"
#include "core/send/send.h"
#include "core/responder/responder.h"
#include "core/stages.h"

static bool rq_flush_ready(const struct hca *hca, const struct qp *qp)
{
	return qp->a.state == HCASIM_QPS_ERR && !qp->resp.landing.head && !qp->resp.busy &&
	       rq_can_flush(hca, qp);
}

static bool recv_ready(const struct hca *hca, const struct qp *qp)
{
	const struct cq *cq;

	if (!qp->resp.cpl.head && !rq_flush_ready(hca, qp))
		return false;
	cq = qp_next_recv_cq(qp);
	return !cq || !cq->stalled;
}

void complete_changed(struct hca *hca, struct qp *qp)
{
	list_set(&hca->cpl_qps, &qp->on_cpl, send_can_complete(hca, qp) || recv_ready(hca, qp));
}

bool complete_pending(const struct hca *hca, struct hca_work *w)
{
	if ((list_empty(&hca->cpl_qps) && list_empty(&hca->cpl_srqs)) ||
	    hca->cqe_writes >= hca->cqe_writes_max)
		return false;
	w->bytes = hca->pers->cqe_size;
	w->items = 1;
	return true;
}

/* complete_qp() will take the send completion of the queue pair. */
static bool send_is_next(const struct hca *hca, const struct qp *qp, bool *recv)
{
	*recv = recv_ready(hca, qp);
	return send_can_complete(hca, qp) && (!*recv || !qp->cpl_turn);
}

hca_ps complete_since(const struct hca *hca)
{
	const struct qp *qp;
	bool recv;

	if (!list_empty(&hca->cpl_srqs) || list_empty(&hca->cpl_qps))
		return 0;
	qp = node_entry(hca->cpl_qps.next, struct qp, on_cpl);
	if (send_is_next(hca, qp, &recv))
		return send_since(hca, HCA_STAGE_COMPLETE, qp->qpn);
	return recv && qp->resp.cpl.head ? qp->resp.cpl.head->since : 0;
}

void complete_head(const struct hca *hca, struct hca_seen *head)
{
	struct engine_completion c;
	const struct qp *qp;
	bool recv;

	if (!list_empty(&hca->cpl_srqs) || list_empty(&hca->cpl_qps))
		return;
	qp = node_entry(hca->cpl_qps.next, struct qp, on_cpl);
	head->qpn = qp->qpn;
	head->of_wqe = send_is_next(hca, qp, &recv) && hca->eng->completion(hca->engine, qp->qpn, &c);
	if (head->of_wqe)
		head->index = c.wqe_index;
}

static void count_recv(struct hca *hca, struct qp *qp, const struct hca_cpl *cpl)
{
	const uint8_t status = cpl->status;

	comp_cntr_count(qp, HCA_COMP_RECV, status, cpl->byte_count);
	hca_count(hca, qp->a.port, status ? HCASIM_COUNTER_RESP_CQE_ERROR : HCASIM_COUNTER_RECEIVES);
	if (status == HCASIM_CQE_STATUS_WR_FLUSH_ERR)
		hca_count(hca, qp->a.port, HCASIM_COUNTER_RESP_CQE_FLUSH_ERROR);
	else if (status == HCASIM_CQE_STATUS_LOC_LEN_ERR)
		hca_count(hca, qp->a.port, HCASIM_COUNTER_RESP_LOCAL_LENGTH_ERROR);
}

/* IBTA 10.3.1.6: receive WQEs of a QP in error are flushed, the one of an incomplete message first. */
static void flush_recv(struct hca *hca, struct qp *qp, struct cq *cq)
{
	struct rq *rq = &qp->rq;
	struct hca_cpl cpl = {.qpn = qp->qpn,
			      .user_index = qp->c.user_index,
			      .op = HCASIM_CQE_OP_RECV,
			      .wqe_index = (uint16_t)rq->ci,
			      .vlan = 0xffff};

	if (!rq->active)
		rq_flush_next(hca, qp);
	if (rq->active) {
		cpl = rq->cpl;
		rq_release(hca, qp);
	}
	cpl.status = HCASIM_CQE_STATUS_WR_FLUSH_ERR;
	cpl.timestamp = hca_now(hca);
	count_recv(hca, qp, &cpl);
	if (cq)
		cq_write(hca, cq, &cpl);
}

static void complete_recv(struct hca *hca, struct qp *qp, struct cq *cq)
{
	struct rop *r = rop_pop(&qp->resp.cpl);

	if (!r) {
		flush_recv(hca, qp, cq);
		return;
	}
	r->cpl.timestamp = hca_now(hca);
	if (r->cpl.vendor_err != HCASIM_VENDOR_ERR_PAGE_FAULT) /* that WQE is posted again */
		count_recv(hca, qp, &r->cpl);
	if (cq)
		cq_write(hca, cq, &r->cpl);
	if (r->rndv && !r->cpl.status) {
		rendezvous_begin(qp, r->rndv);
		r->rndv = NULL;
	}
	rop_put(hca, r);
}

/* Operations on tag lists come first: messages may have matched because of them. */
static void complete_tag_op(struct hca *hca)
{
	struct srq *srq = node_entry(hca->cpl_srqs.next, struct tag_list, on_cpl)->srq;

	list_del(&srq->tags->on_cpl);
	if (cq_has_room(hca, srq->cq))
		tag_ops_step(hca, srq);
	else
		cq_wake(hca, srq->cq);
}

static void complete_qp(struct hca *hca)
{
	struct qp *qp = node_entry(hca->cpl_qps.next, struct qp, on_cpl);
	bool send = send_can_complete(hca, qp), recv = recv_ready(hca, qp);
	struct cq *cq;

	list_del(&qp->on_cpl);
	if (send && recv)
		send = qp->cpl_turn = !qp->cpl_turn;
	cq = send ? send_next_cq(hca, qp) : qp_next_recv_cq(qp);
	if (cq && !cq_has_room(hca, cq))
		cq_wake(hca, cq);
	else if (send)
		send_complete(hca, qp);
	else
		complete_recv(hca, qp, cq);
	qp_update(hca, qp);
}

void complete_step(struct hca *hca)
{
	if (!list_empty(&hca->cpl_srqs))
		complete_tag_op(hca);
	else
		complete_qp(hca);
}
