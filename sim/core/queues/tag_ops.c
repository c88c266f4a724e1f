// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Operations of software on a tag list: read from their ring after a doorbell, executed in order, one by one, in the
 * COMPLETE stage. An operation waits there until its CQ has room, so that its completion cannot be lost, and is
 * completed before a message can complete that matched because of it.
 */
#include "core/memory/memory.h"
#include "core/queues/queues.h"
#include "core/queues/tags.h"

_Static_assert(sizeof(((struct dma_ctx *)0)->buf) >= TAG_OPS_AHEAD * HCA_TM_OP_MAX, "read at once");

static void ops_read(struct hca *hca, struct dma_ctx *c, bool stale)
{
	struct srq *srq = c->srq;
	struct tag_list *t = srq->tags;
	uint32_t i;

	t->fetching = false;
	if (c->d.status) {
		srq_failed(hca, srq);
	} else {
		for (i = 0; i < c->n; i++)
			memcpy(t->slot[i], c->buf + (size_t)i * t->ops.stride, t->ops.stride);
		t->base = t->ci;
		t->fetched = (uint16_t)(t->ci + c->n);
	}
	tag_ops_update(hca, srq);
	srq_put(hca, srq);
}

/* Reads the next operations, up to the end of the ring, when those read before are done. */
static void fetch(struct hca *hca, struct srq *srq)
{
	struct tag_list *t = srq->tags;
	uint32_t first = t->ci & (t->ops.entries - 1), n = (uint16_t)(t->pi - t->ci);
	struct dma_ctx *c;

	if (n > TAG_OPS_AHEAD)
		n = TAG_OPS_AHEAD;
	if (n > t->ops.entries - first)
		n = t->ops.entries - first;
	if (!n || t->fetching || t->fetched != t->ci || srq->error)
		return;
	c = dma_get(hca, NULL, HCA_DMA_WQE, false);
	if (!c)
		return;
	c->fn = ops_read;
	c->n = n;
	c->srq = srq;
	srq->refs++;
	t->fetching = true;
	dma_one(hca, c, t->ops.pasid, t->ops.addr + (uint64_t)first * t->ops.stride, c->buf,
		n * t->ops.stride);
}

/* An index outside the ring is an error of the software: ignored, as that of a send queue. */
void tag_ops_doorbell(struct hca *hca, const struct hca_doorbell *db, uint32_t page)
{
	struct srq *srq = srq_find(hca, db->number);
	struct tag_list *t = srq ? srq->tags : NULL;
	uint16_t posted;

	if (!t || srq->uar_page != page)
		return;
	posted = (uint16_t)(db->value - t->ci);
	if (posted <= (uint16_t)(t->pi - t->ci) || posted > t->ops.entries)
		return;
	t->pi = (uint16_t)db->value;
	fetch(hca, srq);
}

static uint8_t cqe_op(uint8_t op)
{
	switch (op) {
	case HCASIM_TM_OPCODE_ADD:
		return HCASIM_CQE_OP_TM_ADD;
	case HCASIM_TM_OPCODE_DEL:
		return HCASIM_CQE_OP_TM_DEL;
	default:
		return HCASIM_CQE_OP_TM_SYNC;
	}
}

/* A DEL that has removed its entry completes even unsignaled: software must know that the handle is free. */
static bool completes(const struct hca_tm_op *op, uint8_t status)
{
	if (op->op == HCASIM_TM_OPCODE_DEL && status == HCASIM_CQE_STATUS_OK)
		return true;
	return op->signaled || (status && status != HCASIM_CQE_STATUS_TM_ERR);
}

void tag_ops_step(struct hca *hca, struct srq *srq)
{
	struct tag_list *t = srq->tags;
	struct hca_cpl cpl = {
		.srqn = srq->number, .wqe_index = t->ci, .vlan = 0xffff, .timestamp = hca_now(hca)};
	struct hca_tm_op op;

	cpl.vendor_err = hca->pers->decode_tm_op(t->slot[(uint16_t)(t->ci - t->base)], t->ci, &op);
	cpl.status = cpl.vendor_err ? HCASIM_CQE_STATUS_LOC_QP_OP_ERR : tags_execute(t, &op, &cpl.vendor_err);
	cpl.op = cqe_op(op.op);
	cpl.tm_sync = !tags_agree(t);
	t->ci++;
	if (completes(&op, cpl.status))
		cq_write(hca, srq->cq, &cpl);
	fetch(hca, srq);
	tag_ops_update(hca, srq);
}
