// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Entries of the table of packet pacing (MLX5_IB_OBJECT_PP), as mlx5_core manages it: requests of all contexts with
 * the same bytes share an entry, unless they ask for one of their own. What a queue has got of an entry it keeps.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "devices/mlx5/qos/qos.h"

#define GET(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_PP_CONTEXT_##field##_MASK, be32toh(v))

struct mlx5_pp { /* an object of a program: a use of an entry */
	struct drv_device *dev;
	uint16_t index;
};

/* The kernel checks the rate, the firmware the rest. */
static bool is_valid(const struct hcasim_mlx5_pp_context *c)
{
	const uint32_t rate = be32toh(c->rate_limit);

	return rate >= HCASIM_RATE_LIMIT_MIN && rate <= HCASIM_RATE_LIMIT_MAX &&
	       be32toh(c->burst_upper_bound) <= HCASIM_RATE_LIMIT_BURST && !GET(RATE_MODE, c->dw2);
}

/* The entry with the same bytes, else a free one; 0: there is none. */
static uint16_t find_entry(const struct mlx5_dev *m, const struct hcasim_mlx5_pp_context *c, bool dedicated)
{
	uint16_t free_one = 0;

	for (uint16_t i = HCASIM_MLX5_PP_RATES - 1; i; i--) {
		const struct mlx5_pp_entry *e = &m->pp[i];

		if (!e->users)
			free_one = i;
		else if (!dedicated && !e->owner && !memcmp(&e->context, c, sizeof(*c)))
			return i;
	}
	return free_one;
}

static int get_request(struct drv_call *c, struct hcasim_mlx5_pp_context *ctx, bool *dedicated)
{
	const size_t len = c->ops->size(c, MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX);
	uint64_t flags = 0;
	int ret;

	if (!c->ctx || !mlx5_ctx(c->ctx)->devx || len > sizeof(*ctx))
		return -EINVAL;
	ret = c->ops->get(c, MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX, ctx, len);
	if (!ret)
		ret = c->ops->get(c, MLX5_IB_ATTR_PP_OBJ_ALLOC_FLAGS, &flags, sizeof(flags));
	if (ret)
		return ret;
	*dedicated = flags & MLX5_IB_UAPI_PP_ALLOC_FLAGS_DEDICATED_INDEX;
	return flags & ~(uint64_t)MLX5_IB_UAPI_PP_ALLOC_FLAGS_DEDICATED_INDEX || !is_valid(ctx) ? -EINVAL : 0;
}

int mlx5_alloc_pp(struct drv_call *c)
{
	struct mlx5_dev *m = mlx5_dev(c->dev);
	struct hcasim_mlx5_pp_context ctx = {0};
	bool dedicated = false;
	struct mlx5_pp *pp;
	uint16_t index;
	int ret = get_request(c, &ctx, &dedicated);

	if (ret)
		return ret;
	index = find_entry(m, &ctx, dedicated);
	if (!index)
		return -ENOSPC;
	pp = c->ops->create(c, MLX5_IB_ATTR_PP_OBJ_ALLOC_HANDLE, sizeof(*pp));
	if (!pp)
		return -ENOMEM;
	*pp = (struct mlx5_pp){.dev = c->dev, .index = index};
	m->pp[index].context = ctx;
	m->pp[index].owner = dedicated ? c->ctx : NULL;
	m->pp[index].users++;
	return c->ops->put(c, MLX5_IB_ATTR_PP_OBJ_ALLOC_INDEX, &index, sizeof(index));
}

int mlx5_destroy_pp(void *object)
{
	const struct mlx5_pp *pp = object;

	mlx5_dev(pp->dev)->pp[pp->index].users--;
	return 0;
}

bool mlx5_pp_rate(const struct drv_ucontext *ctx, uint32_t index, struct hca_qp_attr *out)
{
	const struct mlx5_pp_entry *e;

	out->rate_limit = out->max_burst = out->typical_packet = 0;
	if (!index)
		return true;
	if (index >= HCASIM_MLX5_PP_RATES)
		return false;
	e = &mlx5_dev(ctx->dev)->pp[index];
	if (!e->users || (e->owner && e->owner != ctx))
		return false;
	out->rate_limit = be32toh(e->context.rate_limit);
	out->max_burst = be32toh(e->context.burst_upper_bound);
	out->typical_packet = GET(TYPICAL_PACKET_SIZE, e->context.dw2);
	return true;
}
