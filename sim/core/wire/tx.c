// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The end of the sending half: a frame whose payload has come gets its ICRC and leaves. */
#include "core/core.h"

bool tx_pending(const struct hca *hca, struct hca_work *w)
{
	const struct txpkt *t = txq_head(&hca->tx);

	if (!t || t->dma_pending)
		return false;
	w->bytes = t->pkt->len;
	w->items = 1;
	w->qpn = t->qp->qpn;
	return true;
}

/* False: the WQE, or one before it, has failed meanwhile, or its queue has stopped. */
static bool request_may_leave(struct hca *hca, struct qp *qp, struct txpkt *t)
{
	struct wqe *w = t->wqe;

	if (qp->a.state != HCASIM_QPS_RTS && qp->a.state != HCASIM_QPS_SQD)
		return false;
	if (t->failed)
		sq_fail(hca, qp, w, HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_VENDOR_ERR_DMA_FAULT);
	if (qp->sq.fault && (int32_t)(w->seq - qp->sq.fault_seq) >= 0)
		return false;
	/* An unreliable send is complete when its last packet has left (IBTA 9.8.1.2, 9.8.2). */
	if (t->last && !qp_reliable(qp))
		w->acked = true;
	return !t->failed;
}

static bool may_leave(struct hca *hca, struct qp *qp, struct txpkt *t)
{
	if (qp->dead || qp->epoch != t->epoch)
		return false;
	switch (t->kind) {
	case TX_REQUEST:
		return request_may_leave(hca, qp, t);
	case TX_READ_RESPONSE:
		if (t->failed && t->duplicate) /* memory that was given back since, see read_gone() */
			return false;
		if (t->failed) {
			respond_faulted(hca, qp, t);
			qp->resp.read_fault = true;
		}
		/* Of a READ that failed nothing leaves any more; one before the NAK is still answered. */
		return !qp->resp.read_fault;
	default:
		return true;
	}
}

static void send_frame(struct hca *hca, struct txpkt *t)
{
	struct hca_packet *pkt = t->pkt;

	if (t->sums_len)
		net_put_sums(pkt->data + t->sums_off, t->sums_len, wqe_link(t->qp));
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

	if (may_leave(hca, qp, t) && hca->port[t->port - 1].up)
		send_frame(hca, t);
	if (!qp->dead)
		qp_update(hca, qp);
	txpkt_put(hca, t);
}
