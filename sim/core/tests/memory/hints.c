// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Hints of regions: which transfers carry them, and with whom those do not share one. */
#include "fixture.h"

#define LEN 4096

static const struct hca_tph one = {.on = true, .ph = 1, .st = 4}, other = {.on = true, .ph = 1, .st = 6};

static uint32_t hinted(struct pair *p, unsigned int side, struct hca_tph tph)
{
	struct hca_mr_attr a = {.pdn = FIXTURE_PD,
				.access = FIXTURE_ALL,
				.pasid = FIXTURE_PASID,
				.va = (uintptr_t)p->mem[side],
				.iova = (uintptr_t)p->mem[side],
				.length = LEN,
				.tph = tph};
	uint32_t key;

	CU_ASSERT_EQUAL_FATAL(hca_mr_create(p->fixture->hca[side], &a, &key), 0);
	return key;
}

/* n: transfers with a hint, m: tags of all of them, one after the other. */
static bool note(struct fixture *fixture, unsigned int side, const struct hca_dma *d)
{
	CU_ASSERT_TRUE(!d->tph.on || d->class_ == HCA_DMA_PAYLOAD || d->class_ == HCA_DMA_ATOMIC);
	if (d->tph.on) {
		fixture->n++;
		fixture->m = fixture->m * 10 + d->tph.st;
	}
	return true;
}

static void lists(void)
{
	struct tiny_wqe t = {.op = HCASIM_WQE_OP_RDMA_WRITE, .flags = HCA_WR_SIGNALED};
	struct hca_sge sge[4];
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, LEN);
	p.fixture->dma = note;
	t.remote_addr = (uintptr_t)p.mem[1];
	t.rkey = p.key[1];
	sge[0] = fixture_sge(p.mem[0], 64, hinted(&p, 0, one));
	sge[1] = fixture_sge(p.mem[0] + 64, 64, sge[0].lkey);
	sge[2] = fixture_sge(p.mem[0] + 128, 64, hinted(&p, 0, other));
	sge[3] = fixture_sge(p.mem[0] + 192, 64, p.key[0]);
	fixture_put(p.qp[0], &t, NULL, sge, 4);
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], 256), 0);
	CU_ASSERT_EQUAL(p.fixture->n, 2); /* the first two share one, the last has none */
	CU_ASSERT_EQUAL(p.fixture->m, 46);
	pair_free(&p);
}

/* An atomic is a read and a write of the target. */
static void targets(void)
{
	struct tiny_wqe t = {.op = HCASIM_WQE_OP_ATOMIC_FA, .flags = HCA_WR_SIGNALED, .swap_add = 1};
	struct hca_sge sge;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, LEN);
	p.fixture->dma = note;
	t.remote_addr = (uintptr_t)p.mem[1];
	t.rkey = hinted(&p, 1, one);
	sge = fixture_sge(p.mem[0], 8, p.key[0]);
	fixture_put(p.qp[0], &t, NULL, &sge, 1);
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(p.fixture->n, 2);
	pair_free(&p);
}

static bool note_relaxed(struct fixture *fixture, unsigned int side, const struct hca_dma *d)
{
	CU_ASSERT_TRUE(!d->relaxed || d->class_ == HCA_DMA_PAYLOAD);
	fixture->n += d->relaxed;
	return true;
}

/* A region with relaxed ordering shares no transfer with one without. */
static void relaxed(void)
{
	struct tiny_wqe t = {.op = HCASIM_WQE_OP_RDMA_WRITE, .flags = HCA_WR_SIGNALED};
	struct hca_mr_attr a = {.pdn = FIXTURE_PD,
				.access = FIXTURE_ALL | HCASIM_ACCESS_RELAXED_ORDERING,
				.pasid = FIXTURE_PASID,
				.length = LEN};
	struct hca_sge sge[2];
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, LEN);
	p.fixture->dma = note_relaxed;
	a.va = a.iova = (uintptr_t)p.mem[0];
	sge[0] = fixture_sge(p.mem[0], 64, p.key[0]);
	sge[1] = fixture_sge(p.mem[0] + 64, 64, 0);
	CU_ASSERT_EQUAL_FATAL(hca_mr_create(p.fixture->hca[0], &a, &sge[1].lkey), 0);
	t.remote_addr = (uintptr_t)p.mem[1];
	t.rkey = p.key[1];
	fixture_put(p.qp[0], &t, NULL, sge, 2);
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], 128), 0);
	CU_ASSERT_EQUAL(p.fixture->n, 1);
	pair_free(&p);
}

const struct test hint_tests[] = {
	{"lists", lists},
	{"targets", targets},
	{"relaxed", relaxed},
	{NULL, NULL},
};
