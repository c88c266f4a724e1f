// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* States of queue pairs: what each starts, stops and clears, also with work under way. */
#include "fixture.h"

static void write_to(struct pair *p, uint32_t off, uint32_t len, uint32_t flags)
{
	fixture_send(p->qp[0], HCASIM_WQE_OP_RDMA_WRITE, flags, fixture_sge(p->mem[0] + off, len, p->key[0]),
		     (uintptr_t)p->mem[1] + off, p->key[1]);
}

static void posted_before_rts(void)
{
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	fixture_state(p.qp[0], HCASIM_QPS_RESET);
	fixture_state(p.qp[1], HCASIM_QPS_RESET);
	fixture_connect(p.qp[0], p.qp[1], NULL);
	fixture_state(p.qp[0], HCASIM_QPS_RTR);
	write_to(&p, 0, 64, HCA_WR_SIGNALED);
	fixture_run(p.fixture);
	fixture_expect_none(p.scq[0]);
	fixture_state(p.qp[0], HCASIM_QPS_RTS);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	pair_free(&p);
}

static void drain(void)
{
	struct hca_qp_attr a = {.en_sqd_async_notify = 1, .state = HCASIM_QPS_SQD};
	struct fixture_path path = {.mtu = 1};
	unsigned int i;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 65536);
	write_to(&p, 0, 30000, HCA_WR_SIGNALED);
	write_to(&p, 30000, 30000, HCA_WR_SIGNALED);
	for (i = 0; i < 40; i++) /* into the first message */
		untimed_step(p.fixture->u);
	CU_ASSERT_EQUAL(hca_qp_modify(p.fixture->hca[0], p.qp[0]->qpn, &a,
				      HCASIM_QP_ATTR_STATE | HCASIM_QP_ATTR_EN_SQD_ASYNC_NOTIFY),
			0);
	hca_qp_query(p.fixture->hca[0], p.qp[0]->qpn, &a);
	CU_ASSERT_EQUAL(a.sq_draining, 1);
	CU_ASSERT_EQUAL(fixture_events(p.fixture, 0, HCASIM_EQE_TYPE_SQ_DRAINED, p.qp[0]->qpn), 0);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(fixture_events(p.fixture, 0, HCASIM_EQE_TYPE_SQ_DRAINED, p.qp[0]->qpn), 1);
	hca_qp_query(p.fixture->hca[0], p.qp[0]->qpn, &a);
	CU_ASSERT_EQUAL(a.sq_draining, 0);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect_none(p.scq[0]);
	fixture_state(p.qp[0], HCASIM_QPS_RTS);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], 60000), 0);
	pair_free(&p);
}

static void flush_both(void)
{
	struct hca_sge sge = {0};
	unsigned int i;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	for (i = 0; i < 50; i++)
		fixture_recv(p.qp[0], &sge, 1);
	fixture_state(p.qp[0], HCASIM_QPS_ERR);
	for (i = 0; i < 50; i++)
		write_to(&p, 0, 64, 0);
	fixture_settle(p.fixture, MS);
	for (i = 0; i < 50; i++) {
		CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_WR_FLUSH_ERR).wqe_index, 2 * i);
		CU_ASSERT_EQUAL(fixture_expect(p.rcq[0], HCASIM_CQE_STATUS_WR_FLUSH_ERR).wqe_index, i);
	}
	for (i = 0; i < 5; i++)
		fixture_recv(p.qp[0], &sge, 1);
	fixture_settle(p.fixture, 200 * MS);
	for (i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(fixture_expect(p.rcq[0], HCASIM_CQE_STATUS_WR_FLUSH_ERR).wqe_index, 50 + i);
	fixture_expect_none(p.rcq[0]);
	/* Nothing of it is left after RESET. */
	fixture_state(p.qp[0], HCASIM_QPS_RESET);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(untimed_next_timer(p.fixture->u), HCA_PS_NEVER);
	fixture_state(p.qp[1], HCASIM_QPS_RESET);
	fixture_connect(p.qp[0], p.qp[1], NULL);
	write_to(&p, 0, 64, HCA_WR_SIGNALED);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK).wqe_index, 0);
	pair_free(&p);
}

/* A producer index out of range is ignored. */
static void hostile_record(void)
{
	static const uint32_t bad[] = {65, 1000, 0x80000000, UINT32_MAX};
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct pair p;

		pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
		p.qp[1]->rec->rq_pi = htobe32(bad[i]);
		fixture_send(p.qp[0], HCASIM_WQE_OP_SEND, 0, fixture_sge(p.mem[0], 8, p.key[0]), 0, 0);
		fixture_settle(p.fixture, 10 * MS);
		fixture_expect_none(p.rcq[1]);
		fixture_state(p.qp[1], HCASIM_QPS_ERR);
		fixture_settle(p.fixture, 10 * MS);
		fixture_expect_none(p.rcq[1]);
		pair_free(&p);
	}
}

/* Resets or destroys both QPs after each possible number of steps, in many orders. */
static void interrupt(bool destroy, unsigned int steps, uint64_t seed)
{
	static const uint8_t ops[] = {HCASIM_WQE_OP_SEND, HCASIM_WQE_OP_RDMA_READ, HCASIM_WQE_OP_ATOMIC_FA,
				      HCASIM_WQE_OP_RDMA_WRITE};
	struct fixture_path path = {.mtu = 1};
	struct hca_sge sge;
	unsigned int i;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, seed, 4096);
	for (i = 0; i < 8; i++) {
		sge = fixture_sge(p.mem[1], 1024, p.key[1]);
		fixture_recv(p.qp[1], &sge, 1);
		fixture_send(p.qp[0], ops[i % 4], HCA_WR_SIGNALED,
			     fixture_sge(p.mem[0], i % 4 == 2 ? 8 : 700, p.key[0]), (uintptr_t)p.mem[1],
			     p.key[1]);
	}
	while (steps--)
		untimed_step(p.fixture->u);
	for (i = 0; i < 2; i++) {
		if (!destroy) {
			fixture_state(p.qp[i], HCASIM_QPS_RESET);
			continue;
		}
		CU_ASSERT_EQUAL(hca_qp_destroy(p.fixture->hca[i], p.qp[i]->qpn), 0);
	}
	if (destroy) { /* nothing refers to the CQs any more */
		CU_ASSERT_EQUAL(hca_cq_destroy(p.fixture->hca[0], p.scq[0]->cqn), 0);
		CU_ASSERT_EQUAL(hca_cq_destroy(p.fixture->hca[1], p.rcq[1]->cqn), 0);
	} else {
		fixture_run(p.fixture); /* completions under way still land */
		fixture_connect(p.qp[0], p.qp[1], &path);
		p.scq[0]->ci = cq_find(p.fixture->hca[0], p.scq[0]->cqn)->pi;
		p.rcq[1]->ci = cq_find(p.fixture->hca[1], p.rcq[1]->cqn)->pi;
		sge = fixture_sge(p.mem[1], 1024, p.key[1]);
		fixture_recv(p.qp[1], &sge, 1);
		fixture_send(p.qp[0], HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED,
			     fixture_sge(p.mem[0] + 1024, 1000, p.key[0]), 0, 0);
	}
	fixture_settle(p.fixture, 10 * MS);
	if (!destroy) {
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
		fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
		CU_ASSERT_EQUAL(memcmp(p.mem[0] + 1024, p.mem[1], 1000), 0);
	}
	CU_ASSERT_EQUAL(untimed_next_timer(p.fixture->u), HCA_PS_NEVER);
	pair_free(&p);
}

static void reset_in_flight(void)
{
	unsigned int steps;

	for (steps = 0; steps < 260; steps++)
		interrupt(false, steps, steps % 3);
}

static void destroy_in_flight(void)
{
	unsigned int steps;

	for (steps = 0; steps < 260; steps++)
		interrupt(true, steps, steps % 3);
}

/* Destroying the adapter itself, with everything under way. */
static void adapter_goes(void)
{
	unsigned int steps, i;

	for (steps = 0; steps < 120; steps += 7) {
		struct pair p;

		pair_new(&p, HCASIM_QPT_RC, NULL, NULL, steps, 65536);
		for (i = 0; i < 8; i++) {
			write_to(&p, 0, 9000, HCA_WR_SIGNALED);
			fixture_send(p.qp[1], HCASIM_WQE_OP_RDMA_READ, 0,
				     fixture_sge(p.mem[1], 9000, p.key[1]), (uintptr_t)p.mem[0], p.key[0]);
		}
		for (i = 0; i < steps; i++)
			untimed_step(p.fixture->u);
		pair_free(&p);
	}
}

static void bad_commands(void)
{
	struct fixture *fixture = fixture_new(NULL, 0);
	struct fixture_cq *cq = fixture_cq(fixture, 0, 16);
	struct hca_qp_attr_create c = {.type = HCASIM_QPT_RC, .send_cqn = cq->cqn, .recv_cqn = cq->cqn};
	struct hca_mr_attr mr = {.va = UINT64_MAX - 10, .length = 11};
	struct hca_qp_attr a = {0};
	struct hca *hca = fixture->hca[0];
	uint32_t n;

	CU_ASSERT_EQUAL(hca_mr_create(hca, &mr, &n), -EINVAL);
	CU_ASSERT_EQUAL(hca_mr_destroy(hca, 0), -EINVAL);
	CU_ASSERT_EQUAL(hca_mr_destroy(hca, UINT32_MAX), -EINVAL);
	CU_ASSERT_EQUAL(hca_cq_destroy(hca, 9999), -EINVAL);
	CU_ASSERT_EQUAL(hca_qp_create(hca, &c, &n), 0); /* no queues at all: fine */
	CU_ASSERT_EQUAL(hca_cq_destroy(hca, cq->cqn), -EBUSY);
	CU_ASSERT_EQUAL(hca_qp_modify(hca, n + 1, &a, 0), -EINVAL);
	CU_ASSERT_EQUAL(hca_qp_query(hca, 0, &a), -EINVAL);
	CU_ASSERT_EQUAL(hca_qp_destroy(hca, n), 0);
	CU_ASSERT_EQUAL(hca_qp_destroy(hca, n), -EINVAL);
	c = (struct hca_qp_attr_create){.type = HCASIM_QPT_RAW_PACKET, .wq = true, .recv_cqn = cq->cqn};
	c.sq = (struct hca_ring){FIXTURE_PASID, 4096, 64, 64};
	CU_ASSERT_EQUAL(hca_qp_create(hca, &c, &n), -EINVAL);
	fixture_free(fixture);
}

/* A link goes down and comes up: each is told once, and what a request lost meanwhile is sent again. */
static void port_state(void)
{
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	fixture_run(p.fixture);
	fixture_events(p.fixture, 1, HCASIM_EQE_TYPE_PORT_ACTIVE, 1); /* of its first coming up */
	CU_ASSERT_EQUAL(hca_port_set(p.fixture->hca[1], 1, false, 3), 0);
	CU_ASSERT_EQUAL(hca_port_set(p.fixture->hca[1], 1, false, 3), 0);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 8, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(fixture_events(p.fixture, 1, HCASIM_EQE_TYPE_PORT_ERR, 1), 1);
	fixture_expect_none(p.scq[0]);
	CU_ASSERT_EQUAL(hca_port_set(p.fixture->hca[1], 1, true, 3), 0);
	fixture_settle(p.fixture, 1000 * MS);
	CU_ASSERT_EQUAL(fixture_events(p.fixture, 1, HCASIM_EQE_TYPE_PORT_ACTIVE, 1), 1);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	pair_free(&p);
}

/* Where the event stands in the EQ, counted from the first that was not looked at yet. */
static unsigned int event_at(const struct fixture *fixture, unsigned int side, uint8_t type)
{
	unsigned int i;

	for (i = 0; i < FIXTURE_EQ; i++) {
		const struct tiny_eqe *e = &fixture->eq[side][(fixture->eq_ci[side] + i) & (FIXTURE_EQ - 1)];

		if (e->type == type && e->number != UINT32_MAX)
			break;
	}
	return i;
}

/* Two changes before the adapter could tell either: both are told, and the state that it is in last. */
static void port_flaps(void)
{
	const uint8_t up = HCASIM_EQE_TYPE_PORT_ACTIVE, down = HCASIM_EQE_TYPE_PORT_ERR;

	for (int first = 0; first < 2; first++) {
		struct pair p;

		pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
		if (!first)
			CU_ASSERT_EQUAL(hca_port_set(p.fixture->hca[1], 1, false, 3), 0);
		fixture_run(p.fixture);
		fixture_events(p.fixture, 1, up, 1);
		fixture_events(p.fixture, 1, down, 1);
		CU_ASSERT_EQUAL(hca_port_set(p.fixture->hca[1], 1, !first, 3), 0);
		CU_ASSERT_EQUAL(hca_port_set(p.fixture->hca[1], 1, first, 3), 0);
		fixture_run(p.fixture);
		CU_ASSERT_TRUE(event_at(p.fixture, 1, first ? down : up) <
			       event_at(p.fixture, 1, first ? up : down));
		CU_ASSERT_EQUAL(fixture_events(p.fixture, 1, up, 1), 1);
		CU_ASSERT_EQUAL(fixture_events(p.fixture, 1, down, 1), 1);
		CU_ASSERT_EQUAL(hca_port_up(p.fixture->hca[1], 1), first);
		pair_free(&p);
	}
}

const struct test state_tests[] = {
	{"posted before RTS", posted_before_rts},
	{"SQD drains", drain},
	{"ERR flushes both queues", flush_both},
	{"hostile record", hostile_record},
	{"reset in flight", reset_in_flight},
	{"destroy in flight", destroy_in_flight},
	{"adapter goes", adapter_goes},
	{"bad commands", bad_commands},
	{"port goes down and up", port_state},
	{"port goes down and up at once", port_flaps},
	{NULL, NULL},
};
