// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <time.h>

#include "link.h"
#include "live.h"

struct ibv_context *live_ctx;

void live_open(struct live *l, const struct ibv_qp_cap *cap, int cqe)
{
	memset(l, 0, sizeof(*l));
	l->buf = aligned_alloc(4096, LIVE_SIZE);
	memset(l->buf, 0, LIVE_SIZE);
	l->pd = ibv_alloc_pd(live_ctx);
	CU_ASSERT_PTR_NOT_NULL_FATAL(l->pd);
	l->mr = ibv_reg_mr(l->pd, l->buf, LIVE_SIZE,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC);
	CU_ASSERT_PTR_NOT_NULL_FATAL(l->mr);
	l->cq = ibv_create_cq(live_ctx, cqe, NULL, NULL, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(l->cq);
	if (!cap)
		return;
	l->qp = live_create_qp(l, l->pd, cap);
	live_connect(l->qp);
}

void live_close(struct live *l)
{
	if (l->qp)
		CU_ASSERT_EQUAL(ibv_destroy_qp(l->qp), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(l->cq), 0);
	CU_ASSERT_EQUAL(ibv_dereg_mr(l->mr), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(l->pd), 0);
	free(l->buf);
}

struct ibv_qp *live_create_qp(struct live *l, struct ibv_pd *pd, const struct ibv_qp_cap *cap)
{
	return live_create_qp_of(live_ctx, l, pd, cap);
}

struct ibv_qp *live_create_qp_of(struct ibv_context *ctx, struct live *l, struct ibv_pd *pd,
				 const struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.cap = *cap,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(ctx, &init);

	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	CU_ASSERT_TRUE(init.cap.max_send_wr >= cap->max_send_wr);
	CU_ASSERT_TRUE(init.cap.max_inline_data >= cap->max_inline_data);
	return qp;
}

void live_modify(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	CU_ASSERT_EQUAL_FATAL(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

void live_connect(struct ibv_qp *qp)
{
	const struct link both = {.ctx = {live_ctx, live_ctx}};

	link_connect_end(&both, qp, 0, qp->qp_num);
}

int live_write(struct live *l, struct ibv_qp *qp, uint64_t wr_id, uint32_t len, unsigned int flags)
{
	struct ibv_sge sge = {.addr = (uintptr_t)l->buf, .length = len, .lkey = l->mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = flags,
		.wr.rdma = {(uintptr_t)l->buf + LIVE_SIZE / 2, l->mr->rkey},
	};
	struct ibv_send_wr *bad;

	return ibv_post_send(qp, &wr, &bad);
}

int live_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct timespec start, now;
	int got = 0;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		got += ibv_poll_cq(cq, n - got, wc + got);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (got < n && now.tv_sec - start.tv_sec < 10);
	CU_ASSERT_EQUAL(got, n);
	return got;
}

int live_main(const char *suite, const struct live_test *tests)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	unsigned int failures;
	CU_pSuite s;

	live_ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (!live_ctx) {
		fprintf(stderr, "%s: no adapter can be opened\n", suite);
		return 2;
	}
	ibv_free_device_list(list);
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	s = CU_add_suite(suite, NULL, NULL);
	for (; tests->name; tests++)
		if (!CU_add_test(s, tests->name, tests->run))
			return 2;
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures() + !CU_get_number_of_asserts();
	CU_cleanup_registry();
	return failures || ibv_close_device(live_ctx) ? 1 : 0;
}
