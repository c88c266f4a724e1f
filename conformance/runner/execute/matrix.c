/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <string.h>

#include "execute/collect.h"
#include "execute/execution.h"
#include "judge/watchdog.h"
#include "post/threads.h"
#include "execute/window.h"

/* The planned work requests of the cell's posting and of the other postings. */
struct plans {
	struct plan own[CELL_MAX_WR], before[CELL_MAX_WR], behind[CELL_MAX_WR], rival[CELL_MAX_WR];
};

/* A plain signalled SEND. `c` expects what has not come yet. */
static void post_send(struct runner *r, const struct cell *cell, struct execution *c, const char *when,
		      struct result *res)
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
	struct posted posted;
	struct plan plan;
	int ret = plan_wr(&plan, l, &wr, CELL_MAX_WR, r->seed);

	if (ret) {
		fault(&res->verdict, "a %s SEND does not fit: %s", when, errno_name(ret));
		return;
	}
	log_call(&res->log, "/* a %s SEND */", when);
	if (l->api == API_WR && l->ask & IBV_QP_EX_WITH_SEND && !cell->follow_post)
		posted = post_wr(l, &plan, 1, false, &res->log);
	else
		posted = post_list(l, &plan, 1, &res->log);
	if (posted.rc) {
		fault(&res->verdict, "the QP is not usable: a %s SEND was refused with %s", when,
		      errno_name(posted.rc));
		return;
	}
	seen(res, "a %s SEND: ", when);
	execute(c, &plan, 1);
	collect(l, &c->requester, &c->responder, res);
}

/* After everything that the cell posted: shows that the QP still works. */
static void follow_up(struct runner *r, const struct cell *cell, struct execution *c, struct result *res)
{
	post_send(r, cell, c, "following", res);
}

/* Before a region that is aborted: what a queue remembers of its last request is that of this one, in each run. */
static void warm_up(struct runner *r, const struct cell *cell, struct result *res)
{
	struct execution execution = {.link = &r->link};

	if (cell->abort)
		post_send(r, cell, &execution, "preceding", res);
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

/* Number of work requests of the cell's posting that the device must execute. */
static unsigned int accepted(const struct cell *cell, const struct posted *posted)
{
	if (cell->abort)
		return 0;
	if (!posted->rc)
		return cell->num_wr;
	/* a list is executed up to its first bad work request; a critical region is not executed */
	return posted->bad > 0 && posted->bad < (int)cell->num_wr ? posted->bad : 0;
}

static void judge_posting(struct runner *r, const struct cell *cell, const struct posted *posted,
			  struct result *res)
{
	res->err = posted->rc;
	if (posted->rc)
		seen(res, "posting refused with %s; ", errno_name(posted->rc));
	else
		seen(res, cell->abort ? "aborted; " : "posting accepted; ");
	judge_post(&res->verdict, cell, posted->rc, posted->bad, r->dut.refusal.invalid);
}

/* Checks by an access of the peer whether the requests have bound or invalidated the window. */
static void probe_window(struct link *l, bool done, struct result *res)
{
	bool binds = !(l->needs & NEED_BOUND);

	if (!(l->needs & NEED_WINDOW) || !link_has_windows(l))
		return;
	window_probe(l, binds ? ibv_inc_rkey(l->mw->rkey) : l->mw->rkey, binds == done, res);
}

/* Posts a batch other than the cell's and judges its return value. */
static void post_other(struct runner *r, const struct cell_batch *batch, struct plan *plans,
		       struct execution *execution, struct result *res)
{
	struct link *l = &r->link;
	struct posted posted;

	if (!batch->num_wr || res->verdict.num)
		return;
	posted = batch->api == API_WR ? post_wr(l, plans, batch->num_wr, false, &res->log)
				      : post_list(l, plans, batch->num_wr, &res->log);
	judge_other(&res->verdict, batch->post, posted.rc);
	if (!posted.rc)
		execute(execution, plans, batch->num_wr);
}

static bool is_lost(const struct verdict *v)
{
	const char *fate = excuse(v, "post.status");

	return fate && !strcmp(fate, "LOST");
}

/* Those of the cell's requests that the device must execute; returns how many. */
static unsigned int execute_own(const struct cell *cell, const struct posted *posted, struct plan *plans,
				struct execution *execution, struct result *res)
{
	unsigned int num = accepted(cell, posted);

	if (posted->rc || cell->abort || !posting_is_excused(&res->verdict)) {
		execute_cell(execution, cell, plans, num);
		return num;
	}
	execute_excused(execution, cell, plans, &res->verdict);
	return is_lost(&res->verdict) ? 0 : num;
}

/* Posts the cell and, in a second thread, its rival. Returns how many of the cell's requests the device must execute. */
static unsigned int post_rivals(struct runner *r, const struct cell *cell, struct plans *plans,
				struct execution *execution, struct result *res)
{
	struct poster own = {.plans = plans->own, .num = cell->num_wr};
	struct poster rival = {.plans = plans->rival, .num = cell->rival.num_wr};
	bool own_first = r->seed & 1;
	unsigned int num = 0;
	int ret = post_threads(&r->link, own_first ? &own : &rival, own_first ? &rival : &own, &res->log);

	if (ret) {
		fault(&res->verdict, "a second thread: %s", errno_name(ret));
		return 0;
	}
	judge_posting(r, cell, &own.posted, res);
	judge_other(&res->verdict, cell->rival.post, rival.posted.rc);
	if (own_first)
		num = execute_own(cell, &own.posted, plans->own, execution, res);
	execute(execution, plans->rival, rival.posted.rc ? 0 : rival.num);
	if (!own_first)
		num = execute_own(cell, &own.posted, plans->own, execution, res);
	return num;
}

static unsigned int post_own(struct runner *r, const struct cell *cell, struct plans *plans,
			     struct execution *execution, struct result *res)
{
	struct link *l = &r->link;
	struct posted posted;

	if (cell->rival.num_wr)
		return post_rivals(r, cell, plans, execution, res);
	if (cell->api == API_WR)
		posted = post_wr(l, plans->own, cell->num_wr, cell->abort, &res->log);
	else
		posted = post_list(l, plans->own, cell->num_wr, &res->log);
	judge_posting(r, cell, &posted, res);
	return execute_own(cell, &posted, plans->own, execution, res);
}

/* Long enough for a request that starts. On a device of which it is known that none does, nothing depends on it. */
#define START_MS 20

/* Where the DUT file says that the doorbell of the cell's posting is lost: nothing may come before the next one. */
static void judge_start(struct link *l, struct result *res)
{
	struct watchdog w = watchdog(START_MS);
	struct ibv_wc wc;
	bool came;

	do
		came = collect_poll(l, l->cq, &wc) || collect_poll(l, l->peer_cq, &wc);
	while (!came && !watchdog_expired(&w));
	observe(&res->verdict, "post.start", came ? "at once" : "next posting", "what was accepted starts %s",
		came ? "at once" : "with the next posting");
	seen(res, "nothing starts before the next posting; ");
}

/* Judges event, following SEND and window, if no request has completed in error. `c` expects what has not come yet. */
static void judge_afterwards(struct runner *r, const struct cell *cell, unsigned int done,
			     struct execution *c, struct result *res)
{
	struct link *l = &r->link;
	int event = cell->event == 1 && is_lost(&res->verdict) ? 0 : cell->event;

	if (event == 1 && !res->verdict.num) {
		bool came = collect_event(l, true);

		seen(res, came ? "a solicited event; " : "no solicited event; ");
		judge_event(&res->verdict, 1, came);
	}
	if (!res->verdict.num)
		follow_up(r, cell, c, res);
	if (event == 0 && !res->verdict.num)
		judge_event(&res->verdict, 0, collect_event(l, false));
	collect_extra(l, res);
	if (!res->verdict.num && !c->broken)
		probe_window(l, done > cell->index, res);
}

/* Posts the cell and judges everything. The link may be used again only if true is returned. */
static bool run_posting(struct runner *r, const struct cell *cell, struct plans *plans, struct result *res)
{
	struct link *l = &r->link;
	struct execution execution = {.link = l};
	unsigned int first_use = l->next_use, done = 0;

	warm_up(r, cell, res);
	post_other(r, &cell->before, plans->before, &execution, res);
	if (!res->verdict.num)
		done = post_own(r, cell, plans, &execution, res);
	post_other(r, &cell->behind, plans->behind, &execution, res);
	if (res->verdict.num)
		return false;
	if (excuse(&res->verdict, "post.start")) {
		judge_start(l, res);
	} else {
		collect(l, &execution.requester, &execution.responder, res);
		execution.requester.num = execution.responder.num = 0;
	}
	if (execution.broken)
		collect_extra(l, res);
	else
		judge_afterwards(r, cell, done, &execution, res);
	if (!res->verdict.num)
		collect_memory(l, first_use, res);
	/* whether the window is still bound, and what is in the queue, depends on the cell */
	return !res->verdict.num && !execution.broken && !(l->needs & NEED_WINDOW) &&
	       !posting_is_excused(&res->verdict);
}

/* Numbers of requests by posting: the cell's come first, then that of follow_up(). */
#define PLACE(n) (((n) + 1) * (CELL_MAX_WR + 1))

static int plan_batch(struct runner *r, struct plan *plans, const struct cell_wr *wr, unsigned int num,
		      unsigned int place)
{
	int ret = 0;

	for (unsigned int i = 0; i < num && !ret; i++)
		ret = plan_wr(&plans[i], &r->link, &wr[i], place + i, r->seed);
	return ret;
}

static int plan_all(struct runner *r, const struct cell *cell, struct plans *plans)
{
	const struct cell_batch *before = &cell->before, *behind = &cell->behind, *rival = &cell->rival;
	int ret = plan_batch(r, plans->own, cell->wr, cell->num_wr, 0);

	if (!ret)
		ret = plan_batch(r, plans->before, before->wr, before->num_wr, PLACE(0));
	if (!ret)
		ret = plan_batch(r, plans->behind, behind->wr, behind->num_wr, PLACE(1));
	return ret ? ret : plan_batch(r, plans->rival, rival->wr, rival->num_wr, PLACE(2));
}

static int prepare(struct runner *r, const struct cell *cell, struct plans *plans, struct result *res)
{
	struct link *l = &r->link;
	int ret = 0;

	arena_reset(&l->local);
	arena_reset(&l->target);
	if (l->needs & NEED_BOUND) {
		l->step = "binding the window";
		ret = window_bind(l, &res->log);
		if (!ret && link_has_windows(l))
			window_probe(l, l->mw->rkey, true, res);
	}
	if (!ret) {
		l->step = "buffers of the cell";
		ret = plan_all(r, cell, plans);
	}
	if (!ret) {
		l->step = "posting receives";
		log_call(&res->log, "cell_receives()");
		ret = link_fill_recv(l);
	}
	if (!ret) {
		l->step = "ibv_req_notify_cq";
		ret = arm(l, cell, &res->log);
	}
	return ret;
}

/* False if the cell ends here. */
static bool set_up(struct runner *r, const struct cell *cell, struct result *res)
{
	int ret;

	if (link_fits(&r->link, cell) && cell->create == CREATE_OK && !posting_is_excused(&res->verdict)) {
		link_log(&r->link, &res->log); /* the link of the previous cell is used */
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

bool run_matrix_cell(struct runner *r, const struct cell *cell, struct result *res)
{
	static struct plans plans;
	int ret;

	if (!set_up(r, cell, res))
		return false;
	ret = prepare(r, cell, &plans, res);
	if (ret) {
		fault(&res->verdict, "%s failed with %s", r->link.step, errno_name(ret));
		return false;
	}
	return run_posting(r, cell, &plans, res);
}
