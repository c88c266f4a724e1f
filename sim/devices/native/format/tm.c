// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Formats of tag matching: operations on tag lists, and the WQEs that the adapter posts itself. */
#include <endian.h>
#include <string.h>

#include "format.h"
#include "hcasim_hw.h"

_Static_assert(sizeof(struct hcasim_tm_op) + HCASIM_TM_MAX_SGE * sizeof(struct hcasim_seg_data) <=
		       HCASIM_TM_OP_SIZE,
	       "an operation fits its place in the ring");

static bool reserved_ok(const struct hcasim_tm_op *raw)
{
	static const uint8_t zero[sizeof(raw->reserved2)];

	return !raw->reserved && !memcmp(raw->reserved2, zero, sizeof(zero)) &&
	       !(raw->flags & ~(HCASIM_TM_OP_SIGNALED_MASK | HCASIM_TM_OP_SYNC_MASK));
}

static void take_sges(const uint8_t *at, uint32_t n, struct hca_tm_op *op)
{
	struct hcasim_seg_data seg;

	for (; op->num_sge < n; op->num_sge++, at += sizeof(seg)) {
		memcpy(&seg, at, sizeof(seg));
		op->sge[op->num_sge] = (struct hca_sge){
			.addr = le64toh(seg.addr), .length = le32toh(seg.length), .lkey = le32toh(seg.lkey)};
		op->length += op->sge[op->num_sge].length;
	}
}

/* A stale entry is found first: its other fields are meaningless. */
uint8_t native_decode_tm_op(const void *raw, uint16_t index, struct hca_tm_op *op)
{
	struct hcasim_tm_op in;

	memset(op, 0, sizeof(*op));
	memcpy(&in, raw, sizeof(in));
	if (le16toh(in.index) != index)
		return HCASIM_VENDOR_ERR_STALE_WQE;
	op->op = in.opcode;
	if (in.opcode != HCASIM_TM_OPCODE_ADD && in.opcode != HCASIM_TM_OPCODE_DEL &&
	    in.opcode != HCASIM_TM_OPCODE_SYNC)
		return HCASIM_VENDOR_ERR_BAD_OPCODE;
	if (in.num_sge > (in.opcode == HCASIM_TM_OPCODE_ADD ? HCASIM_TM_MAX_SGE : 0))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	if (!reserved_ok(&in))
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	op->signaled = in.flags & HCASIM_TM_OP_SIGNALED_MASK;
	op->sync = in.flags & HCASIM_TM_OP_SYNC_MASK;
	op->sw_count = le16toh(in.sw_count);
	op->handle = le16toh(in.handle);
	op->tag = le64toh(in.tag);
	op->mask = le64toh(in.mask);
	take_sges((const uint8_t *)raw + sizeof(in), in.num_sge, op);
	return 0;
}

_Static_assert(sizeof(struct hcasim_wqe_ctrl) + sizeof(struct hcasim_seg_remote) +
			       HCASIM_TM_MAX_SGE * sizeof(struct hcasim_seg_data) <=
		       HCASIM_WQEBB_SIZE,
	       "the READ of a rendezvous is one basic block");

static uint8_t *put(uint8_t *to, const void *seg, uint32_t size)
{
	memcpy(to, seg, size);
	return to + size;
}

static uint8_t *put_read(uint8_t *to, const struct hca_wr *wr)
{
	const struct hcasim_seg_remote remote = {.addr = htole64(wr->remote_addr), .rkey = htole32(wr->rkey)};
	uint32_t i;

	to = put(to, &remote, sizeof(remote));
	for (i = 0; i < wr->num_sge; i++) {
		const struct hcasim_seg_data seg = {.addr = htole64(wr->sge[i].addr),
						    .length = htole32(wr->sge[i].length),
						    .lkey = htole32(wr->sge[i].lkey)};

		to = put(to, &seg, sizeof(seg));
	}
	return to;
}

static uint8_t *put_inline(uint8_t *to, const struct hca_wr *wr)
{
	const struct hcasim_seg_inline head = {.length = htole32((uint32_t)wr->length)};

	to = put(to, &head, sizeof(head));
	return put(to, wr->inline_data, (uint32_t)wr->length);
}

uint32_t native_encode_wqe(const struct hca_wr *wr, uint32_t qpn, void *raw)
{
	const bool is_inline = wr->flags & HCA_WR_INLINE;
	struct hcasim_wqe_ctrl ctrl = {
		.opcode = wr->op,
		.index = htole16(wr->index),
		.qpn_flags = htole32(HCASIM_FIELD_PREP(HCASIM_WQE_CTRL_QPN_MASK, qpn) |
				     HCASIM_FIELD_PREP(HCASIM_WQE_CTRL_SIGNALED_MASK, 1u) |
				     HCASIM_FIELD_PREP(HCASIM_WQE_CTRL_INLINE_MASK, is_inline)),
	};
	uint8_t *body = (uint8_t *)raw + sizeof(ctrl), *end;

	memset(raw, 0, HCASIM_WQEBB_SIZE);
	end = is_inline ? put_inline(body, wr) : put_read(body, wr);
	ctrl.size = (uint8_t)((end - (uint8_t *)raw + HCASIM_SEG_UNIT - 1) / HCASIM_SEG_UNIT);
	memcpy(raw, &ctrl, sizeof(ctrl));
	return 1;
}
