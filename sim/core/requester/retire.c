// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The end of send WQEs, in order: completed, flushed, or removed without a completion. */
#include "core/requester/sq.h"

static void flush(struct wqe *w)
{
	w->failed = w->settled = true;
	w->status = HCASIM_CQE_STATUS_WR_FLUSH_ERR;
	w->vendor = HCASIM_VENDOR_ERR_NONE;
}

/* ERR (IBTA 10.3.1.6): nothing is sent any more; posted WQEs are flushed. */
void sq_error(struct sq *sq)
{
	sq->c.state = HCASIM_QPS_ERR;
	sq_timer_set(sq, HCA_PS_NEVER);
	sq->rnr_wait = false;
}

/*
 * IBTA 10.3.1: a failed send stops the send queue of an unreliable QP, and both queues of a reliable one. Later WQEs
 * are flushed, even if the peer has acknowledged them.
 */
static void sq_failed(struct sq *sq)
{
	struct wqe *w;

	for (w = sq->head->next; w; w = w->next)
		flush(w);
	if (sq_reliable(sq) || sq->c.state != HCASIM_QPS_RTS)
		sq_error(sq);
	else
		sq->c.state = HCASIM_QPS_SQE;
	sq->e->ports->failed(sq->e->host, sq->qpn, sq->c.state);
}

/* IBTA 10.3.1.5: everything that was started before SQD has completed. */
static void sqd_check(struct sq *sq)
{
	if (sq->c.state != HCASIM_QPS_SQD || sq->drained_sent || (sq->head && sq->head->started))
		return;
	sq->drained_sent = true;
	sq->e->ports->drained(sq->e->host, sq->qpn);
}

/* Removes WQEs that end without a completion; stops at a WQE that needs one, or has not ended. */
static void advance(struct sq *sq)
{
	struct wqe *w;

	while ((w = sq->head) && !w->dma_pending) {
		if (w->failed && !w->settled && !sq_flushing(sq)) {
			w->settled = true;
			sq_failed(sq);
		} else if (w->failed ? !w->started && !w->settled : !w->acked) {
			if (!sq_flushing(sq))
				break;
			flush(w); /* even if it is invalid, since it was never executed */
		}
		if (w->failed || w->wr.flags & HCA_WR_SIGNALED)
			break;
		sq_pop(sq);
	}
	sqd_check(sq);
}

/* Every change of a queue ends here: removes finished WQEs, and queues it for the stages it has work for. */
void sq_settle(struct sq *sq)
{
	bool fetch, send;

	if (sq->dead)
		return;
	advance(sq);
	fetch = sq_can_fetch(sq);
	send = sq_can_send(sq);
	if (fetch && !sq->on_fetch.next)
		sq->fetch_since = engine_time(sq->e);
	if (send && !sq->could_send)
		sq->open = engine_time(sq->e);
	sq->could_send = send;
	list_set(&sq->e->fetch_sqs, &sq->on_fetch, fetch);
	list_set(&sq->e->tx_sqs, &sq->on_tx, send);
}

bool sq_can_complete(const struct sq *sq)
{
	const struct wqe *w = sq->head;

	return w && !w->dma_pending && (w->failed || (w->acked && w->wr.flags & HCA_WR_SIGNALED));
}

void sq_completion(const struct sq *sq, struct engine_completion *out)
{
	const struct wqe *w = sq->head;

	*out = (struct engine_completion){
		.id = w->wr.id,
		.wqe_op = w->wr.op,
		.num_bb = w->wr.num_bb,
		.wqe_index = w->wr.index,
		.status = w->failed ? w->status : HCASIM_CQE_STATUS_OK,
		.vendor_err = w->failed ? w->vendor : HCASIM_VENDOR_ERR_NONE,
		.byte_count = !w->failed && op_reads(w->wr.op) ? (uint32_t)w->wr.length : 0,
	};
}
