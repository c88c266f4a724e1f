// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Device memory under the attributes of mlx5_ib. Every piece begins on a page. */
#include <errno.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "devices/mlx5/driver/driver.h"
#include "devices/mlx5/format/format.h"

#define DM_PAGES (HCASIM_MLX5_BAR_DM_SIZE / COMMON_PAGE_SIZE)

static int put_place(struct drv_call *c, const struct common_dm *dm, uint16_t offset_id, uint16_t page_id)
{
	const uint64_t offset = 0;
	const uint16_t page = (uint16_t)dm->first;
	const int ret = c->ops->put(c, offset_id, &offset, sizeof(offset));

	return ret ? ret : c->ops->put(c, page_id, &page, sizeof(page));
}

/* Of the types only memory for programs is there: the others hold what steers packets. */
static int get_request(struct drv_call *c, struct common_dm *dm, uint32_t *log_align)
{
	uint64_t type = MLX5_IB_UAPI_DM_TYPE_MEMIC;
	int ret = c->ops->get(c, UVERBS_ATTR_ALLOC_DM_LENGTH, &dm->base.length, sizeof(dm->base.length));

	if (!ret)
		ret = c->ops->get(c, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, log_align, sizeof(*log_align));
	if (!ret && c->ops->has(c, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE))
		ret = c->ops->get(c, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, &type, sizeof(type));
	return !ret && type != MLX5_IB_UAPI_DM_TYPE_MEMIC ? -EOPNOTSUPP : ret;
}

int mlx5_alloc_dm(struct drv_call *c)
{
	struct common_dm dm = {.base.ctx = c->ctx};
	struct common_dm *obj;
	uint32_t log_align;
	int ret;

	ret = get_request(c, &dm, &log_align);
	if (!ret)
		ret = common_alloc_dm(&dm.base, log_align);
	if (ret)
		return ret;
	obj = c->ops->create(c, UVERBS_ATTR_ALLOC_DM_HANDLE, sizeof(*obj));
	if (!obj) {
		common_free_dm(&dm.base);
		return -ENOMEM;
	}
	*obj = dm;
	return put_place(c, obj, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET,
			 MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX);
}

int mlx5_query_dm(struct drv_call *c)
{
	const struct common_dm *dm = c->ops->object(c, MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE);
	const uint64_t length = dm->base.length;
	const int ret = put_place(c, dm, MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET,
				  MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX);

	return ret ? ret : c->ops->put(c, MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, &length, sizeof(length));
}

/* ---- Operations: the same pages, in another range of the BAR ---- */

static bool has_op(uint64_t op)
{
	return op < HCA_DM_OPS && mlx5_personality.dm_ops & 1u << op;
}

int mlx5_map_dm_op(struct drv_call *c)
{
	const struct common_dm *dm = c->ops->object(c, MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE);
	const uint64_t offset = 0;
	uint16_t page;
	uint8_t op;
	int ret = c->ops->get(c, MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, &op, sizeof(op));

	if (ret)
		return ret;
	if (!has_op(op))
		return -EOPNOTSUPP;
	page = (uint16_t)((1u + op) * DM_PAGES + dm->first);
	ret = c->ops->put(c, MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET, &offset, sizeof(offset));
	return ret ? ret : c->ops->put(c, MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX, &page, sizeof(page));
}

/* No buffer of a processor merges the accesses to an operation: each counts. */
int mlx5_mmap_dm(const struct drv_ucontext *ctx, uint64_t offset, uint64_t length, struct drv_mmap *out)
{
	const uint64_t range = offset / HCASIM_MLX5_BAR_DM_SIZE;
	int ret;

	if (range && !has_op(range - 1))
		return -EINVAL;
	ret = common_mmap_dm(ctx, offset % HCASIM_MLX5_BAR_DM_SIZE, length, out);
	if (ret || !range)
		return ret;
	out->bar_offset += range * HCASIM_MLX5_BAR_DM_SIZE;
	out->write_combining = false;
	return 0;
}
