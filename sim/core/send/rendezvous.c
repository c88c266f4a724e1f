// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The adapter's own send queue of a QP with tag matching that software created without one. Its ring is in the adapter;
 * for the send engine it is a ring like others. For each rendezvous that has matched it gets an RDMA READ, and, when
 * the data is in memory, a SEND with the request's headers, which tells the peer that its buffer is free.
 */
#include "core/queues/queues.h"
#include "core/queues/tags.h"
#include "core/send/send.h"

bool rendezvous_init(struct hca *hca, struct qp *qp)
{
	struct rendezvous *v;

	if (!hca->pers->encode_wqe)
		return true;
	v = calloc(1, sizeof(*v) + (size_t)RNDV_BBS * hca->pers->wqebb_size);
	if (!v)
		return false;
	v->tail = &v->waiting;
	v->bb = hca->pers->wqebb_size;
	qp->rndv = v;
	return true;
}

/* RESET: entries of requests that have not ended are lost, like receive WQEs in use. */
void rendezvous_clear(struct hca *hca, struct qp *qp)
{
	struct rendezvous *v = qp->rndv;
	struct rndv_req *q;
	uint32_t i;

	if (!v)
		return;
	while ((q = v->waiting)) {
		v->waiting = q->next;
		rndv_put(hca, q);
	}
	for (i = 0; i < RNDV_BBS; i++) {
		if (v->req[i])
			rndv_put(hca, v->req[i]);
		v->req[i] = NULL;
	}
	v->tail = &v->waiting;
	v->pi = 0;
	v->out = 0;
}

static void post(struct hca *hca, struct qp *qp, struct rndv_req *q, struct hca_wr *wr)
{
	struct rendezvous *v = qp->rndv;
	uint8_t wqe[HCA_OWN_WQE_BB * HCA_WQE_MAX];
	uint32_t i, n;

	wr->flags |= HCA_WR_SIGNALED;
	wr->index = v->pi;
	n = hca->pers->encode_wqe(wr, qp->qpn, wqe);
	v->req[v->pi % RNDV_BBS] = q;
	for (i = 0; i < n; i++, v->pi++)
		memcpy(v->ring + (size_t)(v->pi % RNDV_BBS) * v->bb, wqe + (size_t)i * v->bb, v->bb);
	v->out++;
	send_posted(hca, qp, v->pi);
}

/* The buffer may be longer than the data. */
static uint32_t clip(struct hca_sge *sge, uint32_t n, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < n && len; i++) {
		if (sge[i].length > len)
			sge[i].length = len;
		len -= sge[i].length;
	}
	return i;
}

static void post_read(struct hca *hca, struct qp *qp, struct rndv_req *q)
{
	struct hca_wr wr = {
		.op = HCASIM_WQE_OP_RDMA_READ,
		.remote_addr = be64toh(q->hdr.rvh.va),
		.rkey = be32toh(q->hdr.rvh.rkey),
		.sge = q->sge,
		.num_sge = clip(q->sge, q->num_sge, be32toh(q->hdr.rvh.len)),
	};

	post(hca, qp, q, &wr);
}

static void post_fin(struct hca *hca, struct qp *qp, struct rndv_req *q)
{
	struct hca_wr wr = {
		.op = HCASIM_WQE_OP_SEND,
		.flags = HCA_WR_INLINE,
		.inline_data = (uint8_t *)&q->hdr,
		.length = sizeof(q->hdr),
	};

	q->hdr.tmh.opcode = HCASIM_TMH_OP_FIN;
	post(hca, qp, q, &wr);
}

void rendezvous_begin(struct qp *qp, struct rndv_req *q)
{
	q->next = NULL;
	*qp->rndv->tail = q;
	qp->rndv->tail = &q->next;
}

/* Before RTS a QP cannot send; in ERR the engine flushes what is posted, and so each request has its completion. */
void rendezvous_changed(struct hca *hca, struct qp *qp)
{
	struct rendezvous *v = qp->rndv;
	struct rndv_req *q;

	if (!v || (qp->a.state != HCASIM_QPS_RTS && qp->a.state != HCASIM_QPS_ERR))
		return;
	while (v->waiting && v->out < RNDV_WQES) {
		q = v->waiting;
		v->waiting = q->next;
		if (!v->waiting)
			v->tail = &v->waiting;
		post_read(hca, qp, q);
	}
}

bool rendezvous_read(struct qp *qp, const struct hca_dma_seg *seg, uint32_t nseg, uint8_t *to)
{
	uint32_t i;

	if (!qp->rndv)
		return false;
	for (i = 0; i < nseg; i++) {
		memcpy(to, qp->rndv->ring + seg[i].addr, seg[i].len);
		to += seg[i].len;
	}
	return true;
}

void rendezvous_completed(struct hca *hca, struct qp *qp, const struct engine_completion *c)
{
	struct rendezvous *v = qp->rndv;
	struct rndv_req *q = v->req[c->wqe_index % RNDV_BBS];

	v->req[c->wqe_index % RNDV_BBS] = NULL;
	v->out--;
	if (c->wqe_op == HCASIM_WQE_OP_SEND) {
		rndv_put(hca, q);
		return;
	}
	q->cpl.tm_data = !c->status;
	q->cpl.status = c->status;
	q->cpl.vendor_err = c->vendor_err;
	q->cpl.byte_count = c->status ? 0 : be32toh(q->hdr.rvh.len);
	q->cpl.timestamp = hca_now(hca);
	cq_write(hca, q->srq->cq, &q->cpl);
	if (c->status)
		rndv_put(hca, q);
	else
		post_fin(hca, qp, q);
}
