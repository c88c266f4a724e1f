// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "point.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WINDOW (256u << 20)

static const struct number {
	const char *key;
	size_t offset;
	uint32_t initial, min, max;
} numbers[] = {
	{"size", offsetof(struct point, size), 0, 1, 1 << 20},
	{"inline", offsetof(struct point, inline_max), 0, 0, 768},
	{"sges", offsetof(struct point, sges), 1, 1, 30},
	{"batch", offsetof(struct point, batch), 1, 1, 64},
	{"signal", offsetof(struct point, signal), 1, 1, 64},
	{"depth", offsetof(struct point, depth), 128, 1, 4096},
	{"qps", offsetof(struct point, qps), 1, 1, 4096},
	{"threads", offsetof(struct point, threads), 1, 1, 16},
	{"prefer_bf", offsetof(struct point, prefer_bf), 1, 0, 1},
	{"registers", offsetof(struct point, registers), 0, 0, 16},
	{"window", offsetof(struct point, window), 0, 0, MAX_WINDOW},
	{"mtu", offsetof(struct point, mtu), 4096, 256, 4096},
	{"count", offsetof(struct point, count), 16, 2, 16384},
};

static const struct {
	const char *name;
	enum ibv_wr_opcode op;
} ops[] = {{"write", IBV_WR_RDMA_WRITE},
	   {"send", IBV_WR_SEND},
	   {"read", IBV_WR_RDMA_READ},
	   {"compare_and_swap", IBV_WR_ATOMIC_CMP_AND_SWP},
	   {"fetch_and_add", IBV_WR_ATOMIC_FETCH_AND_ADD}};

static bool refuse(const char *key, const char *value, const char *why)
{
	fprintf(stderr, "hcasim-experiment: %s: '%s' %s\n", key, value, why);
	return false;
}

static bool set_op(struct point *p, const char *value)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (!strcmp(value, ops[i].name)) {
			p->op = ops[i].op;
			return true;
		}
	}
	return refuse("op", value, "is not write, send, read, compare_and_swap or fetch_and_add");
}

static bool set_measure(struct point *p, const char *value)
{
	if (strcmp(value, "latency") && strcmp(value, "rate"))
		return refuse("measure", value, "is not latency or rate");
	p->latency = !strcmp(value, "latency");
	return true;
}

static bool set_number(struct point *p, const struct number *n, const char *value)
{
	unsigned long long v;
	char why[60], *end;

	errno = 0;
	v = strtoull(value, &end, 10);
	if (errno || end == value || *end || v < n->min || v > n->max) {
		snprintf(why, sizeof(why), "is not a number from %u to %u", n->min, n->max);
		return refuse(n->key, value, why);
	}
	*(uint32_t *)((char *)p + n->offset) = (uint32_t)v;
	return true;
}

static bool set(struct point *p, const char *key, const char *value)
{
	if (!strcmp(key, "op"))
		return set_op(p, value);
	if (!strcmp(key, "measure"))
		return set_measure(p, value);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(key, numbers[i].key))
			return set_number(p, &numbers[i], value);
	return refuse(key, value, "is for a key that does not exist");
}

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Figures that contradict each other. */
static bool check(const struct point *p)
{
	char text[12];

	snprintf(text, sizeof(text), "%u", p->size);
	if (!p->size)
		return refuse("size", "", "must be given");
	if (is_atomic(p->op) && p->size != POINT_ATOMIC_SIZE)
		return refuse("size", text, "must be 8 for an atomic");
	if (p->sges > p->size)
		return refuse("size", text, "is less than a byte for each of `sges`");
	if (p->window && p->window < p->size)
		return refuse("size", text, "is more than `window`");
	snprintf(text, sizeof(text), "%u", p->mtu);
	if (p->mtu & (p->mtu - 1))
		return refuse("mtu", text, "is not a power of two");
	snprintf(text, sizeof(text), "%u", p->depth);
	if (p->depth < p->batch + (p->signal - 1) * p->qps)
		return refuse("depth", text,
			      "is less than `batch` and those of each queue without a completion");
	snprintf(text, sizeof(text), "%u", p->count);
	if (p->count % (p->batch * p->qps) || p->count / p->qps % p->signal)
		return refuse("count", text,
			      "is not a multiple of `batch`, and of `signal`, for each of `qps`");
	return true;
}

bool point_parse(char *line, struct point *p)
{
	char *save, *word, *value;

	*p = (struct point){.op = IBV_WR_RDMA_WRITE};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		*(uint32_t *)((char *)p + numbers[i].offset) = numbers[i].initial;
	for (word = strtok_r(line, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
		value = strchr(word, '=');
		if (!value)
			return refuse(word, "", "has no value");
		*value++ = '\0';
		if (!set(p, word, value))
			return false;
	}
	return check(p);
}

enum ibv_mtu point_mtu(const struct point *p)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	for (uint32_t bytes = 256; bytes < p->mtu; bytes *= 2)
		mtu++;
	return mtu;
}
