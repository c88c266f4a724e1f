/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collect.h"
#include "post.h"
#include "window.h"

void seen(struct result *res, const char *fmt, ...)
{
	size_t used = strlen(res->seen);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(res->seen + used, sizeof(res->seen) - used, fmt, ap);
	va_end(ap);
}

/* A plain signalled SEND: shows that the QP still works, and is behind everything the cell posted. */
static void follow_up(struct runner *r, const struct cell *cell, struct result *res)
{
	struct link *l = &r->link;
	struct cell_wr wr = {
		.op = IBV_WR_SEND,
		.data_of = -1,
		.data = DATA_SGE,
		.qp_setter = link_setter(l),
		.num_len = 1,
		.len = {64},
		.flags = IBV_SEND_SIGNALED,
		.effect = EFFECT_SEND,
		.wc = IBV_WC_SEND,
		.recv = IBV_WC_RECV,
	};
	struct expect requester = {0}, responder = {0};
	struct posted posted;
	struct plan plan;
	int ret = plan_wr(&plan, l, &wr, CELL_MAX_WR, r->seed);

	if (ret) {
		fault(&res->verdict, "a following SEND does not fit: %s", errno_name(ret));
		return;
	}
	log_call(&res->log, "/* a following SEND */");
	if (l->api == API_WR && l->ask & IBV_QP_EX_WITH_SEND && !cell->follow_post)
		posted = post_wr(l, &plan, 1, false, &res->log);
	else
		posted = post_list(l, &plan, 1, &res->log);
	if (posted.rc) {
		fault(&res->verdict, "the QP is not usable afterwards: a SEND was refused with %s",
		      errno_name(posted.rc));
		return;
	}
	seen(res, "then a SEND: ");
	plan_execute(&plan, l, &requester, &responder);
	collect(l, &requester, &responder, res);
}

static int arm(struct link *l, const struct cell *cell, struct log *log)
{
	while (collect_event(l, false))
		;
	if (cell->event < 0)
		return 0;
	log_call(log, "ibv_req_notify_cq(peer_cq, 1 /* solicited only */)");
	return ibv_req_notify_cq(l->peer_cq, 1);
}

/* Number of work requests that are executed after the API answered. */
static unsigned int executed(const struct cell *cell, const struct posted *posted)
{
	if (cell->abort || (cell->post == POST_ERROR && !posted->rc))
		return 0;
	if (!posted->rc)
		return cell->num_wr;
	/* a list is executed up to its first bad work request, a critical region not at all */
	return posted->bad > 0 && posted->bad < (int)cell->num_wr ? posted->bad : 0;
}

static void judge_posting(const struct cell *cell, const struct posted *posted, struct result *res)
{
	res->err = posted->rc;
	if (posted->rc)
		seen(res, "posting refused with %s; ", errno_name(posted->rc));
	else
		seen(res, cell->abort ? "aborted; " : "posting accepted; ");
	judge_post(&res->verdict, cell, posted->rc, posted->bad);
}

/* What the requests did to the window, or did not, as its peer finds it. */
static void probe_window(struct link *l, const struct cell *cell, unsigned int done, struct result *res)
{
	bool binds = !(l->needs & NEED_BOUND);

	if (!(l->needs & NEED_WINDOW) || !link_has_windows(l))
		return;
	window_probe(l, binds ? ibv_inc_rkey(l->mw->rkey) : l->mw->rkey, binds == !!done, res);
}

/* Posts the cell and judges everything. The link may go on only when true is returned. */
static bool run_posting(struct runner *r, const struct cell *cell, struct plan *plans, struct result *res)
{
	struct link *l = &r->link;
	struct expect requester = {0}, responder = {0};
	unsigned int first_use = l->next_use;
	struct posted posted;

	if (cell->api == API_WR)
		posted = post_wr(l, plans, cell->num_wr, cell->abort, &res->log);
	else
		posted = post_list(l, plans, cell->num_wr, &res->log);
	judge_posting(cell, &posted, res);
	if (res->verdict.num || cell->post == POST_UNDEFINED)
		return false;
	for (unsigned int i = 0; i < executed(cell, &posted); i++)
		plan_execute(&plans[i], l, &requester, &responder);
	if (cell->post == POST_ERROR && !posted.rc)
		plan_fail(&plans[0], l, cell->status, &requester);
	collect(l, &requester, &responder, res);
	if (cell->event == 1 && !res->verdict.num)
		judge_event(&res->verdict, 1, collect_event(l, true));
	if (!res->verdict.num && !requester.num && cell->post == POST_ERROR)
		return false;
	if (cell->post == POST_ERROR && !posted.rc) { /* the QP is in the error state now */
		collect_memory(l, first_use, res);
		return false;
	}
	if (!res->verdict.num)
		follow_up(r, cell, res);
	if (cell->event == 0 && !res->verdict.num)
		judge_event(&res->verdict, 0, collect_event(l, false));
	collect_extra(l, res);
	if (!res->verdict.num)
		probe_window(l, cell, executed(cell, &posted), res);
	if (!res->verdict.num)
		collect_memory(l, first_use, res);
	/* whether the window is still bound, and the QP of use, depends on the cell */
	return !res->verdict.num && !(l->needs & NEED_WINDOW);
}

static int prepare(struct runner *r, const struct cell *cell, struct plan *plans, struct result *res)
{
	struct link *l = &r->link;
	int ret = 0;

	arena_reset(&l->local);
	arena_reset(&l->target);
	l->step = "buffers of the cell";
	if (l->needs & NEED_BOUND) {
		l->step = "binding the window";
		ret = window_bind(l, &res->log);
		if (!ret && link_has_windows(l))
			window_probe(l, l->mw->rkey, true, res);
	}
	for (unsigned int i = 0; i < cell->num_wr && !ret; i++)
		ret = plan_wr(&plans[i], l, &cell->wr[i], i, r->seed);
	if (!ret) {
		l->step = "posting receives";
		ret = link_fill_recv(l);
	}
	if (!ret) {
		l->step = "ibv_req_notify_cq";
		ret = arm(l, cell, &res->log);
	}
	return ret;
}

/* False when the cell ends here. */
static bool set_up(struct runner *r, const struct cell *cell, struct result *res)
{
	int ret;

	if (link_fits(&r->link, cell) && cell->create == CREATE_OK) {
		log_call(&res->log, "/* on the connected QP of the cell before */");
		return true;
	}
	link_destroy(&r->link);
	ret = link_create(&r->link, &r->dut, cell, &res->log);
	if (!ret && cell->create == CREATE_OK)
		return true;
	res->err = ret;
	if (ret)
		seen(res, "%s failed with %s", r->link.step, errno_name(ret));
	else
		seen(res, "the QP was created");
	if (cell->create == CREATE_REFUSED && ret && strcmp(r->link.step, "ibv_create_qp_ex"))
		fault(&res->verdict, "set-up failed at %s with %s before the QP", r->link.step,
		      errno_name(ret));
	else if (cell->create == CREATE_OK)
		fault(&res->verdict, "%s failed with %s", r->link.step, errno_name(ret));
	else
		judge_create(&res->verdict, cell, ret);
	return false;
}

void run_cell(struct runner *r, const struct cell *cell, struct result *res)
{
	static struct plan plans[CELL_MAX_WR];
	bool good = false;
	int ret;

	r->seed++;
	if (cell->api == API_RECV || cell->api == API_SRQ) {
		run_recv_cell(r, cell, res);
	} else if (cell->api == API_WRITEV) {
		run_writev_cell(r, cell, res);
	} else if (cell->api == API_SUITE) {
		run_suite_cell(r, cell, res);
	} else if (set_up(r, cell, res)) {
		ret = prepare(r, cell, plans, res);
		if (ret)
			fault(&res->verdict, "%s failed with %s", r->link.step, errno_name(ret));
		else
			good = run_posting(r, cell, plans, res);
	}
	if (!good)
		link_destroy(&r->link);
}
