// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What --kernel 6.1 does not have: every item of the list in releases.c, requested with both releases. */
#include "cm_fixture.h"
#include "kernel/releases.h"

static void has_release(uint16_t release)
{
	w.k->cfg.release = release;
}

/*
 * A release that has the command looks up the id, which does not exist. The event type is one that may be
 * written.
 */
static int ask_ucma_command(const struct abi_item *a)
{
	const union {
		struct ucma_write_cm_event event;
		uint8_t room[512];
	} cmd = {.event.event = EV_USER};
	struct cm_file c;
	int ret;

	cm_open(&c);
	ret = cm_cmd(&c, a->number, &cmd, sizeof(cmd), NULL, 0);
	cm_close(&c);
	return ret;
}

static int ask_ucma_query(const struct abi_item *a)
{
	struct rdma_ucm_query q = {.option = a->number};
	struct cm_file c;
	int ret;

	cm_open(&c);
	CHECK_ERR(cm_create(&c, RDMA_PS_TCP, &q.id), 0);
	ret = cm_cmd(&c, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q), NULL, 0);
	cm_close(&c);
	return ret;
}

/* Every method of the list has mandatory attributes. */
static int ask_method(const struct abi_item *a)
{
	return ioc_run(ioc_new(a->object, a->method));
}

/* An unknown attribute is detected before a missing one. */
static int ask_attr(const struct abi_item *a)
{
	struct ioc *i = ioc_new(a->object, a->method);

	ioc_add(i, a->number)->flags = UVERBS_ATTR_F_MANDATORY;
	return ioc_run(i);
}

/* A field of the response is 0 if the release does not have it. */
static int ask_field(const struct abi_item *a)
{
	struct ioc *i = ioc_new(a->object, a->method);
	struct ib_uverbs_query_port_resp_ex *resp = user_alloc(sizeof(*resp));

	CHECK_ERR(a->object == UVERBS_OBJECT_DEVICE && a->method == UVERBS_METHOD_QUERY_PORT, 1);
	ioc_const(i, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1);
	ioc_out(i, UVERBS_ATTR_QUERY_PORT_RESP, resp, sizeof(*resp));
	CHECK_ERR(ioc_run(i), 0);
	return ((uint8_t *)resp)[a->number];
}

static int ask_access(const struct abi_item *a)
{
	return make_mr(w.arena, 4096, 1u << a->number);
}

static const struct {
	int (*ask)(const struct abi_item *a);
	int unknown; /* the result on Linux 6.1 */
} kinds[ABI_KINDS] = {
	[ABI_UCMA_COMMAND] = {ask_ucma_command, -EINVAL}, /* ucma_write() */
	[ABI_UCMA_QUERY] = {ask_ucma_query, -ENOSYS},     /* ucma_query() */
	[ABI_METHOD] = {ask_method, -EPROTONOSUPPORT},    /* ib_uverbs_cmd_verbs() */
	[ABI_ATTR] = {ask_attr, -EPROTONOSUPPORT},        /* uverbs_set_attr() */
	[ABI_FIELD] = {ask_field, 0},
	[ABI_ACCESS] = {ask_access, -EINVAL}, /* ib_check_mr_access() */
};

static void ask_all(uint16_t release)
{
	for (size_t i = 0; i < num_abi_items; i++) {
		const struct abi_item *a = &abi_items[i];
		int got;

		file_open();
		CHECK_ERR(make_context(), 0);
		CHECK_ERR(make_pd(), 0);
		has_release(release);
		got = kinds[a->kind].ask(a);
		if ((got == kinds[a->kind].unknown) == (release >= a->since)) {
			fprintf(stderr, "\nitem %zu of releases.c, release 0x%x: %d\n", i, release, got);
			CU_FAIL("answered as the other release does");
		}
		has_release(LINUX_LATEST);
		file_close();
	}
}

static void oldest(void)
{
	ask_all(LINUX_OLDEST);
}

static void latest(void)
{
	ask_all(LINUX_LATEST);
}

/* Each item appears with its own release. */
static void between(void)
{
	for (size_t i = 0; i < num_abi_items; i++) {
		ask_all(abi_items[i].since - 1);
		ask_all(abi_items[i].since);
	}
}

/* An unknown attribute is ignored unless it is marked as mandatory. */
static void optional(void)
{
	for (size_t i = 0; i < num_abi_items; i++) {
		const struct abi_item *a = &abi_items[i];
		struct ioc *c;

		if (a->kind != ABI_ATTR)
			continue;
		file_open();
		has_release(LINUX_OLDEST);
		c = ioc_new(a->object, a->method);
		ioc_add(c, a->number)->flags = 0;
		CU_ASSERT_NOT_EQUAL(ioc_run(c), -EPROTONOSUPPORT);
		has_release(LINUX_LATEST);
		file_close();
	}
}

/* An Ethernet port has no subnet administrator (rdma_cap_ib_sa()). */
static void ib_services(void)
{
	struct ucma_resolve_ib_service cmd = {.service_id = 1, .flags = 1};
	struct ucma_query_ib_service_resp resp;
	struct rdma_ucm_query q = {.option = UCMA_QUERY_IB_SERVICE};
	struct cm_file c;

	cm_open(&c);
	CHECK_ERR(cm_cmd(&c, UCMA_RESOLVE_IB_SERVICE, &cmd, sizeof(cmd), NULL, 0), -ENOENT);
	CHECK_ERR(cm_create(&c, RDMA_PS_IB, &cmd.id), 0);
	CHECK_ERR(cm_cmd(&c, UCMA_RESOLVE_IB_SERVICE, &cmd, sizeof(cmd), NULL, 0), -EINVAL); /* not bound */
	CHECK_ERR(cm_bind(&c, cmd.id, HERE, 0), 0);
	CHECK_ERR(cm_cmd(&c, UCMA_RESOLVE_IB_SERVICE, &cmd, sizeof(cmd), NULL, 0), -EOPNOTSUPP);
	q.id = cmd.id;
	CHECK_ERR(cm_cmd(&c, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q), &resp, 7), -ENOSPC);
	CHECK_ERR(cm_cmd(&c, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q), &resp, sizeof(resp)), -ENODATA);
	q.option++;
	CHECK_ERR(cm_cmd(&c, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q), &resp, sizeof(resp)), -ENOSYS);
	CHECK_ERR(cm_resolve(&c, cmd.id, NULL, THERE, 1), 0);
	CHECK_ERR(cm_cmd(&c, UCMA_RESOLVE_IB_SERVICE, &cmd, sizeof(cmd), NULL, 0), -EINVAL);
	cm_close(&c);
}

/* Attributes of CQ buffers: a driver that does not support them refuses every combination. */
static void cq_buffers(void)
{
	static const struct {
		bool va, length, fd, offset;
		int ret;
	} tab[] = {
		{true, true, false, false, -EINVAL},  {true, false, false, false, -ENOENT},
		{false, true, true, true, -EINVAL},   {false, true, true, false, -ENOENT},
		{false, false, true, true, -ENOENT},  {false, true, false, false, -EINVAL},
		{false, false, false, true, -EINVAL}, {false, false, false, false, 0},
	};
	struct hcasim_create_cq_resp *uhw;
	struct ioc *i;

	file_open();
	CHECK_ERR(make_context(), 0);
	for (size_t n = 0; n < sizeof(tab) / sizeof(tab[0]); n++) {
		uhw = user_alloc(sizeof(*uhw));
		i = ioc_new(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
		ioc_obj(i, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
		ioc_in(i, UVERBS_ATTR_CREATE_CQ_CQE, &(uint32_t){16}, 4);
		ioc_in(i, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &(uint64_t){1}, 8);
		ioc_in(i, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &(uint32_t){0}, 4);
		ioc_out(i, UVERBS_ATTR_CREATE_CQ_RESP_CQE, user_alloc(4), 4);
		ioc_out(i, UVERBS_ATTR_UHW_OUT, uhw, sizeof(*uhw));
		if (tab[n].va)
			ioc_in(i, ABI_ATTR_CREATE_CQ_BUFFER_VA, &(uint64_t){U(w.arena)}, 8);
		if (tab[n].length)
			ioc_in(i, ABI_ATTR_CREATE_CQ_BUFFER_LENGTH, &(uint64_t){4096}, 8);
		if (tab[n].fd)
			ioc_obj(i, ABI_ATTR_CREATE_CQ_BUFFER_FD, 0);
		if (tab[n].offset)
			ioc_in(i, ABI_ATTR_CREATE_CQ_BUFFER_OFFSET, &(uint64_t){0}, 8);
		CHECK_ERR(ioc_run(i), tab[n].ret);
	}
	file_close();
}

static int context_with(const int *fds, uint16_t len)
{
	struct ioc *i = ioc_new(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);

	ioc_in(i, ABI_ATTR_GET_CONTEXT_FD_ARR, fds, len);
	return ioc_run(i);
}

static void capability_devices(void)
{
	const int open_one[2] = {0, 0}, closed[2] = {12345, 0};

	file_open();
	CHECK_ERR(context_with(open_one, 3), -EINVAL);
	CHECK_ERR(context_with(open_one, 7), -EINVAL);
	CHECK_ERR(context_with(open_one, 8), -EINVAL);
	CHECK_ERR(context_with(closed, 4), -EBADF);
	CHECK_ERR(make_context(), 0);
	file_close();
}

static void names(void)
{
	uint16_t release = 0;

	CHECK_ERR(abi_release("6.1", &release), 0);
	CHECK_ERR(release, LINUX_OLDEST);
	CHECK_ERR(abi_release("latest", &release), 0);
	CHECK_ERR(release, LINUX_LATEST);
	CHECK_ERR(abi_release("6.2", &release), -EINVAL);
	CHECK_ERR(abi_release("", &release), -EINVAL);
}

void add_releases_suite(void)
{
	CU_pSuite s = CU_add_suite("releases of Linux", world_init, world_exit);

	CU_add_test(s, "6.1", oldest);
	CU_add_test(s, "latest", latest);
	CU_add_test(s, "each with its own", between);
	CU_add_test(s, "optional attributes", optional);
	CU_add_test(s, "IB services", ib_services);
	CU_add_test(s, "CQ buffers", cq_buffers);
	CU_add_test(s, "capability devices", capability_devices);
	CU_add_test(s, "names", names);
}
