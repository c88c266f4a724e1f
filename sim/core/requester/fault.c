// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Page faults of a send queue: it stands still until the driver half has answered. */
#include "core/queues/page_request.h"
#include "core/requester/requester.h"

/* Bits of sq.paging. */
#define PAGING_GATHER 1
#define PAGING_RESULT 2

static bool still_queued(const struct qp *qp, const struct wqe *w)
{
	const struct wqe *x = qp->sq.head;

	while (x && x != w)
		x = x->next;
	return x;
}

static void goes_on(struct hca *hca, const struct page_request *r, bool mapped, uint8_t bit)
{
	struct qp *qp = r->qp;

	qp->sq.paging &= (uint8_t)~bit;
	if (qp_flushing(qp) || !still_queued(qp, r->wqe))
		return;
	if (!mapped)
		sq_fail(hca, qp, r->wqe, HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_VENDOR_ERR_DMA_FAULT);
	else if (bit == PAGING_RESULT)
		sq_rewind(hca, qp);
	sq_timer_update(hca, qp);
}

static void payload_answered(struct hca *hca, struct page_request *r, bool mapped)
{
	goes_on(hca, r, mapped, PAGING_GATHER);
}

static void result_answered(struct hca *hca, struct page_request *r, bool mapped)
{
	goes_on(hca, r, mapped, PAGING_RESULT);
}

static void release(struct hca *hca, struct page_request *r)
{
	if (r->wqe)
		wqe_put(hca, r->wqe);
}

static const struct page_owner gather_owner = {payload_answered, release};
static const struct page_owner result_owner = {result_answered, release};

void page_fault_send(struct hca *hca, struct qp *qp, struct wqe *w, bool result)
{
	const uint8_t bit = result ? PAGING_RESULT : PAGING_GATHER;
	struct page_request *r;

	if (qp->sq.paging & bit)
		return;
	r = page_request_new(hca, qp, result ? &result_owner : &gather_owner, w->wr.num_sge);
	if (!r) {
		sq_fail(hca, qp, w, HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_VENDOR_ERR_DMA_FAULT);
		return;
	}
	page_request_add_sges(hca, r, w->wr.sge, w->wr.num_sge, 0, UINT64_MAX, result, false);
	r->wqe = w;
	w->refs++;
	qp->sq.paging |= bit;
	page_request_go(hca, r);
}
