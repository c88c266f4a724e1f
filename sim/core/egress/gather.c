// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Outgoing packets and the reads of their payload. Frames leave in the order in which they were made. */
#include "core/egress/egress.h"
#include "core/memory/memory.h"

bool txq_init(struct txq *q, uint32_t depth)
{
	q->depth = depth;
	q->slot = calloc(depth, sizeof(*q->slot));
	return q->slot;
}

bool txq_full(const struct txq *q)
{
	return q->count == q->depth;
}

void txq_push(struct hca *hca, struct txq *q, struct txpkt *t)
{
	t->since = hca_now(hca);
	q->slot[(q->head + q->count++) % q->depth] = t;
}

struct txpkt *txq_head(const struct txq *q)
{
	return q->count ? q->slot[q->head] : NULL;
}

struct txpkt *txq_pop(struct txq *q)
{
	struct txpkt *t = q->slot[q->head];

	q->head = (q->head + 1) % q->depth;
	q->count--;
	return t;
}

struct txpkt *txpkt_get(struct hca *hca, struct qp *qp, const struct tx_owner *owner)
{
	struct txpkt *t = hca->txpkt_pool;

	if (t)
		hca->txpkt_pool = t->next;
	else
		t = malloc(sizeof(*t));
	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->qp = qp;
	t->epoch = qp->epoch;
	t->owner = owner;
	t->piece = t->few;
	qp_get(qp);
	return t;
}

void txpkt_put(struct hca *hca, struct txpkt *t)
{
	hca_packet_free(t->pkt);
	if (t->piece != t->few)
		free(t->piece);
	if (t->owner->release)
		t->owner->release(hca, t);
	qp_put(hca, t->qp);
	t->next = hca->txpkt_pool;
	hca->txpkt_pool = t;
}

bool txpkt_take(struct hca *hca, struct txpkt *t, const struct piece *piece, uint32_t n)
{
	if (key_indirect(piece, n))
		return !key_expand(hca, piece, n, &t->piece, &t->npieces);
	if (n > sizeof(t->few) / sizeof(t->few[0])) {
		struct piece *all = malloc(n * sizeof(*all));

		if (!all)
			return false;
		t->piece = all;
	}
	if (n)
		memcpy(t->piece, piece, n * sizeof(*piece));
	t->npieces = n;
	return true;
}

bool gather_pending(const struct hca *hca, struct hca_work *w)
{
	const struct txpkt *t = txq_head(&hca->gather);

	if (!t || txq_full(&hca->tx))
		return false;
	w->bytes = t->payload_len;
	w->items = t->npieces ? t->npieces : 1;
	return true;
}

static void gathered(struct hca *hca, struct dma_ctx *c, bool stale)
{
	c->tx->dma_pending--;
	c->tx->since = hca_now(hca);
	if (c->d.status)
		c->tx->failed = true;
}

void gather_step(struct hca *hca)
{
	struct txpkt *t = txq_pop(&hca->gather);

	txq_push(hca, &hca->tx, t);
	if (t->npieces && !t->qp->dead && t->qp->epoch == t->epoch) {
		uint32_t n = dma_pieces(hca, t->qp, false, t->piece, t->npieces,
					t->pkt->data + t->payload_off, gathered, t, NULL);

		if (n == UINT32_MAX)
			t->failed = true;
		else
			t->dma_pending = (uint16_t)n;
	}
}
