// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Objects of DEVX, and its changes of queue pairs. */
#include <endian.h>
#include <string.h>

#include "devices/mlx5/devx/devx.h"

#define KEY_INDEX 8 /* bits of a key from here on; below: its tag */
#define NO_QP     0xffffffu

/* Blocks of numbers that no queue pair gets: programs use them for what is not this adapter's. */
static uint8_t reserve_qpns(struct mlx5_devx_cmd *cmd)
{
	const uint32_t log =
		HCASIM_FIELD_GET(HCASIM_MLX5_CMD_IN_LOG_OBJ_RANGE_MASK, be32toh(cmd->head.range));
	struct native_dev *n = native_dev(cmd->call->dev);

	if (log != HCASIM_MLX5_LOG_RESERVED_QPNS)
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	if (numbers_add(&n->reserved_qpns, cmd->obj, &cmd->obj->number))
		return HCASIM_MLX5_CMD_STATUS_NO_RES_ERR;
	cmd->obj->n = n;
	cmd->number = HCASIM_MLX5_RESERVED_QPN_FIRST + (cmd->obj->number << log);
	return HCASIM_MLX5_CMD_STATUS_OK;
}

uint8_t mlx5_devx_create_general(struct mlx5_devx_cmd *cmd)
{
	cmd->obj->type = be16toh(cmd->head.op_mod);
	switch (cmd->obj->type) {
	case HCASIM_MLX5_CMD_OBJ_RESERVED_QPN:
		return reserve_qpns(cmd);
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
	const struct drv_pd *pd;
	struct hcasim_mlx5_cmd_create_mkey req;
	struct hca_key_attr attr;
	int ret;

	memcpy(&req, cmd->in, sizeof(req));
	attr.pdn = GET(PD, req.flags_pd);
	attr.max_parts = be32toh(req.translations_octowords);
	attr.tag = (uint8_t)GET(TAG, req.qpn_mkey);
	attr.remote_inv = GET(EN_RINVAL, req.flags_pd);
	pd = numbers_find(&native_dev(cmd->call->dev)->pds, attr.pdn);
	if (!is_indirect(&req) || !pd || pd->ctx != cmd->call->ctx)
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	ret = hca_key_create(cmd->call->dev->hca, &attr, &cmd->obj->number);
	if (ret)
		return HCASIM_MLX5_CMD_STATUS_NO_RES_ERR;
	cmd->obj->hca = cmd->call->dev->hca;
	cmd->number = cmd->obj->number >> KEY_INDEX;
	return HCASIM_MLX5_CMD_STATUS_OK;
}

int mlx5_devx_destroy(void *object)
{
	struct mlx5_devx_obj *obj = object;

	if (obj->hca)
		return hca_key_destroy(obj->hca, obj->number);
	if (obj->n)
		numbers_remove(&obj->n->reserved_qpns, obj->number);
	return 0;
}

/* Of a queue pair that works it changes the UDP source port; what else there is here the driver changes. */
uint8_t mlx5_devx_rts2rts_qp(struct mlx5_devx_cmd *cmd)
{
	struct hcasim_mlx5_cmd_rts2rts req;
	struct hca *hca = cmd->call->dev->hca;
	struct hca_qp_attr attr;

	memcpy(&req, cmd->in, sizeof(req));
	if (req.opt_param_mask ||
	    be64toh(req.opt_param_mask_2) != HCASIM_MLX5_CMD_RTS2RTS_MASK_UDP_SPORT_MASK)
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	if (hca_qp_query(hca, cmd->qp->qpn, &attr) || attr.state != HCASIM_QPS_RTS)
		return HCASIM_MLX5_CMD_STATUS_BAD_RES_STATE_ERR;
	if (hca_qp_udp_sport(hca, cmd->qp->qpn, be16toh(req.udp_sport)))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	return HCASIM_MLX5_CMD_STATUS_OK;
}
