/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What one thread works with: its completion queues and connected pairs of queue pairs, and its work requests. */
#ifndef HCASIM_CALIBRATE_LANE_H
#define HCASIM_CALIBRATE_LANE_H

#include "link.h"
#include "point.h"

struct fabric { /* both adapters, for all threads */
	const struct point *p;
	struct link link;      /* its buffers are not used */
	size_t size;           /* of a payload buffer, in bytes */
	char *buf[2];          /* payload of an end, at the same address in every run */
	struct ibv_mr *mr[2];  /* of the payload buffers, with all rights */
	struct ibv_td **td;    /* of end 0: `registers` of them */
	struct ibv_pd **td_pd; /* their domains */
};

struct lane {
	const struct fabric *f;
	struct ibv_cq_ex *cq[2]; /* send and receive CQ of an end */
	struct ibv_qp **qp[2];   /* `qps` pairs */
	uint32_t *outstanding;   /* work requests of each pair */
	uint64_t *stamp;         /* device time of each completion, picoseconds */
	uint32_t posted, completed, random;
};

void fabric_open(struct fabric *f, const struct point *p);
void fabric_close(struct fabric *f);
/* The adapter's clock, picoseconds. */
uint64_t fabric_now(const struct fabric *f);

void lane_open(struct lane *l, const struct fabric *f, uint32_t thread);
void lane_close(struct lane *l);
/* `count` receives of end `end`, spread over its queue pairs. */
void lane_receive(struct lane *l, int end, uint32_t count);
/* Whether `depth`, and the next queue, leave room for a doorbell's work requests. */
bool lane_room(const struct lane *l);
/* Posts `n` work requests at end `end` with one doorbell; the last one has a completion if `last`. */
void lane_post(struct lane *l, int end, uint32_t n, bool last);
/* Completions of end `end` that are there, each a success; their device times go to `stamp` from `*at` on. */
uint32_t lane_poll(struct lane *l, int end, uint64_t *stamp);

#endif
