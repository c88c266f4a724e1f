// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* User contexts, their user access pages and doorbell registers. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "devices/mlx5/devx/devx.h"
#include "driver.h"

#define QP_TABLE    (1u << 18)
#define CLOCK_PAGE  (HCASIM_MLX5_REG_INTERNAL_TIMER & ~(MLX5_PAGE_SIZE - 1))
#define CACHE_LINE  64
#define UAR_LOG     12
#define CQE_VERSION 1 /* with user indices */
#define PER_UAR     HCASIM_MLX5_USER_BFREGS_PER_UAR
#define ALL_PER_UAR HCASIM_MLX5_BFREGS_PER_UAR

_Static_assert(HCASIM_MLX5_UAR_PAGE_SIZE == 1u << UAR_LOG, "size of a user access page");

int mlx5_udata_get(const struct drv_udata *u, void *req, size_t len, size_t min, int tail)
{
	const uint8_t *in = u->in;

	if (u->in_len < min)
		return -EINVAL;
	for (size_t i = len; tail && i < u->in_len; i++) {
		if (in[i])
			return tail;
	}
	memset(req, 0, len);
	memcpy(req, in, u->in_len < len ? u->in_len : len);
	return 0;
}

int mlx5_pin(const struct drv_udata *u, uint64_t buf, uint64_t bytes, uint64_t record)
{
	const int ret = u->pin_user(u, buf, bytes);

	return ret ? ret : u->pin_record(u, record, sizeof(struct hcasim_mlx5_cq_record));
}

static void free_pages(struct mlx5_ucontext *ctx)
{
	while (ctx->num_pages)
		numbers_remove(&mlx5_dev(ctx->base.dev)->uars, ctx->page[--ctx->num_pages]);
}

static int alloc_pages(struct mlx5_ucontext *ctx)
{
	struct mlx5_dev *m = mlx5_dev(ctx->base.dev);
	const uint32_t num = ctx->num_bfregs / PER_UAR;

	while (ctx->num_pages < num) {
		const int ret = numbers_add(&m->uars, &ctx->fixed, &ctx->page[ctx->num_pages]);

		if (ret) {
			free_pages(ctx);
			return ret;
		}
		ctx->num_pages++;
	}
	return 0;
}

static int check(const struct mlx5_ib_alloc_ucontext_req_v2 *req)
{
	if (req->flags & ~(uint32_t)MLX5_IB_ALLOC_UCTX_DEVX || req->comp_mask || req->reserved0 ||
	    req->reserved1 || req->reserved2)
		return -EOPNOTSUPP;
	if (req->max_cqe_version < CQE_VERSION || !req->total_num_bfregs ||
	    req->total_num_bfregs > MLX5_MAX_BFREGS)
		return -EINVAL;
	return req->num_low_latency_bfregs > req->total_num_bfregs - 1 ? -EINVAL : 0;
}

/* tot_bfregs selects static user access pages; without them the library allocates pages when it needs them. */
static void answer(const struct mlx5_ucontext *ctx, struct drv_udata *u)
{
	struct mlx5_ib_alloc_ucontext_resp resp = {
		.qp_tab_size = QP_TABLE,
		.bf_reg_size = HCASIM_MLX5_BFREG_SIZE,
		.tot_bfregs = ctx->num_bfregs,
		.cache_line_size = CACHE_LINE,
		.max_sq_desc_sz = HCASIM_MLX5_MAX_SQ_DESC,
		.max_rq_desc_sz = HCASIM_MLX5_MAX_RQ_DESC,
		.max_send_wqebb = HCASIM_MLX5_MAX_WQEBB,
		.max_recv_wr = HCASIM_MLX5_MAX_QP_WR,
		.max_srq_recv_wr = HCASIM_MLX5_MAX_SRQ_WR,
		.num_ports = ctx->base.dev->cfg->num_ports,
		.comp_mask = MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET |
			     MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE,
		.response_length = sizeof(resp),
		.cqe_version = CQE_VERSION,
		.clock_info_versions = 1u << MLX5_IB_CLOCK_INFO_V1,
		.cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
		.eth_min_inline = MLX5_USER_INLINE_MODE_NONE,
		.hca_core_clock_offset = HCASIM_MLX5_REG_INTERNAL_TIMER % MLX5_PAGE_SIZE,
		.log_uar_size = UAR_LOG,
		.num_uars_per_page = 1,
	};

	if (u->out_len < sizeof(resp))
		resp.response_length = (uint32_t)u->out_len;
	common_udata_put(u, &resp, sizeof(resp));
}

/*
 * Libraries retry with a request that ends before lib_caps, which says that they know no pages but static ones. One that
 * ends before max_cqe_version, too, is of a library without user indices, which this adapter's CQEs have.
 */
int mlx5_alloc_ucontext(struct drv_ucontext *base, struct drv_udata *u)
{
	struct mlx5_ucontext *ctx = mlx5_ctx(base);
	struct mlx5_ib_alloc_ucontext_req_v2 req;
	int ret;

	ret = mlx5_udata_get(u, &req, sizeof(req), offsetof(struct mlx5_ib_alloc_ucontext_req_v2, lib_caps),
			     0);
	if (!ret)
		ret = check(&req);
	if (ret)
		return ret;
	ctx->fixed.ctx = ctx;
	ctx->devx = req.flags & MLX5_IB_ALLOC_UCTX_DEVX;
	if (!(req.lib_caps & MLX5_LIB_CAP_DYN_UAR)) {
		ctx->num_bfregs = (req.total_num_bfregs + PER_UAR - 1) / PER_UAR * PER_UAR;
		ctx->num_low_latency = req.num_low_latency_bfregs;
	}
	ret = alloc_pages(ctx);
	if (!ret)
		answer(ctx, u);
	return ret;
}

int mlx5_query_ucontext(struct drv_ucontext *base, struct drv_udata *u)
{
	answer(mlx5_ctx(base), u);
	return 0;
}

void mlx5_dealloc_ucontext(struct drv_ucontext *base)
{
	mlx5_devx_events_close(mlx5_ctx(base));
	mlx5_pages_free(mlx5_ctx(base));
	free_pages(mlx5_ctx(base));
}

/* ---- Doorbell registers ---- */

static uint32_t least_used(const struct mlx5_ucontext *ctx, uint32_t from, uint32_t to)
{
	uint32_t best = from;

	for (uint32_t i = from; i < to; i++) {
		if (ctx->users[i] < ctx->users[best])
			best = i;
	}
	return best;
}

/*
 * The last num_low_latency ones have one user each, so libmlx5 takes no lock for them; those before are shared. The first
 * one has no BlueFlame, and is for whoever finds no other.
 */
uint32_t mlx5_bfreg_get(struct mlx5_ucontext *ctx)
{
	const uint32_t high = ctx->num_bfregs - ctx->num_low_latency;
	uint32_t i = 0;

	if (ctx->num_low_latency)
		i = least_used(ctx, high, ctx->num_bfregs);
	if ((!i || ctx->users[i]) && high > 1)
		i = least_used(ctx, 1, high);
	else if (i && ctx->users[i])
		i = 0;
	ctx->users[i]++;
	return i;
}

void mlx5_bfreg_put(struct mlx5_ucontext *ctx, uint32_t bfreg)
{
	ctx->users[bfreg]--;
}

/* libmlx5 counts those of the kernel, too. */
uint32_t mlx5_bfreg_number(uint32_t bfreg)
{
	return bfreg / PER_UAR * ALL_PER_UAR + bfreg % PER_UAR;
}

uint32_t mlx5_bfreg_page(const struct mlx5_ucontext *ctx, uint32_t bfreg)
{
	return ctx->page[bfreg / PER_UAR];
}

/* ---- mmap ---- */

/* A page index of mmap: its low bits are below the command, the others above. */
static uint64_t extended_index(uint64_t pgoff)
{
	return pgoff >> (MLX5_CMD_SHIFT + MLX5_CMD_BITS) << MLX5_CMD_SHIFT |
	       (pgoff & ((1u << MLX5_CMD_SHIFT) - 1));
}

static int map_uar(const struct mlx5_ucontext *ctx, uint32_t index, bool write_combining,
		   struct drv_mmap *out)
{
	if (index >= ctx->num_pages)
		return -EINVAL;
	out->bar_offset = (uint64_t)ctx->page[index] * MLX5_PAGE_SIZE;
	out->write_combining = write_combining;
	return 0;
}

int mlx5_mmap(struct drv_ucontext *base, uint64_t offset, uint64_t length, struct drv_mmap *out)
{
	const uint64_t pgoff = offset / MLX5_PAGE_SIZE;
	const uint32_t index = pgoff & ((1u << MLX5_CMD_SHIFT) - 1);
	const uint32_t command = pgoff >> MLX5_CMD_SHIFT & ((1u << MLX5_CMD_BITS) - 1);

	memset(out, 0, sizeof(*out));
	if (command == MLX5_IB_MMAP_DEVICE_MEM)
		return mlx5_mmap_dm(base, extended_index(pgoff) * MLX5_PAGE_SIZE, length, out);
	if (length != MLX5_PAGE_SIZE)
		return -EINVAL;
	out->kind = DRV_MMAP_BAR;
	out->bar = HCASIM_MLX5_BAR;
	out->length = length;
	if (command == MLX5_MMAP_PAGE)
		return mlx5_page_mmap(mlx5_ctx(base), extended_index(pgoff), out);
	switch (pgoff >> MLX5_CMD_SHIFT) {
	case MLX5_IB_MMAP_REGULAR_PAGE:
	case MLX5_IB_MMAP_WC_PAGE:
		return map_uar(mlx5_ctx(base), index, true, out);
	case MLX5_IB_MMAP_NC_PAGE:
		return map_uar(mlx5_ctx(base), index, false, out);
	case MLX5_IB_MMAP_CORE_CLOCK:
		out->bar_offset = CLOCK_PAGE;
		out->read_only = true;
		return 0;
	case MLX5_IB_MMAP_CLOCK_INFO:
		return index == MLX5_IB_CLOCK_INFO_V1 ? mlx5_clock_mmap(base->dev, out) : -EINVAL;
	default:
		return -EINVAL;
	}
}
