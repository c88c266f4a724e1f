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
	c->serial = ++hca->dma_issued;
	list_add_tail(&hca->dma_busy, &c->node);
	if (c->d.pasid == HCA_PASID_DEVICE)
		dm_move(hca, &c->d);
	if (!hca->dying)
		hca->ops.dma(hca->host, &c->d);
}

uint64_t hca_dma_issued(const struct hca *hca)
{
	return hca->dma_issued;
}

bool hca_writes_under_way(const struct hca *hca, uint64_t issued)
{
	const struct node *n;

	for (n = hca->dma_busy.next; n != &hca->dma_busy; n = n->next) {
		const struct dma_ctx *c = node_entry(n, struct dma_ctx, node);

		if (c->serial > issued)
			break;
		if (c->d.write)
			return true;
	}
	return false;
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
	       a->tph.st == b->tph.st && a->relaxed == b->relaxed;
}

/* Transfer of a run of pieces; NULL: no memory. */
static struct dma_ctx *transfer(struct hca *hca, struct qp *qp, bool write, const struct piece *piece,
				uint32_t n, void *buf)
{
	struct dma_ctx *c = dma_get(hca, qp, HCA_DMA_PAYLOAD, write);

	if (c && !room_for(c, n)) {
		dma_put(hca, c);
		return NULL;
	}
	if (!c)
		return NULL;
	c->d.pasid = piece->pasid;
	c->d.tph = piece->tph;
	c->d.relaxed = piece->relaxed;
	c->d.buf = buf;
	for (; c->d.nseg < n; c->d.nseg++, piece++) {
		c->d.seg[c->d.nseg] = (struct hca_dma_seg){piece->addr, piece->len, piece->key};
		c->d.len += piece->len;
	}
	return c;
}

static void forget(struct hca *hca, struct hca_dma *d)
{
	while (d) {
		struct hca_dma *next = d->next;

		dma_put(hca, (struct dma_ctx *)d);
		d = next;
	}
}

/* All of them, one behind the other; NULL: no memory. */
static struct hca_dma *transfers(struct hca *hca, struct qp *qp, bool write, const struct piece *piece,
				 uint32_t n, uint8_t *buf)
{
	struct hca_dma *first = NULL, **end = &first;
	uint32_t i, j;

	for (i = 0; i < n; i = j) {
		struct dma_ctx *c;

		for (j = i; j < n && alike(&piece[i], &piece[j]); j++)
			;
		c = transfer(hca, qp, write, &piece[i], j - i, buf);
		if (!c) {
			forget(hca, first);
			return NULL;
		}
		buf += c->d.len;
		*end = &c->d;
		end = &c->d.next;
	}
	return first;
}

/*
 * Transfers of one direction complete in the order of issue, except those of device memory, which use the packet only
 * when they are issued.
 */
static struct dma_ctx *last_of(struct hca_dma *d)
{
	struct hca_dma *last = d;

	for (; d; d = d->next)
		if (d->pasid != HCA_PASID_DEVICE)
			last = d;
	return (struct dma_ctx *)last;
}

static uint32_t issue(struct hca *hca, struct hca_dma *d, void (*fn)(struct hca *, struct dma_ctx *, bool),
		      void *any, struct hca_packet *pkt)
{
	uint32_t count = 0;

	if (d)
		last_of(d)->pkt = pkt;
	while (d) {
		struct dma_ctx *c = (struct dma_ctx *)d;

		d = d->next;
		c->d.next = NULL;
		c->fn = fn;
		c->any = any;
		dma_go(hca, c);
		count++;
	}
	return count;
}

uint32_t dma_pieces(struct hca *hca, struct qp *qp, bool write, const struct piece *piece, uint32_t n,
		    void *buf, void (*fn)(struct hca *, struct dma_ctx *, bool), void *any,
		    struct hca_packet *pkt)
{
	struct piece *behind = NULL;
	struct hca_dma *all;

	if (key_indirect(piece, n)) {
		if (key_expand(hca, piece, n, &behind, &n))
			return UINT32_MAX;
		piece = behind;
	}
	all = transfers(hca, qp, write, piece, n, buf);
	free(behind);
	return n && !all ? UINT32_MAX : issue(hca, all, fn, any, pkt);
}

void hca_dma_done(struct hca *hca, struct hca_dma *dma)
{
	dma->done(hca, dma);
	hca_announce(hca);
}
