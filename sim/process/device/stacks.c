// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* posts.log: the stores of programs to BARs, and the backtraces of these and of calls (docs/traces.md). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/device/server.h"

struct module { /* where an address is mapped from */
	char path[400];
	uint64_t offset; /* of the address in the file */
};

/* A line of maps: start-end rights offset device inode path. */
static bool holds(const char *line, uint64_t addr, struct module *m)
{
	uint64_t start, end, offset;

	m->path[0] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %399[^\n]", &start, &end, &offset,
		   m->path) < 3 ||
	    addr < start || addr >= end)
		return false;
	m->offset = addr - start + offset;
	return true;
}

/* The mappings of a process, as text; NULL: it has ended. */
static char *read_maps(pid_t pid)
{
	char path[32], line[512], *text = NULL;
	size_t size = 0;
	FILE *from, *to = open_memstream(&text, &size);

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	from = to ? fopen(path, "re") : NULL;
	while (from && fgets(line, sizeof(line), from))
		if (strchr(line, '/'))
			fputs(line, to);
	if (from)
		fclose(from);
	if (to)
		fclose(to);
	if (size)
		return text;
	free(text);
	return NULL;
}

static bool find_module(const char *maps, uint64_t addr, struct module *m)
{
	for (const char *line = maps; line && *line; line = strchr(line, '\n') + 1)
		if (holds(line, addr, m))
			return m->path[0] == '/' && !strpbrk(m->path, "\"\\");
	return false;
}

static void put_frames(FILE *f, struct conn *c, const uint64_t *frame)
{
	char *maps = read_maps(c->pid);
	struct module m;

	/* Of a process that has ended: its mappings at an earlier backtrace. */
	if (maps) {
		free(c->ring->maps);
		c->ring->maps = maps;
	}
	for (unsigned int i = 0; i < RING_STACK_FRAMES && frame[i]; i++) {
		fprintf(f, "%s\"", i ? "," : "");
		if (find_module(c->ring->maps, frame[i], &m))
			fprintf(f, "%s+", m.path);
		else
			m.offset = frame[i];
		fprintf(f, "0x%" PRIx64 "\"", m.offset);
	}
}

static FILE *posts(const struct server *s)
{
	const struct trace *t = machine_trace(s->machine);

	return t ? trace_posts(t) : NULL;
}

uint32_t stack_number(struct conn *c, uint32_t stack)
{
	FILE *f = posts(c->server);
	const struct ring_stack *s;
	uint64_t frame[RING_STACK_FRAMES];

	if (!f || !stack || stack > RING_STACKS)
		return 0;
	s = &c->ring->ring->stack[stack - 1];
	if (c->ring->stack[stack - 1] ||
	    atomic_load_explicit(&s->state, memory_order_acquire) != RING_STACK_READY)
		return c->ring->stack[stack - 1];
	memcpy(frame, s->frame, sizeof(frame));
	c->ring->stack[stack - 1] = ++c->server->num_stacks;
	fprintf(f, "{\"stack\":%u,\"pid\":%d,\"frames\":[", c->server->num_stacks, (int)c->pid);
	put_frames(f, c, frame);
	fputs("]}\n", f);
	return c->server->num_stacks;
}

void stack_store(struct conn *c, const struct ring_op *op)
{
	const uint32_t stack = stack_number(c, op->stack);
	struct server *s = c->server;
	FILE *f = posts(s);

	if (!f)
		return;
	fprintf(f, "{\"ps\":%" PRIu64 ",\"hca\":\"%s\",\"pid\":%d,\"tid\":%u", machine_now(s->machine),
		machine_hca_config(s->machine, op->hca)->name, (int)c->pid,
		op->thread < RING_THREADS ? atomic_load(&c->ring->ring->thread[op->thread]) : 0);
	fprintf(f, ",\"bar\":%u,\"addr\":\"0x%" PRIx64 "\",\"len\":%u", op->bar, op->offset, op->size);
	if (stack)
		fprintf(f, ",\"stack\":%u", stack);
	fputs("}\n", f);
}

void stack_report(struct conn *c, const struct proto_req *req, const char *text, uint32_t len)
{
	const uint32_t stack = stack_number(c, req->stack);
	FILE *f = trace_verbs(machine_trace(c->server->machine));

	fprintf(f, "{\"ps\":%" PRIu64 ",\"pid\":%d,\"tid\":%u,\"by\":\"library\"",
		machine_now(c->server->machine), (int)c->pid, req->thread);
	if (stack)
		fprintf(f, ",\"stack\":%u", stack);
	fprintf(f, ",%.*s}\n", (int)len, text);
}
