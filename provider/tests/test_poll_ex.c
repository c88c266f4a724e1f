// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The extended poll interface. */
#include <string.h>
#include <time.h>

#include "fixture.h"

static void fill(struct fixture *fixture, int n)
{
	int i;

	ibv_wr_start(fixture_qpx(fixture));
	for (i = 0; i < n; i++) {
		fixture_qpx(fixture)->wr_id = 500 + i;
		ibv_wr_send(fixture_qpx(fixture));
	}
	CU_ASSERT_EQUAL_FATAL(ibv_wr_complete(fixture_qpx(fixture)), 0);
	for (i = 0; i < n; i++) {
		struct hcasim_cqe cqe = fixture_send_cqe(i, 1, HCASIM_WQE_OP_SEND);

		cqe.status = i == 1 ? HCASIM_CQE_STATUS_RETRY_EXC_ERR : HCASIM_CQE_STATUS_OK;
		cqe.timestamp = htole64(1000ull * (1000000 + i));
		fixture_cqe(fixture, &cqe);
	}
}

static void test_walk(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq_ex *cqx;
	struct fixture fixture;
	int i;

	fixture_open(&fixture, &fixture_rc);
	cqx = &fixture.cq.vcq.cq_ex;
	CU_ASSERT_EQUAL(ibv_start_poll(cqx, &attr), ENOENT);
	/* Nothing is held after ENOENT: a second try must not block. */
	CU_ASSERT_EQUAL(ibv_start_poll(cqx, &attr), ENOENT);
	attr.comp_mask = 1;
	CU_ASSERT_EQUAL(ibv_start_poll(cqx, &attr), EOPNOTSUPP);
	attr.comp_mask = 0;
	fill(&fixture, 3);
	CU_ASSERT_EQUAL_FATAL(ibv_start_poll(cqx, &attr), 0);
	for (i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(cqx->wr_id, 500 + i);
		CU_ASSERT_EQUAL(cqx->status, i == 1 ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
		CU_ASSERT_EQUAL(ibv_wc_read_opcode(cqx), IBV_WC_SEND);
		CU_ASSERT_EQUAL(ibv_wc_read_qp_num(cqx), FIXTURE_QPN);
		CU_ASSERT_EQUAL(ibv_wc_read_completion_ts(cqx), 1000ull * (1000000 + i));
		CU_ASSERT_EQUAL(ibv_wc_read_cvlan(cqx), 0xffff);
		/* The entries stay the reader's until the poll ends. */
		CU_ASSERT_EQUAL(fixture.cq_record.ci, 0);
		CU_ASSERT_EQUAL(ibv_next_poll(cqx), i < 2 ? 0 : ENOENT);
	}
	ibv_end_poll(cqx);
	CU_ASSERT_EQUAL(le32toh(fixture.cq_record.ci), 3);
	CU_ASSERT_EQUAL(ibv_start_poll(cqx, &attr), ENOENT);
	fixture_close(&fixture);
}

static void test_fields(void)
{
	struct hcasim_cqe cqe = fixture_recv_cqe(0, 77);
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc_tm_info info;
	struct ibv_recv_wr wr = {.wr_id = 9}, *bad;
	struct ibv_cq_ex *cqx;
	struct fixture fixture;

	fixture_open(&fixture, &fixture_rc);
	cqx = &fixture.cq.vcq.cq_ex;
	CU_ASSERT_EQUAL(hcasim_post_recv(fixture_qp(&fixture), &wr, &bad), 0);
	cqe.src_qpn_flags = htole32(0x1234 | HCASIM_CQE_WITH_IMM_MASK);
	cqe.imm = htobe32(42);
	cqe.tm_priv = htole32(0x12345);
	cqe.tm_tag = htole64(0x123456789abcdef0);
	cqe.sl = 3;
	cqe.path_bits = 2;
	cqe.vendor_err = 9;
	fixture_cqe(&fixture, &cqe);
	CU_ASSERT_EQUAL_FATAL(ibv_start_poll(cqx, &attr), 0);
	CU_ASSERT_EQUAL(cqx->wr_id, 9);
	CU_ASSERT_EQUAL(ibv_wc_read_opcode(cqx), IBV_WC_RECV);
	CU_ASSERT_EQUAL(ibv_wc_read_byte_len(cqx), 77);
	CU_ASSERT_EQUAL(ibv_wc_read_imm_data(cqx), htobe32(42));
	CU_ASSERT_EQUAL(ibv_wc_read_src_qp(cqx), 0x1234);
	CU_ASSERT_EQUAL(ibv_wc_read_wc_flags(cqx), IBV_WC_WITH_IMM);
	CU_ASSERT_EQUAL(ibv_wc_read_slid(cqx), 0);
	ibv_wc_read_tm_info(cqx, &info);
	CU_ASSERT_EQUAL(info.priv, 0x12345);
	CU_ASSERT_EQUAL(info.tag, 0x123456789abcdef0);
	CU_ASSERT_EQUAL(ibv_wc_read_sl(cqx), 3);
	CU_ASSERT_EQUAL(ibv_wc_read_dlid_path_bits(cqx), 2);
	CU_ASSERT_EQUAL(ibv_wc_read_vendor_err(cqx), 9);
	ibv_end_poll(cqx);
	fixture_close(&fixture);
}

/* The device clock reads 5 ms; the first completion is 4 ms old, the second 1 ns younger. */
static void test_wallclock(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct timespec before, after;
	struct ibv_cq_ex *cqx;
	uint64_t first, lo, hi;
	struct fixture fixture;
	__le64 clock = htole64(5000000000ull);

	fixture_open(&fixture, &fixture_rc);
	cqx = &fixture.cq.vcq.cq_ex;
	fill(&fixture, 2);
	memcpy(fixture.ctx->uar.page + HCASIM_UAR_CLOCK, &clock, sizeof(clock));
	clock_gettime(CLOCK_REALTIME, &before);
	CU_ASSERT_EQUAL_FATAL(ibv_start_poll(cqx, &attr), 0);
	clock_gettime(CLOCK_REALTIME, &after);
	first = ibv_wc_read_completion_wallclock_ns(cqx);
	lo = before.tv_sec * 1000000000ull + before.tv_nsec - 4000000;
	hi = after.tv_sec * 1000000000ull + after.tv_nsec - 4000000;
	CU_ASSERT_TRUE(first >= lo && first <= hi);
	CU_ASSERT_EQUAL(ibv_next_poll(cqx), 0);
	CU_ASSERT_EQUAL(ibv_wc_read_completion_wallclock_ns(cqx), first + 1);
	ibv_end_poll(cqx);
	fixture_close(&fixture);
}

static void test_rt_values(void)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	__le64 clock = htole64(123456789012345ull);
	struct fixture fixture;

	fixture_open(&fixture, &fixture_rc);
	memcpy(fixture.ctx->uar.page + HCASIM_UAR_CLOCK, &clock, sizeof(clock));
	CU_ASSERT_EQUAL(hcasim_query_rt_values(&fixture.ctx->ibv_ctx.context, &values), 0);
	CU_ASSERT_EQUAL(values.raw_clock.tv_sec, 0);
	CU_ASSERT_EQUAL(values.raw_clock.tv_nsec, 123456789012345ll);
	CU_ASSERT_EQUAL(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	values.comp_mask = 1 << 5;
	CU_ASSERT_EQUAL(hcasim_query_rt_values(&fixture.ctx->ibv_ctx.context, &values), EOPNOTSUPP);
	fixture_close(&fixture);
}

int main(void)
{
	static const struct fixture_test tests[] = {
		{"walk", test_walk},
		{"fields", test_fields},
		{"wall clock", test_wallclock},
		{"raw clock", test_rt_values},
		{},
	};

	return fixture_main("extended poll", tests);
}
