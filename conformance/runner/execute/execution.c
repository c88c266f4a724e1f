/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include "execute/execution.h"

void execute(struct execution *c, struct plan *plans, unsigned int num)
{
	for (unsigned int i = 0; i < num; i++) {
		if (c->broken)
			plan_fail(&plans[i], c->link, IBV_WC_WR_FLUSH_ERR, &c->requester);
		else
			plan_execute(&plans[i], c->link, &c->requester, &c->responder);
	}
}

void execute_cell(struct execution *c, const struct cell *cell, struct plan *plans, unsigned int num)
{
	if (cell->post != POST_ERROR || num <= cell->index || c->broken) {
		execute(c, plans, num);
		return;
	}
	execute(c, plans, cell->index);
	plan_fail(&plans[cell->index], c->link, cell->status, &c->requester);
	c->broken = true;
	execute(c, plans + cell->index + 1, num - cell->index - 1);
}
