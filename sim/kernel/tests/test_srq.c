// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues: limits, modify and query, and which objects keep them in use. */
#include <fcntl.h>
#include <stdio.h>

#include "harness.h"

static void ready(void)
{
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
}

static int destroy_srq(uint32_t handle)
{
	const struct ib_uverbs_destroy_srq cmd = {.srq_handle = handle};
	struct ib_uverbs_destroy_srq_resp resp;

	return do_write(IB_USER_VERBS_CMD_DESTROY_SRQ, &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp), NULL,
			0);
}

static int modify(uint32_t mask, uint32_t max_wr, uint32_t limit)
{
	const struct ib_uverbs_modify_srq cmd = {w.srq, mask, max_wr, limit};

	return do_write(IB_USER_VERBS_CMD_MODIFY_SRQ, &cmd, sizeof(cmd), NULL, 0, NULL, 0, NULL, 0);
}

static void expect(uint32_t max_wr, uint32_t limit)
{
	const struct ib_uverbs_query_srq cmd = {.srq_handle = w.srq};
	struct ib_uverbs_query_srq_resp resp = {0};

	CHECK_ERR(do_write(IB_USER_VERBS_CMD_QUERY_SRQ, &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp), NULL,
			   0),
		  0);
	CU_ASSERT_EQUAL(resp.max_wr, max_wr);
	CU_ASSERT_EQUAL(resp.max_sge, 1);
	CU_ASSERT_EQUAL(resp.srq_limit, limit);
}

static void attributes(void)
{
	ready();
	CHECK_ERR(make_srq(0, 0), -EINVAL);
	CHECK_ERR(make_srq(HCASIM_MAX_SRQ_WR + 1, 0), -EINVAL);
	CHECK_ERR(make_srq(8, 9), 0);
	expect(8, 0); /* native adapters ignore it */
	CHECK_ERR(make_srq(8, 0), 0);
	expect(8, 0);
	CHECK_ERR(modify(1, HCASIM_MAX_SRQ_WR, 99), 0);
	expect(HCASIM_MAX_SRQ_WR, 0);
	CHECK_ERR(modify(1, 0, 0), -EINVAL);
	CHECK_ERR(modify(1, HCASIM_MAX_SRQ_WR + 1, 0), -EINVAL);
	CHECK_ERR(modify(4, 1, 0), -EOPNOTSUPP);
	CHECK_ERR(modify(3, 4, 5), -EINVAL);
	expect(HCASIM_MAX_SRQ_WR, 0);
	/* Nothing is posted: the limit event is raised as soon as the machine runs. */
	CHECK_ERR(modify(2, 0, 7), 0);
	expect(HCASIM_MAX_SRQ_WR, 7);
	run_machine();
	expect(HCASIM_MAX_SRQ_WR, 0);
	file_close();
}

static int qp_on_srq(uint32_t max_recv_wr, uint32_t rq_wqes)
{
	const struct ib_uverbs_create_qp cmd = {.pd_handle = w.pd,
						.send_cq_handle = w.cq,
						.recv_cq_handle = w.cq,
						.srq_handle = w.srq,
						.is_srq = 1,
						.max_send_wr = 4,
						.max_recv_wr = max_recv_wr,
						.max_send_sge = 1,
						.qp_type = HCASIM_QPT_RC};
	const struct hcasim_create_qp_req req = {
		.sq_wqebb = 8, .rq_wqe_count = rq_wqes, .rq_stride = rq_wqes ? 32 : 0};
	struct ib_uverbs_create_qp_resp resp = {0};
	int ret;

	ret = do_write(IB_USER_VERBS_CMD_CREATE_QP, &cmd, sizeof(cmd), &req, sizeof(req), &resp, sizeof(resp),
		       &w.qp_resp, sizeof(w.qp_resp));
	w.qp = resp.qp_handle;
	CU_ASSERT_EQUAL(resp.max_recv_wr, 0);
	return ret;
}

static void held(void)
{
	struct ib_uverbs_destroy_qp_resp resp;

	ready();
	CHECK_ERR(make_srq(8, 0), 0);
	CHECK_ERR(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, w.pd), -EBUSY);
	CHECK_ERR(qp_on_srq(0, 8), -EINVAL);
	CHECK_ERR(qp_on_srq(50, 0), 0); /* its own receive queue size is ignored */
	CHECK_ERR(destroy_srq(w.srq), -EBUSY);
	CHECK_ERR(destroy_qp(w.qp, &resp), 0);
	CHECK_ERR(destroy_srq(w.srq), 0);
	CHECK_ERR(destroy_srq(w.srq), -ENOENT);
	w.srq = 12345;
	CHECK_ERR(qp_on_srq(0, 0), -ENOENT);
	file_close();
}

static int make_tm(uint32_t num_tags, uint32_t ops, uint32_t cq)
{
	const struct hcasim_create_srq_req req = {
		.wqe_count = HCASIM_MAX_SRQ_WR, .stride = 32, .tm_ops = ops};
	const struct ib_uverbs_create_xsrq cmd = {.srq_type = IB_UVERBS_SRQT_TM,
						  .pd_handle = w.pd,
						  .max_wr = 8,
						  .max_sge = 1,
						  .max_num_tags = num_tags,
						  .cq_handle = cq};
	struct ib_uverbs_create_srq_resp resp = {0};
	struct hcasim_create_srq_resp drv = {0};
	int ret;

	ret = do_write(IB_USER_VERBS_CMD_CREATE_XSRQ, &cmd, sizeof(cmd), &req, sizeof(req), &resp,
		       sizeof(resp), &drv, sizeof(drv));
	w.srq = resp.srq_handle;
	CU_ASSERT_EQUAL(resp.srqn, 0); /* XRC only */
	if (!ret)
		CU_ASSERT_TRUE(drv.tm_ops_offset > drv.record_offset);
	return ret;
}

/* A tag-matching SRQ holds its CQ; the size of its list and of its ring have limits. */
static void tag_matching(void)
{
	struct ib_uverbs_destroy_qp_resp resp;
	struct ib_uverbs_destroy_cq_resp gone;

	ready();
	CHECK_ERR(make_tm(0, 16, w.cq), -EINVAL);
	CHECK_ERR(make_tm(HCASIM_TM_MAX_TAGS + 1, 16, w.cq), -EINVAL);
	CHECK_ERR(make_tm(4, 0, w.cq), -EINVAL);
	CHECK_ERR(make_tm(4, 15, w.cq), -EINVAL);
	CHECK_ERR(make_tm(4, 2 * HCASIM_TM_MAX_OPS, w.cq), -EINVAL);
	CHECK_ERR(make_tm(4, 16, 12345), -ENOENT);
	CHECK_ERR(make_tm(HCASIM_TM_MAX_TAGS, HCASIM_TM_MAX_OPS, w.cq), 0);
	CHECK_ERR(qp_on_srq(0, 0), 0);
	CHECK_ERR(destroy_srq(w.srq), -EBUSY);
	CHECK_ERR(destroy_qp(w.qp, &resp), 0);
	CHECK_ERR(destroy_cq(w.cq, &gone), -EBUSY);
	CHECK_ERR(destroy_srq(w.srq), 0);
	CHECK_ERR(destroy_cq(w.cq, &gone), 0);
	file_close();
}

static void number(void)
{
	unsigned int n;
	int ret = 0;

	ready();
	for (n = 0; !ret && n < 1000; n++)
		ret = make_srq(8, 0);
	CHECK_ERR(ret, -ENOMEM);
	CU_ASSERT_EQUAL(n - 1, 64);
	file_close();
	ready();
	CHECK_ERR(make_srq(8, 0), 0);
	file_close();
}

/*
 * Two contexts with the same file share a domain: a QP of it belongs to both, and is destroyed with the last.
 */
static void shared_domain(void)
{
	struct ib_uverbs_create_qp_resp resp = {0};
	struct ib_uverbs_destroy_qp_resp gone;
	struct ib_uverbs_open_qp open = {.qp_type = HCASIM_QPT_XRC_RECV};
	FILE *file = tmpfile(), *other = tmpfile();
	struct kfile *first;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	ready();
	CHECK_ERR(make_xrcd(fileno(file), 0), -EAGAIN);
	CHECK_ERR(make_xrcd(12345, O_CREAT), -EBADF);
	CHECK_ERR(make_xrcd(fileno(file), O_CREAT), 0);
	CHECK_ERR(make_xrcd(fileno(file), O_CREAT | O_EXCL), -EINVAL);
	CHECK_ERR(make_xrcd(fileno(file), O_CREAT), 0);
	w.pd = w.xrcd;
	CHECK_ERR(make_qp(HCASIM_QPT_XRC_RECV), 0);
	CHECK_ERR(destroy(IB_USER_VERBS_CMD_CLOSE_XRCD, w.xrcd), -EBUSY);
	first = w.f;

	w.f = NULL;
	CU_ASSERT_EQUAL_FATAL(kernel_open(w.k, &w.task, "uverbs0", 0, &w.f), 0);
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_xrcd(fileno(other), O_CREAT), 0);
	open.pd_handle = w.xrcd;
	open.qpn = w.qpn;
	CHECK_ERR(do_write(IB_USER_VERBS_CMD_OPEN_QP, &open, sizeof(open), NULL, 0, &resp, sizeof(resp), NULL,
			   0),
		  -EINVAL);
	CHECK_ERR(make_xrcd(fileno(file), 0), 0);
	open.pd_handle = w.xrcd;
	CHECK_ERR(do_write(IB_USER_VERBS_CMD_OPEN_QP, &open, sizeof(open), NULL, 0, &resp, sizeof(resp), NULL,
			   0),
		  0);
	CU_ASSERT_EQUAL(resp.qpn, w.qpn);
	w.qp = resp.qp_handle;
	CHECK_ERR(qp_to_state(HCASIM_QPT_XRC_RECV, HCASIM_QPS_INIT), 0);

	kernel_release(first);
	CHECK_ERR(qp_to_state(HCASIM_QPT_XRC_RECV, HCASIM_QPS_ERR), 0); /* the QP still exists */
	CHECK_ERR(destroy_qp(w.qp, &gone), 0);
	CHECK_ERR(do_write(IB_USER_VERBS_CMD_OPEN_QP, &open, sizeof(open), NULL, 0, &resp, sizeof(resp), NULL,
			   0),
		  -EINVAL);
	CHECK_ERR(destroy(IB_USER_VERBS_CMD_CLOSE_XRCD, w.xrcd), 0);
	file_close();
	fclose(file);
	fclose(other);
}

void add_srq_suite(void)
{
	CU_pSuite s = CU_add_suite("shared receive queues", world_init, world_exit);

	CU_add_test(s, "attributes", attributes);
	CU_add_test(s, "who holds it", held);
	CU_add_test(s, "tag matching", tag_matching);
	CU_add_test(s, "how many", number);
	CU_add_test(s, "XRC domain of two contexts", shared_domain);
}
