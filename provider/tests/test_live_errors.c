// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Every verb that fails: what it returns, and that errno says the same. Bits that the adapter does not know, in
 * masks and flags, are EOPNOTSUPP, but where libibverbs or the kernel looks first and says EINVAL. Needs an adapter.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hcasim_wr.h"
#include "live.h"

#define UNKNOWN (1u << 30)

/* A call that returns the error, and one that returns NULL; errno holds it in both cases. */
#define FAILS(err, call) failed(err, call, #call)
#define NOTHING(err, call)                                                                                   \
	do {                                                                                                 \
		errno = 0;                                                                                   \
		CU_ASSERT_PTR_NULL(call);                                                                    \
		failed(err, err, #call);                                                                     \
	} while (0)

static const struct ibv_qp_cap small_cap = {4, 4, 1, 1, 0};

/* The arguments are evaluated before: errno is that of the call, or what the failure before it has left. */
static void failed(int expected, int got, const char *call)
{
	int said = errno;

	if (got != expected || said != expected) {
		printf("\n  %s: %d, errno %d; expected %d ", call, got, said, expected);
		CU_FAIL("return value or errno");
	}
	errno = 0;
}

static void test_domains(void)
{
	struct ibv_td_init_attr td_attr = {.comp_mask = UNKNOWN};
	struct ibv_parent_domain_init_attr attr = {.comp_mask = UNKNOWN};
	struct ibv_ah_attr ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 1};
	struct ibv_pd *parent, *pd;
	struct ibv_ah *ah;
	struct ibv_td *td;
	struct live l;

	live_open(&l, &small_cap, 4);
	FAILS(EBUSY, ibv_dealloc_pd(l.pd)); /* a QP and an MR */
	pd = ibv_alloc_pd(live_ctx);
	CU_ASSERT_EQUAL(ibv_query_gid(live_ctx, 1, 0, &ah_attr.grh.dgid), 0);
	ah = ibv_create_ah(pd, &ah_attr);
	errno = 0;
	FAILS(EBUSY, ibv_dealloc_pd(pd));
	CU_ASSERT_EQUAL(ibv_destroy_ah(ah), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(pd), 0);
	ah_attr.is_global = 0;
	NOTHING(EINVAL, ibv_create_ah(l.pd, &ah_attr));
	NOTHING(EOPNOTSUPP, ibv_alloc_td(live_ctx, &td_attr));
	td_attr.comp_mask = 0;
	attr.td = td = ibv_alloc_td(live_ctx, &td_attr);
	attr.pd = l.pd;
	NOTHING(EOPNOTSUPP, ibv_alloc_parent_domain(live_ctx, &attr));
	attr.comp_mask = 0;
	parent = ibv_alloc_parent_domain(live_ctx, &attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(parent);
	errno = 0;
	FAILS(EBUSY, ibv_dealloc_td(td));
	FAILS(EBUSY, ibv_dealloc_pd(l.pd));
	attr.pd = parent;
	NOTHING(EINVAL, ibv_alloc_parent_domain(live_ctx, &attr));
	attr.pd = NULL;
	NOTHING(EINVAL, ibv_alloc_parent_domain(live_ctx, &attr));
	CU_ASSERT_EQUAL(ibv_dealloc_pd(parent), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_td(td), 0);
	live_close(&l);
}

static void test_device(void)
{
	struct ibv_query_device_ex_input input = {.comp_mask = UNKNOWN};
	struct ibv_values_ex values = {.comp_mask = UNKNOWN};
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;

	CU_ASSERT_EQUAL(ibv_query_device_ex(live_ctx, &input, &attr),
			EINVAL); /* verbs.h, which leaves errno */
	errno = 0;
	FAILS(EOPNOTSUPP, ibv_query_rt_values_ex(live_ctx, &values));
	FAILS(EINVAL, ibv_query_port(live_ctx, 200, &port));
}

static void test_memory(void)
{
	struct ibv_mr *mr;
	struct live l;
	int flags = IBV_REREG_MR_CHANGE_ACCESS;

	live_open(&l, NULL, 4);
	NOTHING(EINVAL, ibv_reg_mr(l.pd, l.buf, 64, 1 << 14)); /* the kernel: ib_check_mr_access() */
	NOTHING(EINVAL, ibv_reg_mr(l.pd, l.buf, 64, IBV_ACCESS_REMOTE_WRITE));
	NOTHING(EFAULT, ibv_reg_mr(l.pd, (void *)64, 64, 0));
	NOTHING(EINVAL, ibv_alloc_mw(l.pd, 7));
	mr = ibv_reg_mr(l.pd, l.buf, 64, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	errno = 0;
	CU_ASSERT_EQUAL(ibv_rereg_mr(mr, UNKNOWN, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT); /* libibverbs */
	CU_ASSERT_EQUAL(errno, EINVAL);
	errno = 0;
	CU_ASSERT_EQUAL(ibv_rereg_mr(mr, flags, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE),
			IBV_REREG_MR_ERR_CMD);
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	live_close(&l);
}

/* A region, and a QP, that a window holds or that has none to bind. */
static void test_windows(void)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
	struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED};
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_wc wc;
	struct live l;

	live_open(&l, NULL, 4);
	qp = live_create_qp(&l, l.pd, &small_cap);
	mr = ibv_reg_mr(l.pd, l.buf, 64, access);
	mw = ibv_alloc_mw(l.pd, IBV_MW_TYPE_1);
	bind.bind_info = (struct ibv_mw_bind_info){mr, (uintptr_t)l.buf, 64, IBV_ACCESS_REMOTE_WRITE};
	errno = 0;
	FAILS(EINVAL, ibv_bind_mw(qp, mw, &bind)); /* in RESET */
	live_connect(qp);
	CU_ASSERT_EQUAL(ibv_bind_mw(qp, mw, &bind), 0);
	CU_ASSERT_EQUAL(live_poll(l.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	errno = 0;
	FAILS(EBUSY, ibv_dereg_mr(mr));
	CU_ASSERT_EQUAL(ibv_dealloc_mw(mw), 0);
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	live_close(&l);
}

static struct ibv_cq_ex *try_cq(uint32_t cqe, uint32_t mask, uint64_t wc_flags, uint32_t flags)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe, .comp_mask = mask, .wc_flags = wc_flags, .flags = flags};

	return ibv_create_cq_ex(live_ctx, &attr);
}

static void test_cqs(void)
{
	struct ibv_modify_cq_attr attr = {.attr_mask = UNKNOWN};
	struct ibv_poll_cq_attr poll = {.comp_mask = UNKNOWN};
	struct ibv_cq_ex *cq;
	struct live l;

	live_open(&l, &small_cap, 4);
	NOTHING(EOPNOTSUPP, try_cq(4, UNKNOWN, 0, 0));
	NOTHING(EOPNOTSUPP, try_cq(4, 0, UNKNOWN, 0));
	NOTHING(EOPNOTSUPP, try_cq(4, IBV_CQ_INIT_ATTR_MASK_FLAGS, 0, UNKNOWN));
	NOTHING(EINVAL, try_cq(0, 0, 0, 0));
	FAILS(EBUSY, ibv_destroy_cq(l.cq));
	FAILS(EINVAL, ibv_resize_cq(l.cq, 0));
	FAILS(EINVAL, ibv_resize_cq(l.cq, 1 << 30));
	FAILS(EINVAL, ibv_modify_cq(l.cq, &attr)); /* libibverbs */
	cq = try_cq(4, 0, 0, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cq);
	errno = 0;
	FAILS(EOPNOTSUPP, ibv_start_poll(cq, &poll));
	CU_ASSERT_EQUAL(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	live_close(&l);
}

static struct ibv_qp *try_qp(struct live *l, enum ibv_qp_type type, uint32_t mask, uint32_t create_flags)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type,
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.cap = small_cap,
		.comp_mask = IBV_QP_INIT_ATTR_PD | mask,
		.pd = l->pd,
		.create_flags = create_flags,
	};

	return ibv_create_qp_ex(live_ctx, &init);
}

static void test_qps(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};
	struct ibv_qp_init_attr init;
	union ibv_gid gid = {.raw = {0xff, 0x0e}};
	struct live l;
	struct ibv_qp *qp;

	live_open(&l, NULL, 4);
	NOTHING(EOPNOTSUPP, try_qp(&l, IBV_QPT_RC, UNKNOWN, 0));
	NOTHING(EOPNOTSUPP, try_qp(&l, IBV_QPT_RC, IBV_QP_INIT_ATTR_CREATE_FLAGS, UNKNOWN));
	NOTHING(EOPNOTSUPP, try_qp(&l, IBV_QPT_DRIVER, 0, 0));
	NOTHING(EOPNOTSUPP, try_qp(&l, IBV_QPT_XRC_RECV, IBV_QP_INIT_ATTR_XRCD | UNKNOWN, 0));
	NOTHING(EOPNOTSUPP, try_qp(&l, IBV_QPT_XRC_RECV, IBV_QP_INIT_ATTR_CREATE_FLAGS, UNKNOWN));
	NOTHING(EINVAL, try_qp(&l, IBV_QPT_XRC_RECV, 0, 0));
	qp = live_create_qp(&l, l.pd, &small_cap);
	errno = 0;
	FAILS(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE)); /* from RESET */
	FAILS(EOPNOTSUPP, ibv_modify_qp(qp, &attr, UNKNOWN));
	FAILS(EOPNOTSUPP, ibv_query_qp(qp, &attr, UNKNOWN, &init));
	FAILS(EINVAL, ibv_attach_mcast(qp, &gid, 0)); /* no UD QP */
	FAILS(EINVAL, ibv_detach_mcast(qp, &gid, 0));
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	live_close(&l);
}

static void test_posting(void)
{
	struct ibv_sge sge[2] = {};
	struct ibv_recv_wr recv = {.sg_list = sge}, *rbad;
	struct ibv_send_wr send = {.sg_list = sge, .opcode = IBV_WR_SEND}, *sbad;
	struct ibv_qp_ex *qpx;
	struct ibv_qp *qp;
	struct live l;
	int i;

	live_open(&l, NULL, 4);
	qp = live_create_qp(&l, l.pd, &small_cap);
	errno = 0;
	FAILS(EINVAL, ibv_post_send(qp, &send, &sbad)); /* in RESET */
	FAILS(EINVAL, ibv_post_recv(qp, &recv, &rbad));
	live_connect(qp);
	recv.num_sge = send.num_sge = 2;
	errno = 0;
	FAILS(EINVAL, ibv_post_send(qp, &send, &sbad));
	FAILS(EINVAL, ibv_post_recv(qp, &recv, &rbad));
	recv.num_sge = send.num_sge = 0;
	send.send_flags = UNKNOWN;
	FAILS(EINVAL, ibv_post_send(qp, &send, &sbad)); /* erratum FLAGS-UNKNOWN */
	for (i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(ibv_post_recv(qp, &recv, &rbad), 0);
	errno = 0;
	FAILS(ENOMEM, ibv_post_recv(qp, &recv, &rbad));
	qpx = ibv_qp_to_qp_ex(qp);
	ibv_wr_start(qpx);
	ibv_wr_rdma_read(qpx, 0, 0); /* was not asked for */
	FAILS(EINVAL, ibv_wr_complete(qpx));
	FAILS(EINVAL, ibv_wr_complete(qpx)); /* no region is open */
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	live_close(&l);
}

static struct ibv_srq *try_srq(struct live *l, uint32_t mask, uint32_t max_wr)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = {.max_wr = max_wr, .max_sge = 1}, .comp_mask = mask, .pd = l->pd};

	return ibv_create_srq_ex(live_ctx, &attr);
}

static void test_srqs(void)
{
	struct ibv_recv_wr recv = {.num_sge = 2}, *bad;
	struct ibv_srq_attr attr = {.max_wr = 1 << 30, .srq_limit = 1 << 30};
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = small_cap};
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct live l;

	live_open(&l, NULL, 4);
	NOTHING(EOPNOTSUPP, try_srq(&l, IBV_SRQ_INIT_ATTR_PD | UNKNOWN, 4));
	NOTHING(EINVAL, try_srq(&l, IBV_SRQ_INIT_ATTR_PD, 0));
	NOTHING(EINVAL, try_srq(&l, 0, 4));
	srq = try_srq(&l, IBV_SRQ_INIT_ATTR_PD, 4);
	CU_ASSERT_PTR_NOT_NULL_FATAL(srq);
	init.send_cq = init.recv_cq = l.cq;
	init.srq = srq;
	qp = ibv_create_qp(l.pd, &init);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	errno = 0;
	FAILS(EBUSY, ibv_destroy_srq(srq));
	FAILS(EOPNOTSUPP, ibv_modify_srq(srq, &attr, UNKNOWN));
	FAILS(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	FAILS(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	FAILS(EINVAL, ibv_post_srq_recv(srq, &recv, &bad));
	FAILS(EINVAL, ibv_post_recv(qp, &recv, &bad));
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	CU_ASSERT_EQUAL(ibv_destroy_srq(srq), 0);
	live_close(&l);
}

static void test_xrc(void)
{
	struct ibv_xrcd_init_attr attr = {.comp_mask = UNKNOWN, .fd = -1};
	struct ibv_qp_open_attr open = {.comp_mask = UNKNOWN};
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD};
	struct ibv_xrcd *xrcd;
	struct ibv_qp *qp;

	NOTHING(EOPNOTSUPP, ibv_open_xrcd(live_ctx, &attr));
	NOTHING(EOPNOTSUPP, ibv_open_qp(live_ctx, &open));
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD;
	NOTHING(EINVAL, ibv_open_xrcd(live_ctx, &attr)); /* libibverbs wants both */
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	attr.oflags = O_CREAT;
	xrcd = ibv_open_xrcd(live_ctx, &attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(xrcd);
	init.xrcd = xrcd;
	qp = ibv_create_qp_ex(live_ctx, &init);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	errno = 0;
	FAILS(EBUSY, ibv_close_xrcd(xrcd));
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	CU_ASSERT_EQUAL(ibv_close_xrcd(xrcd), 0);
}

/* Of flows the kernel knows the flags, and libibverbs the specifications. */
static void test_flows(void)
{
	struct ibv_flow_attr attr = {.size = sizeof(attr), .port = 1, .comp_mask = UNKNOWN};
	struct ibv_qp *qp;
	struct live l;

	live_open(&l, NULL, 4);
	qp = try_qp(&l, IBV_QPT_RAW_PACKET, 0, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	NOTHING(EOPNOTSUPP, ibv_create_flow(qp, &attr));
	attr.comp_mask = 0;
	attr.flags = UNKNOWN;
	NOTHING(EINVAL, ibv_create_flow(qp, &attr));
	attr.flags = 0;
	attr.type = 77;
	NOTHING(EOPNOTSUPP, ibv_create_flow(qp, &attr));
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	live_close(&l);
}

int main(void)
{
	static const struct live_test tests[] = {
		{"domains", test_domains},
		{"device", test_device},
		{"memory", test_memory},
		{"windows", test_windows},
		{"completion queues", test_cqs},
		{"queue pairs", test_qps},
		{"posting", test_posting},
		{"shared receive queues", test_srqs},
		{"XRC", test_xrc},
		{"flows", test_flows},
		{},
	};

	return live_main("errors", tests);
}
