// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive queues. Posting a receive rings no doorbell: the producer index is in the doorbell record, which is read
 * when no receives are left. A QP in error polls its record at increasing intervals, for receives to flush.
 */
#include "core/memory/memory.h"
#include "core/queues/queues.h"

#define POLL_MIN_PS 50000000ull    /* 50 us */
#define POLL_MAX_PS 50000000000ull /* 50 ms */

static void record_read(struct hca *hca, struct dma_ctx *c, bool stale)
{
	struct qp *qp = c->qp;
	struct rq *rq = &qp->rq;
	uint32_t pi;

	if (stale)
		return;
	rq->reading_record = false;
	rq->looked = true;
	qp->resp.blocked = false;
	if (c->d.status) {
		event_raise(hca, &qp->ev, HCASIM_EQE_TYPE_QP_FATAL);
		qp_error(hca, qp);
		return;
	}
	pi = ring_index(hca, &rq->ring, rq->pi, hca->pers->rq_record_pi(c->buf), hca->pers->rq_index_bits);
	if (pi - rq->ci <= rq->ring.entries && (int32_t)(pi - rq->pi) > 0) {
		rq->pi = pi;
		rq->poll_delay = POLL_MIN_PS;
	} /* else nothing new, or an index out of range */
	if (hca->pers->shared.on && qp->a.state == HCASIM_QPS_ERR)
		rq_prefetch(hca, qp); /* of what is flushed the id is needed */
}

static uint64_t record_of(const struct qp *qp)
{
	return qp->c.rq_record ? qp->c.rq_record : qp->c.record;
}

void rq_read_record(struct hca *hca, struct qp *qp)
{
	struct dma_ctx *c;

	if (qp->rq.reading_record || !qp->rq.ring.entries)
		return;
	c = dma_get(hca, qp, HCA_DMA_RECORD, false);
	if (!c)
		return;
	c->fn = record_read;
	qp->rq.reading_record = true;
	dma_one(hca, c, qp->c.rq.pasid, record_of(qp), c->buf, hca->pers->qp_record_size);
}

static void rqe_read(struct hca *hca, struct dma_ctx *c, bool stale)
{
	struct qp *qp = c->qp;

	if (stale) {
		free(c->any); /* rq_clear() left the slots to this read, which frees them */
		return;
	}
	qp->rq.fetching = false;
	qp->resp.blocked = false;
	if (c->d.status) {
		event_raise(hca, &qp->ev, HCASIM_EQE_TYPE_QP_FATAL);
		qp_error(hca, qp);
		return;
	}
	qp->rq.fetched += c->n;
}

static bool have_slots(struct rq *rq)
{
	if (rq->slots)
		return true;
	rq->nslots = rq->ring.entries < CORE_RQ_PREFETCH ? rq->ring.entries : CORE_RQ_PREFETCH;
	rq->slots = malloc((size_t)rq->nslots * rq->ring.stride);
	return rq->slots;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Reads receive WQEs into free slots, up to the end of either ring. */
void rq_prefetch(struct hca *hca, struct qp *qp)
{
	struct rq *rq = &qp->rq;
	uint32_t first = rq->fetched & (rq->ring.entries - 1), n = rq->pi - rq->fetched;
	struct dma_ctx *c;

	if (rq->fetching || !n || !have_slots(rq))
		return;
	n = least(n, rq->nslots - (rq->fetched - rq->ci));
	n = least(n, rq->ring.entries - first);
	n = least(n, rq->nslots - first % rq->nslots);
	if (!n)
		return;
	c = dma_get(hca, qp, HCA_DMA_RQE, false);
	if (!c)
		return;
	c->fn = rqe_read;
	c->n = n;
	c->any = rq->slots;
	rq->fetching = true;
	dma_one(hca, c, rq->ring.pasid, rq->ring.addr + (uint64_t)first * rq->ring.stride,
		rq->slots + (size_t)(first % rq->nslots) * rq->ring.stride, n * rq->ring.stride);
}

/* Makes `raw`, of the QP's own queue or of rq.srq, the receive WQE of the message that starts. */
void rq_decode(struct hca *hca, struct qp *qp, const uint8_t *raw, uint32_t stride, uint32_t index)
{
	const struct hca_personality *pers = hca->pers;
	struct rq *rq = &qp->rq;

	rq->rndv = rq->incomplete = false;
	memset(&rq->rwr, 0, sizeof(rq->rwr));
	rq->rwr.sge = rq->sge;
	rq->bad = (rq->srq && pers->decode_srqe ? pers->decode_srqe : pers->decode_rqe)(
		raw, stride, (uint16_t)index, &rq->rwr, rq->sge, CORE_MAX_SGE);
	rq->cpl = (struct hca_cpl){.id = rq->rwr.id,
				   .qpn = qp->qpn,
				   .user_index = qp->c.user_index,
				   .op = HCASIM_CQE_OP_RECV,
				   .wqe_index = (uint16_t)index,
				   .vlan = 0xffff};
	rq->active = true;
	rq->looked = false;
}

void rq_release(struct hca *hca, struct qp *qp)
{
	struct rq *rq = &qp->rq;

	rq->active = false;
	if (rq->srq)
		srq_put(hca, rq->srq);
	rq->srq = NULL;
}

static void take_slot(struct hca *hca, struct qp *qp)
{
	struct rq *rq = &qp->rq;

	rq_decode(hca, qp, rq->slots + (size_t)(rq->ci % rq->nslots) * rq->ring.stride, rq->ring.stride,
		  rq->ci);
	rq->ci++;
	queue_tell_consumed(hca, qp, &qp->c.rq, record_of(qp), rq->ci);
	if (rq->fetched - rq->ci < rq->nslots / 2)
		rq_prefetch(hca, qp);
}

bool rq_can_flush(const struct hca *hca, const struct qp *qp)
{
	const struct rq *rq = &qp->rq;

	return rq->active || rq->ci != (hca->pers->shared.on ? rq->fetched : rq->pi);
}

void rq_flush_next(struct hca *hca, struct qp *qp)
{
	if (hca->pers->shared.on)
		take_slot(hca, qp);
	else
		qp->rq.ci++;
}

/* READY: rq.rwr is the receive WQE of this message. EMPTY only after the record has been read for it. */
enum rq_answer rq_take(struct hca *hca, struct qp *qp, struct srq *srq)
{
	struct rq *rq = &qp->rq;

	if (rq->active)
		return RQ_READY;
	if (srq)
		return srq_take(hca, srq, qp);
	if (rq->fetched != rq->ci) {
		take_slot(hca, qp);
		return RQ_READY;
	}
	if (rq->pi != rq->ci) {
		rq_prefetch(hca, qp);
		return rq->fetching ? RQ_WAIT : RQ_EMPTY;
	}
	if (rq->looked) {
		rq->looked = false;
		return RQ_EMPTY;
	}
	rq_read_record(hca, qp);
	return rq->reading_record ? RQ_WAIT : RQ_EMPTY;
}

void rq_clear(struct hca *hca, struct qp *qp)
{
	struct rq *rq = &qp->rq;

	rq->ring = qp->c.rq;
	rq->pi = rq->ci = rq->fetched = 0;
	if (rq->fetching)
		rq->slots = NULL; /* a pending read writes to them: it frees them */
	rq->reading_record = rq->fetching = rq->looked = false;
	rq_release(hca, qp);
}

/* ---- Error state ---- */

void rq_poll_fire(struct hca *hca, struct timer *t)
{
	struct qp *qp = node_entry(t, struct qp, rq.poll);

	if (qp->a.state != HCASIM_QPS_ERR || !qp->rq.ring.entries)
		return;
	rq_read_record(hca, qp);
	timer_set(hca, t, hca_now(hca) + qp->rq.poll_delay);
	if (qp->rq.poll_delay < POLL_MAX_PS)
		qp->rq.poll_delay *= 2;
}

void rq_poll_soon(struct hca *hca, struct qp *qp)
{
	if (qp->a.state != HCASIM_QPS_ERR || !qp->rq.ring.entries)
		return;
	timer_cancel(hca, &qp->rq.poll);
	qp->rq.poll_delay = POLL_MIN_PS;
	rq_poll_fire(hca, &qp->rq.poll);
}
