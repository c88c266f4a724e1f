// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The send side of the requester: makes the next packet of a send queue. The packets of a message are computed from
 * the WQE and the packet's number in it, so going back (IBTA 9.7.5.1.1, go-back-N) only sets sq.cur and sq.cur_pkt.
 */
#include "core/requester/sq.h"

#include "hcasim_ops.h"

#define WINDOW_PACKETS 512 /* unacknowledged packets inside one message */
#define ACKREQ_EVERY   128

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

/* Payload bytes of every packet but the last. */
static uint32_t wqe_mtu(const struct sq *sq, const struct wqe *w)
{
	if (w->wr.op == HCASIM_WQE_OP_TSO)
		return w->wr.tso.mss;
	/* A datagram or a frame is one packet. */
	return sq->c.type == HCASIM_QPT_UD || sq->c.type == HCASIM_QPT_RAW_PACKET ? CORE_MSG_MAX : sq->c.mtu;
}

/* Limits that keep go-back-N and 24-bit PSN arithmetic correct. */
static bool rc_window_open(const struct sq *sq, const struct wqe *w)
{
	uint32_t out = psn_sub(w->started ? psn_add(w->first_psn, sq->cur_pkt) : sq->next_psn, sq->una_psn);

	if (w->started && sq->ack == w)
		return out < WINDOW_PACKETS;
	if (w->started)
		return sq->cur_pkt < WINDOW_PACKETS;
	return out + packets_of(w->wr.length, sq->c.mtu) <= CORE_PSN_HALF;
}

bool sq_ready(const struct sq *sq)
{
	const struct wqe *w = sq->cur;

	if (!w || w->failed || sq->rnr_wait || sq->paging)
		return false;
	if (sq->c.state != HCASIM_QPS_RTS && !(sq->c.state == HCASIM_QPS_SQD && w->started))
		return false;
	if (!sq_reliable(sq))
		return true;
	/* IBTA 10.8.3.3: a fenced request starts after all earlier READs and atomics have completed. */
	if (!w->started && w->wr.flags & HCA_WR_FENCE && sq->rd_incomplete)
		return false;
	if (op_answered(w->wr.op) && sq->rd_out >= sq->c.max_rd_atomic)
		return false;
	return rc_window_open(sq, w);
}

bool sq_can_send(const struct sq *sq)
{
	return !sq->c.paused && sq_ready(sq);
}

bool packetise_pending(const struct engine *e, struct hca_work *work)
{
	const struct sq *sq;
	const struct wqe *w;
	uint64_t off, left;
	uint32_t mtu;

	if (!e->ports->packet_room(e->host))
		return false;
	sq = node_entry(e->tx_sqs.next, struct sq, on_tx);
	w = sq->cur;
	mtu = wqe_mtu(sq, w);
	off = (uint64_t)sq->cur_pkt * mtu;
	left = op_reads(w->wr.op) || off > w->wr.length ? 0 : w->wr.length - off;
	work->bytes = left < mtu ? (uint32_t)left : mtu;
	work->items = 1 + w->wr.num_sge;
	work->qpn = sq->qpn;
	return true;
}

/* Windows are bound and invalidated here, when it is the turn of the WQE, and once. */
static bool local_start(struct sq *sq, struct wqe *w)
{
	uint8_t err = w->wr.op == HCASIM_WQE_OP_NOP ? 0 : sq->e->ports->local(sq->e->host, sq->qpn, &w->wr);

	if (err)
		sq_fail(sq, w, HCASIM_CQE_STATUS_MW_BIND_ERR, err);
	return !err;
}

/*
 * A WQE becomes the head: checks its keys, and assigns its PSNs. The memory for a response is checked when the
 * response arrives, as on hardware: a refusal of the peer comes first, and an atomic has been executed by then.
 */
static bool wqe_start(struct sq *sq, struct wqe *w)
{
	const struct engine_lookup all = wqe_lookup(sq, w, 0, UINT64_MAX, 0);
	uint8_t err = HCASIM_VENDOR_ERR_NONE;

	if (!(w->wr.flags & HCA_WR_INLINE) && !op_reads(w->wr.op))
		err = sq->e->ports->lookup(sq->e->host, &all, NULL, NULL);
	if (err) {
		sq_fail(sq, w, HCASIM_CQE_STATUS_LOC_PROT_ERR, err);
		return false;
	}
	if (op_local(w->wr.op) && !local_start(sq, w))
		return false;
	w->started = true;
	w->first_psn = sq->next_psn;
	w->npsn = packets_of(w->wr.length, wqe_mtu(sq, w));
	if (op_local(w->wr.op))
		w->npsn = 0;
	sq->next_psn = psn_add(sq->next_psn, w->npsn);
	if (op_answered(w->wr.op))
		sq->rd_incomplete++;
	return true;
}

static uint8_t opcode_of(const struct sq *sq, const struct wqe *w, uint32_t pkt)
{
	const struct hcasim_msg_codes *m = &hcasim_msg_codes[hcasim_wqe_op_info(w->wr.op)->msg];
	uint8_t base = (uint8_t)(transport_of(sq->c.type) << HCASIM_BTH_TRANSPORT_SHIFT);

	if (w->npsn == 1 || op_reads(w->wr.op) || w->wr.op == HCASIM_WQE_OP_TSO)
		return base | m->only;
	if (!pkt)
		return base | m->first;
	return base | (pkt == w->npsn - 1 ? m->last : m->middle);
}

/* That of a connected QP's path, or of the address vector. */
static uint16_t sport_of(const struct sq *sq, const struct hca_wr *wr)
{
	if (sq->c.type != HCASIM_QPT_UD)
		return sq->c.udp_sport;
	return wr->ud.sport ? wr->ud.sport : packet_sport(wr->ud.av.flow_label, sq->qpn, wr->ud.qpn);
}

static void spec_of(const struct sq *sq, const struct wqe *w, struct pkt_spec *s)
{
	uint32_t pkt = sq->cur_pkt;
	uint32_t mtu = wqe_mtu(sq, w);
	uint64_t off = (uint64_t)pkt * mtu;
	const struct hca_wr *wr = &w->wr;
	bool last = op_reads(wr->op) || pkt == w->npsn - 1;
	bool ud = sq->c.type == HCASIM_QPT_UD;

	*s = (struct pkt_spec){
		.opcode = opcode_of(sq, w, pkt),
		.port = sq->c.port,
		.av = ud ? &wr->ud.av : &sq->c.av,
		.sport = sport_of(sq, wr),
		.dqpn = ud ? wr->ud.qpn : sq->c.dest_qpn,
		.psn = psn_add(w->first_psn, pkt),
		.qkey = ud && wr->ud.qkey >> 31 ? sq->c.qkey : wr->ud.qkey,
		.sqpn = sq->qpn,
		.srqn = wr->srqn,
		.ackreq = sq_reliable(sq) && (last || pkt % ACKREQ_EVERY == ACKREQ_EVERY - 1),
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
	if (wr->op == HCASIM_WQE_OP_RDMA_READ) { /* also a READ that continues where responses were lost */
		s->va += off;
		s->dmalen -= (uint32_t)off;
	} else if (!op_reads(wr->op)) {
		uint64_t left = wr->length - off;

		s->payload_len = (left < mtu ? (uint32_t)left : mtu) + wr->tso.hdr_size;
	}
}

/* How many of these bytes of the payload are inside the WQE: they come before those that are not. */
static uint32_t inside(const struct hca_wr *wr, uint64_t off, uint32_t len)
{
	const uint64_t end = wr->flags & HCA_WR_INLINE ? wr->length : wr->lead_len;

	if (off >= end)
		return 0;
	return end - off < len ? (uint32_t)(end - off) : len;
}

/* Inline bytes and headers that the device writes come first; the other pieces are read by GATHER. */
static uint8_t plan_payload(struct sq *sq, const struct wqe *w, struct engine_packet *p, uint8_t *head,
			    struct piece *piece)
{
	const struct hca_wr *wr = &w->wr;
	uint64_t off = (uint64_t)sq->cur_pkt * wqe_mtu(sq, w);
	uint32_t len = p->spec.payload_len - wr->tso.hdr_size, here;
	struct engine_lookup rest;

	p->head_len = wr->tso.hdr_size;
	if (wr->op == HCASIM_WQE_OP_TSO)
		tso_write(head, wr, wqe_link(sq), sq->cur_pkt, len, sq->cur_pkt == w->npsn - 1);
	else if (p->head_len)
		memcpy(head, wr->tso.hdr, p->head_len);
	here = inside(wr, off, len);
	if (here) {
		memcpy(head + p->head_len, wr->inline_data + off, here);
		p->head_len += here;
	}
	if (here == len)
		return HCASIM_VENDOR_ERR_NONE;
	rest = wqe_lookup(sq, w, off, len, 0);
	p->piece = piece;
	return sq->e->ports->lookup(sq->e->host, &rest, piece, &p->npieces);
}

/* False: the WQE, or one before it, has failed meanwhile, or its queue has stopped. */
bool packet_leave(struct sq *sq, struct pending *p, bool failed)
{
	if (sq->c.state != HCASIM_QPS_RTS && sq->c.state != HCASIM_QPS_SQD)
		return false;
	if (failed)
		sq_fail(sq, p->wqe, HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_VENDOR_ERR_DMA_FAULT);
	if (sq->fault && (int32_t)(p->wqe->seq - sq->fault_seq) >= 0)
		return false;
	if (p->last && !sq_reliable(sq))
		sq_left(sq, p->wqe);
	return !failed;
}

/* Without memory nothing changes: the next step tries again. */
static bool hand_out(struct sq *sq, struct wqe *w, const struct engine_packet *p)
{
	uint32_t tag = pending_new(sq, PENDING_PACKET, w);

	if (tag == NO_TAG)
		return false;
	pending_of(sq->e, tag)->last = op_reads(w->wr.op) || sq->cur_pkt == w->npsn - 1;
	if (sq->e->ports->packet(sq->e->host, tag, p))
		return true;
	pending_end(sq->e, tag);
	return false;
}

static void make_packet(struct sq *sq, struct wqe *w)
{
	struct engine_packet p = {
		.qpn = sq->qpn,
		.raw = sq->c.type == HCASIM_QPT_RAW_PACKET,
		.sums = w->wr.op == HCASIM_WQE_OP_TSO ? HCA_WR_IP_CSUM : w->wr.flags & HCA_WR_IP_CSUM,
	};
	uint8_t head[2 * HCA_WQE_MAX]; /* both are inside the WQE */
	struct piece piece[ENGINE_MAX_PIECES];
	uint8_t err;

	p.head = head;
	spec_of(sq, w, &p.spec);
	err = plan_payload(sq, w, &p, head, piece);
	if (err) {
		sq_fail(sq, w, HCASIM_CQE_STATUS_LOC_PROT_ERR, err);
		return;
	}
	if (!hand_out(sq, w, &p))
		return;
	sq_sent(sq, w);
	sq_timer_update(sq);
}

/* Requests the pages of the next packet's payload. Those of a result are requested when it arrives. */
static bool payload_present(const struct sq *sq, const struct wqe *w)
{
	uint32_t mtu = wqe_mtu(sq, w);
	const struct engine_lookup part = wqe_lookup(sq, w, (uint64_t)sq->cur_pkt * mtu, mtu, 0);

	return op_reads(w->wr.op) || w->wr.flags & HCA_WR_INLINE || sq->e->ports->present(sq->e->host, &part);
}

uint32_t packetise_step(struct engine *e)
{
	struct sq *sq = node_entry(e->tx_sqs.next, struct sq, on_tx);
	struct wqe *w = sq->cur;

	list_del(&sq->on_tx); /* to the end of the list, if it has more */
	if (w->started || wqe_start(sq, w)) {
		if (!w->npsn)
			sq_executed(sq, w);
		else if (payload_present(sq, w))
			make_packet(sq, w);
		else
			page_fault_send(sq, w, false);
	}
	sq_settle(sq);
	return sq->qpn;
}
