// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queues in use: filled, drained, reset, resized, destroyed under their completions. Needs an adapter. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "live.h"

static const struct ibv_qp_cap cap = {8, 8, 2, 2, 64};

/* Unsignalled WRs up to the limit; the one signalled completion gives all of them back. */
static void test_fill(void)
{
	struct ibv_wc wc[2];
	struct live l;
	int turn, i;

	live_open(&l, &cap, 16);
	for (turn = 0; turn < 50; turn++) {
		for (i = 0; i < 7; i++)
			CU_ASSERT_EQUAL(live_write(&l, l.qp, i, 64, 0), 0);
		CU_ASSERT_EQUAL(live_write(&l, l.qp, 100 + turn, 64, IBV_SEND_SIGNALED), 0);
		if (!turn)
			CU_ASSERT_EQUAL(live_write(&l, l.qp, 0, 64, 0), ENOMEM);
		CU_ASSERT_EQUAL_FATAL(live_poll(l.cq, 1, wc), 1);
		CU_ASSERT_EQUAL(wc[0].wr_id, 100 + turn);
		CU_ASSERT_EQUAL(wc[0].status, IBV_WC_SUCCESS);
	}
	live_close(&l);
}

/* One region of several operations, data by each setter, over many turns of the ring. */
static void test_region(void)
{
	uint8_t *half;
	struct ibv_qp_ex *qpx;
	struct ibv_wc wc[8];
	struct ibv_sge sge[2];
	struct live l;
	int turn;

	live_open(&l, &cap, 16);
	half = l.buf + LIVE_SIZE / 2;
	qpx = ibv_qp_to_qp_ex(l.qp);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qpx);
	for (turn = 1; turn < 60; turn++) {
		memset(half, 0, 4096);
		memset(l.buf, turn, 4096);
		sge[0] = (struct ibv_sge){(uintptr_t)l.buf, 5, l.mr->lkey};
		sge[1] = (struct ibv_sge){(uintptr_t)l.buf + 100, 7, l.mr->lkey};
		ibv_wr_start(qpx);
		qpx->wr_flags = IBV_SEND_SIGNALED;
		qpx->wr_id = 1;
		ibv_wr_rdma_write(qpx, l.mr->rkey, (uintptr_t)half);
		ibv_wr_set_sge_list(qpx, 2, sge);
		qpx->wr_id = 2;
		ibv_wr_rdma_write(qpx, l.mr->rkey, (uintptr_t)half + 100);
		ibv_wr_set_inline_data(qpx, l.buf, turn);
		qpx->wr_id = 3;
		ibv_wr_rdma_write(qpx, l.mr->rkey, (uintptr_t)half + 200);
		CU_ASSERT_EQUAL_FATAL(ibv_wr_complete(qpx), 0);
		CU_ASSERT_EQUAL_FATAL(live_poll(l.cq, 3, wc), 3);
		CU_ASSERT_TRUE(wc[0].wr_id == 1 && wc[1].wr_id == 2 && wc[2].wr_id == 3);
		CU_ASSERT_TRUE(!wc[0].status && !wc[1].status && !wc[2].status);
		CU_ASSERT_TRUE(half[0] == turn && half[11] == turn && !half[12]);
		CU_ASSERT_TRUE(half[100] == turn && half[100 + turn - 1] == turn && !half[100 + turn] &&
			       !half[200]);
	}
	live_close(&l);
}

/* In ERR everything is flushed, in order; RESET takes away what was not polled, and the QP works again. */
static void test_reset(void)
{
	struct ibv_recv_wr rwr = {}, *rbad;
	struct ibv_wc wc[16];
	struct live l;
	int turn, i;

	live_open(&l, &cap, 32);
	for (turn = 0; turn < 5; turn++) {
		live_modify(l.qp, IBV_QPS_ERR);
		for (i = 0; i < 4; i++) {
			CU_ASSERT_EQUAL(live_write(&l, l.qp, 10 + i, 8, 0), 0);
			rwr.wr_id = 20 + i;
			CU_ASSERT_EQUAL(ibv_post_recv(l.qp, &rwr, &rbad), 0);
		}
		if (turn % 2) {
			CU_ASSERT_EQUAL_FATAL(live_poll(l.cq, 3, wc), 3);
			for (i = 0; i < 3; i++)
				CU_ASSERT_EQUAL(wc[i].status, IBV_WC_WR_FLUSH_ERR);
		}
		live_modify(l.qp, IBV_QPS_RESET);
		CU_ASSERT_EQUAL(ibv_poll_cq(l.cq, 16, wc), 0);
		live_connect(l.qp);
		l.buf[0] = turn + 1;
		CU_ASSERT_EQUAL(live_write(&l, l.qp, 99, 8, IBV_SEND_SIGNALED), 0);
		CU_ASSERT_EQUAL_FATAL(live_poll(l.cq, 1, wc), 1);
		CU_ASSERT_EQUAL(wc[0].wr_id, 99);
		CU_ASSERT_EQUAL(wc[0].status, IBV_WC_SUCCESS);
		CU_ASSERT_EQUAL(l.buf[LIVE_SIZE / 2], turn + 1);
	}
	live_close(&l);
}

/* A QP goes while its completions stand among another's. */
static void test_destroy(void)
{
	struct ibv_wc wc[16];
	struct ibv_qp *other;
	struct live l;
	int turn, i, n;

	live_open(&l, &cap, 8);
	for (turn = 0; turn < 9; turn++) {
		other = live_create_qp(&l, l.pd, &cap);
		live_connect(other);
		for (i = 0; i < 3; i++) {
			CU_ASSERT_EQUAL(live_write(&l, l.qp, 50 + i, 8, IBV_SEND_SIGNALED), 0);
			CU_ASSERT_EQUAL(live_write(&l, other, 60 + i, 8, IBV_SEND_SIGNALED), 0);
		}
		CU_ASSERT_EQUAL(ibv_destroy_qp(other), 0);
		n = live_poll(l.cq, 3, wc);
		for (i = 0; i < n; i++) {
			CU_ASSERT_EQUAL(wc[i].wr_id, 50 + i);
			CU_ASSERT_EQUAL(wc[i].qp_num, l.qp->qp_num);
		}
		CU_ASSERT_EQUAL(ibv_poll_cq(l.cq, 16, wc), 0);
	}
	live_close(&l);
}

static void test_resize(void)
{
	static const int sizes[] = {64, 8, 300, 6, 1000, 16};
	struct ibv_wc wc[16];
	struct live l;
	size_t s;
	int i;

	live_open(&l, &cap, 16);
	for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		for (i = 0; i < 5; i++)
			CU_ASSERT_EQUAL(live_write(&l, l.qp, s * 10 + i, 8, IBV_SEND_SIGNALED), 0);
		/* A sixth, polled, so that the five are known to be there. */
		CU_ASSERT_EQUAL(live_write(&l, l.qp, s * 10 + 5, 8, IBV_SEND_SIGNALED), 0);
		CU_ASSERT_EQUAL_FATAL(live_poll(l.cq, 1, wc), 1);
		CU_ASSERT_EQUAL(ibv_resize_cq(l.cq, sizes[s]), 0);
		CU_ASSERT_TRUE(l.cq->cqe >= sizes[s]);
		CU_ASSERT_EQUAL_FATAL(live_poll(l.cq, 5, wc), 5);
		for (i = 0; i < 5; i++)
			CU_ASSERT_EQUAL(wc[i].wr_id, s * 10 + 1 + i);
	}
	for (i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(live_write(&l, l.qp, i, 8, IBV_SEND_SIGNALED), 0);
	CU_ASSERT_EQUAL_FATAL(live_poll(l.cq, 2, wc), 2);
	CU_ASSERT_EQUAL(ibv_resize_cq(l.cq, 0), EINVAL);
	CU_ASSERT_EQUAL_FATAL(live_poll(l.cq, 3, wc), 3);
	live_close(&l);
}

static void test_timestamps(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 16,
		.wc_flags =
			IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct ibv_values_ex before = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK}, after = before;
	struct ibv_poll_cq_attr poll = {};
	struct timespec wall0, wall1;
	struct ibv_cq *plain;
	struct ibv_cq_ex *cqx;
	uint64_t ts, wall;
	struct live l;

	live_open(&l, NULL, 4);
	cqx = ibv_create_cq_ex(live_ctx, &attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cqx);
	plain = l.cq;
	l.cq = ibv_cq_ex_to_cq(cqx);
	l.qp = live_create_qp(&l, l.pd, &cap);
	live_connect(l.qp);

	clock_gettime(CLOCK_REALTIME, &wall0);
	CU_ASSERT_EQUAL(ibv_query_rt_values_ex(live_ctx, &before), 0);
	CU_ASSERT_EQUAL(live_write(&l, l.qp, 5, 8, IBV_SEND_SIGNALED), 0);
	while (ibv_start_poll(cqx, &poll))
		sched_yield();
	CU_ASSERT_EQUAL(ibv_query_rt_values_ex(live_ctx, &after), 0);
	clock_gettime(CLOCK_REALTIME, &wall1);
	ts = ibv_wc_read_completion_ts(cqx);
	wall = ibv_wc_read_completion_wallclock_ns(cqx);
	CU_ASSERT_EQUAL(cqx->wr_id, 5);
	CU_ASSERT_TRUE(ts >= (uint64_t)before.raw_clock.tv_nsec && ts <= (uint64_t)after.raw_clock.tv_nsec);
	/* The two clocks need not run alike, but what happened between two readings of both lies between them. */
	CU_ASSERT_TRUE(wall <= wall1.tv_sec * 1000000000ull + wall1.tv_nsec);
	CU_ASSERT_TRUE(wall + 1000000000ull > wall0.tv_sec * 1000000000ull + wall0.tv_nsec);
	ibv_end_poll(cqx);
	live_close(&l);
	CU_ASSERT_EQUAL(ibv_destroy_cq(plain), 0);
}

/* Armed before the work: one event, and none after it until armed again. */
static void test_events(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(live_ctx);
	struct ibv_cq *plain, *cq;
	struct ibv_wc wc;
	struct live l;
	void *cookie;
	int turn;

	CU_ASSERT_PTR_NOT_NULL_FATAL(channel);
	live_open(&l, NULL, 4);
	plain = l.cq;
	l.cq = ibv_create_cq(live_ctx, 16, &l, channel, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(l.cq);
	l.qp = live_create_qp(&l, l.pd, &cap);
	live_connect(l.qp);
	for (turn = 0; turn < 20; turn++) {
		CU_ASSERT_EQUAL(ibv_req_notify_cq(l.cq, 0), 0);
		CU_ASSERT_EQUAL(live_write(&l, l.qp, turn, 8, IBV_SEND_SIGNALED), 0);
		CU_ASSERT_EQUAL_FATAL(ibv_get_cq_event(channel, &cq, &cookie), 0);
		CU_ASSERT_PTR_EQUAL(cq, l.cq);
		CU_ASSERT_PTR_EQUAL(cookie, &l);
		ibv_ack_cq_events(cq, 1);
		CU_ASSERT_EQUAL_FATAL(live_poll(l.cq, 1, &wc), 1);
		CU_ASSERT_EQUAL(wc.wr_id, turn);
	}
	live_close(&l);
	CU_ASSERT_EQUAL(ibv_destroy_cq(plain), 0);
	CU_ASSERT_EQUAL(ibv_destroy_comp_channel(channel), 0);
}

struct poster {
	struct live l;
	uint8_t tag;
	int bad;
};

/* Every WR is one that is pushed; all QPs of the context share the push buffers. */
static void *post_many(void *arg)
{
	struct poster *p = arg;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 300; i++) {
		memset(p->l.buf, p->tag + i, 32);
		if (live_write(&p->l, p->l.qp, i, 32, IBV_SEND_SIGNALED | IBV_SEND_INLINE))
			p->bad++;
		while (!ibv_poll_cq(p->l.cq, 1, &wc))
			sched_yield();
		if (wc.status || wc.wr_id != (uint64_t)i || memcmp(p->l.buf, p->l.buf + LIVE_SIZE / 2, 32))
			p->bad++;
	}
	return NULL;
}

static void test_shared_push(void)
{
	struct poster p[3] = {};
	pthread_t thread[3];
	int i;

	for (i = 0; i < 3; i++) {
		live_open(&p[i].l, &cap, 16);
		p[i].tag = i * 80;
	}
	for (i = 0; i < 3; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, post_many, &p[i]), 0);
	for (i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		CU_ASSERT_EQUAL(p[i].bad, 0);
		live_close(&p[i].l);
	}
}

static void test_rereg(void)
{
	struct ibv_wc wc;
	struct live l;

	live_open(&l, &cap, 16);
	CU_ASSERT_EQUAL(ibv_rereg_mr(l.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
			0);
	CU_ASSERT_EQUAL(live_write(&l, l.qp, 1, 8, IBV_SEND_SIGNALED), 0);
	CU_ASSERT_EQUAL_FATAL(live_poll(l.cq, 1, &wc), 1);
	/* Refused as responder, the same QP may be in error before it hears so as requester. */
	CU_ASSERT_TRUE(wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_WR_FLUSH_ERR);
	live_modify(l.qp, IBV_QPS_RESET);
	live_connect(l.qp);
	CU_ASSERT_EQUAL(ibv_rereg_mr(l.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
			0);
	CU_ASSERT_EQUAL(live_write(&l, l.qp, 1, 8, IBV_SEND_SIGNALED), 0);
	CU_ASSERT_EQUAL_FATAL(live_poll(l.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	live_close(&l);
}

int main(void)
{
	static const struct live_test tests[] = {
		{"full queues", test_fill},
		{"regions", test_region},
		{"error, reset, again", test_reset},
		{"destroyed among others", test_destroy},
		{"resized CQ", test_resize},
		{"timestamps", test_timestamps},
		{"events", test_events},
		{"shared push buffers", test_shared_push},
		{"re-registered region", test_rereg},
		{},
	};

	return live_main("traffic", tests);
}
