// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/clock/vthread.h"

uint64_t vthread_processor_ns(const struct vthread *t)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(t->conn->pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

void vthread_run(struct server *s, struct vthread *t)
{
	t->state = RUNS;
	t->at = machine_now(s->machine);
	t->used = vthread_processor_ns(t);
}

static struct vthread *add_thread(struct conn *c, uint32_t id)
{
	struct vthread *t = calloc(1, sizeof(*t)), *last = LIST_FIRST(&c->server->threads);
	char path[64];

	if (!t)
		return NULL;
	t->conn = c;
	t->id = id;
	snprintf(path, sizeof(path), "/proc/%d/task/%u/stat", (int)c->pid, id);
	t->file = open(path, O_RDONLY | O_CLOEXEC);
	/* In the order in which they came, which decides between accesses at the same time. */
	while (last && LIST_NEXT(last, link))
		last = LIST_NEXT(last, link);
	if (last)
		LIST_INSERT_AFTER(last, t, link);
	else
		LIST_INSERT_HEAD(&c->server->threads, t, link);
	vthread_run(c->server, t);
	return t;
}

void vthread_remove(struct vthread *t)
{
	LIST_REMOVE(t, link);
	if (t->file >= 0)
		close(t->file);
	free(t->ops);
	free(t);
}

struct vthread *vthread_find(struct conn *c, uint32_t id)
{
	struct vthread *t;

	LIST_FOREACH(t, &c->server->threads, link)
	if (t->conn == c && t->id == id)
		return t;
	return add_thread(c, id);
}

char vthread_host_state(const struct vthread *t)
{
	char text[512], *p;
	ssize_t n = t->file < 0 ? 0 : pread(t->file, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the name may have parentheses */
	return p && p[1] ? p[2] : '\0';
}

struct op *vthread_push(struct server *s, struct vthread *t)
{
	if (t->num == t->size) {
		unsigned int size = t->size ? 2 * t->size : 16;
		struct op *ops = malloc(size * sizeof(*ops));

		if (!ops)
			return NULL;
		for (unsigned int i = 0; i < t->num; i++)
			ops[i] = t->ops[(t->first + i) % t->size];
		free(t->ops);
		t->ops = ops;
		t->size = size;
		t->first = 0;
	}
	if (t->state == SLEEPS || t->state == LOOKS || t->state == LOCKED_OUT)
		vthread_run(s, t);
	return &t->ops[(t->first + t->num++) % t->size];
}

struct op *vthread_head(const struct vthread *t)
{
	return &t->ops[t->first % t->size];
}

void vthread_pop(struct vthread *t)
{
	t->first++;
	t->num--;
}

void vthread_answer(struct server *s, struct vthread *t)
{
	const uint16_t reply = vthread_head(t)->ring.reply;

	vthread_pop(t);
	vthread_run(s, t);
	if (t->num) /* a signal handler has accessed an adapter meanwhile */
		t->state = STOPS;
	shared_ring_answer(t->conn->ring, reply);
}
