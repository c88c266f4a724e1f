// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What completion counters count: each operation once, with retries and losses, and failed ones apart. */
#include "core/comp_cntr.h"
#include "fixture.h"

/* One counter for each operation of each end, and one byte counter of all. */
static uint32_t of[2][HCA_COMP_OPS], bytes[2];

static uint64_t value(const struct pair *p, unsigned int side, uint32_t id, enum hca_comp_entry entry)
{
	uint64_t v = UINT64_MAX;

	CU_ASSERT_EQUAL(hca_comp_cntr_read(p->fixture->hca[side], id, entry, &v), 0);
	return v;
}

static uint64_t done(const struct pair *p, unsigned int side, enum hca_comp_op op)
{
	return value(p, side, of[side][op], HCA_COMP_ENTRY_COMP);
}

static uint64_t failed(const struct pair *p, unsigned int side, enum hca_comp_op op)
{
	return value(p, side, of[side][op], HCA_COMP_ENTRY_ERR);
}

static void start(struct pair *p, bool in_bytes)
{
	const struct fixture_path path = {.mtu = 1, .timeout = 10, .rd_atomic = 4};

	pair_new(p, HCASIM_QPT_RC, &path, NULL, 0, 8192);
	for (unsigned int side = 0; side < 2; side++) {
		struct hca *hca = p->fixture->hca[side];
		const uint32_t qpn = p->qp[side]->qpn;

		if (in_bytes) {
			CU_ASSERT_EQUAL(hca_comp_cntr_create(hca, HCA_COMP_TYPE_BYTES, &bytes[side]), 0);
			CU_ASSERT_EQUAL(hca_qp_comp_cntr(hca, qpn, bytes[side], (1u << HCA_COMP_OPS) - 1), 0);
			continue;
		}
		for (unsigned int op = 0; op < HCA_COMP_OPS; op++) {
			CU_ASSERT_EQUAL(hca_comp_cntr_create(hca, HCA_COMP_TYPE_WRS, &of[side][op]), 0);
			CU_ASSERT_EQUAL(hca_qp_comp_cntr(hca, qpn, of[side][op], 1u << op), 0);
		}
	}
}

static void request(struct pair *p, uint8_t op, uint32_t flags, uint32_t len)
{
	fixture_send(p->qp[0], op, flags, fixture_sge(p->mem[0], len, p->key[0]), (uintptr_t)p->mem[1],
		     p->key[1]);
}

static void receive(struct pair *p)
{
	const struct hca_sge sge = fixture_sge(p->mem[1], p->len, p->key[1]);

	fixture_recv(p->qp[1], &sge, 1);
}

/* `flags`: of all requests. An atomic is not counted. */
static void post_all(struct pair *p, uint32_t flags)
{
	receive(p);
	receive(p);
	request(p, HCASIM_WQE_OP_SEND, flags, 1000);
	request(p, HCASIM_WQE_OP_RDMA_WRITE, flags, 900);
	request(p, HCASIM_WQE_OP_RDMA_WRITE_IMM, flags, 800);
	request(p, HCASIM_WQE_OP_RDMA_READ, flags, 700);
	request(p, HCASIM_WQE_OP_ATOMIC_FA, flags, 8);
	request(p, HCASIM_WQE_OP_RDMA_READ, flags, 600);
}

static void check_all(struct pair *p)
{
	fixture_settle(p->fixture, 1000 * MS);
	CU_ASSERT(done(p, 0, HCA_COMP_SEND) == 1 && done(p, 1, HCA_COMP_RECV) == 2);
	CU_ASSERT(done(p, 0, HCA_COMP_WRITE) == 2 && done(p, 1, HCA_COMP_REMOTE_WRITE) == 2);
	CU_ASSERT(done(p, 0, HCA_COMP_READ) == 2 && done(p, 1, HCA_COMP_REMOTE_READ) == 2);
	CU_ASSERT(!done(p, 0, HCA_COMP_RECV) && !done(p, 1, HCA_COMP_SEND) && !done(p, 1, HCA_COMP_READ));
	for (unsigned int op = 0; op < HCA_COMP_OPS; op++)
		CU_ASSERT(!failed(p, 0, op) && !failed(p, 1, op));
	pair_free(p);
}

static void signaled(void)
{
	struct pair p;

	start(&p, false);
	post_all(&p, HCA_WR_SIGNALED);
	check_all(&p);
}

static void unsignaled(void)
{
	struct pair p;

	start(&p, false);
	post_all(&p, 0);
	check_all(&p);
}

static void in_bytes(void)
{
	struct pair p;

	start(&p, true);
	post_all(&p, 0);
	fixture_settle(p.fixture, 1000 * MS);
	CU_ASSERT_EQUAL(value(&p, 0, bytes[0], HCA_COMP_ENTRY_COMP), 1000 + 900 + 800 + 700 + 600);
	/* received: the SEND, and the WRITE with immediate both as a receive and as the peer's operation */
	CU_ASSERT_EQUAL(value(&p, 1, bytes[1], HCA_COMP_ENTRY_COMP), 1000 + 800 + 900 + 800 + 700 + 600);
	pair_free(&p);
}

/* Loses two frames of either side: one, and the third after it. */
static enum untimed_fate lose(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	fixture->n++;
	return fixture->n == fixture->m || fixture->n == fixture->m + 3 ? UNTIMED_DROP : UNTIMED_DELIVER;
}

/* Repeated requests and responses count once. */
static void losses(void)
{
	for (unsigned int nth = 1; nth < 40; nth++) {
		struct pair p;

		start(&p, false);
		p.fixture->wire = lose;
		p.fixture->m = nth;
		post_all(&p, nth & 1 ? HCA_WR_SIGNALED : 0);
		check_all(&p);
	}
}

/* A WRITE without permission fails, and what follows is flushed, with the receives of the peer. */
static void errors(void)
{
	struct pair p;

	start(&p, false);
	receive(&p);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, 0, fixture_sge(p.mem[0], 8, p.key[0]), 0, p.key[1]);
	request(&p, HCASIM_WQE_OP_SEND, 0, 8);
	request(&p, HCASIM_WQE_OP_RDMA_READ, 0, 8);
	fixture_settle(p.fixture, 1000 * MS);
	CU_ASSERT(failed(&p, 0, HCA_COMP_WRITE) == 1 && failed(&p, 0, HCA_COMP_SEND) == 1 &&
		  failed(&p, 0, HCA_COMP_READ) == 1 && failed(&p, 1, HCA_COMP_RECV) == 1);
	for (unsigned int op = 0; op < HCA_COMP_OPS; op++)
		CU_ASSERT(!done(&p, 0, op) && !done(&p, 1, op));
	pair_free(&p);
}

/* RESET forgets what is under way; the counter stays, and counts what is posted afterwards. */
static void reset(void)
{
	struct pair p;

	start(&p, false);
	request(&p, HCASIM_WQE_OP_RDMA_WRITE, 0, 4096);
	fixture_state(p.qp[0], HCASIM_QPS_RESET);
	fixture_state(p.qp[1], HCASIM_QPS_RESET);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(done(&p, 0, HCA_COMP_WRITE), 0);
	CU_ASSERT_EQUAL(hca_comp_cntr_destroy(p.fixture->hca[0], of[0][HCA_COMP_WRITE]), -EBUSY);
	pair_free(&p);
}

const struct test comp_cntr_tests[] = {
	{"signaled", signaled}, {"unsignaled", unsignaled}, {"in bytes", in_bytes}, {"losses", losses},
	{"errors", errors},     {"reset", reset},           {NULL, NULL},
};
