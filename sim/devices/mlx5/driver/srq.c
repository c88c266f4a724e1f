// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues: linked lists in the program's memory. */
#include <errno.h>
#include <stddef.h>

#include "driver.h"

#define MIN_STRIDE 32u

static uint32_t power_of_two(uint32_t v)
{
	uint32_t n = 1;

	while (n < v)
		n *= 2;
	return n;
}

/* libmlx5 counts one WQE less than the ring has, and its largest list of SGEs fills the stride. */
static int get_ring(const struct drv_srq_init *init, const struct mlx5_ib_create_srq *req, uint32_t pasid,
		    struct hca_ring *ring)
{
	uint32_t bytes;

	if (init->max_wr > HCASIM_MLX5_MAX_SRQ_WR || init->max_sge > HCASIM_MLX5_MAX_SRQ_SGE)
		return -EINVAL;
	bytes = sizeof(struct hcasim_mlx5_seg_srq_next) + init->max_sge * sizeof(struct hcasim_mlx5_seg_data);
	*ring = (struct hca_ring){pasid, req->buf_addr, power_of_two(init->max_wr + 1),
				  power_of_two(bytes < MIN_STRIDE ? MIN_STRIDE : bytes)};
	return 0;
}

static uint32_t ring_sges(const struct hca_ring *ring)
{
	return (ring->stride - sizeof(struct hcasim_mlx5_seg_srq_next)) / sizeof(struct hcasim_mlx5_seg_data);
}

static int get_request(const struct drv_srq_init *init, const struct drv_udata *u,
		       struct mlx5_ib_create_srq *req)
{
	const int ret =
		mlx5_udata_get(u, req, sizeof(*req), offsetof(struct mlx5_ib_create_srq, reserved1), -EINVAL);

	if (ret)
		return ret;
	if (req->reserved0 || req->reserved1)
		return -EINVAL;
	return req->flags & MLX5_SRQ_FLAG_SIGNATURE || init->num_tags ? -EOPNOTSUPP : 0;
}

int mlx5_create_srq(struct drv_srq *base, struct drv_srq_init *init, struct drv_udata *u)
{
	struct mlx5_ib_create_srq_resp resp = {0};
	struct hca_srq_attr attr = {
		.pdn = common_pdn(base->pd),
		.xrcdn = init->xrcdn,
		.cqn = init->cq ? init->cq->cqn : 0,
	};
	struct mlx5_ib_create_srq req;
	int ret;

	ret = get_request(init, u, &req);
	if (!ret)
		ret = get_ring(init, &req, base->pd->ctx->pasid, &attr.ring);
	if (!ret)
		ret = mlx5_pin(u, req.buf_addr, (uint64_t)attr.ring.entries * attr.ring.stride, req.db_addr);
	if (ret)
		return ret;
	attr.record = req.db_addr;
	attr.user_index = req.uidx;
	((struct mlx5_srq *)base)->xrc = init->xrcdn;
	ret = common_create_srq(base, &attr);
	if (ret)
		return ret;
	init->max_wr = attr.ring.entries - 1;
	init->max_sge = ring_sges(&attr.ring);
	resp.srqn = base->srqn;
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}

/* As mlx5_ib: the ring is the program's, and stays as it is. */
int mlx5_resize_srq(struct drv_srq *srq, uint32_t max_wr, struct drv_udata *u)
{
	(void)srq;
	(void)max_wr;
	(void)u;
	return -EINVAL;
}
