// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The driver half of the mlx5 family: requests as libmlx5 makes them, and as no library would. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "devices/mlx5/driver/driver.h"
#include "suite.h"

#define MAX_DMA 8
#define NO_PAGE (1ull << 40) /* an address without memory */

static struct {
	struct hca_dma *dma[MAX_DMA]; /* that is under way */
	unsigned int num_dma;
	bool mapped;
	struct hcasim_mlx5_cq_record record;
	struct hca_config cfg;
	struct drv_device dev;
	struct mlx5_ucontext ctx;
	struct common_pd pd;
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
	if (w.num_dma == MAX_DMA)
		abort();
	w.dma[w.num_dma++] = dma;
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

static void land(void)
{
	for (unsigned int i = 0; i < w.num_dma; i++)
		hca_dma_done(w.dev.hca, w.dma[i]);
	w.num_dma = 0;
}

static bool bar_mapped(struct drv_device *dev, unsigned int bar, uint64_t offset, uint64_t length)
{
	return w.mapped;
}

static int read_user(const struct drv_udata *u, void *dst, uint64_t src, size_t size)
{
	if (src == NO_PAGE)
		return -EFAULT;
	memcpy(dst, (void *)(uintptr_t)src, size);
	return 0;
}

static int pin_user(const struct drv_udata *u, uint64_t addr, size_t size)
{
	return addr <= NO_PAGE && addr + size > NO_PAGE ? -EFAULT : 0;
}

#define UDATA(req, resp)                                                                                     \
	{                                                                                                    \
		.in = &(req), .in_len = sizeof(req), .out = &(resp), .out_len = sizeof(resp),                \
		.read_user = read_user, .pin_user = pin_user, .pin_record = pin_user                         \
	}

static int create_cq_of(struct mlx5_cq *cq, uint32_t cqe, const struct mlx5_ib_create_cq *cmd)
{
	struct mlx5_ib_create_cq req = *cmd;
	struct mlx5_ib_create_cq_resp resp;
	struct drv_udata u = UDATA(req, resp);

	memset(cq, 0, sizeof(*cq));
	cq->base.ctx = &w.ctx.base;
	return mlx5_drv_ops.create_cq(&cq->base, cqe, 0, 0, &u);
}

static int create_cq(struct mlx5_cq *cq, uint32_t cqe, uint32_t cqe_size)
{
	const struct mlx5_ib_create_cq req = {
		.buf_addr = 0x10000, .db_addr = (uintptr_t)&w.record, .cqe_size = cqe_size};

	return create_cq_of(cq, cqe, &req);
}

static int create_cq_at(struct mlx5_cq *cq, uint64_t buf, uint64_t record)
{
	const struct mlx5_ib_create_cq req = {.buf_addr = buf, .db_addr = record, .cqe_size = 64};

	return create_cq_of(cq, 100, &req);
}

static int world_init(void)
{
	static const struct drv_upcalls upcalls = {.bar_mapped = bar_mapped};
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
	w.ctx.base.dev = &w.dev;
	w.pd.base.ctx = &w.ctx.base;
	return !w.dev.hca || mlx5_drv_ops.probe(&w.dev, &upcalls) ||
	       mlx5_drv_ops.alloc_ucontext(&w.ctx.base, &u) || mlx5_drv_ops.alloc_pd(&w.pd.base, &pd_u) ||
	       create_cq(&w.cq, 100, 64);
}

static int world_exit(void)
{
	const int ret = mlx5_drv_ops.destroy_cq(&w.cq.base);

	mlx5_drv_ops.dealloc_pd(&w.pd.base);
	mlx5_drv_ops.dealloc_ucontext(&w.ctx.base);
	mlx5_drv_ops.remove(&w.dev);
	hca_destroy(w.dev.hca);
	return ret;
}

/* A size beyond all limits is refused; looking for its power of two would not end. */
static void test_cq(void)
{
	static const uint32_t bad[] = {HCASIM_MLX5_MAX_CQE + 1, 1u << 31, UINT32_MAX - 1, UINT32_MAX};
	struct mlx5_cq cq;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_EQUAL(create_cq(&cq, bad[i], 64), -EINVAL);
	CU_ASSERT_EQUAL(create_cq(&cq, 100, 96), -EINVAL);
	CU_ASSERT_EQUAL(create_cq(&cq, 0, 64), 0); /* one entry */
	CU_ASSERT_EQUAL(cq.base.cqe, 0);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_cq(&cq.base), 0);
	CU_ASSERT_EQUAL(create_cq(&cq, HCASIM_MLX5_MAX_CQE, 128), 0);
	CU_ASSERT_EQUAL(cq.base.cqe, HCASIM_MLX5_MAX_CQE);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_cq(&cq.base), 0);
	CU_ASSERT_EQUAL(w.cq.base.cqe, 127);
}

/* Compression of one format, and padding of CQEs of 128 bytes. */
static void test_cq_options(void)
{
	const struct mlx5_ib_create_cq plain = {
		.buf_addr = 0x10000, .db_addr = (uintptr_t)&w.record, .cqe_size = 64};
	struct mlx5_ib_create_cq comp = plain, pad = plain;
	struct mlx5_cq cq;

	comp.cqe_comp_en = 1;
	CU_ASSERT_EQUAL(create_cq_of(&cq, 100, &comp), -EINVAL);
	comp.cqe_comp_res_format = MLX5_IB_CQE_RES_FORMAT_CSUM | MLX5_IB_CQE_RES_FORMAT_HASH;
	CU_ASSERT_EQUAL(create_cq_of(&cq, 100, &comp), -EINVAL);
	comp.cqe_comp_res_format = MLX5_IB_CQE_RES_FORMAT_CSUM;
	CU_ASSERT_EQUAL(create_cq_of(&cq, 100, &comp), 0);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_cq(&cq.base), 0);
	pad.flags = MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD;
	CU_ASSERT_EQUAL(create_cq_of(&cq, 100, &pad), -EOPNOTSUPP);
	pad.cqe_size = 128;
	CU_ASSERT_EQUAL(create_cq_of(&cq, 100, &pad), 0);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_cq(&cq.base), 0);
	pad.flags = MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS;
	CU_ASSERT_EQUAL(create_cq_of(&cq, 100, &pad), -EOPNOTSUPP);
}

static int resize_cq(uint32_t cqe, const struct mlx5_ib_resize_cq *cmd, size_t len, struct drv_udata *u)
{
	*u = (struct drv_udata){.in = cmd,
				.in_len = len,
				.read_user = read_user,
				.pin_user = pin_user,
				.pin_record = pin_user};
	return mlx5_drv_ops.resize_cq(&w.cq.base, cqe, u);
}

/* The RESIZE entry is written, which ends the command, to the end of the old ring; later entries go to the new one. */
static void test_resize(void)
{
	const struct mlx5_ib_resize_cq req = {.buf_addr = 0x40000, .cqe_size = 64};
	const uint8_t *cqe;
	struct drv_udata u;

	CU_ASSERT_EQUAL(resize_cq(127, &req, sizeof(req), &u), 0); /* as it is */
	CU_ASSERT_EQUAL(w.num_dma, 0);
	CU_ASSERT_EQUAL(resize_cq(128, &req, sizeof(req), &u), 0);
	CU_ASSERT_EQUAL(w.cq.base.cqe, 255);
	CU_ASSERT_EQUAL_FATAL(w.num_dma, 1);
	CU_ASSERT_EQUAL(w.dma[0]->seg[0].addr, 0x10000);
	cqe = w.dma[0]->buf;
	CU_ASSERT_EQUAL(cqe[63] >> 4, HCASIM_MLX5_CQE_OPCODE_RESIZE_CQ);
	land();
	CU_ASSERT_EQUAL(resize_cq(100, &req, sizeof(req), &u), 0);
	CU_ASSERT_EQUAL(w.cq.base.cqe, 127);
	CU_ASSERT_EQUAL_FATAL(w.num_dma, 1);
	CU_ASSERT_EQUAL(w.dma[0]->seg[0].addr, 0x40000 + 64); /* behind the place of the first RESIZE entry */
	land();
}

/* Nothing is written, and the CQ stays as it was. */
static void test_resize_refused(void)
{
	static const uint32_t bad[] = {0, HCASIM_MLX5_MAX_CQE + 1, 1u << 31, UINT32_MAX - 1, UINT32_MAX};
	static const struct mlx5_ib_resize_cq wrong[] = {
		{.buf_addr = 0x40000, .cqe_size = 96},
		{.buf_addr = 0x40000, .cqe_size = 128}, /* the QPs go by 64 */
		{.buf_addr = 0x40000},
		{.buf_addr = 0x40000, .cqe_size = 64, .reserved0 = 1},
		{.buf_addr = 0x40000, .cqe_size = 64, .reserved1 = 1},
	};
	struct mlx5_ib_resize_cq req = {.buf_addr = 0x40000, .cqe_size = 64};
	const uint64_t record = w.cq.record;
	struct drv_udata u;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_EQUAL(resize_cq(bad[i], &req, sizeof(req), &u), -EINVAL);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CU_ASSERT_EQUAL(resize_cq(300, &wrong[i], sizeof(req), &u), -EINVAL);
	CU_ASSERT_EQUAL(resize_cq(300, &req, sizeof(req) - 1, &u), -EINVAL);
	w.cq.record = NO_PAGE;
	CU_ASSERT_EQUAL(resize_cq(300, &req, sizeof(req), &u), -EFAULT);
	w.cq.record = record;
	req.buf_addr = NO_PAGE - 511 * 64; /* its last entry */
	CU_ASSERT_EQUAL(resize_cq(300, &req, sizeof(req), &u), -EFAULT);
	CU_ASSERT_EQUAL(w.cq.base.cqe, 127);
	CU_ASSERT_EQUAL(w.num_dma, 0);
}

static int create_qp(struct mlx5_qp *qp, struct drv_qp_init *init, const struct mlx5_ib_create_qp *cmd,
		     uint32_t *bfreg)
{
	struct mlx5_ib_create_qp_resp resp = {0};
	struct mlx5_ib_create_qp req = *cmd;
	struct drv_udata u = UDATA(req, resp);
	int ret;

	memset(qp, 0, sizeof(*qp));
	qp->base.dev = &w.dev;
	qp->base.pd = &w.pd.base;
	init->type = HCASIM_QPT_RC;
	init->send_cq = init->recv_cq = &w.cq.base;
	ret = mlx5_drv_ops.create_qp(&qp->base, init, &u);
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
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp.base), 0);
	/* Without a ring its shift says nothing, whatever it is (UBSan watches). */
	req = (struct mlx5_ib_create_qp){.sq_wqe_count = 64, .rq_wqe_shift = 200};
	init = (struct drv_qp_init){.max_send_wr = 10, .max_recv_sge = 3};
	CU_ASSERT_EQUAL(create_qp(&qp, &init, &req, &bfreg), 0);
	CU_ASSERT_EQUAL(init.max_recv_wr, 0);
	CU_ASSERT_EQUAL(init.max_recv_sge, 0);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp.base), 0);
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

static int create_srq(struct mlx5_srq *srq, uint64_t buf, uint64_t record)
{
	struct mlx5_ib_create_srq req = {.buf_addr = buf, .db_addr = record};
	struct drv_srq_init init = {.max_wr = 100, .max_sge = 3};
	struct mlx5_ib_create_srq_resp resp;
	struct drv_udata u = UDATA(req, resp);

	*srq = (struct mlx5_srq){.base.pd = &w.pd.base};
	return mlx5_drv_ops.create_srq(&srq->base, &init, &u);
}

/* Queues whose last byte, or whose record, is not mapped. One that ends just before is. */
static void test_unmapped(void)
{
	const uint64_t cq_bytes = 128 * 64, srq_bytes = 128 * 64, qp_bytes = 2 * 64 * 64;
	struct mlx5_ib_create_qp req = {
		.db_addr = 0x20000, .sq_wqe_count = 64, .rq_wqe_count = 64, .rq_wqe_shift = 6};
	struct mlx5_srq srq;
	struct mlx5_cq cq;
	struct mlx5_qp qp;
	uint32_t bfreg;

	CU_ASSERT_EQUAL(create_cq_at(&cq, NO_PAGE - cq_bytes + 1, 0x20000), -EFAULT);
	CU_ASSERT_EQUAL(create_cq_at(&cq, 0x10000, NO_PAGE), -EFAULT);
	CU_ASSERT_EQUAL(create_cq_at(&cq, NO_PAGE - cq_bytes, 0x20000), 0);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_cq(&cq.base), 0);
	CU_ASSERT_EQUAL(create_srq(&srq, NO_PAGE - srq_bytes + 1, 0x20000), -EFAULT);
	CU_ASSERT_EQUAL(create_srq(&srq, 0x10000, NO_PAGE), -EFAULT);
	CU_ASSERT_EQUAL(create_srq(&srq, NO_PAGE - srq_bytes, 0x20000), 0);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_srq(&srq.base), 0);
	for (uint64_t missing = 0; missing < 2; missing++) {
		struct drv_qp_init init = {.max_send_wr = 10, .max_recv_wr = 10, .max_recv_sge = 1};

		req.buf_addr = NO_PAGE - qp_bytes + missing;
		CU_ASSERT_EQUAL(create_qp(&qp, &init, &req, &bfreg), missing ? -EFAULT : 0);
		if (!missing)
			CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp.base), 0);
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
		CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp[i].base), 0);
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
	struct mlx5_srq srq = {.base.pd = &w.pd.base};

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

/* The library's part may be absent; what it says there must be known. */
static void test_window(void)
{
	static const struct mlx5_ib_alloc_mw wrong[] = {{.comp_mask = 1}, {.reserved1 = 1}, {.reserved2 = 1}};
	const struct mlx5_ib_alloc_mw good = {.num_klms = 4};
	struct drv_mw mw = {.pd = &w.pd.base, .type = 1};
	struct drv_udata u = {0};

	CU_ASSERT(!mlx5_drv_ops.alloc_mw(&mw, &u) && !mlx5_drv_ops.dealloc_mw(&mw));
	u = (struct drv_udata){.in = &good, .in_len = sizeof(good)};
	CU_ASSERT(!mlx5_drv_ops.alloc_mw(&mw, &u) && !mlx5_drv_ops.dealloc_mw(&mw));
	for (unsigned int i = 0; i < 3; i++) {
		u.in = &wrong[i];
		CU_ASSERT_EQUAL(mlx5_drv_ops.alloc_mw(&mw, &u), -EOPNOTSUPP);
	}
}

static void test_mmap(void)
{
	struct drv_mmap map;

	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(&w.ctx.base, 7 * 4096, 4096, &map), 0);
	CU_ASSERT_EQUAL(map.bar_offset, (uint64_t)w.ctx.page[7] * 4096);
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(&w.ctx.base, 8 * 4096, 4096, &map), -EINVAL);
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(&w.ctx.base, 0, 8192, &map), -EINVAL);
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(&w.ctx.base, 0x500 * 4096, 4096, &map), 0);
	CU_ASSERT_TRUE(map.read_only);
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(&w.ctx.base, 0x701 * 4096, 4096, &map), -EINVAL);
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(&w.ctx.base, (1ull << 40) * 4096, 4096, &map), -EINVAL);
}

/* ---- Pages that the library allocates ---- */

struct fake_call { /* one call of a method of UAR objects */
	struct drv_call base;
	uint64_t type, offset;
	uint32_t length, id;
	void *made;
};

static int call_get(struct drv_call *c, uint16_t id, void *dst, size_t size)
{
	memcpy(dst, &((struct fake_call *)c)->type, size);
	return 0;
}

static int call_put(struct drv_call *c, uint16_t id, const void *src, size_t size)
{
	struct fake_call *call = (struct fake_call *)c;

	if (id == MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET)
		memcpy(&call->offset, src, size);
	else if (id == MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH)
		memcpy(&call->length, src, size);
	else
		memcpy(&call->id, src, size);
	return 0;
}

static void *call_create(struct drv_call *c, uint16_t id, size_t size)
{
	return ((struct fake_call *)c)->made = calloc(1, size);
}

static int alloc_uar(struct mlx5_ucontext *ctx, uint64_t type, struct fake_call *call)
{
	static const struct drv_call_ops call_ops = {.get = call_get, .put = call_put, .create = call_create};

	*call = (struct fake_call){.base = {.ops = &call_ops, .dev = &w.dev, .ctx = &ctx->base},
				   .type = type};
	return mlx5_methods[0].handler(&call->base);
}

static void free_uar(struct fake_call *call)
{
	CU_ASSERT_EQUAL(mlx5_objects[0].destroy(call->made), 0);
	free(call->made);
}

static void *page_of(uint32_t number)
{
	return numbers_find(&mlx5_dev(&w.dev)->uars, number);
}

static int create_qp_on(struct mlx5_qp *qp, uint32_t page, uint32_t *bfreg)
{
	const struct mlx5_ib_create_qp req = {
		.sq_wqe_count = 64, .flags = MLX5_QP_FLAG_UAR_PAGE_INDEX, .bfreg_index = page};
	struct drv_qp_init init = {.max_send_wr = 10};

	return create_qp(qp, &init, &req, bfreg);
}

static void test_pages(void)
{
	struct drv_ucontext *ctx = &w.ctx.base;
	struct fake_call bf, nc, odd;
	struct drv_mmap map;

	CU_ASSERT_EQUAL(alloc_uar(&w.ctx, MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF, &bf), 0);
	CU_ASSERT_EQUAL(alloc_uar(&w.ctx, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &nc), 0);
	CU_ASSERT_EQUAL(alloc_uar(&w.ctx, 2, &odd), -EOPNOTSUPP);
	CU_ASSERT_PTR_NULL(odd.made);
	CU_ASSERT_TRUE(bf.length == 4096 && nc.length == 4096 && bf.id != nc.id);
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(ctx, bf.offset, 4096, &map), 0);
	CU_ASSERT_TRUE(map.bar_offset == bf.id * 4096ull && map.write_combining);
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(ctx, nc.offset, 4096, &map), 0);
	CU_ASSERT_TRUE(map.bar_offset == nc.id * 4096ull && !map.write_combining);
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(ctx, nc.offset + (1ull << 40) * 4096, 4096, &map), -EINVAL);
	free_uar(&nc);
	CU_ASSERT_PTR_NULL(page_of(nc.id));
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(ctx, nc.offset, 4096, &map), -EINVAL);
	w.mapped = true; /* it stays the context's */
	free_uar(&bf);
	w.mapped = false;
	CU_ASSERT_PTR_NOT_NULL(page_of(bf.id));
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(ctx, bf.offset, 4096, &map), -EINVAL);
}

/* A QP keeps its page, and gets no page that is not the context's own, or is free. */
static void test_queues_on_pages(void)
{
	struct fake_call uar;
	struct mlx5_qp qp, none;
	uint32_t bfreg;

	CU_ASSERT_EQUAL(alloc_uar(&w.ctx, MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF, &uar), 0);
	CU_ASSERT_EQUAL(create_qp_on(&qp, uar.id, &bfreg), 0);
	CU_ASSERT_EQUAL(bfreg, 1u << 31);
	CU_ASSERT_EQUAL(qp.page->users, 1);
	CU_ASSERT_EQUAL(create_qp_on(&none, w.ctx.page[0], &bfreg), -EINVAL);
	CU_ASSERT_EQUAL(create_qp_on(&none, uar.id + 1, &bfreg), -EINVAL);
	CU_ASSERT_EQUAL(create_qp_on(&none, UINT32_MAX, &bfreg), -EINVAL);
	free_uar(&uar);
	CU_ASSERT_EQUAL(create_qp_on(&none, uar.id, &bfreg), -EINVAL);
	CU_ASSERT_PTR_EQUAL(page_of(uar.id), qp.page);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp.base), 0);
	CU_ASSERT_PTR_NULL(page_of(uar.id));
	for (unsigned int i = 0; i < MLX5_MAX_BFREGS; i++)
		CU_ASSERT_EQUAL(w.ctx.users[i], 0);
}

/* As libmlx5 opens the device: no static pages. What is left of its own ends with the context. */
static void test_context_without_pages(void)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {.total_num_bfregs = 16,
						    .num_low_latency_bfregs = 4,
						    .max_cqe_version = 1,
						    .lib_caps = MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR};
	struct mlx5_ib_create_cq cmd = {.buf_addr = 0x10000, .db_addr = (uintptr_t)&w.record, .cqe_size = 64};
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct mlx5_ib_create_cq_resp cq_resp;
	struct drv_udata u = UDATA(req, resp), cq_u = UDATA(cmd, cq_resp);
	struct mlx5_ucontext ctx = {.base.dev = &w.dev};
	struct mlx5_cq cq = {.base.ctx = &ctx.base};
	struct fake_call uar;
	struct drv_mmap map;

	CU_ASSERT_EQUAL(mlx5_drv_ops.alloc_ucontext(&ctx.base, &u), 0);
	CU_ASSERT_EQUAL(resp.tot_bfregs, 0);
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(&ctx.base, 0, 4096, &map), -EINVAL);
	CU_ASSERT_EQUAL(mlx5_drv_ops.create_cq(&cq.base, 100, 0, 0, &cq_u), -EINVAL);
	CU_ASSERT_EQUAL(alloc_uar(&ctx, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar), 0);
	CU_ASSERT_EQUAL(mlx5_drv_ops.mmap(&w.ctx.base, uar.offset, 4096, &map), -EINVAL);
	cmd.flags = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX;
	cmd.uar_page_index = (uint16_t)uar.id;
	CU_ASSERT_EQUAL(mlx5_drv_ops.create_cq(&cq.base, 100, 0, 0, &cq_u), 0);
	CU_ASSERT_EQUAL(cq.page->users, 1);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_cq(&cq.base), 0);
	CU_ASSERT_EQUAL(cq.page->users, 0);
	mlx5_drv_ops.dealloc_ucontext(&ctx.base);
	CU_ASSERT_PTR_NULL(page_of(uar.id));
	free(uar.made);
}

int main(void)
{
	static const CU_TestInfo tests[] = {{"completion queues", test_cq},
					    {"options of completion queues", test_cq_options},
					    {"resize", test_resize},
					    {"refused resizes", test_resize_refused},
					    {"allocated pages", test_pages},
					    {"queues on allocated pages", test_queues_on_pages},
					    {"no static pages", test_context_without_pages},
					    {"unmapped queues", test_unmapped},
					    {"grants of a QP", test_qp_grants},
					    {"refused rings", test_qp_refused},
					    {"doorbell registers", test_doorbell_registers},
					    {"shared receive queues", test_srq},
					    {"windows", test_window},
					    {"mmap", test_mmap},
					    CU_TEST_INFO_NULL};

	return suite_run("mlx5 driver", world_init, world_exit, tests);
}
