// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The arbiter of send queues, and the reads of their basic blocks: as many WQEs as one read holds, one
 * read of a queue at a time. In the error states the queue is read on, because where a WQE ends, and so
 * what is to be flushed, stands in the WQEs.
 */
#include "core/memory/memory.h"
#include "core/requester/requester.h"

struct fetch *fetch_get(struct hca *hca)
{
	struct fetch *f = hca->fetch_pool;

	if (f)
		hca->fetch_pool = f->next;
	else
		f = malloc(sizeof(*f));
	if (f) {
		f->next = NULL;
		f->qp = NULL;
		f->used_bb = 0;
		f->failed = false;
	}
	return f;
}

void fetch_put(struct hca *hca, struct fetch *f)
{
	f->next = hca->fetch_pool;
	hca->fetch_pool = f;
}

/* To the decoder. Holds a place of fetch_room and a reference on the QP. */
void fetch_queue(struct hca *hca, struct fetch *f)
{
	f->next = NULL;
	*hca->decode_tail = f;
	hca->decode_tail = &f->next;
}

static bool can_fetch(const struct qp *qp)
{
	return (qp->a.state == HCASIM_QPS_RTS || qp_flushing(qp)) && !qp->sq.fetching &&
	       qp->sq.fetched != qp->sq.pi && qp->sq.nwqe < CORE_SQ_WINDOW;
}

void fetch_changed(struct hca *hca, struct qp *qp)
{
	list_set(&hca->fetch_qps, &qp->on_fetch, can_fetch(qp));
}

static uint32_t fetch_size(const struct hca *hca, const struct qp *qp)
{
	uint32_t n = (uint16_t)(qp->sq.pi - qp->sq.fetched), max = CORE_FETCH_BYTES / hca->pers->wqebb_size;

	if (max > qp->sq.ring.entries)
		max = qp->sq.ring.entries;
	return n < max ? n : max;
}

bool fetch_pending(const struct hca *hca, struct hca_work *w)
{
	struct qp *qp;

	if (list_empty(&hca->fetch_qps) || !hca->fetch_room)
		return false;
	qp = node_entry(hca->fetch_qps.next, struct qp, on_fetch);
	w->items = fetch_size(hca, qp);
	w->bytes = w->items * hca->pers->wqebb_size;
	w->qpn = qp->qpn;
	return true;
}

static void fetched(struct hca *hca, struct dma_ctx *c, bool stale)
{
	struct fetch *f = c->fetch;

	if (stale) {
		hca->fetch_room++;
		fetch_put(hca, f);
		return;
	}
	f->failed = c->d.status != 0;
	qp_get(f->qp);
	fetch_queue(hca, f);
}

void fetch_step(struct hca *hca)
{
	struct qp *qp = node_entry(hca->fetch_qps.next, struct qp, on_fetch);
	uint32_t bb = hca->pers->wqebb_size, n = fetch_size(hca, qp);
	uint32_t first = qp->sq.fetched & (qp->sq.ring.entries - 1);
	uint32_t straight = qp->sq.ring.entries - first;
	struct dma_ctx *c = dma_get(hca, qp, HCA_DMA_WQE, false);
	struct fetch *f = fetch_get(hca);

	list_del(&qp->on_fetch);
	if (!c || !f) {
		if (c)
			dma_put(hca, c);
		if (f)
			fetch_put(hca, f);
		qp_update(hca, qp);
		return;
	}
	f->qp = qp;
	f->epoch = qp->epoch;
	f->index = qp->sq.fetched;
	f->num_bb = n;
	c->fn = fetched;
	c->fetch = f;
	c->d.pasid = qp->sq.ring.pasid;
	c->d.buf = f->data;
	c->d.len = n * bb;
	c->d.nseg = n > straight ? 2 : 1;
	if (straight > n)
		straight = n;
	c->d.seg[0] = (struct hca_dma_seg){qp->sq.ring.addr + (uint64_t)first * bb, straight * bb};
	c->d.seg[1] = (struct hca_dma_seg){qp->sq.ring.addr, (n - straight) * bb};
	qp->sq.fetching = true;
	qp->sq.fetched = (uint16_t)(qp->sq.fetched + n);
	hca->fetch_room--;
	dma_go(hca, c);
	qp_update(hca, qp);
}
