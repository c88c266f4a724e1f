// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Pending responses: acknowledges, NAKs, READ and atomic responses, receive completions. With cfg.acks_after_landing
 * all of them wait, in order, until the payload before them is in memory. A receive completion waits in any case:
 * data that the host refused must not be reported as received.
 */
#include "core/queues/queues.h"
#include "core/queues/tags.h"
#include "core/responder/responder.h"

struct rop *rop_get(struct hca *hca)
{
	struct rop *r = hca->rop_pool;

	if (r)
		hca->rop_pool = r->next;
	else
		r = malloc(sizeof(*r));
	if (r)
		memset(r, 0, sizeof(*r));
	return r;
}

void rop_put(struct hca *hca, struct rop *r)
{
	if (r->srq)
		srq_put(hca, r->srq);
	if (r->rndv)
		rndv_put(hca, r->rndv);
	hca_packet_free(r->pkt);
	r->srq = NULL;
	r->rndv = NULL;
	r->pkt = NULL;
	r->next = hca->rop_pool;
	hca->rop_pool = r;
}

/* Duplicates do not count against max_dest_rd_atomic: the requester never had more outstanding. */
void rop_uncount(struct qp *qp, const struct rop *r)
{
	if (r->kind != ROP_READ && r->kind != ROP_ATOMIC && r->kind != ROP_ANSWER)
		return;
	if (r->duplicate)
		qp->resp.nduplicates--;
	else
		qp->resp.nreads--;
}

void rop_read_answered(struct qp *qp, const struct rop *r)
{
	if (r->kind == ROP_READ && !r->duplicate)
		comp_cntr_count(qp, HCA_COMP_REMOTE_READ, false, r->len);
}

void rop_fifo_init(struct rop_fifo *f)
{
	f->head = NULL;
	f->tail = &f->head;
}

void rop_push(struct hca *hca, struct rop_fifo *f, struct rop *r)
{
	r->since = hca_now(hca);
	r->next = NULL;
	*f->tail = r; /* NOLINT(clang-analyzer-core.NullDereference): rop_fifo_init() has set it */
	f->tail = &r->next;
}

struct rop *rop_pop(struct rop_fifo *f)
{
	struct rop *r = f->head;

	if (r) {
		f->head = r->next;
		if (!f->head)
			f->tail = &f->head;
	}
	return r;
}

static struct rop *rop_last(const struct rop_fifo *f)
{
	return f->head ? node_entry(f->tail, struct rop, next) : NULL;
}

static void fill_cpl(struct qp *qp, const struct pkt_info *info, struct hca_cpl *cpl)
{
	*cpl = qp->rq.cpl;
	if (info->op->flags & HCASIM_BTH_F_WRITE)
		cpl->op = HCASIM_CQE_OP_RECV_WRITE_IMM;
	cpl->imm = info->op->flags & HCASIM_BTH_F_IMM ? info->imm : 0;
	cpl->with_imm = info->op->flags & HCASIM_BTH_F_IMM;
	cpl->inv_rkey = info->op->flags & HCASIM_BTH_F_INV ? info->inv_rkey : 0;
	cpl->with_inv = info->op->flags & HCASIM_BTH_F_INV;
	cpl->src_qpn = qp->c.type == HCASIM_QPT_UD ? info->sqpn : qp->a.dest_qpn;
	cpl->grh = qp->c.type == HCASIM_QPT_UD;
	cpl->solicited = info->se;
	cpl->sl = qp->c.type == HCASIM_QPT_UD ? info->packet_type : 0;
	memcpy(cpl->smac, info->smac, sizeof(cpl->smac));
}

/* The packet has a completion of the active receive WQE. */
void rop_completes(struct rop *r, struct qp *qp, const struct pkt_info *info, uint32_t bytes)
{
	r->has_cpl = true;
	r->srq = qp->rq.srq;
	if (r->srq)
		r->srq->refs++;
	fill_cpl(qp, info, &r->cpl);
	r->cpl.byte_count = bytes;
}

/* Adds an accepted packet. A packet that consumes a receive WQE has its completion. */
struct rop *rop_recv(struct hca *hca, struct qp *qp, const struct pkt_info *info, uint32_t bytes)
{
	struct rop *r = rop_get(hca);

	if (!r)
		return NULL;
	r->is_send = info->op->flags & HCASIM_BTH_F_SEND;
	r->ends_write = info->op->flags & HCASIM_BTH_F_WRITE && info->op->flags & HCASIM_BTH_F_END;
	r->len = bytes;
	if (info->op->flags & HCASIM_BTH_F_COMP)
		rop_completes(r, qp, info, bytes);
	return r;
}

/* True: it was kept, and its pieces of memory are not written. */
bool rop_keep_payload(struct rop *r, const struct qp *qp, struct rxwork *w, uint32_t off, uint32_t len)
{
	if (!(w->info.op->flags & HCASIM_BTH_F_ONLY) || !len || len > qp->c.recv_inline)
		return false;
	r->pkt = w->pkt;
	r->cpl.payload = w->pkt->data + off;
	r->cpl.payload_len = len;
	w->pkt = NULL;
	return true;
}

/* A failed completion only has the members that ibv_poll_cq(3) lists. */
void rop_recv_failed(struct rop *r, uint8_t status, uint8_t vendor)
{
	r->cpl.status = status;
	r->cpl.vendor_err = vendor;
	r->cpl.with_imm = r->cpl.with_inv = false;
}

/* An acknowledge counts for all earlier packets: one that is still waiting is updated instead. */
static void put_ack(struct hca *hca, struct qp *qp, uint32_t psn, uint32_t msn)
{
	struct rop *last = rop_last(&qp->resp.out);

	if (!last || last->kind != ROP_ACK) {
		last = rop_get(hca);
		if (!last)
			return; /* the requester will ask again */
		last->kind = ROP_ACK;
		rop_push(hca, &qp->resp.out, last);
	}
	last->aeth_kind = HCASIM_AETH_KIND_ACK;
	last->aeth_value = 31; /* no end-to-end credits */
	last->psn = psn;
	last->msn = msn;
}

/* Passes its response, if any, to RESPOND, and its completion to COMPLETE. */
static void rop_release(struct hca *hca, struct qp *qp, struct rop *r)
{
	if (r->ends_write)
		comp_cntr_count(qp, HCA_COMP_REMOTE_WRITE, false, r->len);
	if (r->kind != ROP_NONE)
		qp->resp.held--;
	if (r->kind == ROP_ACK)
		put_ack(hca, qp, r->psn, r->msn);
	if (r->has_cpl) {
		if (r->kind == ROP_ACK)
			r->kind = ROP_NONE;
		rop_push(hca, &qp->resp.cpl, r);
	} else if (r->kind == ROP_NONE || r->kind == ROP_ACK) {
		rop_put(hca, r);
	} else {
		rop_push(hca, &qp->resp.out, r);
	}
}

void rop_accept(struct hca *hca, struct qp *qp, struct rop *r)
{
	bool early = !hca->cfg.acks_after_landing && !qp->resp.held;

	if (early && r->kind == ROP_ACK) {
		put_ack(hca, qp, r->psn, r->msn);
		r->kind = ROP_NONE;
	}
	if (early && (r->kind == ROP_READ || r->kind == ROP_NAK)) {
		rop_push(hca, &qp->resp.out, r);
	} else {
		qp->resp.held += r->kind != ROP_NONE;
		rop_push(hca, &qp->resp.landing, r);
	}
	rop_land(hca, qp);
}

void rop_recv_error(struct hca *hca, struct qp *qp, uint8_t status, uint8_t vendor)
{
	struct rop *r = rop_get(hca);

	if (!r) {
		rq_release(hca, qp);
		return;
	}
	r->has_cpl = true;
	r->srq = qp->rq.srq;
	if (r->srq)
		r->srq->refs++;
	r->cpl = qp->rq.cpl;
	r->cpl.status = status;
	r->cpl.vendor_err = vendor;
	rq_release(hca, qp);
	rop_push(hca, &qp->resp.landing, r);
}

/*
 * The host refused the payload of `r`. Everything received after it is void; the receive WQE of its message completes
 * with the error, receive WQEs of later messages are flushed.
 */
static void landing_failed(struct hca *hca, struct qp *qp, struct rop *bad)
{
	struct rop_fifo rest = qp->resp.landing;
	struct rop *r;
	bool reported = !bad->is_send; /* an RDMA WRITE fails without a receive WQE */
	bool write_imm = !bad->is_send && bad->has_cpl;
	const struct fault f = {.psn = bad->psn,
				.reason = HCASIM_COUNTER_REFUSED_MEMORY,
				.nak = bad->is_send ? HCASIM_NAK_REM_OP : HCASIM_NAK_REM_ACCESS,
				.event = bad->is_send ? 0 : HCASIM_EQE_TYPE_QP_ACCESS_ERR};

	rop_fifo_init(&qp->resp.landing);
	bad->next = rest.head;
	for (rest.head = bad; (r = rest.head);) {
		rest.head = r->next;
		rop_uncount(qp, r);
		if (r->kind != ROP_NONE)
			qp->resp.held--;
		r->kind = ROP_NONE;
		r->ends_write = false;
		if (r->has_cpl && r->cpl.tm_match && !r->cpl.tm_data && !r->rndv)
			r->has_cpl = false; /* of a match: another one follows, and has the error */
		if (r->has_cpl) {
			r->cpl.status =
				reported ? HCASIM_CQE_STATUS_WR_FLUSH_ERR : HCASIM_CQE_STATUS_LOC_PROT_ERR;
			r->cpl.vendor_err = reported ? HCASIM_VENDOR_ERR_NONE : HCASIM_VENDOR_ERR_DMA_FAULT;
			reported = true;
		}
		if (r == bad && write_imm) { /* IBTA 11.6.2: local access error */
			r->cpl.status = HCASIM_CQE_STATUS_LOC_ACCESS_ERR;
			r->cpl.vendor_err = HCASIM_VENDOR_ERR_DMA_FAULT;
		}
		rop_push(hca, &qp->resp.landing, r); /* the others are dropped without a completion */
	}
	if (!reported && qp->rq.active)
		rop_recv_error(hca, qp, HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_VENDOR_ERR_DMA_FAULT);
	resp_fatal_now(hca, qp, &f);
}

/* Takes finished packets from the front. */
void rop_land(struct hca *hca, struct qp *qp)
{
	struct rop *r;

	while ((r = qp->resp.landing.head) && !r->dma_pending) {
		rop_pop(&qp->resp.landing);
		if (r->failed && qp->a.state != HCASIM_QPS_ERR) {
			landing_failed(hca, qp, r);
			continue;
		}
		rop_release(hca, qp, r);
	}
}

static bool answers_from(const struct rop *r, uint32_t psn)
{
	const uint32_t last = r->kind == ROP_READ ? psn_add(r->psn, r->npkts - 1) : r->psn;

	return (r->kind == ROP_READ || r->kind == ROP_ATOMIC || r->kind == ROP_ANSWER) &&
	       psn_sub(last, psn) < CORE_PSN_HALF;
}

/*
 * The peer will request responses of READs and atomics from `from_psn` on again: drop those that wait, or they would be
 * sent before those. What still has to be in memory before them is waited for all the same.
 */
void rop_drop_reads(struct hca *hca, struct qp *qp, uint32_t from_psn)
{
	struct rop_fifo all = qp->resp.out;
	struct rop *r, *next;

	rop_fifo_init(&qp->resp.out);
	for (r = all.head; r; r = next) {
		next = r->next;
		if (answers_from(r, from_psn)) {
			rop_uncount(qp, r);
			rop_put(hca, r);
		} else {
			rop_push(hca, &qp->resp.out, r);
		}
	}
	for (r = qp->resp.landing.head; r; r = r->next) {
		if (!answers_from(r, from_psn))
			continue;
		rop_uncount(qp, r);
		r->kind = ROP_NONE;
		qp->resp.held--;
	}
}

static void count_reads(struct qp *qp, const struct rop *r, uint32_t from_psn)
{
	for (; r; r = r->next)
		if (answers_from(r, from_psn))
			rop_read_answered(qp, r);
}

void rop_reads_again(struct hca *hca, struct qp *qp, uint32_t from_psn)
{
	count_reads(qp, qp->resp.out.head, from_psn);
	count_reads(qp, qp->resp.landing.head, from_psn);
	rop_drop_reads(hca, qp, from_psn);
}

/* Acknowledges everything accepted so far. */
void resp_ack(struct hca *hca, struct qp *qp)
{
	struct rop *r = rop_get(hca);

	if (!r)
		return;
	r->kind = ROP_ACK;
	r->psn = psn_add(qp->resp.epsn, HCASIM_PSN_MASK);
	r->msn = qp->resp.msn;
	rop_accept(hca, qp, r);
}

static void fifo_clear(struct hca *hca, struct rop_fifo *f)
{
	struct rop *r;

	while ((r = rop_pop(f)))
		rop_put(hca, r);
}

/* RESET: drops everything. Operations with pending writes are freed when those complete. */
void resp_clear(struct hca *hca, struct qp *qp)
{
	struct rop_fifo landing = qp->resp.landing;
	struct rop *r;

	if (!landing.head)
		rop_fifo_init(&landing);
	while ((r = rop_pop(&landing)))
		if (r->dma_pending)
			r->orphan = true;
		else
			rop_put(hca, r);
	fifo_clear(hca, &qp->resp.out);
	fifo_clear(hca, &qp->resp.cpl);
	rop_fifo_init(&qp->resp.landing);
}
