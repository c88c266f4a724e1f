// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues of DEVX: those of ibv_create_cq(), with their ring and record in registered memory. */
#include <endian.h>
#include <string.h>

#include "devices/mlx5/devx/devx.h"

#define GET(field, v)  HCASIM_FIELD_GET(HCASIM_MLX5_CQC_##field##_MASK, be32toh(v))
#define PREP(field, v) htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_CQC_##field##_MASK, v))

#define MAX_LOG_SIZE 22 /* HCASIM_MLX5_MAX_CQE and one */

_Static_assert(HCASIM_MLX5_MAX_CQE + 1 == 1 << MAX_LOG_SIZE, "size of a completion queue");

static bool find_vector(const struct mlx5_devx_cmd *cmd, uint32_t eqn, uint32_t *vector)
{
	const struct common_dev *n = common_dev(cmd->call->dev);

	for (*vector = 0; *vector < COMMON_COMP_VECTORS; (*vector)++) {
		if (n->eq[1 + *vector].eqn == eqn)
			return true;
	}
	return false;
}

/*
 * The ring begins where umem_offset says: pages and an offset in them are for translations. Whether the bits say that a
 * umem is valid does not matter: older software does not set them, and there are no other addresses for a program.
 */
static bool is_plain(const struct hcasim_mlx5_cqc *cqc)
{
	return GET(CQE_SZ, cqc->flags) <= HCASIM_MLX5_CQE_SZ_B128_PAD &&
	       GET(LOG_CQ_SIZE, cqc->size_uar) <= MAX_LOG_SIZE && !GET(PAGE_OFFSET, cqc->page) &&
	       !GET(COLLAPSED, cqc->flags) && !GET(OVERRUN_IGNORE, cqc->flags) &&
	       !GET(PERIOD_MODE, cqc->flags);
}

static uint8_t place(struct mlx5_devx_cmd *cmd, const struct hcasim_mlx5_cmd_create_cq *req,
		     const struct hcasim_mlx5_cqc *cqc, struct mlx5_ib_create_cq *out)
{
	const uint64_t bytes = (uint64_t)out->cqe_size << GET(LOG_CQ_SIZE, cqc->size_uar);
	uint64_t buf, record;
	uint8_t status;

	status = mlx5_devx_place(cmd, be32toh(req->umem_id), be64toh(req->umem_offset), bytes, out->cqe_size,
				 &buf);
	if (!status)
		status = mlx5_devx_place(cmd, be32toh(cqc->dbr_umem_id), be64toh(cqc->dbr_addr),
					 sizeof(struct hcasim_mlx5_cq_record), sizeof(uint64_t), &record);
	if (!status) {
		out->buf_addr = buf;
		out->db_addr = record;
	}
	return status;
}

static int enter(struct mlx5_devx_cmd *cmd, const struct hcasim_mlx5_cqc *cqc,
		 const struct mlx5_ib_create_cq *req, uint32_t vector)
{
	const uint32_t cqe = (1u << GET(LOG_CQ_SIZE, cqc->size_uar)) - 1;
	struct drv_udata u = mlx5_devx_udata(req, sizeof(*req));
	struct drv_cq *cq = &cmd->obj->cq.base;
	const struct drv_ops *ops = cmd->call->dev->ops;
	int ret;

	cq->ctx = cmd->call->ctx;
	cmd->obj->cq.devx = cmd->obj;
	ret = ops->create_cq(cq, cqe, vector, 0, &u);
	if (ret)
		return ret;
	cmd->obj->kind = MLX5_DEVX_CQ;
	return ops->moderate_cq(cq, (uint16_t)GET(MAX_COUNT, cqc->moderation),
				(uint16_t)GET(PERIOD, cqc->moderation));
}

uint8_t mlx5_devx_create_cq(struct mlx5_devx_cmd *cmd)
{
	struct mlx5_ib_create_cq verb = {.flags = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX};
	struct hcasim_mlx5_cmd_create_cq req;
	struct hcasim_mlx5_cqc cqc;
	uint32_t vector;
	uint8_t status;

	memcpy(&req, cmd->in, sizeof(req));
	memcpy(&cqc, req.cqc, sizeof(cqc));
	if (!is_plain(&cqc) || !find_vector(cmd, GET(C_EQN, cqc.eqn), &vector))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	verb.cqe_size = GET(CQE_SZ, cqc.flags) ? 2 * HCASIM_MLX5_CQE_SIZE : HCASIM_MLX5_CQE_SIZE;
	verb.uar_page_index = (__u16)GET(UAR_PAGE, cqc.size_uar);
	if (verb.uar_page_index != GET(UAR_PAGE, cqc.size_uar))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	status = place(cmd, &req, &cqc, &verb);
	if (!status)
		status = mlx5_devx_status(enter(cmd, &cqc, &verb, vector));
	if (status)
		return status;
	memcpy(cmd->obj->context, &cqc, sizeof(cqc));
	cmd->obj->number = cmd->number = cmd->obj->cq.base.cqn;
	return HCASIM_MLX5_CMD_STATUS_OK;
}

/* Only its moderation: what it does not change, stays. */
uint8_t mlx5_devx_modify_cq(struct mlx5_devx_cmd *cmd)
{
	const uint32_t period = HCASIM_MLX5_CMD_CREATE_CQ_SELECT_PERIOD_MASK;
	const uint32_t count = HCASIM_MLX5_CMD_CREATE_CQ_SELECT_MAX_COUNT_MASK;
	struct drv_cq *cq = &cmd->obj->cq.base;
	struct hcasim_mlx5_cmd_create_cq req;
	struct hcasim_mlx5_cqc now, cqc;
	uint32_t select, mask;

	memcpy(&req, cmd->in, sizeof(req));
	memcpy(&cqc, req.cqc, sizeof(cqc));
	memcpy(&now, cmd->obj->context, sizeof(now));
	select = be32toh(req.select);
	if (cmd->head.op_mod || !select || select & ~(period | count))
		return HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR;
	mask = (select & period ? HCASIM_MLX5_CQC_PERIOD_MASK : 0) |
	       (select & count ? HCASIM_MLX5_CQC_MAX_COUNT_MASK : 0);
	now.moderation = (now.moderation & ~htobe32(mask)) | (cqc.moderation & htobe32(mask));
	memcpy(cmd->obj->context, &now, sizeof(now));
	return mlx5_devx_status(cmd->call->dev->ops->moderate_cq(cq, (uint16_t)GET(MAX_COUNT, now.moderation),
								 (uint16_t)GET(PERIOD, now.moderation)));
}

uint8_t mlx5_devx_query_cq(struct mlx5_devx_cmd *cmd)
{
	struct hcasim_mlx5_cmd_query_cq_out out = {0};
	struct hcasim_mlx5_cqc cqc;
	uint32_t ci, pi;

	memcpy(&cqc, cmd->obj->context, sizeof(cqc));
	hca_cq_indices(cmd->call->dev->hca, cmd->obj->number, &ci, &pi);
	cqc.consumer = PREP(CONSUMER_COUNTER, ci);
	cqc.producer = PREP(PRODUCER_COUNTER, pi);
	memcpy(out.cqc, &cqc, sizeof(cqc));
	memcpy(cmd->out, &out, sizeof(out));
	return HCASIM_MLX5_CMD_STATUS_OK;
}
