/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Takes completions and events from a link and compares them with the expected ones. */
#ifndef CONFORM_COLLECT_H
#define CONFORM_COLLECT_H

#include "post/plan.h"
#include "execute/execute.h"

/* Waits until all expected completions have come on both sides, or the DUT file's timeout has expired. */
void collect(struct link *l, const struct expect *requester, const struct expect *responder,
	     struct result *res);
/* Every completion that is left in the completion queues is a fault. */
void collect_extra(struct link *l, struct result *res);
/* Polls one completion with ibv_poll_cq(), or on an extended CQ with ibv_start_poll() and the read functions. */
int collect_poll(const struct link *l, struct ibv_cq *cq, struct ibv_wc *wc);
/* Polls with ibv_start_poll(); returns what ibv_poll_cq() would. timestamp: may be NULL, else the CQ must have them. */
int poll_extended(struct ibv_cq_ex *cq, struct ibv_wc *wc, uint64_t *timestamp);
/* Reads the fields of the current completion, between ibv_start_poll() and ibv_end_poll(). */
void read_current(struct ibv_cq_ex *cq, struct ibv_wc *wc);
/* Waits for a completion event of the peer's CQ when `wait` is set; acknowledges it. */
bool collect_event(struct link *l, bool wait);
/* What was received since, before kit_alive() posts these receives again; collect_memory() does it, too. */
void collect_received(struct link *l, unsigned int first_use, struct result *res);
void collect_memory(struct link *l, unsigned int first_use, struct result *res);

#endif
