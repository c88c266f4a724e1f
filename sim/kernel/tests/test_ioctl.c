// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Every ioctl method: as it should be, then each attribute wrong in turn. The lists here say what
 * the kernel's ABI asks of each attribute; they know nothing of the tables under test.
 */
#include <unistd.h>

#include "harness.h"

enum kind { K_IN, K_OUT, K_HANDLE, K_NEW, K_FD, K_NEW_FD };

#define MUST   1 /* mandatory */
#define STRUCT 2 /* may be longer: the rest is zero */
#define ANY    4 /* any length from `min` on */

struct expect {
	uint16_t id;
	uint8_t kind, flags;
	uint16_t min; /* shortest valid length, if that is not the length given */
};

struct target {
	const char *name;
	uint16_t object, method;
	struct ioc *(*build)(void); /* makes what the call needs, and the call, attributes in this order */
	int result;                 /* of the good call */
	bool new_file;              /* the call is made without a context */
	struct expect attr[20];
};

static struct ioc *build_invoke(void)
{
	static const struct ib_uverbs_query_port zero;
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	struct ib_uverbs_query_port cmd = zero;

	cmd.port_num = 1;
	ioc_const(i, UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_QUERY_PORT);
	ioc_in(i, UVERBS_ATTR_CORE_IN, &cmd, sizeof(cmd));
	ioc_out(i, UVERBS_ATTR_CORE_OUT, user_alloc(64), sizeof(struct ib_uverbs_query_port_resp));
	return i;
}

static struct ioc *build_info_handles(void)
{
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES);
	ioc_const(i, UVERBS_ATTR_INFO_OBJECT_ID, UVERBS_OBJECT_PD);
	ioc_out(i, UVERBS_ATTR_INFO_TOTAL_HANDLES, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_INFO_HANDLES_LIST, user_alloc(64), 16);
	return i;
}

static struct ioc *build_query_port(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);

	ioc_const(i, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1);
	ioc_out(i, UVERBS_ATTR_QUERY_PORT_RESP, user_alloc(256), sizeof(struct ib_uverbs_query_port_resp_ex));
	return i;
}

static struct ioc *build_get_context(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);

	ioc_out(i, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, user_alloc(8), 8);
	ioc_out(i, UVERBS_ATTR_UHW_OUT, user_alloc(64), sizeof(struct hcasim_alloc_ucontext_resp));
	return i;
}

static struct ioc *build_query_context(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);

	ioc_out(i, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, user_alloc(8), 8);
	ioc_out(i, UVERBS_ID_DRIVER_NS, user_alloc(64), sizeof(struct hcasim_alloc_ucontext_resp));
	return i;
}

static struct ioc *build_gid_table(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);

	ioc_const(i, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, sizeof(struct ib_uverbs_gid_entry));
	ioc_in(i, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, &(uint32_t){0}, 4);
	ioc_out(i, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, user_alloc(512),
		8 * sizeof(struct ib_uverbs_gid_entry));
	ioc_out(i, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, user_alloc(8), 8);
	return i;
}

static struct ioc *build_gid_entry(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY);

	ioc_const(i, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 1);
	ioc_const(i, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 1);
	ioc_in(i, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, &(uint32_t){0}, 4);
	ioc_out(i, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, user_alloc(256),
		sizeof(struct ib_uverbs_gid_entry));
	return i;
}

static struct ioc *build_async(void)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);

	ioc_obj(i, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0);
	return i;
}

static struct ioc *build_destroy(uint16_t object, uint16_t method, uint32_t handle)
{
	struct ioc *i = ioc_new(object, method);

	ioc_obj(i, 0, handle);
	return i;
}

static struct ioc *build_pd_destroy(void)
{
	CHECK_ERR(make_pd(), 0);
	return build_destroy(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, w.pd);
}

static struct ioc *build_ah_destroy(void)
{
	static const uint8_t dgid[16] = {[10] = 0xff, 0xff, 10, 77, 0, 2};

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_ah(dgid, 1), 0);
	return build_destroy(UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, w.ah);
}

static void prepare_mr(void)
{
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_mr(w.arena, 8192, HCASIM_ACCESS_LOCAL_WRITE), 0);
}

static struct ioc *build_mr_destroy(void)
{
	prepare_mr();
	return build_destroy(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, w.mr);
}

static struct ioc *build_query_mr(void)
{
	struct ioc *i;

	prepare_mr();
	i = ioc_new(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
	ioc_obj(i, UVERBS_ATTR_QUERY_MR_HANDLE, w.mr);
	ioc_out(i, UVERBS_ATTR_QUERY_MR_RESP_LKEY, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_QUERY_MR_RESP_RKEY, user_alloc(8), 4);
	ioc_out(i, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, user_alloc(8), 8);
	ioc_out(i, UVERBS_ATTR_QUERY_MR_RESP_IOVA, user_alloc(8), 8);
	return i;
}

static struct ioc *build_advise_mr(void)
{
	static const struct ib_uverbs_sge sge;
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	i = ioc_new(UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR);
	ioc_obj(i, UVERBS_ATTR_ADVISE_MR_PD_HANDLE, w.pd);
	ioc_const(i, UVERBS_ATTR_ADVISE_MR_ADVICE, 0);
	ioc_in(i, UVERBS_ATTR_ADVISE_MR_FLAGS, &(uint32_t){0}, 4);
	ioc_in(i, UVERBS_ATTR_ADVISE_MR_SGE_LIST, &sge, sizeof(sge));
	return i;
}

static struct ioc *build_cq_create(void)
{
	struct ioc *i;

	CHECK_ERR(make_channel(), 0);
	i = ioc_new(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	ioc_obj(i, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	ioc_in(i, UVERBS_ATTR_CREATE_CQ_CQE, &(uint32_t){100}, 4);
	ioc_in(i, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &(uint64_t){0xc0}, 8);
	ioc_obj(i, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, w.comp_fd);
	ioc_in(i, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &(uint32_t){1}, 4);
	ioc_in(i, UVERBS_ATTR_CREATE_CQ_FLAGS, &(uint32_t){IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION}, 4);
	ioc_out(i, UVERBS_ATTR_CREATE_CQ_RESP_CQE, user_alloc(8), 4);
	ioc_obj(i, UVERBS_ATTR_CREATE_CQ_EVENT_FD, w.async_fd);
	ioc_out(i, UVERBS_ATTR_UHW_OUT, user_alloc(64), sizeof(struct hcasim_create_cq_resp));
	return i;
}

static struct ioc *build_cq_destroy(void)
{
	struct ioc *i;

	CHECK_ERR(make_cq(16, -1), 0);
	i = ioc_new(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY);
	ioc_obj(i, UVERBS_ATTR_DESTROY_CQ_HANDLE, w.cq);
	ioc_out(i, UVERBS_ATTR_DESTROY_CQ_RESP, user_alloc(8), 8);
	return i;
}

static struct ioc *build_qp_create(void)
{
	const struct ib_uverbs_qp_cap cap = {8, 8, 2, 1, 32};
	const struct hcasim_create_qp_req req = {.sq_wqebb = 16, .rq_wqe_count = 8, .rq_stride = 32};
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	i = ioc_new(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	ioc_obj(i, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	ioc_obj(i, UVERBS_ATTR_CREATE_QP_PD_HANDLE, w.pd);
	ioc_obj(i, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, w.cq);
	ioc_obj(i, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, w.cq);
	ioc_in(i, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &(uint64_t){0xa0}, 8);
	ioc_in(i, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	ioc_const(i, UVERBS_ATTR_CREATE_QP_TYPE, IB_UVERBS_QPT_RC);
	ioc_in(i, UVERBS_ATTR_CREATE_QP_FLAGS, &(uint32_t){IB_UVERBS_QP_CREATE_SQ_SIG_ALL}, 4);
	ioc_obj(i, UVERBS_ATTR_CREATE_QP_EVENT_FD, w.async_fd);
	ioc_out(i, UVERBS_ATTR_CREATE_QP_RESP_CAP, user_alloc(64), sizeof(cap));
	ioc_out(i, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, user_alloc(8), 4);
	ioc_in(i, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
	ioc_out(i, UVERBS_ATTR_UHW_OUT, user_alloc(64), sizeof(struct hcasim_create_qp_resp));
	return i;
}

static struct ioc *build_qp_destroy(void)
{
	struct ioc *i;

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	CHECK_ERR(make_qp(IB_UVERBS_QPT_RC), 0);
	i = ioc_new(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
	ioc_obj(i, UVERBS_ATTR_DESTROY_QP_HANDLE, w.qp);
	ioc_out(i, UVERBS_ATTR_DESTROY_QP_RESP, user_alloc(8), 4);
	return i;
}

/* clang-format off */
static const struct target targets[] = {
	{"INVOKE_WRITE", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, build_invoke, 0, false, {
		{UVERBS_ATTR_WRITE_CMD, K_IN, MUST, 8},
		{UVERBS_ATTR_CORE_IN, K_IN, ANY, 4},
		{UVERBS_ATTR_CORE_OUT, K_OUT, ANY, 0}}},
	{"INFO_HANDLES", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES, build_info_handles, 0, false, {
		{UVERBS_ATTR_INFO_OBJECT_ID, K_IN, MUST, 8},
		{UVERBS_ATTR_INFO_TOTAL_HANDLES, K_OUT, 0, 4},
		{UVERBS_ATTR_INFO_HANDLES_LIST, K_OUT, ANY, 4}}},
	{"QUERY_PORT", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, build_query_port, 0, false, {
		{UVERBS_ATTR_QUERY_PORT_PORT_NUM, K_IN, MUST, 8},
		{UVERBS_ATTR_QUERY_PORT_RESP, K_OUT, MUST | STRUCT, 48}}},
	{"GET_CONTEXT", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, build_get_context, 0, true, {
		{UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, K_OUT, 0, 4},
		{UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, K_OUT, 0, 8},
		{UVERBS_ATTR_UHW_OUT, K_OUT, ANY, 0}}},
	{"QUERY_CONTEXT", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, build_query_context, 0, false, {
		{UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, K_OUT, 0, 4},
		{UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, K_OUT, 0, 8},
		{UVERBS_ID_DRIVER_NS, K_OUT, ANY, 0}}},
	{"QUERY_GID_TABLE", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE, build_gid_table, 0, false, {
		{UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, K_IN, MUST, 8},
		{UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, K_IN, 0, 4},
		{UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, K_OUT, MUST | ANY, 0},
		{UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, K_OUT, MUST, 8}}},
	{"QUERY_GID_ENTRY", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY, build_gid_entry, 0, false, {
		{UVERBS_ATTR_QUERY_GID_ENTRY_PORT, K_IN, MUST, 8},
		{UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, K_IN, MUST, 8},
		{UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, K_IN, MUST, 4},
		{UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, K_OUT, MUST | STRUCT, 32}}},
	{"ASYNC_EVENT_ALLOC", UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, build_async, 0, false, {
		{UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, K_NEW_FD, MUST, 0}}},
	{"PD_DESTROY", UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, build_pd_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_PD_HANDLE, K_HANDLE, MUST, 0}}},
	{"AH_DESTROY", UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, build_ah_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_AH_HANDLE, K_HANDLE, MUST, 0}}},
	{"MR_DESTROY", UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, build_mr_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_MR_HANDLE, K_HANDLE, MUST, 0}}},
	{"QUERY_MR", UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, build_query_mr, 0, false, {
		{UVERBS_ATTR_QUERY_MR_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_QUERY_MR_RESP_LKEY, K_OUT, MUST, 4},
		{UVERBS_ATTR_QUERY_MR_RESP_RKEY, K_OUT, MUST, 4},
		{UVERBS_ATTR_QUERY_MR_RESP_LENGTH, K_OUT, MUST, 8},
		{UVERBS_ATTR_QUERY_MR_RESP_IOVA, K_OUT, 0, 8}}},
	{"ADVISE_MR", UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR, build_advise_mr, -EOPNOTSUPP, false, {
		{UVERBS_ATTR_ADVISE_MR_PD_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_ADVISE_MR_ADVICE, K_IN, MUST, 8},
		{UVERBS_ATTR_ADVISE_MR_FLAGS, K_IN, MUST, 4},
		{UVERBS_ATTR_ADVISE_MR_SGE_LIST, K_IN, MUST | ANY, 16}}},
	{"CQ_CREATE", UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, build_cq_create, 0, false, {
		{UVERBS_ATTR_CREATE_CQ_HANDLE, K_NEW, MUST, 0},
		{UVERBS_ATTR_CREATE_CQ_CQE, K_IN, MUST, 4},
		{UVERBS_ATTR_CREATE_CQ_USER_HANDLE, K_IN, MUST, 8},
		{UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, K_FD, 0, 0},
		{UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, K_IN, MUST, 4},
		{UVERBS_ATTR_CREATE_CQ_FLAGS, K_IN, 0, 4},
		{UVERBS_ATTR_CREATE_CQ_RESP_CQE, K_OUT, MUST, 4},
		{UVERBS_ATTR_CREATE_CQ_EVENT_FD, K_FD, 0, 0},
		{UVERBS_ATTR_UHW_OUT, K_OUT, ANY, 0}}},
	{"CQ_DESTROY", UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, build_cq_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_CQ_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_DESTROY_CQ_RESP, K_OUT, MUST, 8}}},
	{"QP_CREATE", UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, build_qp_create, 0, false, {
		{UVERBS_ATTR_CREATE_QP_HANDLE, K_NEW, MUST, 0},
		{UVERBS_ATTR_CREATE_QP_PD_HANDLE, K_HANDLE, 0, 0},
		{UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, K_HANDLE, 0, 0},
		{UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, K_HANDLE, 0, 0},
		{UVERBS_ATTR_CREATE_QP_USER_HANDLE, K_IN, MUST, 8},
		{UVERBS_ATTR_CREATE_QP_CAP, K_IN, MUST | STRUCT, 20},
		{UVERBS_ATTR_CREATE_QP_TYPE, K_IN, MUST, 8},
		{UVERBS_ATTR_CREATE_QP_FLAGS, K_IN, 0, 4},
		{UVERBS_ATTR_CREATE_QP_EVENT_FD, K_FD, 0, 0},
		{UVERBS_ATTR_CREATE_QP_RESP_CAP, K_OUT, MUST | STRUCT, 20},
		{UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, K_OUT, MUST, 4},
		{UVERBS_ATTR_UHW_IN, K_IN, ANY, 0},
		{UVERBS_ATTR_UHW_OUT, K_OUT, ANY, 0}}},
	{"QP_DESTROY", UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, build_qp_destroy, 0, false, {
		{UVERBS_ATTR_DESTROY_QP_HANDLE, K_HANDLE, MUST, 0},
		{UVERBS_ATTR_DESTROY_QP_RESP, K_OUT, MUST, 4}}},
};
/* clang-format on */

#define NUM_TARGETS (sizeof(targets) / sizeof(targets[0]))

static const struct target *cur;
static unsigned int cur_attr;

static struct ioc *start(const struct target *t)
{
	file_open();
	if (!t->new_file)
		CHECK_ERR(make_context(), 0);
	return t->build();
}

static void expect(struct ioc *i, int err, const char *what)
{
	const int got = ioc_run(i);

	if (got != err)
		fprintf(stderr, "\n%s, attribute %u, %s: %d, expected %d\n", cur->name, cur_attr, what, got,
			err);
	CU_ASSERT_EQUAL(got, err);
	file_close();
}

static void remove_attr(struct ioc *i, unsigned int n)
{
	i->hdr.num_attrs--;
	memmove(&i->attrs[n], &i->attrs[n + 1], (i->hdr.num_attrs - n) * sizeof(i->attrs[0]));
}

static void common_errors(const struct target *t, unsigned int n)
{
	struct ioc *i = start(t);

	i->attrs[i->hdr.num_attrs++] = i->attrs[n];
	expect(i, -EINVAL, "twice");
	i = start(t);
	i->attrs[n].attr_data.reserved = 1;
	expect(i, -EINVAL, "reserved bits");
	if (t->attr[n].flags & MUST) {
		i = start(t);
		remove_attr(i, n);
		expect(i, -EINVAL, "missing");
	}
}

static void pointer_errors(const struct target *t, unsigned int n)
{
	const struct expect *e = &t->attr[n];
	struct ioc *i = start(t);
	void *longer = user_alloc(256);

	if (e->min) {
		i->attrs[n].len = e->min - 1;
		expect(i, -EINVAL, "too short");
		i = start(t);
	}
	if (!(e->flags & (STRUCT | ANY))) {
		i->attrs[n].len = i->attrs[n].len == 8 || e->kind == K_OUT ? i->attrs[n].len + 1 : 9;
		i->attrs[n].data = U(longer);
		expect(i, -EINVAL, "too long");
		i = start(t);
	}
	/* Only what the kernel looks at can fault: a length within the attribute's own 8 bytes cannot. */
	if (e->kind == K_OUT || i->attrs[n].len > 8) {
		i->attrs[n].data = HOSTILE;
		expect(i, -EFAULT, "unmapped");
	} else {
		file_close();
	}
}

static void struct_errors(const struct target *t, unsigned int n)
{
	const uint16_t len = t->attr[n].kind == K_IN ? t->attr[n].min : 0;
	struct ioc *i = start(t);
	uint8_t *longer = user_alloc(256);

	if (t->attr[n].kind == K_IN)
		memcpy(longer, (void *)(uintptr_t)i->attrs[n].data, len);
	i->attrs[n].data = U(longer);
	i->attrs[n].len = 128;
	expect(i, 0, "longer, zero");
	if (t->attr[n].kind == K_OUT)
		return;
	i = start(t);
	longer = user_alloc(256);
	memcpy(longer, (void *)(uintptr_t)i->attrs[n].data, len);
	longer[127] = 1;
	i->attrs[n].data = U(longer);
	i->attrs[n].len = 128;
	expect(i, -EOPNOTSUPP, "longer, not zero");
}

static void handle_errors(const struct target *t, unsigned int n)
{
	static const uint64_t none[] = {0x7fffffff, 0xffffffff, 1ull << 40};
	struct ioc *i;

	for (unsigned int k = 0; k < 3; k++) {
		i = start(t);
		i->attrs[n].data = none[k];
		expect(i, -ENOENT, "no such handle");
	}
	i = start(t);
	i->attrs[n].data = ~0ull;
	expect(i, -EINVAL, "negative handle");
	i = start(t);
	i->attrs[n].len = 4;
	expect(i, -EINVAL, "length of a handle");
	/* A handle of another type. */
	i = start(t);
	if (t->object == UVERBS_OBJECT_CQ) {
		CHECK_ERR(make_pd(), 0);
		i->attrs[n].data = w.pd;
	} else {
		CHECK_ERR(make_cq(4, -1), 0);
		i->attrs[n].data = w.cq;
	}
	if (t->object == UVERBS_OBJECT_QP && n >= 2)
		i->attrs[n].data = w.pd;
	expect(i, -EINVAL, "handle of another type");
}

static void fd_errors(const struct target *t, unsigned int n)
{
	struct ioc *i = start(t);

	i->attrs[n].data_s64 = 9999;
	expect(i, -EBADF, "no such descriptor");
	i = start(t);
	i->attrs[n].data_s64 = -1;
	expect(i, -EBADF, "descriptor -1");
	i = start(t);
	i->attrs[n].data = 1ull << 32;
	expect(i, -EINVAL, "descriptor beyond int");
	i = start(t);
	i->attrs[n].data = STDERR_FILENO;
	expect(i, -EBADF, "not an event file");
	i = start(t);
	/* The other kind of event file. */
	CHECK_ERR(make_channel(), 0);
	i->attrs[n].data = t->attr[n].id == UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL ? w.async_fd : w.comp_fd;
	expect(i, -EBADF, "other kind of event file");
	i = start(t);
	i->attrs[n].len = 4;
	expect(i, -EINVAL, "length of a descriptor");
	i = start(t);
	remove_attr(i, n);
	expect(i, 0, "without descriptor");
}

static void each_attribute_wrong(void)
{
	const unsigned int fds = count_fds();

	for (unsigned int k = 0; k < NUM_TARGETS; k++) {
		const struct target *t = cur = &targets[k];

		for (unsigned int n = 0; n < 20 && (n == 0 || t->attr[n].id || t->attr[n].kind); n++) {
			cur_attr = t->attr[n].id;
			common_errors(t, n);
			if (t->attr[n].kind == K_IN || t->attr[n].kind == K_OUT)
				pointer_errors(t, n);
			if (t->attr[n].flags & STRUCT)
				struct_errors(t, n);
			if (t->attr[n].kind == K_HANDLE)
				handle_errors(t, n);
			if (t->attr[n].kind == K_FD)
				fd_errors(t, n);
		}
	}
	CU_ASSERT_EQUAL(count_fds(), fds);
}

static void good_calls(void)
{
	for (unsigned int k = 0; k < NUM_TARGETS; k++) {
		struct ioc *i;

		cur = &targets[k];
		cur_attr = 0;
		i = start(cur);
		expect(i, cur->result, "good call");
		/* The kernel says which outputs it wrote. */
		for (unsigned int n = 0; cur->result == 0 && n < i->hdr.num_attrs; n++) {
			if (cur->attr[n].kind == K_OUT)
				CHECK(i->attrs[n].flags & UVERBS_ATTR_F_VALID_OUTPUT);
		}
	}
}

static void unknown_attributes(void)
{
	for (unsigned int k = 0; k < NUM_TARGETS; k++) {
		struct ioc *i;

		cur = &targets[k];
		i = start(cur);
		ioc_obj(i, 0x2222, 0);
		expect(i, -EPROTONOSUPPORT, "unknown, mandatory");
		i = start(cur);
		ioc_obj(i, 0x2222, HOSTILE)->flags = 0;
		expect(i, cur->result, "unknown, optional");
	}
}

static void header_errors(void)
{
	struct ioc *i;

	cur = &targets[2]; /* QUERY_PORT */
	i = start(cur);
	i->hdr.length = sizeof(i->hdr) + 2 * sizeof(i->attrs[0]) - 1;
	expect(i, -EINVAL, "length one less");
	i = start(cur);
	i->hdr.length = sizeof(i->hdr) + 3 * sizeof(i->attrs[0]);
	expect(i, -EINVAL, "length of one attribute more");
	i = start(cur);
	i->hdr.num_attrs = 0xffff;
	i->hdr.length = 0xffff;
	expect(i, -EINVAL, "longer than a page");
	i = start(cur);
	i->hdr.reserved1 = 1;
	expect(i, -EPROTONOSUPPORT, "reserved1");
	i = start(cur);
	i->hdr.reserved2 = 1;
	expect(i, -EPROTONOSUPPORT, "reserved2");
	i = start(cur);
	i->hdr.driver_id = RDMA_DRIVER_MLX5;
	expect(i, -EINVAL, "another driver");
	i = start(cur);
	i->hdr.method_id = 99;
	expect(i, -EPROTONOSUPPORT, "unknown method");
	i = start(cur);
	i->hdr.object_id = 99;
	expect(i, -EPROTONOSUPPORT, "unknown object");
}

/* Every object and method number: what is not in the list does not exist for this driver. */
static void method_space(void)
{
	file_open();
	CHECK_ERR(make_context(), 0);
	for (unsigned int object = 0; object < 40; object++) {
		for (unsigned int method = 0; method < 16; method++) {
			struct ioc *i = ioc_new(object, method);
			bool known = object == UVERBS_OBJECT_MR && method == UVERBS_METHOD_REG_DMABUF_MR;
			int ret;

			for (unsigned int k = 0; k < NUM_TARGETS; k++)
				known |= targets[k].object == object && targets[k].method == method;
			ret = ioc_run(i);
			CU_ASSERT_EQUAL(ret == -EPROTONOSUPPORT, !known);
		}
	}
	file_close();
}

static void other_ioctls(void)
{
	struct ioc *i;

	file_open();
	i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	CHECK_ERR(kernel_ioctl(w.f, &w.task, 0x5401, U(i), &w.reply), -ENOTTY);
	CHECK_ERR(kernel_ioctl(w.f, &w.task, RDMA_VERBS_IOCTL, HOSTILE, &w.reply), -EFAULT);
	CHECK_ERR(kernel_ioctl(w.f, &w.task, RDMA_VERBS_IOCTL, U(w.arena) + ARENA_SIZE - 8, &w.reply),
		  -EFAULT);
	/* The header is there, its attributes are not. */
	i = (void *)(w.arena + ARENA_SIZE - sizeof(i->hdr));
	memset(i, 0, sizeof(i->hdr));
	i->hdr.method_id = UVERBS_METHOD_GET_CONTEXT;
	i->hdr.num_attrs = 1;
	i->hdr.length = sizeof(i->hdr) + sizeof(i->attrs[0]);
	CHECK_ERR(kernel_ioctl(w.f, &w.task, RDMA_VERBS_IOCTL, U(i), &w.reply), -EFAULT);
	file_close();
}

/* Without a context nothing works that needs one. */
static void no_context(void)
{
	for (unsigned int k = 0; k < NUM_TARGETS; k++) {
		struct ioc *i;
		int ret;

		cur = &targets[k];
		if (cur->new_file || cur->build == build_info_handles)
			continue;
		i = start(cur);
		kernel_release(w.f);
		CHECK_ERR(kernel_open(w.k, &w.task, "uverbs0", 0, &w.f), 0);
		ret = ioc_run(i);
		CU_ASSERT(ret == -EINVAL || ret == -ENOENT || ret == -EBADF);
		file_close();
	}
}

static void invoke_write_errors(void)
{
	struct ioc *i;

	cur = &targets[0];
	cur_attr = 0;
	i = start(cur);
	i->attrs[0].data = 0x1234567;
	expect(i, -EINVAL, "bits beside the command");
	i = start(cur);
	i->attrs[0].data = 1ull << 32;
	expect(i, -EINVAL, "command beyond 32 bits");
	i = start(cur);
	i->attrs[0].data = 0xff;
	expect(i, -EOPNOTSUPP, "command that is none");
	i = start(cur);
	i->attrs[0].data = IB_USER_VERBS_CMD_POLL_CQ;
	expect(i, -EOPNOTSUPP, "command the driver lacks");
	i = start(cur);
	i->attrs[1].len -= 4;
	expect(i, -ENOSPC, "short request");
	i = start(cur);
	i->attrs[2].len -= 4;
	expect(i, -ENOSPC, "no room for the response");
	i = start(cur);
	remove_attr(i, 1);
	expect(i, -ENOSPC, "no request");
}

static void values(void)
{
	struct ib_uverbs_gid_entry *e;
	struct ioc *i;

	cur_attr = 0;
	cur = &targets[2];
	for (unsigned int port = 0; port < 3; port += 2) {
		i = start(cur);
		i->attrs[0].data = port;
		expect(i, -EINVAL, "port that is none");
	}
	i = start(cur);
	i->attrs[0].data = 257;
	expect(i, -EINVAL, "port beyond u8");
	cur = &targets[5];
	i = start(cur);
	i->attrs[0].data = 0;
	expect(i, -EINVAL, "entry size 0");
	i = start(cur);
	i->attrs[2].len = sizeof(*e);
	expect(i, -EINVAL, "fewer entries than there are");
	i = start(cur);
	i->attrs[1].data = 1;
	expect(i, -EINVAL, "unknown flag");
	cur = &targets[6];
	i = start(cur);
	i->attrs[1].data = 2;
	expect(i, -ENODATA, "empty entry");
	i = start(cur);
	i->attrs[1].data = 1000;
	expect(i, -EINVAL, "entry behind the table");
	i = start(cur);
	i->attrs[1].data = 0;
	expect(i, 0, "first entry");
	e = (void *)(uintptr_t)i->attrs[3].data;
	CU_ASSERT_EQUAL(((uint8_t *)e->gid)[0], 0xfe);
	CU_ASSERT_EQUAL(e->gid_type, IB_UVERBS_GID_TYPE_ROCE_V2);
	CU_ASSERT_EQUAL(e->port_num, 1);
}

void add_ioctl_suite(void)
{
	CU_pSuite s = CU_add_suite("ioctl", world_init, world_exit);

	CU_add_test(s, "every method as it should be", good_calls);
	CU_add_test(s, "each attribute wrong in turn", each_attribute_wrong);
	CU_add_test(s, "unknown attributes", unknown_attributes);
	CU_add_test(s, "header", header_errors);
	CU_add_test(s, "numbers of objects and methods", method_space);
	CU_add_test(s, "other ioctls, hostile pointers", other_ioctls);
	CU_add_test(s, "without a context", no_context);
	CU_add_test(s, "INVOKE_WRITE", invoke_write_errors);
	CU_add_test(s, "values of attributes", values);
}
