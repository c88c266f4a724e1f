/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The journal of a cell: the arguments of every posting and what the API returned. The checks of the
 * device's links (hcasim_conform/taps) derive from it what may and must be there.
 */
#ifndef CONFORM_JOURNAL_H
#define CONFORM_JOURNAL_H

#include "post/post.h"

/* One ibv_post_send(); to: the QP at the other end. */
void journal_list(struct log *log, struct ibv_qp *qp, struct ibv_qp *to, struct ibv_send_wr *wr, int rc,
		  const struct ibv_send_wr *bad);
/* One critical region of ibv_wr_*. */
void journal_plans(struct log *log, struct link *l, struct plan *plans, unsigned int num, int rc, bool abort);

#endif
