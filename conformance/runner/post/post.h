/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Hands the planned work requests of a cell to the device, through either API. */
#ifndef CONFORM_POST_H
#define CONFORM_POST_H

#include "post/plan.h"

struct posted {
	int rc;  /* as the API returned it */
	int bad; /* index that *bad_wr named; -1: none, or the API has none */
};

/* Called inside the critical region, when it has been entered and before anything is built. */
struct inside {
	void (*call)(void *arg);
	void *arg;
};

struct posted post_wr_inside(struct link *l, struct plan *plans, unsigned int num, bool abort,
			     const struct inside *inside, struct log *log);
/* ibv_wr_start() .. ibv_wr_complete(), or ibv_wr_abort() */
struct posted post_wr(struct link *l, struct plan *plans, unsigned int num, bool abort, struct log *log);
/* The request as ibv_post_send() takes it. */
void post_fill(struct ibv_send_wr *wr, struct link *l, struct plan *p);
/* ibv_post_send() */
struct posted post_list(struct link *l, struct plan *plans, unsigned int num, struct log *log);

#endif
