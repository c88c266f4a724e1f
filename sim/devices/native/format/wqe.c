// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Native WQE bytes to the canonical work request. */
#include <endian.h>
#include <string.h>

#include "format.h"
#include "segment.h"
#include "hcasim_wr.h"

#define WQE_BYTES (HCASIM_WQE_MAX_BB * HCASIM_WQEBB_SIZE)
_Static_assert(WQE_BYTES <= HCA_WQE_MAX, "a WQE fits the core's buffer");

#define CTRL_FIELDS                                                                                          \
	(HCASIM_WQE_CTRL_QPN_MASK | HCASIM_WQE_CTRL_SIGNALED_MASK | HCASIM_WQE_CTRL_SOLICITED_MASK |         \
	 HCASIM_WQE_CTRL_FENCE_MASK | HCASIM_WQE_CTRL_INLINE_MASK | HCASIM_WQE_CTRL_IP_CSUM_MASK)

uint32_t native_wqe_size(const void *head)
{
	struct hcasim_wqe_ctrl ctrl;
	uint32_t bytes;

	memcpy(&ctrl, head, sizeof(ctrl));
	bytes = ctrl.size * HCASIM_SEG_UNIT;
	return bytes <= WQE_BYTES ? bytes : 0;
}

/* Rows of spec/wr.yaml and spec/families/native.yaml that govern one WQE, and the QP it stands on. */
struct context {
	const struct hcasim_wr_rule *rule; /* NULL: NOP */
	const struct hcasim_wqe_format *format;
	uint32_t qp_bit;
	uint8_t qp_type;
};

static bool find_rows(struct context *ctx, uint8_t opcode, uint8_t qp_type)
{
	ctx->qp_type = qp_type;
	ctx->qp_bit = qp_type < 32 ? HCASIM_QPT_BIT(qp_type) : 0;
	ctx->rule = hcasim_wr_rule_of_wqe_op(opcode);
	ctx->format = hcasim_wqe_format(opcode);
	if (!ctx->format)
		return false;
	if (!ctx->rule)
		return opcode == HCASIM_WQE_OP_NOP;
	return (ctx->rule->qp_types | ctx->rule->post_qp_types) & ctx->qp_bit;
}

/* A flag that has no effect on this operation or QP type is dropped here, once. */
static uint32_t effective_flags(const struct context *ctx, uint32_t qpn_flags)
{
	const struct hcasim_wr_rule *rule = ctx->rule;
	uint32_t flags = 0;

	if (qpn_flags & HCASIM_WQE_CTRL_SIGNALED_MASK)
		flags |= HCA_WR_SIGNALED;
	if (!rule)
		return flags;
	if (qpn_flags & HCASIM_WQE_CTRL_SOLICITED_MASK && rule->solicited_qp_types & ctx->qp_bit)
		flags |= HCA_WR_SOLICITED;
	if (qpn_flags & HCASIM_WQE_CTRL_FENCE_MASK && rule->fence_qp_types & ctx->qp_bit)
		flags |= HCA_WR_FENCE;
	if (qpn_flags & HCASIM_WQE_CTRL_IP_CSUM_MASK && rule->csum_qp_types & ctx->qp_bit)
		flags |= HCA_WR_IP_CSUM;
	return flags;
}

/* Check for a stale entry first: its other fields are meaningless. */
static uint8_t decode_ctrl(const struct hcasim_wqe_ctrl *ctrl, uint32_t len, uint32_t qpn, uint16_t index,
			   struct hca_wr *wr)
{
	uint32_t qpn_flags = le32toh(ctrl->qpn_flags);
	uint32_t bytes = native_wqe_size(ctrl);

	wr->op = ctrl->opcode;
	wr->index = index;
	wr->num_bb = 1;
	wr->imm = (__u32)ctrl->imm;
	wr->inv_rkey = le32toh(ctrl->inv_rkey);
	if (le16toh(ctrl->index) != index)
		return HCASIM_VENDOR_ERR_STALE_WQE;
	if (HCASIM_FIELD_GET(HCASIM_WQE_CTRL_QPN_MASK, qpn_flags) != qpn)
		return HCASIM_VENDOR_ERR_BAD_QPN;
	if (!bytes || bytes > len)
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->num_bb = (bytes + HCASIM_WQEBB_SIZE - 1) / HCASIM_WQEBB_SIZE;
	return qpn_flags & ~CTRL_FIELDS ? HCASIM_VENDOR_ERR_BAD_SEGMENT : 0;
}

static uint8_t decode_address(const struct context *ctx, struct native_cursor *cur, struct hca_wr *wr)
{
	if (!ctx->format->address)
		return 0;
	if (ctx->qp_type == HCASIM_QPT_UD)
		return native_seg_ud(cur, wr);
	if (ctx->qp_type == HCASIM_QPT_XRC_SEND)
		return native_seg_xrc(cur, wr);
	return 0;
}

static uint8_t decode_data(const struct context *ctx, bool is_inline, struct native_cursor *cur,
			   struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge)
{
	uint8_t data = ctx->format->data;

	if (is_inline && !ctx->rule->inline_ok && data != HCASIM_WQE_DATA_INLINE)
		return HCASIM_VENDOR_ERR_INLINE_NOT_ALLOWED;
	if (!is_inline && data == HCASIM_WQE_DATA_INLINE)
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	if (data == HCASIM_WQE_DATA_NONE)
		return cur->left ? HCASIM_VENDOR_ERR_BAD_SIZE : 0;
	return is_inline ? native_inline(cur, wr) : native_sge_list(cur, wr, sge, max_sge);
}

/* Everything after ctrl. */
static uint8_t decode_body(const struct context *ctx, bool is_inline, struct native_cursor *cur,
			   struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge, uint8_t *status)
{
	const struct hcasim_wqe_format *format = ctx->format;
	uint8_t err = decode_address(ctx, cur, wr);

	for (size_t i = 0; !err && i < sizeof(format->segs); i++)
		err = native_segment(format->segs[i], cur, wr, status);
	if (!err)
		err = decode_data(ctx, is_inline, cur, wr, sge, max_sge);
	if (!err && ctx->rule->length && wr->length != ctx->rule->length) {
		*status = HCASIM_CQE_STATUS_LOC_LEN_ERR;
		err = HCASIM_VENDOR_ERR_BAD_SEGMENT;
	}
	return err;
}

uint8_t native_decode_wqe(const void *raw, uint32_t len, uint8_t qp_type, uint32_t qpn, uint16_t index,
			  struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge, uint8_t *status)
{
	struct native_cursor cur = {raw, len};
	struct hcasim_wqe_ctrl ctrl;
	struct context ctx;
	bool is_inline;
	uint8_t err;

	memset(wr, 0, sizeof(*wr));
	wr->index = index;
	wr->num_bb = 1;
	*status = HCASIM_CQE_STATUS_LOC_QP_OP_ERR;
	if (!native_take(&cur, &ctrl, sizeof(ctrl)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	err = decode_ctrl(&ctrl, len, qpn, index, wr);
	if (!err && !find_rows(&ctx, ctrl.opcode, qp_type))
		err = HCASIM_VENDOR_ERR_BAD_OPCODE;
	if (err)
		return err;

	wr->flags = effective_flags(&ctx, le32toh(ctrl.qpn_flags));
	is_inline = le32toh(ctrl.qpn_flags) & HCASIM_WQE_CTRL_INLINE_MASK;
	cur.left = ctrl.size * HCASIM_SEG_UNIT - sizeof(ctrl);
	if (ctx.rule)
		err = decode_body(&ctx, is_inline, &cur, wr, sge, max_sge, status);
	if (!err)
		*status = HCASIM_CQE_STATUS_OK;
	return err;
}

uint8_t native_decode_rqe(const void *raw, uint32_t len, uint16_t index, struct hca_rwr *wr,
			  struct hca_sge *sge, uint32_t max_sge)
{
	static const uint8_t zero[sizeof(((struct hcasim_rqe *)0)->reserved2)];
	struct native_cursor cur = {raw, len};
	struct hcasim_seg_data seg;
	struct hcasim_rqe head;

	memset(wr, 0, sizeof(*wr));
	wr->index = index;
	wr->sge = sge;
	if (!native_take(&cur, &head, sizeof(head)))
		return HCASIM_VENDOR_ERR_BAD_RQE;
	if (le16toh(head.index) != index)
		return HCASIM_VENDOR_ERR_STALE_WQE;
	if (head.num_sge > HCASIM_MAX_SGE || head.num_sge > max_sge ||
	    head.num_sge * sizeof(seg) > cur.left || head.reserved ||
	    memcmp(head.reserved2, zero, sizeof(zero)))
		return HCASIM_VENDOR_ERR_BAD_RQE;
	wr->tag = le16toh(head.tag);
	for (; wr->num_sge < head.num_sge; wr->num_sge++, sge++) {
		native_take(&cur, &seg, sizeof(seg));
		sge->addr = le64toh(seg.addr);
		sge->length = le32toh(seg.length);
		sge->lkey = le32toh(seg.lkey);
		wr->length += sge->length;
	}
	return 0;
}
