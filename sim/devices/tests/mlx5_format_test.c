// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Receive WQEs, completions, doorbells and records of the mlx5 family, as libmlx5 writes and reads them. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include <rdma/mlx5-abi.h>

#include "devices/mlx5/format/format.h"
#include "hcasim_mlx5.h"
#include "hcasim_verbs.h"

#define QPN 0xabcdefu

static const struct hca_personality *const pers = &mlx5_personality;

static void put_sge(uint8_t *at, uint32_t length, uint32_t lkey, uint64_t addr)
{
	const struct hcasim_mlx5_seg_data seg = {htobe32(length), htobe32(lkey), htobe64(addr)};

	memcpy(at, &seg, sizeof(seg));
}

/* A list ends at the invalid key, or with the WQE. */
static void test_rqe(void)
{
	struct hca_sge sge[4];
	struct hca_rwr wr;
	uint8_t raw[64];

	put_sge(raw, 100, 0x1100, 0x7f0000001000);
	put_sge(raw + 16, 200, 0x2200, 0x7f0000002000);
	put_sge(raw + 32, 0, HCASIM_MLX5_INVALID_LKEY, 0);
	put_sge(raw + 48, 300, 0x3300, 0x7f0000003000);
	CU_ASSERT_EQUAL(pers->decode_rqe(raw, 64, 7, &wr, sge, 4), 0);
	CU_ASSERT_EQUAL(wr.num_sge, 2);
	CU_ASSERT_EQUAL(wr.length, 300);
	CU_ASSERT_EQUAL(wr.index, 7);
	CU_ASSERT_EQUAL(wr.sge[1].addr, 0x7f0000002000);
	CU_ASSERT_EQUAL(wr.sge[1].lkey, 0x2200);
	CU_ASSERT_EQUAL(pers->decode_rqe(raw, 16, 7, &wr, sge, 4), 0);
	CU_ASSERT_EQUAL(wr.num_sge, 1);
	put_sge(raw + 32, 8, HCASIM_MLX5_INVALID_LKEY, 0); /* that is a key of 8 bytes */
	CU_ASSERT_EQUAL(pers->decode_rqe(raw, 64, 7, &wr, sge, 4), 0);
	CU_ASSERT_EQUAL(wr.num_sge, 4);
	CU_ASSERT_EQUAL(pers->decode_rqe(raw, 64, 7, &wr, sge, 3), HCASIM_VENDOR_ERR_BAD_RQE);
}

/* A length of 0 is the longest there is, which 32-bit sums do not hold twice. */
static void test_rqe_of_length_0(void)
{
	struct hca_sge sge[2];
	struct hca_rwr wr;
	uint8_t raw[32];

	put_sge(raw, 0, 0x1100, 0);
	put_sge(raw + 16, 0, 0x1100, 0);
	CU_ASSERT_EQUAL(pers->decode_rqe(raw, 32, 0, &wr, sge, 2), 0);
	CU_ASSERT_EQUAL(wr.length, 2ull << 31);
}

static void test_srqe(void)
{
	struct hcasim_mlx5_seg_srq_next next = {.next_wqe_index = htobe16(0x1234)};
	struct hca_sge sge[1];
	struct hca_rwr wr;
	uint8_t raw[32];

	memcpy(raw, &next, sizeof(next));
	put_sge(raw + 16, 64, 0x1100, 0x1000);
	CU_ASSERT_EQUAL(pers->srq_next(raw), 0x1234);
	CU_ASSERT_EQUAL(pers->decode_srqe(raw, 32, 9, &wr, sge, 1), 0);
	CU_ASSERT_EQUAL(wr.tag, 9);
	CU_ASSERT_EQUAL(wr.num_sge, 1);
	CU_ASSERT_EQUAL(wr.length, 64);
	CU_ASSERT_EQUAL(pers->decode_srqe(raw, 8, 9, &wr, sge, 1), HCASIM_VENDOR_ERR_BAD_RQE);
}

static const struct hca_cpl recv_cpl = {.qpn = QPN,
					.op = HCASIM_CQE_OP_RECV,
					.wqe_index = 0x1122,
					.byte_count = 0x33445566,
					.imm = 0x01020304,
					.inv_rkey = 0x0a0b0c0d,
					.src_qpn = 0x778899,
					.srqn = 0x9,
					.user_index = 0x5,
					.vlan = 0xffff,
					.pkey_index = 3,
					.sl = 0xa,
					.grh = true,
					.headers = {.ip = 4, .l3_ok = true, .l4_ok = true},
					.timestamp = 5000999};

static struct hcasim_mlx5_cqe encoded(const struct hca_cpl *cpl, unsigned int phase)
{
	struct hcasim_mlx5_cqe cqe;

	pers->encode_cqe(cpl, phase, &cqe, sizeof(cqe));
	return cqe;
}

/* By hand, as the bytes lie in memory. */
static void test_cqe_bytes(void)
{
	static const uint8_t expected[64] = {
		[24] = 0x1a, 0x77, 0x88, 0x99, 0x07,        0x08, 0,    0,    [35] = 0x05,
		0,           0,    0,    0x03, [44] = 0x33, 0x44, 0x55, 0x66, [54] = 0x13,
		0x88,        0,    0xab, 0xcd, 0xef,        0x11, 0x22, 0,    0x20,
	};
	struct hcasim_mlx5_cqe cqe = encoded(&recv_cpl, 1);

	CU_ASSERT_EQUAL(memcmp(&cqe, expected, sizeof(cqe)), 0);
	cqe = encoded(&recv_cpl, 0); /* the second turn of the ring */
	CU_ASSERT_EQUAL(cqe.op_own, 0x21);
}

static void test_cqe_opcodes(void)
{
	struct hca_cpl cpl = recv_cpl;

	cpl.with_imm = true;
	CU_ASSERT_EQUAL(encoded(&cpl, 1).op_own >> 4, HCASIM_MLX5_CQE_OPCODE_RESP_SEND_IMM);
	CU_ASSERT_EQUAL((uint32_t)encoded(&cpl, 1).imm_inval_pkey, 0x01020304);
	cpl.op = HCASIM_CQE_OP_RECV_WRITE_IMM;
	CU_ASSERT_EQUAL(encoded(&cpl, 1).op_own >> 4, HCASIM_MLX5_CQE_OPCODE_RESP_WR_IMM);
	cpl.op = HCASIM_CQE_OP_RECV;
	cpl.with_imm = false;
	cpl.with_inv = true;
	CU_ASSERT_EQUAL(encoded(&cpl, 1).op_own >> 4, HCASIM_MLX5_CQE_OPCODE_RESP_SEND_INV);
	CU_ASSERT_EQUAL(be32toh(encoded(&cpl, 1).imm_inval_pkey), 0x0a0b0c0d);
	cpl = recv_cpl;
	CU_ASSERT_EQUAL(be32toh(encoded(&cpl, 1).sop_drop_qpn) & 0xffffff, QPN);
	cpl.tagged = true;
	CU_ASSERT_EQUAL(be32toh(encoded(&cpl, 1).sop_drop_qpn) & 0xffffff, 0);
	cpl.flow_tag = 0xabcdef;
	CU_ASSERT_EQUAL(be32toh(encoded(&cpl, 1).sop_drop_qpn) & 0xffffff, 0xabcdef);
	cpl = (struct hca_cpl){.qpn = QPN, .op = HCASIM_CQE_OP_RESIZE, .vlan = 0xffff};
	CU_ASSERT_EQUAL(encoded(&cpl, 1).op_own >> 4, HCASIM_MLX5_CQE_OPCODE_RESIZE_CQ);
	cpl = (struct hca_cpl){.qpn = QPN, .op = HCASIM_CQE_OP_REQ, .vlan = 0x64};
	cpl.wqe_op = HCASIM_WQE_OP_LOCAL_INV;
	CU_ASSERT_EQUAL(be32toh(encoded(&cpl, 1).sop_drop_qpn), HCASIM_MLX5_OPCODE_UMR << 24 | QPN);
	CU_ASSERT_EQUAL(be16toh(encoded(&cpl, 1).vlan_info), 0x64);
	CU_ASSERT_EQUAL(encoded(&cpl, 1).l4_hdr_type_etc & HCASIM_MLX5_CQE_CV_MASK, 1);
	cpl.wqe_op = HCASIM_WQE_OP_ATOMIC_FA;
	CU_ASSERT_EQUAL(be32toh(encoded(&cpl, 1).sop_drop_qpn), HCASIM_MLX5_OPCODE_ATOMIC_FA << 24 | QPN);
}

static void test_cqe_128(void)
{
	struct hcasim_mlx5_cqe half = encoded(&recv_cpl, 1);
	uint8_t raw[128], zero[64] = {0};

	memset(raw, 0x55, sizeof(raw));
	pers->encode_cqe(&recv_cpl, 1, raw, sizeof(raw));
	CU_ASSERT_EQUAL(memcmp(raw, zero, 64), 0);
	CU_ASSERT_EQUAL(memcmp(raw + 64, &half, 64), 0);
}

/* Payload of up to 32 bytes is in the CQE's own half; the rest of that, with the user index, is as without. */
static void check_short_payload(const uint8_t *raw, const uint8_t *payload,
				const struct hcasim_mlx5_cqe *plain)
{
	CU_ASSERT_EQUAL(memcmp(raw, payload, 32), 0);
	CU_ASSERT_EQUAL(memcmp(raw + 32, (const uint8_t *)plain + 32, 31), 0);
	CU_ASSERT_EQUAL(raw[63], plain->op_own | 4); /* MLX5_INLINE_SCATTER_32 */
}

static void test_cqe_payload(void)
{
	struct hcasim_mlx5_cqe plain = encoded(&recv_cpl, 1);
	struct hca_cpl cpl = recv_cpl;
	uint8_t raw[128], payload[64];
	uint64_t word = 0x1122334455667788;

	memset(payload, 0xee, sizeof(payload));
	cpl.payload = payload;
	cpl.payload_len = 32;
	pers->encode_cqe(&cpl, 1, raw, 64);
	check_short_payload(raw, payload, &plain);
	pers->encode_cqe(&cpl, 1, raw, 128);
	check_short_payload(raw + 64, payload, &plain);
	CU_ASSERT_EQUAL(raw[0], 0);
	cpl.op = HCASIM_CQE_OP_REQ; /* the result of an atomic: big-endian */
	cpl.wqe_op = HCASIM_WQE_OP_ATOMIC_FA;
	cpl.payload = (uint8_t *)&word;
	cpl.payload_len = sizeof(word);
	pers->encode_cqe(&cpl, 1, raw, 64);
	CU_ASSERT_TRUE(raw[0] == 0x11 && raw[7] == 0x88);
	cpl = recv_cpl;
	cpl.payload = payload;
	cpl.payload_len = 33;
	pers->encode_cqe(&cpl, 1, raw, 128);
	CU_ASSERT_EQUAL(memcmp(raw, payload, 33), 0);
	CU_ASSERT_EQUAL(memcmp(raw + 64, &plain, 63), 0);
	CU_ASSERT_EQUAL(raw[127], plain.op_own | 8); /* MLX5_INLINE_SCATTER_64 */
	cpl.status = HCASIM_CQE_STATUS_WR_FLUSH_ERR;
	pers->encode_cqe(&cpl, 1, raw, 64);
	CU_ASSERT_EQUAL(raw[0], 0);
	CU_ASSERT_EQUAL(raw[63] & 0xc, 0);
}

static void test_cqe_error(void)
{
	struct hca_cpl cpl = {.qpn = QPN,
			      .op = HCASIM_CQE_OP_REQ,
			      .wqe_op = HCASIM_WQE_OP_RDMA_WRITE,
			      .wqe_index = 0x1122,
			      .status = HCASIM_CQE_STATUS_REM_ACCESS_ERR,
			      .vendor_err = HCASIM_VENDOR_ERR_BAD_RKEY,
			      .vlan = 0xffff};
	struct hcasim_mlx5_cqe_err cqe;

	pers->encode_cqe(&cpl, 0, &cqe, sizeof(cqe));
	CU_ASSERT_EQUAL(cqe.syndrome, 0x13);
	CU_ASSERT_EQUAL(cqe.vendor_err_synd, HCASIM_VENDOR_ERR_BAD_RKEY);
	CU_ASSERT_EQUAL(cqe.op_own, 13 << 4 | 1);
	CU_ASSERT_EQUAL(be16toh(cqe.wqe_counter), 0x1122);
	CU_ASSERT_EQUAL(be32toh(cqe.s_wqe_opcode_qpn), 0x08000000 | QPN);
	cpl.op = HCASIM_CQE_OP_RECV;
	cpl.status = HCASIM_CQE_STATUS_WR_FLUSH_ERR;
	pers->encode_cqe(&cpl, 1, &cqe, sizeof(cqe));
	CU_ASSERT_EQUAL(cqe.syndrome, 0x05);
	CU_ASSERT_EQUAL(cqe.op_own, 14 << 4);
}

static struct hca_doorbell rung(uint32_t offset, const void *data, uint32_t size)
{
	struct hca_doorbell db;

	pers->decode_doorbell(offset, data, size, &db);
	return db;
}

/* What libmlx5 stores: the first 8 bytes of a control segment, or the WQE. */
static void test_doorbell(void)
{
	uint8_t wqe[64] = {0};
	struct hcasim_mlx5_wqe_ctrl ctrl = {.opmod_idx_opcode = htobe32(0x00fffe0a),
					    .qpn_ds = htobe32(QPN << 8 | 5)};
	struct hca_doorbell db;

	memcpy(wqe, &ctrl, sizeof(ctrl));
	for (uint32_t at = 0x800; at < 0x1000; at += 0x100) {
		db = rung(at, wqe, 8);
		CU_ASSERT_EQUAL(db.kind, HCA_DB_SQ);
		CU_ASSERT_EQUAL(db.number, QPN);
		CU_ASSERT_EQUAL(db.value, 0); /* 0xfffe, and two blocks */
		db = rung(at, wqe, 64);
		CU_ASSERT_EQUAL(db.kind, HCA_DB_BF);
		CU_ASSERT_EQUAL(db.value, 0xfffe);
		CU_ASSERT_EQUAL(rung(at + 8, wqe, 8).kind, HCA_DB_BF);
		CU_ASSERT_EQUAL(rung(at + 0xf8, wqe, 16).kind, HCA_DB_NONE); /* in two buffers */
	}
	CU_ASSERT_EQUAL(rung(0x7f8, wqe, 8).kind, HCA_DB_NONE);
	CU_ASSERT_EQUAL(rung(0x800, wqe, 0).kind, HCA_DB_NONE);
}

static void test_arm(void)
{
	const __be64 solicited = htobe64(0x31abcdef00123456), any = htobe64(0x2000000700000009);
	struct hca_doorbell db = rung(0x20, &solicited, 8);

	CU_ASSERT_EQUAL(db.kind, HCA_DB_CQ_ARM);
	CU_ASSERT_EQUAL(db.number, 0x123456);
	CU_ASSERT_EQUAL(db.value, 0xabcdef);
	CU_ASSERT_EQUAL(db.arm_sn, 3);
	CU_ASSERT_TRUE(db.solicited);
	db = rung(0x20, &any, 8);
	CU_ASSERT_EQUAL(db.value, 7);
	CU_ASSERT_EQUAL(db.arm_sn, 2);
	CU_ASSERT_FALSE(db.solicited);
	CU_ASSERT_EQUAL(rung(0x20, &any, 4).kind, HCA_DB_NONE);
	CU_ASSERT_EQUAL(rung(0x28, &any, 8).kind, HCA_DB_NONE);
}

static void test_records(void)
{
	const __be32 qp[2] = {htobe32(0x1122), htobe32(0x3344)},
		     cq[2] = {htobe32(0xabcdef), htobe32(0x31000005)};
	struct hca_cq_record rec;

	CU_ASSERT_EQUAL(pers->rq_record_pi(qp), 0x1122);
	CU_ASSERT_EQUAL(pers->sq_record_pi(qp), 0x3344);
	CU_ASSERT_EQUAL(pers->srq_record_pi(qp), 0x1122);
	pers->decode_cq_record(cq, &rec);
	CU_ASSERT_EQUAL(rec.ci, 0xabcdef);
	CU_ASSERT_EQUAL(rec.arm_sn, 3);
	CU_ASSERT_TRUE(rec.solicited);
	CU_ASSERT_EQUAL(pers->resized_cq_index(17, 64), 18);
}

static void test_registers(void)
{
	static const uint8_t timer[8] = {0, 0, 0, 1, 0, 0, 0, 2}, fw[8] = {0, 31, 0, 20, 0, 5, 0x03, 0xf6};
	const struct hca_config cfg = {.num_ports = 1};
	uint8_t raw[8];

	pers->read_register(&cfg, ((1ull << 32) + 2) * 1000 + 999, 0, 0x1000, raw);
	CU_ASSERT_EQUAL(memcmp(raw, timer, 8), 0);
	pers->read_register(&cfg, 0, 0, 0, raw);
	CU_ASSERT_EQUAL(memcmp(raw, fw, 8), 0);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"receive WQE", test_rqe},
		{"receive WQE with a length of 0", test_rqe_of_length_0},
		{"WQE of a shared receive queue", test_srqe},
		{"bytes of a CQE", test_cqe_bytes},
		{"opcodes of CQEs", test_cqe_opcodes},
		{"CQE of 128 bytes", test_cqe_128},
		{"CQE with payload", test_cqe_payload},
		{"CQE of an error", test_cqe_error},
		{"doorbell", test_doorbell},
		{"arming", test_arm},
		{"doorbell records", test_records},
		{"registers", test_registers},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {{.pName = "mlx5 formats", .pTests = (CU_TestInfo *)tests},
				 CU_SUITE_INFO_NULL};
	unsigned int failures;

	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
		return EXIT_FAILURE;
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
