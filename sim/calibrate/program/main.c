// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcasim-experiment < POINTS: runs each point, a line `key=value ...`, through the verbs API on both adapters of one
 * machine, and prints a line of three numbers, in picoseconds: device time of its start and end, and how long a
 * message took at full rate. Latencies are in the trace of the run. For `hcasim calibrate`.
 */
#include <inttypes.h>
#include <pthread.h>
#include <time.h>

#include "lane.h"

/* ---- One message at a time ---- */

static void wait_completion(struct lane *l, int end)
{
	time_t limit = time(NULL) + LINK_WAIT_S;
	uint64_t stamp[64];

	while (!lane_poll(l, end, stamp))
		CHECK(time(NULL) < limit);
}

/* As perftest's ib_write_lat: by the last byte of the message. On the virtual clock a poll is what takes time. */
static void wait_byte(struct lane *l, int end, char value)
{
	const volatile char *last = &l->f->buf[end][l->f->p->size - 1];
	time_t limit = time(NULL) + LINK_WAIT_S;
	uint64_t stamp[64];

	while (*last != value) {
		CHECK(time(NULL) < limit);
		lane_poll(l, end, stamp);
	}
}

static void write_across(struct lane *l, int end, char value, bool last)
{
	l->f->buf[end][l->f->p->size - 1] = value;
	lane_post(l, end, 1, last);
	wait_byte(l, !end, value);
}

static void one_message(struct lane *l, uint32_t i, bool last)
{
	int end;

	switch (l->f->p->op) {
	case IBV_WR_RDMA_WRITE:
		for (end = 0; end < 2; end++)
			write_across(l, end, (char)(1 + i * 2 % 100 + (uint32_t)end), last);
		break;
	case IBV_WR_SEND:
		for (end = 0; end < 2; end++) {
			lane_post(l, end, 1, last);
			wait_completion(l, !end);
		}
		break;
	default:
		lane_post(l, 0, 1, true);
		wait_completion(l, 0);
	}
}

static void latency(struct lane *l)
{
	const struct point *p = l->f->p;

	if (p->op == IBV_WR_SEND)
		for (int end = 0; end < 2; end++)
			lane_receive(l, end, p->count);
	for (uint32_t i = 0; i < p->count; i++)
		one_message(l, i, false);
}

/* ---- As many as there is room for ---- */

static void *rate(void *arg)
{
	struct lane *l = arg;
	const struct point *p = l->f->p;
	uint64_t *stamp = l->stamp;

	while (l->completed < p->count) {
		while (lane_room(l))
			lane_post(l, 0, p->batch, false);
		uint32_t n = lane_poll(l, 0, stamp);

		stamp += n;
		l->completed += n * p->signal;
	}
	return NULL;
}

/* In the long run a receiver's completions are as fast as its sender's; those of a short run wait in its queues. */
static void take_received(struct lane *l)
{
	const struct point *p = l->f->p;
	time_t limit = time(NULL) + LINK_WAIT_S;
	uint32_t n = 0;

	while (n < p->count) {
		n += lane_poll(l, 1, l->stamp + n);
		CHECK(time(NULL) < limit);
	}
}

/* Time a message, without the first quarter, which finds empty queues, and the first message of each queue pair. */
static double ps_per_message(const struct point *p, const struct lane *lanes, uint32_t signal)
{
	const uint32_t stamps = p->count / signal, first = p->qps / signal;
	const uint32_t warm = first > stamps / 4 && first < stamps - 1 ? first : stamps / 4;
	uint64_t from = UINT64_MAX, to = 0;

	for (uint32_t i = 0; i < p->threads; i++) {
		if (lanes[i].stamp[warm] < from)
			from = lanes[i].stamp[warm];
		if (lanes[i].stamp[stamps - 1] > to)
			to = lanes[i].stamp[stamps - 1];
	}
	return (double)(to - from) / ((double)(stamps - 1 - warm) * signal * p->threads);
}

static double rates(struct lane *lanes, const struct point *p)
{
	pthread_t thread[16];

	for (uint32_t i = 0; p->op == IBV_WR_SEND && i < p->threads; i++)
		lane_receive(&lanes[i], 1, p->count);
	for (uint32_t i = 1; i < p->threads; i++)
		CHECK(!(errno = pthread_create(&thread[i], NULL, rate, &lanes[i])));
	rate(&lanes[0]);
	for (uint32_t i = 1; i < p->threads; i++)
		CHECK(!(errno = pthread_join(thread[i], NULL)));
	for (uint32_t i = 0; p->op == IBV_WR_SEND && i < p->threads; i++)
		take_received(&lanes[i]);
	return ps_per_message(p, lanes, p->op == IBV_WR_SEND ? 1 : p->signal);
}

/* ---- A point ---- */

static void run(const struct point *p)
{
	struct lane lanes[16];
	struct fabric f;
	uint64_t start;
	double each = 0;

	fabric_open(&f, p);
	lane_open(&lanes[0], &f, 0);
	for (uint32_t i = 1; i < p->threads; i++)
		lane_open(&lanes[i], &f, i);
	start = fabric_now(&f);
	if (p->latency)
		latency(&lanes[0]);
	else
		each = rates(lanes, p);
	printf("%" PRIu64 " %" PRIu64 " %.1f\n", start, fabric_now(&f), each);
	fflush(stdout);
	for (uint32_t i = 0; i < p->threads; i++)
		lane_close(&lanes[i]);
	fabric_close(&f);
}

int main(void)
{
	char line[500];
	struct point p;

	while (fgets(line, sizeof(line), stdin)) {
		if (!point_parse(line, &p))
			return 2;
		run(&p);
	}
	return 0;
}
