// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completions, in the order of each queue. They stay in the queue that they belong to until the
 * COMPLETE stage takes them, so nothing here can overflow.
 */
#include "core/core.h"

static void sq_pop(struct hca *hca, struct qp *qp)
{
	struct sq *sq = &qp->sq;
	struct wqe *w = sq->head;

	sq->retired = (uint16_t)(w->wr.index + w->wr.num_bb);
	sq->head = w->next;
	if (!sq->head)
		sq->tail = NULL;
	if (sq->cur == w) {
		sq->cur = w->next;
		sq->cur_pkt = 0;
	}
	if (sq->ack == w)
		sq->ack = w->next;
	sq_done_reading(qp, w);
	sq->nwqe--;
	wqe_put(hca, w);
}

static void flush(struct wqe *w)
{
	w->failed = w->settled = true;
	w->status = HCASIM_CQE_STATUS_WR_FLUSH_ERR;
	w->vendor = HCASIM_VENDOR_ERR_NONE;
}

/*
 * IBTA 10.3.1: a failed send stops an unreliable QP's send queue, and all of a reliable one. What stands
 * behind it is flushed, even if the peer has acknowledged it already.
 */
static void sq_failed(struct hca *hca, struct qp *qp)
{
	struct wqe *w;

	for (w = qp->sq.head->next; w; w = w->next)
		flush(w);
	if (qp_reliable(qp) || qp->a.state != HCASIM_QPS_RTS)
		qp_error(hca, qp);
	else
		qp->a.state = HCASIM_QPS_SQE;
}

/* IBTA 10.3.1.5: all that was started before SQD has completed. */
static void sqd_check(struct hca *hca, struct qp *qp)
{
	if (qp->a.state != HCASIM_QPS_SQD || qp->sq.drained_sent || (qp->sq.head && qp->sq.head->started))
		return;
	qp->sq.drained_sent = true;
	if (qp->a.en_sqd_async_notify)
		event_raise(hca, &qp->ev, HCASIM_EQE_TYPE_SQ_DRAINED);
}

/* Retires what ended without a completion; stops at a WQE that needs one, or has not ended. */
void sq_advance(struct hca *hca, struct qp *qp)
{
	struct wqe *w;

	while ((w = qp->sq.head) && !w->dma_pending) {
		if (w->failed && !w->settled && !qp_flushing(qp)) {
			w->settled = true;
			sq_failed(hca, qp);
		} else if (w->failed ? !w->started && !w->settled : !w->acked) {
			if (!qp_flushing(qp))
				break;
			flush(w); /* also one that is wrong itself, but was never looked at in its turn */
		}
		if (w->failed || w->wr.flags & HCA_WR_SIGNALED)
			break;
		sq_pop(hca, qp);
	}
	sqd_check(hca, qp);
}

static bool send_ready(const struct qp *qp)
{
	const struct wqe *w = qp->sq.head;

	return w && !w->dma_pending && !qp->send_cq->stalled &&
	       (w->failed || (w->acked && w->wr.flags & HCA_WR_SIGNALED));
}

static bool rq_flush_ready(const struct qp *qp)
{
	return qp->a.state == HCASIM_QPS_ERR && !qp->resp.landing.head && !qp->resp.busy &&
	       (qp->rq.active || qp->rq.ci != qp->rq.pi);
}

/* Where the next receive completes; NULL: its XRC SRQ is gone, and nobody waits for it. */
struct cq *qp_next_recv_cq(const struct qp *qp)
{
	const struct srq *srq = qp->resp.cpl.head ? qp->resp.cpl.head->srq : qp->rq.srq;

	return qp->c.type != HCASIM_QPT_XRC_RECV ? qp->recv_cq : srq && !srq->dead ? srq->cq : NULL;
}

static bool recv_ready(const struct qp *qp)
{
	const struct cq *cq;

	if (!qp->resp.cpl.head && !rq_flush_ready(qp))
		return false;
	cq = qp_next_recv_cq(qp);
	return !cq || !cq->stalled;
}

bool qp_can_complete(const struct qp *qp)
{
	return send_ready(qp) || recv_ready(qp);
}

bool complete_pending(const struct hca *hca, struct hca_work *w)
{
	if (list_empty(&hca->cpl_qps) || hca->cqe_writes >= hca->cqe_writes_max)
		return false;
	w->bytes = hca->pers->cqe_size;
	w->items = 1;
	w->qpn = node_entry(hca->cpl_qps.next, struct qp, on_cpl)->qpn;
	return true;
}

static void complete_send(struct hca *hca, struct qp *qp)
{
	const struct wqe *w = qp->sq.head;
	struct hca_cpl cpl = {
		.qpn = qp->qpn,
		.op = HCASIM_CQE_OP_REQ,
		.wqe_op = w->wr.op,
		.num_bb = w->wr.num_bb,
		.wqe_index = w->wr.index,
		.status = w->failed ? w->status : HCASIM_CQE_STATUS_OK,
		.vendor_err = w->failed ? w->vendor : HCASIM_VENDOR_ERR_NONE,
		.vlan = 0xffff,
		.timestamp = hca_now(hca),
	};

	if (!w->failed && op_reads(w->wr.op))
		cpl.byte_count = (uint32_t)w->wr.length;
	cq_write(hca, qp->send_cq, &cpl);
	sq_pop(hca, qp);
}

/* IBTA 10.3.1.6: receive WQEs of a QP in error are flushed, the one that a message had begun first. */
static void flush_recv(struct hca *hca, struct qp *qp, struct cq *cq)
{
	struct rq *rq = &qp->rq;
	struct hca_cpl cpl = {
		.qpn = qp->qpn,
		.op = HCASIM_CQE_OP_RECV,
		.wqe_index = (uint16_t)(rq->active ? rq->wqe_index : rq->ci),
		.srqn = rq->srq ? rq->srq->number : 0,
		.status = HCASIM_CQE_STATUS_WR_FLUSH_ERR,
		.vlan = 0xffff,
		.timestamp = hca_now(hca),
	};

	if (rq->active)
		rq_release(hca, qp);
	else
		rq->ci++;
	if ((int32_t)(rq->fetched - rq->ci) < 0)
		rq->fetched = rq->ci;
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
	if (cq)
		cq_write(hca, cq, &r->cpl);
	rop_put(hca, r);
}

void complete_step(struct hca *hca)
{
	struct qp *qp = node_entry(hca->cpl_qps.next, struct qp, on_cpl);
	bool send = send_ready(qp), recv = recv_ready(qp);
	struct cq *cq;

	list_del(&qp->on_cpl);
	if (send && recv)
		send = qp->cpl_turn = !qp->cpl_turn;
	cq = send ? qp->send_cq : qp_next_recv_cq(qp);
	if (cq && !cq_has_room(hca, cq))
		cq_wake(hca, cq);
	else if (send)
		complete_send(hca, qp);
	else
		complete_recv(hca, qp, cq);
	qp_update(hca, qp);
}
