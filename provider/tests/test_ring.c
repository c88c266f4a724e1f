// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rings: their end, the 16-bit index, how full they get. */
#include <string.h>

#include "rig.h"

static int post_inline(struct rig *rig, uint64_t wr_id, const void *data, uint32_t len)
{
	struct ibv_qp_ex *qpx = rig_qpx(rig);

	ibv_wr_start(qpx);
	qpx->wr_id = wr_id;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qpx, 1, 2);
	ibv_wr_set_inline_data(qpx, (void *)data, len);
	return ibv_wr_complete(qpx);
}

static void poll_send(struct rig *rig, uint32_t first, uint32_t num_bb, uint64_t wr_id)
{
	struct hcasim_cqe cqe = rig_send_cqe(first, num_bb, HCASIM_WQE_OP_RDMA_WRITE);
	struct ibv_wc wc;

	rig_cqe(rig, &cqe);
	CU_ASSERT_EQUAL(hcasim_poll_cq(&rig->cq.vcq.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, wr_id);
}

/* Three blocks each in a ring of eight, past the 16-bit index: every way over the end of the ring. */
static void test_wrap(void)
{
	struct rig_config cfg = rig_rc;
	uint8_t data[128], wqe[192];
	struct rig rig;
	uint32_t i, first;

	cfg.num_bb = 8;
	cfg.cqe = 4;
	rig_open(&rig, &cfg);
	for (i = 0; i < sizeof(data); i++)
		data[i] = i + 1;
	for (i = 0; i < 3 * 65536 / 3 + 64; i++) {
		const struct hcasim_wqe_ctrl *ctrl = (const void *)wqe;

		first = atomic_load(&rig.qp.sq.pi_bb);
		data[127] = i;
		if (post_inline(&rig, i, data, 128)) {
			CU_FAIL("post");
			break;
		}
		rig_wqe(&rig, first, 3, wqe);
		if (le16toh(ctrl->index) != (uint16_t)(3 * i) || ctrl->size != 11 ||
		    memcmp(wqe + 36, data, 128)) {
			CU_FAIL("WQE bytes");
			break;
		}
		if (le32toh(rig.sq_record.sq_pi) != 3 * i + 3) {
			CU_FAIL("record");
			break;
		}
		/* A WQE that runs over the end of the ring is not pushed; index and doorbell are 16 bits. */
		if (first % 8 > 5 && rig_db_sq(&rig) != ((uint64_t)((3 * i + 3) & 0xffff) << 32 | RIG_QPN)) {
			CU_FAIL("doorbell");
			break;
		}
		poll_send(&rig, first, 3, i);
	}
	rig_close(&rig);
}

static void test_full_by_blocks(void)
{
	struct rig_config cfg = rig_rc;
	uint8_t data[128] = {};
	struct rig rig;

	cfg.num_bb = 8;
	rig_open(&rig, &cfg);
	CU_ASSERT_EQUAL(post_inline(&rig, 0, data, 128), 0);
	CU_ASSERT_EQUAL(post_inline(&rig, 1, data, 128), 0);
	/* Two blocks are left: three do not fit, two do. */
	CU_ASSERT_EQUAL(post_inline(&rig, 2, data, 128), ENOMEM);
	CU_ASSERT_EQUAL(le32toh(rig.sq_record.sq_pi), 6);
	CU_ASSERT_EQUAL(post_inline(&rig, 3, data, 92), 0);
	CU_ASSERT_EQUAL(post_inline(&rig, 4, data, 0), ENOMEM);
	poll_send(&rig, 0, 3, 0);
	CU_ASSERT_EQUAL(post_inline(&rig, 5, data, 128), 0);
	CU_ASSERT_EQUAL(post_inline(&rig, 6, data, 0), ENOMEM);
	rig_close(&rig);
}

/* The ring has room, but max_send_wr is what was promised. */
static void test_full_by_wrs(void)
{
	struct ibv_send_wr wr[5] = {}, *bad;
	struct rig_config cfg = rig_rc;
	struct rig rig;
	int i;

	cfg.max_wr = 3;
	rig_open(&rig, &cfg);
	for (i = 0; i < 5; i++)
		wr[i] = (struct ibv_send_wr){
			.wr_id = i, .opcode = IBV_WR_SEND, .next = i < 4 ? &wr[i + 1] : NULL};
	CU_ASSERT_EQUAL(hcasim_post_send(rig_qp(&rig), wr, &bad), ENOMEM);
	CU_ASSERT_PTR_EQUAL(bad, &wr[3]);
	CU_ASSERT_EQUAL(le32toh(rig.sq_record.sq_pi), 3);
	poll_send(&rig, 1, 1, 1); /* the completion of the second also gives back the first */
	CU_ASSERT_EQUAL(hcasim_post_send(rig_qp(&rig), &wr[3], &bad), 0);
	CU_ASSERT_EQUAL(hcasim_post_send(rig_qp(&rig), &wr[4], &bad), ENOMEM);
	CU_ASSERT_PTR_EQUAL(bad, &wr[4]);
	rig_close(&rig);
}

/* A region that overflows in its middle posts nothing. */
static void test_region_overflow(void)
{
	struct rig_config cfg = rig_rc;
	struct rig rig;
	int i;

	cfg.num_bb = 4;
	cfg.max_wr = 4;
	rig_open(&rig, &cfg);
	ibv_wr_start(rig_qpx(&rig));
	for (i = 0; i < 5; i++)
		ibv_wr_send(rig_qpx(&rig));
	CU_ASSERT_EQUAL(ibv_wr_complete(rig_qpx(&rig)), ENOMEM);
	CU_ASSERT_EQUAL(rig.sq_record.sq_pi, 0);
	ibv_wr_start(rig_qpx(&rig));
	for (i = 0; i < 4; i++)
		ibv_wr_send(rig_qpx(&rig));
	CU_ASSERT_EQUAL(ibv_wr_complete(rig_qpx(&rig)), 0);
	CU_ASSERT_EQUAL(le32toh(rig.sq_record.sq_pi), 4);
	rig_close(&rig);
}

/* The longest WQE there is: 30 SGEs behind remote and atomic, and 768 bytes inline. */
static void test_longest(void)
{
	struct rig_config cfg = rig_rc;
	struct ibv_sge sge[HCASIM_MAX_SGE] = {};
	static uint8_t data[HCASIM_MAX_INLINE];
	struct hcasim_wqe_ctrl ctrl[64];
	struct rig rig;

	cfg.max_send_sge = HCASIM_MAX_SGE;
	cfg.max_inline = HCASIM_MAX_INLINE;
	rig_open(&rig, &cfg);
	sge[29].lkey = 29;
	ibv_wr_start(rig_qpx(&rig));
	ibv_wr_atomic_fetch_add(rig_qpx(&rig), 1, 2, 3);
	ibv_wr_set_sge_list(rig_qpx(&rig), HCASIM_MAX_SGE, sge);
	CU_ASSERT_EQUAL(ibv_wr_complete(rig_qpx(&rig)), 0);
	rig_wqe(&rig, 0, 16, ctrl);
	CU_ASSERT_EQUAL(ctrl[0].size, 33);
	CU_ASSERT_EQUAL(le32toh(((struct hcasim_seg_data *)ctrl)[32].lkey), 29);
	CU_ASSERT_EQUAL(post_inline(&rig, 0, data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(le32toh(rig.sq_record.sq_pi), 9 + 13);
	rig_close(&rig);
}

static void test_recv_ring(void)
{
	struct ibv_sge sge[4] = {};
	struct ibv_recv_wr wr = {.sg_list = sge, .num_sge = 1}, *bad;
	struct rig_config cfg = rig_rc;
	struct hcasim_cqe cqe;
	struct ibv_wc wc;
	struct rig rig;
	uint32_t i;

	cfg.rq_count = 4;
	cfg.cqe = 8;
	rig_open(&rig, &cfg);
	wr.num_sge = 4;
	CU_ASSERT_EQUAL(hcasim_post_recv(rig_qp(&rig), &wr, &bad), EINVAL);
	wr.num_sge = -1;
	CU_ASSERT_EQUAL(hcasim_post_recv(rig_qp(&rig), &wr, &bad), EINVAL);
	CU_ASSERT_EQUAL(rig.sq_record.rq_pi, 0);
	wr.num_sge = 3;
	for (i = 0; i < 4; i++) {
		wr.wr_id = i;
		CU_ASSERT_EQUAL(hcasim_post_recv(rig_qp(&rig), &wr, &bad), 0);
	}
	CU_ASSERT_EQUAL(hcasim_post_recv(rig_qp(&rig), &wr, &bad), ENOMEM);
	CU_ASSERT_PTR_EQUAL(bad, &wr);
	for (i = 4; i < 70000; i++) {
		cqe = rig_recv_cqe(i - 4, i);
		rig_cqe(&rig, &cqe);
		if (hcasim_poll_cq(&rig.cq.vcq.cq, 8, &wc) != 1 || wc.wr_id != i - 4 || wc.byte_len != i) {
			CU_FAIL("receive completion");
			break;
		}
		wr.wr_id = i;
		if (hcasim_post_recv(rig_qp(&rig), &wr, &bad)) {
			CU_FAIL("post_recv");
			break;
		}
	}
	CU_ASSERT_EQUAL(le32toh(rig.sq_record.rq_pi), 70000);
	CU_ASSERT_EQUAL(le16toh(((struct hcasim_rqe *)(rig.qp.rq.ring + 3 * 64))->index), (uint16_t)69999);
	rig_close(&rig);
}

int main(void)
{
	static const struct rig_test tests[] = {
		{"end of the ring and of the index", test_wrap},
		{"full by basic blocks", test_full_by_blocks},
		{"full by work requests", test_full_by_wrs},
		{"region that overflows", test_region_overflow},
		{"longest WQEs", test_longest},
		{"receive ring", test_recv_ring},
		{},
	};

	return rig_main("rings", tests);
}
