/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Several threads on one receive queue and one CQ, without a thread domain: the provider locks. No receive is lost or
 * posted twice, and each completion is given to one thread.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "judge/watchdog.h"
#include "suites/objects/own.h"

#define THREADS   2
#define NUM_POSTS 1000 /* of each thread */
#define TOTAL     (THREADS * NUM_POSTS)
#define LOT       10 /* messages that are sent at a time */

struct queue {
	struct kit *k;
	struct own o;
	struct ibv_srq *srq;
	atomic_uint waiting;             /* threads that are not there yet */
	atomic_uint taken, times[TOTAL]; /* completions, of each receive */
};

struct hand {
	struct queue *q;
	unsigned int id;
	int rc;
	const char *failed;
};

/* Threads go on at the same time, as nearly as that can be: they do not sleep here. */
static void gate(struct queue *q)
{
	atomic_fetch_sub(&q->waiting, 1);
	while (atomic_load(&q->waiting))
		sched_yield();
}

static void *post_receives(void *arg)
{
	struct hand *h = arg;
	struct queue *q = h->q;

	gate(q);
	for (unsigned int i = 0; i < NUM_POSTS && !h->rc; i++) {
		struct ibv_recv_wr wr = {.wr_id = h->id * NUM_POSTS + i}, *bad;

		h->rc = q->srq ? ibv_post_srq_recv(q->srq, &wr, &bad) : ibv_post_recv(q->o.qp, &wr, &bad);
	}
	return NULL;
}

static const char *take(struct queue *q, enum ibv_wc_status status, uint64_t wr_id)
{
	if (status || wr_id >= TOTAL)
		return status ? "a receive completed in error" : "a completion has a wr_id of no receive";
	atomic_fetch_add(&q->times[wr_id], 1);
	atomic_fetch_add(&q->taken, 1);
	return NULL;
}

/* One thread in two uses the calls of extended CQs. */
static const char *poll_once(struct queue *q, bool extended, bool *some)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)q->o.recv_cq; /* begins with a struct ibv_cq */
	struct ibv_poll_cq_attr attr = {0};
	const char *failed = NULL;
	struct ibv_wc wc[2];
	int n;

	if (extended) {
		n = ibv_start_poll(cq, &attr);
		*some = !n;
		for (; !n && !failed; n = ibv_next_poll(cq))
			failed = take(q, cq->status, cq->wr_id);
		if (*some)
			ibv_end_poll(cq);
		return failed ? failed : n == ENOENT ? NULL : "ibv_start_poll() or ibv_next_poll() failed";
	}
	n = ibv_poll_cq(q->o.recv_cq, 2, wc);
	*some = n > 0;
	for (int i = 0; i < n && !failed; i++)
		failed = take(q, wc[i].status, wc[i].wr_id);
	return n < 0 ? "ibv_poll_cq() failed" : failed;
}

static void *poll_receives(void *arg)
{
	struct hand *h = arg;
	struct queue *q = h->q;
	struct watchdog limit = watchdog(q->k->r->dut.timeout_ms);
	unsigned int before = 0;
	bool some;

	gate(q);
	while (atomic_load(&q->taken) < TOTAL && !h->failed && !watchdog_expired(&limit)) {
		h->failed = poll_once(q, h->id & 1, &some);
		if (atomic_load(&q->taken) != before) {
			before = atomic_load(&q->taken);
			limit = watchdog(q->k->r->dut.timeout_ms);
		}
	}
	return NULL;
}

static void *send_messages(void *arg)
{
	struct hand *h = arg;
	struct queue *q = h->q;
	struct watchdog limit;
	struct ibv_wc wc;
	int n;

	gate(q);
	for (unsigned int sent = 0; sent < TOTAL && !h->rc && !h->failed; sent += LOT) {
		for (unsigned int i = 0; i < LOT && !h->rc; i++) {
			struct ibv_send_wr wr = kit_wr(sent + i, IBV_WR_SEND, NULL), *bad;

			wr.send_flags = i + 1 == LOT ? IBV_SEND_SIGNALED : 0;
			h->rc = ibv_post_send(q->o.qp, &wr, &bad);
		}
		limit = watchdog(q->k->r->dut.timeout_ms);
		do
			n = h->rc ? 1 : ibv_poll_cq(q->o.send_cq, 1, &wc);
		while (!n && !watchdog_expired(&limit));
		if (n != 1 || (!h->rc && wc.status))
			h->failed = "a message was not sent";
	}
	return NULL;
}

/* All do it at a time; one more sends, if there is a function for that. */
static void together(struct kit *k, struct queue *q, void *(*what)(void *), void *(*send)(void *))
{
	const unsigned int num = send ? THREADS + 1 : THREADS;
	struct hand h[THREADS + 1] = {0};
	pthread_t threads[THREADS + 1];

	atomic_store(&q->waiting, num);
	for (unsigned int i = 0; i < num; i++) {
		h[i].q = q;
		h[i].id = i;
		pthread_create(&threads[i], NULL, i < THREADS ? what : send, &h[i]);
	}
	for (unsigned int i = 0; i < num; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < num; i++) {
		KIT_CHECK(k, !h[i].rc, "thread %u: posting was refused with %s", i, errno_name(h[i].rc));
		KIT_CHECK(k, !h[i].failed, "thread %u: %s", i, h[i].failed);
	}
}

static bool begin(struct kit *k, struct queue *q)
{
	const struct end *end = &k->r->dut.requester;
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = TOTAL, .max_sge = 1}};
	struct ibv_cq_init_attr_ex attr = {.cqe = TOTAL + 2 * LOT, .wc_flags = IBV_WC_STANDARD_FLAGS};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(end->ctx, &attr);

	q->k = k;
	q->o = (struct own){.to_itself = true, .init = {.qp_type = IBV_QPT_RC}};
	q->o.init.cap = (struct ibv_qp_cap){2 * LOT, TOTAL, 1, 1, 0};
	q->o.recv_cq = cq ? ibv_cq_ex_to_cq(cq) : NULL;
	q->o.send_cq = ibv_create_cq(end->ctx, 2 * LOT, NULL, NULL, 0);
	if (kit_arg(k, "srq", 0))
		q->srq = q->o.init.srq = ibv_create_srq(end->pd, &srq);
	if (!q->o.recv_cq || !q->o.send_cq || (kit_arg(k, "srq", 0) && !q->srq)) {
		KIT_FAULT(k, "CQs or SRQ: %s", errno_name(errno));
		return false;
	}
	return own_create_qp(k, &q->o) && own_reach(k, &q->o, IBV_QPS_RTS);
}

static void judge(struct kit *k, struct queue *q)
{
	unsigned int times;

	for (unsigned int i = 0; i < TOTAL; i++) {
		times = atomic_load(&q->times[i]);
		KIT_CHECK(k, times == 1, "receive %u of thread %u completed %u times", i % NUM_POSTS,
			  i / NUM_POSTS, times);
	}
}

static void threads_one_queue(struct kit *k)
{
	static struct queue q;

	q = (struct queue){0};
	log_call(&k->res->log, "/* %d threads, each %d times: ibv_post%s_recv(); then all poll the CQ */",
		 THREADS, NUM_POSTS, kit_arg(k, "srq", 0) ? "_srq" : "");
	if (begin(k, &q)) {
		together(k, &q, post_receives, NULL);
		if (KIT_GOOD(k))
			together(k, &q, poll_receives, send_messages);
		if (KIT_GOOD(k))
			judge(k, &q);
	}
}

SCENARIO(threads_one_queue) = {
	{"threads-one-rq", SUITE("region"), QPS("RC"), CLAUSE("ibv_alloc_td/DESCRIPTION/locking"),
	 LEVEL("SHOULD"), ERRATA("TD-LOCK"), ASK("RDMA_WRITE"),
	 SAYS("receives that several threads post to one queue are all there, and each completion is "
	      "polled by one of them")},
	{"threads-one-srq", ARGS({"srq", 1}), NEEDS("srq")},
	{},
};
