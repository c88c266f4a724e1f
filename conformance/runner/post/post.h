/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Posts the planned work requests of a cell through either API. */
#ifndef CONFORM_POST_H
#define CONFORM_POST_H

#include "post/plan.h"

struct posted {
	int rc;  /* return value of the API */
	int bad; /* index that *bad_wr named; -1: none, or the API has none */
};

/* Called in the critical region: before the first builder, or (`last`) after the last setter. */
struct inside {
	void (*call)(void *arg);
	void *arg;
	bool last;
};

struct posted post_wr_inside(struct link *l, struct plan *plans, unsigned int num, bool abort,
			     const struct inside *inside, struct log *log);
/* ibv_wr_start() .. ibv_wr_complete(), or ibv_wr_abort() */
struct posted post_wr(struct link *l, struct plan *plans, unsigned int num, bool abort, struct log *log);
/* Fills in the request for ibv_post_send(). */
void post_fill(struct ibv_send_wr *wr, struct link *l, struct plan *p);
/* ibv_post_send() */
struct posted post_list(struct link *l, struct plan *plans, unsigned int num, struct log *log);

#endif
