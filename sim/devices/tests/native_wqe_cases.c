// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Correct WQEs: everything that stands in one arrives in the work request. */
#include <endian.h>
#include <string.h>
#include <CUnit/Basic.h>

#include "native_wqe_test.h"

static void check_segments(const struct wqe_builder *b, const struct hca_wr *wr)
{
	if (b->ud) {
		CU_ASSERT_EQUAL(wr->ud.qpn, 0xabcdef);
		CU_ASSERT_EQUAL(wr->ud.qkey, 0x80000001);
		CU_ASSERT_EQUAL(wr->ud.av.dgid[15], 0x42);
		CU_ASSERT_EQUAL(wr->ud.av.dmac[5], 12);
		CU_ASSERT_EQUAL(wr->ud.av.sgid_index, 3);
		CU_ASSERT_EQUAL(wr->ud.av.hop_limit, 64);
		CU_ASSERT_EQUAL(wr->ud.av.traffic_class, 0x28);
		CU_ASSERT_EQUAL(wr->ud.av.sl, 5);
		CU_ASSERT_EQUAL(wr->ud.av.port, 1);
		CU_ASSERT_EQUAL(wr->ud.av.flow_label, 0xfedcb);
	}
	CU_ASSERT_EQUAL(wr->srqn, b->xrc ? 0x424242 : 0);
	CU_ASSERT_EQUAL(wr->remote_addr, b->remote ? 0x123456789abcdef0 : 0);
	CU_ASSERT_EQUAL(wr->rkey, b->remote ? 0x55667788 : 0);
	CU_ASSERT_EQUAL(wr->swap_add, b->atomic ? 0x1111222233334444 : 0);
	CU_ASSERT_EQUAL(wr->compare, b->atomic ? 0x5555666677778888 : 0);
	CU_ASSERT_EQUAL(wr->flush.length, b->flush ? 4096 : 0);
	CU_ASSERT_EQUAL(wr->flush.type, b->flush ? HCASIM_FLUSH_TYPE_PERSISTENT : 0);
	CU_ASSERT_EQUAL(wr->flush.level, b->flush ? HCASIM_FLUSH_LEVEL_MR : 0);
	CU_ASSERT_EQUAL(wr->tso.mss, b->tso ? 1400 : 0);
	CU_ASSERT_EQUAL(wr->tso.hdr_size, b->tso ? 54 : 0);
	CU_ASSERT_PTR_EQUAL(wr->tso.hdr, b->tso ? b->raw + b->tso + sizeof(struct hcasim_seg_tso) : NULL);
	if (b->bind) {
		CU_ASSERT_EQUAL(wr->bind.mw_rkey, 0xb1b20100);
		CU_ASSERT_EQUAL(wr->bind.new_rkey, 0xb1b20101);
		CU_ASSERT_EQUAL(wr->bind.lkey, 0xb3b40200);
		CU_ASSERT_EQUAL(wr->bind.access, HCASIM_ACCESS_REMOTE_WRITE);
		CU_ASSERT_EQUAL(wr->bind.addr, 0xb5b6b7b800004000);
		CU_ASSERT_EQUAL(wr->bind.length, 0x100000001);
		CU_ASSERT_EQUAL(wr->bind.type, 2);
	}
}

static void check_good(struct wqe_builder *b, uint8_t op)
{
	struct wqe_result r;

	wqe_decode(b, &r);
	CU_ASSERT_EQUAL(r.vendor, HCASIM_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(r.status, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(r.wr.op, op);
	CU_ASSERT_EQUAL(r.wr.index, TEST_INDEX);
	CU_ASSERT_EQUAL(r.wr.num_bb, (b->len + 63) / 64);
	CU_ASSERT_EQUAL(r.wr.imm, htobe32(0xa1b2c3d4));
	CU_ASSERT_EQUAL(r.wr.inv_rkey, 0x11223344);
	CU_ASSERT(r.wr.flags & HCA_WR_SIGNALED);
	CU_ASSERT_EQUAL(native_personality.wqe_size(b->raw), b->len);
	check_segments(b, &r.wr);
}

void test_every_cell(void)
{
	static const uint8_t types[] = {HCASIM_QPT_RC,
					HCASIM_QPT_UC,
					HCASIM_QPT_UD,
					HCASIM_QPT_RAW_PACKET,
					HCASIM_QPT_XRC_SEND,
					HCASIM_QPT_XRC_RECV,
					32,
					HCASIM_QPT_DRIVER};
	struct wqe_builder b;
	struct wqe_result r;
	unsigned int good = 0;

	for (unsigned int op = 0; op < 256; op++) {
		const struct hcasim_wr_rule *rule = hcasim_wr_rule_of_wqe_op(op);

		for (size_t i = 0; i < sizeof(types); i++) {
			wqe_build(&b, op, types[i], 1);
			if (op == HCASIM_WQE_OP_NOP ||
			    (rule && types[i] < 32 && rule->qp_types >> types[i] & 1)) {
				check_good(&b, op);
				good++;
				continue;
			}
			wqe_decode(&b, &r);
			CU_ASSERT_EQUAL(r.vendor, HCASIM_VENDOR_ERR_BAD_OPCODE);
			CU_ASSERT_EQUAL(r.status, HCASIM_CQE_STATUS_LOC_QP_OP_ERR);
		}
	}
	/* 34 cells of ibv_wr_post(3), two of ATOMIC_WRITE, NOP on all eight types. */
	CU_ASSERT_EQUAL(good, 34 + 2 + 8);
}

void test_sge_lists(void)
{
	struct wqe_builder b;
	struct wqe_result r;

	for (uint32_t n = 0; n <= HCASIM_MAX_SGE; n++) {
		wqe_build(&b, HCASIM_WQE_OP_RDMA_WRITE, HCASIM_QPT_RC, n);
		check_good(&b, HCASIM_WQE_OP_RDMA_WRITE);
		wqe_decode(&b, &r);
		CU_ASSERT_EQUAL(r.wr.num_sge, n);
		CU_ASSERT_EQUAL(r.wr.length, 16 * n);
		CU_ASSERT_PTR_EQUAL(r.wr.sge, r.sge);
		for (uint32_t i = 0; i < n; i++) {
			CU_ASSERT_EQUAL(r.sge[i].addr, 0x7f0000000000 + i);
			CU_ASSERT_EQUAL(r.sge[i].length, 16);
			CU_ASSERT_EQUAL(r.sge[i].lkey, 0xa5a60300 + i);
		}
	}
	/* One more: decoder and its memory refuse it. */
	wqe_build(&b, HCASIM_WQE_OP_RDMA_WRITE, HCASIM_QPT_RC, HCASIM_MAX_SGE + 1);
	wqe_decode(&b, &r);
	CU_ASSERT_EQUAL(r.vendor, HCASIM_VENDOR_ERR_BAD_SIZE);
	wqe_build(&b, HCASIM_WQE_OP_RDMA_WRITE, HCASIM_QPT_RC, 3);
	memset(&r, 0, sizeof(r));
	r.vendor = native_decode_wqe(b.raw, b.len, HCASIM_QPT_RC, TEST_QPN, TEST_INDEX, &r.wr, r.sge, 2,
				     &r.status);
	CU_ASSERT_EQUAL(r.vendor, HCASIM_VENDOR_ERR_BAD_SIZE);
	CU_ASSERT_EQUAL(r.sge[2].addr, 0);
}

void test_length_does_not_wrap(void)
{
	struct wqe_builder b;
	struct wqe_result r;

	wqe_build(&b, HCASIM_WQE_OP_SEND, HCASIM_QPT_RC, 2);
	for (uint32_t i = 0; i < 2; i++)
		((struct hcasim_seg_data *)(b.raw + b.data))[i].length = htole32(UINT32_MAX);
	wqe_decode(&b, &r);
	CU_ASSERT_EQUAL(r.vendor, 0);
	CU_ASSERT_EQUAL(r.wr.length, 2ull * UINT32_MAX);
}

void test_inline(void)
{
	static const uint8_t ops[] = {HCASIM_WQE_OP_SEND, HCASIM_WQE_OP_SEND_IMM, HCASIM_WQE_OP_SEND_INV,
				      HCASIM_WQE_OP_RDMA_WRITE, HCASIM_WQE_OP_RDMA_WRITE_IMM};
	struct wqe_builder b;
	struct wqe_result r;

	for (size_t i = 0; i < sizeof(ops); i++) {
		for (uint32_t n = 0; n <= HCASIM_MAX_INLINE; n++) {
			wqe_build_inline(&b, ops[i], HCASIM_QPT_RC, n);
			wqe_decode(&b, &r);
			CU_ASSERT_EQUAL(r.vendor, 0);
			CU_ASSERT(r.wr.flags & HCA_WR_INLINE);
			CU_ASSERT_EQUAL(r.wr.length, n);
			CU_ASSERT_EQUAL(r.wr.num_sge, 0);
			CU_ASSERT_PTR_EQUAL(r.wr.inline_data,
					    b.raw + b.data + sizeof(struct hcasim_seg_inline));
			CU_ASSERT(n < 2 || r.wr.inline_data[n - 1] == (uint8_t)(n - 1));
		}
	}
}

void test_flags(void)
{
	const struct {
		uint8_t op, qp_type;
		uint32_t flags;
	} cells[] = {
		{HCASIM_WQE_OP_SEND, HCASIM_QPT_RC, HCA_WR_SOLICITED | HCA_WR_FENCE},
		{HCASIM_WQE_OP_SEND, HCASIM_QPT_UC, HCA_WR_SOLICITED},
		{HCASIM_WQE_OP_SEND, HCASIM_QPT_UD, HCA_WR_SOLICITED | HCA_WR_IP_CSUM},
		{HCASIM_WQE_OP_SEND, HCASIM_QPT_RAW_PACKET, HCA_WR_IP_CSUM},
		{HCASIM_WQE_OP_SEND, HCASIM_QPT_XRC_SEND, HCA_WR_SOLICITED | HCA_WR_FENCE},
		{HCASIM_WQE_OP_RDMA_WRITE, HCASIM_QPT_RC, HCA_WR_FENCE},
		{HCASIM_WQE_OP_RDMA_WRITE_IMM, HCASIM_QPT_UC, HCA_WR_SOLICITED},
		{HCASIM_WQE_OP_RDMA_READ, HCASIM_QPT_RC, HCA_WR_FENCE},
		{HCASIM_WQE_OP_TSO, HCASIM_QPT_UD, HCA_WR_IP_CSUM},
		{HCASIM_WQE_OP_NOP, HCASIM_QPT_RC, 0},
	};
	struct wqe_builder b;
	struct wqe_result r;

	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		wqe_build(&b, cells[i].op, cells[i].qp_type, 1);
		wqe_ctrl(&b)->qpn_flags = htole32(TEST_QPN | HCASIM_WQE_CTRL_SOLICITED_MASK |
						  HCASIM_WQE_CTRL_FENCE_MASK | HCASIM_WQE_CTRL_IP_CSUM_MASK);
		wqe_decode(&b, &r);
		CU_ASSERT_EQUAL(r.vendor, 0);
		CU_ASSERT_EQUAL(r.wr.flags, cells[i].flags);
		wqe_ctrl(&b)->qpn_flags |= htole32(HCASIM_WQE_CTRL_SIGNALED_MASK);
		wqe_decode(&b, &r);
		CU_ASSERT_EQUAL(r.wr.flags, cells[i].flags | HCA_WR_SIGNALED);
	}
}
