// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Events of DEVX: who gets which, in which form, and subscriptions of any content. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <CUnit/Basic.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "mlx5_devx_world.h"
#include "suite.h"

#define EVENT(x) HCASIM_MLX5_EVENT_##x
#define OMIT     MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA
#define FD_ALLOC MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS
#define ID(x)    MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_##x

/* ---- What the kernel would do ---- */

struct file {
	struct drv_file base;
	int refs;
	bool closed;
	unsigned int num;
	size_t len;
	uint64_t cookie;
	struct hcasim_mlx5_eqe eqe;
};
static struct {
	unsigned int completions, async_cqs, async_qps, async_ports; /* that the kernel got */
	struct drv_upcalls up;
} k;

static int file_push(struct drv_file *base, const void *data, size_t len)
{
	struct file *f = (struct file *)base;

	f->num++;
	f->len = len;
	memcpy(&f->cookie, data, sizeof(f->cookie));
	if (len > sizeof(f->cookie))
		memcpy(&f->eqe, (const uint8_t *)data + sizeof(f->cookie), sizeof(f->eqe));
	return 0;
}

static bool file_open(const struct drv_file *f)
{
	return !((const struct file *)f)->closed;
}

static void file_get(struct drv_file *f)
{
	((struct file *)f)->refs++;
}

static void file_put(struct drv_file *f)
{
	((struct file *)f)->refs--;
}

static void completion(struct drv_cq *cq)
{
	k.completions++;
}

static void async_cq(struct drv_cq *cq, uint32_t event)
{
	k.async_cqs++;
}

static void async_qp(struct drv_qp *qp, uint32_t event)
{
	k.async_qps++;
}

static void async_port(struct drv_device *dev, uint8_t port, uint32_t event)
{
	k.async_ports++;
}

static const struct drv_upcalls *up(void)
{
	return common_dev(&w.dev)->up;
}

/* ---- Calls ---- */

struct subscribe_call {
	struct drv_call base;
	uint16_t types[300];
	size_t bytes;
	bool has_cookie, has_fd;
	uint64_t cookie, flags;
	int32_t fd;
	struct file *file;
	struct mlx5_devx_obj *obj;
};

static size_t call_size(struct drv_call *c, uint16_t id)
{
	return ((struct subscribe_call *)c)->bytes;
}

static int call_get(struct drv_call *c, uint16_t id, void *dst, size_t size)
{
	const struct subscribe_call *s = (const struct subscribe_call *)c;
	const void *src = id == ID(TYPE_NUM_LIST) ? (const void *)s->types
			  : id == ID(COOKIE)      ? (const void *)&s->cookie
						  : (const void *)&s->fd;

	if ((id == ID(COOKIE) && !s->has_cookie) || (id == ID(FD_NUM) && !s->has_fd))
		return -ENOENT;
	memcpy(dst, src, size);
	return 0;
}

static int flags_get(struct drv_call *c, uint16_t id, void *dst, size_t size)
{
	CU_ASSERT_EQUAL(id, FD_ALLOC);
	memcpy(dst, &((struct subscribe_call *)c)->flags, size);
	return 0;
}

static void *call_object(struct drv_call *c, uint16_t id)
{
	return ((struct subscribe_call *)c)->obj;
}

static struct drv_file *call_file(struct drv_call *c, uint16_t id)
{
	return &((struct subscribe_call *)c)->file->base;
}

static int call_user_fd(struct drv_call *c, int fd)
{
	const int own = dup(fd);

	return own < 0 ? -EBADF : own;
}

static int subscribe(struct subscribe_call *s)
{
	static const struct drv_call_ops ops = {.size = call_size,
						.get = call_get,
						.object = call_object,
						.file = call_file,
						.user_fd = call_user_fd};

	s->base = (struct drv_call){.ops = &ops, .dev = &w.dev, .ctx = &w.ctx.base};
	return mlx5_devx_subscribe(&s->base);
}

static int alloc_events(struct file *f, uint64_t flags)
{
	static const struct drv_call_ops ops = {.get = flags_get, .file = call_file};
	struct subscribe_call s = {.flags = flags, .file = f};

	s.base = (struct drv_call){.ops = &ops, .dev = &w.dev, .ctx = &w.ctx.base};
	return mlx5_devx_alloc_events(&s.base);
}

static struct subscribe_call to(struct file *f, struct mlx5_devx_obj *obj, uint16_t type)
{
	return (struct subscribe_call){.file = f, .obj = obj, .types = {type}, .bytes = sizeof(uint16_t)};
}

/* ---- Objects: as CREATE_CQ and CREATE_QP leave them ---- */

static struct mlx5_devx_obj cq, qp;

static void set_up(void)
{
	k.up = *mlx5_dev(&w.dev)->kernel;
	k.up.completion = completion;
	k.up.async_cq = async_cq;
	k.up.async_qp = async_qp;
	k.up.async_port = async_port;
	k.up.file_push = file_push;
	k.up.file_open = file_open;
	k.up.file_get = file_get;
	k.up.file_put = file_put;
	mlx5_dev(&w.dev)->kernel = &k.up;
	TAILQ_INIT(&cq.subs);
	TAILQ_INIT(&qp.subs);
	cq.dev = qp.dev = &w.dev;
	cq.cq.devx = &cq;
	cq.cq.base.ctx = &w.ctx.base;
	cq.cq.base.cqn = 0x123;
	qp.qp.devx = &qp;
	qp.qp.base.dev = &w.dev;
	qp.qp.base.qpn = 0x456;
}

static void end(struct mlx5_devx_obj *obj)
{
	mlx5_devx_events_end(&w.dev, &obj->subs);
}

static void test_cookie(void)
{
	struct file f = {.refs = 0}, omit = {.refs = 0};
	struct subscribe_call a = to(&f, &cq, EVENT(CQ_ERROR)), b = to(&omit, &cq, EVENT(COMP));
	struct hcasim_mlx5_eqe_cq_error data;

	CU_ASSERT_EQUAL(alloc_events(&f, 0), 0);
	CU_ASSERT_EQUAL(alloc_events(&omit, OMIT), 0);
	CU_ASSERT_EQUAL(alloc_events(&omit, 2), -EINVAL);
	a.has_cookie = b.has_cookie = true;
	a.cookie = 100;
	b.cookie = 200;
	CU_ASSERT_EQUAL(subscribe(&a), 0);
	CU_ASSERT_EQUAL(subscribe(&b), 0);
	CU_ASSERT_TRUE(f.refs == 1 && omit.refs == 1);
	up()->async_cq(&cq.cq.base, 0);
	CU_ASSERT_TRUE(f.num == 1 && f.cookie == 100 && f.len == 72 && !omit.num);
	CU_ASSERT_EQUAL(f.eqe.type, EVENT(CQ_ERROR));
	memcpy(&data, f.eqe.data, sizeof(data));
	CU_ASSERT_TRUE(be32toh(data.number) == 0x123 && data.syndrome == 1);
	up()->completion(&cq.cq.base);
	CU_ASSERT_TRUE(f.num == 1 && omit.num == 1 && omit.cookie == 200 && omit.len == 8);
	CU_ASSERT_TRUE(!k.completions && !k.async_cqs);
	end(&cq);
	CU_ASSERT_TRUE(!f.refs && !omit.refs);
	up()->completion(&cq.cq.base);
	CU_ASSERT_EQUAL(omit.num, 1);
}

static void test_eventfd(void)
{
	const int fd = eventfd(0, EFD_NONBLOCK), null = open("/dev/null", O_WRONLY);
	struct file f = {.refs = 0};
	struct subscribe_call s = to(&f, &qp, EVENT(WQ_ACCESS_ERROR));
	uint64_t count = UINT64_MAX - 1;

	s.has_fd = true;
	s.fd = fd;
	CU_ASSERT_EQUAL(subscribe(&s), 0);
	up()->async_qp(&qp.qp.base, 3);
	up()->async_qp(&qp.qp.base, 1);
	CU_ASSERT_EQUAL(read(fd, &count, sizeof(count)), sizeof(count));
	CU_ASSERT_TRUE(count == 1 && !f.num);
	count = UINT64_MAX - 1; /* a full counter does not stop us */
	CU_ASSERT_EQUAL(write(fd, &count, sizeof(count)), sizeof(count));
	up()->async_qp(&qp.qp.base, 3);
	s.has_cookie = true;
	CU_ASSERT_EQUAL(subscribe(&s), -EINVAL);
	s.has_cookie = false;
	s.fd = null;
	CU_ASSERT_EQUAL(subscribe(&s), -EINVAL);
	s.fd = -1;
	CU_ASSERT_EQUAL(subscribe(&s), -EBADF);
	CU_ASSERT_EQUAL(f.refs, 1);
	end(&qp);
	CU_ASSERT_EQUAL(f.refs, 0);
	close(null);
	close(fd);
}

/* One program does not take all of the device process's descriptors; what ends makes room. */
static void test_limit_of_eventfds(void)
{
	const int fd = eventfd(0, EFD_NONBLOCK);
	struct file f = {.refs = 0};
	struct subscribe_call s = to(&f, &qp, EVENT(WQ_ACCESS_ERROR));

	s.has_fd = true;
	s.fd = fd;
	for (unsigned int i = 0; i < MLX5_MAX_EVENTFDS; i++)
		CU_ASSERT_EQUAL(subscribe(&s), 0);
	CU_ASSERT_EQUAL(subscribe(&s), -EMFILE);
	CU_ASSERT_EQUAL(f.refs, MLX5_MAX_EVENTFDS);
	end(&qp);
	CU_ASSERT_EQUAL(subscribe(&s), 0);
	end(&qp);
	close(fd);
}

static void test_ports(void)
{
	struct file f = {.refs = 0};
	struct subscribe_call s = to(&f, NULL, EVENT(PORT_CHANGE));
	struct hcasim_mlx5_eqe_port data;

	CU_ASSERT_EQUAL(subscribe(&s), 0);
	up()->async_port(&w.dev, 1, 10);
	CU_ASSERT_EQUAL(f.eqe.sub_type, HCASIM_MLX5_PORT_CHANGE_DOWN);
	up()->async_port(&w.dev, 1, 9);
	CU_ASSERT_EQUAL(f.eqe.sub_type, HCASIM_MLX5_PORT_CHANGE_ACTIVE);
	memcpy(&data, f.eqe.data, sizeof(data));
	CU_ASSERT_EQUAL(data.number, htobe32(1u << 28));
	up()->async_port(&w.dev, 1, 18); /* of GIDs */
	CU_ASSERT_TRUE(f.num == 2 && k.async_ports == 3);
	mlx5_devx_events_close(&w.ctx);
	CU_ASSERT_EQUAL(f.refs, 0);
}

static void test_refused(void)
{
	struct file f = {.refs = 0};
	struct subscribe_call s = to(&f, NULL, EVENT(COMP));

	CU_ASSERT_EQUAL(subscribe(&s), -EINVAL); /* an object's */
	s = to(&f, &cq, EVENT(PORT_CHANGE));
	CU_ASSERT_EQUAL(subscribe(&s), -EINVAL);
	s = to(&f, &cq, 0x7f);
	CU_ASSERT_EQUAL(subscribe(&s), -EINVAL);
	s = to(&f, &cq, 0x100);
	CU_ASSERT_EQUAL(subscribe(&s), -EINVAL);
	s = to(&f, &cq, EVENT(COMP));
	s.types[1] = 0x7f;
	s.bytes = 4; /* one that there is, and one that there is not */
	CU_ASSERT_EQUAL(subscribe(&s), -EINVAL);
	s.bytes = 3;
	CU_ASSERT_EQUAL(subscribe(&s), -EINVAL);
	s.bytes = 0;
	CU_ASSERT_EQUAL(subscribe(&s), -EINVAL);
	s.types[1] = 0;
	s.bytes = 2 * 256;
	CU_ASSERT_EQUAL(subscribe(&s), -EINVAL);
	CU_ASSERT_EQUAL(f.refs, 0);
	s.bytes = 2 * 255;
	CU_ASSERT_EQUAL(subscribe(&s), 0);
	CU_ASSERT_EQUAL(f.refs, 255);
	w.ctx.devx = false;
	CU_ASSERT_EQUAL(subscribe(&s), -EINVAL);
	w.ctx.devx = true;
	end(&cq);
}

/* A program that subscribes and closes does not leave its subscriptions until the object ends. */
static void test_closed_files(void)
{
	struct file f[100] = {{.refs = 0}};
	struct subscribe_call s;

	for (unsigned int i = 0; i < 100; i++) {
		s = to(&f[i], &cq, EVENT(COMP));
		CU_ASSERT_EQUAL(subscribe(&s), 0);
		f[i].closed = true;
		CU_ASSERT_TRUE(!i || !f[i - 1].refs);
	}
	end(&cq);
	CU_ASSERT_EQUAL(f[99].refs, 0);
}

static void test_of_verbs(void)
{
	struct mlx5_cq verbs = cq.cq;
	struct mlx5_qp verbs_qp = qp.qp;

	verbs.devx = NULL;
	verbs_qp.devx = NULL;
	up()->completion(&verbs.base);
	up()->async_cq(&verbs.base, 0);
	up()->async_qp(&verbs_qp.base, 1);
	CU_ASSERT_TRUE(k.completions == 1 && k.async_cqs == 1 && k.async_qps == 1);
}

int main(void)
{
	static const CU_TestInfo tests[] = {{"set-up", set_up},
					    {"with a cookie", test_cookie},
					    {"by eventfd", test_eventfd},
					    {"limit of eventfds", test_limit_of_eventfds},
					    {"ports", test_ports},
					    {"refused subscriptions", test_refused},
					    {"closed files", test_closed_files},
					    {"objects of verbs", test_of_verbs},
					    CU_TEST_INFO_NULL};

	return suite_run("mlx5 DEVX events", devx_world_init, devx_world_exit, tests);
}
