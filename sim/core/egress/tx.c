// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The last stage: a packet whose payload was read becomes a frame and is sent. */
#include "core/egress/egress.h"
#include "core/wire/wire.h"

#define SUMS_LINE 64 /* bytes that the checksum unit takes at a time */

/* Items: the pieces of the payload, and what is summed. */
bool tx_pending(const struct hca *hca, struct hca_work *w)
{
	const struct txpkt *t = txq_head(&hca->tx);

	if (!t || t->dma_pending)
		return false;
	w->bytes = t->pkt->len;
	w->items = (t->npieces ? t->npieces : 1) + (t->sums_len + SUMS_LINE - 1) / SUMS_LINE;
	return true;
}

void frame_finish(const struct hca *hca, const struct txpkt *t, uint8_t *frame)
{
	uint32_t body = t->pkt->len - HCASIM_ICRC_SIZE, icrc;

	if (t->sums_len)
		net_put_sums(frame + t->sums_off, t->sums_len, qp_link(t->qp), t->sums);
	if (t->qp->c.type == HCASIM_QPT_RAW_PACKET)
		return;
	icrc = htole32(icrc_frame(hca->icrc_seed, frame, body));
	memcpy(frame + body, &icrc, sizeof(icrc));
}

struct hca_packet *frame_take(struct hca *hca, struct txpkt *t)
{
	struct hca_packet *pkt = t->pkt;

	frame_finish(hca, t, pkt->data);
	t->pkt = NULL;
	return pkt;
}

/* Without memory it is as if it were lost on the wire; so is what a flow drops. */
static void send_frame(struct hca *hca, struct txpkt *t)
{
	const bool raw = t->qp->c.type == HCASIM_QPT_RAW_PACKET;
	struct hca_packet *pkt = t->owner->frame ? t->owner->frame(hca, t) : frame_take(hca, t);

	if (!pkt)
		return;
	if (!hca->parts->lets_out(hca, raw ? HCA_FLOW_TX : HCA_FLOW_ROCE_TX, t->port, &pkt)) {
		hca_count(hca, t->port, HCASIM_COUNTER_TX_DISCARDS);
		hca_packet_free(pkt);
		return;
	}
	if (raw)
		hca_count(hca, t->port, HCASIM_COUNTER_TX_RAW_FRAMES);
	else
		count_frame(hca, t->port, pkt, true);
	hca->ops.tx(hca->host, t->port, pkt);
}

void tx_step(struct hca *hca)
{
	struct txpkt *t = txq_pop(&hca->tx);
	struct qp *qp = t->qp;
	bool stale = qp->dead || qp->epoch != t->epoch;

	if (!stale && t->owner->may_leave(hca, qp, t)) {
		if (hca->port[t->port - 1].up)
			send_frame(hca, t);
		else
			hca_count(hca, t->port, HCASIM_COUNTER_TX_DISCARDS);
	}
	if (!qp->dead)
		qp_update(hca, qp);
	txpkt_put(hca, t);
}
