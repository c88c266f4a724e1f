// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Event files: real completions and errors of a real adapter, and pipes that are full or abandoned. */
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "harness.h"

/* The application's mapping of its rings. */
struct mapping {
	uint8_t *p;
	size_t len;
};

static struct mapping map(uint64_t offset, uint64_t len)
{
	struct mapping m = {.len = len};
	struct drv_mmap d;

	CHECK_ERR(kernel_mmap(w.f, &w.task, len, PROT_READ | PROT_WRITE, offset, &d), 0);
	CU_ASSERT_EQUAL(d.kind, DRV_MMAP_MEMORY);
	m.p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, d.memfd, d.memfd_offset);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(m.p, MAP_FAILED);
	return m;
}

static uint64_t uar(void)
{
	struct drv_mmap d;

	CHECK_ERR(kernel_mmap(w.f, &w.task, 4096, PROT_WRITE, 0, &d), 0);
	CU_ASSERT_EQUAL(d.kind, DRV_MMAP_BAR);
	CU_ASSERT_EQUAL(d.bar, HCASIM_BAR_UAR);
	CHECK(d.write_combining);
	return d.bar_offset;
}

static void arm(const struct hcasim_create_cq_resp *cq, uint32_t sn)
{
	const __le64 db = htole64(HCASIM_FIELD_PREP(HCASIM_DB_CQ_CQN_MASK, (uint64_t)cq->cqn) |
				  HCASIM_FIELD_PREP(HCASIM_DB_CQ_ARM_SN_MASK, (uint64_t)sn));
	struct mapping m = map(cq->ring_mmap_offset, cq->ring_mmap_size);
	struct hcasim_cq_record *rec = (void *)(m.p + cq->record_offset);

	rec->arm = htole32(HCASIM_FIELD_PREP(HCASIM_CQ_RECORD_SN_MASK, sn));
	hca_mmio_write(bench_core(0), HCASIM_BAR_UAR, uar() + HCASIM_UAR_DB_CQ, &db, sizeof(db));
	munmap(m.p, m.len);
	run_machine();
}

/* Posts `n` receives of no bytes to w.qp, which is in INIT. */
static void post_recv(unsigned int n)
{
	struct mapping m = map(w.qp_resp.ring_mmap_offset, w.qp_resp.ring_mmap_size);
	struct hcasim_sq_record *rec = (void *)(m.p + w.qp_resp.record_offset);

	for (unsigned int i = 0; i < n; i++)
		((struct hcasim_rqe *)(m.p + w.qp_resp.rq_offset + i * 32))->index = htole16(i);
	rec->rq_pi = htole32(n);
	munmap(m.p, m.len);
}

static void to_state(unsigned int state)
{
	struct ib_uverbs_modify_qp m;

	good_attrs(&m, HCASIM_QPT_RC);
	m.qp_state = state;
	m.attr_mask = HCASIM_QP_ATTR_STATE;
	if (state == HCASIM_QPS_INIT)
		m.attr_mask |= required_mask(HCASIM_QPT_RC, HCASIM_QPS_RESET, HCASIM_QPS_INIT);
	CHECK_ERR(modify_qp(&m), 0);
}

/* A QP on w.cq; `n` of its receives are flushed, so that `n` completions arrive. */
static void flushed_completions(unsigned int n)
{
	CHECK_ERR(make_qp(IB_UVERBS_QPT_RC), 0);
	to_state(HCASIM_QPS_INIT);
	post_recv(n);
	to_state(HCASIM_QPS_ERR);
	run_machine();
}

static void open_with_channel(void)
{
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_channel(), 0);
}

static bool readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}

static uint64_t read_comp(void)
{
	struct ib_uverbs_comp_event_desc d = {0};

	if (!readable(w.comp_fd))
		return 0;
	CU_ASSERT_EQUAL(read(w.comp_fd, &d, sizeof(d)), sizeof(d));
	return d.cq_handle;
}

static void completion(void)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct ib_uverbs_destroy_qp_resp qp_resp;

	open_with_channel();
	CHECK_ERR(make_cq(16, w.comp_fd), 0);
	CHECK_ERR(readable(w.comp_fd), 0);
	arm(&w.cq_resp, 1);
	flushed_completions(3);
	/* One event for one arm, however many completions. */
	CU_ASSERT_EQUAL(read_comp(), 0xc0);
	CHECK_ERR(readable(w.comp_fd), 0);
	CHECK_ERR(destroy_cq(w.cq, &resp), -EBUSY);
	CHECK_ERR(destroy_qp(w.qp, &qp_resp), 0);
	CHECK_ERR(destroy_cq(w.cq, &resp), 0);
	CU_ASSERT_EQUAL(resp.comp_events_reported, 1);
	CU_ASSERT_EQUAL(resp.async_events_reported, 0);
	file_close();
}

static void not_read(void)
{
	struct ib_uverbs_destroy_qp_resp qp_resp;
	struct ib_uverbs_destroy_cq_resp resp;

	open_with_channel();
	CHECK_ERR(make_cq(16, w.comp_fd), 0);
	arm(&w.cq_resp, 1);
	flushed_completions(1);
	CHECK(readable(w.comp_fd));
	CHECK_ERR(destroy_qp(w.qp, &qp_resp), 0);
	CHECK_ERR(destroy_cq(w.cq, &resp), 0);
	CU_ASSERT_EQUAL(resp.comp_events_reported, 0);
	CHECK_ERR(readable(w.comp_fd), 0);
	file_close();
}

static struct uobj *obj(uint32_t handle)
{
	return numbers_find(&w.f->handles, handle);
}

/* Events of two CQs on one channel, some of them read: only those of the destroyed CQ are removed. */
static void shared_channel(void)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct uobj *a, *b;

	open_with_channel();
	CHECK_ERR(make_cq(16, w.comp_fd), 0);
	a = obj(w.cq);
	a->user_handle = 1;
	CHECK_ERR(make_cq(16, w.comp_fd), 0);
	b = obj(w.cq);
	b->user_handle = 2;
	for (int i = 0; i < 6; i++)
		evfile_push_comp(a->comp, i % 3 ? b : a); /* a b b a b b */
	CU_ASSERT_EQUAL(read_comp(), 1);
	CU_ASSERT_EQUAL(read_comp(), 2);
	CHECK_ERR(destroy_cq(a->handle, &resp), 0);
	CU_ASSERT_EQUAL(resp.comp_events_reported, 1);
	CU_ASSERT_EQUAL(read_comp(), 2);
	CU_ASSERT_EQUAL(read_comp(), 2);
	CU_ASSERT_EQUAL(read_comp(), 2);
	CHECK_ERR(readable(w.comp_fd), 0);
	CHECK_ERR(destroy_cq(b->handle, &resp), 0);
	CU_ASSERT_EQUAL(resp.comp_events_reported, 4);
	file_close();
}

/* More events than a pipe holds: all arrive, in order. */
static void overflow(void)
{
	const unsigned int num = 20000;
	struct ib_uverbs_destroy_cq_resp resp;
	struct uobj *cq;

	open_with_channel();
	CHECK_ERR(make_cq(16, w.comp_fd), 0);
	cq = obj(w.cq);
	for (unsigned int i = 0; i < num; i++) {
		cq->user_handle = i + 1;
		evfile_push_comp(cq->comp, cq);
	}
	for (unsigned int i = 0; i < num; i++) {
		CU_ASSERT_EQUAL_FATAL(read_comp(), i + 1);
		kernel_poll_events(w.k);
	}
	CHECK_ERR(destroy_cq(cq->handle, &resp), 0);
	CU_ASSERT_EQUAL(resp.comp_events_reported, num);
	file_close();
}

static void overflow_destroyed(void)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct uobj *cq;

	open_with_channel();
	CHECK_ERR(make_cq(16, w.comp_fd), 0);
	cq = obj(w.cq);
	for (unsigned int i = 0; i < 20000; i++)
		evfile_push_comp(cq->comp, cq);
	for (unsigned int i = 0; i < 7; i++)
		CU_ASSERT_EQUAL(read_comp(), 0xc0);
	CHECK_ERR(destroy_cq(cq->handle, &resp), 0);
	CU_ASSERT_EQUAL(resp.comp_events_reported, 7);
	CHECK_ERR(readable(w.comp_fd), 0);
	file_close();
}

static int fd_of_comp = -1;

/* The application closes its end. The descriptor stays in use, since the harness closes it again. */
static void abandon(int fd)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	fd_of_comp = dup2(null, fd);
	close(null);
	CU_ASSERT_EQUAL(fd_of_comp, fd);
}

/* The application closes its end with events in it. */
static void abandoned(void)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct uobj *cq;

	open_with_channel();
	CHECK_ERR(make_cq(16, w.comp_fd), 0);
	cq = obj(w.cq);
	for (int i = 0; i < 5; i++)
		evfile_push_comp(cq->comp, cq);
	CU_ASSERT_EQUAL(read_comp(), 0xc0);
	CU_ASSERT_EQUAL(read_comp(), 0xc0);
	abandon(w.comp_fd);
	for (int i = 0; i < 5; i++)
		evfile_push_comp(cq->comp, cq);
	kernel_poll_events(w.k);
	CHECK_ERR(kernel_poll_events(w.k), 0);
	CHECK_ERR(make_cq(16, w.comp_fd), -EBADF);
	CHECK_ERR(destroy_cq(cq->handle, &resp), 0);
	CU_ASSERT_EQUAL(resp.comp_events_reported, 2);
	file_close();
}

#define IDLE_CHANNELS 300

static unsigned int num_event_files(void)
{
	const struct evfile *ev;
	unsigned int num = 0;

	TAILQ_FOREACH(ev, &w.f->events, link)
	num++;
	return num;
}

/* Takes the reports that are waiting now, but not endlessly many. */
static void take_reports(void)
{
	for (unsigned int i = 0; i < IDLE_CHANNELS && kernel_poll_events(w.k); i++)
		;
}

/* The cost of an event does not depend on the number of idle channels. */
static void idle_channels(void)
{
	struct uobj *cq;

	open_with_channel();
	for (unsigned int i = 0; i < IDLE_CHANNELS; i++)
		CHECK_ERR(make_channel(), 0);
	CHECK_ERR(make_cq(16, w.comp_fd), 0);
	cq = obj(w.cq);
	take_reports(); /* each new channel reports once that it has room */
	evfile_push_comp(cq->comp, cq);
	CHECK_ERR(kernel_poll_events(w.k), 0);
	CU_ASSERT_EQUAL(read_comp(), 0xc0);
	CHECK_ERR(kernel_poll_events(w.k), 0);
	for (unsigned int i = 0; i < 20000; i++)
		evfile_push_comp(cq->comp, cq);
	CHECK_ERR(kernel_poll_events(w.k), 0);
	for (unsigned int i = 0; i < 4096; i++)
		CU_ASSERT_EQUAL_FATAL(read_comp(), 0xc0);
	CU_ASSERT_EQUAL(kernel_poll_events(w.k), 1);
	file_close();
}

/* A channel is released when it is closed, not only with its context. */
static void closed_channels(void)
{
	struct ib_uverbs_destroy_cq_resp resp;
	unsigned int before;

	open_with_channel();
	before = num_event_files();
	for (unsigned int i = 0; i < 10; i++) {
		CHECK_ERR(make_channel(), 0);
		abandon(w.comp_fd);
	}
	CU_ASSERT_EQUAL(num_event_files(), before + 10);
	take_reports();
	CU_ASSERT_EQUAL(num_event_files(), before);
	/* The asynchronous event file, too, though objects still refer to it. */
	CHECK_ERR(make_cq(16, -1), 0);
	abandon(w.async_fd);
	take_reports();
	CU_ASSERT_EQUAL(num_event_files(), before - 1);
	evfile_push_async(obj(w.cq)->async, obj(w.cq), 5, 0);
	CHECK_ERR(destroy_cq(w.cq, &resp), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	file_close();
}

/* Any number of unread events is removed with their object. */
static void many_unread(void)
{
	struct ib_uverbs_destroy_cq_resp resp;
	uint32_t handle[64];

	open_with_channel();
	for (unsigned int i = 0; i < 64; i++) {
		CHECK_ERR(make_cq(4, w.comp_fd), 0);
		handle[i] = w.cq;
		obj(w.cq)->user_handle = i + 1;
	}
	for (unsigned int i = 0; i < 6400; i++)
		evfile_push_comp(obj(handle[i % 64])->comp, obj(handle[i % 64]));
	for (unsigned int i = 0; i < 32; i++) {
		CU_ASSERT_EQUAL(obj(handle[i])->unread, 100);
		CHECK_ERR(destroy_cq(handle[i], &resp), 0);
		CU_ASSERT_EQUAL(resp.comp_events_reported, 0);
	}
	for (unsigned int i = 0; i < 3200; i++)
		CU_ASSERT_EQUAL_FATAL(read_comp(), i % 32 + 33);
	CHECK_ERR(readable(w.comp_fd), 0);
	CHECK_ERR(destroy_cq(handle[40], &resp), 0);
	CU_ASSERT_EQUAL(resp.comp_events_reported, 100);
	CU_ASSERT_EQUAL(obj(handle[41])->unread, 0);
	file_close();
}

static bool read_async(struct ib_uverbs_async_event_desc *d)
{
	return readable(w.async_fd) && read(w.async_fd, d, sizeof(*d)) == sizeof(*d);
}

/* A CQ of one entry and three completions: the adapter reports the overrun. */
static void cq_overrun(void)
{
	struct ib_uverbs_async_event_desc d = {0};
	struct ib_uverbs_destroy_qp_resp qp_resp;
	struct ib_uverbs_destroy_cq_resp resp;

	open_with_channel();
	CHECK_ERR(make_cq(1, -1), 0);
	flushed_completions(3);
	CHECK(read_async(&d));
	CU_ASSERT_EQUAL(d.element, 0xc0);
	CU_ASSERT_EQUAL(d.event_type, 0); /* IBV_EVENT_CQ_ERR */
	while (read_async(&d))
		;
	CHECK_ERR(destroy_qp(w.qp, &qp_resp), 0);
	CHECK_ERR(destroy_cq(w.cq, &resp), 0);
	CU_ASSERT_EQUAL(resp.async_events_reported, 1);
	file_close();
}

/* Objects report to the event file they were created with, all others to the first one. */
static void own_event_file(void)
{
	struct ib_uverbs_async_event_desc d = {0};
	struct ioc *i;
	int first, second;
	uint32_t cq;

	file_open();
	CHECK_ERR(make_context(), 0);
	first = w.async_fd;
	i = ioc_new(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	ioc_obj(i, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0);
	CHECK_ERR(ioc_run(i), 0);
	second = i->attrs[0].data_s64;
	i = ioc_new(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	ioc_obj(i, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	ioc_in(i, UVERBS_ATTR_CREATE_CQ_CQE, &(uint32_t){4}, 4);
	ioc_in(i, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &(uint64_t){5}, 8);
	ioc_in(i, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &(uint32_t){0}, 4);
	ioc_out(i, UVERBS_ATTR_CREATE_CQ_RESP_CQE, user_alloc(8), 4);
	ioc_obj(i, UVERBS_ATTR_CREATE_CQ_EVENT_FD, second);
	ioc_out(i, UVERBS_ATTR_UHW_OUT, user_alloc(64), sizeof(struct hcasim_create_cq_resp));
	CHECK_ERR(ioc_run(i), 0);
	cq = i->attrs[0].data;
	evfile_push_async(obj(cq)->async, obj(cq), 5, 0);
	w.async_fd = first;
	CHECK_ERR(read_async(&d), 0);
	w.async_fd = second;
	CHECK(read_async(&d));
	CU_ASSERT_EQUAL(d.element, 5);
	file_close();
}

/* Release with unread events: the reader gets end of file and does not hang. */
static void released(void)
{
	uint64_t d;

	open_with_channel();
	CHECK_ERR(make_cq(16, w.comp_fd), 0);
	evfile_push_comp(obj(w.cq)->comp, obj(w.cq));
	kernel_release(w.f);
	CU_ASSERT_EQUAL(read(w.comp_fd, &d, sizeof(d)), 0);
	CHECK_ERR(kernel_open(w.k, &w.task, "uverbs0", 0, &w.f), 0);
	file_close();
}

/* A port event reaches every context of that adapter, and the port's state follows the adapter. */
static void port_event(void)
{
	struct ib_uverbs_async_event_desc d = {0};
	struct kfile *other;

	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(kernel_open(w.k, &w.task, "uverbs1", 0, &other), 0);
	CHECK_ERR(kernel_link(w.k, "ens5"), -ENODEV);
	CHECK_ERR(kernel_link_set(w.k, "ens5", false), -ENODEV);
	CHECK_ERR(kernel_link_set(w.k, "ens4", false), 0); /* the link of the other adapter */
	run_machine();
	CHECK_ERR(readable(w.async_fd), 0);
	for (int up = 0; up < 2; up++) {
		CHECK_ERR(kernel_link(w.k, "ens3"), !up);
		CHECK_ERR(kernel_link_set(w.k, "ens3", up), 0);
		CHECK_ERR(kernel_link(w.k, "ens3"), up);
		run_machine();
		CHECK(read_async(&d));
		CU_ASSERT_EQUAL(d.element, 1);
		CU_ASSERT_EQUAL(d.event_type, up ? 9 : 10); /* IBV_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ERR */
	}
	CHECK_ERR(kernel_link_set(w.k, "ens4", true), 0);
	kernel_release(other);
	file_close();
}

void add_event_suite(void)
{
	CU_pSuite s = CU_add_suite("events", world_init, world_exit);

	CU_add_test(s, "completion event of an armed CQ", completion);
	CU_add_test(s, "event not read before destroy", not_read);
	CU_add_test(s, "two CQs on a channel", shared_channel);
	CU_add_test(s, "more events than a pipe holds", overflow);
	CU_add_test(s, "destroy with a full pipe", overflow_destroyed);
	CU_add_test(s, "abandoned channel", abandoned);
	CU_add_test(s, "idle channels", idle_channels);
	CU_add_test(s, "closed channels", closed_channels);
	CU_add_test(s, "many unread events", many_unread);
	CU_add_test(s, "CQ overrun", cq_overrun);
	CU_add_test(s, "event file of an object", own_event_file);
	CU_add_test(s, "release with unread events", released);
	CU_add_test(s, "port event", port_event);
}
