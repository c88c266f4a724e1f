/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The critical region of ibv_wr_start() between threads. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "post/journal.h"
#include "judge/watchdog.h"
#include "suites/kit.h"

#define REGIONS 4 /* of each thread */
#define LONG_MS 20
#define THREADS 2

struct worker {
	struct kit *k;
	struct link *l;
	struct plan *plans;
	unsigned int num, id;
	pthread_barrier_t *barrier;
	int rc;
};

static uint64_t id_of(unsigned int thread, unsigned int region, unsigned int at)
{
	return (uint64_t)thread << 32 | region << 8 | at;
}

/* Posts regions of the requests of the cell from the thread's own plans, which no other thread writes. */
static void *post_regions(void *arg)
{
	struct worker *w = arg;
	struct ibv_qp_ex *qpx = w->l->qpx;

	pthread_barrier_wait(w->barrier);
	for (unsigned int region = 0; region < REGIONS && !w->rc; region++) {
		ibv_wr_start(qpx);
		for (unsigned int i = 0; i < w->num; i++) {
			qpx->wr_id = id_of(w->id, region, i);
			qpx->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_rdma_write(qpx, w->l->target.mr->rkey, (uintptr_t)w->plans[i].target);
			if (w->l->qpt == IBV_QPT_XRC_SEND)
				ibv_wr_set_xrc_srqn(qpx, w->l->srqn);
			ibv_wr_set_sge(qpx, w->plans[i].sge[0].lkey, w->plans[i].sge[0].addr,
				       w->plans[i].sge[0].length);
		}
		w->rc = ibv_wr_complete(qpx);
	}
	return NULL;
}

/* In the order of completions each region is contiguous, and each thread's regions are in order. */
static void judge_regions(struct kit *k, struct link *l, unsigned int total, unsigned int num)
{
	unsigned int next[THREADS] = {0}, thread = 0;

	for (unsigned int at = 0; at < total; at++) {
		struct ibv_wc wc;

		if (!kit_wait(k, l, l->cq, &wc))
			return;
		KIT_CHECK(k, wc.status == IBV_WC_SUCCESS, "a request ended with %s",
			  value_name(status_names, wc.status));
		if (at % num == 0)
			thread = wc.wr_id >> 32;
		KIT_CHECK(k, thread < THREADS && wc.wr_id == id_of(thread, next[thread], at % num),
			  "wr_id 0x%llx, expected 0x%llx: a region is torn or out of order",
			  (unsigned long long)wc.wr_id,
			  (unsigned long long)id_of(thread, next[thread % THREADS], at % num));
		if (at % num == num - 1)
			next[thread]++;
	}
	kit_expect_none(k, l, l->cq);
}

static bool run_workers(struct kit *k, struct worker *w)
{
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;
	bool good = true;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (unsigned int i = 0; i < THREADS; i++) {
		w[i].barrier = &barrier;
		w[i].id = i;
		pthread_create(&threads[i], NULL, post_regions, &w[i]);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		if (w[i].rc)
			KIT_FAULT(k, "a region of thread %u was refused with %s", i, errno_name(w[i].rc));
		good &= !w[i].rc;
	}
	pthread_barrier_destroy(&barrier);
	log_call(&k->res->log,
		 "/* %d threads, each %d times: ibv_wr_start(); ibv_wr_rdma_write()...; ibv_wr_complete() */",
		 THREADS, REGIONS);
	return good;
}

static const struct link_opts deep = {.sq_depth = 64, .cq_depth = 256};

static void threads_one_qp(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR];
	unsigned int num = k->cell->num_wr;
	struct worker w[THREADS];

	if (!kit_link(k, API_WR, &deep) || !kit_plan(k, plans))
		return;
	for (unsigned int i = 0; i < THREADS; i++)
		w[i] = (struct worker){.k = k, .l = k->l, .plans = plans, .num = num};
	if (run_workers(k, w))
		judge_regions(k, k->l, THREADS * REGIONS * num, num);
}

SCENARIO(threads_one_qp) = {
	{"threads-one-qp", SUITE("region"), QPS("RC XRC_SEND UC"), POSTS("3 x RDMA_WRITE 600"),
	 CLAUSE("ibv_wr_post/CONCURRENCY/lock"), ASK("posts"),
	 SAYS("the requests of a region complete together, each thread's in order")},
	{},
};

static void threads_two_qps(struct kit *k)
{
	static struct plan plans[CELL_MAX_WR], other_plans[CELL_MAX_WR];
	unsigned int num = k->cell->num_wr;
	struct link other = {0};
	struct kit there = {.r = k->r, .cell = k->cell, .res = k->res, .l = &other};

	if (kit_link(k, API_WR, &deep) && kit_plan(k, plans) && kit_link_second(k, &other, API_WR, &deep) &&
	    kit_plan(&there, other_plans)) {
		struct worker w[THREADS] = {{.k = k, .l = k->l, .plans = plans, .num = num},
					    {.k = k, .l = &other, .plans = other_plans, .num = num}};

		if (run_workers(k, w)) {
			judge_regions(k, k->l, REGIONS * num, num);
			judge_regions(k, &other, REGIONS * num, num);
		}
	}
}

SCENARIO(threads_two_qps) = {
	{"threads-two-qps", SUITE("region"), QPS("RC XRC_SEND UC"), POSTS("3 x RDMA_WRITE 600"),
	 CLAUSE("ibv_wr_post/CONCURRENCY/lock"), ASK("posts"),
	 SAYS("both threads' regions are executed, each on its own QP")},
	{},
};

/* A thread that starts a region and aborts it. */
struct visitor {
	struct ibv_qp_ex *qpx;
	struct ibv_qp *qp;
	struct ibv_send_wr *wr;
	bool list;         /* posts by ibv_post_send() instead */
	struct ibv_mw *mw; /* or binds this window by ibv_bind_mw() */
	struct ibv_mw_bind bind;
	int rc;
	atomic_bool inside, done;
};

static void *visit(void *arg)
{
	struct visitor *v = arg;
	struct ibv_send_wr *bad;

	if (v->mw) {
		v->rc = ibv_bind_mw(v->qp, v->mw, &v->bind);
	} else if (v->list) {
		v->rc = ibv_post_send(v->qp, v->wr, &bad);
	} else {
		ibv_wr_start(v->qpx);
		atomic_store(&v->inside, true);
		ibv_wr_abort(v->qpx);
	}
	atomic_store(&v->inside, true);
	atomic_store(&v->done, true);
	return NULL;
}

static bool entered_within(struct visitor *v, unsigned int ms)
{
	struct watchdog p = watchdog(ms);

	while (!atomic_load(&v->inside) && !watchdog_expired(&p))
		;
	return atomic_load(&v->inside);
}

/* While a thread is in the region of a QP, another thread posts to the same QP. */
static void second_visitor(struct kit *k, bool list, bool waits)
{
	static struct plan plans[CELL_MAX_WR];
	struct ibv_send_wr wr[CELL_MAX_WR];
	struct expect requester = {0}, responder = {0};
	struct link *l = k->l;
	struct visitor v = {.qpx = l->qpx, .qp = l->qp, .list = list, .wr = wr};
	pthread_t thread;
	bool entered;

	if (!kit_plan(k, plans))
		return;
	kit_list(k, plans, k->cell->num_wr, wr);
	end_push();
	log_call(&k->res->log, "ibv_wr_start(qpx); /* another thread: %s */ ibv_wr_abort(qpx)",
		 list ? "ibv_post_send(qp)" : "ibv_wr_start(qpx), ibv_wr_abort(qpx)");
	ibv_wr_start(l->qpx);
	pthread_create(&thread, NULL, visit, &v);
	entered = entered_within(&v, waits ? LONG_MS : l->dut->timeout_ms);
	if (waits)
		watchdog_lost(); /* this timeout is expected */
	ibv_wr_abort(l->qpx);
	pthread_join(thread, NULL);
	KIT_CHECK(k, !(entered && waits), "another thread entered the critical region of the QP");
	KIT_CHECK(k, entered || waits,
		  "another thread waits at the critical region although the QP has a thread domain");
	KIT_CHECK(k, !v.rc, "the other thread's posting was refused with %s", errno_name(v.rc));
	if (list) {
		journal_list(&k->res->log, l->qp, l->peer, wr, 0, NULL);
		for (unsigned int i = 0; i < k->cell->num_wr; i++)
			plan_execute(&plans[i], l, &requester, &responder);
		collect(l, &requester, &responder, k->res);
	}
	collect_extra(l, k->res);
	if (KIT_GOOD(k))
		collect_memory(l, l->next_use, k->res);
}

/* Requests that are not posted. */
static void build_some(struct link *l)
{
	for (unsigned int i = 0; i < 2; i++) {
		l->qpx->wr_id = 0xab0 + i;
		l->qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(l->qpx);
		ibv_wr_set_sge(l->qpx, l->local.mr->lkey, (uintptr_t)l->local.base, 8);
	}
}

/* Another thread binds a window of type 1: the bind is executed when the region has been left, and nothing else. */
static void region_excludes_bind(struct kit *k)
{
	struct visitor v = {.bind = {.wr_id = 0xb1d, .send_flags = IBV_SEND_SIGNALED}};
	struct ibv_pd *pd = k->r->dut.requester.pd;
	struct ibv_mr *mr = NULL;
	pthread_t thread;
	bool entered;

	if (!kit_link(k, API_WR, NULL))
		return;
	v.qp = k->l->qp;
	v.mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	if (v.mw)
		mr = ibv_reg_mr(pd, k->l->local.base, k->l->local.size,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	KIT_CHECK(k, mr, "a window or its region: %s", errno_name(errno));
	v.bind.bind_info =
		(struct ibv_mw_bind_info){mr, (uintptr_t)k->l->local.base, 64, IBV_ACCESS_REMOTE_READ};
	log_call(&k->res->log, "ibv_wr_start(qpx); ibv_wr_send(qpx); /* another thread: "
			       "ibv_bind_mw(qp, mw, bind) */ ibv_wr_abort(qpx)");
	ibv_wr_start(k->l->qpx);
	build_some(k->l);
	pthread_create(&thread, NULL, visit, &v);
	entered = entered_within(&v, LONG_MS);
	watchdog_lost(); /* this timeout is expected */
	ibv_wr_abort(k->l->qpx);
	pthread_join(thread, NULL);
	KIT_CHECK(k, !entered, "another thread bound a window in the critical region of the QP");
	KIT_CHECK(k, !v.rc, "ibv_bind_mw was refused with %s", errno_name(v.rc));
	kit_expect(k, k->l, k->l->cq, k->l->qp, 0xb1d, IBV_WC_SUCCESS);
	KIT_CHECK(k, !ibv_dealloc_mw(v.mw), "ibv_dealloc_mw failed"); /* before the region */
}

SCENARIO(region_excludes_bind) = {
	{"excludes-bind_mw", SUITE("region"), QPS("RC"), CLAUSE("ibv_wr_post/CONCURRENCY/lock"),
	 NEEDS("memory_windows/1"), ASK("RDMA_WRITE"),
	 SAYS("the other thread gets in only when the region is left")},
	{},
};

static void region_excludes(struct kit *k)
{
	if (kit_link(k, API_WR, NULL))
		second_visitor(k, kit_arg(k, "list", 0), true);
}

SCENARIO(region_excludes) = {
	{"excludes", SUITE("region"), QPS("RC"), POSTS("SEND 600"),
	 FORMS({"-region"}, {"-post_send", {{"list", 1}}}), CLAUSE("ibv_wr_post/CONCURRENCY/lock"),
	 ASK("RDMA_WRITE"), SAYS("the other thread gets in only when the region is left")},
	{},
};

/* A region belongs to one QP: a thread on another QP does not wait. */
static void region_of_one_qp(struct kit *k)
{
	struct link other = {0}, *l = k->l;
	struct visitor v = {0};
	pthread_t thread;
	bool entered;

	if (kit_link(k, API_WR, NULL) && kit_link_second(k, &other, API_WR, NULL)) {
		v.qpx = other.qpx;
		log_call(&k->res->log,
			 "ibv_wr_start(qpx); /* another thread: ibv_wr_start(qpx of another QP) */");
		ibv_wr_start(l->qpx);
		pthread_create(&thread, NULL, visit, &v);
		entered = entered_within(&v, l->dut->timeout_ms);
		ibv_wr_abort(l->qpx);
		pthread_join(thread, NULL);
		if (!kit_holds(k, entered))
			KIT_FAULT(k, "the critical region of one QP keeps a thread off another QP");
	}
}

SCENARIO(region_of_one_qp) = {
	{"of-one-qp", SUITE("region"), QPS("RC"), POSTS("SEND 600"), CLAUSE("ibv_wr_post/CONCURRENCY/lock"),
	 ASK("RDMA_WRITE"), SAYS("a thread on another QP does not wait")},
	{},
};

static void thread_domain(struct kit *k)
{
	struct ibv_td_init_attr none = {0};
	struct ibv_context *ctx = k->r->dut.requester.ctx;
	struct ibv_parent_domain_init_attr attr = {.pd = k->r->dut.requester.pd};
	struct link_opts opts = {0};

	errno = 0;
	attr.td = ibv_alloc_td(ctx, &none);
	if (!attr.td && errno == EOPNOTSUPP) {
		seen(k->res, "the device has no thread domains; ");
		return;
	}
	KIT_CHECK(k, attr.td, "ibv_alloc_td failed with %s", errno_name(errno));
	opts.pd = ibv_alloc_parent_domain(ctx, &attr);
	KIT_CHECK(k, opts.pd, "ibv_alloc_parent_domain failed with %s", errno_name(errno));
	if (kit_link(k, API_WR, &opts))
		second_visitor(k, false, false);
	if (KIT_GOOD(k))
		kit_alive(k, k->l);
}

SCENARIO(thread_domain) = {
	{"thread-domain", SUITE("region"), QPS("RC"), POSTS("SEND 600"), CLAUSE("ibv_wr_post/CONCURRENCY/td"),
	 ALSO("ibv_alloc_td/DESCRIPTION/locking"), LEVEL("SHOULD"), ERRATA("TD-LOCK"), ASK("RDMA_WRITE"),
	 SAYS("a second entry does not wait: the QP has a thread domain")},
	{},
};
