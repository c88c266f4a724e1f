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

#define THREADS 4
#define ROUNDS  150
#define MOST    96 /* bytes of a request */
#define ACCESS  (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

struct hand {
	struct kit *k;
	struct own own;
	unsigned int id;
	struct ibv_mr *mr;
	uint8_t *to; /* where its requests write, and a guard byte */
	pthread_barrier_t *barrier;
	int rc;
	unsigned int round;       /* of the failure */
	enum ibv_wc_status status;
	const char *failed;
};

static uint8_t byte_of(const struct hand *h, unsigned int round, unsigned int at)
{
	return (uint8_t)(h->id * 61 + round * 7 + at * 3 + 1);
}

/* The lengths of a thread's requests differ, so that those of two threads that push at a time do. */
static unsigned int length_of(const struct hand *h, unsigned int round)
{
	return 1 + (round * 13 + h->id * 31) % MOST;
}

static int post(struct hand *h, unsigned int round)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(h->own.qp);
	const unsigned int length = length_of(h, round);
	uint8_t bytes[MOST];

	for (unsigned int i = 0; i < length; i++)
		bytes[i] = byte_of(h, round, i);
	memset(h->to, 0, MOST + 1);
	ibv_wr_start(qpx);
	qpx->wr_id = (uint64_t)h->id << 32 | round;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qpx, h->mr->rkey, (uintptr_t)h->to);
	ibv_wr_set_inline_data(qpx, bytes, length);
	return ibv_wr_complete(qpx);
}

static const char *judge(struct hand *h, unsigned int round)
{
	struct watchdog limit = watchdog(h->k->r->dut.timeout_ms);
	const unsigned int length = length_of(h, round);
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(h->own.send_cq, 1, &wc);
	while (!n && !watchdog_expired(&limit));
	if (n != 1)
		return n ? "polling failed" : "its CQE did not come";
	h->status = wc.status;
	if (wc.status || wc.wr_id != ((uint64_t)h->id << 32 | round) || wc.qp_num != h->own.qp->qp_num)
		return wc.status ? "it completed in error" : "its completion is another one's";
	for (unsigned int i = 0; i <= MOST; i++)
		if (h->to[i] != (i < length ? byte_of(h, round, i) : 0))
			return "other bytes than its own were written";
	return NULL;
}

static void *work(void *arg)
{
	struct hand *h = arg;

	pthread_barrier_wait(h->barrier);
	for (h->round = 0; h->round < ROUNDS; h->round++) {
		h->rc = post(h, h->round);
		h->failed = h->rc ? "it was refused" : judge(h, h->round);
		if (h->failed)
			break;
	}
	return NULL;
}

static bool begin(struct kit *k, struct hand *h, struct ibv_mr *mr, uint8_t *to)
{
	h->k = k;
	h->mr = mr;
	h->to = to;
	h->own.to_itself = true;
	h->own.init.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	h->own.init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
	h->own.init.cap = (struct ibv_qp_cap){4, 1, 1, 1, MOST};
	return own_create(k, &h->own, IBV_QPT_RC) && own_reach(k, &h->own, IBV_QPS_RTS);
}

static void run(struct kit *k, struct hand *h)
{
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (unsigned int i = 0; i < THREADS; i++) {
		h[i].barrier = &barrier;
		h[i].id = i;
		pthread_create(&threads[i], NULL, work, &h[i]);
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	for (unsigned int i = 0; i < THREADS; i++)
		KIT_CHECK(k, !h[i].failed, "thread %u, request %u: %s (%s)", i, h[i].round, h[i].failed,
			  h[i].rc ? errno_name(h[i].rc) : value_name(status_names, h[i].status));
}

static void threads_own_qps(struct kit *k)
{
	struct ibv_pd *pd = k->r->dut.requester.pd;
	const size_t each = 2 * (size_t)MOST;
	uint8_t *bytes = end_alloc(pd, THREADS * each);
	struct ibv_mr *mr = bytes ? ibv_reg_mr(pd, bytes, THREADS * each, ACCESS) : NULL;
	struct hand h[THREADS] = {0};

	if (!mr)
		KIT_FAULT(k, "memory of the case: %s", errno_name(errno));
	for (unsigned int i = 0; i < THREADS && KIT_GOOD(k); i++)
		begin(k, &h[i], mr, bytes + i * each);
	log_call(&k->res->log,
		 "/* %d threads, each %d times on its own QP: ibv_wr_start(); ibv_wr_rdma_write(); "
		 "ibv_wr_set_inline_data(); ibv_wr_complete() */",
		 THREADS, ROUNDS);
	if (KIT_GOOD(k))
		run(k, h);
	for (unsigned int i = 0; i < THREADS; i++)
		own_destroy(&h[i].own);
	if (mr)
		ibv_dereg_mr(mr);
	end_free(bytes);
}

const struct scenario crew_scenarios[] = {
	{"threads_own_qps", threads_own_qps},
	{NULL, NULL},
};
