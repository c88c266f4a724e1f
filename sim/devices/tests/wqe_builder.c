// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <endian.h>
#include <string.h>

#include "wqe_builder.h"

uint32_t wqe_append(struct wqe_builder *b, const void *bytes, uint32_t len)
{
	uint32_t at = b->len;

	memcpy(b->raw + at, bytes, len);
	b->len += (len + HCASIM_SEG_UNIT - 1) / HCASIM_SEG_UNIT * HCASIM_SEG_UNIT;
	wqe_ctrl(b)->size = b->len / HCASIM_SEG_UNIT;
	return at;
}

static void start(struct wqe_builder *b, uint8_t op, uint8_t qp_type)
{
	const struct hcasim_wqe_ctrl ctrl = {
		.opcode = op,
		.index = htole16(TEST_INDEX),
		.qpn_flags = htole32(TEST_QPN | HCASIM_WQE_CTRL_SIGNALED_MASK),
		.imm = htobe32(0xa1b2c3d4),
		.inv_rkey = htole32(0x11223344),
	};

	memset(b, 0, sizeof(*b));
	b->qp_type = qp_type;
	wqe_append(b, &ctrl, sizeof(ctrl));
}

static void put_address(struct wqe_builder *b)
{
	const struct hcasim_seg_ud ud = {
		.qpn = htole32(0xabcdef),
		.qkey = htole32(0x80000001),
		.dgid = {0xfe, 0x80, [15] = 0x42},
		.dmac = {2, 4, 6, 8, 10, 12},
		.sgid_index = 3,
		.hop_limit = 64,
		.traffic_class = 0x28,
		.sl = 5,
		.port = 1,
		.static_rate = 7,
		.flow_label = htole32(0xfedcb),
	};
	const struct hcasim_seg_xrc xrc = {.srqn = htole32(0x424242)};

	if (b->qp_type == HCASIM_QPT_UD)
		b->ud = wqe_append(b, &ud, sizeof(ud));
	else if (b->qp_type == HCASIM_QPT_XRC_SEND)
		b->xrc = wqe_append(b, &xrc, sizeof(xrc));
}

static void put_tso(struct wqe_builder *b)
{
	const struct hcasim_seg_tso tso = {.mss = htole16(1400), .hdr_size = htole16(54)};
	uint8_t headers[54];

	memset(headers, 0x77, sizeof(headers));
	b->tso = wqe_append(b, &tso, sizeof(tso));
	wqe_append(b, headers, sizeof(headers));
}

static void put_segment(struct wqe_builder *b, uint8_t seg)
{
	const struct hcasim_seg_remote remote = {.addr = htole64(0x123456789abcdef0),
						 .rkey = htole32(0x55667788)};
	const struct hcasim_seg_atomic atomic = {.swap_add = htole64(0x1111222233334444),
						 .compare = htole64(0x5555666677778888)};
	const struct hcasim_seg_bind bind = {.mw_rkey = htole32(0xb1b20100),
					     .new_rkey = htole32(0xb1b20101),
					     .lkey = htole32(0xb3b40200),
					     .access = htole32(HCASIM_ACCESS_REMOTE_WRITE),
					     .addr = htole64(0xb5b6b7b800004000),
					     .length = htole64(0x100000001),
					     .type = 2};
	const struct hcasim_seg_flush flush = {.length = htole64(4096),
					       .type = HCASIM_FLUSH_TYPE_PERSISTENT,
					       .level = HCASIM_FLUSH_LEVEL_MR};

	if (seg == HCASIM_WQE_SEG_REMOTE)
		b->remote = wqe_append(b, &remote, sizeof(remote));
	else if (seg == HCASIM_WQE_SEG_ATOMIC)
		b->atomic = wqe_append(b, &atomic, sizeof(atomic));
	else if (seg == HCASIM_WQE_SEG_BIND)
		b->bind = wqe_append(b, &bind, sizeof(bind));
	else if (seg == HCASIM_WQE_SEG_FLUSH)
		b->flush = wqe_append(b, &flush, sizeof(flush));
	else if (seg == HCASIM_WQE_SEG_TSO)
		put_tso(b);
}

static void put_head(struct wqe_builder *b, uint8_t op, uint8_t qp_type)
{
	const struct hcasim_wqe_format *format = hcasim_wqe_format(op);

	start(b, op, qp_type);
	if (format && format->address)
		put_address(b);
	for (size_t i = 0; format && i < sizeof(format->segs); i++)
		put_segment(b, format->segs[i]);
	b->data = b->len;
}

static void put_inline(struct wqe_builder *b, uint32_t length)
{
	uint8_t bytes[HCASIM_MAX_INLINE + 64];
	const struct hcasim_seg_inline seg = {.length = htole32(length)};

	memcpy(bytes, &seg, sizeof(seg));
	for (uint32_t i = 0; i < length; i++)
		bytes[sizeof(seg) + i] = (uint8_t)i;
	wqe_append(b, bytes, sizeof(seg) + length);
	wqe_ctrl(b)->qpn_flags |= htole32(HCASIM_WQE_CTRL_INLINE_MASK);
}

void wqe_build(struct wqe_builder *b, uint8_t op, uint8_t qp_type, uint32_t num_sge)
{
	const struct hcasim_wqe_format *format = hcasim_wqe_format(op);
	const struct hcasim_wr_rule *rule = hcasim_wr_rule_of_wqe_op(op);

	put_head(b, op, qp_type);
	if (format && format->data == HCASIM_WQE_DATA_INLINE) {
		put_inline(b, rule->length);
		return;
	}
	if (!format || format->data == HCASIM_WQE_DATA_NONE)
		return;
	for (uint32_t i = 0; i < num_sge; i++) {
		const struct hcasim_seg_data seg = {.addr = htole64(0x7f0000000000 + i),
						    .length = htole32(rule->length ? rule->length : 16),
						    .lkey = htole32(0xa5a60300 + i)};

		wqe_append(b, &seg, sizeof(seg));
	}
}

void wqe_build_inline(struct wqe_builder *b, uint8_t op, uint8_t qp_type, uint32_t length)
{
	put_head(b, op, qp_type);
	put_inline(b, length);
}

void wqe_decode(struct wqe_builder *b, struct wqe_result *r)
{
	memset(r, 0xee, sizeof(*r));
	r->vendor = native_personality.decode_wqe(b->raw, b->len, b->qp_type, TEST_QPN, TEST_INDEX, &r->wr,
						  r->sge, HCASIM_MAX_SGE, &r->status);
}
