// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Indices that the adapter writes for the software (struct hca_shared_indices). */
#include "core/memory/memory.h"
#include "core/queues/queues.h"

static void told(struct hca *hca, struct dma_ctx *c, bool stale)
{
}

void queue_tell_consumed(struct hca *hca, struct qp *qp, const struct hca_ring *ring, uint64_t record,
			 uint32_t ci)
{
	const uint32_t index = htole32(ci & (ring->entries - 1));
	struct dma_ctx *c;

	if (!hca->pers->shared.on)
		return;
	c = dma_get(hca, qp, HCA_DMA_RECORD, true);
	if (!c)
		return;
	c->fn = told;
	memcpy(c->buf, &index, sizeof(index));
	dma_one(hca, c, ring->pasid, record + (uint64_t)(int64_t)hca->pers->shared.consumer, c->buf,
		sizeof(index));
}
