// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The window of the send queue: WQEs that are decoded and not completed, from sq.head to sq.tail. Only this file
 * moves sq.cur and sq.ack in it and marks WQEs as acknowledged.
 */
#include "core/requester/sq.h"

#define TIMEOUT_UNIT_PS 4096000ull /* 4.096 us */

/*
 * The first WQE from here on that still has packets to be sent or acknowledged. sq.cur and sq.ack point to such WQEs
 * only, or to one that was never started, so sq.cur is never behind sq.ack: between them are local operations, which
 * are acknowledged as soon as they are executed.
 */
static struct wqe *wqe_open(struct wqe *w)
{
	while (w && w->acked)
		w = w->next;
	return w;
}

static hca_ps ack_timeout(const struct sq *sq)
{
	return TIMEOUT_UNIT_PS << (sq->c.timeout & 31);
}

void sq_wait_anew(struct sq *sq)
{
	sq->ack_deadline = sq_now(sq) + ack_timeout(sq);
}

void sq_timer_set(struct sq *sq, hca_ps at)
{
	bool on = at != HCA_PS_NEVER;

	if (on || sq->timer_on)
		sq->e->ports->timer(sq->e->host, sq->qpn, at);
	sq->timer_on = on;
}

void sq_timer_update(struct sq *sq)
{
	bool want = sq_reliable(sq) && sq->c.timeout && sq->ack && sq->ack->started && !sq->ack->failed;

	if (sq->rnr_wait)
		return;
	if (!want || (sq->c.state != HCASIM_QPS_RTS && sq->c.state != HCASIM_QPS_SQD)) {
		sq_timer_set(sq, HCA_PS_NEVER);
	} else if (!sq->timer_on) {
		sq_wait_anew(sq);
		sq_timer_set(sq, sq->ack_deadline);
	}
}

void sq_append(struct sq *sq, struct wqe *w)
{

	w->decoded = engine_time(sq->e);
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
	sq->e->counters.wqes++;
}

/* The WQE completes in error, in its turn; no packet from it on is sent any more. */
void sq_fail(struct sq *sq, struct wqe *w, uint8_t status, uint8_t vendor)
{

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

/* A packet of the WQE at `cur` was made: advance to the next packet, or WQE. */
void sq_sent(struct sq *sq, struct wqe *w)
{

	if (op_answered(w->wr.op)) {
		w->rd_counted = true;
		sq->rd_out++;
	} else if (++sq->cur_pkt < w->npsn) {
		return;
	}
	sq->cur = wqe_open(w->next);
	sq->cur_pkt = 0;
}

/* A local operation is acknowledged as soon as it is executed. */
void sq_executed(struct sq *sq, struct wqe *w)
{
	w->acked = true;
	w->done = engine_time(sq->e);
	sq_sent(sq, w);
	sq_skip_acked(sq);
}

/* An unreliable send is complete when its last packet has left (IBTA 9.8.1.2, 9.8.2). */
void sq_left(struct sq *sq, struct wqe *w)
{
	w->acked = true;
	w->done = engine_time(sq->e);
}

/* The result of a READ or atomic could not be written. */
void sq_result_lost(struct sq *sq, struct wqe *w)
{
	if (w->failed)
		return;
	w->acked = false;
	sq_fail(sq, w, HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_VENDOR_ERR_DMA_FAULT);
}

void sq_skip_acked(struct sq *sq)
{

	sq->ack = wqe_open(sq->ack);
	sq_timer_update(sq);
}

static void done_reading(struct sq *sq, struct wqe *w)
{
	if (w->rd_counted)
		sq->rd_out--;
	w->rd_counted = false;
	if (w->started && op_answered(w->wr.op))
		sq->rd_incomplete--;
}

/* Everything that is not acknowledged is sent again. */
void sq_rewind(struct sq *sq)
{
	struct wqe *w;

	sq->cur = sq->ack;
	sq->cur_pkt = psn_sub(sq->una_psn, sq->ack->first_psn);
	for (w = sq->ack; w; w = w->next)
		w->rd_counted = false;
	sq->rd_out = 0;
	sq_wait_anew(sq);
	sq->e->counters.retransmissions++;
}

static void progress(struct sq *sq)
{

	sq->retries = sq->rnr_retries = 0;
	sq->nak_rewound = false;
	sq_wait_anew(sq);
}

/* PSNs before `una` are acknowledged, `w` is the oldest request with one of them; if it has no others, it is done. */
void sq_acked_to(struct sq *sq, struct wqe *w, uint32_t una)
{
	uint32_t done = psn_sub(una, w->first_psn);

	sq->una_psn = una;
	progress(sq);
	if (done >= w->npsn) {
		w->acked = true;
		w->done = engine_time(sq->e);
		sq->ack = wqe_open(w);
		if (w->rd_counted) {
			w->rd_counted = false;
			sq->rd_out--;
		}
		if (sq->cur == w) { /* answered after it was scheduled to be sent again */
			sq->cur = sq->ack;
			sq->cur_pkt = 0;
		}
	} else if (sq->cur == w && sq->cur_pkt < done) {
		sq->cur_pkt = done;
	}
}

/* Removes the oldest WQE from the queue. */
void sq_pop(struct sq *sq)
{
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
	done_reading(sq, w);
	sq->nwqe--;
	wqe_put(sq->e, w);
}

/* RESET: no WQE, all else as in a new queue. */
void sq_clear(struct sq *sq)
{
	const struct sq fresh = {.e = sq->e,
				 .qpn = sq->qpn,
				 .epoch = sq->epoch + 1,
				 .refs = sq->refs,
				 .dead = sq->dead,
				 .c = sq->c};
	struct wqe *w;

	sq_timer_set(sq, HCA_PS_NEVER);
	list_set(&sq->e->fetch_sqs, &sq->on_fetch, false);
	list_set(&sq->e->tx_sqs, &sq->on_tx, false);
	while ((w = sq->head)) {
		sq->head = w->next;
		wqe_put(sq->e, w);
	}
	*sq = fresh;
	sq->c.state = HCASIM_QPS_RESET;
}
