// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rings: their end, the 16-bit index, how full they get. */
#include <string.h>

#include "fixture.h"

static int post_inline(struct fixture *fixture, uint64_t wr_id, const void *data, uint32_t len)
{
	struct ibv_qp_ex *qpx = fixture_qpx(fixture);

	ibv_wr_start(qpx);
	qpx->wr_id = wr_id;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qpx, 1, 2);
	ibv_wr_set_inline_data(qpx, (void *)data, len);
	return ibv_wr_complete(qpx);
}

static void poll_send(struct fixture *fixture, uint32_t first, uint32_t num_bb, uint64_t wr_id)
{
	struct hcasim_cqe cqe = fixture_send_cqe(first, num_bb, HCASIM_WQE_OP_RDMA_WRITE);
	struct ibv_wc wc;

	fixture_cqe(fixture, &cqe);
	CU_ASSERT_EQUAL(hcasim_poll_cq(&fixture->cq.vcq.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, wr_id);
}

/* Three blocks each in a ring of eight, past the 16-bit index: every way over the end of the ring. */
static void test_wrap(void)
{
	struct fixture_config cfg = fixture_rc;
	uint8_t data[128], wqe[192];
	struct fixture fixture;
	uint32_t i, first;

	cfg.num_bb = 8;
	cfg.cqe = 4;
	fixture_open(&fixture, &cfg);
	for (i = 0; i < sizeof(data); i++)
		data[i] = i + 1;
	for (i = 0; i < 3 * 65536 / 3 + 64; i++) {
		const struct hcasim_wqe_ctrl *ctrl = (const void *)wqe;

		first = atomic_load(&fixture.qp.sq.pi_bb);
		data[127] = i;
		if (post_inline(&fixture, i, data, 128)) {
			CU_FAIL("post");
			break;
		}
		fixture_wqe(&fixture, first, 3, wqe);
		if (le16toh(ctrl->index) != (uint16_t)(3 * i) || ctrl->size != 11 ||
		    memcmp(wqe + 36, data, 128)) {
			CU_FAIL("WQE bytes");
			break;
		}
		if (le32toh(fixture.sq_record.sq_pi) != 3 * i + 3) {
			CU_FAIL("record");
			break;
		}
		/* A WQE that runs over the end of the ring is not pushed; index and doorbell are 16 bits. */
		if (first % 8 > 5 &&
		    fixture_db_sq(&fixture) != ((uint64_t)((3 * i + 3) & 0xffff) << 32 | FIXTURE_QPN)) {
			CU_FAIL("doorbell");
			break;
		}
		poll_send(&fixture, first, 3, i);
	}
	fixture_close(&fixture);
}

/* The ring has room, but max_send_wr is what was promised. */
static void test_full_by_wrs(void)
{
	struct ibv_send_wr wr[5] = {}, *bad;
	struct fixture_config cfg = fixture_rc;
	struct fixture fixture;
	int i;

	cfg.max_wr = 3;
	fixture_open(&fixture, &cfg);
	for (i = 0; i < 5; i++)
		wr[i] = (struct ibv_send_wr){
			.wr_id = i, .opcode = IBV_WR_SEND, .next = i < 4 ? &wr[i + 1] : NULL};
	CU_ASSERT_EQUAL(hcasim_post_send(fixture_qp(&fixture), wr, &bad), ENOMEM);
	CU_ASSERT_PTR_EQUAL(bad, &wr[3]);
	CU_ASSERT_EQUAL(le32toh(fixture.sq_record.sq_pi), 3);
	poll_send(&fixture, 1, 1, 1); /* the completion of the second also gives back the first */
	CU_ASSERT_EQUAL(hcasim_post_send(fixture_qp(&fixture), &wr[3], &bad), 0);
	CU_ASSERT_EQUAL(hcasim_post_send(fixture_qp(&fixture), &wr[4], &bad), ENOMEM);
	CU_ASSERT_PTR_EQUAL(bad, &wr[4]);
	fixture_close(&fixture);
}

/* A region that overflows in its middle posts nothing. */
static void test_region_overflow(void)
{
	struct fixture_config cfg = fixture_rc;
	struct fixture fixture;
	int i;

	cfg.num_bb = 4;
	cfg.max_wr = 4;
	fixture_open(&fixture, &cfg);
	ibv_wr_start(fixture_qpx(&fixture));
	for (i = 0; i < 5; i++)
		ibv_wr_send(fixture_qpx(&fixture));
	CU_ASSERT_EQUAL(ibv_wr_complete(fixture_qpx(&fixture)), ENOMEM);
	CU_ASSERT_EQUAL(fixture.sq_record.sq_pi, 0);
	ibv_wr_start(fixture_qpx(&fixture));
	for (i = 0; i < 4; i++)
		ibv_wr_send(fixture_qpx(&fixture));
	CU_ASSERT_EQUAL(ibv_wr_complete(fixture_qpx(&fixture)), 0);
	CU_ASSERT_EQUAL(le32toh(fixture.sq_record.sq_pi), 4);
	fixture_close(&fixture);
}

/* The longest WQE there is: 30 SGEs behind remote and atomic, and 768 bytes inline. */
static void test_longest(void)
{
	struct fixture_config cfg = fixture_rc;
	struct ibv_sge sge[HCASIM_MAX_SGE] = {};
	static uint8_t data[HCASIM_MAX_INLINE];
	struct hcasim_wqe_ctrl ctrl[64];
	struct fixture fixture;

	cfg.max_send_sge = HCASIM_MAX_SGE;
	cfg.max_inline = HCASIM_MAX_INLINE;
	fixture_open(&fixture, &cfg);
	sge[29].lkey = 29;
	ibv_wr_start(fixture_qpx(&fixture));
	ibv_wr_atomic_fetch_add(fixture_qpx(&fixture), 1, 2, 3);
	ibv_wr_set_sge_list(fixture_qpx(&fixture), HCASIM_MAX_SGE, sge);
	CU_ASSERT_EQUAL(ibv_wr_complete(fixture_qpx(&fixture)), 0);
	fixture_wqe(&fixture, 0, 16, ctrl);
	CU_ASSERT_EQUAL(ctrl[0].size, 33);
	CU_ASSERT_EQUAL(le32toh(((struct hcasim_seg_data *)ctrl)[32].lkey), 29);
	CU_ASSERT_EQUAL(post_inline(&fixture, 0, data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(le32toh(fixture.sq_record.sq_pi), 9 + 13);
	fixture_close(&fixture);
}

static void test_recv_ring(void)
{
	struct ibv_sge sge[4] = {};
	struct ibv_recv_wr wr = {.sg_list = sge, .num_sge = 1}, *bad;
	struct fixture_config cfg = fixture_rc;
	struct hcasim_cqe cqe;
	struct ibv_wc wc;
	struct fixture fixture;
	uint32_t i;

	cfg.rq_count = 4;
	cfg.cqe = 8;
	fixture_open(&fixture, &cfg);
	wr.num_sge = 4;
	CU_ASSERT_EQUAL(hcasim_post_recv(fixture_qp(&fixture), &wr, &bad), EINVAL);
	wr.num_sge = -1;
	CU_ASSERT_EQUAL(hcasim_post_recv(fixture_qp(&fixture), &wr, &bad), EINVAL);
	CU_ASSERT_EQUAL(fixture.sq_record.rq_pi, 0);
	wr.num_sge = 3;
	for (i = 0; i < 4; i++) {
		wr.wr_id = i;
		CU_ASSERT_EQUAL(hcasim_post_recv(fixture_qp(&fixture), &wr, &bad), 0);
	}
	CU_ASSERT_EQUAL(hcasim_post_recv(fixture_qp(&fixture), &wr, &bad), ENOMEM);
	CU_ASSERT_PTR_EQUAL(bad, &wr);
	for (i = 4; i < 70000; i++) {
		cqe = fixture_recv_cqe(i - 4, i);
		fixture_cqe(&fixture, &cqe);
		if (hcasim_poll_cq(&fixture.cq.vcq.cq, 8, &wc) != 1 || wc.wr_id != i - 4 ||
		    wc.byte_len != i) {
			CU_FAIL("receive completion");
			break;
		}
		wr.wr_id = i;
		if (hcasim_post_recv(fixture_qp(&fixture), &wr, &bad)) {
			CU_FAIL("post_recv");
			break;
		}
	}
	CU_ASSERT_EQUAL(le32toh(fixture.sq_record.rq_pi), 70000);
	CU_ASSERT_EQUAL(le16toh(((struct hcasim_rqe *)(fixture.qp.rq.ring + 3 * 64))->index),
			(uint16_t)69999);
	fixture_close(&fixture);
}

int main(void)
{
	static const struct fixture_test tests[] = {
		{"end of the ring and of the index", test_wrap},
		{"full by work requests", test_full_by_wrs},
		{"region that overflows", test_region_overflow},
		{"longest WQEs", test_longest},
		{"receive ring", test_recv_ring},
		{},
	};

	return fixture_main("rings", tests);
}
