// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* TIRs that programs make by DEVX: received frames go to one work queue of verbs, as they are. */
#include <endian.h>
#include <string.h>

#include "devices/mlx5/devx/devx.h"

#define RQ(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_CMD_CREATE_TIR_##field##_MASK, be32toh(v))

static const struct drv_qp *find_wq(const struct mlx5_devx_cmd *cmd, uint32_t number)
{
	const struct drv_qp *wq = common_find(&common_dev(cmd->call->dev)->qps, number);

	return wq && wq->wq && wq->pd->ctx == cmd->call->ctx ? wq : NULL;
}

/* Neither spread over a table, nor merged, nor of tunnels. */
static bool is_direct(const struct hcasim_mlx5_cmd_create_tir *req)
{
	return !req->kind && !req->lro && !req->vhca && !req->table && !req->hash &&
	       !RQ(INLINE_Q_TYPE, req->rq);
}

static int destroy(struct mlx5_devx_obj *obj)
{
	numbers_remove(&mlx5_dev(obj->dev)->tirs, obj->number);
	return 0;
}

uint8_t mlx5_devx_create_tir(struct mlx5_devx_cmd *cmd)
{
	struct mlx5_devx_obj *obj = cmd->obj;
	struct hcasim_mlx5_cmd_create_tir req;
	const struct drv_qp *wq;

	memcpy(&req, cmd->in, sizeof(req));
	wq = find_wq(cmd, RQ(INLINE_RQN, req.rq));
	if (!wq || !is_direct(&req))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	if (numbers_add(&mlx5_dev(obj->dev)->tirs, obj, &obj->number))
		return HCASIM_MLX5_CMD_STATUS_NO_RES_ERR;
	mlx5_devx_use(cmd, wq);
	obj->wq = wq;
	obj->kind = MLX5_DEVX_TIR;
	obj->destroy = destroy;
	cmd->number = obj->number;
	return HCASIM_MLX5_CMD_STATUS_OK;
}

const struct mlx5_devx_obj *mlx5_devx_find_tir(const struct mlx5_devx_cmd *cmd, uint32_t number)
{
	const struct mlx5_devx_obj *obj = numbers_find(&mlx5_dev(cmd->call->dev)->tirs, number);

	return obj && obj->ctx == cmd->call->ctx ? obj : NULL;
}
