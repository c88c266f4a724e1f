// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Objects of DEVX that are no queues: blocks of numbers, memory keys, protection domains. */
#include <endian.h>
#include <string.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "devices/mlx5/devx/devx.h"
#include "devices/mlx5/qos/qos.h"

#define KEY_INDEX 8 /* bits of a key from here on; below: its tag */
#define NO_QP     0xffffffu

void mlx5_devx_use(struct mlx5_devx_cmd *cmd, const void *used)
{
	cmd->call->ops->hold(cmd->call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, used);
}

struct drv_pd *mlx5_devx_find_pd(const struct mlx5_devx_cmd *cmd, uint32_t pdn)
{
	struct common_pd *pd = numbers_find(&common_dev(cmd->call->dev)->pds, pdn);

	return pd && pd->base.ctx == cmd->call->ctx ? &pd->base : NULL;
}

/* Blocks of numbers that no queue pair gets: programs use them for what is not this adapter's. */
static uint8_t reserve_qpns(struct mlx5_devx_cmd *cmd)
{
	const uint32_t log =
		HCASIM_FIELD_GET(HCASIM_MLX5_CMD_IN_LOG_OBJ_RANGE_MASK, be32toh(cmd->head.range));
	struct mlx5_dev *m = mlx5_dev(cmd->call->dev);

	if (log != HCASIM_MLX5_LOG_RESERVED_QPNS)
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	if (numbers_add(&m->reserved_qpns, cmd->obj, &cmd->obj->number))
		return HCASIM_MLX5_CMD_STATUS_NO_RES_ERR;
	cmd->obj->kind = MLX5_DEVX_RESERVED_QPNS;
	cmd->number = HCASIM_MLX5_RESERVED_QPN_FIRST + (cmd->obj->number << log);
	return HCASIM_MLX5_CMD_STATUS_OK;
}

uint8_t mlx5_devx_create_general(struct mlx5_devx_cmd *cmd)
{
	switch (be16toh(cmd->head.op_mod)) {
	case HCASIM_MLX5_CMD_OBJ_RESERVED_QPN:
		return reserve_qpns(cmd);
	case HCASIM_MLX5_CMD_OBJ_SCHEDULING_ELEMENT:
		return mlx5_devx_create_sched_elem(cmd);
	default:
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	}
}

#define GET(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_CMD_CREATE_MKEY_##field##_MASK, be32toh(v))

/* Keys of other kinds are the driver's. */
static bool is_indirect(const struct hcasim_mlx5_cmd_create_mkey *req)
{
	return GET(FREE, req->flags) && GET(UMR_EN, req->flags) && !GET(ACCESS_MODE_HIGH, req->flags) &&
	       GET(ACCESS_MODE, req->flags) == HCASIM_MLX5_ACCESS_MODE_KLMS &&
	       GET(QPN, req->qpn_mkey) == NO_QP && !GET(BSF_EN, req->flags_pd) &&
	       !GET(CRYPTO_EN, req->crypto) && !req->actual_octowords;
}

/*
 * A key whose translations UMR WQEs set: it has no memory before. The number in the answer is its index; its tag is the
 * program's.
 */
uint8_t mlx5_devx_create_mkey(struct mlx5_devx_cmd *cmd)
{
	struct hcasim_mlx5_cmd_create_mkey req;
	const struct drv_pd *pd;
	struct hca_key_attr attr;
	int ret;

	memcpy(&req, cmd->in, sizeof(req));
	attr.pdn = GET(PD, req.flags_pd);
	attr.max_parts = be32toh(req.translations_octowords);
	attr.tag = (uint8_t)GET(TAG, req.qpn_mkey);
	attr.remote_inv = GET(EN_RINVAL, req.flags_pd);
	pd = mlx5_devx_find_pd(cmd, attr.pdn);
	if (!is_indirect(&req) || !pd)
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	ret = hca_key_create(cmd->call->dev->hca, &attr, &cmd->obj->number);
	if (ret)
		return HCASIM_MLX5_CMD_STATUS_NO_RES_ERR;
	mlx5_devx_use(cmd, pd);
	cmd->obj->kind = MLX5_DEVX_KEY;
	cmd->number = cmd->obj->number >> KEY_INDEX;
	return HCASIM_MLX5_CMD_STATUS_OK;
}

uint8_t mlx5_devx_alloc_pd(struct mlx5_devx_cmd *cmd)
{
	struct common_pd *pd = &cmd->obj->pd;

	pd->base.ctx = cmd->call->ctx;
	if (numbers_add(&common_dev(cmd->call->dev)->pds, pd, &pd->pdn))
		return HCASIM_MLX5_CMD_STATUS_NO_RES_ERR;
	cmd->obj->kind = MLX5_DEVX_PD;
	cmd->obj->number = cmd->number = pd->pdn;
	return HCASIM_MLX5_CMD_STATUS_OK;
}

static int destroy(struct mlx5_devx_obj *obj)
{
	const struct drv_ops *ops = obj->dev->ops;

	switch (obj->kind) {
	case MLX5_DEVX_RESERVED_QPNS:
		numbers_remove(&mlx5_dev(obj->dev)->reserved_qpns, obj->number);
		return 0;
	case MLX5_DEVX_KEY:
		return hca_key_destroy(obj->dev->hca, obj->number);
	case MLX5_DEVX_PD:
		ops->dealloc_pd(&obj->pd.base);
		return 0;
	case MLX5_DEVX_CQ:
		return ops->destroy_cq(&obj->cq.base);
	case MLX5_DEVX_FLOW_COUNTER:
		mlx5_devx_free_flow_counters(obj);
		return 0;
	case MLX5_DEVX_RMP:
		return ops->destroy_srq(&obj->srq.base);
	case MLX5_DEVX_QP:
		return ops->destroy_qp(&obj->qp.base);
	default:
		return obj->destroy ? obj->destroy(obj) : 0;
	}
}

int mlx5_devx_destroy(void *object)
{
	struct mlx5_devx_obj *obj = object;
	const int ret = destroy(obj);

	if (!ret)
		mlx5_devx_events_end(obj->dev, &obj->subs);
	return ret;
}
