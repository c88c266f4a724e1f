// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Every ioctl method: a good call, then each attribute wrong in turn. */
#include <unistd.h>

#include "ioctl_targets.h"

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
	/* Only memory that the kernel reads can fault. Data of up to 8 bytes is in the attribute itself. */
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
	if (t->object == UVERBS_OBJECT_QP && t->attr[n].id >= UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE)
		i->attrs[n].data = w.pd;
	if (t->object == UVERBS_OBJECT_WQ && t->attr[n].id == UVERBS_ATTR_CREATE_WQ_CQ_HANDLE)
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
		/* The kernel reports which outputs it wrote. */
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

	cur = &targets[T_QUERY_PORT];
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

/* Every object and method number: methods that are not in the list do not exist with this driver. */
static void method_space(void)
{
	file_open();
	CHECK_ERR(make_context(), 0);
	for (unsigned int object = 0; object < 40; object++) {
		for (unsigned int method = 0; method < 16; method++) {
			struct ioc *i = ioc_new(object, method);
			bool known = false;
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
	/* The header is mapped, its attributes are not. */
	i = (void *)(w.arena + ARENA_SIZE - sizeof(i->hdr));
	memset(i, 0, sizeof(i->hdr));
	i->hdr.method_id = UVERBS_METHOD_GET_CONTEXT;
	i->hdr.num_attrs = 1;
	i->hdr.length = sizeof(i->hdr) + sizeof(i->attrs[0]);
	CHECK_ERR(kernel_ioctl(w.f, &w.task, RDMA_VERBS_IOCTL, U(i), &w.reply), -EFAULT);
	file_close();
}

/* Calls that need a context fail without one. */
static void no_context(void)
{
	for (unsigned int k = 0; k < NUM_TARGETS; k++) {
		struct ioc *i;
		int ret;

		cur = &targets[k];
		if (cur->new_file || cur == &targets[T_INFO_HANDLES])
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

	cur = &targets[T_INVOKE_WRITE];
	cur_attr = 0;
	i = start(cur);
	i->attrs[0].data = 0x1234567;
	expect(i, -EINVAL, "bits outside of the command");
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
	cur = &targets[T_QUERY_PORT];
	for (unsigned int port = 0; port < 3; port += 2) {
		i = start(cur);
		i->attrs[0].data = port;
		expect(i, -EINVAL, "port that is none");
	}
	i = start(cur);
	i->attrs[0].data = 257;
	expect(i, -EINVAL, "port beyond u8");
	cur = &targets[T_QUERY_GID_TABLE];
	i = start(cur);
	i->attrs[0].data = 0;
	expect(i, -EINVAL, "entry size 0");
	i = start(cur);
	i->attrs[2].len = sizeof(*e);
	expect(i, -EINVAL, "fewer entries than there are");
	i = start(cur);
	i->attrs[1].data = 1;
	expect(i, -EINVAL, "unknown flag");
	cur = &targets[T_QUERY_GID_ENTRY];
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

	dmabuf_fd(); /* opened here, since each test counts descriptors */
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
