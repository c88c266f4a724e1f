// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory of programs that the adapter may use for their queues (MLX5_IB_OBJECT_DEVX_UMEM). */
#include <errno.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "devices/mlx5/devx/devx.h"

#define ACCESS (IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ)

/* Flags have four or eight bytes. Remote writes are also local ones (ib_check_mr_access()). */
static int get_access(struct drv_call *c, bool *write)
{
	uint64_t access = 0;
	const int ret = c->ops->get(c, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, &access, sizeof(access));

	if (ret && ret != -ENOENT)
		return ret;
	if (access & ~(uint64_t)ACCESS ||
	    (access & IB_UVERBS_ACCESS_REMOTE_WRITE && !(access & IB_UVERBS_ACCESS_LOCAL_WRITE)))
		return -EINVAL;
	*write = access & IB_UVERBS_ACCESS_LOCAL_WRITE;
	return 0;
}

/* Pages of any larger size are made of these. */
static int check_page_sizes(struct drv_call *c)
{
	uint64_t sizes;
	const int ret = c->ops->get(c, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, &sizes, sizeof(sizes));

	if (ret == -ENOENT)
		return 0;
	return !ret && !(sizes & MLX5_PAGE_SIZE) ? -EINVAL : ret;
}

static int get_range(struct drv_call *c, struct mlx5_umem *umem, bool write)
{
	int ret = c->ops->get(c, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, &umem->addr, sizeof(umem->addr));

	if (!ret)
		ret = c->ops->get(c, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, &umem->length, sizeof(umem->length));
	if (!ret && (!umem->length || umem->addr + umem->length < umem->addr))
		ret = -EINVAL;
	return ret ? ret : c->ops->pin(c, umem->addr, umem->length, write);
}

int mlx5_devx_reg_umem(struct drv_call *c)
{
	struct mlx5_umem *umem;
	bool write;
	int ret;

	if (!c->ctx || !mlx5_ctx(c->ctx)->devx)
		return -EINVAL;
	umem = c->ops->create(c, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, sizeof(*umem));
	if (!umem)
		return -ENOMEM;
	umem->ctx = mlx5_ctx(c->ctx);
	umem->pasid = c->pasid;
	ret = get_access(c, &write);
	if (!ret)
		ret = check_page_sizes(c);
	if (!ret)
		ret = get_range(c, umem, write);
	if (!ret)
		ret = numbers_add(&mlx5_dev(c->dev)->umems, umem, &umem->id);
	return ret ? ret : c->ops->put(c, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &umem->id, sizeof(umem->id));
}

int mlx5_devx_dereg_umem(void *object)
{
	const struct mlx5_umem *umem = object;

	if (umem->id)
		numbers_remove(&mlx5_dev(umem->ctx->base.dev)->umems, umem->id);
	return 0;
}

/*
 * Rings and records are in one address space, the context's. They need no right: those are of the pages as they were
 * registered, and UCX asks for none.
 */
uint8_t mlx5_devx_place(struct mlx5_devx_cmd *cmd, uint32_t umem_id, uint64_t offset, uint64_t bytes,
			uint32_t align, uint64_t *addr)
{
	const struct mlx5_umem *umem = numbers_find(&mlx5_dev(cmd->call->dev)->umems, umem_id);

	if (!umem || umem->ctx != mlx5_ctx(cmd->call->ctx) || umem->pasid != cmd->call->ctx->pasid)
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	if (offset > umem->length || bytes > umem->length - offset)
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	*addr = umem->addr + offset;
	if (*addr % align)
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	mlx5_devx_use(cmd, umem);
	return HCASIM_MLX5_CMD_STATUS_OK;
}

/* ---- Verbs with queues in such memory ---- */

static int pinned(const struct drv_udata *u, uint64_t addr, size_t size)
{
	(void)u;
	(void)addr;
	(void)size;
	return 0;
}

struct drv_udata mlx5_devx_udata(const void *req, size_t len)
{
	return (struct drv_udata){.in = req, .in_len = len, .pin_user = pinned, .pin_record = pinned};
}

uint8_t mlx5_devx_status(int ret)
{
	switch (ret) {
	case 0:
		return HCASIM_MLX5_CMD_STATUS_OK;
	case -ENOMEM:
		return HCASIM_MLX5_CMD_STATUS_NO_RES_ERR;
	case -EBUSY:
		return HCASIM_MLX5_CMD_STATUS_BAD_RES_STATE_ERR;
	default:
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	}
}
