// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The driver half of the mlx5 family: work queues, and QPs that receive by a table of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include "devices/mlx5/driver/driver.h"
#include "suite.h"

#define NO_PAGE (1ull << 40) /* an address without memory */

static struct {
	struct hca_config cfg;
	struct drv_device dev;
	struct mlx5_ucontext ctx;
	struct common_pd pd;
	struct mlx5_cq cq;
	struct mlx5_qp wq[2];
	uint32_t wqn[2];
	struct drv_rwq_table table;
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
	abort(); /* nothing here makes the adapter read or write */
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

static int pin_user(const struct drv_udata *u, uint64_t addr, size_t size)
{
	return addr <= NO_PAGE && addr + size > NO_PAGE ? -EFAULT : 0;
}

#define UDATA(req, resp)                                                                                     \
	{                                                                                                    \
		.in = &(req), .in_len = sizeof(req), .out = &(resp), .out_len = sizeof(resp),                \
		.pin_user = pin_user, .pin_record = pin_user                                                 \
	}

static int create_cq(void)
{
	struct mlx5_ib_create_cq req = {.buf_addr = 0x10000, .db_addr = 0x8000, .cqe_size = 64};
	struct mlx5_ib_create_cq_resp resp;
	struct drv_udata u = UDATA(req, resp);

	w.cq.base.ctx = &w.ctx.base;
	return mlx5_drv_ops.create_cq(&w.cq.base, 100, 0, 0, &u);
}

static int world_init(void)
{
	static const struct hca_ops ops = {.now = op_now,
					   .stage_ready = op_ready,
					   .dma = op_dma,
					   .tx = op_tx,
					   .msix = op_msix,
					   .timer = op_timer};
	static const struct drv_upcalls upcalls;
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = 4, .max_cqe_version = 1};
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct mlx5_ib_alloc_pd_resp pd_resp;
	struct drv_udata u = UDATA(req, resp), pd_u = UDATA(req, pd_resp);

	w.cfg = (struct hca_config){.num_ports = 1, .max_qp = 64, .max_cq = 64, .max_mr = 64};
	w.cfg.max_rd_atomic = 16;
	w.dev = (struct drv_device){.cfg = &w.cfg, .ops = &mlx5_drv_ops};
	w.dev.hca = hca_create(&w.cfg, mlx5_drv_ops.personality, &ops, NULL);
	w.ctx.base.dev = &w.dev;
	w.pd.base.ctx = &w.ctx.base;
	return !w.dev.hca || mlx5_drv_ops.probe(&w.dev, &upcalls) ||
	       mlx5_drv_ops.alloc_ucontext(&w.ctx.base, &u) || mlx5_drv_ops.alloc_pd(&w.pd.base, &pd_u) ||
	       create_cq();
}

static int world_exit(void)
{
	mlx5_drv_ops.destroy_cq(&w.cq.base);
	mlx5_drv_ops.dealloc_pd(&w.pd.base);
	mlx5_drv_ops.dealloc_ucontext(&w.ctx.base);
	mlx5_drv_ops.remove(&w.dev);
	hca_destroy(w.dev.hca);
	return 0;
}

static struct mlx5_ib_create_wq good_wq = {
	.buf_addr = 0x20000, .db_addr = 0x8040, .rq_wqe_count = 16, .rq_wqe_shift = 5, .user_index = 7};
static struct drv_qp_init wq_init = {
	.type = HCASIM_QPT_RAW_PACKET, .recv_cq = &w.cq.base, .max_recv_wr = 10, .max_recv_sge = 2};

static int create_wq_of(struct mlx5_qp *wq, struct drv_qp_init *init, struct mlx5_ib_create_wq req)
{
	struct mlx5_ib_create_wq_resp resp = {0};
	struct drv_udata u = UDATA(req, resp);

	memset(wq, 0, sizeof(*wq));
	wq->base.dev = &w.dev;
	wq->base.pd = &w.pd.base;
	wq->base.wq = true;
	return mlx5_drv_ops.create_wq(&wq->base, init, &u);
}

static int create_wq(struct mlx5_ib_create_wq req)
{
	struct drv_qp_init init = wq_init;
	struct mlx5_qp wq;
	const int ret = create_wq_of(&wq, &init, req);

	if (!ret)
		CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&wq.base), 0);
	return ret;
}

#define WITH(base, member, value)                                                                            \
	({                                                                                                   \
		__typeof__(base) changed = base;                                                             \
		changed.member = value;                                                                      \
		changed;                                                                                     \
	})

static void test_wq(void)
{
	struct drv_qp_init init = wq_init;
	struct drv_qp *wq = &w.wq[0].base;

	CU_ASSERT_EQUAL_FATAL(create_wq_of(&w.wq[0], &init, good_wq), 0);
	CU_ASSERT_EQUAL(init.max_recv_wr, 16);
	CU_ASSERT_EQUAL(init.max_recv_sge, 2);
	CU_ASSERT_EQUAL(mlx5_drv_ops.modify_wq(wq, HCA_WQ_RDY, HCA_WQ_ERR), -EINVAL);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(wq), 0);
	init.max_recv_sge = HCASIM_MLX5_MAX_SGE;
	CU_ASSERT_EQUAL_FATAL(create_wq_of(&w.wq[0], &init, WITH(good_wq, rq_wqe_shift, 9)), 0);
	CU_ASSERT_EQUAL(init.max_recv_sge, HCASIM_MLX5_MAX_SGE); /* though 32 fit */
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(wq), 0);
}

static void test_refused(void)
{
	struct drv_qp_init init = wq_init;
	struct mlx5_qp wq;

	CU_ASSERT_EQUAL(create_wq(good_wq), 0);
	CU_ASSERT_EQUAL(create_wq(WITH(good_wq, rq_wqe_count, 0)), -EINVAL);
	CU_ASSERT_EQUAL(create_wq(WITH(good_wq, rq_wqe_count, 12)), -EINVAL);
	CU_ASSERT_EQUAL(create_wq(WITH(good_wq, rq_wqe_count, 8)), -EINVAL); /* 10 were asked for */
	CU_ASSERT_EQUAL(create_wq(WITH(good_wq, rq_wqe_count, 2 * HCASIM_MLX5_MAX_QP_WR)), -EINVAL);
	CU_ASSERT_EQUAL(create_wq(WITH(good_wq, rq_wqe_shift, 3)), -EINVAL);
	CU_ASSERT_EQUAL(create_wq(WITH(good_wq, rq_wqe_shift, 10)), -EINVAL);
	CU_ASSERT_EQUAL(create_wq(WITH(good_wq, flags, 1)), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(create_wq(WITH(good_wq, comp_mask, MLX5_IB_CREATE_WQ_STRIDING_RQ)), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(create_wq(WITH(good_wq, buf_addr, NO_PAGE - 16)), -EFAULT);
	CU_ASSERT_EQUAL(create_wq(WITH(good_wq, db_addr, NO_PAGE)), -EFAULT);
	init.create_flags = IB_UVERBS_WQ_FLAGS_SCATTER_FCS;
	CU_ASSERT_EQUAL(create_wq_of(&wq, &init, good_wq), -EOPNOTSUPP);
	init.create_flags = IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING | IB_UVERBS_WQ_FLAGS_DELAY_DROP;
	CU_ASSERT_EQUAL(create_wq_of(&wq, &init, good_wq), -EOPNOTSUPP);
	init = WITH(wq_init, max_recv_sge, HCASIM_MLX5_MAX_SGE + 1);
	CU_ASSERT_EQUAL(create_wq_of(&wq, &init, WITH(good_wq, rq_wqe_shift, 9)), -EINVAL);
}

static struct mlx5_ib_create_qp_rss good_rss(void)
{
	return (struct mlx5_ib_create_qp_rss){
		.rx_hash_fields_mask = MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_DST_IPV4,
		.rx_hash_function = MLX5_RX_HASH_FUNC_TOEPLITZ,
		.rx_key_len = HCASIM_RSS_KEY_SIZE,
	};
}

static int create_rss(struct drv_qp_init init, struct mlx5_ib_create_qp_rss req, size_t len)
{
	const struct hca_qp_attr attr = {.state = HCASIM_QPS_INIT};
	struct mlx5_ib_create_qp_resp resp = {0};
	struct drv_udata u = UDATA(req, resp);
	struct hca_qp_attr now;
	struct mlx5_qp qp = {.base = {.dev = &w.dev, .pd = &w.pd.base}};
	int ret;

	u.in_len = len;
	ret = mlx5_drv_ops.create_qp(&qp.base, &init, &u);
	if (ret)
		return ret;
	u.in_len = 0;
	CU_ASSERT_EQUAL(mlx5_drv_ops.modify_qp(&qp.base, &attr, HCASIM_QP_ATTR_STATE, &u), -ENOSYS);
	CU_ASSERT_EQUAL(mlx5_drv_ops.query_qp(&qp.base, &now), -ENOSYS);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&w.wq[0].base), -EBUSY);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp.base), 0);
	return 0;
}

static int create_rss_as(struct mlx5_ib_create_qp_rss req)
{
	struct drv_qp_init init = {.type = HCASIM_QPT_RAW_PACKET, .table = &w.table};

	return create_rss(init, req, sizeof(req));
}

static void refuse_rss(void)
{
	struct drv_qp_init init = {.type = HCASIM_QPT_RAW_PACKET, .table = &w.table};
	struct mlx5_ib_create_qp_rss req = good_rss();

	CU_ASSERT_EQUAL(create_rss_as(WITH(req, rx_hash_function, 2)), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(create_rss_as(WITH(req, rx_key_len, 39)), -EINVAL);
	CU_ASSERT_EQUAL(create_rss_as(WITH(req, rx_hash_fields_mask, MLX5_RX_HASH_INNER)), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(
		create_rss_as(WITH(req, rx_hash_fields_mask, MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_DST_IPV6)),
		-EINVAL);
	CU_ASSERT_EQUAL(create_rss_as(WITH(req, flags, MLX5_QP_FLAG_TUNNEL_OFFLOADS)), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(create_rss_as(WITH(req, comp_mask, 1)), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(create_rss_as(WITH(req, flags, 1u << 31)), -EINVAL);
	CU_ASSERT_EQUAL(create_rss_as(WITH(req, reserved[5], 1)), 0); /* mlx5_ib does not look at it */
	CU_ASSERT_EQUAL(create_rss(init, req, sizeof(req) - 4), -EINVAL);
	CU_ASSERT_EQUAL(create_rss(WITH(init, type, HCASIM_QPT_UD), req, sizeof(req)), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(create_rss(WITH(init, send_cq, &w.cq.base), req, sizeof(req)), -EINVAL);
	CU_ASSERT_EQUAL(create_rss(WITH(init, max_send_wr, 1), req, sizeof(req)), -EINVAL);
}

static void test_rss(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct drv_qp_init init = wq_init;

		CU_ASSERT_EQUAL_FATAL(create_wq_of(&w.wq[i], &init, good_wq), 0);
		w.wqn[i] = w.wq[i].base.qpn;
	}
	w.table = (struct drv_rwq_table){.dev = &w.dev, .log_size = 1, .wqn = w.wqn};
	CU_ASSERT_EQUAL_FATAL(mlx5_drv_ops.create_rwq_table(&w.table), 0);
	CU_ASSERT_EQUAL(create_rss_as(good_rss()), 0);
	refuse_rss();
	mlx5_drv_ops.destroy_rwq_table(&w.table);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&w.wq[0].base), 0);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&w.wq[1].base), 0);
}

static void test_caps(void)
{
	struct ib_uverbs_ex_query_device_resp out = {0};
	struct mlx5_ib_query_device_resp own = {0};
	struct drv_udata u = {.out = &own, .out_len = sizeof(own)};

	mlx5_drv_ops.query_device(&w.dev, &out);
	CU_ASSERT_EQUAL(out.rss_caps.supported_qpts, 1u << HCASIM_QPT_RAW_PACKET);
	CU_ASSERT(out.max_wq_type_rq > 0);
	mlx5_drv_ops.query_device_ex(&w.dev, &u);
	CU_ASSERT_EQUAL(own.rss_caps.rx_hash_function, MLX5_RX_HASH_FUNC_TOEPLITZ);
	CU_ASSERT_EQUAL(own.rss_caps.rx_hash_fields_mask, 0xff);
}

int main(void)
{
	static const CU_TestInfo tests[] = {{"work queues", test_wq},
					    {"refused work queues", test_refused},
					    {"QPs over a table", test_rss},
					    {"capabilities", test_caps},
					    CU_TEST_INFO_NULL};

	return suite_run("mlx5 work queues", world_init, world_exit, tests);
}
