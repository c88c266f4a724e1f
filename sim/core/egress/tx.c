// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The last stage: a frame whose payload was read gets its ICRC and is sent. */
#include "core/egress/egress.h"
#include "core/wire/wire.h"

bool tx_pending(const struct hca *hca, struct hca_work *w)
{
	const struct txpkt *t = txq_head(&hca->tx);

	if (!t || t->dma_pending)
		return false;
	w->bytes = t->pkt->len;
	w->items = 1;
	return true;
}

static void send_frame(struct hca *hca, struct txpkt *t)
{
	struct hca_packet *pkt = t->pkt;

	if (t->sums_len)
		net_put_sums(pkt->data + t->sums_off, t->sums_len, qp_link(t->qp));
	if (t->qp->c.type != HCASIM_QPT_RAW_PACKET) {
		uint32_t body = pkt->len - HCASIM_ICRC_SIZE;
		uint32_t icrc = htole32(icrc_frame(hca->icrc_seed, pkt->data, body));

		memcpy(pkt->data + body, &icrc, sizeof(icrc));
	}
	t->pkt = NULL;
	hca->counters.tx_packets++;
	hca->ops.tx(hca->host, t->port, pkt);
}

void tx_step(struct hca *hca)
{
	struct txpkt *t = txq_pop(&hca->tx);
	struct qp *qp = t->qp;
	bool stale = qp->dead || qp->epoch != t->epoch;

	if (!stale && t->owner->may_leave(hca, qp, t) && hca->port[t->port - 1].up)
		send_frame(hca, t);
	if (!qp->dead)
		qp_update(hca, qp);
	txpkt_put(hca, t);
}
