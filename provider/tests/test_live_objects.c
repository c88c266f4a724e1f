// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What can be created and what is refused, with which errno. Needs an adapter. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hcasim_hw.h"
#include "hcasim_wr.h"
#include "live.h"

static const struct ibv_qp_cap small_cap = {8, 8, 2, 2, 32};

static struct ibv_qp *try_qp(struct live *l, enum ibv_qp_type type, uint64_t ops,
			     const struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type,
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.cap = *cap,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = l->pd,
		.send_ops_flags = ops,
	};

	errno = 0;
	return ibv_create_qp_ex(live_ctx, &init);
}

static void test_device(void)
{
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;

	CU_ASSERT_EQUAL_FATAL(ibv_query_device_ex(live_ctx, NULL, &attr), 0);
	CU_ASSERT_EQUAL(attr.hca_core_clock, 1000000000); /* kHz: the clock counts picoseconds */
	CU_ASSERT_EQUAL(attr.completion_timestamp_mask, UINT64_MAX);
	CU_ASSERT_EQUAL(attr.orig_attr.max_sge, HCASIM_MAX_SGE);
	CU_ASSERT_EQUAL(attr.orig_attr.max_qp_wr, HCASIM_MAX_QP_WR);
	CU_ASSERT_TRUE(strlen(attr.orig_attr.fw_ver) >= 5);
	CU_ASSERT_EQUAL(ibv_query_port(live_ctx, 1, &port), 0);
	CU_ASSERT_EQUAL(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	CU_ASSERT_NOT_EQUAL(ibv_query_port(live_ctx, 200, &port), 0);
}

static void test_clock(void)
{
	struct ibv_values_ex v = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK}, w = v;

	CU_ASSERT_EQUAL(ibv_query_rt_values_ex(live_ctx, &v), 0);
	CU_ASSERT_EQUAL(ibv_query_rt_values_ex(live_ctx, &w), 0);
	CU_ASSERT_TRUE(v.raw_clock.tv_nsec > 0 && w.raw_clock.tv_nsec >= v.raw_clock.tv_nsec);
}

/* A member that is named but asks for nothing is no reason to refuse. */
static void check_masks(struct live *l)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.cap = small_cap,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
		.pd = l->pd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(live_ctx, &init);

	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	init.max_tso_header = 64;
	CU_ASSERT_PTR_NULL(ibv_create_qp_ex(live_ctx, &init));
	CU_ASSERT_EQUAL(errno, EOPNOTSUPP);
	init.max_tso_header = 0;
	init.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	CU_ASSERT_PTR_NULL(ibv_create_qp_ex(live_ctx, &init));
	CU_ASSERT_EQUAL(errno, EOPNOTSUPP);
}

/* Programs look at these functions to learn whether a QP has the operation. */
static void check_optional_ops(struct ibv_qp *qp, uint64_t ops)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(qp);

	CU_ASSERT_EQUAL(!!qpx->wr_flush, !!(ops & IBV_QP_EX_WITH_FLUSH));
	CU_ASSERT_EQUAL(!!qpx->wr_atomic_write, !!(ops & IBV_QP_EX_WITH_ATOMIC_WRITE));
}

/* Each operation on each QP type: what the tables allow and this adapter serves, else EOPNOTSUPP. */
static void test_send_ops(void)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET};
	struct live l;
	size_t t;
	int op;

	live_open(&l, NULL, 16);
	for (t = 0; t < 4; t++)
		for (op = 0; op < HCASIM_WR_NUM; op++) {
			const struct hcasim_wr_rule *rule = &hcasim_wr_rules[op];
			bool serves = rule->qp_types & HCASIM_QPT_BIT(types[t]);
			struct ibv_qp *qp = try_qp(&l, types[t], rule->send_ops_flag, &small_cap);

			if (!!qp != serves || (!qp && errno != EOPNOTSUPP)) {
				printf("%s on type %d: errno %d ", rule->name, types[t], errno);
				CU_FAIL("send_ops_flags");
			}
			if (!qp)
				continue;
			check_optional_ops(qp, rule->send_ops_flag);
			CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
		}
	check_masks(&l);
	CU_ASSERT_PTR_NULL(try_qp(&l, IBV_QPT_RC, 1ull << 40, &small_cap));
	CU_ASSERT_EQUAL(errno, EOPNOTSUPP);
	CU_ASSERT_PTR_NULL(try_qp(&l, IBV_QPT_DRIVER, IBV_QP_EX_WITH_SEND, &small_cap));
	CU_ASSERT_EQUAL(errno, EOPNOTSUPP);
	live_close(&l);
}

static void check_refused(struct live *l, struct ibv_qp_cap cap)
{
	CU_ASSERT_PTR_NULL(try_qp(l, IBV_QPT_RC, IBV_QP_EX_WITH_SEND, &cap));
	CU_ASSERT_EQUAL(errno, EINVAL);
}

static void test_caps(void)
{
	struct ibv_qp_cap largest = {HCASIM_MAX_QP_WR, HCASIM_MAX_QP_WR, 1, HCASIM_MAX_SGE, 0};
	struct ibv_qp_cap widest = {64, 64, HCASIM_MAX_SGE, HCASIM_MAX_SGE, HCASIM_MAX_INLINE};
	struct ibv_qp_cap none = {};
	struct ibv_send_wr swr = {.opcode = IBV_WR_SEND}, *sbad;
	struct ibv_recv_wr rwr = {}, *rbad;
	struct ibv_qp *qp;
	struct live l;

	live_open(&l, NULL, 16);
	qp = try_qp(&l, IBV_QPT_RC, IBV_QP_EX_WITH_SEND, &largest);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	qp = try_qp(&l, IBV_QPT_UD, IBV_QP_EX_WITH_SEND, &widest);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	check_refused(&l, (struct ibv_qp_cap){HCASIM_MAX_QP_WR + 1, 1, 1, 1, 0});
	check_refused(&l, (struct ibv_qp_cap){1, HCASIM_MAX_QP_WR + 1, 1, 1, 0});
	check_refused(&l, (struct ibv_qp_cap){1, 1, HCASIM_MAX_SGE + 1, 1, 0});
	check_refused(&l, (struct ibv_qp_cap){1, 1, 1, HCASIM_MAX_SGE + 1, 0});
	check_refused(&l, (struct ibv_qp_cap){1, 1, 1, 1, HCASIM_MAX_INLINE + 1});
	check_refused(&l, (struct ibv_qp_cap){UINT32_MAX, 1, 1, 1, 0});
	check_refused(&l,
		      (struct ibv_qp_cap){HCASIM_MAX_QP_WR, 1, HCASIM_MAX_SGE, 1, 0}); /* too many blocks */

	/* No queues at all: a QP, but nothing can be posted to it. */
	qp = try_qp(&l, IBV_QPT_RC, IBV_QP_EX_WITH_SEND, &none);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	live_connect(qp);
	CU_ASSERT_NOT_EQUAL(ibv_post_send(qp, &swr, &sbad), 0);
	CU_ASSERT_NOT_EQUAL(ibv_post_recv(qp, &rwr, &rbad), 0);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	live_close(&l);
}

static int allocs, frees;

static void *count_alloc(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment, uint64_t type)
{
	CU_ASSERT_PTR_EQUAL(pd_context, &allocs);
	return ++allocs % 2 ? malloc(size) : IBV_ALLOCATOR_USE_DEFAULT;
}

static void count_free(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t type)
{
	frees++;
	free(ptr);
}

static void test_domains(void)
{
	struct ibv_td_init_attr td_attr = {};
	struct ibv_parent_domain_init_attr attr = {
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = count_alloc,
		.free = count_free,
		.pd_context = &allocs,
	};
	struct ibv_pd *parent;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	struct ibv_td *td;
	struct live l;

	live_open(&l, NULL, 16);
	td = ibv_alloc_td(live_ctx, &td_attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(td);
	attr.pd = l.pd;
	attr.td = td;
	parent = ibv_alloc_parent_domain(live_ctx, &attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(parent);
	attr.pd = parent;
	CU_ASSERT_PTR_NULL(ibv_alloc_parent_domain(live_ctx, &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);

	qp = live_create_qp(&l, parent, &small_cap);
	CU_ASSERT_EQUAL(allocs, 2);
	live_connect(qp);
	l.buf[0] = 0x5a;
	CU_ASSERT_EQUAL(live_write(&l, qp, 1, 16, IBV_SEND_SIGNALED), 0);
	CU_ASSERT_EQUAL(live_poll(l.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(l.buf[LIVE_SIZE / 2], 0x5a);

	CU_ASSERT_EQUAL(ibv_dealloc_td(td), EBUSY);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(parent), EBUSY);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(l.pd), EBUSY);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	CU_ASSERT_EQUAL(frees, 1);
	CU_ASSERT_EQUAL(ibv_dealloc_td(td), EBUSY);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(parent), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_td(td), 0);
	live_close(&l);
}

/* More thread domains than a context has pages for; each QP of them works, and pages are given again. */
static void test_many_domains(void)
{
	enum { MANY = 70, TRAFFIC = 5 };
	struct ibv_td_init_attr td_attr = {};
	struct ibv_parent_domain_init_attr attr = {};
	struct ibv_pd *parent[MANY];
	struct ibv_td *td[MANY];
	struct ibv_qp *qp;
	struct ibv_wc wc;
	struct live l;
	int i, round;

	live_open(&l, NULL, 16);
	attr.pd = l.pd;
	for (round = 0; round < 2; round++) {
		for (i = 0; i < MANY; i++) {
			td[i] = attr.td = ibv_alloc_td(live_ctx, &td_attr);
			CU_ASSERT_PTR_NOT_NULL_FATAL(td[i]);
			parent[i] = ibv_alloc_parent_domain(live_ctx, &attr);
			CU_ASSERT_PTR_NOT_NULL_FATAL(parent[i]);
		}
		for (i = 0; i < MANY; i += MANY / TRAFFIC - 1) {
			qp = live_create_qp(&l, parent[i], &small_cap);
			live_connect(qp);
			l.buf[0] = (uint8_t)(i + 1);
			CU_ASSERT_EQUAL(live_write(&l, qp, i, 16, IBV_SEND_SIGNALED), 0);
			CU_ASSERT_EQUAL(live_poll(l.cq, 1, &wc), 1);
			CU_ASSERT_EQUAL(wc.wr_id, i);
			CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
			CU_ASSERT_EQUAL(l.buf[LIVE_SIZE / 2], i + 1);
			CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
		}
		for (i = 0; i < MANY; i++) {
			CU_ASSERT_EQUAL(ibv_dealloc_pd(parent[i]), 0);
			CU_ASSERT_EQUAL(ibv_dealloc_td(td[i]), 0);
		}
	}
	live_close(&l);
}

/* ibv_import_device(3), ibv_import_pd(3), ibv_import_mr(3): the same objects through a second context. */
static void test_import(void)
{
	struct ibv_context *ctx;
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	struct live l, other;

	live_open(&l, NULL, 16);
	ctx = ibv_import_device(dup(live_ctx->cmd_fd));
	CU_ASSERT_PTR_NOT_NULL_FATAL(ctx);
	CU_ASSERT_EQUAL(ctx->num_comp_vectors, live_ctx->num_comp_vectors);
	errno = 0;
	CU_ASSERT_PTR_NULL(ibv_import_pd(ctx, 0xdead));
	CU_ASSERT_EQUAL(errno, ENOENT);
	CU_ASSERT_PTR_NULL(ibv_import_pd(ctx, l.mr->handle));
	CU_ASSERT_EQUAL(errno, EINVAL);
	pd = ibv_import_pd(ctx, l.pd->handle);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pd);
	CU_ASSERT_PTR_NULL(ibv_import_mr(pd, l.pd->handle));
	CU_ASSERT_EQUAL(errno, EINVAL);
	mr = ibv_import_mr(pd, l.mr->handle);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	CU_ASSERT_EQUAL(mr->lkey, l.mr->lkey);
	CU_ASSERT_EQUAL(mr->rkey, l.mr->rkey);
	CU_ASSERT_EQUAL(mr->length, l.mr->length);
	CU_ASSERT_PTR_NULL(mr->addr);

	cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cq);
	other = (struct live){.pd = pd, .mr = mr, .cq = cq, .buf = l.buf};
	qp = live_create_qp_of(ctx, &other, pd, &small_cap);
	live_connect(qp);
	l.buf[0] = 0xa5;
	CU_ASSERT_EQUAL(live_write(&other, qp, 1, 16, IBV_SEND_SIGNALED), 0);
	CU_ASSERT_EQUAL(live_poll(cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(l.buf[LIVE_SIZE / 2], 0xa5);
	/* The QP belongs to the PD, whoever destroys it. */
	CU_ASSERT_EQUAL(ibv_dealloc_pd(pd), EBUSY);
	ibv_unimport_mr(mr);
	ibv_unimport_pd(pd);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(cq), 0);
	CU_ASSERT_EQUAL(ibv_close_device(ctx), 0);
	live_close(&l);
}

/* What is no device file is refused. */
static void test_import_of_nothing(void)
{
	int fds[2];

	CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
	errno = 0;
	CU_ASSERT_PTR_NULL(ibv_import_device(fds[0]));
	CU_ASSERT_EQUAL(errno, EINVAL);
	close(fds[0]);
	close(fds[1]);
}

static struct ibv_cq_ex *try_cq(struct ibv_cq_init_attr_ex attr)
{
	errno = 0;
	return ibv_create_cq_ex(live_ctx, &attr);
}

static void test_cqs(void)
{
	struct ibv_cq_ex *cq;

	CU_ASSERT_PTR_NULL(ibv_create_cq(live_ctx, 0, NULL, NULL, 0));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_PTR_NULL(ibv_create_cq(live_ctx, -1, NULL, NULL, 0));
	CU_ASSERT_PTR_NULL(ibv_create_cq(live_ctx, HCASIM_MAX_CQE + 1, NULL, NULL, 0));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_PTR_NULL(ibv_create_cq(live_ctx, 1, NULL, NULL, 12345));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_PTR_NULL(
		try_cq((struct ibv_cq_init_attr_ex){.cqe = 4, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG}));
	CU_ASSERT_EQUAL(errno, EOPNOTSUPP);
	CU_ASSERT_PTR_NULL(try_cq((struct ibv_cq_init_attr_ex){.cqe = 4, .comp_mask = 1 << 20}));
	cq = try_cq((struct ibv_cq_init_attr_ex){.cqe = 5,
						 .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
						 .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
						 .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP});
	CU_ASSERT_PTR_NOT_NULL_FATAL(cq);
	CU_ASSERT_TRUE(cq->cqe >= 5);
	CU_ASSERT_EQUAL(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static void test_address_handles(void)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 1};
	struct ibv_ah *ah;
	struct live l;

	live_open(&l, NULL, 4);
	CU_ASSERT_EQUAL(ibv_query_gid(live_ctx, 1, 0, &attr.grh.dgid), 0);
	ah = ibv_create_ah(l.pd, &attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ah);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(l.pd), EBUSY);
	CU_ASSERT_EQUAL(ibv_destroy_ah(ah), 0);
	attr.is_global = 0; /* RoCE has no LIDs */
	CU_ASSERT_PTR_NULL(ibv_create_ah(l.pd, &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);
	live_close(&l);
}

int main(void)
{
	static const struct live_test tests[] = {
		{"device and port", test_device},
		{"clock", test_clock},
		{"operations by QP type", test_send_ops},
		{"capabilities", test_caps},
		{"thread and parent domains", test_domains},
		{"more thread domains than pages", test_many_domains},
		{"imported device, PD and MR", test_import},
		{"import of what is no device file", test_import_of_nothing},
		{"completion queues", test_cqs},
		{"address handles", test_address_handles},
		{},
	};

	return live_main("objects", tests);
}
