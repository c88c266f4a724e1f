// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues: arm, overrun, resize; the event queue behind them. */
#include "fixture.h"

static void sends(struct pair *p, unsigned int n, uint32_t flags)
{
	while (n--) {
		struct hca_sge sge = fixture_sge(p->mem[1], 64, p->key[1]);

		fixture_recv(p->qp[1], &sge, 1);
		fixture_send(p->qp[0], HCASIM_WQE_OP_SEND, flags, fixture_sge(p->mem[0], 64, p->key[0]), 0,
			     0);
	}
	fixture_run(p->fixture);
}

static unsigned int num_events(struct pair *p)
{
	return fixture_events(p->fixture, 1, HCASIM_EQE_TYPE_COMP, p->rcq[1]->cqn);
}

static void poll_all(struct fixture_cq *cq)
{
	struct tiny_cqe c;

	while (fixture_poll(cq, &c))
		;
	fixture_cq_sync(cq);
}

static void arm_once(void)
{
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	sends(&p, 1, 0);
	CU_ASSERT_EQUAL(num_events(&p), 0); /* not armed */
	poll_all(p.rcq[1]);
	fixture_arm(p.rcq[1], 0, false);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(num_events(&p), 0);
	sends(&p, 3, 0);
	CU_ASSERT_EQUAL(num_events(&p), 1); /* one event for one arm */
	CU_ASSERT_EQUAL(p.fixture->irqs[1], 1);
	fixture_arm(p.rcq[1], 0, false); /* an old arm */
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(num_events(&p), 0);
	fixture_arm(p.rcq[1], 1, false); /* three are not polled yet: at once */
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(num_events(&p), 1);
	poll_all(p.rcq[1]);
	fixture_arm(p.rcq[1], 2, false);
	fixture_arm(p.rcq[1], 2, false); /* twice is once */
	sends(&p, 2, 0);
	CU_ASSERT_EQUAL(num_events(&p), 1);
	pair_free(&p);
}

/* Take an event, arm, then poll one: as many events as completions, and none without one. */
static void event_by_event(void)
{
	struct tiny_cqe c;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	fixture_arm(p.rcq[1], 0, false);
	for (uint8_t sn = 1; sn < 9; sn++) {
		sends(&p, 1, 0);
		CU_ASSERT_EQUAL(num_events(&p), 1);
		fixture_arm(p.rcq[1], sn & 3, false);
		fixture_run(p.fixture);
		CU_ASSERT_EQUAL(num_events(&p), 0);
		CU_ASSERT(fixture_poll(p.rcq[1], &c));
		CU_ASSERT(!fixture_poll(p.rcq[1], &c));
	}
	/* Three while armed once: the second and third are reported by the arms that follow. */
	sends(&p, 3, 0);
	CU_ASSERT_EQUAL(num_events(&p), 1);
	for (uint8_t sn = 9; sn < 12; sn++) {
		fixture_arm(p.rcq[1], sn & 3, false);
		fixture_run(p.fixture);
		CU_ASSERT_EQUAL(num_events(&p), sn < 11);
		CU_ASSERT(fixture_poll(p.rcq[1], &c));
	}
	pair_free(&p);
}

static void solicited(void)
{
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	fixture_arm(p.rcq[1], 0, true);
	sends(&p, 2, 0);
	CU_ASSERT_EQUAL(num_events(&p), 0);
	sends(&p, 1, HCA_WR_SOLICITED);
	CU_ASSERT_EQUAL(num_events(&p), 1);
	/* A solicited one that came without an arm raises at once, others do not. */
	sends(&p, 1, HCA_WR_SOLICITED);
	CU_ASSERT_EQUAL(num_events(&p), 0);
	fixture_arm(p.rcq[1], 1, true);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(num_events(&p), 1);
	fixture_arm(p.rcq[1], 2, true); /* not polled yet, but reported */
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(num_events(&p), 0);
	poll_all(p.rcq[1]);
	sends(&p, 1, 0);
	fixture_arm(p.rcq[1], 2, true);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(num_events(&p), 0);
	/* Arming for all on top of it: that one counts. */
	fixture_arm(p.rcq[1], 2, false);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(num_events(&p), 1);
	/* A failed completion is as good as a solicited one. */
	poll_all(p.rcq[1]);
	fixture_arm(p.rcq[1], 3, true);
	fixture_recv(p.qp[1], &(struct hca_sge){0}, 1);
	fixture_state(p.qp[1], HCASIM_QPS_ERR);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(num_events(&p), 1);
	pair_free(&p);
}

/* rdma_rxe: an arm by the driver reports what comes later, and errors of the own queue are not solicited. */
static void only_new(void)
{
	struct hca_personality pers;
	struct hca *hca;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	hca = p.fixture->hca[1];
	pers = *hca->pers;
	pers.only_new_events = true;
	hca->pers = &pers;
	sends(&p, 2, HCA_WR_SOLICITED);
	CU_ASSERT_EQUAL(hca_cq_arm(hca, p.rcq[1]->cqn, 0, 0, false), 0);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(num_events(&p), 0);
	sends(&p, 1, 0);
	CU_ASSERT_EQUAL(num_events(&p), 1);
	pair_free(&p);
}

/*
 * An event waits for so many completions, or so much device time from the first, whichever comes first; what
 * has waited already when the arm comes counts.
 */
static void moderation(void)
{
	struct hca *hca;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	hca = p.fixture->hca[1];
	CU_ASSERT_EQUAL(hca_cq_moderate(hca, 4711, 1, 0), -EINVAL);
	CU_ASSERT_EQUAL(hca_cq_moderate(hca, p.rcq[1]->cqn, 3, 0), 0);
	fixture_arm(p.rcq[1], 0, false);
	sends(&p, 2, 0);
	fixture_settle(p.fixture, 100 * MS);
	CU_ASSERT_EQUAL(num_events(&p), 0);
	sends(&p, 1, 0);
	CU_ASSERT_EQUAL(num_events(&p), 1);
	sends(&p, 3, 0);
	fixture_arm(p.rcq[1], 1, false); /* three more are there */
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(num_events(&p), 1);
	poll_all(p.rcq[1]);
	CU_ASSERT_EQUAL(hca_cq_moderate(hca, p.rcq[1]->cqn, 3, 50), 0);
	fixture_arm(p.rcq[1], 2, false);
	sends(&p, 1, 0);
	fixture_settle(p.fixture, 40 * MS / 1000);
	CU_ASSERT_EQUAL(num_events(&p), 0);
	fixture_settle(p.fixture, 20 * MS / 1000);
	CU_ASSERT_EQUAL(num_events(&p), 1);
	/* Solicited only: what is not solicited starts nothing. Moderation that ends lets go what waits. */
	poll_all(p.rcq[1]);
	CU_ASSERT_EQUAL(hca_cq_moderate(hca, p.rcq[1]->cqn, 5, 0), 0);
	fixture_arm(p.rcq[1], 3, true);
	sends(&p, 6, 0);
	CU_ASSERT_EQUAL(num_events(&p), 0);
	sends(&p, 1, HCA_WR_SOLICITED);
	CU_ASSERT_EQUAL(num_events(&p), 0);
	CU_ASSERT_EQUAL(hca_cq_moderate(hca, p.rcq[1]->cqn, 0, 0), 0);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(num_events(&p), 1);
	/* A CQ goes while its event waits. */
	poll_all(p.rcq[1]);
	CU_ASSERT_EQUAL(hca_cq_moderate(hca, p.rcq[1]->cqn, 0, 50), 0);
	fixture_arm(p.rcq[1], 4, false);
	sends(&p, 1, 0);
	CU_ASSERT_EQUAL(hca_qp_destroy(hca, p.qp[1]->qpn), 0);
	CU_ASSERT_EQUAL(hca_cq_destroy(hca, p.rcq[1]->cqn), 0);
	fixture_settle(p.fixture, MS);
	CU_ASSERT_EQUAL(num_events(&p), 0);
	pair_free(&p);
}

/* Completions, and microseconds after the first, until an armed CQ has its event. */
static void moderation_doubled(void)
{
	for (uint32_t twice = 1; twice <= 2; twice++) {
		struct hca *hca;
		struct pair p;

		pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
		hca = p.fixture->hca[1];
		CU_ASSERT_EQUAL(hca_cq_moderate(hca, p.rcq[1]->cqn, 3 * twice, 50 * twice), 0);
		fixture_arm(p.rcq[1], 0, false);
		sends(&p, 3 * twice - 1, 0);
		CU_ASSERT_EQUAL(num_events(&p), 0);
		sends(&p, 1, 0);
		CU_ASSERT_EQUAL(num_events(&p), 1);
		poll_all(p.rcq[1]);
		fixture_arm(p.rcq[1], 1, false);
		sends(&p, 1, 0);
		fixture_settle(p.fixture, 50 * twice * (MS / 1000) - 1);
		CU_ASSERT_EQUAL(num_events(&p), 0);
		fixture_settle(p.fixture, 1);
		CU_ASSERT_EQUAL(num_events(&p), 1);
		pair_free(&p);
	}
}

static void small_cq(struct pair *p, uint32_t entries)
{
	pair_new(p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	p->scq[0] = fixture_cq(p->fixture, 0, entries);
	p->qp[0] = fixture_qp(p->fixture, 0, HCASIM_QPT_RC, p->scq[0], p->rcq[0]);
	p->qp[1] = fixture_qp(p->fixture, 1, HCASIM_QPT_RC, p->scq[1], p->rcq[1]);
	fixture_connect(p->qp[0], p->qp[1], NULL);
}

static void writes(struct pair *p, unsigned int n)
{
	while (n--)
		fixture_send(p->qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED,
			     fixture_sge(p->mem[0], 8, p->key[0]), (uintptr_t)p->mem[1], p->key[1]);
	fixture_run(p->fixture);
}

/* The record is read before a full ring counts as an overrun. */
static void overrun_of(uint32_t entries)
{
	struct tiny_cqe c;
	struct pair p;
	uint32_t i;

	small_cq(&p, entries);
	for (i = 0; i < 10; i++) {
		writes(&p, entries);
		poll_all(p.scq[0]);
	}
	CU_ASSERT_EQUAL(p.scq[0]->ci, 10 * entries);
	writes(&p, entries);
	CU_ASSERT_EQUAL(fixture_events(p.fixture, 0, HCASIM_EQE_TYPE_CQ_ERR, p.scq[0]->cqn), 0);
	writes(&p, 1);
	CU_ASSERT_EQUAL(fixture_events(p.fixture, 0, HCASIM_EQE_TYPE_CQ_ERR, p.scq[0]->cqn), 1);
	CU_ASSERT_EQUAL(fixture_events(p.fixture, 0, HCASIM_EQE_TYPE_QP_FATAL, p.qp[0]->qpn), 1);
	CU_ASSERT_EQUAL(fixture_query(p.qp[0]), HCASIM_QPS_ERR);
	for (i = 0; i < entries; i++) /* what was there is still right */
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_FALSE(fixture_poll(p.scq[0], &c));
	pair_free(&p);
}

static void overrun(void)
{
	overrun_of(4);
	overrun_of(1);
}

static void hostile_consumer_index(void)
{
	static const uint32_t bad[] = {5, 1000, 0x80000000, UINT32_MAX};
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct pair p;

		small_cq(&p, 4);
		writes(&p, 4);
		p.scq[0]->rec->ci = htobe32(bad[i]);
		p.scq[0]->ci = bad[i];
		fixture_arm(p.scq[0], 0, false);
		writes(&p, 1);
		CU_ASSERT_EQUAL(fixture_events(p.fixture, 0, HCASIM_EQE_TYPE_CQ_ERR, p.scq[0]->cqn), 1);
		pair_free(&p);
	}
}

static void resize(void)
{
	struct hca_cq_attr attr = {.ring = {.pasid = FIXTURE_PASID, .entries = 64, .stride = 64}};
	struct tiny_cqe *old, *ring;
	struct tiny_cq_record *rec;
	uint32_t i, skip;
	uint64_t issued;
	struct pair p;

	small_cq(&p, 4);
	writes(&p, 3);
	ring = fixture_alloc(p.fixture, 64 * 64);
	rec = fixture_alloc(p.fixture, sizeof(*rec));
	old = p.scq[0]->ring;
	attr.ring.addr = (uintptr_t)ring;
	attr.record = (uintptr_t)rec;
	attr.eqn = p.fixture->eqn[0];
	attr.ring.entries = 2; /* less than is not polled yet: nothing changes */
	CU_ASSERT_EQUAL(hca_cq_resize(p.fixture->hca[0], p.scq[0]->cqn, &attr, p.scq[0]->ci), -EINVAL);
	attr.ring.entries = 64;
	CU_ASSERT_FALSE(hca_writes_under_way(p.fixture->hca[0], UINT64_MAX));
	CU_ASSERT_EQUAL(hca_cq_resize(p.fixture->hca[0], p.scq[0]->cqn, &attr, p.scq[0]->ci), 0);
	issued = hca_dma_issued(p.fixture->hca[0]);
	CU_ASSERT_TRUE(hca_writes_under_way(p.fixture->hca[0], issued));
	CU_ASSERT_FALSE(hca_writes_under_way(p.fixture->hca[0], issued - 1)); /* the RESIZE entry */
	fixture_run(p.fixture);
	CU_ASSERT_FALSE(hca_writes_under_way(p.fixture->hca[0], issued));
	CU_ASSERT_EQUAL(old[3].op, HCASIM_CQE_OP_RESIZE);
	/* The index goes on at the next multiple of two turns; what is not polled yet goes before it. */
	skip = -3u & 127;
	for (i = 0; i < 3; i++) {
		ring[(i + skip) & 63] = old[i];
		ring[(i + skip) & 63].phase = !((i + skip) / 64 & 1);
	}
	p.scq[0]->ci = skip;
	writes(&p, 40);
	p.scq[0]->ring = ring;
	p.scq[0]->entries = 64;
	for (i = 0; i < 43; i++)
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect_none(p.scq[0]);
	p.scq[0]->ring = old;
	pair_free(&p);
	free(ring);
	free(rec);
}

/* The driver is slow: events wait, none is lost. */
static void slow_driver(void)
{
	struct fixture *fixture = fixture_new(NULL, 0);
	struct hca_eq_attr attr = {.ring = {.entries = 4, .stride = sizeof(struct tiny_eqe)}};
	struct fixture_cq *cq = fixture_cq(fixture, 0, 16);
	struct fixture_qp *qp[10];
	unsigned int i, n = 0;
	uint32_t eqn, ci = 0;
	struct tiny_eqe *ring;

	ring = fixture_alloc(fixture, 4 * sizeof(*ring));
	attr.ring.addr = (uintptr_t)ring;
	CU_ASSERT_EQUAL(hca_eq_create(fixture->hca[0], &attr, &eqn), 0);
	hca_async_eq(fixture->hca[0], eqn);
	for (i = 0; i < 10; i++) {
		struct hca_qp_attr a = {.en_sqd_async_notify = 1};

		qp[i] = fixture_qp(fixture, 0, HCASIM_QPT_RC, cq, cq);
		fixture_connect(qp[i], qp[i], NULL);
		hca_qp_modify(fixture->hca[0], qp[i]->qpn, &a, HCASIM_QP_ATTR_EN_SQD_ASYNC_NOTIFY);
		fixture_state(qp[i], HCASIM_QPS_SQD);
	}
	while (n < 10) {
		fixture_run(fixture);
		CU_ASSERT_TRUE_FATAL(ring[ci & 3].phase == !(ci / 4 & 1));
		CU_ASSERT_EQUAL(ring[ci & 3].type, HCASIM_EQE_TYPE_SQ_DRAINED);
		CU_ASSERT_EQUAL(ring[ci & 3].number, qp[n]->qpn);
		hca_eq_ack(fixture->hca[0], eqn, ++ci);
		n++;
	}
	fixture_free(fixture);
	free(ring);
}

/* They tell what has completed, each direction alone, from 0 again after RESET. */
static void marks(void)
{
	struct hca_marks of[2] = {{7, 7}, {7, 7}};
	uint16_t signaled = 0;
	struct hca_sge sge;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	for (unsigned int side = 0; side < 2; side++)
		CU_ASSERT_EQUAL(hca_qp_marks(p.fixture->hca[side], p.qp[side]->qpn, &of[side]), 0);
	CU_ASSERT_EQUAL(hca_qp_marks(p.fixture->hca[0], 0xfffff, &of[0]), -EINVAL);
	CU_ASSERT_TRUE(!of[0].sq && !of[0].rq && !of[1].sq && !of[1].rq);
	for (uint16_t i = 1; i <= 3; i++) {
		sge = fixture_sge(p.mem[1], 64, p.key[1]);
		fixture_recv(p.qp[1], &sge, 1);
		fixture_send(p.qp[0], HCASIM_WQE_OP_SEND, i % 2 ? HCA_WR_SIGNALED : 0,
			     fixture_sge(p.mem[0], 64, p.key[0]), 0, 0);
		fixture_run(p.fixture);
		CU_ASSERT_EQUAL(of[1].rq, i);
		signaled = i % 2 ? p.qp[0]->pi : signaled;
		CU_ASSERT_EQUAL(of[0].sq, signaled); /* no completion, no mark */
	}
	CU_ASSERT_TRUE(!of[0].rq && !of[1].sq);
	fixture_state(p.qp[0], HCASIM_QPS_RESET);
	CU_ASSERT_EQUAL(of[0].sq, 0);
	pair_free(&p);
}

const struct test cq_tests[] = {
	{"marks", marks},
	{"one event for one arm", arm_once},
	{"events one by one", event_by_event},
	{"solicited", solicited},
	{"only new", only_new},
	{"moderation", moderation},
	{"moderation doubled", moderation_doubled},
	{"overrun", overrun},
	{"hostile consumer index", hostile_consumer_index},
	{"resize", resize},
	{"slow driver", slow_driver},
	{NULL, NULL},
};
