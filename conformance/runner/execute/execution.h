/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Applies the accepted work requests of a cell in order to what must be observed. */
#ifndef CONFORM_EXECUTION_H
#define CONFORM_EXECUTION_H

#include "post/plan.h"

struct execution {
	struct link *link;
	struct expect requester, responder;
	bool broken; /* a request has completed in error: later ones are flushed */
	bool held; /* behind the last request is one that nobody built, which starts with the next: completes with `extra` */
	enum ibv_wc_status extra;
};

/* The requests are executed, or flushed if `broken` is set. */
void execute(struct execution *c, struct plan *plans, unsigned int num);
/* The requests of the cell's posting, of which `num` were accepted. */
void execute_cell(struct execution *c, const struct cell *cell, struct plan *plans, unsigned int num);
/*
 * All of them, of which the one that the cell tests does what the DUT file excuses: post.status, post.length, post.extra
 * (docs/conformance.md).
 */
void execute_excused(struct execution *c, const struct cell *cell, struct plan *plans, struct verdict *v);
/* Whether the DUT file excuses something of the cell's posting, so that the state of the queues counts. */
bool posting_is_excused(const struct verdict *v);

#endif
