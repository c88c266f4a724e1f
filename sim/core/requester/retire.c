// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The end of send WQEs, in their order: completed, flushed, or gone without a completion. */
#include "core/queues/queues.h"
#include "core/requester/requester.h"

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

bool sq_can_complete(const struct qp *qp)
{
	const struct wqe *w = qp->sq.head;

	return w && !w->dma_pending && !qp->send_cq->stalled &&
	       (w->failed || (w->acked && w->wr.flags & HCA_WR_SIGNALED));
}

void sq_complete(struct hca *hca, struct qp *qp)
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
