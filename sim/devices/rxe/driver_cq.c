// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues. */
#include <endian.h>
#include <errno.h>

#include "driver.h"

static struct rxe_cq *rxe_cq(struct drv_cq *cq)
{
	return (struct rxe_cq *)cq;
}

static void fill_orphan(struct rxe_cq *cq)
{
	cq->base.orphan = (struct drv_orphan){
		.mmap_offset = cq->mem->offset,
		.size = cq->mem->length,
		.number = cq->base.cqn,
		.ring = sizeof(*cq->queue.head),
		.entries = cq->queue.entries,
	};
}

int rxe_create_cq(struct drv_cq *base, uint32_t cqe, uint32_t vector, uint32_t flags, struct drv_udata *u)
{
	struct rxe_dev *n = rxe_dev(base->ctx->dev);
	struct rxe_cq *cq = rxe_cq(base);
	struct hcasim_rxe_mminfo resp = {0};
	struct hca_cq_attr attr = {.eqn = n->eq[1].eqn};
	int ret;

	if (flags)
		return -EOPNOTSUPP;
	if (cqe < 1 || cqe > HCASIM_RXE_MAX_CQE || u->out_len < sizeof(resp))
		return -EINVAL;
	rxe_queue_size(&cq->queue, cqe, HCASIM_RXE_CQ_ELEMENT);
	base->cqe = cq->queue.entries - 1;
	cq->mem = rxe_mem_alloc(base->ctx, &cq->queue, NULL);
	if (!cq->mem)
		return -ENOMEM;
	attr.ring = rxe_ring(&cq->queue);
	attr.record = (uintptr_t)&cq->queue.head->consumer_index;
	ret = hca_cq_create(n->dev->hca, &attr, &base->cqn);
	if (ret) {
		rxe_mem_free(n, cq->mem);
		return ret;
	}
	cq->arm_sn = 1;
	rxe_enter(&n->cqs, &cq->entry, base->cqn, cq);
	fill_orphan(cq);
	resp.offset = htole64(cq->queue.offset);
	resp.size = htole32((uint32_t)cq->queue.size);
	rxe_udata_put(u, &resp, sizeof(resp));
	return 0;
}

/* The adapter keeps a queue where it is. */
int rxe_resize_cq(struct drv_cq *cq, uint32_t cqe, struct drv_udata *u)
{
	return -EOPNOTSUPP;
}

int rxe_moderate_cq(struct drv_cq *cq, uint16_t count, uint16_t us)
{
	return -EOPNOTSUPP;
}

/*
 * Arming again before the event came has the same number: it is the same request, and one for solicited completions
 * does not replace one for all. The head has the request for an adapter that has lost doorbells.
 */
int rxe_req_notify_cq(struct drv_cq *base, bool solicited)
{
	struct rxe_cq *cq = rxe_cq(base);
	struct hcasim_rxe_queue *q = cq->queue.head;
	const uint32_t ci = le32toh(__atomic_load_n(&q->consumer_index, __ATOMIC_ACQUIRE));

	cq->armed_any |= !solicited;
	q->armed = htole32(HCASIM_FIELD_PREP(HCASIM_RXE_QUEUE_SN_MASK, (uint32_t)cq->arm_sn) |
			   HCASIM_FIELD_PREP(HCASIM_RXE_QUEUE_SOLICITED_MASK, (uint32_t)!cq->armed_any));
	return hca_cq_arm(base->ctx->dev->hca, base->cqn, ci, cq->arm_sn, solicited);
}

int rxe_destroy_cq(struct drv_cq *base)
{
	struct rxe_dev *n = rxe_dev(base->ctx->dev);
	struct rxe_cq *cq = rxe_cq(base);
	const int ret = hca_cq_destroy(n->dev->hca, base->cqn);

	if (ret)
		return ret;
	rxe_eqs_poll(n); /* events of it; its number may be reused */
	table_remove(&n->cqs, &cq->entry.node);
	rxe_mem_free(n, cq->mem);
	return 0;
}
