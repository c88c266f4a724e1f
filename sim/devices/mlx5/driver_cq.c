// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues. */
#include <errno.h>
#include <stddef.h>

#include "driver.h"

static uint32_t ring_entries(uint32_t cqe)
{
	uint32_t n = 1;

	while (n < cqe)
		n *= 2;
	return n;
}

static struct hca_cq_attr attr_of(const struct mlx5_cq *cq, uint64_t buf, uint32_t entries)
{
	return (struct hca_cq_attr){
		.ring = {cq->base.base.ctx->pasid, buf, entries, cq->cqe_size},
		.record = cq->record,
		.eqn = cq->base.eqn,
		.uar_page = cq->uar_page,
	};
}

/* Compression and padding are not among the capabilities. */
static int get_request(struct mlx5_cq *cq, uint32_t cqe, struct drv_udata *u, struct mlx5_ib_create_cq *req)
{
	int ret = mlx5_udata_get(u, req, sizeof(*req), offsetof(struct mlx5_ib_create_cq, flags));

	if (ret)
		return ret;
	if (req->flags || req->cqe_comp_en || req->reserved0 || req->reserved1)
		return -EOPNOTSUPP;
	if (req->cqe_size != HCASIM_MLX5_CQE_SIZE && req->cqe_size != 2 * HCASIM_MLX5_CQE_SIZE)
		return -EINVAL;
	cq->cqe_size = req->cqe_size;
	cq->record = req->db_addr;
	cq->uar_page = mlx5_ctx(cq->base.base.ctx)->page[0];
	return cqe < 1 || cqe > HCASIM_MLX5_MAX_CQE ? -EINVAL : 0;
}

static int enter(struct mlx5_cq *cq, const struct hca_cq_attr *attr)
{
	struct drv_cq *base = &cq->base.base;
	struct native_dev *n = native_dev(base->ctx->dev);
	int ret = hca_cq_create(n->dev->hca, attr, &base->cqn);

	if (ret)
		return ret;
	ret = native_enter(&n->cqs, base->cqn, cq);
	if (ret)
		hca_cq_destroy(n->dev->hca, base->cqn);
	return ret;
}

int mlx5_create_cq(struct drv_cq *base, uint32_t cqe, uint32_t vector, uint32_t flags, struct drv_udata *u)
{
	struct mlx5_cq *cq = (struct mlx5_cq *)base;
	struct mlx5_ib_create_cq_resp resp = {0};
	struct mlx5_ib_create_cq req;
	struct hca_cq_attr attr;
	uint32_t entries;
	int ret;

	if (flags & ~(uint32_t)IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	ret = get_request(cq, cqe, u, &req);
	if (ret)
		return ret;
	entries = ring_entries(cqe + 1); /* one is for the kernel: the software never counts it */
	cq->base.eqn = native_dev(base->ctx->dev)->eq[1 + vector].eqn;
	base->cqe = entries - 1;
	attr = attr_of(cq, req.buf_addr, entries);
	ret = enter(cq, &attr);
	if (ret)
		return ret;
	resp.cqn = base->cqn;
	native_udata_put(u, &resp, sizeof(resp));
	return 0;
}

/*
 * When the command returns libmlx5 copies what it has not polled, up to the RESIZE entry, which must have arrived by
 * then. Commands here do not wait for writes, so this device is one without the capability.
 */
int mlx5_resize_cq(struct drv_cq *base, uint32_t cqe, struct drv_udata *u)
{
	(void)base;
	(void)cqe;
	(void)u;
	return -ENOSYS;
}
