// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The send queue's window: WQEs that are decoded and not completed, from sq.head to sq.tail. This file
 * alone moves sq.cur and sq.ack in it and says what is acknowledged.
 */
#include "core/requester/requester.h"

#define TIMEOUT_UNIT_PS 4096000ull /* 4.096 us */

/*
 * The first from here on that still has something to be sent or answered. sq.cur and sq.ack stand on such ones
 * only, or before what was never started, so that sq.cur is never behind sq.ack: in between lie local operations,
 * which are acknowledged as soon as they are executed.
 */
static struct wqe *wqe_open(struct wqe *w)
{
	while (w && w->acked)
		w = w->next;
	return w;
}

static hca_ps ack_timeout(const struct qp *qp)
{
	return TIMEOUT_UNIT_PS << (qp->a.timeout & 31);
}

void sq_wait_anew(struct hca *hca, struct qp *qp)
{
	qp->sq.ack_deadline = hca_now(hca) + ack_timeout(qp);
}

void sq_timer_update(struct hca *hca, struct qp *qp)
{
	struct sq *sq = &qp->sq;
	bool want = qp_reliable(qp) && qp->a.timeout && sq->ack && sq->ack->started && !sq->ack->failed;

	if (sq->rnr_wait)
		return;
	if (!want || (qp->a.state != HCASIM_QPS_RTS && qp->a.state != HCASIM_QPS_SQD)) {
		timer_cancel(hca, &sq->timer);
	} else if (!sq->timer.pos) {
		sq_wait_anew(hca, qp);
		timer_set(hca, &sq->timer, sq->ack_deadline);
	}
}

void sq_append(struct hca *hca, struct qp *qp, struct wqe *w)
{
	struct sq *sq = &qp->sq;

	w->seq = sq->seq++;
	if (sq->tail)
		sq->tail->next = w;
	else
		sq->head = w;
	sq->tail = w;
	sq->nwqe++;
	if (!sq->cur) {
		sq->cur = w;
		sq->cur_pkt = 0;
	}
	if (!sq->ack)
		sq->ack = w;
	hca->counters.wqes++;
}

/* The WQE completes in error, in its turn, and nothing from it on leaves any more. */
void sq_fail(struct hca *hca, struct qp *qp, struct wqe *w, uint8_t status, uint8_t vendor)
{
	struct sq *sq = &qp->sq;

	if (w->failed || w->acked)
		return;
	w->failed = true;
	w->status = status;
	w->vendor = vendor;
	if (!sq->cur || (int32_t)(sq->cur->seq - w->seq) > 0) {
		sq->cur = w;
		sq->cur_pkt = 0;
	}
	if (!sq->fault || (int32_t)(sq->fault_seq - w->seq) > 0)
		sq->fault_seq = w->seq;
	sq->fault = true;
}

/* A packet of the WQE at `cur` is made: on to the next packet, or WQE. */
void sq_sent(struct hca *hca, struct qp *qp, struct wqe *w)
{
	struct sq *sq = &qp->sq;

	if (op_answered(w->wr.op)) {
		w->rd_counted = true;
		sq->rd_out++;
	} else if (++sq->cur_pkt < w->npsn) {
		return;
	}
	sq->cur = wqe_open(w->next);
	sq->cur_pkt = 0;
}

/* A local operation is done as soon as it is executed. */
void sq_executed(struct hca *hca, struct qp *qp, struct wqe *w)
{
	w->acked = true;
	sq_sent(hca, qp, w);
	sq_skip_acked(hca, qp);
}

/* An unreliable send is complete when its last packet has left (IBTA 9.8.1.2, 9.8.2). */
void sq_left(struct wqe *w)
{
	w->acked = true;
}

/* What a READ or atomic brought could not be written. */
void sq_result_lost(struct hca *hca, struct qp *qp, struct wqe *w)
{
	if (w->failed)
		return;
	w->acked = false;
	sq_fail(hca, qp, w, HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_VENDOR_ERR_DMA_FAULT);
}

void sq_skip_acked(struct hca *hca, struct qp *qp)
{
	struct sq *sq = &qp->sq;

	sq->ack = wqe_open(sq->ack);
	sq_timer_update(hca, qp);
}

static void done_reading(struct qp *qp, struct wqe *w)
{
	if (w->rd_counted)
		qp->sq.rd_out--;
	w->rd_counted = false;
	if (w->started && op_answered(w->wr.op))
		qp->sq.rd_incomplete--;
}

/* Everything not acknowledged is sent again. */
void sq_rewind(struct hca *hca, struct qp *qp)
{
	struct sq *sq = &qp->sq;
	struct wqe *w;

	if (!sq->ack || !sq->ack->started)
		return;
	sq->cur = sq->ack;
	sq->cur_pkt = psn_sub(sq->una_psn, sq->ack->first_psn);
	for (w = sq->ack; w; w = w->next)
		w->rd_counted = false;
	sq->rd_out = 0;
	sq_wait_anew(hca, qp);
	hca->counters.retransmissions++;
}

static void progress(struct hca *hca, struct qp *qp)
{
	struct sq *sq = &qp->sq;

	sq->retries = sq->rnr_retries = 0;
	sq->nak_rewound = false;
	sq_wait_anew(hca, qp);
}

/* PSNs before `una` are done, `w` is the oldest request that has one of them; if they are all that it has, it is done. */
void sq_acked_to(struct hca *hca, struct qp *qp, struct wqe *w, uint32_t una)
{
	struct sq *sq = &qp->sq;
	uint32_t done = psn_sub(una, w->first_psn);

	sq->una_psn = una;
	progress(hca, qp);
	if (done >= w->npsn) {
		w->acked = true;
		sq->ack = wqe_open(w);
		if (w->rd_counted) {
			w->rd_counted = false;
			sq->rd_out--;
		}
		if (sq->cur == w) { /* answered after it was to be sent again */
			sq->cur = sq->ack;
			sq->cur_pkt = 0;
		}
	} else if (sq->cur == w && sq->cur_pkt < done) {
		sq->cur_pkt = done;
	}
}

/* The oldest WQE leaves the queue. */
void sq_pop(struct hca *hca, struct qp *qp)
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
	done_reading(qp, w);
	sq->nwqe--;
	wqe_put(hca, w);
}

/* RESET: no WQE, and everything else as in a new queue. */
void sq_clear(struct hca *hca, struct qp *qp)
{
	struct timer timer;
	struct wqe *w;

	timer_cancel(hca, &qp->sq.timer);
	timer = qp->sq.timer;
	while ((w = qp->sq.head)) {
		qp->sq.head = w->next;
		wqe_put(hca, w);
	}
	memset(&qp->sq, 0, sizeof(qp->sq));
	qp->sq.timer = timer;
	qp->sq.ring = qp->c.sq;
}
