// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues. */
#include <endian.h>
#include <errno.h>
#include <string.h>

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

static void answer(const struct rxe_queue *queue, struct drv_udata *u)
{
	const struct hcasim_rxe_mminfo resp = {
		.offset = htole64(queue->offset),
		.size = htole32((uint32_t)queue->size),
	};

	common_udata_put(u, &resp, sizeof(resp));
}

static uint32_t consumer_index(const struct rxe_queue *queue)
{
	return le32toh(__atomic_load_n(&queue->head->consumer_index, __ATOMIC_ACQUIRE));
}

static struct hca_cq_attr attr_of(const struct rxe_cq *cq, const struct rxe_queue *queue)
{
	return (struct hca_cq_attr){
		.ring = rxe_ring(queue),
		.record = (uintptr_t)&queue->head->consumer_index,
		.eqn = common_dev(cq->base.ctx->dev)->eq[1].eqn,
	};
}

int rxe_create_cq(struct drv_cq *base, uint32_t cqe, uint32_t vector, uint32_t flags, struct drv_udata *u)
{
	struct rxe_dev *n = rxe_dev(base->ctx->dev);
	struct rxe_cq *cq = rxe_cq(base);
	struct hca_cq_attr attr;
	int ret;

	if (flags)
		return -EOPNOTSUPP;
	if (cqe < 1 || cqe > HCASIM_RXE_MAX_CQE || u->out_len < sizeof(struct hcasim_rxe_mminfo))
		return -EINVAL;
	rxe_queue_size(&cq->queue, cqe, HCASIM_RXE_CQ_ELEMENT);
	base->cqe = cq->queue.entries - 1;
	cq->mem = rxe_mem_alloc(base->ctx, &cq->queue, NULL);
	if (!cq->mem)
		return -ENOMEM;
	attr = attr_of(cq, &cq->queue);
	ret = common_create_cq(base, &attr);
	if (ret) {
		rxe_mem_free(n, cq->mem);
		return ret;
	}
	cq->arm_sn = 1;
	fill_orphan(cq);
	answer(&cq->queue, u);
	return 0;
}

static uint8_t *element(const struct rxe_queue *q, uint32_t index)
{
	return (uint8_t *)(q->head + 1) + (uint64_t)(index & (q->entries - 1)) * q->stride;
}

/* Once nothing is written to the old ring any more: what is not polled goes to the same indices of the new one. */
static bool is_moving(void *object)
{
	struct drv_cq *base = object;
	struct rxe_cq *cq = object;

	if (hca_writes_under_way(base->ctx->dev->hca, cq->old.issued))
		return true;
	for (uint32_t i = cq->old.first; i != cq->old.end; i++)
		memcpy(element(&cq->queue, i), element(&cq->old.queue, i), cq->queue.stride);
	rxe_mem_free(rxe_dev(base->ctx->dev), cq->old.mem);
	cq->old.mem = NULL;
	return false;
}

/* The new queue begins with the indices, and the request of notification, that the old one has now. */
static void take_over(struct rxe_cq *cq, const struct rxe_queue *queue)
{
	const uint32_t mask = queue->entries - 1;

	hca_cq_indices(cq->base.ctx->dev->hca, cq->base.cqn, &cq->old.first, &cq->old.end);
	queue->head->armed = cq->queue.head->armed;
	__atomic_store_n(&queue->head->consumer_index, htole32(cq->old.first & mask), __ATOMIC_RELAXED);
	__atomic_store_n(&queue->head->producer_index, htole32(cq->old.end & mask), __ATOMIC_RELEASE);
}

static int check_size(const struct rxe_cq *cq, uint32_t cqe, uint32_t ci)
{
	const uint32_t mask = cq->queue.entries - 1;
	uint32_t first, end;

	hca_cq_indices(cq->base.ctx->dev->hca, cq->base.cqn, &first, &end);
	return cqe < 1 || cqe > HCASIM_RXE_MAX_CQE || cqe < ((end - ci) & mask) ? -EINVAL : 0;
}

int rxe_resize_cq(struct drv_cq *base, uint32_t cqe, struct drv_udata *u)
{
	struct rxe_dev *n = rxe_dev(base->ctx->dev);
	struct rxe_cq *cq = rxe_cq(base);
	const uint32_t ci = consumer_index(&cq->queue);
	struct rxe_queue queue = {0};
	struct hca_cq_attr attr;
	struct rxe_mem *mem;
	int ret = check_size(cq, cqe, ci);

	if (ret || u->out_len < sizeof(struct hcasim_rxe_mminfo))
		return -EINVAL;
	if (cq->old.mem)
		return -EBUSY;
	rxe_queue_size(&queue, cqe, HCASIM_RXE_CQ_ELEMENT);
	mem = rxe_mem_alloc(base->ctx, &queue, NULL);
	if (!mem)
		return -ENOMEM;
	attr = attr_of(cq, &queue);
	ret = hca_cq_resize(base->ctx->dev->hca, base->cqn, &attr, ci);
	if (ret) {
		rxe_mem_free(n, mem);
		return ret;
	}
	take_over(cq, &queue);
	cq->old.issued = hca_dma_issued(base->ctx->dev->hca);
	cq->old.mem = cq->mem;
	cq->old.queue = cq->queue;
	cq->mem = mem;
	cq->queue = queue;
	base->cqe = queue.entries - 1;
	fill_orphan(cq);
	answer(&cq->queue, u);
	u->busy = is_moving;
	u->object = cq;
	return 0;
}

void rxe_completion(struct drv_cq *base)
{
	struct rxe_cq *cq = rxe_cq(base);

	cq->arm_sn = (cq->arm_sn + 1) & 3;
	cq->armed_any = false;
}

/*
 * Arming again before the event came has the same number: it is the same request, and one for solicited completions
 * does not replace one for all. The head has the request for an adapter that has lost doorbells.
 */
int rxe_req_notify_cq(struct drv_cq *base, bool solicited)
{
	struct rxe_cq *cq = rxe_cq(base);
	struct hcasim_rxe_queue *q = cq->queue.head;
	const uint32_t ci = consumer_index(&cq->queue);

	cq->armed_any |= !solicited;
	q->armed = htole32(HCASIM_FIELD_PREP(HCASIM_RXE_QUEUE_SN_MASK, (uint32_t)cq->arm_sn) |
			   HCASIM_FIELD_PREP(HCASIM_RXE_QUEUE_SOLICITED_MASK, (uint32_t)!cq->armed_any));
	return hca_cq_arm(base->ctx->dev->hca, base->cqn, ci, cq->arm_sn, solicited);
}

int rxe_destroy_cq(struct drv_cq *base)
{
	struct rxe_dev *n = rxe_dev(base->ctx->dev);
	struct rxe_cq *cq = rxe_cq(base);
	const int ret = common_destroy_cq(base);

	if (ret)
		return ret;
	rxe_mem_free(n, cq->old.mem);
	rxe_mem_free(n, cq->mem);
	return 0;
}
