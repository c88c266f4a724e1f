// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Several threads post to one QP while another polls: regions do not mix, nothing is lost, and under
 * ThreadSanitizer nothing races. The device is a thread that completes what the doorbell record says.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define POSTERS    3
#define REGIONS    2000
#define PER_REGION 3

static struct fixture fixture;
static atomic_uint polled;
static bool lists; /* every other region is a list of ibv_post_send instead */
static unsigned char seen[POSTERS][REGIONS * PER_REGION];

/* The same WRs as a list. */
static int post_list(uintptr_t me, int region)
{
	struct ibv_send_wr wr[PER_REGION], *bad;
	struct ibv_sge sge[PER_REGION];
	int i, err;

	for (i = 0; i < PER_REGION; i++) {
		sge[i] = (struct ibv_sge){.addr = region, .length = i, .lkey = me};
		wr[i] = (struct ibv_send_wr){
			.wr_id = me << 32 | (region * PER_REGION + i),
			.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.next = i + 1 < PER_REGION ? &wr[i + 1] : NULL,
		};
	}
	err = hcasim_post_send(fixture_qp(&fixture), wr, &bad);
	/* A list ends where the queue is full; the rest of it is posted when there is room again. */
	while (err == ENOMEM) {
		sched_yield();
		err = hcasim_post_send(fixture_qp(&fixture), bad, &bad);
	}
	return err;
}

static void *poster(void *arg)
{
	struct ibv_qp_ex *qpx = fixture_qpx(&fixture);
	uintptr_t me = (uintptr_t)arg;
	int region, i, err;

	for (region = 0; region < REGIONS;) {
		if (lists && (region + me) % 2) {
			if (post_list(me, region++))
				abort();
			continue;
		}
		ibv_wr_start(qpx);
		for (i = 0; i < PER_REGION; i++) {
			qpx->wr_id = me << 32 | (region * PER_REGION + i);
			qpx->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_send(qpx);
			ibv_wr_set_sge(qpx, me, region, i);
		}
		err = ibv_wr_complete(qpx);
		if (!err)
			region++;
		else if (err == ENOMEM)
			sched_yield();
		else
			abort();
	}
	return NULL;
}

/* Reads index and size from each WQE, as the device does, and completes it. */
static void *device(void *arg)
{
	uint32_t ci = 0, pi;

	while (ci != POSTERS * REGIONS * PER_REGION) {
		pi = le32toh(__atomic_load_n(&fixture.sq_record.sq_pi, __ATOMIC_ACQUIRE));
		if (pi == ci ||
		    fixture.cq_pi - le32toh(__atomic_load_n(&fixture.cq_record.ci, __ATOMIC_ACQUIRE)) >=
			    fixture.cq.entries) {
			sched_yield();
			continue;
		}
		struct hcasim_wqe_ctrl *ctrl =
			(void *)(fixture.qp.sq.ring + (ci & (fixture.qp.sq.num_bb - 1)) * 64);
		struct hcasim_cqe cqe = fixture_send_cqe(ci, 1, ctrl->opcode);

		if (le16toh(ctrl->index) != (uint16_t)ci || ctrl->size != 2)
			abort();
		fixture_cqe(&fixture, &cqe);
		ci++;
	}
	return NULL;
}

static void check_order(const struct ibv_wc *wc, uint64_t *last, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		uint32_t who = wc[i].wr_id >> 32, id = (uint32_t)wc[i].wr_id;

		if (wc[i].status || who >= POSTERS || id >= REGIONS * PER_REGION) {
			CU_FAIL("a completion of nothing");
			return;
		}
		seen[who][id]++;
		/* A region is not interrupted by another. */
		if (!lists && id % PER_REGION && *last != wc[i].wr_id - 1)
			CU_FAIL("regions mixed");
		*last = wc[i].wr_id;
	}
}

static void run_posting(void)
{
	struct fixture_config cfg = fixture_rc;
	pthread_t thread[POSTERS + 1];
	uint64_t last = UINT64_MAX;
	struct ibv_wc wc[16];
	uintptr_t i;
	int n, k;

	cfg.cqe = 32;
	cfg.no_bf = false;
	atomic_store(&polled, 0);
	memset(seen, 0, sizeof(seen));
	fixture_open(&fixture, &cfg);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[POSTERS], NULL, device, NULL), 0);
	for (i = 0; i < POSTERS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, poster, (void *)i), 0);
	while (atomic_load(&polled) < POSTERS * REGIONS * PER_REGION) {
		n = hcasim_poll_cq(&fixture.cq.vcq.cq, 16, wc);
		check_order(wc, &last, n);
		atomic_fetch_add(&polled, n);
		if (!n)
			sched_yield();
	}
	for (i = 0; i <= POSTERS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < POSTERS; i++)
		for (k = 0; k < REGIONS * PER_REGION; k++)
			if (seen[i][k] != 1)
				CU_FAIL("completed other than once");
	CU_ASSERT_EQUAL(atomic_load(&polled), POSTERS * REGIONS * PER_REGION);
	fixture_close(&fixture);
}

static void test_posting(void)
{
	lists = false;
	run_posting();
}

/* A list may be cut where the queue is full, a region never is: that one is not mixed with anything. */
static void test_both_interfaces(void)
{
	lists = true;
	run_posting();
}

/* Whoever took one of these would wait for ever. */
static void post_with_locks_held(void)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;
	struct ibv_recv_wr rwr = {}, *bad_recv;
	struct ibv_wc wc;

	pthread_mutex_lock(&fixture.qp.sq.lock);
	pthread_spin_lock(&fixture.qp.rq.lock);
	pthread_spin_lock(&fixture.cq.lock);
	CU_ASSERT_EQUAL(hcasim_post_send(fixture_qp(&fixture), &wr, &bad), 0);
	CU_ASSERT_EQUAL(hcasim_post_recv(fixture_qp(&fixture), &rwr, &bad_recv), 0);
	CU_ASSERT_EQUAL(hcasim_poll_cq(&fixture.cq.vcq.cq, 1, &wc), 0);
	ibv_wr_start(fixture_qpx(&fixture));
	ibv_wr_send(fixture_qpx(&fixture));
	CU_ASSERT_EQUAL(ibv_wr_complete(fixture_qpx(&fixture)), 0);
	pthread_spin_unlock(&fixture.cq.lock);
	pthread_spin_unlock(&fixture.qp.rq.lock);
	pthread_mutex_unlock(&fixture.qp.sq.lock);
}

/* With a thread domain nothing is locked: starting a region does not shut anyone out. */
static void test_no_locks(void)
{
	struct fixture_config cfg = fixture_rc;

	cfg.td = true;
	fixture_open(&fixture, &cfg);
	ibv_wr_start(fixture_qpx(&fixture));
	CU_ASSERT_EQUAL(pthread_mutex_trylock(&fixture.qp.sq.lock), 0);
	pthread_mutex_unlock(&fixture.qp.sq.lock);
	ibv_wr_abort(fixture_qpx(&fixture));
	post_with_locks_held();
	fixture_close(&fixture);

	cfg.td = false;
	fixture_open(&fixture, &cfg);
	ibv_wr_start(fixture_qpx(&fixture));
	CU_ASSERT_EQUAL(pthread_mutex_trylock(&fixture.qp.sq.lock), EBUSY);
	CU_ASSERT_EQUAL(ibv_wr_complete(fixture_qpx(&fixture)), 0);
	CU_ASSERT_EQUAL(pthread_mutex_trylock(&fixture.qp.sq.lock), 0);
	pthread_mutex_unlock(&fixture.qp.sq.lock);
	fixture_close(&fixture);
}

int main(void)
{
	static const struct fixture_test tests[] = {
		{"several posters, one poller", test_posting},
		{"ibv_post_send between regions", test_both_interfaces},
		{"no locks with a thread domain", test_no_locks},
		{},
	};

	return fixture_main("threads", tests);
}
