/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Many threads post at once; every work request is executed once and completed once, and its data is
 * where it should be. Three ways, as ibv_post_send(3), ibv_wr_post(3) and ibv_alloc_td(3) allow:
 * all threads on one QP, a QP each, and a QP each in a thread domain, which the provider does not lock.
 * Started by `hcasim run`; also built with ThreadSanitizer. With an argument, shared, own or td: only this way.
 */
#include "link.h"

#include <CUnit/Basic.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define THREADS 4
#define WRS     500 /* for each thread */

enum way { SHARED_QP, OWN_QP, OWN_TD };

struct queue {
	struct ibv_td *td;
	struct ibv_pd *domain;
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	atomic_int credits; /* free slots of the send queue */
};

struct test {
	struct link link;
	struct queue queue[THREADS];
	atomic_int completed[THREADS * WRS];
	atomic_int remaining; /* completions still to come */
};

struct thread {
	pthread_t id;
	struct test *test;
	struct queue *queue;
	int number;
};

/* WR `n` writes the eight bytes at n * 8 of the one buffer to the same place of the other. */
static void post_old(struct test *t, struct queue *q, uint64_t n)
{
	struct ibv_sge sge = {(uintptr_t)t->link.buf[0] + n * 8, 8, t->link.mr[0]->lkey};
	struct ibv_send_wr *bad, wr = {
					 .wr_id = n,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_RDMA_WRITE,
					 .send_flags = IBV_SEND_SIGNALED,
					 .wr.rdma = {(uintptr_t)t->link.buf[1] + n * 8, t->link.mr[1]->rkey},
				 };

	CHECK(!(errno = ibv_post_send(q->qp[0], &wr, &bad)));
}

static void post_new(struct test *t, struct queue *q, uint64_t n)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(q->qp[0]);

	ibv_wr_start(qpx);
	qpx->wr_id = n;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qpx, t->link.mr[1]->rkey, (uintptr_t)t->link.buf[1] + n * 8);
	if (n & 2)
		ibv_wr_set_inline_data(qpx, t->link.buf[0] + n * 8, 8);
	else
		ibv_wr_set_sge(qpx, t->link.mr[0]->lkey, (uintptr_t)t->link.buf[0] + n * 8, 8);
	CHECK(!(errno = ibv_wr_complete(qpx)));
}

static bool take_credit(struct queue *q)
{
	if (atomic_fetch_sub(&q->credits, 1) > 0)
		return true;
	atomic_fetch_add(&q->credits, 1);
	return false;
}

static void reap(struct test *t, struct queue *q)
{
	uint64_t n;

	if (!link_poll(q->cq[0], &n))
		return;
	CHECK(n < THREADS * WRS);
	atomic_fetch_add(&t->completed[n], 1);
	atomic_fetch_sub(&t->remaining, 1);
	atomic_fetch_add(&q->credits, 1);
}

static void *post_all(void *arg)
{
	struct thread *me = arg;
	struct test *t = me->test;

	for (int i = 0; i < WRS;) {
		if (take_credit(me->queue)) {
			uint64_t n = me->number * WRS + i++;

			(n & 1 ? post_new : post_old)(t, me->queue, n);
		}
		reap(t, me->queue);
	}
	while (atomic_load(&t->remaining))
		reap(t, me->queue);
	return NULL;
}

static void open_queue(struct test *t, struct queue *q, bool thread_domain)
{
	struct ibv_td_init_attr td = {0};
	struct ibv_parent_domain_init_attr domain = {.pd = t->link.pd[0]};

	if (thread_domain) {
		q->td = ibv_alloc_td(t->link.ctx[0], &td);
		CHECK(q->td);
		domain.td = q->td;
		q->domain = ibv_alloc_parent_domain(t->link.ctx[0], &domain);
		CHECK(q->domain);
	}
	for (int end = 0; end < 2; end++) {
		q->cq[end] = link_create_cq(&t->link, end, LINK_SQ_DEPTH);
		q->qp[end] = link_create_qp(&t->link, end, q->cq[end], end ? NULL : q->domain);
	}
	link_connect(&t->link, q->qp);
	q->credits = LINK_SQ_DEPTH;
}

static void close_queue(struct queue *q)
{
	for (int end = 0; end < 2; end++) {
		CU_ASSERT_EQUAL(ibv_destroy_qp(q->qp[end]), 0);
		CU_ASSERT_EQUAL(ibv_destroy_cq(q->cq[end]), 0);
	}
	if (q->domain)
		CU_ASSERT_EQUAL(ibv_dealloc_pd(q->domain), 0);
	if (q->td)
		CU_ASSERT_EQUAL(ibv_dealloc_td(q->td), 0);
}

static void run_threads(struct test *t, int queues)
{
	struct thread thread[THREADS];

	for (int i = 0; i < THREADS; i++) {
		thread[i] = (struct thread){.test = t, .queue = &t->queue[i % queues], .number = i};
		CHECK(!(errno = pthread_create(&thread[i].id, NULL, post_all, &thread[i])));
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i].id, NULL);
}

static void check(struct test *t)
{
	int once = 0;

	for (int n = 0; n < THREADS * WRS; n++)
		once += t->completed[n] == 1;
	CU_ASSERT_EQUAL(once, THREADS * WRS);
	CU_ASSERT_EQUAL(memcmp(t->link.buf[0], t->link.buf[1], t->link.size), 0);
}

static void run(enum way way)
{
	static struct test t;
	int queues = way == SHARED_QP ? 1 : THREADS;

	memset(&t, 0, sizeof(t));
	t.remaining = THREADS * WRS;
	link_open(&t.link, THREADS * WRS * 8);
	for (uint64_t n = 0; n < THREADS * WRS; n++)
		memcpy(t.link.buf[0] + n * 8, &(uint64_t){n * 0x9e3779b97f4a7c15 + 1}, 8);
	for (int i = 0; i < queues; i++)
		open_queue(&t, &t.queue[i], way == OWN_TD);
	run_threads(&t, queues);
	check(&t);
	for (int i = 0; i < queues; i++)
		close_queue(&t.queue[i]);
	link_close(&t.link);
}

static void threads_share_a_qp(void)
{
	run(SHARED_QP);
}

static void threads_with_a_qp_each(void)
{
	run(OWN_QP);
}

static void threads_with_a_thread_domain_each(void)
{
	run(OWN_TD);
}

int main(int argc, char **argv)
{
	unsigned int failures;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	CU_pSuite suite = CU_add_suite("mt_post", NULL, NULL);

	if (argc == 1 || !strcmp(argv[1], "shared"))
		CU_ADD_TEST(suite, threads_share_a_qp);
	if (argc == 1 || !strcmp(argv[1], "own"))
		CU_ADD_TEST(suite, threads_with_a_qp_each);
	if (argc == 1 || !strcmp(argv[1], "td"))
		CU_ADD_TEST(suite, threads_with_a_thread_domain_each);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures != 0;
}
