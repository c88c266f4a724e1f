// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Send WQEs of the mlx5 family, built as libmlx5 builds them. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include "devices/mlx5/format/format.h"
#include "devices/mlx5/format/segment.h"
#include "hcasim_mlx5.h"
#include "hcasim_verbs.h"

#define QPN   0xabcdefu
#define INDEX 0xfff0u

struct wqe {
	uint8_t raw[1024];
	uint32_t len;
	uint8_t status;
	struct hca_wr wr;
	struct hca_sge sge[HCASIM_MLX5_MAX_SGE];
};

static void *put(struct wqe *w, const void *seg, uint32_t size)
{
	void *at = w->raw + w->len;

	memcpy(at, seg, size);
	w->len += size;
	return at;
}

static void begin(struct wqe *w, uint8_t opcode, uint8_t fm_ce_se, uint32_t imm)
{
	const struct hcasim_mlx5_wqe_ctrl ctrl = {
		.opmod_idx_opcode = htobe32(INDEX << 8 | opcode), .fm_ce_se = fm_ce_se, .imm = htobe32(imm)};

	memset(w, 0, sizeof(*w));
	put(w, &ctrl, sizeof(ctrl));
}

static void put_raddr(struct wqe *w)
{
	const struct hcasim_mlx5_seg_raddr seg = {.raddr = htobe64(0x7f0012345678), .rkey = htobe32(0x1200)};

	put(w, &seg, sizeof(seg));
}

static void put_sge(struct wqe *w, uint32_t length, uint32_t lkey, uint64_t addr)
{
	const struct hcasim_mlx5_seg_data seg = {htobe32(length), htobe32(lkey), htobe64(addr)};

	put(w, &seg, sizeof(seg));
}

static void put_inline(struct wqe *w, const char *text)
{
	const __be32 head = htobe32(0x80000000u | (uint32_t)strlen(text));

	put(w, &head, sizeof(head));
	put(w, text, (uint32_t)strlen(text));
	w->len = (w->len + 15) & ~15u;
}

static uint8_t decode_with(struct wqe *w, uint8_t qp_type, uint32_t ds)
{
	struct hcasim_mlx5_wqe_ctrl *ctrl = (void *)w->raw;

	ctrl->qpn_ds = htobe32(QPN << 8 | ds);
	return mlx5_decode_wqe(w->raw, w->len, qp_type, QPN, INDEX, &w->wr, w->sge, HCASIM_MLX5_MAX_SGE,
			       &w->status);
}

static uint8_t decode(struct wqe *w, uint8_t qp_type)
{
	return decode_with(w, qp_type, w->len / 16);
}

/* An SGE of no bytes means 2 GiB, which is more than a message has. */
static void test_too_long(void)
{
	const uint32_t lengths[] = {(1u << 30) - 99, 0};
	struct wqe w;

	for (unsigned int i = 0; i < 2; i++) {
		begin(&w, HCASIM_MLX5_OPCODE_RDMA_WRITE, 0, 0);
		put_raddr(&w);
		put_sge(&w, 100, 0x1100, 0x1000);
		put_sge(&w, lengths[i], 0x2200, 0x2000);
		CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_MSG_TOO_LONG);
		CU_ASSERT_EQUAL(w.status, HCASIM_CQE_STATUS_LOC_LEN_ERR);
		CU_ASSERT_EQUAL(w.wr.length, 100 + (lengths[i] ? lengths[i] : 1ull << 31));
	}
}

static void test_write(void)
{
	struct wqe w;

	begin(&w, HCASIM_MLX5_OPCODE_RDMA_WRITE_IMM, 2 << 2 | 1 << 1 | 4 << 5, 0x01020304);
	put_raddr(&w);
	put_sge(&w, 100, 0x1100, 0x1000);
	put_sge(&w, (1u << 30) - 100, 0x2200, 0x2000);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), 0);
	CU_ASSERT_EQUAL(w.status, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(w.wr.op, HCASIM_WQE_OP_RDMA_WRITE_IMM);
	CU_ASSERT_EQUAL(w.wr.flags, HCA_WR_SIGNALED | HCA_WR_SOLICITED | HCA_WR_FENCE);
	CU_ASSERT_EQUAL(be32toh(w.wr.imm), 0x01020304);
	CU_ASSERT_EQUAL(w.wr.index, INDEX);
	CU_ASSERT_EQUAL(w.wr.num_bb, 1);
	CU_ASSERT_EQUAL(w.wr.remote_addr, 0x7f0012345678);
	CU_ASSERT_EQUAL(w.wr.rkey, 0x1200);
	CU_ASSERT_EQUAL(w.wr.num_sge, 2);
	CU_ASSERT_EQUAL(w.wr.length, 1u << 30);
	CU_ASSERT_EQUAL(w.wr.sge[1].lkey, 0x2200);
	CU_ASSERT_EQUAL(mlx5_wqe_size(w.raw), 64);
	CU_ASSERT_EQUAL(mlx5_index_after(w.raw), INDEX + 1);
}

/* The small fence is for UMRs, which are carried out in order; a WRITE has no solicited event. */
static void test_flags(void)
{
	struct wqe w;

	begin(&w, HCASIM_MLX5_OPCODE_RDMA_WRITE, 1 << 1 | 1 << 5, 0);
	put_raddr(&w);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), 0);
	CU_ASSERT_EQUAL(w.wr.flags, 0);
	CU_ASSERT_EQUAL(w.wr.length, 0);
}

static void test_inline(void)
{
	struct wqe w;

	begin(&w, HCASIM_MLX5_OPCODE_SEND_INVAL, 2 << 2, 0x778899aa);
	put_inline(&w, "seventeen letters");
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), 0);
	CU_ASSERT_EQUAL(w.wr.op, HCASIM_WQE_OP_SEND_INV);
	CU_ASSERT_EQUAL(w.wr.inv_rkey, 0x778899aa);
	CU_ASSERT_EQUAL(w.wr.flags, HCA_WR_SIGNALED | HCA_WR_INLINE);
	CU_ASSERT_EQUAL(w.wr.length, 17);
	CU_ASSERT_EQUAL(memcmp(w.wr.inline_data, "seventeen letters", 17), 0);
	begin(&w, HCASIM_MLX5_OPCODE_RDMA_READ, 0, 0);
	put_raddr(&w);
	put_inline(&w, "a");
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_INLINE_NOT_ALLOWED);
	begin(&w, HCASIM_MLX5_OPCODE_SEND, 0, 0);
	put_sge(&w, 1, 1, 1);
	put_inline(&w, "a");
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_BAD_SEGMENT);
}

/* As UCX sends a header of its own before the data. */
static void test_inline_and_sges(void)
{
	struct wqe w;

	begin(&w, HCASIM_MLX5_OPCODE_SEND, 0, 0);
	put_inline(&w, "seventeen letters");
	put_sge(&w, 1000, 1, 0x1000);
	put_sge(&w, 2000, 2, 0x2000);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), 0);
	CU_ASSERT_EQUAL(w.wr.flags, 0);
	CU_ASSERT_EQUAL(w.wr.lead_len, 17);
	CU_ASSERT_EQUAL(w.wr.length, 3017);
	CU_ASSERT_EQUAL(w.wr.num_sge, 2);
	CU_ASSERT_EQUAL(w.wr.sge[1].addr, 0x2000);
	CU_ASSERT_EQUAL(memcmp(w.wr.inline_data, "seventeen letters", 17), 0);
	begin(&w, HCASIM_MLX5_OPCODE_SEND, 0, 0);
	put_inline(&w, "a");
	put_inline(&w, "b");
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_BAD_SEGMENT);
	begin(&w, HCASIM_MLX5_OPCODE_RDMA_READ, 0, 0);
	put_raddr(&w);
	put_inline(&w, "a");
	put_sge(&w, 1, 1, 1);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_INLINE_NOT_ALLOWED);
	begin(&w, HCASIM_MLX5_OPCODE_SEND, 0, 0);
	put_inline(&w, "seventeen letters");
	CU_ASSERT_EQUAL(decode_with(&w, HCASIM_QPT_RC, 2), HCASIM_VENDOR_ERR_BAD_SIZE);
}

static void test_atomic(void)
{
	const struct hcasim_mlx5_seg_atomic seg = {htobe64(0x1122334455667788), htobe64(0x99aabbccddeeff00)};
	struct wqe w;

	begin(&w, HCASIM_MLX5_OPCODE_ATOMIC_CS, 0, 0);
	put_raddr(&w);
	put(&w, &seg, sizeof(seg));
	put_sge(&w, 8, 0x1100, 0x1000);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), 0);
	CU_ASSERT_EQUAL(w.wr.op, HCASIM_WQE_OP_ATOMIC_CS);
	CU_ASSERT_EQUAL(w.wr.swap_add, 0x1122334455667788);
	CU_ASSERT_EQUAL(w.wr.compare, 0x99aabbccddeeff00);
	CU_ASSERT_EQUAL(w.wr.length, 8);
}

static void test_datagram(void)
{
	struct hcasim_mlx5_seg_dgram seg = {.qkey = htobe32(0x11223344),
					    .dqp = htobe32(0x80000000u | 0x123456),
					    .stat_rate_sl = 5 << 1,
					    .udp_sport = htobe16(0xc123),
					    .rmac = {1, 2, 3, 4, 5, 6},
					    .tclass = 7,
					    .hop_limit = 8,
					    .gid_fl = htobe32(9u << 20 | 0xfedcb),
					    .rgid = {[15] = 0xee}};
	struct wqe w;

	begin(&w, HCASIM_MLX5_OPCODE_SEND, 0, 0);
	put(&w, &seg, sizeof(seg));
	put_sge(&w, 100, 0x1100, 0x1000);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_UD), 0);
	CU_ASSERT_EQUAL(w.wr.num_bb, 2);
	CU_ASSERT_EQUAL(w.wr.ud.qpn, 0x123456);
	CU_ASSERT_EQUAL(w.wr.ud.qkey, 0x11223344);
	CU_ASSERT_EQUAL(w.wr.ud.sport, 0xc123);
	CU_ASSERT_EQUAL(w.wr.ud.av.sl, 5);
	CU_ASSERT_EQUAL(w.wr.ud.av.sgid_index, 9);
	CU_ASSERT_EQUAL(w.wr.ud.av.flow_label, 0xfedcb);
	CU_ASSERT_EQUAL(w.wr.ud.av.traffic_class, 7);
	CU_ASSERT_EQUAL(w.wr.ud.av.hop_limit, 8);
	CU_ASSERT_EQUAL(w.wr.ud.av.dmac[5], 6);
	CU_ASSERT_EQUAL(w.wr.ud.av.dgid[15], 0xee);
	CU_ASSERT_EQUAL(w.wr.num_sge, 1);
	begin(&w, HCASIM_MLX5_OPCODE_SEND, 0, 0);
	seg.dqp = htobe32(0x123456); /* the short form, which Ethernet does not have */
	put(&w, &seg, sizeof(seg));
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_UD), HCASIM_VENDOR_ERR_BAD_SEGMENT);
}

static void test_xrc(void)
{
	const struct hcasim_mlx5_seg_xrc seg = {.srqn = htobe32(0x123456)};
	struct wqe w;

	begin(&w, HCASIM_MLX5_OPCODE_RDMA_WRITE, 0, 0);
	put(&w, &seg, sizeof(seg));
	put_raddr(&w);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_XRC_SEND), 0);
	CU_ASSERT_EQUAL(w.wr.srqn, 0x123456);
	CU_ASSERT_EQUAL(w.wr.rkey, 0x1200);
}

static void test_tso(void)
{
	struct hcasim_mlx5_seg_eth seg = {.cs_flags = 3 << 6,
					  .mss = htobe16(1000),
					  .inline_hdr_sz = htobe16(54),
					  .inline_hdr = {0xa0, 0xa1}};
	uint8_t more[64] = {0xa2};
	struct wqe w;

	begin(&w, HCASIM_MLX5_OPCODE_TSO, 0, 0);
	put(&w, &seg, sizeof(seg));
	put(&w, more, 64);
	put_sge(&w, 5000, 0x1100, 0x1000);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RAW_PACKET), 0);
	CU_ASSERT_EQUAL(w.wr.op, HCASIM_WQE_OP_TSO);
	CU_ASSERT_EQUAL(w.wr.flags, HCA_WR_IP_CSUM);
	CU_ASSERT_EQUAL(w.wr.tso.mss, 1000);
	CU_ASSERT_EQUAL(w.wr.tso.hdr_size, 54);
	CU_ASSERT_EQUAL(memcmp(w.wr.tso.hdr, "\xa0\xa1\xa2", 3), 0);
	CU_ASSERT_EQUAL(w.wr.length, 5000);
	begin(&w, HCASIM_MLX5_OPCODE_SEND, 0, 0);
	seg.inline_hdr_sz = 0;
	put(&w, &seg, sizeof(seg));
	put_sge(&w, 500, 0x1100, 0x1000);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RAW_PACKET), 0);
	CU_ASSERT_EQUAL(w.wr.length, 500);
}

static void begin_umr(struct wqe *w, uint64_t mask, const struct hcasim_mlx5_seg_mkey *mkey)
{
	const struct hcasim_mlx5_seg_umr umr = {.flags = 1 << 7 | 1 << 4,
						.mkey_mask = htobe64(mask | 1 << 29 | 1 << 13)};

	begin(w, HCASIM_MLX5_OPCODE_UMR, 2 << 2, 0x00abcd11);
	put(w, &umr, sizeof(umr));
	put(w, mkey, sizeof(*mkey));
}

static void test_bind(void)
{
	struct hcasim_mlx5_seg_mkey mkey = {.access_flags = 1 << 5 | 1 << 4,
					    .qpn_mkey = htobe32(QPN << 8 | 0x12),
					    .start_addr = htobe64(0x7f0000001000),
					    .len = htobe64(4096)};
	const struct hcasim_mlx5_seg_klm klm[4] = {{htobe32(4096), htobe32(0x3300), htobe64(0x7f0000001000)}};
	struct wqe w;

	begin_umr(&w, 1 << 14 | 1, &mkey);
	put(&w, klm, sizeof(klm));
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), 0);
	CU_ASSERT_EQUAL(w.wr.op, HCASIM_WQE_OP_BIND_MW);
	CU_ASSERT_EQUAL(w.wr.bind.type, 2);
	CU_ASSERT_EQUAL(w.wr.bind.mw_rkey, 0x00abcd11);
	CU_ASSERT_EQUAL(w.wr.bind.new_rkey, 0x00abcd12);
	CU_ASSERT_EQUAL(w.wr.bind.lkey, 0x3300);
	CU_ASSERT_EQUAL(w.wr.bind.addr, 0x7f0000001000);
	CU_ASSERT_EQUAL(w.wr.bind.length, 4096);
	CU_ASSERT_EQUAL(w.wr.bind.access, HCASIM_ACCESS_REMOTE_WRITE | HCASIM_ACCESS_REMOTE_READ);
	mkey.start_addr = 0;
	begin_umr(&w, 1, &mkey);
	put(&w, klm, sizeof(klm));
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), 0);
	CU_ASSERT_EQUAL(w.wr.bind.type, 1);
	CU_ASSERT_TRUE(w.wr.bind.access & HCASIM_ACCESS_ZERO_BASED);
	w.len -= 16;
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_BAD_SIZE);
	mkey.len = htobe64(4095);
	begin_umr(&w, 1, &mkey);
	put(&w, klm, sizeof(klm));
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_BAD_SEGMENT);
}

static void test_invalidate(void)
{
	const struct hcasim_mlx5_seg_mkey mkey = {.state = 1 << 6, .qpn_mkey = htobe32(0xffffff13)};
	struct wqe w;

	begin_umr(&w, 1 << 14, &mkey);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), 0);
	CU_ASSERT_EQUAL(w.wr.op, HCASIM_WQE_OP_LOCAL_INV);
	CU_ASSERT_EQUAL(w.wr.inv_rkey, 0x00abcd11);
	begin_umr(&w, 0, &mkey); /* of type 1: a bind of nothing */
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), 0);
	CU_ASSERT_EQUAL(w.wr.op, HCASIM_WQE_OP_BIND_MW);
	CU_ASSERT_EQUAL(w.wr.bind.type, 1);
	CU_ASSERT_EQUAL(w.wr.bind.length, 0);
	CU_ASSERT_EQUAL(w.wr.bind.new_rkey, 0x00abcd13);
}

/* ---- Indirect keys ---- */

#define LEN_AND_RIGHTS (HCASIM_MLX5_SEG_UMR_MASK_LEN_MASK | HCASIM_MLX5_SEG_UMR_MASK_ACCESS_MASK)

static struct hcasim_mlx5_seg_umr *begin_key(struct wqe *w, uint64_t mask, uint32_t octowords, uint64_t len)
{
	const struct hcasim_mlx5_seg_mkey mkey = {
		.access_flags = 1 << 3, .qpn_mkey = htobe32(0xffffff12), .len = htobe64(len)};
	struct hcasim_mlx5_seg_umr *umr;

	begin_umr(w, mask, &mkey);
	umr = (void *)(w->raw + sizeof(struct hcasim_mlx5_wqe_ctrl));
	umr->flags = 1 << 7;
	umr->klm_octowords = htobe16((uint16_t)octowords);
	return umr;
}

static void begin_list(struct wqe *w)
{
	const struct hcasim_mlx5_seg_klm klm[4] = {{htobe32(100), htobe32(0x1100), htobe64(0x7f0000001000)},
						   {htobe32(1u << 31), htobe32(0x2200), htobe64(0x10)}};

	begin_key(w, LEN_AND_RIGHTS, 4, 5000);
	put(w, klm, sizeof(klm));
}

static void test_key_of_a_list(void)
{
	struct hca_key_part part;
	struct wqe w;

	begin_list(&w);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), 0);
	CU_ASSERT_EQUAL(w.wr.op, HCASIM_WQE_OP_BIND_MW);
	CU_ASSERT_EQUAL(w.wr.num_bb, 3);
	CU_ASSERT_EQUAL(w.wr.num_sge, 0);
	CU_ASSERT_EQUAL(w.wr.bind.type, HCA_BIND_KEY);
	CU_ASSERT_EQUAL(w.wr.bind.mw_rkey, 0x00abcd11);
	CU_ASSERT_EQUAL(w.wr.bind.new_rkey, 0x00abcd12);
	CU_ASSERT_EQUAL(w.wr.bind.access, HCASIM_ACCESS_LOCAL_WRITE);
	CU_ASSERT_EQUAL(w.wr.bind.addr, 0);
	CU_ASSERT_EQUAL(w.wr.bind.length, 5000);
	CU_ASSERT_EQUAL(w.wr.bind.repeat, 1);
	CU_ASSERT_EQUAL(w.wr.bind.num_parts, 4);
	CU_ASSERT_FALSE(w.wr.bind.keep_access || w.wr.bind.keep_parts);
	mlx5_key_part(&w.wr.bind, 0, &part);
	CU_ASSERT_TRUE(part.addr == 0x7f0000001000 && part.key == 0x1100 && part.length == 100);
	mlx5_key_part(&w.wr.bind, 1, &part);
	CU_ASSERT_TRUE(part.addr == 0x10 && part.key == 0x2200 && part.length == 1u << 31 && !part.stride);
	mlx5_key_part(&w.wr.bind, 3, &part);
	CU_ASSERT_EQUAL(part.length, 0);
	/* Rights alone, and neither. */
	begin_key(&w, HCASIM_MLX5_SEG_UMR_MASK_ACCESS_MASK, 0, 0);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), 0);
	CU_ASSERT_TRUE(w.wr.bind.keep_parts && !w.wr.bind.keep_access);
	begin_key(&w, 0, 0, 0);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), 0);
	CU_ASSERT_TRUE(w.wr.bind.keep_parts && w.wr.bind.keep_access);
}

static struct hcasim_mlx5_seg_repeat *begin_interleaved(struct wqe *w)
{
	const struct hcasim_mlx5_seg_repeat block = {.byte_count = htobe32(8 + 65535),
						     .op = htobe32(HCASIM_MLX5_REPEAT_OP),
						     .repeat_count = htobe32(3),
						     .num_entries = htobe16(2)};
	const struct hcasim_mlx5_seg_repeat_entry entry[3] = {
		{htobe16(10), htobe16(8), htobe32(0x1100), htobe64(0x1000)},
		{htobe16(0xfff0), htobe16(65535), htobe32(0x2200), htobe64(0x2000)}};
	struct hcasim_mlx5_seg_repeat *at;

	begin_key(w, LEN_AND_RIGHTS, 4, 3 * (8 + 65535));
	at = put(w, &block, sizeof(block));
	put(w, entry, sizeof(entry));
	return at;
}

static void test_interleaved_key(void)
{
	struct hca_key_part part;
	struct wqe w;

	begin_interleaved(&w);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), 0);
	CU_ASSERT_EQUAL(w.wr.bind.length, 3 * (8 + 65535));
	CU_ASSERT_EQUAL(w.wr.bind.repeat, 3);
	CU_ASSERT_EQUAL(w.wr.bind.num_parts, 2);
	mlx5_key_part(&w.wr.bind, 0, &part);
	CU_ASSERT_TRUE(part.addr == 0x1000 && part.key == 0x1100 && part.length == 8 && part.stride == 10);
	mlx5_key_part(&w.wr.bind, 1, &part);
	CU_ASSERT_TRUE(part.key == 0x2200 && part.length == 65535 && part.stride == 0xfff0);
}

static void test_refused_keys(void)
{
	static const uint64_t masks[] = {1 << 6, 1 << 9, 1 << 12, 1 << 18, 1 << 14, 1ull << 63};
	struct hcasim_mlx5_seg_repeat *block;
	struct wqe w;

	for (unsigned int i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		begin_key(&w, masks[i], 0, 0);
		CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_BAD_SEGMENT);
	}
	begin_key(&w, 0, 0, 0)->flags = 0; /* translations elsewhere */
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_BAD_SEGMENT);
	begin_key(&w, 0, 0, 0)->flags = 1 << 7 | 1 << 5;
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_BAD_SEGMENT);
	begin_key(&w, LEN_AND_RIGHTS, 0, 8); /* a length, and nothing that has it; and the other way round */
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_BAD_SEGMENT);
	begin_key(&w, 0, 4, 8);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_BAD_SEGMENT);
	begin_list(&w);
	w.len -= 16;
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_BAD_SIZE);
	begin_key(&w, LEN_AND_RIGHTS, 0xffff, 8);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_BAD_SIZE);
	block = begin_interleaved(&w);
	block->num_entries = htobe16(4); /* there is space for three */
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_BAD_SEGMENT);
	block = begin_interleaved(&w);
	block->byte_count = htobe32(8);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_BAD_SEGMENT);
}

/* No part that a decoded WQE has is outside of it. */
static void test_random_keys(void)
{
	unsigned int seed = 2, good = 0;
	struct hca_key_part part;
	struct wqe w;

	for (unsigned int i = 0; i < 20000; i++) {
		uint8_t *raw;

		if (i % 2)
			begin_list(&w);
		else
			begin_interleaved(&w);
		for (unsigned int n = rand_r(&seed) % 4; n; n--)
			w.raw[60 + rand_r(&seed) % (w.len - 60)] = (uint8_t)rand_r(&seed);
		w.raw[36 + rand_r(&seed) % 2] = (uint8_t)(rand_r(&seed) % 3 ? 0 : rand_r(&seed));
		w.len -= 16 * (rand_r(&seed) % 3);
		decode(&w, HCASIM_QPT_RC); /* writes ds */
		raw = malloc(w.len);
		memcpy(raw, w.raw, w.len);
		if (!mlx5_decode_wqe(raw, w.len, HCASIM_QPT_RC, QPN, INDEX, &w.wr, w.sge, 4, &w.status) &&
		    w.wr.bind.type == HCA_BIND_KEY && !w.wr.bind.keep_parts) {
			for (uint32_t n = 0; n < w.wr.bind.num_parts; n++)
				mlx5_key_part(&w.wr.bind, n, &part);
			good++;
		}
		free(raw);
	}
	CU_ASSERT_TRUE(good > 1000);
}

static void test_refused(void)
{
	struct wqe w;

	begin(&w, HCASIM_MLX5_OPCODE_RDMA_WRITE, 0, 0);
	put_raddr(&w);
	put_sge(&w, 1, 1, 1);
	CU_ASSERT_EQUAL(decode_with(&w, HCASIM_QPT_RC, 4), HCASIM_VENDOR_ERR_BAD_SIZE);
	CU_ASSERT_EQUAL(decode_with(&w, HCASIM_QPT_RC, 1), HCASIM_VENDOR_ERR_BAD_SIZE);
	CU_ASSERT_EQUAL(decode_with(&w, HCASIM_QPT_RC, 0), HCASIM_VENDOR_ERR_BAD_SIZE);
	decode(&w, HCASIM_QPT_RC);
	CU_ASSERT_EQUAL(
		mlx5_decode_wqe(w.raw, w.len, HCASIM_QPT_RC, QPN, INDEX + 1, &w.wr, w.sge, 1, &w.status),
		HCASIM_VENDOR_ERR_STALE_WQE);
	CU_ASSERT_EQUAL(
		mlx5_decode_wqe(w.raw, w.len, HCASIM_QPT_RC, QPN + 1, INDEX, &w.wr, w.sge, 1, &w.status),
		HCASIM_VENDOR_ERR_BAD_QPN);
	CU_ASSERT_EQUAL(mlx5_decode_wqe(w.raw, w.len, HCASIM_QPT_RC, QPN, INDEX, &w.wr, w.sge, 0, &w.status),
			HCASIM_VENDOR_ERR_BAD_SIZE);
	CU_ASSERT_EQUAL(w.status, HCASIM_CQE_STATUS_LOC_QP_OP_ERR);
	begin(&w, 0x2c, 0, 0);
	CU_ASSERT_EQUAL(decode(&w, HCASIM_QPT_RC), HCASIM_VENDOR_ERR_BAD_OPCODE);
}

/* Whatever the bytes are, the decoder stays inside them: the sanitizers watch. */
static void test_random(void)
{
	static const uint8_t types[] = {HCASIM_QPT_RC, HCASIM_QPT_UD, HCASIM_QPT_XRC_SEND,
					HCASIM_QPT_RAW_PACKET};
	unsigned int seed = 1;
	struct wqe w;

	for (unsigned int i = 0; i < 20000; i++) {
		const uint32_t ds = 1 + rand_r(&seed) % 16;
		uint8_t *raw = malloc(16 * ds);

		begin(&w, (uint8_t)(rand_r(&seed) % 0x30), (uint8_t)rand_r(&seed), (uint32_t)rand_r(&seed));
		while (w.len < 16 * ds)
			w.raw[w.len++] = (uint8_t)(rand_r(&seed) % 3 ? 0 : rand_r(&seed));
		((struct hcasim_mlx5_wqe_ctrl *)w.raw)->qpn_ds = htobe32(QPN << 8 | ds);
		memcpy(raw, w.raw, 16 * ds);
		mlx5_decode_wqe(raw, 16 * ds, types[i % 4], QPN, INDEX, &w.wr, w.sge, 4, &w.status);
		CU_ASSERT_TRUE(w.wr.num_sge <= 4);
		CU_ASSERT_TRUE(!w.wr.tso.hdr || w.wr.tso.hdr + w.wr.tso.hdr_size <= raw + 16 * ds);
		free(raw);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"WRITE", test_write},
		{"message that is too long", test_too_long},
		{"flags", test_flags},
		{"inline data", test_inline},
		{"inline data and SGEs", test_inline_and_sges},
		{"atomic", test_atomic},
		{"datagram", test_datagram},
		{"XRC", test_xrc},
		{"TSO", test_tso},
		{"bind", test_bind},
		{"invalidate", test_invalidate},
		{"key of a list", test_key_of_a_list},
		{"interleaved key", test_interleaved_key},
		{"refused keys", test_refused_keys},
		{"random keys", test_random_keys},
		{"refused", test_refused},
		{"random bytes", test_random},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {{.pName = "mlx5 WQEs", .pTests = (CU_TestInfo *)tests}, CU_SUITE_INFO_NULL};
	unsigned int failures;

	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
		return EXIT_FAILURE;
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
