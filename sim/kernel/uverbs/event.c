// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Event files. The application reads real pipes. The queue here keeps what was written to them, in order, so
 * that the kernel knows exactly which events were read when an object is destroyed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/priv.h"

/* Number of written records in the queue at which the pipe is checked for what was read. */
#define SETTLE_EVERY 1024

#define MAX_REPORTS 64 /* epoll reports taken at once */

#define MAX_WAITING                                                                                          \
	(1u << 20) /* bytes of a driver's records that wait for space: MAX_ASYNC_BYTES_IN_USE of mlx5_ib */

static size_t desc_size(const struct evfile *ev)
{
	return ev->async ? sizeof(struct ib_uverbs_async_event_desc)
			 : sizeof(struct ib_uverbs_comp_event_desc);
}

static struct kernel *kernel_of(const struct kfile *f)
{
	return f->dev->k;
}

/*
 * Edge-triggered: epoll reports that a full pipe has room again or that its last reader has closed it. Pipes
 * without a change cost nothing, and reports need not be armed or cancelled.
 */
static int watch(struct evfile *ev)
{
	struct epoll_event event = {.events = EPOLLOUT | EPOLLET, .data.ptr = ev};

	return epoll_ctl(kernel_of(ev->file)->event_fd, EPOLL_CTL_ADD, ev->wfd, &event) ? -ENOMEM : 0;
}

static int make_ends(const struct evfile *ev, int fds[2])
{
	return ev->type ? socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) : pipe2(fds, O_CLOEXEC);
}

static int make_pipe(struct evfile *ev, int *read_fd)
{
	struct stat st;
	int fds[2], ret;

	/* Not EMFILE: it is this process, not the application, that has no descriptors left. */
	if (make_ends(ev, fds))
		return -ENFILE;
	ev->wfd = fds[1];
	ret = fcntl(fds[1], F_SETFL, O_NONBLOCK) || fstat(fds[0], &st) ? -EIO : watch(ev);
	if (ret) {
		close(fds[0]);
		close(fds[1]);
		return ret;
	}
	*read_fd = fds[0];
	table_add(&kernel_of(ev->file)->evfiles, &ev->by_ino, st.st_ino);
	TAILQ_INSERT_TAIL(&ev->file->events, ev, link);
	return 0;
}

static int create(struct kfile *f, bool async, uint16_t type, struct evfile **out, int *read_fd)
{
	struct evfile *ev = calloc(1, sizeof(*ev));
	int ret;

	if (!ev)
		return -ENOMEM;
	ev->file = f;
	ev->async = async;
	ev->type = type;
	ev->refs = 1;
	TAILQ_INIT(&ev->queue);
	ret = make_pipe(ev, read_fd);
	if (ret)
		free(ev);
	else
		*out = ev;
	return ret;
}

int evfile_create(struct kfile *f, bool async, struct evfile **out, int *read_fd)
{
	return create(f, async, 0, out, read_fd);
}

int evfile_create_records(struct kfile *f, uint16_t type, struct evfile **out, int *read_fd)
{
	return create(f, false, type, out, read_fd);
}

struct evfile *evfile_find(const struct kfile *f, uint64_t ino)
{
	struct table_node *node = f->cm ? NULL : table_find(&kernel_of(f)->evfiles, ino);
	struct evfile *ev = node ? table_entry(node, struct evfile, by_ino) : NULL;

	return ev && ev->file == f ? ev : NULL;
}

static void drop_record(struct evfile *ev, struct evrec *rec)
{
	if (ev->unwritten == rec)
		ev->unwritten = TAILQ_NEXT(rec, link);
	if (rec->obj)
		rec->obj->unread--;
	ev->waiting -= rec->len;
	TAILQ_REMOVE(&ev->queue, rec, link);
	free(rec);
}

static void drop_all(struct evfile *ev)
{
	struct evrec *rec;

	while ((rec = TAILQ_FIRST(&ev->queue)))
		drop_record(ev, rec);
	ev->in_pipe = 0;
}

void evfile_get(struct evfile *ev)
{
	ev->refs++;
}

void kfile_default_async(struct kfile *f, struct evfile *ev)
{
	if (f->default_async)
		return;
	f->default_async = ev;
	evfile_get(ev);
}

/* `left` records are still in the pipe; the ones before them were read. */
static void count_read(struct evfile *ev, unsigned int left)
{
	while (ev->in_pipe > left) {
		struct evrec *rec = TAILQ_FIRST(&ev->queue);

		if (rec->obj && ev->async)
			rec->obj->counts.async++;
		else if (rec->obj)
			rec->obj->counts.comp++;
		drop_record(ev, rec);
		ev->in_pipe--;
	}
}

static bool reader_gone(const struct evfile *ev)
{
	struct pollfd p = {.fd = ev->wfd, .events = POLLOUT};

	return poll(&p, 1, 0) > 0 && (p.revents & POLLERR);
}

/* Rounded up: a read of an odd size may have left part of a record. */
static unsigned int records(const struct evfile *ev, size_t bytes)
{
	return (bytes + desc_size(ev) - 1) / desc_size(ev);
}

static void settle(struct evfile *ev)
{
	int bytes = 0;

	if (ev->in_pipe && !ioctl(ev->wfd, FIONREAD, &bytes))
		count_read(ev, records(ev, bytes));
}

static void close_pipe(struct evfile *ev)
{
	if (ev->wfd < 0)
		return;
	settle(ev);
	close(ev->wfd);
	ev->wfd = -1;
	drop_all(ev);
}

/* Lookups no longer find the file and it gets no more events; objects may still refer to it. */
static void detach(struct evfile *ev)
{
	close_pipe(ev);
	if (!ev->file)
		return;
	table_remove(&kernel_of(ev->file)->evfiles, &ev->by_ino);
	TAILQ_REMOVE(&ev->file->events, ev, link);
	ev->file = NULL;
}

void evfile_put(struct evfile *ev)
{
	if (--ev->refs)
		return;
	detach(ev);
	free(ev);
}

void evfile_shutdown(struct evfile *ev)
{
	detach(ev);
	evfile_put(ev);
}

/* Writes as many unwritten records as one atomic write to the pipe can take (PIPE_BUF). */
static ssize_t write_batch(struct evfile *ev, unsigned int *num)
{
	char buf[PIPE_BUF];
	size_t size = desc_size(ev), len = 0;

	for (struct evrec *rec = ev->unwritten; rec && len + size <= sizeof(buf);
	     rec = TAILQ_NEXT(rec, link)) {
		memcpy(buf + len, &rec->desc, size);
		len += size;
	}
	*num = len / size;
	return write(ev->wfd, buf, len);
}

/* A driver's records are not counted: they are done once they are written. */
static void flush_records(struct evfile *ev)
{
	struct evrec *rec;

	while ((rec = ev->unwritten) && send(ev->wfd, rec->data, rec->len, MSG_NOSIGNAL) >= 0)
		drop_record(ev, rec);
}

/* Writes the waiting records. Those that do not fit are written when epoll reports room. */
static void flush(struct evfile *ev)
{
	unsigned int num;

	if (ev->type) {
		flush_records(ev);
		return;
	}
	while (ev->unwritten && write_batch(ev, &num) >= 0) {
		for (ev->in_pipe += num; num; num--)
			ev->unwritten = TAILQ_NEXT(ev->unwritten, link);
	}
}

static void push(struct evfile *ev, struct evrec *rec)
{
	TAILQ_INSERT_TAIL(&ev->queue, rec, link);
	if (!ev->unwritten)
		ev->unwritten = rec;
	if (rec->obj)
		rec->obj->unread++;
	if (ev->in_pipe >= SETTLE_EVERY)
		settle(ev);
	flush(ev);
}

static struct evrec *new_record(struct evfile *ev, struct uobj *obj)
{
	struct evrec *rec;

	if (!ev || ev->wfd < 0)
		return NULL;
	rec = calloc(1, sizeof(*rec));
	if (rec)
		rec->obj = obj;
	return rec;
}

void evfile_push_comp(struct evfile *ev, struct uobj *obj)
{
	struct evrec *rec = new_record(ev, obj);

	if (!rec)
		return;
	rec->desc.comp.cq_handle = obj->user_handle;
	push(ev, rec);
}

void evfile_push_async(struct evfile *ev, struct uobj *obj, uint64_t element, uint32_t type)
{
	struct evrec *rec = new_record(ev, obj);

	if (!rec)
		return;
	rec->desc.async.element = element;
	rec->desc.async.event_type = type;
	push(ev, rec);
}

int evfile_push_record(struct drv_file *file, const void *data, size_t len)
{
	struct evfile *ev = (struct evfile *)file;
	struct evrec *rec;

	if (ev->wfd < 0)
		return 0;
	if (ev->waiting + len > MAX_WAITING)
		return -EAGAIN;
	rec = calloc(1, sizeof(*rec) + len);
	if (!rec)
		return -ENOMEM;
	rec->len = len;
	memcpy(rec->data, data, len);
	ev->waiting += len;
	push(ev, rec);
	return 0;
}

bool evfile_is_open(const struct drv_file *file)
{
	return ((const struct evfile *)file)->wfd >= 0;
}

/* Empties the pipe through a second read end. Returns the number of bytes that were in it, or -1. */
static ssize_t drain(struct evfile *ev)
{
	char path[32], buf[4096];
	ssize_t n, sum = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", ev->wfd);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		sum += n;
	close(fd);
	return sum;
}

/* Removes the records of `obj`, or of every object if NULL. */
static void forget(struct evfile *ev, const struct uobj *obj)
{
	struct evrec *rec, *next;
	ssize_t bytes = drain(ev);

	if (bytes >= 0) {
		count_read(ev, records(ev, bytes));
		ev->in_pipe = 0;
		ev->unwritten = TAILQ_FIRST(&ev->queue);
	} else {
		settle(ev);
	}
	for (rec = TAILQ_FIRST(&ev->queue); rec; rec = next) {
		next = TAILQ_NEXT(rec, link);
		if (rec->obj && (!obj || rec->obj == obj))
			drop_record(ev, rec);
	}
	flush(ev);
}

void evfile_forget(struct evfile *ev, struct uobj *obj)
{
	if (!ev || ev->wfd < 0 || !obj->unread)
		return;
	/* Test this first: the read end opened by drain() would hide that the application closed its own. */
	if (reader_gone(ev))
		close_pipe(ev);
	else
		forget(ev, obj);
}

void evfile_forget_all(struct evfile *ev)
{
	if (ev->wfd >= 0 && !ev->type && !TAILQ_EMPTY(&ev->queue) && !reader_gone(ev))
		forget(ev, NULL);
}

bool kernel_file_async(const struct kfile *f, uint64_t ino)
{
	const struct evfile *ev = evfile_find(f, ino);

	return ev && ev->async;
}

int kernel_event_fd(const struct kernel *k)
{
	return k->event_fd;
}

unsigned int kernel_poll_events(struct kernel *k)
{
	struct epoll_event events[MAX_REPORTS];
	unsigned int looked = 0;
	int n;

	do {
		n = epoll_wait(k->event_fd, events, MAX_REPORTS, 0);
		for (int i = 0; i < n; i++) {
			struct evfile *ev = events[i].data.ptr;

			if (events[i].events & (EPOLLERR | EPOLLHUP))
				evfile_shutdown(ev); /* the application closed its end */
			else
				flush(ev);
		}
		looked += n > 0 ? (unsigned int)n : 0;
	} while (n == MAX_REPORTS);
	return looked;
}
