// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Pending transfers. Each holds a reference on its QP, if it has one. */
#include "core/memory/memory.h"

static void dma_finished(struct hca *hca, struct hca_dma *d)
{
	struct dma_ctx *c = (struct dma_ctx *)d;
	struct qp *qp = c->qp;

	list_del(&c->node);
	c->fn(hca, c, qp && (qp->dead || qp->epoch != c->epoch));
	dma_put(hca, c);
	if (qp) {
		if (!qp->dead)
			qp_update(hca, qp);
		qp_put(hca, qp);
	}
}

struct dma_ctx *dma_get(struct hca *hca, struct qp *qp, enum hca_dma_class class_, bool write)
{
	struct dma_ctx *c = hca->dma_pool;

	if (c)
		hca->dma_pool = (struct dma_ctx *)c->d.next;
	else
		c = malloc(sizeof(*c));
	if (!c)
		return NULL;
	memset(&c->d, 0, sizeof(c->d));
	c->d.write = write;
	c->d.class_ = class_;
	c->d.qpn = qp ? qp->qpn : 0;
	c->d.seg = c->few;
	c->few[0].key = 0;
	c->d.done = dma_finished;
	c->qp = qp;
	c->epoch = qp ? qp->epoch : 0;
	c->pkt = NULL;
	c->any = NULL;
	c->n = 0;
	return c;
}

/* For a transfer that was not passed to the host, and at the end of every other one. */
void dma_put(struct hca *hca, struct dma_ctx *c)
{
	if (c->d.seg != c->few)
		free(c->d.seg);
	if (c->pkt)
		hca_packet_free(c->pkt);
	c->d.next = (struct hca_dma *)hca->dma_pool;
	hca->dma_pool = c;
}

void dma_go(struct hca *hca, struct dma_ctx *c)
{
	if (c->qp)
		qp_get(c->qp);
	list_add_tail(&hca->dma_busy, &c->node);
	if (c->d.pasid == HCA_PASID_DEVICE)
		dm_move(hca, &c->d);
	if (!hca->dying)
		hca->ops.dma(hca->host, &c->d);
}

void dma_one(struct hca *hca, struct dma_ctx *c, uint32_t pasid, uint64_t addr, void *buf, uint32_t len)
{
	c->d.pasid = pasid;
	c->d.buf = buf;
	c->d.len = len;
	c->d.nseg = 1;
	c->d.seg[0].addr = addr;
	c->d.seg[0].len = len;
	dma_go(hca, c);
}

static bool room_for(struct dma_ctx *c, uint32_t nseg)
{
	if (nseg <= sizeof(c->few) / sizeof(c->few[0]))
		return true;
	c->d.seg = malloc(nseg * sizeof(*c->d.seg));
	if (c->d.seg)
		return true;
	c->d.seg = c->few;
	return false;
}

static bool alike(const struct piece *a, const struct piece *b)
{
	return a->pasid == b->pasid && a->tph.on == b->tph.on && a->tph.ph == b->tph.ph &&
	       a->tph.st == b->tph.st;
}

uint32_t dma_pieces(struct hca *hca, struct qp *qp, bool write, const struct piece *piece, uint32_t n,
		    void *buf, void (*fn)(struct hca *, struct dma_ctx *, bool), void *any,
		    struct hca_packet *pkt)
{
	struct dma_ctx *ready[CORE_MAX_SGE + 2];
	uint32_t i, j, count = 0, last = 0;

	for (i = 0; i < n; i = j) {
		struct dma_ctx *c = dma_get(hca, qp, HCA_DMA_PAYLOAD, write);

		for (j = i; j < n && alike(&piece[i], &piece[j]); j++)
			;
		if (!c || !room_for(c, j - i)) {
			if (c)
				dma_put(hca, c);
			while (count)
				dma_put(hca, ready[--count]);
			return UINT32_MAX;
		}
		c->fn = fn;
		c->any = any;
		c->d.pasid = piece[i].pasid;
		c->d.tph = piece[i].tph;
		c->d.buf = buf;
		for (; c->d.nseg < j - i; c->d.nseg++) {
			const struct piece *p = &piece[i + c->d.nseg];

			c->d.seg[c->d.nseg] = (struct hca_dma_seg){p->addr, p->len, p->key};
			c->d.len += p->len;
		}
		buf = (uint8_t *)buf + c->d.len;
		if (c->d.pasid != HCA_PASID_DEVICE)
			last = count;
		ready[count++] = c;
	}
	/*
	 * Transfers of one direction complete in the order of issue, except those of device memory, which use the
	 * packet only when they are issued.
	 */
	if (count)
		ready[last]->pkt = pkt;
	for (i = 0; i < count; i++)
		dma_go(hca, ready[i]);
	return count;
}

void hca_dma_done(struct hca *hca, struct hca_dma *dma)
{
	dma->done(hca, dma);
	hca_announce(hca);
}
