// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Control connections: requests of applications, and their MMIO rings. */
#include <errno.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <fcntl.h>
#include <unistd.h>

#include "process/device/server.h"
#include "process/device/crash_cleanup.h"
#include "process/clock/vclock.h"

/* Minimum time of a system call until its command reaches the adapter: work that was posted before continues. */
#define CALL_PS (5000000ull)
/* Simulated time between two looks at a command that is not done yet. */
#define STEP_PS (100000ull)

struct load { /* a pending MMIO read */
	struct server *server;
	struct shared_ring *ring;
	uint32_t tid;
	uint16_t reply;
};

static bool no_descriptors(void)
{
	return errno == EMFILE || errno == ENFILE;
}

/* ---- What is in a ring --------------------------------------------------------------------------- */

static void load_done(void *arg, const void *data, uint32_t size)
{
	struct load *load = arg;
	struct ring_reply *r = &load->ring->ring->reply[load->reply];

	memcpy(r->data, data, size < RING_DATA_MAX ? size : RING_DATA_MAX);
	shared_ring_answer(load->ring, load->reply);
	vclock_loaded(load->server, load->ring, load->tid);
	shared_ring_put(load->ring);
	free(load);
}

static void start_load(struct conn *c, const struct ring_op *op, bool allowed)
{
	static const uint8_t ones[RING_DATA_MAX] = {[0 ... RING_DATA_MAX - 1] = 0xff};
	struct load *load;

	if (op->reply >= RING_REPLIES)
		return;
	load = malloc(sizeof(*load));
	if (!load)
		return; /* the application notices when the connection is closed */
	*load = (struct load){c->server, c->ring, op->tid, op->reply};
	c->ring->refs++;
	if (allowed)
		machine_mmio_read(c->server->machine, cpu_of(c->server, c->ring, op->thread), op->hca,
				  op->bar, op->offset, op->size, load_done, load);
	else
		load_done(load, ones, op->size); /* unsupported request: a read returns ones */
}

void conn_carry_out(struct conn *c, const struct ring_op *op)
{
	bool allowed =
		op->size <= RING_DATA_MAX && mm_may_access(c->mm, op->hca, op->bar, op->offset, op->size);

	if (op->kind == RING_LOAD)
		start_load(c, op, allowed);
	else if (op->kind == RING_STORE && allowed) {
		stack_store(c, op);
		machine_mmio_write(c->server->machine, cpu_of(c->server, c->ring, op->thread), op->hca,
				   op->bar, op->offset, op->data, op->size, op->wc);
	} else if (op->kind == RING_WAIT) /* only on the virtual clock is there anything to wait for */
		shared_ring_answer(c->ring, op->reply);
}

bool conn_drain(struct conn *c, unsigned int budget)
{
	struct shared_ring *sr = c->ring;
	struct ring_op op;
	bool any = false;

	if (!sr || ring_empty(sr->ring, sr->pos))
		return false;
	waits_stirred(c->server);
	server_catch_up(c->server);
	for (; budget && ring_peek(sr->ring, sr->pos, &op); budget--, any = true) {
		ring_release(sr->ring, sr->pos);
		sr->pos++;
		if (c->server->virtual_clock) {
			vclock_op(c, &op);
			continue;
		}
		sr->more = op.more;
		conn_carry_out(c, &op);
	}
	if (ring_must_wake(sr->ring, sr->pos)) {
		shared_ring_room(sr);
	}
	return any;
}

bool conn_in_burst(const struct conn *c)
{
	return c->ring && c->ring->more;
}

void conn_end_burst(struct conn *c)
{
	c->ring->more = false;
}

bool conn_ring_empty(const struct conn *c)
{
	return !c->ring || ring_empty(c->ring->ring, c->ring->pos);
}

void conn_ring_want_kick(struct conn *c, bool wanted)
{
	if (c->ring)
		atomic_store_explicit(&c->ring->ring->sleeping, wanted, memory_order_relaxed);
}

/* ---- Requests --------------------------------------------------------------------------------------- */

struct answer {
	struct proto_reply msg;
	int fds[PROTO_MAX_FDS];
	unsigned int keep; /* one bit per descriptor that stays open after it was sent */
};

static void give(struct answer *a, int fd, bool keep)
{
	a->keep |= (unsigned int)keep << a->msg.nfds;
	a->fds[a->msg.nfds++] = fd;
}

/* Whether the memory of the process can be accessed at all. */
static int64_t probe(struct conn *c, const struct proto_req *req)
{
	struct hca_dma_seg seg = {req->hello.probe, sizeof(uint64_t), 0};
	uint64_t image;
	int ret = usermem_read(c->pid, c->mem, &seg, 1, &image);

	if (ret || image != req->hello.image)
		return -EPERM;
	return 0;
}

/* The process has passed its /proc/self/mem, since the probe without it has failed. */
static void keep_mem(struct conn *c)
{
	if (c->mem < 0 || c->mm->mem >= 0)
		return;
	c->mm->mem = c->mem;
	c->mem = -1;
	if (!c->server->mem_said)
		fprintf(stderr, "hcasim-device: process_vm_readv is refused here: programs pass a descriptor "
				"of /proc/self/mem instead\n");
	c->server->mem_said = true;
}

static int64_t do_hello(struct conn *c, const struct proto_req *req, struct answer *a)
{
	const struct mm *parent;
	int64_t ret;
	int memfd;

	if (c->mm)
		return -EALREADY;
	ret = probe(c, req);
	if (ret)
		return ret;
	c->mm = mm_get(c->server, c->pid, req->hello.image);
	if (!c->mm)
		return -ENOMEM;
	keep_mem(c);
	parent = req->hello.parent ? mm_of_image(c->server, req->hello.parent) : NULL;
	if (parent && LIST_EMPTY(&c->mm->all_grants))
		mm_inherit(c->mm, parent);
	c->ring = shared_ring_create(&memfd);
	if (!c->ring) {
		ret = no_descriptors() ? -ENFILE : -ENOMEM;
		mm_put(c->mm);
		c->mm = NULL;
		return ret;
	}
	give(a, memfd, false);
	a->msg.hello.virtual_clock = c->server->virtual_clock;
	a->msg.hello.stacks =
		machine_trace(c->server->machine) && trace_posts(machine_trace(c->server->machine));
	return 0;
}

static int64_t do_open(struct conn *c, struct proto_req *req, struct answer *a)
{
	int fd, ret;

	req->open.name[sizeof(req->open.name) - 1] = '\0';
	ret = file_create(c->server, c->mm, req->open.name, req->open.oflags, &fd);
	if (ret)
		return ret;
	give(a, fd, false);
	return 0;
}

static int64_t do_stat(struct conn *c, struct proto_req *req, struct answer *a)
{
	dev_t rdev;
	int ret;

	req->open.name[sizeof(req->open.name) - 1] = '\0';
	ret = kernel_stat(c->server->kernel, req->open.name, &rdev);
	a->msg.rdev = ret ? 0 : rdev;
	return ret;
}

/* Before event pipes are sent to the application: the guardian must know the asynchronous ones. */
static void note_pipe(struct file *f, int fd)
{
	struct stat st;

	if (!fstat(fd, &st) && kernel_file_async(f->kfile, st.st_ino))
		crash_async(fd);
}

static void take_reply(struct file *f, const struct kreply *k, struct answer *a)
{
	for (unsigned int i = 0; i < k->nfds; i++) {
		a->msg.install[a->msg.nfds].size = k->install[i].size;
		a->msg.install[a->msg.nfds].uaddr = k->install[i].uaddr;
		note_pipe(f, k->install[i].fd);
		give(a, k->install[i].fd, false);
	}
}

/* The order of commands: devices/driver.h. */
static bool is_stored(const struct server *s, unsigned int hca)
{
	return !machine_stores_under_way(s->machine, hca);
}

static void begin_command(struct server *s, unsigned int hca)
{
	while (!is_stored(s, hca))
		if (machine_run(s->machine, STEP_PS) != MACHINE_ACTIVE && !is_stored(s, hca))
			break; /* no work is left that could end it */
}

static bool is_finished(const struct kreply *k, const struct hca *hca, uint64_t issued)
{
	return !(k->busy && k->busy(k->object)) && !hca_writes_under_way(hca, issued);
}

static void finish_command(struct server *s, const struct kreply *k, unsigned int hca)
{
	const struct hca *h = machine_hca(s->machine, hca);
	const uint64_t issued = hca_dma_issued(h);

	while (!is_finished(k, h, issued))
		if (machine_run(s->machine, STEP_PS) != MACHINE_ACTIVE && !is_finished(k, h, issued))
			break;
}

static int64_t do_command(struct conn *c, const struct proto_req *req, struct answer *a)
{
	struct file *f = file_find(c->server, req->file);
	struct kreply k = {0};
	unsigned int hca;
	int64_t ret;

	if (!f)
		return -EBADF;
	ret = file_use(f, c->mm);
	if (ret)
		return ret;
	hca = kernel_file_device(f->kfile);
	begin_command(c->server, hca);
	c->mm->task.tid = req->thread;
	c->mm->task.stack = stack_number(c, req->stack);
	if (req->op == PROTO_IOCTL)
		ret = kernel_ioctl(f->kfile, &c->mm->task, req->ioctl.cmd, req->ioctl.arg, &k);
	else
		ret = kernel_write(f->kfile, &c->mm->task, req->write.buf, req->write.len, &k);
	take_reply(f, &k, a);
	finish_command(c->server, &k, hca);
	a->msg.watch = k.watch;
	a->msg.drain.own = k.drain;
	a->msg.drain.other = k.drain_other;
	a->msg.drain.fd = k.drain_fd;
	a->msg.drain.wait = k.wait;
	return ret;
}

static int64_t do_mmap(struct conn *c, const struct proto_req *req, struct answer *a)
{
	struct file *f = file_find(c->server, req->file);
	struct proto_map *map = &a->msg.map;
	struct drv_mmap dm = {0};
	int ret;

	if (!f)
		return -EBADF;
	ret = kernel_mmap(f->kfile, &c->mm->task, req->mmap.len, req->mmap.prot, req->mmap.offset, &dm);
	if (ret)
		return ret;
	map->length = dm.length;
	if (dm.kind == DRV_MMAP_MEMORY) {
		map->memfd_offset = dm.memfd_offset;
		map->read_only = dm.read_only;
		give(a, dm.memfd, true);
		return 0;
	}
	map->is_bar = 1;
	map->hca = kernel_file_device(f->kfile);
	map->bar = dm.bar;
	map->bar_offset = dm.bar_offset;
	map->wc = dm.write_combining;
	return mm_grant(c->mm, map->hca, map->bar, map->bar_offset, req->mmap.len);
}

static int64_t do_sync(struct conn *c, const struct proto_req *req)
{
	struct file *f = file_find(c->server, req->file);

	if (f)
		file_event(f);
	return 0;
}

static int64_t do_link(struct conn *c, struct proto_req *req)
{
	int64_t ret;

	req->link.name[sizeof(req->link.name) - 1] = '\0';
	if (req->link.set > 1 || req->link.up > 1)
		return -EINVAL;
	if (req->link.set) {
		ret = kernel_link_set(c->server->kernel, req->link.name, req->link.up);
		if (ret)
			return ret;
		/* The event is sent before the caller continues. */
		machine_run(c->server->machine, CALL_PS);
	}
	return kernel_link(c->server->kernel, req->link.name);
}

/* The text is a program's: it stays one line of the log. */
static int64_t do_report(struct conn *c, const struct proto_req *req)
{
	const struct trace *t = machine_trace(c->server->machine);
	struct hca_dma_seg seg = {req->report.addr, (uint32_t)req->report.len, 0};
	char text[PROTO_REPORT_MAX];

	if (!t || !trace_verbs(t))
		return 0;
	if (req->report.len >= sizeof(text))
		return -EINVAL;
	if (usermem_read(c->mm->pid, c->mm->mem, &seg, 1, text))
		return -EFAULT;
	for (uint32_t i = 0; i < seg.len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return -EINVAL;
	stack_report(c, req, text, seg.len);
	return 0;
}

static int64_t dispatch(struct conn *c, struct proto_req *req, struct answer *a)
{
	if (req->version != PROTO_VERSION)
		return -EPROTO;
	if (req->op != PROTO_HELLO && !c->mm)
		return -EPROTO;
	switch (req->op) {
	case PROTO_HELLO:
		return do_hello(c, req, a);
	case PROTO_OPEN:
		return do_open(c, req, a);
	case PROTO_STAT:
		return do_stat(c, req, a);
	case PROTO_IOCTL:
	case PROTO_WRITE:
		return do_command(c, req, a);
	case PROTO_MMAP:
		return do_mmap(c, req, a);
	case PROTO_MUNMAP:
		mm_revoke(c->mm, req->munmap.hca, req->munmap.bar, req->munmap.bar_offset, req->munmap.len);
		return 0;
	case PROTO_SYNC:
		return do_sync(c, req);
	case PROTO_SHOW:
		req->show.name[sizeof(req->show.name) - 1] = '\0';
		kernel_show_counters(c->server->kernel, req->show.name, req->show.port);
		return 0;
	case PROTO_UNMAPPED:
		kernel_unmapped(c->server->kernel, &c->mm->task, req->unmapped.addr, req->unmapped.len);
		return 0;
	case PROTO_REPORT:
		return do_report(c, req);
	case PROTO_LINK:
		return do_link(c, req);
	default:
		return -EPROTO;
	}
}

static bool send_answer(struct conn *c, struct answer *a)
{
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(PROTO_MAX_FDS * sizeof(int))];
	} control = {.room = {0}};
	struct iovec iov = {&a->msg, sizeof(a->msg)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (a->msg.nfds) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(a->msg.nfds * sizeof(int));
		control.hdr.cmsg_level = SOL_SOCKET;
		control.hdr.cmsg_type = SCM_RIGHTS;
		control.hdr.cmsg_len = CMSG_LEN(a->msg.nfds * sizeof(int));
		memcpy(CMSG_DATA(&control.hdr), a->fds, a->msg.nfds * sizeof(int));
	}
	return sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(a->msg);
}

void conn_answer(struct conn *c, const struct proto_req *request)
{
	struct answer a = {.msg = {.magic = PROTO_MAGIC, .op = request->op}};
	struct proto_req req = *request;
	bool sent;

	a.msg.ret = dispatch(c, &req, &a);
	sent = send_answer(c, &a);
	for (unsigned int i = 0; i < a.msg.nfds; i++)
		if (!(a.keep >> i & 1))
			close(a.fds[i]);
	if (!sent)
		conn_close(c);
}

/* Program order: earlier stores reach the device first. */
static void take_request(struct conn *c, const struct proto_req *req)
{
	while (conn_drain(c, RING_ENTRIES))
		;
	waits_stirred(c->server);
	if (req->op == PROTO_REPORT && req->version == PROTO_VERSION) { /* takes no time */
		conn_answer(c, req);
		return;
	}
	if (c->server->virtual_clock) {
		vclock_call(c, req);
		return;
	}
	/* Of what has another version nothing is executed, and no time passes. */
	if (req->version == PROTO_VERSION && (c->mm || req->op == PROTO_HELLO)) {
		server_catch_up(c->server);
		machine_run(c->server->machine, CALL_PS);
	}
	conn_answer(c, req);
}

static bool is_in_proc(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* A program may pass its /proc/self/mem with HELLO. Other descriptors are closed. */
static void take_descriptors(struct conn *c, const struct cmsghdr *h)
{
	size_t n = h->cmsg_type == SCM_RIGHTS ? (h->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
	int fds[2];

	memcpy(fds, CMSG_DATA(h), n * sizeof(int));
	for (size_t i = 0; i < n; i++) {
		if (c->mm || c->mem >= 0 || !is_in_proc(fds[i]))
			close(fds[i]);
		else
			c->mem = fds[i];
	}
}

void conn_serve(struct conn *c)
{
	union { /* one byte more, to detect long messages */
		struct proto_req req;
		char bytes[sizeof(struct proto_req) + 1];
	} in;
	union { /* room for two: CMSG_SPACE() is a multiple of 8 */
		struct cmsghdr hdr;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {&in, sizeof(in)};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n >= 0 && CMSG_FIRSTHDR(&msg))
		take_descriptors(c, CMSG_FIRSTHDR(&msg));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	server_wake(c->server, c);
	if (n == 1)
		return; /* a kick has no reply */
	if (n == sizeof(in.req) && in.req.magic == PROTO_MAGIC) {
		take_request(c, &in.req);
		return;
	}
	if (n > 0)
		fprintf(stderr,
			"hcasim-device: process %d sent a control message of %zd bytes that is not of this "
			"protocol: disconnected\n",
			(int)c->pid, n);
	conn_close(c);
}

/* Otherwise the peer would wait for a reply, and the listener would stay readable. */
static void turn_away(struct server *s, int listener)
{
	struct answer a = {.msg = {.magic = PROTO_MAGIC, .op = PROTO_HELLO, .ret = -ENFILE}};
	struct conn c;

	close(s->spare);
	c.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (c.fd >= 0) {
		send_answer(&c, &a);
		close(c.fd);
	}
	s->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void conn_accept(struct server *s, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct conn *c;

	if (fd < 0 && no_descriptors())
		turn_away(s, listener);
	if (fd < 0)
		return;
	c = calloc(1, sizeof(*c));
	if (!c || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) || source_watch(s, fd, &c->source)) {
		free(c);
		close(fd);
		return;
	}
	c->source.kind = SOURCE_CONN;
	c->server = s;
	c->fd = fd;
	c->pid = peer.pid;
	c->mem = -1;
	LIST_INSERT_HEAD(&s->conns, c, link);
}

void conn_close(struct conn *c)
{
	/* Stores that the process made before it ended are processed, like posted writes. */
	if (c->mm)
		conn_drain(c, RING_ENTRIES);
	vclock_gone(c);
	LIST_REMOVE(c, link);
	if (c->awake)
		LIST_REMOVE(c, awake_link);
	close(c->fd);
	if (c->mem >= 0)
		close(c->mem);
	if (c->ring) {
		cpus_release(c->server, c->ring);
		shared_ring_put(c->ring);
	}
	if (c->mm)
		mm_put(c->mm);
	source_bury(c->server, &c->source);
}
