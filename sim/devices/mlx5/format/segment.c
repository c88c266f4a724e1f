// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <endian.h>
#include <string.h>

#include "segment.h"
#include "hcasim_verbs.h"

#define GET(field, v) HCASIM_FIELD_GET(HCASIM_MLX5_##field##_MASK, v)

#define KEY_TAG 0xffu     /* of a memory key; the rest is its index */
#define NO_QP   0xffffffu /* seg_mkey.qpn */
#define MAX_24  0xffffffu
#define KEY_MASK                                                                                             \
	(HCASIM_MLX5_SEG_UMR_MASK_LEN_MASK | HCASIM_MLX5_SEG_UMR_MASK_MKEY_MASK |                            \
	 HCASIM_MLX5_SEG_UMR_MASK_ACCESS_MASK | HCASIM_MLX5_SEG_UMR_MASK_FREE_MASK)
#define ETH_HEAD 14u /* bytes of seg_eth before the headers in it */

bool mlx5_take(struct mlx5_cursor *cur, void *seg, uint32_t size)
{
	if (cur->left < size)
		return false;
	memcpy(seg, cur->at, size);
	cur->at += size;
	cur->left -= size;
	return true;
}

/* The port is not in the address vector: it is that of the QP. */
static uint8_t seg_dgram(struct mlx5_cursor *cur, struct hca_wr *wr)
{
	struct hcasim_mlx5_seg_dgram seg;
	struct hca_av *av = &wr->ud.av;

	if (!mlx5_take(cur, &seg, sizeof(seg)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	if (!GET(SEG_DGRAM_EXTENDED, be32toh(seg.dqp)))
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	wr->ud.qpn = GET(SEG_DGRAM_DQPN, be32toh(seg.dqp));
	wr->ud.qkey = be32toh(seg.qkey);
	wr->ud.sport = be16toh(seg.udp_sport);
	memcpy(av->dgid, seg.rgid, sizeof(av->dgid));
	memcpy(av->dmac, seg.rmac, sizeof(av->dmac));
	av->sl = (uint8_t)GET(SEG_DGRAM_ETH_PRIO, seg.stat_rate_sl);
	av->hop_limit = seg.hop_limit;
	av->traffic_class = seg.tclass;
	av->sgid_index = (uint8_t)GET(SEG_DGRAM_SGID_INDEX, be32toh(seg.gid_fl));
	av->flow_label = GET(SEG_DGRAM_FLOW_LABEL, be32toh(seg.gid_fl));
	return 0;
}

static uint8_t seg_xrc(struct mlx5_cursor *cur, struct hca_wr *wr)
{
	struct hcasim_mlx5_seg_xrc seg;

	if (!mlx5_take(cur, &seg, sizeof(seg)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->srqn = GET(SEG_XRC_XRC_SRQN, be32toh(seg.srqn));
	return 0;
}

/* The headers begin in the last bytes of the segment and go on behind it, padded to whole units. */
static uint8_t eth_headers(struct mlx5_cursor *cur, const struct hcasim_mlx5_seg_eth *seg, const uint8_t *at,
			   struct hca_wr *wr)
{
	const uint32_t size = GET(SEG_ETH_HEADERS, be16toh(seg->inline_hdr_sz));
	uint32_t more = size > sizeof(seg->inline_hdr) ? size - sizeof(seg->inline_hdr) : 0;

	if (!size)
		return 0;
	more = (more + HCASIM_MLX5_SEG_UNIT - 1) & ~(HCASIM_MLX5_SEG_UNIT - 1u);
	if (more > cur->left)
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->tso.hdr_size = (uint16_t)size;
	wr->tso.hdr = at;
	cur->at += more;
	cur->left -= more;
	return 0;
}

/* What is not announced is refused: a frame without it would be wrong. */
static uint8_t seg_eth(struct mlx5_cursor *cur, struct hca_wr *wr)
{
	const uint8_t *headers = cur->at + ETH_HEAD;
	struct hcasim_mlx5_seg_eth seg;
	uint8_t err;

	if (!mlx5_take(cur, &seg, sizeof(seg)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	if (GET(SEG_ETH_INNER_CSUM, seg.cs_flags) || seg.swp_flags || seg.swp_offs ||
	    GET(SEG_ETH_INSERT, be16toh(seg.inline_hdr_sz)))
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	if (GET(SEG_ETH_L3_CSUM, seg.cs_flags))
		wr->flags |= HCA_WR_L3_CSUM;
	if (GET(SEG_ETH_L4_CSUM, seg.cs_flags))
		wr->flags |= HCA_WR_L4_CSUM;
	err = eth_headers(cur, &seg, headers, wr);
	if (err || wr->op != HCASIM_WQE_OP_TSO)
		return err;
	wr->tso.mss = be16toh(seg.mss);
	return wr->tso.mss && wr->tso.hdr_size ? 0 : HCASIM_VENDOR_ERR_BAD_SEGMENT;
}

uint8_t mlx5_seg_address(uint8_t qp_type, struct mlx5_cursor *cur, struct hca_wr *wr)
{
	switch (qp_type) {
	case HCASIM_QPT_UD:
		return seg_dgram(cur, wr);
	case HCASIM_QPT_XRC_SEND:
		return seg_xrc(cur, wr);
	case HCASIM_QPT_RAW_PACKET:
		return seg_eth(cur, wr);
	default:
		return 0;
	}
}

static uint8_t seg_raddr(struct mlx5_cursor *cur, struct hca_wr *wr)
{
	struct hcasim_mlx5_seg_raddr seg;

	if (!mlx5_take(cur, &seg, sizeof(seg)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->remote_addr = be64toh(seg.raddr);
	wr->rkey = be32toh(seg.rkey);
	return 0;
}

static uint8_t seg_atomic(struct mlx5_cursor *cur, struct hca_wr *wr)
{
	struct hcasim_mlx5_seg_atomic seg;

	if (!mlx5_take(cur, &seg, sizeof(seg)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->swap_add = be64toh(seg.swap_add);
	wr->compare = be64toh(seg.compare);
	return 0;
}

static uint32_t key_access(uint8_t flags)
{
	uint32_t access = 0;

	if (GET(SEG_MKEY_LOCAL_WRITE, flags))
		access |= HCASIM_ACCESS_LOCAL_WRITE;
	if (GET(SEG_MKEY_REMOTE_READ, flags))
		access |= HCASIM_ACCESS_REMOTE_READ;
	if (GET(SEG_MKEY_REMOTE_WRITE, flags))
		access |= HCASIM_ACCESS_REMOTE_WRITE;
	if (GET(SEG_MKEY_ATOMIC, flags))
		access |= HCASIM_ACCESS_REMOTE_ATOMIC;
	return access;
}

/* The range of the region below. A window has one translation, padded to the 64 bytes of four. */
static uint8_t seg_klm(struct mlx5_cursor *cur, const struct hcasim_mlx5_seg_mkey *mkey, struct hca_wr *wr)
{
	struct hcasim_mlx5_seg_klm klm[4];

	if (!mlx5_take(cur, klm, sizeof(klm)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->bind.lkey = be32toh(klm[0].mkey);
	wr->bind.addr = be64toh(klm[0].address);
	wr->bind.length = be64toh(mkey->len);
	wr->bind.access = key_access(mkey->access_flags) & ~(uint32_t)HCASIM_ACCESS_LOCAL_WRITE;
	if (be64toh(mkey->start_addr) != wr->bind.addr) {
		if (mkey->start_addr)
			return HCASIM_VENDOR_ERR_BAD_SEGMENT;
		wr->bind.access |= HCASIM_ACCESS_ZERO_BASED;
	}
	return be32toh(klm[0].byte_count) == wr->bind.length ? 0 : HCASIM_VENDOR_ERR_BAD_SEGMENT;
}

static bool is_repeat(const uint8_t *parts)
{
	struct hcasim_mlx5_seg_repeat seg;

	memcpy(&seg, parts, sizeof(seg));
	return be32toh(seg.op) == HCASIM_MLX5_REPEAT_OP;
}

void mlx5_key_part(const struct hca_bind *bind, uint32_t i, struct hca_key_part *out)
{
	struct hcasim_mlx5_seg_repeat_entry entry;
	struct hcasim_mlx5_seg_klm klm;

	if (is_repeat(bind->parts)) {
		memcpy(&entry, bind->parts + (i + 1) * sizeof(entry), sizeof(entry));
		out->addr = be64toh(entry.address);
		out->key = be32toh(entry.mkey);
		out->length = be16toh(entry.byte_count);
		out->stride = be16toh(entry.stride);
		return;
	}
	memcpy(&klm, bind->parts + i * sizeof(klm), sizeof(klm));
	out->addr = be64toh(klm.address);
	out->key = be32toh(klm.mkey);
	out->length = be32toh(klm.byte_count);
	out->stride = 0;
}

/* `num` translations, of which the first one says how many others repeat. */
static uint8_t repeat_block(uint32_t num, struct hca_bind *bind)
{
	struct hcasim_mlx5_seg_repeat seg;
	struct hca_key_part part;
	uint32_t i, row = 0;

	memcpy(&seg, bind->parts, sizeof(seg));
	bind->num_parts = be16toh(seg.num_entries);
	bind->repeat = be32toh(seg.repeat_count);
	if (bind->num_parts >= num)
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	for (i = 0; i < bind->num_parts; i++) {
		mlx5_key_part(bind, i, &part);
		row += part.length;
	}
	return row == be32toh(seg.byte_count) ? 0 : HCASIM_VENDOR_ERR_BAD_SEGMENT;
}

/* Translations of an indirect key: ranges of other keys, to the end of the WQE. */
static uint8_t seg_parts(struct mlx5_cursor *cur, const struct hcasim_mlx5_seg_umr *umr,
			 struct hca_bind *bind)
{
	const uint32_t num = be16toh(umr->klm_octowords);

	if (!num)
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	if (num * HCASIM_MLX5_SEG_UNIT > cur->left)
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	bind->parts = cur->at;
	bind->num_parts = num;
	bind->repeat = 1;
	return is_repeat(bind->parts) ? repeat_block(num, bind) : 0;
}

/* The mask says what is changed; the rest of the key's context remains. Signatures and crypto are not carried out. */
static uint8_t seg_key(struct mlx5_cursor *cur, const struct hcasim_mlx5_seg_umr *umr,
		       const struct hcasim_mlx5_seg_mkey *mkey, struct hca_wr *wr)
{
	const uint64_t mask = be64toh(umr->mkey_mask), access = mask & HCASIM_MLX5_SEG_UMR_MASK_ACCESS_MASK;

	if (mask & ~KEY_MASK || (access && access != HCASIM_MLX5_SEG_UMR_MASK_ACCESS_MASK) ||
	    GET(SEG_UMR_CHECK_FREE, umr->flags))
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	wr->bind.type = HCA_BIND_KEY;
	wr->bind.access = key_access(mkey->access_flags);
	wr->bind.keep_access = !access;
	wr->bind.keep_parts = !GET(SEG_UMR_MASK_LEN, mask);
	if (wr->bind.keep_parts)
		return umr->klm_octowords ? HCASIM_VENDOR_ERR_BAD_SEGMENT : 0;
	wr->bind.length = be64toh(mkey->len);
	return seg_parts(cur, umr, &wr->bind);
}

/*
 * libmlx5 binds and invalidates windows by UMR: ctrl.imm names the key. With a mask for the QPN the window is of type
 * 2; freeing that is LOCAL_INV, of indirect keys, too, and freeing one of type 1 a bind of no bytes. Only windows are
 * bound with an offset among translations. Other uses of UMR set an indirect key.
 */
static uint8_t seg_umr(struct mlx5_cursor *cur, struct hca_wr *wr)
{
	const uint32_t key = be32toh(wr->imm);
	struct hcasim_mlx5_seg_mkey mkey;
	struct hcasim_mlx5_seg_umr umr;
	uint64_t mask;

	if (!mlx5_take(cur, &umr, sizeof(umr)) || !mlx5_take(cur, &mkey, sizeof(mkey)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	mask = be64toh(umr.mkey_mask);
	if (!GET(SEG_UMR_MASK_FREE, mask) || !GET(SEG_UMR_MASK_MKEY, mask) || !GET(SEG_UMR_INLINE, umr.flags))
		return HCASIM_VENDOR_ERR_BAD_SEGMENT;
	wr->bind.type = GET(SEG_UMR_MASK_QPN, mask) ? 2 : 1;
	wr->bind.mw_rkey = wr->inv_rkey = key;
	wr->bind.new_rkey = (key & ~KEY_TAG) | GET(SEG_MKEY_TAG, be32toh(mkey.qpn_mkey));
	if (!GET(SEG_UMR_TRANSLATION_OFFSET_EN, umr.flags) && !GET(SEG_MKEY_FREE, mkey.state))
		return seg_key(cur, &umr, &mkey, wr);
	if (!GET(SEG_MKEY_FREE, mkey.state))
		return GET(SEG_UMR_MASK_LEN, mask) ? seg_klm(cur, &mkey, wr) : HCASIM_VENDOR_ERR_BAD_SEGMENT;
	if (wr->bind.type == 2)
		wr->op = HCASIM_WQE_OP_LOCAL_INV;
	return 0;
}

uint8_t mlx5_segment(uint8_t seg, struct mlx5_cursor *cur, struct hca_wr *wr)
{
	switch (seg) {
	case HCASIM_MLX5_SEG_RADDR:
		return seg_raddr(cur, wr);
	case HCASIM_MLX5_SEG_ATOMIC:
		return seg_atomic(cur, wr);
	case HCASIM_MLX5_SEG_UMR:
		return seg_umr(cur, wr);
	default:
		return 0;
	}
}

static void to_sge(const struct hcasim_mlx5_seg_data *seg, struct hca_sge *sge)
{
	sge->addr = be64toh(seg->addr);
	sge->lkey = be32toh(seg->lkey);
	sge->length = seg->byte_count ? be32toh(seg->byte_count) : HCASIM_MLX5_SGE_ZERO;
}

/* One segment; SGEs may follow. Their bytes come after its. */
static uint8_t inline_data(struct mlx5_cursor *cur, struct hca_wr *wr)
{
	struct hcasim_mlx5_seg_inline seg;
	uint32_t length, whole;

	if (!mlx5_take(cur, &seg, sizeof(seg)))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	length = GET(SEG_INLINE_LENGTH, be32toh(seg.byte_count));
	whole = (sizeof(seg) + length + HCASIM_MLX5_SEG_UNIT - 1) & ~(HCASIM_MLX5_SEG_UNIT - 1u);
	whole -= sizeof(seg);
	if (cur->left < whole)
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	wr->length = length;
	wr->inline_data = (uint8_t *)cur->at;
	cur->at += whole;
	cur->left -= whole;
	if (cur->left)
		wr->lead_len = length;
	else
		wr->flags |= HCA_WR_INLINE;
	return 0;
}

static bool is_inline(const struct mlx5_cursor *cur)
{
	struct hcasim_mlx5_seg_inline seg;

	memcpy(&seg, cur->at, sizeof(seg));
	return GET(SEG_INLINE_IS_INLINE, be32toh(seg.byte_count));
}

uint8_t mlx5_data(struct mlx5_cursor *cur, struct hca_wr *wr, struct hca_sge *sge, uint32_t max_sge)
{
	struct hcasim_mlx5_seg_data seg;
	uint8_t err = 0;

	if (cur->left % sizeof(seg))
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	if (cur->left && is_inline(cur))
		err = inline_data(cur, wr);
	if (err)
		return err;
	if (cur->left / sizeof(seg) > max_sge)
		return HCASIM_VENDOR_ERR_BAD_SIZE;
	for (wr->sge = sge; mlx5_take(cur, &seg, sizeof(seg)); sge++) {
		if (GET(SEG_INLINE_IS_INLINE, be32toh(seg.byte_count)))
			return HCASIM_VENDOR_ERR_BAD_SEGMENT;
		to_sge(&seg, sge);
		wr->num_sge++;
		wr->length += sge->length;
	}
	return 0;
}

uint8_t mlx5_scatter_list(struct mlx5_cursor *cur, struct hca_rwr *wr, struct hca_sge *sge, uint32_t max_sge)
{
	struct hcasim_mlx5_seg_data seg;

	for (wr->sge = sge; mlx5_take(cur, &seg, sizeof(seg)); sge++) {
		if (!seg.byte_count && be32toh(seg.lkey) == HCASIM_MLX5_INVALID_LKEY)
			return 0;
		if (wr->num_sge == max_sge || GET(SEG_INLINE_IS_INLINE, be32toh(seg.byte_count)))
			return HCASIM_VENDOR_ERR_BAD_RQE;
		to_sge(&seg, sge);
		wr->num_sge++;
		wr->length += sge->length;
	}
	return 0;
}
