/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <stdlib.h>
#include <string.h>

#include "execute/execution.h"

static void execute_held(struct execution *c)
{
	plan_extra(c->link, c->broken ? IBV_WC_WR_FLUSH_ERR : c->extra, &c->requester);
	c->broken = true;
	c->held = false;
}

void execute(struct execution *c, struct plan *plans, unsigned int num)
{
	if (num && c->held)
		execute_held(c);
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

bool posting_is_excused(const struct verdict *v)
{
	return excuse(v, "post.rc") || excuse(v, "post.status") || excuse(v, "post.extra") ||
	       excuse(v, "post.length") || excuse(v, "post.start");
}

static enum ibv_wc_status status_of(const char *name)
{
	long status = IBV_WC_SUCCESS;

	name_value(status_names, name, &status);
	return status;
}

/* The request that the cell tests: it completes with another status, is lost, or sends less. */
static void execute_tested(struct execution *c, const struct cell *cell, struct plan *plan, struct verdict *v)
{
	const char *fate = excuse(v, "post.status"), *length = excuse(v, "post.length");
	enum ibv_wc_status status = cell->post == POST_ERROR ? cell->status : IBV_WC_SUCCESS;

	if (length) {
		observe(v, "post.length", length, "the request that the cell tests has %s bytes", length);
		plan_shorten(plan, atoi(length));
	}
	if (fate)
		observe(v, "post.status", fate, "the request that the cell tests: %s", fate);
	if (fate && !strcmp(fate, "LOST"))
		return;
	if (fate)
		status = status_of(fate);
	if (status == IBV_WC_SUCCESS || c->broken) {
		execute(c, plan, 1);
		return;
	}
	plan_fail(plan, c->link, status, &c->requester);
	c->broken = true;
}

void execute_excused(struct execution *c, const struct cell *cell, struct plan *plans, struct verdict *v)
{
	unsigned int at = cell->api == API_POST && cell->post == POST_REFUSED ? (unsigned int)cell->bad_wr
									      : cell->index;
	const char *extra = excuse(v, "post.extra");

	execute(c, plans, at);
	execute_tested(c, cell, &plans[at], v);
	if (extra) {
		observe(v, "post.extra", extra, "behind the request is another that nobody built: %s", extra);
		c->extra = status_of(extra);
		c->held = true;
	}
	execute(c, plans + at + 1, cell->num_wr - at - 1);
}
