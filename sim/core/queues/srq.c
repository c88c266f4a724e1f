// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues (IBTA 10.2.9). As for a QP's own queue, posting rings no doorbell: the producer index is read
 * from the record when no WQEs, or fewer than the armed limit, are left. A QP that needs a WQE and finds none waits
 * for that read. WQEs are copied when they are taken, so that their place in the ring is free at once, in whatever
 * order the messages end.
 */
#include "core/memory/memory.h"
#include "core/queues/queues.h"
#include "core/queues/tags.h"

static void srq_look(struct hca *hca, struct srq *srq);

void srq_put(struct hca *hca, struct srq *srq)
{
	if (--srq->refs)
		return;
	tags_free(srq->tags);
	free(srq->slots);
	free(srq);
}

static bool srq_alloc(struct hca *hca, struct srq *srq, const struct hca_srq_attr *attr)
{
	srq->slots = malloc((size_t)CORE_RQ_PREFETCH * attr->ring.stride);
	if (attr->num_tags)
		srq->tags = tags_new(srq, attr->num_tags, &attr->tag_ops);
	return srq->slots && !srq->tags == !attr->num_tags && !numbers_add(&hca->srq, srq, &srq->number);
}

int hca_srq_create(struct hca *hca, const struct hca_srq_attr *attr, uint32_t *srqn)
{
	struct srq *srq;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	srq->refs = 1;
	if (!srq_alloc(hca, srq, attr)) {
		srq_put(hca, srq);
		return -ENOMEM;
	}
	srq->ring = attr->ring;
	srq->linked = hca->pers->srq_next && !attr->cyclic;
	srq->record = attr->record;
	srq->pdn = attr->pdn;
	srq->uar_page = attr->uar_page;
	srq->user_index = attr->user_index;
	srq->xrcdn = attr->xrcdn;
	srq->cq = cq_find(hca, attr->cqn);
	if (srq->cq)
		list_add_tail(&srq->cq->srqs, &srq->on_cq);
	srq->ev.number = srq->number;
	list_init(&srq->waiting);
	*srqn = srq->number;
	return hca_srq_arm(hca, srq->number, attr->limit);
}

/* Waiting QPs check again. */
static void wake(struct hca *hca, struct srq *srq)
{
	while (!list_empty(&srq->waiting)) {
		struct qp *qp = node_entry(srq->waiting.next, struct qp, on_srq);

		list_del(&qp->on_srq);
		qp->resp.blocked = false;
		qp_update(hca, qp);
	}
}

static void srq_remove(struct hca *hca, struct srq *srq)
{
	event_cancel(hca, &srq->ev);
	numbers_remove(&hca->srq, srq->number);
	srq->dead = true;
	if (srq->cq)
		list_del(&srq->on_cq);
	tag_ops_update(hca, srq);
	wake(hca, srq);
	srq_put(hca, srq);
}

int hca_srq_destroy(struct hca *hca, uint32_t srqn)
{
	struct srq *srq = srq_find(hca, srqn);

	if (!srq)
		return -EINVAL;
	if (srq->qps)
		return -EBUSY;
	srq_remove(hca, srq);
	hca_announce(hca);
	return 0;
}

void srq_free_all(struct hca *hca)
{
	struct srq *srq;
	uint32_t srqn = 0;

	while ((srq = numbers_from(&hca->srq, srqn, &srqn)))
		srq_remove(hca, srq);
	numbers_free(&hca->srq);
}

/* ---- Reads ---- */

/* IBTA 10.2.9.5: the queue is in error; a QP that needs a WQE of it afterwards goes to error, too. */
void srq_failed(struct hca *hca, struct srq *srq)
{
	if (!srq->error && !srq->dead)
		event_raise(hca, &srq->ev, HCASIM_EQE_TYPE_SRQ_ERR);
	srq->error = true;
	tag_ops_update(hca, srq);
}

void srq_cq_failed(struct hca *hca, const struct cq *cq)
{
	struct node *n;

	for (n = cq->srqs.next; n != &cq->srqs; n = n->next)
		srq_failed(hca, node_entry(n, struct srq, on_cq));
}

static void limit_check(struct hca *hca, struct srq *srq, bool fresh)
{
	if (!srq->limit || srq->pi - srq->ci >= srq->limit)
		return;
	if (!fresh) { /* more may have been posted in the meantime */
		srq_look(hca, srq);
		return;
	}
	srq->limit = 0;
	event_raise(hca, &srq->ev, HCASIM_EQE_TYPE_SRQ_LIMIT);
}

static void record_read(struct hca *hca, struct dma_ctx *c, bool stale)
{
	struct srq *srq = c->srq;
	uint32_t pi;

	srq->reading_record = false;
	pi = ring_index(hca, &srq->ring, srq->pi, hca->pers->srq_record_pi(c->buf), hca->pers->rq_index_bits);
	if (c->d.status)
		srq_failed(hca, srq);
	else if (pi - srq->ci <= srq->ring.entries && (int32_t)(pi - srq->pi) > 0)
		srq->pi = pi;
	if (!srq->dead) {
		limit_check(hca, srq, true);
		wake(hca, srq);
	}
	srq_put(hca, srq);
}

static void srq_look(struct hca *hca, struct srq *srq)
{
	struct dma_ctx *c;

	if (srq->reading_record || srq->error)
		return;
	c = dma_get(hca, NULL, HCA_DMA_RECORD, false);
	if (!c)
		return;
	c->fn = record_read;
	c->srq = srq;
	srq->refs++;
	srq->reading_record = true;
	dma_one(hca, c, srq->ring.pasid, srq->record, c->buf, hca->pers->srq_record_size);
}

static uint8_t *slot(const struct srq *srq, uint32_t index)
{
	return srq->slots + (size_t)(index % CORE_RQ_PREFETCH) * srq->ring.stride;
}

static void wqes_read(struct hca *hca, struct dma_ctx *c, bool stale)
{
	struct srq *srq = c->srq;

	srq->fetching = false;
	if (c->d.status) {
		srq_failed(hca, srq);
	} else {
		if (srq->linked) {
			srq->place[srq->fetched % CORE_RQ_PREFETCH] = srq->next;
			srq->next = hca->pers->srq_next(slot(srq, srq->fetched));
		}
		srq->fetched += c->n;
	}
	if (!srq->dead)
		wake(hca, srq);
	srq_put(hca, srq);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Reads WQEs into free slots, up to the end of either ring; of a linked list the next one. */
static void prefetch(struct hca *hca, struct srq *srq)
{
	uint32_t first = (srq->linked ? srq->next : srq->fetched) & (srq->ring.entries - 1);
	uint32_t n = least(srq->pi - srq->fetched, CORE_RQ_PREFETCH - (srq->fetched - srq->ci));
	struct dma_ctx *c;

	n = least(least(n, srq->ring.entries - first), CORE_RQ_PREFETCH - srq->fetched % CORE_RQ_PREFETCH);
	if (srq->linked)
		n = least(n, 1);
	if (srq->fetching || srq->error || !n)
		return;
	c = dma_get(hca, NULL, HCA_DMA_RQE, false);
	if (!c)
		return;
	c->fn = wqes_read;
	c->n = n;
	c->srq = srq;
	srq->refs++;
	srq->fetching = true;
	dma_one(hca, c, srq->ring.pasid, srq->ring.addr + (uint64_t)first * srq->ring.stride,
		slot(srq, srq->fetched), n * srq->ring.stride);
}

/* ---- Taking ---- */

static void take(struct hca *hca, struct srq *srq, struct qp *qp)
{
	const uint32_t index = srq->linked ? srq->place[srq->ci % CORE_RQ_PREFETCH] : srq->ci;

	qp->rq.srq = srq;
	rq_decode(hca, qp, slot(srq, srq->ci), srq->ring.stride, index);
	qp->rq.cpl.wqe_index = qp->rq.rwr.tag;
	qp->rq.cpl.srqn = srq->number;
	if (qp->c.type == HCASIM_QPT_XRC_RECV)
		qp->rq.cpl.user_index = srq->user_index;
	srq->refs++;
	srq->ci++;
	queue_tell_consumed(hca, NULL, &srq->ring, srq->record, srq->ci);
	limit_check(hca, srq, false);
	if (srq->fetched - srq->ci < CORE_RQ_PREFETCH / 2)
		prefetch(hca, srq);
}

static enum rq_answer wait_if(struct srq *srq, struct qp *qp, bool reading)
{
	if (srq->error)
		return RQ_ERROR;
	if (!reading)
		return RQ_EMPTY; /* no memory: the packet is tried again */
	list_set(&srq->waiting, &qp->on_srq, true);
	return RQ_WAIT;
}

/* As rq_take(). A read of the record that was already pending when the QP came may be older than its packet. */
enum rq_answer srq_take(struct hca *hca, struct srq *srq, struct qp *qp)
{
	if (!srq->error && srq->fetched != srq->ci) {
		take(hca, srq, qp);
		return RQ_READY;
	}
	if (srq->pi != srq->ci) {
		prefetch(hca, srq);
		return wait_if(srq, qp, srq->fetching);
	}
	if (qp->rq.looked) {
		qp->rq.looked = false;
		return srq->error ? RQ_ERROR : RQ_EMPTY;
	}
	qp->rq.looked = !srq->reading_record;
	srq_look(hca, srq);
	return wait_if(srq, qp, srq->reading_record);
}

/* ---- Limit ---- */

int hca_srq_arm(struct hca *hca, uint32_t srqn, uint32_t limit)
{
	struct srq *srq = srq_find(hca, srqn);

	if (!srq || limit > srq->ring.entries)
		return -EINVAL;
	srq->limit = limit;
	if (!hca->pers->only_new_events)
		limit_check(hca, srq, false);
	hca_announce(hca);
	return 0;
}

void srq_doorbell(struct hca *hca, const struct hca_doorbell *db, uint32_t page)
{
	const struct srq *srq = srq_find(hca, db->number);

	if (srq && srq->uar_page == page)
		hca_srq_arm(hca, db->number, db->value);
}

int hca_srq_query(struct hca *hca, uint32_t srqn, uint32_t *limit)
{
	const struct srq *srq = srq_find(hca, srqn);

	if (!srq)
		return -EINVAL;
	*limit = srq->limit;
	return 0;
}

/* IBTA 10.2.9.5: a QP in error has completed its last WQE, and takes no more. */
void srq_last_wqe(struct hca *hca, struct qp *qp)
{
	if (!qp->srq || qp->last_wqe_told || (qp->rndv && (qp->rndv->out || qp->rndv->waiting)) ||
	    qp->a.state != HCASIM_QPS_ERR || qp->rq.active || qp->resp.busy || qp->resp.landing.head ||
	    qp->resp.cpl.head)
		return;
	qp->last_wqe_told = true;
	event_raise(hca, &qp->ev, HCASIM_EQE_TYPE_QP_LAST_WQE_REACHED);
}
