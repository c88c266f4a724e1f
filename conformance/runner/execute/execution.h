/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What happens to the work requests of a cell, one after the other, once they have been accepted. */
#ifndef CONFORM_EXECUTION_H
#define CONFORM_EXECUTION_H

#include "post/plan.h"

struct execution {
	struct link *link;
	struct expect requester, responder;
	bool broken; /* a request has completed in error: what is behind it is flushed */
};

/* They are executed, or flushed. */
void execute(struct execution *c, struct plan *plans, unsigned int num);
/* The requests of the cell's own posting, of which `num` were accepted. */
void execute_cell(struct execution *c, const struct cell *cell, struct plan *plans, unsigned int num);

#endif
