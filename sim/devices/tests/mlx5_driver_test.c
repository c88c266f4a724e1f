// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The driver half of the mlx5 family: requests as libmlx5 makes them, and as no library would. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include "devices/mlx5/driver.h"

static struct {
	struct hca_config cfg;
	struct drv_device dev;
	struct mlx5_ucontext ctx;
	struct native_pd pd;
	struct mlx5_cq cq;
} w;

static hca_ps op_now(void *host)
{
	return 0;
}

static void op_ready(void *host, enum hca_stage stage)
{
}

static void op_dma(void *host, struct hca_dma *dma)
{
	abort(); /* no stage runs */
}

static void op_tx(void *host, uint8_t port, struct hca_packet *pkt)
{
	hca_packet_free(pkt);
}

static void op_msix(void *host, unsigned int vector)
{
}

static void op_timer(void *host, hca_ps deadline)
{
}

static const struct hca_ops ops = {.now = op_now,
				   .stage_ready = op_ready,
				   .dma = op_dma,
				   .tx = op_tx,
				   .msix = op_msix,
				   .timer = op_timer};

#define UDATA(req, resp)                                                                                     \
	{                                                                                                    \
		.in = &(req), .in_len = sizeof(req), .out = &(resp), .out_len = sizeof(resp)                 \
	}

static int create_cq(struct mlx5_cq *cq, uint32_t cqe, uint32_t cqe_size)
{
	struct mlx5_ib_create_cq req = {.buf_addr = 0x10000, .db_addr = 0x20000, .cqe_size = cqe_size};
	struct mlx5_ib_create_cq_resp resp;
	struct drv_udata u = UDATA(req, resp);

	memset(cq, 0, sizeof(*cq));
	cq->base.base.ctx = &w.ctx.base.base;
	return mlx5_drv_ops.create_cq(&cq->base.base, cqe, 0, 0, &u);
}

static int world_init(void)
{
	static const struct drv_upcalls no_upcalls;
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = 4, .max_cqe_version = 1};
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct mlx5_ib_alloc_pd_resp pd_resp;
	struct drv_udata u = UDATA(req, resp), pd_u = UDATA(req, pd_resp);

	w.cfg = (struct hca_config){.num_ports = 1, .max_qp = 64, .max_cq = 64, .max_mr = 64, .max_mw = 16};
	w.cfg.max_srq = 64;
	w.cfg.max_rd_atomic = 16;
	w.dev = (struct drv_device){.cfg = &w.cfg, .ops = &mlx5_drv_ops};
	w.dev.hca = hca_create(&w.cfg, mlx5_drv_ops.personality, &ops, NULL);
	w.ctx.base.base.dev = &w.dev;
	w.pd.base.ctx = &w.ctx.base.base;
	return !w.dev.hca || mlx5_drv_ops.probe(&w.dev, &no_upcalls) ||
	       mlx5_drv_ops.alloc_ucontext(&w.ctx.base.base, &u) ||
	       mlx5_drv_ops.alloc_pd(&w.pd.base, &pd_u) || create_cq(&w.cq, 100, 64);
}

static int world_exit(void)
{
	const int ret = mlx5_drv_ops.destroy_cq(&w.cq.base.base);

	mlx5_drv_ops.dealloc_pd(&w.pd.base);
	mlx5_drv_ops.dealloc_ucontext(&w.ctx.base.base);
	mlx5_drv_ops.remove(&w.dev);
	hca_destroy(w.dev.hca);
	return ret;
}

/* A size beyond all limits is refused; looking for its power of two would not end. */
static void test_cq(void)
{
	static const uint32_t bad[] = {0, HCASIM_MLX5_MAX_CQE + 1, 1u << 31, UINT32_MAX - 1, UINT32_MAX};
	struct mlx5_cq cq;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_EQUAL(create_cq(&cq, bad[i], 64), -EINVAL);
	CU_ASSERT_EQUAL(create_cq(&cq, 100, 96), -EINVAL);
	CU_ASSERT_EQUAL(create_cq(&cq, HCASIM_MLX5_MAX_CQE, 128), 0);
	CU_ASSERT_EQUAL(cq.base.base.cqe, HCASIM_MLX5_MAX_CQE);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_cq(&cq.base.base), 0);
	CU_ASSERT_EQUAL(w.cq.base.base.cqe, 127);
}

static int create_qp(struct mlx5_qp *qp, struct drv_qp_init *init, const struct mlx5_ib_create_qp *cmd,
		     uint32_t *bfreg)
{
	struct mlx5_ib_create_qp_resp resp = {0};
	struct mlx5_ib_create_qp req = *cmd;
	struct drv_udata u = UDATA(req, resp);
	int ret;

	memset(qp, 0, sizeof(*qp));
	qp->base.base.dev = &w.dev;
	qp->base.base.pd = &w.pd.base;
	init->type = HCASIM_QPT_RC;
	init->send_cq = init->recv_cq = &w.cq.base.base;
	ret = mlx5_drv_ops.create_qp(&qp->base.base, init, &u);
	*bfreg = resp.bfreg_index;
	return ret;
}

/* What is granted is what the ring has room for: ibv_query_qp() reports it. */
static void test_qp_grants(void)
{
	struct mlx5_ib_create_qp req = {.sq_wqe_count = 64, .rq_wqe_count = 64, .rq_wqe_shift = 6};
	struct drv_qp_init init = {.max_send_wr = 10, .max_recv_wr = 50, .max_recv_sge = 3};
	struct mlx5_qp qp;
	uint32_t bfreg;

	CU_ASSERT_EQUAL(create_qp(&qp, &init, &req, &bfreg), 0);
	CU_ASSERT_EQUAL(init.max_recv_wr, 64);
	CU_ASSERT_EQUAL(init.max_recv_sge, 4);
	CU_ASSERT_EQUAL(init.max_send_wr, 10);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp.base.base), 0);
	/* Without a ring its shift says nothing, whatever it is (UBSan watches). */
	req = (struct mlx5_ib_create_qp){.sq_wqe_count = 64, .rq_wqe_shift = 200};
	init = (struct drv_qp_init){.max_send_wr = 10, .max_recv_sge = 3};
	CU_ASSERT_EQUAL(create_qp(&qp, &init, &req, &bfreg), 0);
	CU_ASSERT_EQUAL(init.max_recv_wr, 0);
	CU_ASSERT_EQUAL(init.max_recv_sge, 0);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp.base.base), 0);
}

static void test_qp_refused(void)
{
	static const struct mlx5_ib_create_qp bad[] = {
		{.sq_wqe_count = 48},
		{.sq_wqe_count = 2 * HCASIM_MLX5_MAX_WQEBB},
		{.sq_wqe_count = 64, .rq_wqe_count = 48, .rq_wqe_shift = 6},
		{.sq_wqe_count = 64, .rq_wqe_count = 64, .rq_wqe_shift = 3},
		{.sq_wqe_count = 64, .rq_wqe_count = 64, .rq_wqe_shift = 10},
		{.sq_wqe_count = 64, .rq_wqe_count = 64, .rq_wqe_shift = 200},
		{.sq_wqe_count = 64, .rq_wqe_count = 1u << 31, .rq_wqe_shift = 6},
	};
	struct mlx5_qp qp;
	uint32_t bfreg;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct drv_qp_init init = {.max_send_wr = 10};

		CU_ASSERT_EQUAL(create_qp(&qp, &init, &bad[i], &bfreg), -EINVAL);
	}
	for (unsigned int i = 0; i < MLX5_MAX_BFREGS; i++)
		CU_ASSERT_EQUAL(w.ctx.users[i], 0);
}

/* 16 registers are 8 pages of 2, the last 4 of low latency. libmlx5 counts 4 for a page. */
static void test_doorbell_registers(void)
{
	static const uint32_t expected[] = {24, 25, 28, 29, 1};
	const struct mlx5_ib_create_qp req = {.sq_wqe_count = 64};
	struct mlx5_qp qp[5];
	uint32_t bfreg;

	for (unsigned int i = 0; i < 5; i++) {
		struct drv_qp_init init = {.max_send_wr = 10};

		CU_ASSERT_EQUAL(create_qp(&qp[i], &init, &req, &bfreg), 0);
		CU_ASSERT_EQUAL(bfreg, expected[i]);
	}
	for (unsigned int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp[i].base.base), 0);
	for (unsigned int i = 0; i < MLX5_MAX_BFREGS; i++)
		CU_ASSERT_EQUAL(w.ctx.users[i], 0);
}

/* libmlx5 asks for the SGEs that fit its stride: from 16 on, 31. */
static void test_srq(void)
{
	struct mlx5_ib_create_srq req = {.buf_addr = 0x10000, .db_addr = 0x20000};
	struct drv_srq_init init = {.max_wr = 100, .max_sge = 31};
	struct ib_uverbs_ex_query_device_resp attr;
	struct mlx5_ib_create_srq_resp resp;
	struct drv_udata u = UDATA(req, resp);
	struct native_srq srq = {.base.pd = &w.pd.base};

	mlx5_drv_ops.query_device(&w.dev, &attr);
	CU_ASSERT_EQUAL(attr.base.max_srq_sge, 31);
	CU_ASSERT_EQUAL(mlx5_drv_ops.create_srq(&srq.base, &init, &u), 0);
	CU_ASSERT_EQUAL(init.max_wr, 127);
	CU_ASSERT_EQUAL(init.max_sge, 31);
	CU_ASSERT_EQUAL(mlx5_drv_ops.resize_srq(&srq.base, 50, &u), -EINVAL);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_srq(&srq.base), 0);
	init = (struct drv_srq_init){.max_wr = 100, .max_sge = 2};
	CU_ASSERT_EQUAL(mlx5_drv_ops.create_srq(&srq.base, &init, &u), 0);
	CU_ASSERT_EQUAL(init.max_sge, 3);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_srq(&srq.base), 0);
	init = (struct drv_srq_init){.max_wr = 100, .max_sge = 1u << 28}; /* 32 bits of bytes, and 16 */
	CU_ASSERT_EQUAL(mlx5_drv_ops.create_srq(&srq.base, &init, &u), -EINVAL);
	init = (struct drv_srq_init){.max_wr = UINT32_MAX, .max_sge = 1};
	CU_ASSERT_EQUAL(mlx5_drv_ops.create_srq(&srq.base, &init, &u), -EINVAL);
}

static void test_mmap(void)
{
	struct drv_mmap map;

	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(&w.ctx.base.base, 7 * 4096, 4096, &map), 0);
	CU_ASSERT_EQUAL(map.bar_offset, (uint64_t)w.ctx.page[7] * 4096);
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(&w.ctx.base.base, 8 * 4096, 4096, &map), -EINVAL);
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(&w.ctx.base.base, 0, 8192, &map), -EINVAL);
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(&w.ctx.base.base, 0x500 * 4096, 4096, &map), 0);
	CU_ASSERT_TRUE(map.read_only);
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(&w.ctx.base.base, (1ull << 40) * 4096, 4096, &map), -EINVAL);
}

int main(void)
{
	static const CU_TestInfo tests[] = {{"completion queues", test_cq},
					    {"grants of a QP", test_qp_grants},
					    {"refused rings", test_qp_refused},
					    {"doorbell registers", test_doorbell_registers},
					    {"shared receive queues", test_srq},
					    {"mmap", test_mmap},
					    CU_TEST_INFO_NULL};
	CU_SuiteInfo suites[] = {{.pName = "mlx5 driver",
				  .pInitFunc = world_init,
				  .pCleanupFunc = world_exit,
				  .pTests = (CU_TestInfo *)tests},
				 CU_SUITE_INFO_NULL};
	unsigned int failures;

	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
		return EXIT_FAILURE;
	CU_basic_run_tests();
	failures = CU_get_number_of_failures() + CU_get_number_of_suites_failed();
	CU_cleanup_registry();
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
