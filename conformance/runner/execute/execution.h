/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Applies the accepted work requests of a cell in order to what must be observed. */
#ifndef CONFORM_EXECUTION_H
#define CONFORM_EXECUTION_H

#include "post/plan.h"

struct execution {
	struct link *link;
	struct expect requester, responder;
	bool broken; /* a request has completed in error: later ones are flushed */
};

/* The requests are executed, or flushed if `broken` is set. */
void execute(struct execution *c, struct plan *plans, unsigned int num);
/* The requests of the cell's posting, of which `num` were accepted. */
void execute_cell(struct execution *c, const struct cell *cell, struct plan *plans, unsigned int num);

#endif
