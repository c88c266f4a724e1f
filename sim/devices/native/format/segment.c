// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <endian.h>
#include <string.h>

#include "segment.h"
#include "hcasim_verbs.h"

#define MAX_24BIT 0xffffffu
#define MAX_20BIT 0xfffffu
#define MAX_SL    15

/* IBTA 10.6.7.2.2: what a window can grant. */
#define MW_ACCESS                                                                                            \
	(HCASIM_ACCESS_REMOTE_WRITE | HCASIM_ACCESS_REMOTE_READ | HCASIM_ACCESS_REMOTE_ATOMIC |              \
	 HCASIM_ACCESS_ZERO_BASED)

bool native_take(struct native_cursor *cur, void *seg, uint32_t size)
{
	if (cur->left < size)
		return false;
	memcpy(seg, cur->at, size);
	cur->at += size;
	cur->left -= size;
	return true;
}

static bool all_zero(const uint8_t *bytes, size_t n)
{
	while (n--)
		if (*bytes++)
			return false;
	return true;
}

#define RESERVED_IS_ZERO(seg) all_zero((const uint8_t *)&(seg).reserved, sizeof((seg).reserved))

uint8_t native_seg_ud(struct native_cursor *cur, struct hca_wr *wr)
{
	struct hca_av *av = &wr->ud.av;
	struct hcasim_seg_ud seg;

	if (!native_take(cur, &seg, sizeof(seg)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->ud.qpn = le32toh(seg.qpn);
	wr->ud.qkey = le32toh(seg.qkey);
	memcpy(av->dgid, seg.dgid, sizeof(av->dgid));
	memcpy(av->dmac, seg.dmac, sizeof(av->dmac));
	av->sgid_index = seg.sgid_index;
	av->hop_limit = seg.hop_limit;
	av->traffic_class = seg.traffic_class;
	av->sl = seg.sl;
	av->port = seg.port;
	av->flow_label = le32toh(seg.flow_label);
	if (wr->ud.qpn > MAX_24BIT || av->flow_label > MAX_20BIT || av->sl > MAX_SL || !RESERVED_IS_ZERO(seg))
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	return 0;
}

uint8_t native_seg_xrc(struct native_cursor *cur, struct hca_wr *wr)
{
	struct hcasim_seg_xrc seg;

	if (!native_take(cur, &seg, sizeof(seg)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->srqn = le32toh(seg.srqn);
	if (wr->srqn > MAX_24BIT || !RESERVED_IS_ZERO(seg))
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	return 0;
}

static uint8_t seg_remote(struct native_cursor *cur, struct hca_wr *wr)
{
	struct hcasim_seg_remote seg;

	if (!native_take(cur, &seg, sizeof(seg)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->remote_addr = le64toh(seg.addr);
	wr->rkey = le32toh(seg.rkey);
	return RESERVED_IS_ZERO(seg) ? 0 : HCASIM_VENDOR_ERR_BAD_SEGMENT;
}

static uint8_t seg_atomic(struct native_cursor *cur, struct hca_wr *wr)
{
	struct hcasim_seg_atomic seg;

	if (!native_take(cur, &seg, sizeof(seg)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->swap_add = le64toh(seg.swap_add);
	wr->compare = le64toh(seg.compare);
	return 0;
}

static uint8_t seg_bind(struct native_cursor *cur, struct hca_wr *wr, uint8_t *status)
{
	struct hcasim_seg_bind seg;

	if (!native_take(cur, &seg, sizeof(seg)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->bind.mw_rkey = le32toh(seg.mw_rkey);
	wr->bind.new_rkey = le32toh(seg.new_rkey);
	wr->bind.lkey = le32toh(seg.lkey);
	wr->bind.access = le32toh(seg.access);
	wr->bind.addr = le64toh(seg.addr);
	wr->bind.length = le64toh(seg.length);
	wr->bind.type = seg.type;
	if ((seg.type != 1 && seg.type != 2) || !RESERVED_IS_ZERO(seg))
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	if (wr->bind.access & ~(uint32_t)MW_ACCESS) {
		*status = HCASIM_CQE_STATUS_MW_BIND_ERR;
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	}
	return 0;
}

static uint8_t seg_tso(struct native_cursor *cur, struct hca_wr *wr)
{
	struct hcasim_seg_tso seg;
	uint32_t padded;

	if (!native_take(cur, &seg, sizeof(seg)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->tso.mss = le16toh(seg.mss);
	wr->tso.hdr_size = le16toh(seg.hdr_size);
	if (!wr->tso.mss || !wr->tso.hdr_size || wr->tso.hdr_size > HCASIM_MAX_TSO_HDR ||
	    !RESERVED_IS_ZERO(seg))
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	padded = (wr->tso.hdr_size + HCASIM_SEG_UNIT - 1u) & ~(HCASIM_SEG_UNIT - 1u);
	if (cur->left < padded)
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->tso.hdr = cur->at;
	cur->at += padded;
	cur->left -= padded;
	return 0;
}

static uint8_t seg_flush(struct native_cursor *cur, struct hca_wr *wr, uint8_t *status)
{
	const unsigned int types = HCASIM_FLUSH_TYPE_GLOBAL | HCASIM_FLUSH_TYPE_PERSISTENT;
	struct hcasim_seg_flush seg;

	if (!native_take(cur, &seg, sizeof(seg)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->flush.length = le64toh(seg.length);
	wr->flush.type = seg.type;
	wr->flush.level = seg.level;
	if (!seg.type || seg.type & ~types || seg.level > HCASIM_FLUSH_LEVEL_MR || !RESERVED_IS_ZERO(seg))
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	/* The RETH that carries it has 32 bits for the length. */
	if (wr->flush.length > UINT32_MAX) {
		*status = HCASIM_CQE_STATUS_LOC_LEN_ERR;
		return HCASIM_VENDOR_ERR_MSG_TOO_LONG;
	}
	return 0;
}

uint8_t native_segment(uint8_t seg, struct native_cursor *cur, struct hca_wr *wr, uint8_t *status)
{
	switch (seg) {
	case HCASIM_WQE_SEG_REMOTE:
		return seg_remote(cur, wr);
	case HCASIM_WQE_SEG_ATOMIC:
		return seg_atomic(cur, wr);
	case HCASIM_WQE_SEG_BIND:
		return seg_bind(cur, wr, status);
	case HCASIM_WQE_SEG_TSO:
		return seg_tso(cur, wr);
	case HCASIM_WQE_SEG_FLUSH:
		return seg_flush(cur, wr, status);
	default:
		return 0;
	}
}

uint8_t native_sge_list(struct native_cursor *cur, struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge)
{
	struct hcasim_seg_data seg;
	uint32_t n = cur->left / sizeof(seg);

	if (cur->left % sizeof(seg) || n > max_sge || n > HCASIM_MAX_SGE)
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->sge = sge;
	for (wr->num_sge = 0; wr->num_sge < n; wr->num_sge++, sge++) {
		if (!native_take(cur, &seg, sizeof(seg)))
			return HCASIM_VENDOR_ERR_BAD_SIZE;
		sge->addr = le64toh(seg.addr);
		sge->length = le32toh(seg.length);
		sge->lkey = le32toh(seg.lkey);
		wr->length += sge->length;
	}
	return 0;
}

uint8_t native_inline(struct native_cursor *cur, struct hca_wr *wr)
{
	struct hcasim_seg_inline seg;
	uint32_t length, whole;

	if (!native_take(cur, &seg, sizeof(seg)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	length = le32toh(seg.length);
	if (length > HCASIM_MAX_INLINE)
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	whole = (sizeof(seg) + length + HCASIM_SEG_UNIT - 1) & ~(HCASIM_SEG_UNIT - 1u);
	if (cur->left != whole - sizeof(seg))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->flags |= HCA_WR_INLINE;
	wr->length = length;
	wr->inline_data = (uint8_t *)cur->at;
	cur->left = 0;
	return 0;
}
