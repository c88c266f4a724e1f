// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Receive WQEs, completions, events and doorbells of the native adapter. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include "devices/common/common.h"
#include "devices/native/format/format.h"
#include "hcasim_hw.h"
#include "hcasim_verbs.h"

#define RQ_INDEX 0x8001u

struct rqe_with_sges {
	struct hcasim_rqe head;
	struct hcasim_seg_data seg[HCASIM_MAX_SGE + 1];
};

static void build_rqe(struct rqe_with_sges *rqe, unsigned int n)
{
	memset(rqe, 0, sizeof(*rqe));
	rqe->head.index = htole16(RQ_INDEX);
	rqe->head.num_sge = n;
	for (unsigned int i = 0; i < n; i++) {
		rqe->seg[i].addr = htole64(0x7f0000001000 * (i + 1));
		rqe->seg[i].length = htole32(100 + i);
		rqe->seg[i].lkey = htole32(0xa7a80500 + i);
	}
}

static uint8_t decode_rqe(const struct rqe_with_sges *rqe, uint32_t len, struct hca_rwr *wr,
			  struct hca_sge *sge)
{
	return native_personality.decode_rqe(rqe, len, RQ_INDEX, wr, sge, HCASIM_MAX_SGE);
}

static void test_rqe(void)
{
	struct hca_sge sge[HCASIM_MAX_SGE];
	struct rqe_with_sges rqe;
	struct hca_rwr wr;

	for (unsigned int n = 0; n <= HCASIM_MAX_SGE; n++) {
		uint64_t sum = 0;

		build_rqe(&rqe, n);
		CU_ASSERT_EQUAL(decode_rqe(&rqe, 16 + 16 * n, &wr, sge), 0);
		CU_ASSERT_EQUAL(wr.num_sge, n);
		CU_ASSERT_EQUAL(wr.index, RQ_INDEX);
		CU_ASSERT_PTR_EQUAL(wr.sge, sge);
		for (unsigned int i = 0; i < n; i++) {
			CU_ASSERT_EQUAL(sge[i].addr, 0x7f0000001000 * (i + 1));
			CU_ASSERT_EQUAL(sge[i].length, 100 + i);
			CU_ASSERT_EQUAL(sge[i].lkey, 0xa7a80500 + i);
			sum += 100 + i;
		}
		CU_ASSERT_EQUAL(wr.length, sum);
	}
}

static void test_bad_rqe(void)
{
	struct hca_sge sge[HCASIM_MAX_SGE];
	struct rqe_with_sges rqe;
	struct hca_rwr wr;

	build_rqe(&rqe, 2);
	for (unsigned int bit = 0; bit < 16; bit++) {
		rqe.head.index = htole16(RQ_INDEX ^ 1u << bit);
		CU_ASSERT_EQUAL(decode_rqe(&rqe, sizeof(rqe), &wr, sge), HCASIM_VENDOR_ERR_STALE_WQE);
	}
	build_rqe(&rqe, 2);
	for (size_t i = 0; i < sizeof(rqe.head.reserved2); i++) {
		rqe.head.reserved2[i] = 1;
		CU_ASSERT_EQUAL(decode_rqe(&rqe, sizeof(rqe), &wr, sge), HCASIM_VENDOR_ERR_BAD_RQE);
		rqe.head.reserved2[i] = 0;
	}
	/* More SGEs than the stride holds, than there is memory for, than the device takes. */
	for (uint32_t len = 0; len < 48; len++)
		CU_ASSERT_EQUAL(decode_rqe(&rqe, len, &wr, sge), HCASIM_VENDOR_ERR_BAD_RQE);
	CU_ASSERT_EQUAL(native_decode_rqe(&rqe, 48, RQ_INDEX, &wr, sge, 1), HCASIM_VENDOR_ERR_BAD_RQE);
	for (unsigned int n = HCASIM_MAX_SGE + 1; n < 256; n++) {
		rqe.head.num_sge = n;
		CU_ASSERT_EQUAL(decode_rqe(&rqe, sizeof(rqe), &wr, sge), HCASIM_VENDOR_ERR_BAD_RQE);
	}
	/* Lengths whose sum is beyond 32 bits. */
	build_rqe(&rqe, 2);
	rqe.seg[0].length = rqe.seg[1].length = htole32(UINT32_MAX);
	CU_ASSERT_EQUAL(decode_rqe(&rqe, sizeof(rqe), &wr, sge), 0);
	CU_ASSERT_EQUAL(wr.length, 2ull * UINT32_MAX);
}

static const struct {
	struct hcasim_tm_op head;
	struct hcasim_seg_data seg[2];
} good_op = {{.opcode = HCASIM_TM_OPCODE_ADD,
	      .flags = HCASIM_TM_OP_SYNC_MASK,
	      .index = 0x2211,
	      .num_sge = 2,
	      .sw_count = 0x4433,
	      .handle = 5,
	      .tag = 0x1111111122222222,
	      .mask = 0x3333333344444444},
	     {{.addr = 7, .length = UINT32_MAX, .lkey = 9}, {.addr = 8, .length = UINT32_MAX, .lkey = 10}}};

static void test_tm_op(void)
{
	struct hca_tm_op op;
	uint8_t raw[HCASIM_TM_OP_SIZE] = {0};
	struct hcasim_tm_op *head = (void *)raw;

	memcpy(raw, &good_op, sizeof(good_op));
	CU_ASSERT_EQUAL(native_personality.decode_tm_op(raw, 0x2211, &op), 0);
	CU_ASSERT_EQUAL(op.op, HCASIM_TM_OPCODE_ADD);
	CU_ASSERT_TRUE(op.sync && !op.signaled);
	CU_ASSERT_EQUAL(op.sw_count, 0x4433);
	CU_ASSERT_EQUAL(op.handle, 5);
	CU_ASSERT_EQUAL(op.tag, 0x1111111122222222);
	CU_ASSERT_EQUAL(op.mask, 0x3333333344444444);
	CU_ASSERT_EQUAL(op.length, 2ull * UINT32_MAX);
	CU_ASSERT_EQUAL(op.sge[1].addr, 8);
	CU_ASSERT_EQUAL(op.sge[1].lkey, 10);
	CU_ASSERT_EQUAL(native_personality.decode_tm_op(raw, 0x2212, &op), HCASIM_VENDOR_ERR_STALE_WQE);
	head->num_sge = 3;
	CU_ASSERT_EQUAL(native_personality.decode_tm_op(raw, 0x2211, &op), HCASIM_VENDOR_ERR_BAD_SIZE);
	head->num_sge = 1;
	head->opcode = HCASIM_TM_OPCODE_SYNC; /* it has no buffer */
	CU_ASSERT_EQUAL(native_personality.decode_tm_op(raw, 0x2211, &op), HCASIM_VENDOR_ERR_BAD_SIZE);
	head->opcode = 0;
	CU_ASSERT_EQUAL(native_personality.decode_tm_op(raw, 0x2211, &op), HCASIM_VENDOR_ERR_BAD_OPCODE);
	head->opcode = HCASIM_TM_OPCODE_ADD;
	head->flags = 4;
	CU_ASSERT_EQUAL(native_personality.decode_tm_op(raw, 0x2211, &op), HCASIM_VENDOR_ERR_BAD_SEGMENT);
}

/* What the adapter posts itself is a WQE like software's. */
static void test_own_wqe(void)
{
	struct hca_sge sge[2] = {{1, 2, 3}, {4, 5, 6}}, out[2];
	uint8_t raw[HCA_OWN_WQE_BB * HCASIM_WQEBB_SIZE], status, data[32] = {1, 2, 3};
	struct hca_wr wr = {.op = HCASIM_WQE_OP_RDMA_READ,
			    .index = 77,
			    .remote_addr = 8,
			    .rkey = 9,
			    .sge = sge,
			    .num_sge = 2};
	struct hca_wr got;

	CU_ASSERT_EQUAL(native_personality.encode_wqe(&wr, 0x1234, raw), 1);
	CU_ASSERT_EQUAL(native_personality.decode_wqe(raw, HCASIM_WQEBB_SIZE, HCASIM_QPT_RC, 0x1234, 77, &got,
						      out, 2, &status),
			0);
	CU_ASSERT_EQUAL(got.op, HCASIM_WQE_OP_RDMA_READ);
	CU_ASSERT_EQUAL(got.flags, HCA_WR_SIGNALED);
	CU_ASSERT_EQUAL(got.remote_addr, 8);
	CU_ASSERT_EQUAL(got.rkey, 9);
	CU_ASSERT_EQUAL(got.length, 7);
	CU_ASSERT_EQUAL(memcmp(out, sge, sizeof(sge)), 0);
	wr = (struct hca_wr){.op = HCASIM_WQE_OP_SEND,
			     .flags = HCA_WR_INLINE,
			     .index = 78,
			     .inline_data = data,
			     .length = sizeof(data)};
	CU_ASSERT_EQUAL(native_personality.encode_wqe(&wr, 0x1234, raw), 1);
	CU_ASSERT_EQUAL(native_personality.decode_wqe(raw, HCASIM_WQEBB_SIZE, HCASIM_QPT_RC, 0x1234, 78, &got,
						      out, 2, &status),
			0);
	CU_ASSERT_EQUAL(got.op, HCASIM_WQE_OP_SEND);
	CU_ASSERT_EQUAL(got.flags, HCA_WR_SIGNALED | HCA_WR_INLINE);
	CU_ASSERT_EQUAL(got.length, sizeof(data));
	CU_ASSERT_EQUAL(memcmp(got.inline_data, data, sizeof(data)), 0);
}

static const struct hca_cpl full_cpl = {
	.qpn = 0x010203,
	.op = HCASIM_CQE_OP_RECV_WRITE_IMM,
	.wqe_op = HCASIM_WQE_OP_RDMA_READ,
	.num_bb = 3,
	.status = HCASIM_CQE_STATUS_REM_ACCESS_ERR,
	.vendor_err = HCASIM_VENDOR_ERR_RKEY_RANGE,
	.wqe_index = 0xabcd,
	.byte_count = 0x11121314,
	.imm = 0x21222324,
	.inv_rkey = 0x31323334,
	.src_qpn = 0x414243,
	.srqn = 0x515253,
	.tm_priv = 0x61626364,
	.tm_tag = 0x9192939495969798,
	.tm_data = true,
	.vlan = 0x0fff,
	.pkey_index = 0x7172,
	.smac = {1, 2, 3, 4, 5, 6},
	.sl = 7,
	.path_bits = 8,
	.timestamp = 0x8182838485868788,
};

static void test_cqe(void)
{
	struct hcasim_cqe cqe;

	memset(&cqe, 0xff, sizeof(cqe));
	native_personality.encode_cqe(&full_cpl, 1, &cqe, sizeof(cqe));
	CU_ASSERT_EQUAL(le32toh(cqe.qpn_opcode), 0x010203 | HCASIM_CQE_OP_RECV_WRITE_IMM << 24);
	CU_ASSERT_EQUAL(le32toh(cqe.byte_count), 0x11121314);
	CU_ASSERT_EQUAL(cqe.imm, 0x21222324); /* not swapped: as on the wire */
	CU_ASSERT_EQUAL(le32toh(cqe.inv_rkey), 0x31323334);
	CU_ASSERT_EQUAL(le32toh(cqe.src_qpn_flags), 0x414243 | HCASIM_CQE_TM_DATA_MASK);
	CU_ASSERT_EQUAL(le32toh(cqe.srqn), 0x515253);
	CU_ASSERT_EQUAL(le64toh(cqe.timestamp), 0x8182838485868788);
	CU_ASSERT_EQUAL(cqe.smac[5], 6);
	CU_ASSERT_EQUAL(le16toh(cqe.vlan), 0x0fff);
	CU_ASSERT_EQUAL(cqe.sl, 7);
	CU_ASSERT_EQUAL(cqe.path_bits, 8);
	CU_ASSERT_EQUAL(le16toh(cqe.pkey_index), 0x7172);
	CU_ASSERT_EQUAL(le32toh(cqe.tm_priv), 0x61626364);
	CU_ASSERT_EQUAL(le64toh(cqe.tm_tag), 0x9192939495969798);
	CU_ASSERT_EQUAL(le16toh(cqe.wqe_index), 0xabcd);
	CU_ASSERT_EQUAL(cqe.wqe_op, HCASIM_WQE_OP_RDMA_READ);
	CU_ASSERT_EQUAL(cqe.num_bb, 3);
	CU_ASSERT_EQUAL(cqe.status, HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(cqe.vendor_err, HCASIM_VENDOR_ERR_RKEY_RANGE);
	CU_ASSERT_EQUAL(cqe.reserved2, 0);
	CU_ASSERT_EQUAL(cqe.owner, 1);
}

static void test_cqe_flags_and_phase(void)
{
	struct hca_cpl cpl = {0};
	struct hcasim_cqe cqe;

	cpl.grh = true;
	native_encode_cqe(&cpl, 0, &cqe, sizeof(cqe));
	CU_ASSERT_EQUAL(le32toh(cqe.src_qpn_flags), HCASIM_CQE_GRH_MASK);
	CU_ASSERT_EQUAL(cqe.owner, 0);
	cpl = (struct hca_cpl){.headers = {.ip = 4, .l3_ok = true, .l4_ok = true}};
	native_encode_cqe(&cpl, 1, &cqe, sizeof(cqe));
	CU_ASSERT_EQUAL(le32toh(cqe.src_qpn_flags), HCASIM_CQE_CSUM_OK_MASK);
	cpl = (struct hca_cpl){.with_imm = true};
	native_encode_cqe(&cpl, 2, &cqe, sizeof(cqe));
	CU_ASSERT_EQUAL(le32toh(cqe.src_qpn_flags), HCASIM_CQE_WITH_IMM_MASK);
	CU_ASSERT_EQUAL(cqe.owner, 0);
	cpl = (struct hca_cpl){.with_inv = true};
	native_encode_cqe(&cpl, 3, &cqe, sizeof(cqe));
	CU_ASSERT_EQUAL(le32toh(cqe.src_qpn_flags), HCASIM_CQE_WITH_INV_MASK);
	CU_ASSERT_EQUAL(cqe.owner, 1);
	/* A number that is too wide does not become a flag or an opcode. */
	cpl = (struct hca_cpl){.qpn = UINT32_MAX, .src_qpn = UINT32_MAX};
	native_encode_cqe(&cpl, 0, &cqe, sizeof(cqe));
	CU_ASSERT_EQUAL(le32toh(cqe.qpn_opcode), 0xffffff);
	CU_ASSERT_EQUAL(le32toh(cqe.src_qpn_flags), 0xffffff);
}

static void test_eqe(void)
{
	const struct hca_event ev = {.type = HCASIM_EQE_TYPE_PORT_ERR,
				     .port = 2,
				     .number = 0x12345678,
				     .timestamp = 0x1122334455667788};
	uint8_t raw[HCASIM_EQE_SIZE + 1];
	struct hcasim_eqe eqe;

	memset(raw, 0xff, sizeof(raw));
	native_personality.encode_eqe(&ev, 1, raw + 1); /* need not be aligned */
	memcpy(&eqe, raw + 1, sizeof(eqe));
	CU_ASSERT_EQUAL(raw[0], 0xff);
	CU_ASSERT_EQUAL(eqe.type, HCASIM_EQE_TYPE_PORT_ERR);
	CU_ASSERT_EQUAL(eqe.port, 2);
	CU_ASSERT_EQUAL(eqe.reserved, 0);
	CU_ASSERT_EQUAL(le32toh(eqe.number), 0x12345678);
	CU_ASSERT_EQUAL(le64toh(eqe.timestamp), 0x1122334455667788);
	for (size_t i = 0; i < sizeof(eqe.reserved2); i++)
		CU_ASSERT_EQUAL(eqe.reserved2[i], 0);
	CU_ASSERT_EQUAL(eqe.owner, 1);
	common_encode_eqe(&ev, 2, raw);
	CU_ASSERT_EQUAL(raw[HCASIM_EQE_SIZE - 1], 0);
}

static struct hca_doorbell ring(uint32_t offset, uint64_t value, uint32_t size)
{
	struct hca_doorbell db;

	value = htole64(value);
	native_personality.decode_doorbell(offset, &value, size, &db);
	return db;
}

static void test_doorbells(void)
{
	struct hca_doorbell db = ring(HCASIM_UAR_DB_SQ, 0x0000beef00123456, 8);

	CU_ASSERT_EQUAL(db.kind, HCA_DB_SQ);
	CU_ASSERT_EQUAL(db.number, 0x123456);
	CU_ASSERT_EQUAL(db.value, 0xbeef);
	db = ring(HCASIM_UAR_DB_CQ, 0xfedcba9806123456, 8);
	CU_ASSERT_EQUAL(db.kind, HCA_DB_CQ_ARM);
	CU_ASSERT_EQUAL(db.number, 0x123456);
	CU_ASSERT_EQUAL(db.value, 0xfedcba98);
	CU_ASSERT_EQUAL(db.arm_sn, 2);
	CU_ASSERT_TRUE(db.solicited);
	db = ring(HCASIM_UAR_DB_CQ, 0x0000000001000000, 8);
	CU_ASSERT_EQUAL(db.arm_sn, 1);
	CU_ASSERT_FALSE(db.solicited);
	db = ring(HCASIM_UAR_DB_SRQ, 0x0000123400abcdef, 8);
	CU_ASSERT_EQUAL(db.kind, HCA_DB_SRQ_ARM);
	CU_ASSERT_EQUAL(db.number, 0xabcdef);
	CU_ASSERT_EQUAL(db.value, 0x1234);
	db = ring(HCASIM_UAR_DB_TM, 0x0000567800fedcba, 8);
	CU_ASSERT_EQUAL(db.kind, HCA_DB_TM);
	CU_ASSERT_EQUAL(db.number, 0xfedcba);
	CU_ASSERT_EQUAL(db.value, 0x5678);
}

static void test_stores_that_are_no_doorbell(void)
{
	static const uint32_t sizes[] = {1, 2, 4};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CU_ASSERT_EQUAL(ring(HCASIM_UAR_DB_SQ, UINT64_MAX, sizes[i]).kind, HCA_DB_NONE);
		CU_ASSERT_EQUAL(ring(HCASIM_UAR_DB_CQ, UINT64_MAX, sizes[i]).kind, HCA_DB_NONE);
	}
	CU_ASSERT_EQUAL(ring(HCASIM_UAR_DB_SQ + 4, UINT64_MAX, 8).kind, HCA_DB_NONE);
	CU_ASSERT_EQUAL(ring(HCASIM_UAR_CLOCK, UINT64_MAX, 8).kind, HCA_DB_NONE);
	CU_ASSERT_EQUAL(ring(HCASIM_UAR_DB_TM + 8, UINT64_MAX, 8).kind, HCA_DB_NONE);
	CU_ASSERT_EQUAL(ring(HCASIM_UAR_BF - 8, UINT64_MAX, 8).kind, HCA_DB_NONE);
	CU_ASSERT_EQUAL(ring(HCASIM_UAR_BF + HCASIM_UAR_BF_SIZE, UINT64_MAX, 8).kind, HCA_DB_NONE);
	CU_ASSERT_EQUAL(ring(HCASIM_UAR_PAGE_SIZE - 8, UINT64_MAX, 8).kind, HCA_DB_NONE);
}

static void test_blueflame(void)
{
	uint8_t line[64] = {0};
	const struct hcasim_wqe_ctrl ctrl = {.opcode = HCASIM_WQE_OP_SEND,
					     .size = 2,
					     .index = htole16(0x4321),
					     .qpn_flags = htole32(0xff123456)};
	struct hca_doorbell db;

	memcpy(line, &ctrl, sizeof(ctrl));
	for (uint32_t buf = 0; buf < HCASIM_BF_BUFS; buf++) {
		uint32_t at = HCASIM_UAR_BF + buf * HCASIM_BF_SIZE;

		for (uint32_t size = 16; size <= sizeof(line); size += 8) {
			native_decode_doorbell(at, line, size, &db);
			CU_ASSERT_EQUAL(db.kind, HCA_DB_BF);
			CU_ASSERT_EQUAL(db.number, 0x123456);
			CU_ASSERT_EQUAL(db.value, 0x4321);
		}
		/* The first store alone does not hold the control segment; a later piece is not one. */
		CU_ASSERT_EQUAL(ring(at, UINT64_MAX, 8).kind, HCA_DB_BF);
		native_decode_doorbell(at + HCASIM_BF_SIZE - 64, line, 64, &db);
		CU_ASSERT_EQUAL(db.kind, HCA_DB_BF);
		CU_ASSERT_EQUAL(db.number, 0);
		/* Over the end of a buffer. */
		native_decode_doorbell(at + HCASIM_BF_SIZE - 8, line, 16, &db);
		CU_ASSERT_EQUAL(db.kind, HCA_DB_NONE);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"receive WQE", test_rqe},
		{"bad receive WQE", test_bad_rqe},
		{"operation on a tag list", test_tm_op},
		{"WQEs of the adapter itself", test_own_wqe},
		{"CQE", test_cqe},
		{"CQE flags and phase", test_cqe_flags_and_phase},
		{"EQE", test_eqe},
		{"doorbells", test_doorbells},
		{"stores that are no doorbell", test_stores_that_are_no_doorbell},
		{"BlueFlame", test_blueflame},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {{.pName = "native formats", .pTests = (CU_TestInfo *)tests},
				 CU_SUITE_INFO_NULL};
	unsigned int failures;

	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
		return EXIT_FAILURE;
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
