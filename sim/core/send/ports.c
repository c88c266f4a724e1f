// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The ports of the send engine: host memory, translation, timers, and packets to the wire. */
#include "core/egress/egress.h"
#include "core/memory/memory.h"
#include "core/memory/odp.h"
#include "core/queues/page_request.h"
#include "core/queues/queues.h"
#include "core/send/send.h"
#include "core/wire/frame.h"
#include "core/wire/wire.h"

#define NO_TAG UINT32_MAX /* it is still the engine's */

static hca_ps port_now(void *host)
{
	return hca_now(host);
}

/* ---- WQE reads ---- */

static void read_done(struct hca *hca, struct dma_ctx *c, bool stale)
{
	hca->eng->read_done(hca->engine, c->n, c->d.buf, c->d.len, c->d.status);
}

static bool port_read(void *host, uint32_t qpn, uint32_t tag, uint32_t pasid, const struct hca_dma_seg *seg,
		      uint32_t nseg)
{
	struct hca *hca = host;
	uint32_t i, len = 0;
	struct dma_ctx *c = dma_get(hca, qp_find(hca, qpn), HCA_DMA_WQE, false);

	if (!c)
		return false;
	for (i = 0; i < nseg; i++) {
		c->d.seg[i] = seg[i];
		len += seg[i].len;
	}
	c->pkt = hca_packet_alloc(len); /* freed with the transfer */
	if (!c->pkt) {
		dma_put(hca, c);
		return false;
	}
	c->fn = read_done;
	c->n = tag;
	c->d.pasid = pasid;
	c->d.buf = c->pkt->data;
	c->d.len = len;
	/* A transfer inside the adapter takes time, but moves nothing. */
	c->d.nseg = rendezvous_read(c->qp, seg, nseg, c->pkt->data) ? 0 : nseg;
	dma_go(hca, c);
	return true;
}

/* ---- Translation ---- */

static uint8_t port_lookup(void *host, const struct engine_lookup *l, struct piece *out, uint32_t *npieces)
{
	if (!out)
		return sge_check_all(host, l->pdn, l->sge, l->num_sge, l->access);
	return sge_slice(host, l->pdn, l->sge, l->num_sge, l->off, (uint32_t)l->len, l->access, out, npieces);
}

static bool port_present(void *host, const struct engine_lookup *l)
{
	return sge_present(host, l->sge, l->num_sge, l->off, l->len, l->access);
}

static void pages_answered(struct hca *hca, struct page_request *r, bool mapped)
{
	hca->eng->pages(hca->engine, r->tag, mapped);
}

static void pages_released(struct hca *hca, struct page_request *r)
{
	hca->eng->released(hca->engine, r->tag);
}

static bool port_page_request(void *host, uint32_t qpn, uint32_t tag, const struct engine_lookup *l)
{
	static const struct page_owner owner = {pages_answered, pages_released};
	struct page_request *r = page_request_new(host, qp_find(host, qpn), &owner, l->num_sge);

	if (!r)
		return false;
	r->tag = tag;
	page_request_add_sges(host, r, l->sge, l->num_sge, l->off, l->len, l->access, false);
	page_request_go(host, r);
	return true;
}

static uint8_t port_local(void *host, uint32_t qpn, const struct hca_wr *wr)
{
	return window_execute(host, qp_find(host, qpn), wr);
}

/* ---- Packets ---- */

static bool may_leave(struct hca *hca, struct qp *qp, struct txpkt *t)
{
	return hca->eng->leave(hca->engine, t->tag, t->failed);
}

static void packet_released(struct hca *hca, struct txpkt *t)
{
	if (t->tag != NO_TAG)
		hca->eng->released(hca->engine, t->tag);
}

/* The send engine's, if it builds frames. */
static struct hca_packet *request_frame(struct hca *hca, struct txpkt *t)
{
	const struct engine_frame f = {
		.qpn = t->qp->qpn,
		.tag = t->tag,
		.smac = hca->cfg.mac[t->port - 1],
		.sgid = t->sgid,
		.piece = t->piece,
		.npieces = t->npieces,
		.data = t->pkt->data + t->payload_off,
	};
	uint8_t frame[ENGINE_FRAME_MAX];
	struct hca_packet *pkt;
	uint32_t len;

	if (!hca->eng->frame)
		return frame_take(hca, t);
	hca->leaving = t;
	len = hca->eng->frame(hca->engine, &f, frame);
	if (hca->eng->cycles)
		hca->step_cycles = hca->eng->cycles(hca->engine);
	hca->leaving = NULL;
	pkt = hca_packet_alloc(len);
	if (!pkt)
		return NULL;
	pkt->len = len;
	memcpy(pkt->data, frame, len);
	return pkt;
}

static uint32_t port_frame(void *host, uint8_t *out)
{
	const struct hca *hca = host;
	const struct txpkt *t = hca->leaving;

	memcpy(out, t->pkt->data, t->pkt->len);
	frame_finish(hca, t, out);
	return t->pkt->len;
}

static bool port_packet_room(void *host)
{
	return !txq_full(&((struct hca *)host)->gather);
}

/* The frame of a raw QP is all payload. */
static struct hca_packet *frame_build(uint32_t len, uint32_t *payload_off)
{
	struct hca_packet *pkt = hca_packet_alloc(len < ETH_MIN ? ETH_MIN : len);

	*payload_off = 0;
	if (!pkt)
		return NULL;
	pkt->len = pkt->cap;
	memset(pkt->data + len, 0, pkt->len - len);
	return pkt;
}

static bool fill_packet(struct hca *hca, struct txpkt *t, const struct engine_packet *p)
{
	t->pkt = p->raw ? frame_build(p->spec.payload_len, &t->payload_off)
			: packet_build(hca, &p->spec, &t->payload_off);
	if (!t->pkt || !txpkt_take(hca, t, p->piece, p->npieces))
		return false;
	if (!p->raw)
		memcpy(t->sgid, hca->port[t->port - 1].gid[p->spec.av->sgid_index % CORE_GIDS],
		       sizeof(t->sgid));
	if (p->sums) {
		t->sums = p->sums;
		t->sums_off = t->payload_off;
		t->sums_len = p->spec.payload_len;
	}
	if (p->head_len)
		memcpy(t->pkt->data + t->payload_off, p->head, p->head_len);
	t->payload_off += p->head_len;
	t->payload_len = p->spec.payload_len - p->head_len;
	return true;
}

static bool port_packet(void *host, uint32_t tag, const struct engine_packet *p)
{
	static const struct tx_owner request = {
		.may_leave = may_leave, .frame = request_frame, .release = packet_released};
	struct hca *hca = host;
	struct txpkt *t = txpkt_get(hca, qp_find(hca, p->qpn), &request);

	if (!t)
		return false;
	t->port = p->spec.port;
	t->psn = p->spec.psn;
	t->tag = NO_TAG;
	if (!fill_packet(hca, t, p)) {
		txpkt_put(hca, t);
		return false;
	}
	t->tag = tag;
	pace_charge(hca, t->qp, SCHED_REQUESTER, t->pkt->len);
	txq_push(hca, &hca->gather, t);
	return true;
}

/* ---- Results of READs and atomics ---- */

static void result_written(struct hca *hca, struct dma_ctx *c, bool stale)
{
	hca->rx_writes--;
	hca->eng->written(hca->engine, (uint32_t)(uintptr_t)c->any, c->d.status);
}

static uint32_t length_of(const struct piece *piece, uint32_t npieces)
{
	uint32_t len = 0;

	while (npieces--)
		len += piece++->len;
	return len;
}

static int port_result(void *host, uint32_t qpn, uint32_t tag, const struct piece *piece, uint32_t npieces)
{
	struct hca *hca = host;
	struct rxwork *w = hca->feedback;
	uint8_t *data = NULL;
	struct hca_packet *pkt;
	const int kept = result_keep(qp_find(hca, qpn), w, length_of(piece, npieces));
	uint32_t n;

	if (kept)
		return kept < 0 ? kept : 0;
	pkt = result_payload(w, &data);
	if (!pkt)
		return -ENOMEM;
	n = dma_pieces(hca, qp_find(hca, qpn), true, piece, npieces, data, result_written,
		       (void *)(uintptr_t)tag, pkt);
	if (n == UINT32_MAX) {
		if (pkt != w->pkt)
			hca_packet_free(pkt);
		return -ENOMEM;
	}
	if (pkt == w->pkt)
		w->pkt = NULL;
	hca->rx_writes += n;
	return (int)n;
}

/* ---- QPs ---- */

static void port_timer(void *host, uint32_t qpn, hca_ps at)
{
	struct qp *qp = qp_find(host, qpn);

	if (at == HCA_PS_NEVER)
		timer_cancel(host, &qp->sq_timer);
	else
		timer_set(host, &qp->sq_timer, at);
}

void send_timer(struct hca *hca, struct timer *t)
{
	struct qp *qp = node_entry(t, struct qp, sq_timer);

	hca->eng->timer(hca->engine, qp->qpn);
	qp_update(hca, qp);
}

static void port_failed(void *host, uint32_t qpn, uint8_t state)
{
	struct qp *qp = qp_find(host, qpn);

	if (state == HCASIM_QPS_ERR)
		qp_error(host, qp);
	else
		qp->a.state = state;
}

static void port_drained(void *host, uint32_t qpn)
{
	struct qp *qp = qp_find(host, qpn);

	if (qp->a.en_sqd_async_notify)
		event_raise(host, &qp->ev, HCASIM_EQE_TYPE_SQ_DRAINED);
}

static void port_saw_wqe(void *host, uint32_t qpn, const struct hca_wr *wr, const void *raw, uint32_t len)
{
	struct hca *hca = host;
	struct qp *qp = qp_find(hca, qpn);

	qp->decoded = (uint16_t)(wr->index + wr->num_bb);
	if (wr->op == HCASIM_WQE_OP_SEND || wr->op == HCASIM_WQE_OP_SEND_IMM ||
	    wr->op == HCASIM_WQE_OP_SEND_INV)
		hca_count(hca, qp->a.port, HCASIM_COUNTER_SENDS);
	result_expect(qp, wr);
	comp_cntr_expect(qp, wr);
	if (hca->ops.saw_wqe && !hca->dying)
		hca->ops.saw_wqe(hca->host, qpn, wr, raw, len);
}

static void port_retired(void *host, const struct engine_retired *r)
{
	struct hca *hca = host;

	if (hca->ops.retired && !hca->dying)
		hca->ops.retired(hca->host, r);
}

const struct engine_ports send_ports = {
	.now = port_now,
	.time = port_now,
	.read = port_read,
	.lookup = port_lookup,
	.present = port_present,
	.page_request = port_page_request,
	.local = port_local,
	.packet_room = port_packet_room,
	.packet = port_packet,
	.result = port_result,
	.timer = port_timer,
	.failed = port_failed,
	.drained = port_drained,
	.saw_wqe = port_saw_wqe,
	.retired = port_retired,
	.frame = port_frame,
};
