// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mlx5 WQE bytes to the canonical work request. */
#include <endian.h>
#include <string.h>

#include "format.h"
#include "segment.h"
#include "hcasim_wr.h"

#define GET(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_WQE_CTRL_##field##_MASK, v)

_Static_assert(HCASIM_MLX5_MAX_SQ_DESC <= HCA_WQE_MAX, "a WQE fits the core's buffer");

uint32_t mlx5_wqe_size(const void *head)
{
	struct hcasim_mlx5_wqe_ctrl ctrl;

	memcpy(&ctrl, head, 8);
	return GET(DS, be32toh(ctrl.qpn_ds)) * HCASIM_MLX5_SEG_UNIT;
}

uint16_t mlx5_index_after(const void *head)
{
	const uint32_t bb = (mlx5_wqe_size(head) + HCASIM_MLX5_WQEBB_SIZE - 1) / HCASIM_MLX5_WQEBB_SIZE;
	struct hcasim_mlx5_wqe_ctrl ctrl;

	memcpy(&ctrl, head, 8);
	return (uint16_t)(GET(INDEX, be32toh(ctrl.opmod_idx_opcode)) + bb);
}

/* Of the flags of a request only those that have an effect on its operation and QP type remain. */
static uint32_t effective_flags(const struct hcasim_mlx5_wqe_ctrl *ctrl, uint8_t op, uint8_t qp_type)
{
	const struct hcasim_wr_rule *rule = hcasim_wr_rule_of_wqe_op(op);
	const uint32_t bit = qp_type < 32 ? HCASIM_QPT_BIT(qp_type) : 0;
	uint32_t flags = 0;

	if (GET(CE, ctrl->fm_ce_se) & HCASIM_MLX5_CE_ALWAYS)
		flags |= HCA_WR_SIGNALED;
	if (!rule)
		return flags;
	if (GET(SOLICITED, ctrl->fm_ce_se) && rule->solicited_qp_types & bit)
		flags |= HCA_WR_SOLICITED;
	if (GET(FM, ctrl->fm_ce_se) == HCASIM_MLX5_FM_FENCE && rule->fence_qp_types & bit)
		flags |= HCA_WR_FENCE;
	return flags;
}

/* Check for a stale entry first: its other fields are meaningless. */
static uint8_t decode_ctrl(const struct hcasim_mlx5_wqe_ctrl *ctrl, uint32_t len, uint32_t qpn,
			   uint16_t index, struct hca_wr *wr)
{
	const uint32_t bytes = mlx5_wqe_size(ctrl);

	wr->imm = (__u32)ctrl->imm;
	wr->inv_rkey = be32toh(ctrl->imm);
	if (GET(INDEX, be32toh(ctrl->opmod_idx_opcode)) != index)
		return HCASIM_VENDOR_ERR_STALE_WQE;
	if (GET(QPN, be32toh(ctrl->qpn_ds)) != qpn)
		return HCASIM_VENDOR_ERR_BAD_QPN;
	if (bytes < sizeof(*ctrl) || bytes > len)
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->num_bb = (uint8_t)((bytes + HCASIM_MLX5_WQEBB_SIZE - 1) / HCASIM_MLX5_WQEBB_SIZE);
	return 0;
}

static uint8_t decode_body(const struct hcasim_mlx5_wqe_format *format, uint8_t qp_type,
			   struct mlx5_cursor *cur, struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge)
{
	uint8_t err = format->address ? mlx5_seg_address(qp_type, cur, wr) : 0;

	for (size_t i = 0; !err && i < sizeof(format->segs); i++)
		err = mlx5_segment(format->segs[i], cur, wr);
	if (err || !format->data)
		return err;
	err = mlx5_data(cur, wr, sge, max_sge);
	if (!err && wr->inline_data && format->scatter)
		err = HCASIM_VENDOR_ERR_INLINE_NOT_ALLOWED;
	return err;
}

uint8_t mlx5_decode_wqe(const void *raw, uint32_t len, uint8_t qp_type, uint32_t qpn, uint16_t index,
			struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge, uint8_t *status)
{
	const struct hcasim_mlx5_wqe_format *format;
	struct mlx5_cursor cur = {raw, len};
	struct hcasim_mlx5_wqe_ctrl ctrl;
	uint8_t err;

	memset(wr, 0, sizeof(*wr));
	wr->index = index;
	wr->num_bb = 1;
	*status = HCASIM_CQE_STATUS_LOC_QP_OP_ERR;
	if (!mlx5_take(&cur, &ctrl, sizeof(ctrl)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	err = decode_ctrl(&ctrl, len, qpn, index, wr);
	if (err)
		return err;
	format = hcasim_mlx5_wqe_format((uint8_t)GET(OPCODE, be32toh(ctrl.opmod_idx_opcode)));
	if (!format)
		return HCASIM_VENDOR_ERR_BAD_OPCODE;
	wr->op = format->op;
	wr->flags = effective_flags(&ctrl, wr->op, qp_type);
	cur.left = mlx5_wqe_size(&ctrl) - sizeof(ctrl);
	err = decode_body(format, qp_type, &cur, wr, sge, max_sge);
	if (!err)
		*status = HCASIM_CQE_STATUS_OK;
	if (!err && wr->length > 1ull << HCASIM_MLX5_LOG_MAX_MSG) {
		*status = HCASIM_CQE_STATUS_LOC_LEN_ERR;
		err = HCASIM_VENDOR_ERR_MSG_TOO_LONG;
	}
	return err;
}

uint8_t mlx5_decode_rqe(const void *raw, uint32_t len, uint16_t index, struct hca_rwr *wr,
			struct hca_sge *sge, uint32_t max_sge)
{
	struct mlx5_cursor cur = {raw, len};

	memset(wr, 0, sizeof(*wr));
	wr->index = index;
	return mlx5_scatter_list(&cur, wr, sge, max_sge);
}

/* Completions of a shared receive queue name the WQE by its place in the ring. */
uint8_t mlx5_decode_srqe(const void *raw, uint32_t len, uint16_t index, struct hca_rwr *wr,
			 struct hca_sge *sge, uint32_t max_sge)
{
	struct hcasim_mlx5_seg_srq_next next;
	struct mlx5_cursor cur = {raw, len};

	memset(wr, 0, sizeof(*wr));
	wr->sge = sge;
	wr->index = wr->tag = index;
	if (!mlx5_take(&cur, &next, sizeof(next)))
		return HCASIM_VENDOR_ERR_BAD_RQE;
	return mlx5_scatter_list(&cur, wr, sge, max_sge);
}
