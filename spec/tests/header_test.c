// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the generated headers do at run time: field macros, names, opcode rows, rules. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include "hcasim-abi.h"
#include "hcasim_hw.h"
#include "hcasim_verbs.h"
#include "hcasim_wire.h"
#include "hcasim_wr.h"

static void test_fields(void)
{
	uint64_t db = HCASIM_FIELD_PREP(HCASIM_DB_CQ_CQN_MASK, 0x123456) |
		      HCASIM_FIELD_PREP(HCASIM_DB_CQ_ARM_SN_MASK, 2) |
		      HCASIM_FIELD_PREP(HCASIM_DB_CQ_SOLICITED_MASK, 1) |
		      HCASIM_FIELD_PREP(HCASIM_DB_CQ_CI_MASK, 0xfedcba98);

	CU_ASSERT_EQUAL(db, 0xfedcba9806123456ULL);
	CU_ASSERT_EQUAL(HCASIM_FIELD_GET(HCASIM_DB_CQ_CQN_MASK, db), 0x123456);
	CU_ASSERT_EQUAL(HCASIM_FIELD_GET(HCASIM_DB_CQ_ARM_SN_MASK, db), 2);
	CU_ASSERT_EQUAL(HCASIM_FIELD_GET(HCASIM_DB_CQ_SOLICITED_MASK, db), 1);
	CU_ASSERT_EQUAL(HCASIM_FIELD_GET(HCASIM_DB_CQ_CI_MASK, db), 0xfedcba98);
	/* A value that is too wide does not reach its neighbours. */
	CU_ASSERT_EQUAL(HCASIM_FIELD_PREP(HCASIM_WQE_CTRL_FENCE_MASK, 3), HCASIM_WQE_CTRL_FENCE_MASK);
	/* A boolean and the field at the top of 32 bits. */
	CU_ASSERT_EQUAL(HCASIM_FIELD_PREP(HCASIM_CQE_OPCODE_MASK, (uint8_t)0xff), 0xff000000u);
}

static void test_names(void)
{
	CU_ASSERT_STRING_EQUAL(hcasim_wqe_op_name(HCASIM_WQE_OP_RDMA_READ), "RDMA_READ");
	CU_ASSERT_STRING_EQUAL(hcasim_cqe_status_name(HCASIM_CQE_STATUS_RETRY_EXC_ERR), "RETRY_EXC_ERR");
	CU_ASSERT_STRING_EQUAL(hcasim_vendor_err_name(0), "NONE");
	CU_ASSERT_STRING_EQUAL(hcasim_vendor_err_name(255), "?");
	CU_ASSERT_STRING_EQUAL(hcasim_qps_name(HCASIM_QPS_RTS), "RTS");
	CU_ASSERT_STRING_EQUAL(hcasim_bth_op_name(0x64), "UD_SEND_ONLY");
	CU_ASSERT_STRING_EQUAL(hcasim_bth_op_name(0xff), "?");
}

static void check_row(const struct hcasim_bth_op_info *info, uint8_t op)
{
	unsigned int i, flags = info->flags;

	CU_ASSERT_EQUAL(info->op, op);
	CU_ASSERT_EQUAL(info->transport, op >> HCASIM_BTH_TRANSPORT_SHIFT);
	CU_ASSERT_EQUAL(info->hdr[0], HCASIM_HDR_BTH);
	for (i = 1; i < info->num_hdrs; i++)
		CU_ASSERT(info->hdr_offset[info->hdr[i]] > info->hdr_offset[info->hdr[i - 1]]);
	CU_ASSERT(info->hdr_len > info->hdr_offset[info->hdr[info->num_hdrs - 1]]);
	CU_ASSERT_EQUAL(!!(flags & HCASIM_BTH_F_IMM), !!info->hdr_offset[HCASIM_HDR_IMMDT]);
	CU_ASSERT_EQUAL(!!(flags & HCASIM_BTH_F_INV), !!info->hdr_offset[HCASIM_HDR_IETH]);
	CU_ASSERT_EQUAL(info->transport == HCASIM_TRANSPORT_UD, !!info->hdr_offset[HCASIM_HDR_DETH]);
}

static void test_opcodes(void)
{
	unsigned int op, defined = 0;

	for (op = 0; op < 256; op++) {
		const struct hcasim_bth_op_info *info = hcasim_bth_op_info(op);

		if (!info)
			continue;
		defined++;
		check_row(info, op);
	}
	/* RC and XRC have 25 codes, UC 14, UD 2, and there is the CNP. */
	CU_ASSERT_EQUAL(defined, 25 + 25 + 14 + 2 + 1);
	CU_ASSERT_PTR_NULL(hcasim_bth_op_info(0x15));
	CU_ASSERT_PTR_NULL(hcasim_bth_op_info(0x2c));
	CU_ASSERT_PTR_NULL(hcasim_bth_op_info(0x40));
}

static void test_messages(void)
{
	for (unsigned int i = 0; i < HCASIM_NUM_MSG; i++) {
		const struct hcasim_msg_codes *msg = &hcasim_msg_codes[i];

		CU_ASSERT(hcasim_bth_op_info(msg->only)->flags & HCASIM_BTH_F_ONLY);
		if (msg->first == msg->only)
			continue;
		CU_ASSERT(hcasim_bth_op_info(msg->first)->flags & HCASIM_BTH_F_START);
		CU_ASSERT(hcasim_bth_op_info(msg->middle)->flags & HCASIM_BTH_F_MIDDLE);
		CU_ASSERT(hcasim_bth_op_info(msg->last)->flags & HCASIM_BTH_F_END);
	}
	CU_ASSERT_EQUAL(hcasim_msg_codes[HCASIM_MSG_SEND_WITH_IMM].last,
			HCASIM_BTH_CODE_SEND_LAST_WITH_IMMEDIATE);
	CU_ASSERT_EQUAL(hcasim_rnr_timer_ns(0), 655360000);
	CU_ASSERT_EQUAL(hcasim_rnr_timer_ns(1), 10000);
	CU_ASSERT_EQUAL(hcasim_rnr_timer_ns(31), 491520000);
}

static void test_rules(void)
{
	const struct hcasim_wr_rule *send = &hcasim_wr_rules[HCASIM_WR_SEND];
	const struct hcasim_wr_rule *read = &hcasim_wr_rules[HCASIM_WR_RDMA_READ];
	const struct hcasim_wr_rule *flush = &hcasim_wr_rules[HCASIM_WR_FLUSH];

	CU_ASSERT_STRING_EQUAL(send->name, "SEND");
	CU_ASSERT(send->qp_types & HCASIM_QPT_BIT(HCASIM_QPT_RAW_PACKET));
	CU_ASSERT_EQUAL(send->ud_addr_qp_types, HCASIM_QPT_BIT(HCASIM_QPT_UD));
	CU_ASSERT_EQUAL(send->srqn_qp_types, HCASIM_QPT_BIT(HCASIM_QPT_XRC_SEND));
	CU_ASSERT_EQUAL(send->send_ops_flag, 1 << 2);
	CU_ASSERT_EQUAL(read->qp_types, HCASIM_QPT_BIT(HCASIM_QPT_RC) | HCASIM_QPT_BIT(HCASIM_QPT_XRC_SEND));
	CU_ASSERT_FALSE(read->inline_ok);
	CU_ASSERT_EQUAL(read->recv_wc_opcode, -1);
	CU_ASSERT_EQUAL(flush->data, HCASIM_WR_DATA_NONE);
	CU_ASSERT_EQUAL(flush->wr_opcode, -1);
	CU_ASSERT_PTR_EQUAL(hcasim_wr_rule_of_opcode(HCASIM_IBV_WR_RDMA_READ), read);
	CU_ASSERT_PTR_NULL(hcasim_wr_rule_of_opcode(-1));
	CU_ASSERT_PTR_NULL(hcasim_wr_rule_of_opcode(INT_MAX));
	CU_ASSERT_PTR_EQUAL(hcasim_wr_rule_of_wqe_op(HCASIM_WQE_OP_FLUSH), flush);
	CU_ASSERT_PTR_NULL(hcasim_wr_rule_of_wqe_op(HCASIM_WQE_OP_NOP));
	CU_ASSERT_PTR_NULL(hcasim_wqe_format(UINT8_MAX));
	CU_ASSERT(hcasim_wqe_has_seg(HCASIM_WQE_OP_ATOMIC_CS, HCASIM_WQE_SEG_ATOMIC));
	CU_ASSERT_FALSE(hcasim_wqe_has_seg(HCASIM_WQE_OP_RDMA_READ, HCASIM_WQE_SEG_ATOMIC));
	CU_ASSERT_FALSE(hcasim_wqe_has_seg(HCASIM_WQE_OP_RDMA_READ, HCASIM_WQE_SEG_NONE));
	CU_ASSERT_FALSE(hcasim_wqe_has_seg(UINT8_MAX, HCASIM_WQE_SEG_REMOTE));
}

int main(void)
{
	unsigned int failures;
	CU_pSuite suite;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return EXIT_FAILURE;
	suite = CU_add_suite("generated headers", NULL, NULL);
	if (!suite || !CU_add_test(suite, "fields", test_fields) ||
	    !CU_add_test(suite, "names", test_names) || !CU_add_test(suite, "opcodes", test_opcodes) ||
	    !CU_add_test(suite, "messages", test_messages) || !CU_add_test(suite, "rules", test_rules))
		return EXIT_FAILURE;
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
