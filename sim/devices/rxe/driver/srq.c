// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues. */
#include <endian.h>
#include <errno.h>

#include "driver.h"

static struct rxe_srq *rxe_srq(struct drv_srq *srq)
{
	return (struct rxe_srq *)srq;
}

int rxe_create_srq(struct drv_srq *base, struct drv_srq_init *init, struct drv_udata *u)
{
	struct rxe_dev *n = rxe_dev(base->pd->ctx->dev);
	struct rxe_srq *srq = rxe_srq(base);
	struct hcasim_rxe_create_srq_resp resp = {0};
	struct hca_srq_attr attr = {.pdn = common_pdn(base->pd), .limit = init->limit};
	int ret;

	if (init->cq || init->xrcdn)
		return -EOPNOTSUPP;
	if (!init->max_wr || init->max_wr > HCASIM_RXE_MAX_WR - 1 || init->max_sge > HCASIM_RXE_MAX_SGE ||
	    u->out_len < sizeof(resp))
		return -EINVAL;
	rxe_queue_size(&srq->queue, init->max_wr, HCASIM_RXE_ELEMENT);
	init->max_wr =
		srq->queue.entries - 1; /* what the library, which looks at the ring alone, lets through */
	srq->mem = rxe_mem_alloc(base->pd->ctx, &srq->queue, NULL);
	if (!srq->mem)
		return -ENOMEM;
	attr.ring = rxe_ring(&srq->queue);
	attr.record = rxe_record(&srq->queue);
	ret = common_create_srq(base, &attr);
	if (ret) {
		rxe_mem_free(n, srq->mem);
		return ret;
	}
	resp.offset = htole64(srq->queue.offset);
	resp.size = htole32((uint32_t)srq->queue.size);
	resp.srq_num = htole32(base->srqn);
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}

/* The adapter keeps a queue where it is. */
int rxe_resize_srq(struct drv_srq *srq, uint32_t max_wr, struct drv_udata *u)
{
	return -EOPNOTSUPP;
}

int rxe_destroy_srq(struct drv_srq *base)
{
	const int ret = common_destroy_srq(base);

	if (!ret)
		rxe_mem_free(rxe_dev(base->pd->ctx->dev), rxe_srq(base)->mem);
	return ret;
}
