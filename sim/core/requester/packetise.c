// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester's sending half: the next packet of a send queue. Which packets a message has is
 * computed anew each time from the WQE and the packet's number in it, so that going back (IBTA
 * 9.7.5.1.1, go-back-N) is nothing but setting sq.cur and sq.cur_pkt.
 */
#include "core/egress/egress.h"
#include "core/memory/memory.h"
#include "core/memory/odp.h"
#include "core/requester/requester.h"
#include "core/wire/wire.h"
#include "core/wire/frame.h"

#include "hcasim_ops.h"

static uint8_t transport_of(uint8_t qp_type)
{
	switch (qp_type) {
	case HCASIM_QPT_UC:
		return HCASIM_TRANSPORT_UC;
	case HCASIM_QPT_UD:
		return HCASIM_TRANSPORT_UD;
	case HCASIM_QPT_XRC_SEND:
		return HCASIM_TRANSPORT_XRC;
	default:
		return HCASIM_TRANSPORT_RC;
	}
}

/* Payload bytes of a packet that is not the last. */
static uint32_t wqe_mtu(const struct qp *qp, const struct wqe *w)
{
	if (w->wr.op == HCASIM_WQE_OP_TSO)
		return w->wr.tso.mss;
	/* A datagram, or a frame, is one packet. */
	return qp->c.type == HCASIM_QPT_UD || qp->c.type == HCASIM_QPT_RAW_PACKET ? CORE_MSG_MAX : qp->mtu;
}

/* Bounds that keep go-back-N and 24-bit PSN arithmetic sound. */
static bool rc_window_open(const struct qp *qp, const struct wqe *w)
{
	const struct sq *sq = &qp->sq;
	uint32_t out = psn_sub(w->started ? psn_add(w->first_psn, sq->cur_pkt) : sq->next_psn, sq->una_psn);

	if (w->started && sq->ack == w)
		return out < CORE_WINDOW_PACKETS;
	if (w->started)
		return sq->cur_pkt < CORE_WINDOW_PACKETS;
	return out + packets_of(w->wr.length, qp->mtu) <= CORE_PSN_HALF;
}

static bool can_send(const struct qp *qp)
{
	const struct sq *sq = &qp->sq;
	const struct wqe *w = sq->cur;

	if (!w || w->failed || sq->rnr_wait || sq->paging || pace_waits(qp))
		return false;
	if (qp->a.state != HCASIM_QPS_RTS && !(qp->a.state == HCASIM_QPS_SQD && w->started))
		return false;
	if (!qp_reliable(qp))
		return true;
	/* IBTA 10.8.3.3: a fenced request starts after all earlier READs and atomics have completed. */
	if (!w->started && w->wr.flags & HCA_WR_FENCE && sq->rd_incomplete)
		return false;
	if (op_answered(w->wr.op) && sq->rd_out >= qp->a.max_rd_atomic)
		return false;
	return rc_window_open(qp, w);
}

void packetise_changed(struct hca *hca, struct qp *qp)
{
	list_set(&hca->tx_qps, &qp->on_tx, can_send(qp));
}

bool packetise_pending(const struct hca *hca, struct hca_work *work)
{
	const struct qp *qp;
	const struct wqe *w;
	uint64_t off, left;
	uint32_t mtu;

	if (list_empty(&hca->tx_qps) || txq_full(&hca->gather))
		return false;
	qp = node_entry(hca->tx_qps.next, struct qp, on_tx);
	w = qp->sq.cur;
	mtu = wqe_mtu(qp, w);
	off = (uint64_t)qp->sq.cur_pkt * mtu;
	left = op_reads(w->wr.op) || off > w->wr.length ? 0 : w->wr.length - off;
	work->bytes = left < mtu ? (uint32_t)left : mtu;
	work->items = 1 + w->wr.num_sge;
	work->qpn = qp->qpn;
	return true;
}

/* Windows are bound and invalidated here, in the turn of the WQE, and once. */
static bool local_start(struct hca *hca, struct qp *qp, struct wqe *w)
{
	uint8_t err = w->wr.op == HCASIM_WQE_OP_NOP ? 0 : window_execute(hca, qp, &w->wr);

	if (err)
		sq_fail(hca, qp, w, HCASIM_CQE_STATUS_MW_BIND_ERR, err);
	return !err;
}

/*
 * First sight of a WQE at the head: its keys, and its PSNs. The memory that an answer goes to is looked at when the
 * answer lands, as adapters do: what the peer refuses comes first, and an atomic has been executed by then.
 */
static bool wqe_start(struct hca *hca, struct qp *qp, struct wqe *w)
{
	struct sq *sq = &qp->sq;
	uint8_t err = HCASIM_VENDOR_ERR_NONE;

	if (!(w->wr.flags & HCA_WR_INLINE) && !op_reads(w->wr.op))
		err = sge_check_all(hca, qp->c.pdn, w->wr.sge, w->wr.num_sge, 0);
	if (err) {
		sq_fail(hca, qp, w, HCASIM_CQE_STATUS_LOC_PROT_ERR, err);
		return false;
	}
	if (op_local(w->wr.op) && !local_start(hca, qp, w))
		return false;
	w->started = true;
	w->first_psn = sq->next_psn;
	w->npsn = packets_of(w->wr.length, wqe_mtu(qp, w));
	if (w->wr.op == HCASIM_WQE_OP_ATOMIC_CS || w->wr.op == HCASIM_WQE_OP_ATOMIC_FA)
		w->npsn = 1;
	if (op_local(w->wr.op))
		w->npsn = 0;
	sq->next_psn = psn_add(sq->next_psn, w->npsn);
	if (op_answered(w->wr.op))
		sq->rd_incomplete++;
	return true;
}

static uint8_t opcode_of(const struct qp *qp, const struct wqe *w, uint32_t pkt)
{
	const struct hcasim_msg_codes *m = &hcasim_msg_codes[hcasim_wqe_op_info(w->wr.op)->msg];
	uint8_t base = (uint8_t)(transport_of(qp->c.type) << HCASIM_BTH_TRANSPORT_SHIFT);

	if (w->npsn == 1 || op_reads(w->wr.op) || w->wr.op == HCASIM_WQE_OP_TSO)
		return base | m->only;
	if (!pkt)
		return base | m->first;
	return base | (pkt == w->npsn - 1 ? m->last : m->middle);
}

static void spec_of(const struct qp *qp, const struct wqe *w, struct pkt_spec *s)
{
	uint32_t pkt = qp->sq.cur_pkt;
	uint32_t mtu = wqe_mtu(qp, w);
	uint64_t off = (uint64_t)pkt * mtu;
	const struct hca_wr *wr = &w->wr;
	bool last = op_reads(wr->op) || pkt == w->npsn - 1;
	bool ud = qp->c.type == HCASIM_QPT_UD;

	*s = (struct pkt_spec){
		.opcode = opcode_of(qp, w, pkt),
		.port = qp->a.port,
		.av = ud ? &wr->ud.av : &qp->a.av,
		.sport = ud ? packet_sport(wr->ud.av.flow_label, qp->qpn, wr->ud.qpn) : qp->udp_sport,
		.dqpn = ud ? wr->ud.qpn : qp->a.dest_qpn,
		.psn = psn_add(w->first_psn, pkt),
		.qkey = ud && wr->ud.qkey >> 31 ? qp->a.qkey : wr->ud.qkey,
		.sqpn = qp->qpn,
		.srqn = wr->srqn,
		.ackreq = qp_reliable(qp) && (last || pkt % CORE_ACKREQ_EVERY == CORE_ACKREQ_EVERY - 1),
		.va = wr->remote_addr,
		.swap_add = wr->swap_add,
		.compare = wr->compare,
		.rkey = wr->rkey,
		.dmalen = (uint32_t)(wr->op == HCASIM_WQE_OP_FLUSH ? wr->flush.length : wr->length),
		.plt = wr->flush.type,
		.sel = wr->flush.level,
		.imm = wr->imm,
		.inv_rkey = wr->inv_rkey,
	};
	s->se = last && wr->flags & HCA_WR_SOLICITED &&
		hcasim_bth_op_info(s->opcode)->flags & HCASIM_BTH_F_COMP;
	if (wr->op == HCASIM_WQE_OP_RDMA_READ) { /* also one that goes on where responses were lost */
		s->va += off;
		s->dmalen -= (uint32_t)off;
	} else if (!op_reads(wr->op)) {
		uint64_t left = wr->length - off;

		s->payload_len = left < mtu ? (uint32_t)left : mtu;
		if (wr->op == HCASIM_WQE_OP_TSO)
			s->payload_len += wr->tso.hdr_size;
	}
}

/* Names the payload's places in host memory; GATHER reads them. */
static uint8_t plan_payload(struct hca *hca, struct qp *qp, const struct wqe *w, uint64_t off,
			    struct txpkt *t)
{
	const struct hca_wr *wr = &w->wr;

	if (!t->payload_len)
		return HCASIM_VENDOR_ERR_NONE;
	if (wr->flags & HCA_WR_INLINE) {
		memcpy(t->pkt->data + t->payload_off, wr->inline_data + off, t->payload_len);
		t->payload_len = 0;
		return HCASIM_VENDOR_ERR_NONE;
	}
	if (wr->num_sge > sizeof(t->few) / sizeof(t->few[0])) {
		t->piece = malloc(wr->num_sge * sizeof(*t->piece));
		if (!t->piece) {
			t->piece = t->few;
			return HCASIM_VENDOR_ERR_DMA_FAULT;
		}
	}
	return sge_slice(hca, qp->c.pdn, wr->sge, wr->num_sge, off, t->payload_len, 0, t->piece, &t->npieces);
}

/* The frame that a raw QP sends is all payload. */
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

/* Headers that the device itself writes into the payload, and checksums to be put in later. */
static void offload(const struct qp *qp, const struct wqe *w, struct txpkt *t)
{
	const struct hca_wr *wr = &w->wr;
	bool tso = wr->op == HCASIM_WQE_OP_TSO;

	if (tso || wr->flags & HCA_WR_IP_CSUM) {
		t->sums_off = t->payload_off;
		t->sums_len = t->payload_len;
	}
	if (!tso)
		return;
	t->payload_len -= wr->tso.hdr_size;
	tso_write(t->pkt->data + t->payload_off, wr, wqe_link(qp), qp->sq.cur_pkt, t->payload_len, t->last);
	t->payload_off += wr->tso.hdr_size;
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
	if (t->last && !qp_reliable(qp))
		sq_left(w);
	return !t->failed;
}

static void request_release(struct hca *hca, struct txpkt *t)
{
	if (t->wqe)
		wqe_put(hca, t->wqe);
}

static const struct tx_owner request = {.may_leave = request_may_leave, .release = request_release};

static void make_packet(struct hca *hca, struct qp *qp, struct wqe *w)
{
	uint64_t off = (uint64_t)qp->sq.cur_pkt * wqe_mtu(qp, w);
	struct txpkt *t = txpkt_get(hca, qp, &request);
	struct pkt_spec s;
	uint8_t err;

	if (!t)
		return; /* no memory: the next step tries again */
	spec_of(qp, w, &s);
	t->wqe = w;
	w->refs++;
	t->port = s.port;
	t->psn = s.psn;
	t->last = op_reads(w->wr.op) || qp->sq.cur_pkt == w->npsn - 1;
	t->payload_len = s.payload_len;
	t->pkt = qp->c.type == HCASIM_QPT_RAW_PACKET ? frame_build(s.payload_len, &t->payload_off)
						     : packet_build(hca, &s, &t->payload_off);
	if (!t->pkt) {
		txpkt_put(hca, t);
		return;
	}
	offload(qp, w, t);
	err = plan_payload(hca, qp, w, off, t);
	if (err) {
		txpkt_put(hca, t);
		sq_fail(hca, qp, w, HCASIM_CQE_STATUS_LOC_PROT_ERR, err);
		return;
	}
	pace_charge(hca, qp, t->pkt->len);
	txq_push(&hca->gather, t);
	sq_sent(hca, qp, w);
	sq_timer_update(hca, qp);
}

/* The pages of the next packet's payload. Those of a result are looked at when it comes. */
static bool payload_present(const struct hca *hca, const struct qp *qp, const struct wqe *w)
{
	uint32_t mtu = wqe_mtu(qp, w);
	uint64_t off = (uint64_t)qp->sq.cur_pkt * mtu;

	return op_reads(w->wr.op) || w->wr.flags & HCA_WR_INLINE ||
	       sge_present(hca, w->wr.sge, w->wr.num_sge, off, mtu, false);
}

void packetise_step(struct hca *hca)
{
	struct qp *qp = node_entry(hca->tx_qps.next, struct qp, on_tx);
	struct wqe *w = qp->sq.cur;

	list_del(&qp->on_tx); /* back to the end of the line, if it has more */
	if (w->started || wqe_start(hca, qp, w)) {
		if (!w->npsn) {
			sq_executed(hca, qp, w);
		} else if (payload_present(hca, qp, w)) {
			make_packet(hca, qp, w);
		} else {
			page_fault_send(hca, qp, w, false);
		}
	}
	qp_update(hca, qp);
}
