// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Page faults of a send queue: it stops until the driver has answered. */
#include "core/requester/sq.h"

/* Bits of sq.paging. */
#define PAGING_GATHER 1
#define PAGING_RESULT 2

static bool still_queued(const struct sq *sq, const struct wqe *w)
{
	const struct wqe *x = sq->head;

	while (x && x != w)
		x = x->next;
	return x;
}

void pages_answered(struct sq *sq, const struct pending *p, bool mapped)
{
	sq->paging &= (uint8_t)~p->bit;
	if (sq_flushing(sq) || !still_queued(sq, p->wqe))
		return;
	if (!mapped)
		sq_fail(sq, p->wqe, HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_VENDOR_ERR_DMA_FAULT);
	else if (p->bit == PAGING_RESULT && sq->ack && sq->ack->started)
		sq_rewind(sq);
	sq_timer_update(sq);
}

void page_fault_send(struct sq *sq, struct wqe *w, bool result)
{
	const struct engine_lookup all =
		wqe_lookup(sq, w, 0, UINT64_MAX, result ? HCASIM_ACCESS_LOCAL_WRITE : 0);
	const uint8_t bit = result ? PAGING_RESULT : PAGING_GATHER;
	uint32_t tag;

	if (sq->paging & bit)
		return;
	tag = pending_new(sq, PENDING_PAGES, w);
	if (tag != NO_TAG) {
		pending_of(sq->e, tag)->bit = bit;
		if (sq->e->ports->page_request(sq->e->host, sq->qpn, tag, &all)) {
			sq->paging |= bit;
			return;
		}
		pending_end(sq->e, tag);
	}
	sq_fail(sq, w, HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_VENDOR_ERR_DMA_FAULT);
}
