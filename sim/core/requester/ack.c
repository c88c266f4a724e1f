// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester's receiving half (IBTA 9.7.5, 9.7.6): acknowledges, NAKs, responses of READs and
 * atomics, and the timers. An acknowledge counts for all before it; a response that skips an earlier
 * READ, or an acknowledge that does, tells that responses were lost: an implied NAK.
 */
#include "core/memory/memory.h"
#include "core/memory/odp.h"
#include "core/requester/requester.h"

static void retry(struct hca *hca, struct qp *qp)
{
	struct sq *sq = &qp->sq;

	if (!sq->ack || !sq->ack->started)
		return;
	if (sq->retries >= qp->a.retry_cnt) {
		sq_fail(hca, qp, sq->ack, HCASIM_CQE_STATUS_RETRY_EXC_ERR, HCASIM_VENDOR_ERR_NONE);
		return;
	}
	sq->retries++;
	sq_rewind(hca, qp);
}

/* Responses under way make this true many times over; going back once repairs them all. */
static void implied_nak(struct hca *hca, struct qp *qp)
{
	if (qp->sq.nak_rewound || qp->sq.paging)
		return;
	qp->sq.nak_rewound = true;
	retry(hca, qp);
}

/* The peer has all up to `psn`. False: but a READ or atomic among them has not been answered. */
static bool ack_until(struct hca *hca, struct qp *qp, uint32_t psn)
{
	struct sq *sq = &qp->sq;
	struct wqe *w;

	while ((w = sq->ack)) {
		uint32_t left;

		if (!w->started || w->failed ||
		    psn_sub(psn, sq->una_psn) >= psn_sub(sq->next_psn, sq->una_psn))
			break;
		if (op_answered(w->wr.op))
			return false;
		left = w->npsn - psn_sub(sq->una_psn, w->first_psn);
		if (psn_sub(psn, sq->una_psn) < left)
			left = psn_sub(psn, sq->una_psn) + 1;
		sq_acked_to(hca, qp, w, psn_add(sq->una_psn, left));
	}
	return true;
}

/* ---- RNR ---- */

static void rnr_nak(struct hca *hca, struct qp *qp, uint8_t code)
{
	struct sq *sq = &qp->sq;

	if (!sq->ack || sq->rnr_wait)
		return;
	hca->counters.rnr_naks++;
	if (qp->a.rnr_retry != 7 && sq->rnr_retries >= qp->a.rnr_retry) {
		sq_fail(hca, qp, sq->ack, HCASIM_CQE_STATUS_RNR_RETRY_EXC_ERR, HCASIM_VENDOR_ERR_NONE);
		return;
	}
	sq->rnr_retries++;
	sq->retries = 0; /* the peer is there: only what it leaves unanswered from here on counts */
	sq_rewind(hca, qp);
	sq->rnr_wait = true;
	timer_set(hca, &sq->timer, hca_now(hca) + hcasim_rnr_timer_ns(code) * 1000ull);
}

void requester_timer(struct hca *hca, struct timer *t)
{
	struct qp *qp = node_entry(t, struct qp, sq.timer);
	struct sq *sq = &qp->sq;

	if (sq->rnr_wait) {
		sq->rnr_wait = false;
	} else if (hca_now(hca) < sq->ack_deadline) {
		timer_set(hca, t, sq->ack_deadline);
		return;
	} else if (sq->paging) { /* it waits for the host, not for the peer */
		sq_wait_anew(hca, qp);
	} else {
		hca->counters.timeouts++;
		sq->nak_rewound = false;
		retry(hca, qp);
	}
	sq_timer_update(hca, qp);
	qp_update(hca, qp);
}

/* ---- AETH ---- */

static void fatal_nak(struct hca *hca, struct qp *qp, uint8_t code)
{
	static const uint8_t status[] = {
		[HCASIM_NAK_INV_REQ] = HCASIM_CQE_STATUS_REM_INV_REQ_ERR,
		[HCASIM_NAK_REM_ACCESS] = HCASIM_CQE_STATUS_REM_ACCESS_ERR,
		[HCASIM_NAK_REM_OP] = HCASIM_CQE_STATUS_REM_OP_ERR,
		[HCASIM_NAK_INV_RD_REQ] = HCASIM_CQE_STATUS_BAD_RESP_ERR,
	};

	if (qp->sq.ack && qp->sq.ack->started)
		sq_fail(hca, qp, qp->sq.ack,
			code < sizeof(status) ? status[code] : HCASIM_CQE_STATUS_BAD_RESP_ERR,
			HCASIM_VENDOR_ERR_NONE);
}

static void nak(struct hca *hca, struct qp *qp, const struct pkt_info *info)
{
	bool all = ack_until(hca, qp, psn_add(info->psn, HCASIM_PSN_MASK));

	if (!all) {
		implied_nak(hca, qp);
		return;
	}
	if (info->aeth_kind == HCASIM_AETH_KIND_RNR) {
		rnr_nak(hca, qp, info->aeth_value);
	} else if (info->aeth_value == HCASIM_NAK_PSN_SEQ) {
		hca->counters.sequence_naks++;
		retry(hca, qp);
	} else {
		fatal_nak(hca, qp, info->aeth_value);
	}
}

/* ---- Responses with data ---- */

static void result_written(struct hca *hca, struct dma_ctx *c, bool stale)
{
	struct wqe *w = c->wqe;

	hca->rx_writes--;
	w->dma_pending--;
	if (!stale && c->d.status)
		sq_result_lost(hca, c->qp, w);
	wqe_put(hca, w);
}

/* True if the result is on its way to memory. */
static bool write_result(struct hca *hca, struct qp *qp, struct wqe *w, uint64_t off, void *buf, uint32_t len,
			 struct hca_packet **pkt)
{
	struct piece piece[CORE_MAX_SGE];
	uint32_t n = 0;
	uint8_t err = HCASIM_VENDOR_ERR_NONE;

	if (len)
		err = sge_slice(hca, qp->c.pdn, w->wr.sge, w->wr.num_sge, off, len, HCASIM_ACCESS_LOCAL_WRITE,
				piece, &n);
	if (!err && !sge_present(hca, w->wr.sge, w->wr.num_sge, off, len, true)) {
		page_fault_send(hca, qp, w, true);
		return false;
	}
	if (!err && n) {
		n = dma_pieces(hca, qp, true, piece, n, buf, result_written, w, *pkt);
		if (n == UINT32_MAX)
			err = HCASIM_VENDOR_ERR_DMA_FAULT;
	}
	if (err) {
		sq_fail(hca, qp, w, HCASIM_CQE_STATUS_LOC_PROT_ERR, err);
		return false;
	}
	if (n)
		*pkt = NULL;
	w->dma_pending = (uint16_t)(w->dma_pending + n);
	w->refs += n;
	hca->rx_writes += n;
	return true;
}

static void read_response(struct hca *hca, struct qp *qp, struct wqe *w, struct rxwork *rx)
{
	const struct pkt_info *info = &rx->info;
	uint32_t pkt = psn_sub(info->psn, w->first_psn);
	uint64_t total = op_reads(w->wr.op) ? w->wr.length : 0;
	uint64_t off = (uint64_t)pkt * qp->mtu, left = total - off;
	bool last = pkt == w->npsn - 1;

	if (info->payload_len != (left < qp->mtu ? left : qp->mtu) ||
	    last != !!(info->op->flags & HCASIM_BTH_F_END)) {
		sq_fail(hca, qp, w, HCASIM_CQE_STATUS_BAD_RESP_ERR, HCASIM_VENDOR_ERR_SEQUENCE);
		return;
	}
	if (!write_result(hca, qp, w, off, rx->pkt->data + info->payload_off, info->payload_len, &rx->pkt))
		return;
	sq_acked_to(hca, qp, w, psn_add(info->psn, 1));
}

static void atomic_response(struct hca *hca, struct qp *qp, struct wqe *w, const struct pkt_info *info)
{
	uint64_t orig = htole64(info->orig);
	struct hca_packet *none = NULL;

	memcpy(w->raw, &orig, sizeof(orig)); /* the WQE's own bytes are not needed any more */
	if (!write_result(hca, qp, w, 0, w->raw, sizeof(orig), &none))
		return;
	sq_acked_to(hca, qp, w, psn_add(info->psn, 1));
}

static void response(struct hca *hca, struct qp *qp, struct rxwork *rx)
{
	const struct pkt_info *info = &rx->info;
	bool atomic = info->op->flags & HCASIM_BTH_F_ATOMIC;
	struct wqe *w;

	if (info->psn != qp->sq.una_psn && !ack_until(hca, qp, psn_add(info->psn, HCASIM_PSN_MASK))) {
		implied_nak(hca, qp);
		return;
	}
	w = qp->sq.ack;
	if (!w || !w->started || w->failed || qp->sq.una_psn != info->psn)
		return;
	if (!op_answered(w->wr.op) || atomic != (op_reads(w->wr.op) && w->wr.op != HCASIM_WQE_OP_RDMA_READ))
		sq_fail(hca, qp, w, HCASIM_CQE_STATUS_BAD_RESP_ERR, HCASIM_VENDOR_ERR_SEQUENCE);
	else if (atomic)
		atomic_response(hca, qp, w, info);
	else
		read_response(hca, qp, w, rx);
}

/* Acknowledges of what was never sent, or is done already, are ghosts of earlier packets: dropped. */
void requester_rx(struct hca *hca, struct qp *qp, struct rxwork *rx)
{
	const struct pkt_info *info = &rx->info;
	struct sq *sq = &qp->sq;

	sq_skip_acked(hca, qp);
	if (!qp_reliable(qp) || !sq->ack || !sq->ack->started ||
	    psn_sub(info->psn, sq->una_psn) >= psn_sub(sq->next_psn, sq->una_psn))
		return;
	if (info->op->flags & (HCASIM_BTH_F_READ | HCASIM_BTH_F_ATOMIC))
		response(hca, qp, rx);
	else if (info->aeth_kind == HCASIM_AETH_KIND_ACK) {
		if (!ack_until(hca, qp, info->psn))
			implied_nak(hca, qp);
	} else if (info->aeth_kind == HCASIM_AETH_KIND_RNR || info->aeth_kind == HCASIM_AETH_KIND_NAK)
		nak(hca, qp, info);
	sq_timer_update(hca, qp);
}

void requester_failed(struct hca *hca, struct qp *qp)
{
	timer_cancel(hca, &qp->sq.timer);
	qp->sq.rnr_wait = false;
}
