/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What removes or moves the entries of a CQ, by one thread, while another one is between ibv_start_poll() and
 * ibv_end_poll(): it waits for the end of the batch, whose entries stay where they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "link/link_xrc.h"
#include "judge/watchdog.h"
#include "suites/completions/bench.h"
#include "suites/objects/own.h"

#define LONG_MS 5

/* One of the objects that complete into the CQ, and a thread that acts on it. */
struct remover {
	struct kit *k;
	struct ibv_cq *cq;
	struct own own;
	struct ibv_wq *wq;
	struct ibv_srq *srq;
	int (*act)(struct remover *r);
	int rc;
	atomic_bool done;
};

static bool made(struct remover *r, const void *object, const char *what)
{
	return KIT_MUST(r->k, object, "%s failed with %s", what, errno_name(errno));
}

static bool make_qp(struct remover *r)
{
	r->own.init.qp_type = IBV_QPT_RC;
	r->own.send_cq = ibv_create_cq(r->k->r->dut.requester.ctx, 4, NULL, NULL, 0);
	r->own.recv_cq = r->cq;
	return made(r, r->own.send_cq, "ibv_create_cq") && own_create_qp(r->k, &r->own) &&
	       own_reach(r->k, &r->own, IBV_QPS_INIT);
}

static int reset_qp(struct remover *r)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	return ibv_modify_qp(r->own.qp, &attr, IBV_QP_STATE);
}

static int destroy_qp(struct remover *r)
{
	return ibv_destroy_qp(r->own.qp);
}

static bool make_nothing(struct remover *r)
{
	return r;
}

static int resize(struct remover *r)
{
	return ibv_resize_cq(r->cq, 3 * r->cq->cqe);
}

static bool make_wq(struct remover *r)
{
	const struct end *end = &r->k->r->dut.requester;
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = end->pd, .cq = r->cq};

	r->wq = ibv_create_wq(end->ctx, &init);
	return made(r, r->wq, "ibv_create_wq");
}

static int reset_wq(struct remover *r)
{
	struct ibv_wq_attr attr = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RESET};

	return ibv_modify_wq(r->wq, &attr);
}

static int destroy_wq(struct remover *r)
{
	return ibv_destroy_wq(r->wq);
}

static bool make_srq(struct remover *r)
{
	const struct end *end = &r->k->r->dut.requester;
	struct ibv_srq_attr attr = {.max_wr = 4, .max_sge = 1};
	struct ibv_xrcd *xrcd = link_xrcd(end->ctx);

	if (!made(r, xrcd, "ibv_open_xrcd"))
		return false;
	r->srq = link_xrc_srq(end->pd, xrcd, r->cq, &attr);
	return made(r, r->srq, "ibv_create_srq_ex");
}

static int destroy_srq(struct remover *r)
{
	return ibv_destroy_srq(r->srq);
}

/* By the cell's argument `act`. */
static const struct {
	const char *call;
	bool (*make)(struct remover *r);
	int (*act)(struct remover *r);
} acts[] = {
	{"ibv_modify_qp(qp, IBV_QPS_RESET)", make_qp, reset_qp},
	{"ibv_destroy_qp(qp)", make_qp, destroy_qp},
	{"ibv_resize_cq(cq, cqe)", make_nothing, resize},
	{"ibv_modify_wq(wq, IBV_WQS_RESET)", make_wq, reset_wq},
	{"ibv_destroy_wq(wq)", make_wq, destroy_wq},
	{"ibv_destroy_srq(srq)", make_srq, destroy_srq},
};

static void *act(void *arg)
{
	struct remover *r = arg;

	r->rc = r->act(r);
	atomic_store(&r->done, true);
	return NULL;
}

static void act_in_batch(struct kit *k, struct bench *b, struct remover *r)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)b->cq;
	struct ibv_poll_cq_attr none = {};
	struct watchdog wait;
	pthread_t thread;
	bool early;

	KIT_CHECK(k, !ibv_start_poll(cq, &none), "ibv_start_poll found none of 3 completions");
	pthread_create(&thread, NULL, act, r);
	for (wait = watchdog(LONG_MS); !atomic_load(&r->done) && !watchdog_expired(&wait);)
		;
	watchdog_lost(); /* this timeout is expected */
	early = atomic_load(&r->done);
	for (int more = 0; more < 2; more++) {
		if (cq->wr_id != b->want[b->first++].wr_id)
			KIT_FAULT(k, "entry %d of the batch has another wr_id", more);
		if (!more && ibv_next_poll(cq))
			KIT_FAULT(k, "ibv_next_poll found no second completion");
	}
	ibv_end_poll(cq);
	pthread_join(thread, NULL);
	if (!kit_holds(k, !early))
		KIT_FAULT(k, "it was done between ibv_start_poll and ibv_end_poll");
	if (r->rc)
		KIT_FAULT(k, "it failed with %s", errno_name(r->rc));
}

static void batch_excludes(struct kit *k)
{
	const int which = kit_arg(k, "act", 0);
	struct remover r = {.k = k, .act = acts[which].act};
	struct bench b = {0};

	log_call(&k->res->log, "/* ibv_start_poll(cq, attr); another thread: %s; ibv_end_poll(cq) */",
		 acts[which].call);
	if (!bench_open(&b, k, 4))
		return;
	r.cq = b.cq;
	if (acts[which].make(&r) && bench_link(&b, k->l, NULL) && bench_put(&b, k->l, 3))
		act_in_batch(k, &b, &r);
	if (KIT_GOOD(k))
		bench_empty(&b);
}

SCENARIO(batch_excludes) = {
	{"excludes", SUITE("cq"), QPS("RC"), ARGS({"ex", 1}),
	 FORMS({"-reset"}, {"-destroy", {{"act", 1}}}, {"-resize", {{"act", 2}}}),
	 CLAUSE("ibv_create_cq_ex/DESCRIPTION/ibv_next_poll"), LEVEL("SHOULD"), ERRATA("POLL-LOCK"),
	 SAYS("another thread's call waits for the end of the batch, whose completions are polled, in "
	      "order")},
	{"excludes", ARGS({"ex", 1}), FORMS({"-reset-wq", {{"act", 3}}}, {"-destroy-wq", {{"act", 4}}}),
	 NEEDS("work_queues")},
	{"excludes-destroy-srq", ARGS({"act", 5}, {"ex", 1}), NEEDS("srq operations/XRC_SEND/SEND")},
	{},
};
