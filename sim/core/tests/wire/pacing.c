// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rate limits of raw QPs: when each frame leaves. Time stands still but for timers, so the times are exact. */
#include "fixture.h"

#define FRAMES 200u
#define SIZE   1500u
#define RATE   12000u /* kbit/s: SIZE takes a millisecond */

static struct {
	unsigned int n[2];
	hca_ps at[2][FRAMES]; /* of each sender: frames say theirs in the first byte */
} seen;

static enum untimed_fate note(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	unsigned int who = pkt->data[0];

	CU_ASSERT_FATAL(who < 2 && seen.n[who] < FRAMES);
	seen.at[who][seen.n[who]++] = untimed_now(fixture->u);
	return UNTIMED_DROP;
}

static void begin(struct pair *p)
{
	memset(&seen, 0, sizeof(seen));
	pair_new(p, HCASIM_QPT_RAW_PACKET, NULL, NULL, 0, 16384);
	memset(p->mem[0], 0, p->len);
	p->mem[0][8192] = 1;
	p->fixture->wire = note;
}

static int limit(struct fixture_qp *qp, uint32_t rate, uint32_t burst, uint32_t packet)
{
	const struct hca_qp_attr a = {.rate_limit = rate, .max_burst = burst, .typical_packet = packet};

	return hca_qp_modify(qp->fixture->hca[qp->side], qp->qpn, &a, HCASIM_QP_ATTR_RATE_LIMIT);
}

static void post(struct pair *p, struct fixture_qp *qp, unsigned int who, unsigned int n, uint32_t len)
{
	while (n--)
		fixture_send(qp, HCASIM_WQE_OP_SEND, 0, fixture_sge(p->mem[0] + who * 8192, len, p->key[0]),
			     0, 0);
	fixture_run(p->fixture);
}

/* `n` frames of QP 0 have left, the last of them `ps` after the first. */
static void expect(unsigned int n, hca_ps ps)
{
	CU_ASSERT_EQUAL_FATAL(seen.n[0], n);
	CU_ASSERT_EQUAL(seen.at[0][n - 1] - seen.at[0][0], ps);
}

static void rate(void)
{
	struct pair p;
	unsigned int i;

	begin(&p);
	CU_ASSERT_EQUAL(limit(p.qp[0], RATE, 0, 0), 0);
	post(&p, p.qp[0], 0, 50, SIZE);
	expect(1, 0);
	fixture_settle(p.fixture, 100 * MS);
	expect(50, 49 * MS);
	for (i = 1; i < 50; i++)
		CU_ASSERT_EQUAL(seen.at[0][i] - seen.at[0][i - 1], MS);
	/* A long pause saves nothing up, and each frame is paid for by its own size. */
	seen.n[0] = 0;
	post(&p, p.qp[0], 0, 2, SIZE * 2);
	post(&p, p.qp[0], 0, 2, SIZE / 2);
	fixture_settle(p.fixture, 100 * MS);
	expect(4, 4 * MS + MS / 2);
	pair_free(&p);
}

/* Who waits holds nobody up. */
static void others(void)
{
	struct fixture_qp *free_qp;
	struct pair p;
	unsigned int i;

	begin(&p);
	free_qp = fixture_qp(p.fixture, 0, HCASIM_QPT_RAW_PACKET, p.scq[0], p.rcq[0]);
	fixture_connect(free_qp, free_qp, NULL);
	CU_ASSERT_EQUAL(limit(p.qp[0], RATE, 0, 0), 0);
	post(&p, p.qp[0], 0, 60, SIZE);
	post(&p, free_qp, 1, 60, SIZE);
	CU_ASSERT_EQUAL(seen.n[0], 1);
	CU_ASSERT_EQUAL_FATAL(seen.n[1], 60);
	for (i = 0; i < 60; i++)
		CU_ASSERT_EQUAL(seen.at[1][i], seen.at[0][0]);
	pair_free(&p);
}

static void changed(void)
{
	struct pair p;

	begin(&p);
	CU_ASSERT_EQUAL(limit(p.qp[0], RATE, 0, 0), 0);
	post(&p, p.qp[0], 0, 60, SIZE);
	fixture_settle(p.fixture, 10 * MS + MS / 2);
	expect(11, 10 * MS);
	/* Half of a frame is still owed: at four times the rate it takes an eighth of a millisecond. */
	CU_ASSERT_EQUAL(limit(p.qp[0], 4 * RATE, 0, 0), 0);
	fixture_settle(p.fixture, MS + MS / 8);
	expect(16, 10 * MS + MS / 2 + MS / 8 + MS);
	/* Slower, and then not at all. */
	CU_ASSERT_EQUAL(limit(p.qp[0], RATE / 2, 0, 0), 0);
	fixture_settle(p.fixture, 3 * MS);
	expect(17, 13 * MS + MS / 8 + MS / 2);
	CU_ASSERT_EQUAL(limit(p.qp[0], 0, 0, 0), 0);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(seen.n[0], 60);
	CU_ASSERT_EQUAL(seen.at[0][17], seen.at[0][59]);
	pair_free(&p);
}

/* A burst of ten frames, and no more than the time since then is worth. */
static void bursts(void)
{
	struct pair p;

	begin(&p);
	CU_ASSERT_EQUAL(limit(p.qp[0], RATE, 10 * SIZE, SIZE), 0);
	post(&p, p.qp[0], 0, 20, SIZE);
	expect(10, 0);
	fixture_settle(p.fixture, 14 * MS);
	expect(20, 10 * MS);
	post(&p, p.qp[0], 0, 20,
	     SIZE); /* four milliseconds after the last: four, for one was owed, and one more later */
	expect(24, 14 * MS);
	fixture_settle(p.fixture, MS);
	expect(25, 15 * MS);
	pair_free(&p);
}

/* Without a typical size it is that of the port's longest frame. */
static void typical(void)
{
	struct pair p;

	begin(&p);
	CU_ASSERT_EQUAL(limit(p.qp[0], RATE, CORE_FRAME_MAX(4096) + 2 * SIZE, 0), 0);
	post(&p, p.qp[0], 0, 4, SIZE);
	expect(3, 0);
	fixture_settle(p.fixture, MS);
	expect(4, MS);
	pair_free(&p);
}

static void refused(void)
{
	struct hca_qp_attr now;
	struct pair p;

	begin(&p);
	CU_ASSERT_EQUAL(limit(p.qp[0], HCASIM_RATE_LIMIT_MIN, 0, 0), 0);
	CU_ASSERT_EQUAL(limit(p.qp[0], HCASIM_RATE_LIMIT_MIN - 1, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(limit(p.qp[0], HCASIM_RATE_LIMIT_MAX + 1, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(limit(p.qp[0], RATE, HCASIM_RATE_LIMIT_BURST + 1, 0), -EINVAL);
	CU_ASSERT_EQUAL(limit(p.qp[0], 0, SIZE, 0), -EINVAL);
	CU_ASSERT_EQUAL(limit(p.qp[0], 0, 0, SIZE), -EINVAL);
	CU_ASSERT_EQUAL(hca_qp_query(p.fixture->hca[0], p.qp[0]->qpn, &now), 0);
	CU_ASSERT_EQUAL(now.rate_limit, HCASIM_RATE_LIMIT_MIN);
	CU_ASSERT_EQUAL(limit(p.qp[0], HCASIM_RATE_LIMIT_MAX, HCASIM_RATE_LIMIT_BURST, 1), 0);
	pair_free(&p);
	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 16384);
	CU_ASSERT_EQUAL(limit(p.qp[0], RATE, 0, 0), -EINVAL);
	pair_free(&p);
}

/* RESET takes the limit away, and what is owed; a QP may be destroyed while it waits. */
static void ended(void)
{
	struct pair p;

	begin(&p);
	CU_ASSERT_EQUAL(limit(p.qp[0], 1000, 0, 0), 0);
	post(&p, p.qp[0], 0, 5, SIZE);
	CU_ASSERT_EQUAL(seen.n[0], 1);
	fixture_state(p.qp[0], HCASIM_QPS_RESET);
	fixture_connect(p.qp[0], p.qp[0], NULL);
	post(&p, p.qp[0], 0, 5, SIZE);
	CU_ASSERT_EQUAL(seen.n[0], 6);
	CU_ASSERT_EQUAL(limit(p.qp[0], 1000, 0, 0), 0);
	post(&p, p.qp[0], 0, 5, SIZE);
	fixture_settle(p.fixture, 12 * MS);
	CU_ASSERT_EQUAL(seen.n[0],
			8); /* a frame takes twelve milliseconds: what was owed before RESET is not */
	CU_ASSERT_EQUAL(hca_qp_destroy(p.fixture->hca[0], p.qp[0]->qpn), 0);
	fixture_settle(p.fixture, 1000 * MS);
	CU_ASSERT_EQUAL(seen.n[0], 8);
	pair_free(&p);
}

const struct test pacing_tests[] = {
	{"rate", rate},
	{"other queues", others},
	{"changed while sending", changed},
	{"bursts", bursts},
	{"typical size", typical},
	{"refused", refused},
	{"ended", ended},
	{NULL, NULL},
};
