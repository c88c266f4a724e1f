// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The udata of commands of the mlx5 family, beyond what describes an object: reserved members, flags, and ECE. */
#include <errno.h>
#include <string.h>
#include <CUnit/Basic.h>

#include "mlx5_devx_world.h"
#include "suite.h"

#define UDATA(req, resp)                                                                                     \
	{                                                                                                    \
		.in = &(req), .in_len = sizeof(req), .out = &(resp), .out_len = sizeof(resp),                \
		.read_user = read_user, .pin_user = pin_user, .pin_record = pin_user                         \
	}

static struct common_pd pd;
static struct mlx5_cq cq;

static int read_user(const struct drv_udata *u, void *dst, uint64_t src, size_t size)
{
	memset(dst, 0, size);
	return 0;
}

static int pin_user(const struct drv_udata *u, uint64_t addr, size_t size)
{
	return 0;
}

static int create_cq(struct mlx5_cq *made, const struct mlx5_ib_create_cq *cmd)
{
	struct mlx5_ib_create_cq req = *cmd;
	struct mlx5_ib_create_cq_resp resp;
	struct drv_udata u = UDATA(req, resp);

	*made = (struct mlx5_cq){.base.ctx = &w.ctx.base};
	return mlx5_drv_ops.create_cq(&made->base, 100, 0, 0, &u);
}

static int world_init(void)
{
	const struct mlx5_ib_create_cq cmd = {.buf_addr = 0x10000, .db_addr = 0x20000, .cqe_size = 64};
	struct mlx5_ib_alloc_pd_resp resp;
	struct drv_udata u = {.out = &resp, .out_len = sizeof(resp)};

	pd.base.ctx = &w.ctx.base;
	return devx_world_init() || mlx5_drv_ops.alloc_pd(&pd.base, &u) || create_cq(&cq, &cmd);
}

static int world_exit(void)
{
	const int ret = mlx5_drv_ops.destroy_cq(&cq.base);

	mlx5_drv_ops.dealloc_pd(&pd.base);
	return devx_world_exit() || ret;
}

/* ---- What mlx5_ib looks at besides: reserved members, flags, and what follows ---- */

static void test_reserved_cq(void)
{
	const struct mlx5_ib_create_cq good = {.buf_addr = 0x10000, .db_addr = 0x20000, .cqe_size = 64};
	struct mlx5_ib_create_cq bad[3] = {good, good, good};
	struct mlx5_cq other;

	bad[0].reserved0 = 1;
	bad[1].reserved1 = 1;
	bad[2].flags = 1 << 15;
	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(create_cq(&other, &bad[i]), -EINVAL);
}

static void test_reserved_srq(void)
{
	struct {
		struct mlx5_ib_create_srq known;
		uint32_t behind;
	} req = {.known = {.buf_addr = 0x10000, .db_addr = 0x20000}};
	const struct {
		uint32_t *member, value;
		int ret;
	} of[] = {
		{&req.known.reserved0, 1, -EINVAL},
		{&req.known.reserved1, 1, -EINVAL},
		{&req.known.flags, MLX5_SRQ_FLAG_SIGNATURE, -EOPNOTSUPP},
		{&req.known.flags, 2, 0}, /* no other flag is looked at */
		{&req.behind, 1, -EINVAL},
		{&req.behind, 0, 0},
	};
	struct mlx5_ib_create_srq_resp resp;
	struct drv_udata u = UDATA(req, resp);
	struct mlx5_srq srq = {.base.pd = &pd.base};

	for (unsigned int i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct drv_srq_init init = {.max_wr = 100, .max_sge = 3};

		*of[i].member = of[i].value;
		CU_ASSERT_EQUAL(mlx5_drv_ops.create_srq(&srq.base, &init, &u), of[i].ret);
		if (!of[i].ret)
			CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_srq(&srq.base), 0);
		*of[i].member = 0;
	}
}

struct qp_request {
	struct mlx5_ib_create_qp known;
	uint32_t behind;
};

/* With so many bytes of the request; `resp`: what is answered. */
static int create_qp_by(struct mlx5_qp *qp, uint8_t type, struct qp_request *req, size_t len,
			struct mlx5_ib_create_qp_resp *resp)
{
	struct drv_udata u = UDATA(*req, *resp);
	struct drv_qp_init init = {.type = type, .max_send_wr = 10};

	memset(qp, 0, sizeof(*qp));
	qp->base = (struct drv_qp){.dev = &w.dev, .pd = &pd.base, .type = type};
	init.send_cq = init.recv_cq = &cq.base;
	u.in_len = len;
	return mlx5_drv_ops.create_qp(&qp->base, &init, &u);
}

static void test_reserved_qp(void)
{
	static const struct {
		struct qp_request req;
		int ret;
	} of[] = {
		{{.known = {.sq_wqe_count = 64, .flags = 1u << 31}}, -EINVAL},
		{{.known = {.sq_wqe_count = 64, .flags = MLX5_QP_FLAG_SIGNATURE}}, -EOPNOTSUPP},
		{{.known = {.sq_wqe_count = 64, .reserved = 1}}, -EINVAL},
		{{.known = {.sq_wqe_count = 64}, .behind = 1}, -EINVAL},
	};
	const size_t old = offsetof(struct mlx5_ib_create_qp, ece_options);
	struct mlx5_ib_create_qp_resp resp;
	struct qp_request req;
	struct mlx5_qp qp;

	for (unsigned int i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		req = of[i].req;
		CU_ASSERT_EQUAL(create_qp_by(&qp, HCASIM_QPT_RC, &req, sizeof(req), &resp), of[i].ret);
	}
	CU_ASSERT_EQUAL(create_qp_by(&qp, HCASIM_QPT_RC, &req, old - 1, &resp), -EINVAL);
	CU_ASSERT_EQUAL(create_qp_by(&qp, HCASIM_QPT_RC, &req, old, &resp), 0);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp.base), 0);
}

struct modify_request {
	struct mlx5_ib_modify_qp known;
	uint32_t behind;
};

static int modify_qp(struct mlx5_qp *qp, uint8_t state, const struct modify_request *req, size_t len,
		     struct mlx5_ib_modify_qp_resp *resp)
{
	const struct hca_qp_attr attr = {.state = state, .port = 1};
	const uint32_t key =
		qp->base.type == HCASIM_QPT_UD ? HCASIM_QP_ATTR_QKEY : HCASIM_QP_ATTR_ACCESS_FLAGS;
	const uint32_t more =
		state == HCASIM_QPS_INIT ? HCASIM_QP_ATTR_PORT | HCASIM_QP_ATTR_PKEY_INDEX | key : 0;
	struct drv_udata u = UDATA(*req, *resp);

	u.in_len = len;
	memset(resp, 0, sizeof(*resp));
	return mlx5_drv_ops.modify_qp(&qp->base, &attr, HCASIM_QP_ATTR_STATE | more, &u);
}

static void test_reserved_modify(void)
{
	static const struct {
		struct modify_request req;
		int ret;
	} of[] = {
		{{.known.comp_mask = 1}, -EOPNOTSUPP},
		{{.known.burst_info.reserved = 1}, -EOPNOTSUPP},
		{{.behind = 1}, -EOPNOTSUPP},
		{{.known.burst_info.max_burst_sz = 1}, -EINVAL}, /* without a rate */
		{{.behind = 0}, 0},
	};
	struct qp_request req = {.known.sq_wqe_count = 64};
	struct mlx5_ib_modify_qp_resp resp;
	struct mlx5_ib_create_qp_resp made;
	struct mlx5_qp qp;

	CU_ASSERT_EQUAL_FATAL(create_qp_by(&qp, HCASIM_QPT_RC, &req, sizeof(req), &made), 0);
	CU_ASSERT_EQUAL(modify_qp(&qp, HCASIM_QPS_INIT, &of[4].req, sizeof(of[4].req.known) - 1, &resp),
			-EINVAL);
	for (unsigned int i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		CU_ASSERT_EQUAL(modify_qp(&qp, HCASIM_QPS_INIT, &of[i].req, sizeof(of[i].req), &resp),
				of[i].ret);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp.base), 0);
}

/* ---- Enhanced connection establishment ---- */

static uint32_t asked(struct mlx5_qp *qp, uint8_t state, uint32_t options)
{
	const struct modify_request req = {.known.ece_options = options};
	struct mlx5_ib_modify_qp_resp resp;

	CU_ASSERT_EQUAL(modify_qp(qp, state, &req, sizeof(req.known), &resp), 0);
	return resp.ece_options;
}

/* Of any options the adapter has the first version, which has none; 0 and other states ask for nothing. */
static void test_ece(void)
{
	struct qp_request req = {.known = {.sq_wqe_count = 64, .ece_options = 0x10000000}};
	struct mlx5_ib_create_qp_resp made = {0};
	struct mlx5_qp qp;

	CU_ASSERT_EQUAL_FATAL(create_qp_by(&qp, HCASIM_QPT_RC, &req, sizeof(req.known), &made), 0);
	CU_ASSERT_EQUAL(made.ece_options, 0x10000000);
	CU_ASSERT_EQUAL(asked(&qp, HCASIM_QPS_INIT, 0x30000002), 0x10000000);
	CU_ASSERT_EQUAL(asked(&qp, HCASIM_QPS_INIT, 0x0fffffff), 0);
	CU_ASSERT_EQUAL(asked(&qp, HCASIM_QPS_INIT, 0), 0);
	CU_ASSERT_EQUAL(asked(&qp, HCASIM_QPS_ERR, 0x10000000), 0);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp.base), 0);
	req.known.ece_options = 0;
	CU_ASSERT_EQUAL_FATAL(create_qp_by(&qp, HCASIM_QPT_RC, &req, sizeof(req.known), &made), 0);
	CU_ASSERT_EQUAL(made.ece_options, 0);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp.base), 0);
}

/* A QP that is not connected keeps the options that it was created with. */
static void test_ece_of_datagrams(void)
{
	struct qp_request req = {.known = {.sq_wqe_count = 64, .ece_options = 0x10000000}};
	const struct modify_request other = {.known.ece_options = 0x30000002};
	struct mlx5_ib_create_qp_resp made = {0};
	struct mlx5_ib_modify_qp_resp resp;
	struct mlx5_qp qp;

	CU_ASSERT_EQUAL_FATAL(create_qp_by(&qp, HCASIM_QPT_UD, &req, sizeof(req.known), &made), 0);
	CU_ASSERT_EQUAL(made.ece_options, 0x10000000);
	CU_ASSERT_EQUAL(modify_qp(&qp, HCASIM_QPS_INIT, &other, sizeof(other.known), &resp), -EINVAL);
	CU_ASSERT_EQUAL(asked(&qp, HCASIM_QPS_INIT, 0x10000000), 0x10000000);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp.base), 0);
	made.ece_options = 0;
	CU_ASSERT_EQUAL_FATAL(create_qp_by(&qp, HCASIM_QPT_RAW_PACKET, &req, sizeof(req.known), &made), 0);
	CU_ASSERT_EQUAL(made.ece_options, 0);
	CU_ASSERT_EQUAL(mlx5_drv_ops.destroy_qp(&qp.base), 0);
}

int main(void)
{
	static const CU_TestInfo tests[] = {{"reserved, CQ", test_reserved_cq},
					    {"reserved, SRQ", test_reserved_srq},
					    {"reserved, QP", test_reserved_qp},
					    {"reserved, changes of a QP", test_reserved_modify},
					    {"ECE", test_ece},
					    {"ECE of datagrams", test_ece_of_datagrams},
					    CU_TEST_INFO_NULL};

	return suite_run("mlx5 udata", world_init, world_exit, tests);
}
