// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The receive side of the requester (IBTA 9.7.5, 9.7.6): acknowledges, NAKs, responses of READs and atomics, and the
 * timers. An acknowledge counts for all earlier requests; a response or acknowledge that skips an earlier READ shows
 * that responses were lost: an implied NAK.
 */
#include <errno.h>

#include "core/requester/sq.h"

#define ATOMIC_BYTES sizeof(uint64_t)

/* `cause`: of engine_counters. */
static void retry(struct sq *sq, uint64_t *cause)
{
	if (sq->retries >= sq->c.retry_cnt) {
		sq_fail(sq, sq->ack, HCASIM_CQE_STATUS_RETRY_EXC_ERR, HCASIM_VENDOR_ERR_NONE);
		return;
	}
	sq->retries++;
	(*cause)++;
	sq_rewind(sq);
}

/* Several pending responses may show the same loss; go back only once. */
static void implied_nak(struct sq *sq)
{
	if (sq->nak_rewound || sq->paging)
		return;
	sq->nak_rewound = true;
	retry(sq, &sq->e->counters.implied_naks);
}

/* The peer has received everything up to `psn`. False: but a READ or atomic among it has not been answered. */
static bool ack_until(struct sq *sq, uint32_t psn)
{
	struct wqe *w;

	while ((w = sq->ack)) {
		uint32_t left;

		if (w->failed || psn_sub(psn, sq->una_psn) >= psn_sub(sq->next_psn, sq->una_psn))
			break;
		if (op_answered(w->wr.op))
			return false;
		left = w->npsn - psn_sub(sq->una_psn, w->first_psn);
		if (psn_sub(psn, sq->una_psn) < left)
			left = psn_sub(psn, sq->una_psn) + 1;
		sq_acked_to(sq, w, psn_add(sq->una_psn, left));
	}
	return true;
}

/* ---- RNR ---- */

static void rnr_nak(struct sq *sq, uint8_t code)
{
	if (sq->rnr_wait)
		return;
	if (sq->c.rnr_retry != 7 && sq->rnr_retries >= sq->c.rnr_retry) {
		sq_fail(sq, sq->ack, HCASIM_CQE_STATUS_RNR_RETRY_EXC_ERR, HCASIM_VENDOR_ERR_NONE);
		return;
	}
	sq->e->counters.rnr_naks++;
	sq->rnr_retries++;
	sq->retries = 0; /* the peer has answered: only retries from here on count */
	sq_rewind(sq);
	sq->rnr_wait = true;
	sq_timer_set(sq, sq_now(sq) + hcasim_rnr_timer_ns(code) * 1000ull);
}

void sq_timer(struct sq *sq)
{
	sq->timer_on = false;
	if (sq->rnr_wait) {
		sq->rnr_wait = false;
	} else if (sq_now(sq) < sq->ack_deadline) {
		sq_timer_set(sq, sq->ack_deadline);
		return;
	} else if (sq->paging) { /* it waits for the host, not for the peer */
		sq_wait_anew(sq);
	} else {
		sq->nak_rewound = false;
		retry(sq, &sq->e->counters.timeouts);
	}
	sq_timer_update(sq);
}

/* ---- AETH ---- */

static void fatal_nak(struct sq *sq, uint8_t code)
{
	static const uint8_t status[] = {
		[HCASIM_NAK_INV_REQ] = HCASIM_CQE_STATUS_REM_INV_REQ_ERR,
		[HCASIM_NAK_REM_ACCESS] = HCASIM_CQE_STATUS_REM_ACCESS_ERR,
		[HCASIM_NAK_REM_OP] = HCASIM_CQE_STATUS_REM_OP_ERR,
		[HCASIM_NAK_INV_RD_REQ] = HCASIM_CQE_STATUS_BAD_RESP_ERR,
	};

	sq_fail(sq, sq->ack, code < sizeof(status) ? status[code] : HCASIM_CQE_STATUS_BAD_RESP_ERR,
		HCASIM_VENDOR_ERR_NONE);
}

static void nak(struct sq *sq, const struct engine_response *r)
{
	bool all = ack_until(sq, psn_add(r->psn, HCASIM_PSN_MASK));

	if (!all) {
		implied_nak(sq);
		return;
	}
	if (r->aeth_kind == HCASIM_AETH_KIND_RNR) {
		rnr_nak(sq, r->aeth_value);
	} else if (r->aeth_value == HCASIM_NAK_PSN_SEQ) {
		retry(sq, &sq->e->counters.sequence_naks);
	} else {
		fatal_nak(sq, r->aeth_value);
	}
}

/* ---- Responses with data ---- */

void sq_written(struct sq *sq, struct wqe *w, int status)
{
	w->dma_pending--;
	w->done = engine_time(sq->e);
	if (status)
		sq_result_lost(sq, w);
}

/* Target memory of the result: 0, or a vendor error; absent: some of its pages are missing. */
static uint8_t result_pieces(struct sq *sq, const struct wqe *w, uint64_t off, uint32_t len,
			     struct piece *piece, uint32_t *n, bool *absent)
{
	const struct engine_lookup part = wqe_lookup(sq, w, off, len, HCASIM_ACCESS_LOCAL_WRITE);
	uint8_t err = 0;

	*n = 0;
	if (len)
		err = sq->e->ports->lookup(sq->e->host, &part, piece, n);
	*absent = !err && !sq->e->ports->present(sq->e->host, &part);
	return err;
}

static uint8_t issue_result(struct sq *sq, struct wqe *w, const struct piece *piece, uint32_t n)
{
	uint32_t tag = pending_new(sq, PENDING_RESULT, w);
	int count = -ENOMEM;

	if (tag != NO_TAG) {
		count = sq->e->ports->result(sq->e->host, sq->qpn, tag, piece, n);
		if (count <= 0)
			pending_end(sq->e, tag);
		else
			pending_of(sq->e, tag)->count = (uint32_t)count;
	}
	if (count < 0)
		return HCASIM_VENDOR_ERR_DMA_FAULT;
	w->dma_pending = (uint16_t)(w->dma_pending + count);
	return 0;
}

/* True if the result is being written to memory. */
static bool write_result(struct sq *sq, struct wqe *w, uint64_t off, uint32_t len)
{
	struct piece piece[ENGINE_MAX_PIECES];
	uint32_t n;
	bool absent;
	uint8_t err = result_pieces(sq, w, off, len, piece, &n, &absent);

	if (absent) {
		page_fault_send(sq, w, true);
		return false;
	}
	if (!err && n)
		err = issue_result(sq, w, piece, n);
	if (err)
		sq_fail(sq, w, HCASIM_CQE_STATUS_LOC_PROT_ERR, err);
	return !err;
}

static void read_response(struct sq *sq, struct wqe *w, const struct engine_response *r)
{
	uint32_t pkt = psn_sub(r->psn, w->first_psn);
	uint64_t total = op_reads(w->wr.op) ? w->wr.length : 0;
	uint64_t off = (uint64_t)pkt * sq->c.mtu, left = total - off;
	bool last = pkt == w->npsn - 1;

	if (r->payload_len != (left < sq->c.mtu ? left : sq->c.mtu) || last != r->end) {
		sq_fail(sq, w, HCASIM_CQE_STATUS_BAD_RESP_ERR, HCASIM_VENDOR_ERR_SEQUENCE);
		return;
	}
	if (write_result(sq, w, off, r->payload_len))
		sq_acked_to(sq, w, psn_add(r->psn, 1));
}

static void atomic_response(struct sq *sq, struct wqe *w, const struct engine_response *r)
{
	if (write_result(sq, w, 0, ATOMIC_BYTES))
		sq_acked_to(sq, w, psn_add(r->psn, 1));
}

static void data_response(struct sq *sq, const struct engine_response *r)
{
	struct wqe *w;

	if (r->psn != sq->una_psn && !ack_until(sq, psn_add(r->psn, HCASIM_PSN_MASK))) {
		implied_nak(sq);
		return;
	}
	w = sq->ack;
	if (w->failed)
		return;
	if (!op_answered(w->wr.op) ||
	    r->atomic != (op_reads(w->wr.op) && w->wr.op != HCASIM_WQE_OP_RDMA_READ))
		sq_fail(sq, w, HCASIM_CQE_STATUS_BAD_RESP_ERR, HCASIM_VENDOR_ERR_SEQUENCE);
	else if (r->atomic)
		atomic_response(sq, w, r);
	else
		read_response(sq, w, r);
}

/* Drop acknowledges of PSNs that were never sent, or are acknowledged already: they are late. */
void sq_response(struct sq *sq, const struct engine_response *r)
{
	sq_skip_acked(sq);
	if (!sq_reliable(sq) || psn_sub(r->psn, sq->una_psn) >= psn_sub(sq->next_psn, sq->una_psn))
		return;
	if (r->data) {
		data_response(sq, r);
	} else if (r->aeth_kind == HCASIM_AETH_KIND_ACK) {
		if (!ack_until(sq, r->psn))
			implied_nak(sq);
	} else if (r->aeth_kind == HCASIM_AETH_KIND_RNR || r->aeth_kind == HCASIM_AETH_KIND_NAK) {
		nak(sq, r);
	}
	sq_timer_update(sq);
}
