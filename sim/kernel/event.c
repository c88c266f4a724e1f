// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Event files. The application reads real pipes; the queue here remembers what stands in them, in
 * order, so that it is known exactly which events were read when an object is destroyed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "priv.h"

/* Records that may pile up in the queue before the pipe is asked what was read. */
#define SETTLE_EVERY 1024

static size_t desc_size(const struct evfile *ev)
{
	return ev->async ? sizeof(struct ib_uverbs_async_event_desc)
			 : sizeof(struct ib_uverbs_comp_event_desc);
}

int evfile_create(struct kfile *f, bool async, struct evfile **out, int *read_fd)
{
	struct evfile *ev = calloc(1, sizeof(*ev));
	struct stat st;
	int fds[2];

	if (!ev)
		return -ENOMEM;
	if (pipe2(fds, O_CLOEXEC)) {
		free(ev);
		return -EMFILE;
	}
	if (fcntl(fds[1], F_SETFL, O_NONBLOCK) || fstat(fds[1], &st)) {
		close(fds[0]);
		close(fds[1]);
		free(ev);
		return -EMFILE;
	}
	ev->file = f;
	ev->async = async;
	ev->wfd = fds[1];
	ev->ino = st.st_ino;
	ev->refs = 1;
	TAILQ_INIT(&ev->queue);
	TAILQ_INSERT_TAIL(&f->events, ev, link);
	*out = ev;
	*read_fd = fds[0];
	return 0;
}

static void drop_record(struct evfile *ev, struct evrec *rec)
{
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

/* `left` records are still in the pipe: the ones before them were read. */
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

/* Rounded up: bytes that do not make a record were torn by a read of an odd size. */
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

void evfile_put(struct evfile *ev)
{
	if (--ev->refs)
		return;
	close_pipe(ev);
	if (ev->file)
		TAILQ_REMOVE(&ev->file->events, ev, link);
	free(ev);
}

void evfile_shutdown(struct evfile *ev)
{
	close_pipe(ev);
	TAILQ_REMOVE(&ev->file->events, ev, link);
	ev->file = NULL;
	evfile_put(ev);
}

bool evfile_flush(struct evfile *ev)
{
	struct evrec *rec;
	unsigned int i = 0;

	if (ev->wfd < 0)
		return false;
	if (reader_gone(ev)) {
		close_pipe(ev);
		return false;
	}
	TAILQ_FOREACH(rec, &ev->queue, link)
	{
		if (i++ < ev->in_pipe)
			continue;
		if (write(ev->wfd, &rec->desc, desc_size(ev)) < 0)
			break; /* full; a reader that left is seen by the next flush */
		ev->in_pipe++;
	}
	return rec != NULL;
}

static void push(struct evfile *ev, struct evrec *rec)
{
	TAILQ_INSERT_TAIL(&ev->queue, rec, link);
	if (ev->in_pipe >= SETTLE_EVERY)
		settle(ev);
	evfile_flush(ev);
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

/* Empties the pipe through a read end of our own. Returns the bytes that were in it, or -1. */
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

void evfile_forget(struct evfile *ev, struct uobj *obj)
{
	struct evrec *rec, *next;
	ssize_t bytes;

	if (!ev || ev->wfd < 0)
		return;
	/* The test comes first: an end opened by drain() would hide that the application closed its. */
	if (reader_gone(ev)) {
		close_pipe(ev);
		return;
	}
	bytes = drain(ev);
	if (bytes >= 0) {
		count_read(ev, records(ev, bytes));
		ev->in_pipe = 0;
	} else {
		settle(ev);
	}
	for (rec = TAILQ_FIRST(&ev->queue); rec; rec = next) {
		next = TAILQ_NEXT(rec, link);
		if (rec->obj == obj)
			drop_record(ev, rec);
	}
	evfile_flush(ev);
}

bool kernel_file_async(const struct kfile *f, uint64_t ino)
{
	const struct evfile *ev;

	TAILQ_FOREACH(ev, &f->events, link)
	{
		/* cppcheck-suppress uninitvar ; TAILQ_FOREACH sets it */
		if (ev->ino == ino)
			return ev->async;
	}
	return false;
}
