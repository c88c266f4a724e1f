/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Takes completions and events off a link and holds them against what is expected. */
#ifndef CONFORM_COLLECT_H
#define CONFORM_COLLECT_H

#include "post/plan.h"
#include "execute/execute.h"

/* Waits until everything expected came on both sides, or the time of the DUT file is over. */
void collect(struct link *l, const struct expect *requester, const struct expect *responder,
	     struct result *res);
/* Whatever still lies in the completion queues was not asked for. */
void collect_extra(struct link *l, struct result *res);
/* ibv_poll_cq() of one completion, or what ibv_start_poll() and its like say of it on an extended CQ. */
int collect_poll(const struct link *l, struct ibv_cq *cq, struct ibv_wc *wc);
/* ibv_start_poll() and its like, as ibv_poll_cq() would say it. timestamp: NULL, or the CQ has them. */
int poll_extended(struct ibv_cq_ex *cq, struct ibv_wc *wc, uint64_t *timestamp);
/* Waits for a completion event of the peer's CQ when `wait` is set; acknowledges it. */
bool collect_event(struct link *l, bool wait);
void collect_memory(struct link *l, unsigned int first_use, struct result *res);

#endif
