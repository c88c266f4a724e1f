// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues. */
#include <errno.h>
#include <stddef.h>

#include "devices/mlx5/format/format.h"
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
		.ring = {cq->base.ctx->pasid, buf, entries, cq->cqe_size},
		.record = cq->record,
		.eqn = cq->eqn,
		.uar_page = cq->uar_page,
	};
}

static bool is_size(uint32_t bytes)
{
	return bytes == HCASIM_MLX5_CQE_SIZE || bytes == 2 * HCASIM_MLX5_CQE_SIZE;
}

/* A new CQ may have a single entry, as in Linux: libmlx5 never asks for one, a command of DEVX may. */
static bool is_number(uint32_t cqe)
{
	return cqe <= HCASIM_MLX5_MAX_CQE;
}

/* One format of compression, and padding only of what has room for it: all CQEs of 128 bytes are written whole. */
static int check_options(const struct mlx5_ib_create_cq *req)
{
	const uint32_t format = req->cqe_comp_res_format;
	const bool pad = req->flags & MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD;

	if (req->cqe_comp_en && (!(format & MLX5_CQE_COMP_FORMATS) || format & (format - 1)))
		return -EINVAL;
	return pad && req->cqe_size != 2 * HCASIM_MLX5_CQE_SIZE ? -EOPNOTSUPP : 0;
}

static int get_request(struct mlx5_cq *cq, uint32_t cqe, struct drv_udata *u, struct mlx5_ib_create_cq *req)
{
	const unsigned int known = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX |
				   MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD |
				   MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS;
	int ret = mlx5_udata_get(u, req, sizeof(*req), offsetof(struct mlx5_ib_create_cq, flags), 0);

	if (ret)
		return ret;
	if (req->flags & ~known || req->reserved0 || req->reserved1)
		return -EINVAL;
	if (req->flags & MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS)
		return -EOPNOTSUPP;
	ret = check_options(req);
	if (ret)
		return ret;
	cq->cqe_size = req->cqe_size;
	cq->record = req->db_addr;
	return is_size(req->cqe_size) && is_number(cqe) ? 0 : -EINVAL;
}

/* Where it is armed: in a page that the library has allocated, or in the first static one; DEVX names any of these. */
static int get_page(struct mlx5_cq *cq, const struct mlx5_ib_create_cq *req)
{
	struct mlx5_ucontext *ctx = mlx5_ctx(cq->base.ctx);

	if (req->flags & MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX) {
		cq->page = mlx5_page_get(ctx, req->uar_page_index);
		cq->uar_page = req->uar_page_index;
		return cq->page || (cq->devx && mlx5_page_is_static(ctx, cq->uar_page)) ? 0 : -EINVAL;
	}
	cq->uar_page = ctx->page[0];
	return ctx->num_pages ? 0 : -EINVAL;
}

static void fill_orphan(struct mlx5_cq *cq, uint64_t buf)
{
	cq->base.orphan = (struct drv_orphan){
		.in_process = true,
		.number = cq->base.cqn,
		.record = cq->record,
		.ring = buf,
		.entries = cq->base.cqe + 1,
		.cqe_size = cq->cqe_size,
	};
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
	ret = mlx5_pin(u, req.buf_addr, (uint64_t)entries * req.cqe_size, req.db_addr);
	if (!ret)
		ret = get_page(cq, &req);
	if (ret)
		return ret;
	cq->eqn = common_dev(base->ctx->dev)->eq[1 + vector].eqn;
	base->cqe = entries - 1;
	attr = attr_of(cq, req.buf_addr, entries);
	ret = common_create_cq(base, &attr);
	if (ret) {
		mlx5_page_put(cq->page);
		return ret;
	}
	fill_orphan(cq, req.buf_addr);
	resp.cqn = base->cqn;
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}

uint32_t mlx5_cqe_size(const struct drv_cq *cq)
{
	return ((const struct mlx5_cq *)cq)->cqe_size;
}

/* CQEs keep their size, by which the QPs know how much payload goes into one: libmlx5 never asks for another. */
static int get_resize(const struct mlx5_cq *cq, const struct drv_udata *u, struct mlx5_ib_resize_cq *req)
{
	const int ret = mlx5_udata_get(u, req, sizeof(*req), sizeof(*req), 0);

	if (ret)
		return ret;
	return req->reserved0 || req->reserved1 || req->cqe_size != cq->cqe_size ? -EINVAL : 0;
}

static int consumer_index(const struct mlx5_cq *cq, const struct drv_udata *u, uint32_t *ci)
{
	struct hcasim_mlx5_cq_record raw;
	struct hca_cq_record rec;
	const int ret = u->read_user(u, &raw, cq->record, sizeof(raw));

	if (ret)
		return ret;
	mlx5_personality.decode_cq_record(&raw, &rec);
	*ci = rec.ci;
	return 0;
}

/* libmlx5 copies what it has not polled, up to the RESIZE entry, as soon as the command is done, and frees the old ring. */
int mlx5_resize_cq(struct drv_cq *base, uint32_t cqe, struct drv_udata *u)
{
	struct mlx5_cq *cq = (struct mlx5_cq *)base;
	struct mlx5_ib_resize_cq req;
	struct hca_cq_attr attr;
	uint32_t entries, ci;
	int ret;

	if (!cqe || !is_number(cqe))
		return -EINVAL;
	entries = ring_entries(cqe + 1);
	if (entries == base->cqe + 1)
		return 0;
	ret = get_resize(cq, u, &req);
	if (!ret)
		ret = u->pin_user(u, req.buf_addr, (uint64_t)entries * req.cqe_size);
	if (!ret)
		ret = consumer_index(cq, u, &ci);
	if (ret)
		return ret;
	attr = attr_of(cq, req.buf_addr, entries);
	ret = hca_cq_resize(base->ctx->dev->hca, base->cqn, &attr, ci);
	if (ret)
		return ret;
	base->cqe = entries - 1;
	fill_orphan(cq, req.buf_addr);
	return 0;
}

int mlx5_destroy_cq(struct drv_cq *base)
{
	struct mlx5_cq *cq = (struct mlx5_cq *)base;
	const int ret = common_destroy_cq(base);

	if (!ret)
		mlx5_page_put(cq->page);
	return ret;
}
