// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Stores to the user access page: doorbells, BlueFlame pushes whole and torn, nonsense. */
#include "fixture.h"

static uint16_t put_inline(struct pair *p, uint32_t len)
{
	struct tiny_wqe w = {
		.op = HCASIM_WQE_OP_RDMA_WRITE, .flags = HCA_WR_SIGNALED | HCA_WR_INLINE, .num_sge = len};

	w.remote_addr = (uintptr_t)p->mem[1];
	w.rkey = p->key[1];
	return fixture_put(p->qp[0], &w, NULL, p->mem[0], 0);
}

/* Copies `len` bytes of the WQE at `index` into BlueFlame buffer `buf`, in pieces. */
static void push_of(const struct fixture_qp *qp, unsigned int buf, uint16_t index, uint32_t from, uint32_t to,
		    uint32_t piece)
{
	const uint8_t *wqe = qp->sq + (size_t)(index & (qp->sq_bbs - 1)) * TINY_BB;

	for (; from < to; from += piece)
		hca_mmio_write(qp->fixture->hca[0], TINY_BAR_UAR, TINY_BF + buf * TINY_BF_SIZE + from,
			       wqe + from, to - from < piece ? to - from : piece);
}

static void push(struct pair *p, unsigned int buf, uint16_t index, uint32_t from, uint32_t to, uint32_t piece)
{
	push_of(p->qp[0], buf, index, from, to, piece);
}

static bool forbid_wqe_reads(struct fixture *fixture, unsigned int side, const struct hca_dma *dma)
{
	return dma->class_ != HCA_DMA_WQE;
}

static void blueflame(void)
{
	static const uint32_t pieces[] = {8, 16, 32, 64};
	struct hca_counters c;
	unsigned int i;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	p.fixture->dma = forbid_wqe_reads;
	for (i = 0; i < 4; i++) {
		memset(p.mem[1], 0, 128);
		push(&p, i & 1, put_inline(&p, 128), 0, 192, pieces[i]);
		fixture_run(p.fixture);
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
		CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], 128), 0);
	}
	hca_counters(p.fixture->hca[0], &c);
	CU_ASSERT_EQUAL(c.bf_pushes, 4);
	CU_ASSERT_EQUAL(c.bf_torn, 0);
	CU_ASSERT_EQUAL(c.doorbells, 4);
	pair_free(&p);
}

/* Both buffers at once, and a push behind WQEs that are still to be fetched. */
static void blueflame_order(void)
{
	uint16_t a, b;
	struct pair p;
	int i;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 3, 4096);
	for (i = 0; i < 20; i++)
		put_inline(&p, 16);
	fixture_ring(p.qp[0]);
	a = put_inline(&p, 100);
	b = put_inline(&p, 101);
	push(&p, 0, a, 0, 64, 8);
	push(&p, 1, b, 0, 64, 8);
	push(&p, 0, a, 64, 176, 8);
	push(&p, 1, b, 64, 176, 8);
	fixture_run(p.fixture);
	for (i = 0; i < 22; i++)
		CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK).wqe_index, i < 20    ? 2 * i
											  : i == 20 ? a
												    : b);
	fixture_expect_none(p.scq[0]);
	pair_free(&p);
}

/*
 * Two queues on one register, without a lock between them: the second line of one is taken for that of the other, as
 * by an adapter. The first one's push is torn, and its WQE read.
 */
static void blueflame_mixed(void)
{
	struct tiny_wqe w = {
		.op = HCASIM_WQE_OP_RDMA_WRITE, .flags = HCA_WR_SIGNALED | HCA_WR_INLINE, .num_sge = 100};
	struct fixture_qp *other;
	uint16_t a, b;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	other = fixture_qp(p.fixture, 0, HCASIM_QPT_RC, p.scq[0], p.rcq[0]);
	fixture_connect(other, other, NULL);
	w.remote_addr = (uintptr_t)p.mem[0] + 2048;
	w.rkey = p.key[0];
	memset(p.mem[0], 'a', 100);
	a = put_inline(&p, 100);
	memset(p.mem[0], 'b', 100);
	b = fixture_put(other, &w, NULL, p.mem[0], 0);
	push(&p, 0, a, 0, 64, 64);
	push_of(other, 0, b, 0, 64, 64);
	push(&p, 0, a, 64, 176, 64);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(p.mem[1][0], 'a');
	CU_ASSERT_EQUAL(p.mem[0][2048], 'a'); /* its WQE has 'b' */
	pair_free(&p);
}

/* A push whose rest does not come counts as a doorbell: the WQE is fetched. */
static void torn(void)
{
	struct hca_counters c;
	uint16_t a, b;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	push(&p, 0, put_inline(&p, 100), 0, 64, 8);
	fixture_settle(p.fixture, MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	/* Without its head a push is waited for; when it goes on, it can stop again. */
	a = put_inline(&p, 100);
	push(&p, 0, a, 0, 4, 4);
	fixture_settle(p.fixture, MS);
	fixture_expect_none(p.scq[0]);
	push(&p, 0, a, 4, 64, 4);
	fixture_settle(p.fixture, MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	/* The next push into the same buffer tells, too. */
	a = put_inline(&p, 100);
	b = put_inline(&p, 100);
	push(&p, 0, a, 0, 128, 64);
	push(&p, 0, b, 0, 176, 64);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	/* A line is missing in the middle. */
	a = put_inline(&p, 100);
	push(&p, 0, a, 0, 64, 64);
	push(&p, 0, a, 128, 176, 48);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	hca_counters(p.fixture->hca[0], &c);
	CU_ASSERT_EQUAL(c.bf_torn, 4);
	pair_free(&p);
}

static void nonsense(void)
{
	static const uint16_t pis[] = {0, 300, 32768, 40000, 65535, 257};
	struct hca_counters c;
	unsigned int i;
	uint64_t v, w;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	for (i = 0; i < 6; i++)
		fixture_ring_at(p.qp[0], pis[i]); /* outside the ring: dropped */
	fixture_run(p.fixture);
	fixture_expect_none(p.scq[0]);
	put_inline(&p, 16);
	v = p.qp[0]->qpn | (uint64_t)(2ull) << TINY_DB_INDEX;
	/* another process's page */
	hca_mmio_write(p.fixture->hca[0], TINY_BAR_UAR, TINY_UAR_PAGE + TINY_DB_SQ, &v, 8);
	w = p.scq[0]->cqn;
	hca_mmio_write(p.fixture->hca[0], TINY_BAR_UAR, TINY_UAR_PAGE + TINY_DB_CQ, &w, 8);
	fixture_run(p.fixture);
	fixture_expect_none(p.scq[0]);
	hca_counters(p.fixture->hca[0], &c);
	CU_ASSERT_EQUAL(c.wqes, 0);
	hca_mmio_write(p.fixture->hca[0], TINY_BAR_UAR, UINT64_MAX - 3, &v, 8);
	hca_mmio_write(p.fixture->hca[0], TINY_BAR_UAR, TINY_UAR_PAGES * TINY_UAR_PAGE, &v, 8);
	hca_mmio_write(p.fixture->hca[0], TINY_BAR_UAR, TINY_UAR_PAGE - 4, &v, 8);
	hca_mmio_write(p.fixture->hca[0], 5, 0, &v, 8);
	hca_mmio_write(p.fixture->hca[0], TINY_BAR_UAR, TINY_DB_SQ, &v, 8);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(fixture_events(p.fixture, 0, HCASIM_EQE_TYPE_COMP, p.scq[0]->cqn), 0);
	pair_free(&p);
}

/* More doorbells than the FIFO holds: the records tell what was lost. */
static void overflow(void)
{
	struct hca_config cfg = {
		.num_ports = 1, .max_qp = 32, .max_cq = 32, .max_mr = 32, .doorbell_depth = 2};
	struct fixture_qp *qp[12];
	struct tiny_cqe c;
	unsigned int i;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, &cfg, 0, 4096);
	for (i = 0; i < 12; i++) {
		qp[i] = fixture_qp(p.fixture, 0, HCASIM_QPT_RC, p.scq[0], p.rcq[0]);
		fixture_connect(qp[i], qp[i], NULL);
	}
	fixture_arm(p.rcq[0], 0, false);
	for (i = 0; i < 12; i++)
		fixture_send(qp[i], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED,
			     fixture_sge(p.mem[0], 8, p.key[0]), (uintptr_t)p.mem[0] + 64, p.key[0]);
	fixture_arm(p.scq[0], 0, false);
	fixture_run(p.fixture);
	for (i = 0; fixture_poll(p.scq[0], &c); i++)
		;
	CU_ASSERT_EQUAL(i, 12);
	CU_ASSERT_EQUAL(fixture_events(p.fixture, 0, HCASIM_EQE_TYPE_COMP, p.scq[0]->cqn), 1);
	pair_free(&p);
}

/* A bad store may have been a doorbell of any queue of its page, and of none of another page's. */
static void poisoned(void)
{
	struct hca_counters c;
	struct pair p;
	uint16_t index;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	index = put_inline(&p, 100);
	hca_mmio_poisoned(p.fixture->hca[0], TINY_BAR_UAR, TINY_UAR_PAGE);
	hca_mmio_poisoned(p.fixture->hca[0], TINY_BAR_REGS, 0);
	hca_mmio_poisoned(p.fixture->hca[0], TINY_BAR_UAR, UINT64_MAX);
	fixture_run(p.fixture);
	fixture_expect_none(p.scq[0]);
	hca_mmio_poisoned(p.fixture->hca[0], TINY_BAR_UAR, TINY_DB_SQ);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK).wqe_index, index);
	fixture_expect_none(p.scq[0]);
	/* One piece of a push is missing: the rest is a torn one, and it is done once. */
	index = put_inline(&p, 100);
	push(&p, 0, index, 0, 64, 8);
	hca_mmio_poisoned(p.fixture->hca[0], TINY_BAR_UAR, TINY_BF + 64);
	push(&p, 0, index, 72, 176, 8);
	fixture_settle(p.fixture, MS);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK).wqe_index, index);
	fixture_expect_none(p.scq[0]);
	hca_counters(p.fixture->hca[0], &c);
	CU_ASSERT_EQUAL(c.bf_pushes, 0);
	CU_ASSERT_EQUAL(c.bf_torn, 1);
	pair_free(&p);
}

static void ring_with_record(struct fixture_qp *qp, uint16_t record)
{
	qp->rec->sq_pi = htobe32(record);
	fixture_ring(qp);
	fixture_run(qp->fixture);
}

/* A family whose records rule: a doorbell executes what its record covers, and the rest waits for another doorbell. */
static void record_rules(void)
{
	struct hca_personality pers = tiny_personality;
	struct pair p;
	uint16_t a, b;

	pers.sq_record_rules = true;
	pair_new_family(&p, &pers, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	a = put_inline(&p, 16);
	b = put_inline(&p, 16);
	ring_with_record(p.qp[0], 0);
	fixture_expect_none(p.scq[0]);
	ring_with_record(p.qp[0], b);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK).wqe_index, a);
	p.qp[0]->rec->sq_pi = htobe32(p.qp[0]->pi); /* alone it starts nothing */
	fixture_run(p.fixture);
	fixture_expect_none(p.scq[0]);
	ring_with_record(p.qp[0], p.qp[0]->pi);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK).wqe_index, b);
	/* Nor does the doorbell execute more than it says itself. */
	a = put_inline(&p, 16);
	b = put_inline(&p, 16);
	fixture_ring_at(p.qp[0], b);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK).wqe_index, a);
	fixture_expect_none(p.scq[0]);
	pair_free(&p);
}

/* The same for BlueFlame; and a record that cannot be read limits nothing. */
static void record_rules_pushes(void)
{
	struct hca_personality pers = tiny_personality;
	struct hca_counters c;
	struct pair p;
	uint16_t a;

	pers.sq_record_rules = true;
	pair_new_family(&p, &pers, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	a = put_inline(&p, 100);
	p.qp[0]->rec->sq_pi = htobe32(a);
	push(&p, 0, a, 0, 176, 8);
	fixture_run(p.fixture);
	fixture_expect_none(p.scq[0]);
	hca_counters(p.fixture->hca[0], &c);
	CU_ASSERT_EQUAL(c.bf_pushes, 1);
	ring_with_record(p.qp[0], p.qp[0]->pi);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK).wqe_index, a);
	p.fixture->dma = forbid_wqe_reads;
	push(&p, 0, put_inline(&p, 100), 0, 176, 8);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	p.fixture->dma = NULL;
	put_inline(&p, 16);
	untimed_mem_close(p.fixture->u, p.qp[0]->rec);
	ring_with_record(p.qp[0], 0);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	pair_free(&p);
}

/* Posts some WQEs with several doorbells, and lets the adapter work in between. Returns how many. */
static unsigned int post_some(struct pair *p, uint16_t *index)
{
	unsigned int i, n = 1 + (unsigned int)(fixture_random(p->fixture) % 40);

	for (i = 0; i < n; i++) {
		index[i] = put_inline(p, 1 + (uint32_t)(fixture_random(p->fixture) % 176));
		if (fixture_random(p->fixture) % 8 == 0) {
			fixture_ring(p->qp[0]);
			untimed_run(p->fixture->u, fixture_random(p->fixture) % 12);
		}
	}
	fixture_ring(p->qp[0]);
	return n;
}

/*
 * WQEs of one to three basic blocks, so that many reads end inside of one, read several at a time, with data that comes in
 * any order: they are executed in the order of the ring. RESET drops what is being read.
 */
static void several_reads(void)
{
	uint16_t index[40];
	unsigned int i, n, round, seed;
	struct pair p;

	for (seed = 1; seed <= 200; seed++) {
		const struct hca_config cfg = {.num_ports = 1,
					       .max_qp = 16,
					       .max_cq = 16,
					       .max_mr = 16,
					       .fetch_depth = 2 + seed % 7,
					       .queue_reads = 1 + seed % 5};

		pair_new(&p, HCASIM_QPT_RC, NULL, &cfg, seed, 4096);
		for (round = 0; round < 10; round++) {
			n = post_some(&p, index);
			fixture_run(p.fixture);
			for (i = 0; i < n; i++)
				CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK).wqe_index,
						index[i]);
			fixture_expect_none(p.scq[0]);
			fixture_cq_sync(p.scq[0]);
		}
		post_some(&p, index);
		untimed_run(p.fixture->u, fixture_random(p.fixture) % 20);
		fixture_state(p.qp[0], HCASIM_QPS_RESET);
		fixture_run(p.fixture);
		pair_free(&p);
	}
}

static void registers(void)
{
	struct fixture *fixture = fixture_new(NULL, 0);
	uint64_t v = 0;
	uint32_t half = 0;

	untimed_advance(fixture->u, 0x123456789abcull);
	hca_mmio_read(fixture->hca[0], TINY_BAR_REGS, TINY_REG_CLOCK_PS, &v, 8);
	CU_ASSERT_EQUAL(v, 0x123456789abcull);
	hca_mmio_read(fixture->hca[0], TINY_BAR_REGS, TINY_REG_CLOCK_PS + 4, &half, 4);
	CU_ASSERT_EQUAL(half, 0x1234);
	hca_mmio_read(fixture->hca[0], TINY_BAR_UAR, 7 * TINY_UAR_PAGE + TINY_UAR_CLOCK, &v, 8);
	CU_ASSERT_EQUAL(v, 0x123456789abcull);
	hca_mmio_read(fixture->hca[0], TINY_BAR_REGS, TINY_REG_CAPS, &v, 8);
	CU_ASSERT_EQUAL(v, 1);
	hca_mmio_read(fixture->hca[0], TINY_BAR_REGS, UINT64_MAX - 2, &v, 8);
	hca_mmio_read(fixture->hca[0], TINY_BAR_REGS, 0x9000, &v, 8);
	CU_ASSERT_EQUAL(v, 0);
	fixture_free(fixture);
}

const struct test doorbell_tests[] = {
	{"BlueFlame", blueflame},
	{"BlueFlame order", blueflame_order},
	{"mixed BlueFlame", blueflame_mixed},
	{"torn BlueFlame", torn},
	{"nonsense", nonsense},
	{"FIFO overflow", overflow},
	{"poisoned", poisoned},
	{"record rules", record_rules},
	{"record rules pushes", record_rules_pushes},
	{"several reads", several_reads},
	{"registers", registers},
	{NULL, NULL},
};
