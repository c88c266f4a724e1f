/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Several threads, each on a QP of its own. QPs of one context may share a doorbell page and its push buffers, which no
 * program sees: what one thread rings or pushes must not touch what another one does.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "judge/watchdog.h"
#include "suites/objects/own.h"

#define THREADS 5
#define ROUNDS  6
#define BURST   8 /* requests of a round, each of a region of its own, so that each is rung or pushed alone */
#define MOST    120 /* bytes of a request */
#define PLACE   (MOST + 4)
#define SPARE   80 /* thread domains that are there before, when there shall be no further pages */
#define ACCESS  (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

struct hand {
	struct kit *k;
	struct own own;
	unsigned int id;
	struct ibv_td *td; /* NULL: the QP has none */
	struct ibv_pd *pd; /* the parent domain with it */
	struct ibv_mr *mr;
	uint8_t *to; /* where its requests write: a place for each of a round */
	pthread_barrier_t *barrier;
	int rc;
	unsigned int at; /* the failed request */
	enum ibv_wc_status status;
	const char *failed;
};

static uint8_t byte_of(const struct hand *h, unsigned int request, unsigned int at)
{
	return (uint8_t)(h->id * 61 + request * 7 + at * 3 + 1);
}

/* The lengths of a thread's requests differ, so that those of two threads that push at a time do. */
static unsigned int length_of(const struct hand *h, unsigned int request)
{
	return 1 + (request * 13 + h->id * 31) % MOST;
}

/* A place has a guard byte at least. */
static uint8_t *place_of(const struct hand *h, unsigned int request)
{
	return h->to + (size_t)(request % BURST) * PLACE;
}

static int post(struct hand *h, unsigned int request)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(h->own.qp);
	const unsigned int length = length_of(h, request);
	uint8_t bytes[MOST];

	for (unsigned int i = 0; i < length; i++)
		bytes[i] = byte_of(h, request, i);
	memset(place_of(h, request), 0, PLACE);
	ibv_wr_start(qpx);
	qpx->wr_id = (uint64_t)h->id << 32 | request;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qpx, h->mr->rkey, (uintptr_t)place_of(h, request));
	ibv_wr_set_inline_data(qpx, bytes, length);
	return ibv_wr_complete(qpx);
}

static const char *judge(struct hand *h, unsigned int request)
{
	struct watchdog limit = watchdog(h->k->r->dut.timeout_ms);
	const unsigned int length = length_of(h, request);
	const uint8_t *place = place_of(h, request);
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(h->own.send_cq, 1, &wc);
	while (!n && !watchdog_expired(&limit));
	if (n != 1)
		return n ? "polling failed" : "its CQE did not come";
	h->status = wc.status;
	if (wc.status || wc.wr_id != ((uint64_t)h->id << 32 | request) || wc.qp_num != h->own.qp->qp_num)
		return wc.status ? "it completed in error" : "its completion is another one's";
	for (unsigned int i = 0; i < PLACE; i++)
		if (place[i] != (i < length ? byte_of(h, request, i) : 0))
			return "other bytes than its own were written";
	return NULL;
}

static void *work(void *arg)
{
	struct hand *h = arg;
	unsigned int i;

	pthread_barrier_wait(h->barrier);
	for (unsigned int round = 0; round < ROUNDS && !h->failed; round++) {
		for (i = 0; i < BURST && !h->rc; i++)
			h->rc = post(h, h->at = round * BURST + i);
		h->failed = h->rc ? "it was refused" : NULL;
		for (i = 0; i < BURST && !h->failed; i++)
			h->failed = judge(h, h->at = round * BURST + i);
	}
	return NULL;
}

static bool begin(struct kit *k, struct hand *h, struct ibv_mr *mr, uint8_t *to)
{
	struct ibv_parent_domain_init_attr attr = {.pd = k->r->dut.requester.pd, .td = h->td};

	h->k = k;
	h->mr = mr;
	h->to = to;
	h->own.to_itself = true;
	if (h->td) {
		h->pd = h->own.init.pd = ibv_alloc_parent_domain(k->r->dut.requester.ctx, &attr);
		if (!h->pd)
			KIT_FAULT(k, "ibv_alloc_parent_domain failed with %s", errno_name(errno));
	}
	h->own.init.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	h->own.init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
	h->own.init.cap = (struct ibv_qp_cap){BURST, 1, 1, 1, MOST};
	return KIT_GOOD(k) && own_create(k, &h->own, IBV_QPT_RC) && own_reach(k, &h->own, IBV_QPS_RTS);
}

/* All do it at a time. */
static void together(struct hand *h, unsigned int num, void *(*what)(void *))
{
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, num);
	for (unsigned int i = 0; i < num; i++) {
		h[i].barrier = &barrier;
		pthread_create(&threads[i], NULL, what, &h[i]);
	}
	for (unsigned int i = 0; i < num; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
}

static void run(struct kit *k, struct hand *h)
{
	together(h, THREADS, work);
	for (unsigned int i = 0; i < THREADS; i++)
		KIT_CHECK(k, !h[i].failed, "thread %u, request %u: %s (%s)", i, h[i].at, h[i].failed,
			  h[i].rc ? errno_name(h[i].rc) : value_name(status_names, h[i].status));
}

static void *take_domain(void *arg)
{
	static struct ibv_td_init_attr none;
	struct hand *h = arg;

	pthread_barrier_wait(h->barrier);
	h->td = ibv_alloc_td(h->k->r->dut.requester.ctx, &none);
	return NULL;
}

/*
 * All but one get a thread domain: most at a time, the last one when a domain that was there before is free again.
 * False: the device has no thread domains, or a fault.
 */
static bool take_domains(struct kit *k, struct hand *h, unsigned int num)
{
	struct ibv_td *spare[SPARE];
	struct ibv_td_init_attr none = {0};

	for (unsigned int i = 0; i < num; i++) {
		errno = 0;
		spare[i] = ibv_alloc_td(k->r->dut.requester.ctx, &none);
		if (!spare[i] && errno == EOPNOTSUPP)
			seen(k->res, "the device has no thread domains; ");
		if (!spare[i])
			return false;
	}
	together(h, THREADS - 2, take_domain);
	if (num == 1)
		ibv_dealloc_td(spare[0]);
	h[THREADS - 2].td = ibv_alloc_td(k->r->dut.requester.ctx, &none);
	for (unsigned int i = 0; i < THREADS - 1; i++)
		if (!h[i].td)
			KIT_FAULT(k, "ibv_alloc_td failed");
	return KIT_GOOD(k);
}

static void threads_own_qps(struct kit *k)
{
	struct ibv_pd *pd = k->r->dut.requester.pd;
	const unsigned int spares = (unsigned int)kit_arg(k, "spare", 0);
	const size_t each = (size_t)BURST * PLACE;
	uint8_t *bytes = end_alloc(pd, THREADS * each);
	struct ibv_mr *mr = bytes ? ibv_reg_mr(pd, bytes, THREADS * each, ACCESS) : NULL;
	struct hand h[THREADS] = {0};

	KIT_CHECK(k, mr, "memory of the case: %s", errno_name(errno));
	for (unsigned int i = 0; i < THREADS; i++) {
		h[i].k = k;
		h[i].id = i;
	}
	if (spares && !take_domains(k, h, spares < SPARE ? spares : SPARE))
		return;
	for (unsigned int i = 0; i < THREADS; i++)
		if (!begin(k, &h[i], mr, bytes + i * each))
			return;
	log_call(&k->res->log,
		 "/* %d threads, each %d times on its own QP: ibv_wr_start(); ibv_wr_rdma_write(); "
		 "ibv_wr_set_inline_data(); ibv_wr_complete() */",
		 THREADS, ROUNDS * BURST);
	run(k, h);
}

SCENARIO(threads_own_qps) = {
	{"threads-own-qps", SUITE("region"), QPS("RC"), CLAUSE("ibv_wr_post/CONCURRENCY/lock"),
	 ASK("RDMA_WRITE"),
	 SAYS("each of five threads writes its own bytes through a QP of its own, and finds its own "
	      "completions")},
	{"threads", FORMS({"-own-domains", {{"spare", 1}}}, {"-many-domains", {{"spare", 80}}}),
	 CLAUSE("ibv_alloc_td/DESCRIPTION/locking"), LEVEL("SHOULD"), ERRATA("TD-LOCK"),
	 SAYS("each of five threads writes its own bytes through a QP of its own, and finds its own "
	      "completions; all but one have a thread domain of their own")},
	{},
};
