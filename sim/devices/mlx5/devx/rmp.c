// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Receive queues that queue pairs share (CREATE_RMP): SRQs whose ring is in registered memory, linked or cyclic. */
#include <endian.h>
#include <string.h>

#include "devices/mlx5/devx/devx.h"

#define GET(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_RMPC_##field##_MASK, be32toh(v))

#define MIN_LOG_STRIDE 5 /* seg_srq_next and one SGE */
#define MAX_LOG_STRIDE 9 /* HCASIM_MLX5_MAX_RQ_DESC */
#define MAX_LOG_SIZE   15

_Static_assert(HCASIM_MLX5_MAX_RQ_DESC == 1 << MAX_LOG_STRIDE &&
		       HCASIM_MLX5_MAX_SRQ_WR + 1 == 1 << MAX_LOG_SIZE,
	       "limits of a shared receive queue");

/* WQEs of cyclic rings begin with seg_srq_next, too; strides in them, signatures and limits are not carried out. */
static bool is_plain(const struct hcasim_mlx5_rmpc *c)
{
	return GET(STATE, c->dw0) == HCASIM_MLX5_RMP_STATE_RDY && !GET(BASIC_CYCLIC, c->dw1) &&
	       GET(WQ_TYPE, c->wq) <= HCASIM_MLX5_WQ_TYPE_CYCLIC && !GET(WQ_SIGNATURE, c->wq) &&
	       !GET(PAGE_OFFSET, c->limit) && !GET(LWM, c->limit) &&
	       GET(LOG_WQ_STRIDE, c->sizes) >= MIN_LOG_STRIDE &&
	       GET(LOG_WQ_STRIDE, c->sizes) <= MAX_LOG_STRIDE && GET(LOG_WQ_SZ, c->sizes) <= MAX_LOG_SIZE;
}

static uint8_t place(struct mlx5_devx_cmd *cmd, const struct hcasim_mlx5_rmpc *c, struct hca_srq_attr *attr)
{
	struct hca_ring *r = &attr->ring;
	uint8_t status;

	r->pasid = cmd->call->ctx->pasid;
	r->entries = 1u << GET(LOG_WQ_SZ, c->sizes);
	r->stride = 1u << GET(LOG_WQ_STRIDE, c->sizes);
	status = mlx5_devx_place(cmd, be32toh(c->umem_id), be64toh(c->umem_offset),
				 (uint64_t)r->entries * r->stride, HCASIM_MLX5_SEG_UNIT, &r->addr);
	if (!status)
		status = mlx5_devx_place(cmd, be32toh(c->dbr_umem_id), be64toh(c->dbr_addr),
					 sizeof(struct hcasim_mlx5_srq_record), sizeof(uint64_t),
					 &attr->record);
	return status;
}

uint8_t mlx5_devx_create_rmp(struct mlx5_devx_cmd *cmd)
{
	struct drv_srq *srq = &cmd->obj->srq.base;
	struct hcasim_mlx5_cmd_create_rmp req;
	struct hca_srq_attr attr = {0};
	struct hcasim_mlx5_rmpc c;
	uint8_t status;

	memcpy(&req, cmd->in, sizeof(req));
	memcpy(&c, req.rmpc, sizeof(c));
	srq->pd = mlx5_devx_find_pd(cmd, GET(PD, c.domain));
	if (!srq->pd || !is_plain(&c))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	mlx5_devx_use(cmd, srq->pd);
	attr.pdn = common_pdn(srq->pd);
	attr.cyclic = GET(WQ_TYPE, c.wq) == HCASIM_MLX5_WQ_TYPE_CYCLIC;
	status = place(cmd, &c, &attr);
	if (!status)
		status = mlx5_devx_status(common_create_srq(srq, &attr));
	if (status)
		return status;
	cmd->obj->kind = MLX5_DEVX_RMP;
	cmd->obj->number = cmd->number = srq->srqn;
	return HCASIM_MLX5_CMD_STATUS_OK;
}
