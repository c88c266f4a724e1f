/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Two threads that post to one QP. */
#ifndef CONFORM_THREADS_H
#define CONFORM_THREADS_H

#include "post/post.h"

/* What a thread posts through ibv_wr_*, and the result. */
struct poster {
	struct plan *plans;
	unsigned int num;
	struct posted posted;
};

/*
 * The second thread calls ibv_wr_start() while the first is in its critical region: it must wait until
 * the first has left. 0, or an errno if no thread could be created.
 */
int post_threads(struct link *l, struct poster *first, struct poster *second, struct log *log);

#endif
