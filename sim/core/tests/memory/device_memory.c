// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Device memory: through its BAR, as a local buffer and as a remote one, alone and with host memory. */
#include "fixture.h"

#define LEN  8192
#define AT   4096u /* where the region begins in the memory */
#define SIZE 8192u

struct world {
	struct pair p;
	uint32_t key[2]; /* of a region of device memory on each side: zero based */
};

static uint32_t dm_mr(struct fixture *fixture, unsigned int side, uint64_t offset, uint64_t len,
		      uint32_t access)
{
	struct hca_mr_attr a = {
		.pdn = FIXTURE_PD, .access = access, .pasid = HCA_PASID_DEVICE, .va = offset, .length = len};
	uint32_t key;

	CU_ASSERT_EQUAL_FATAL(hca_mr_create(fixture->hca[side], &a, &key), 0);
	return key;
}

static void put(struct world *w, unsigned int side, uint32_t offset, const void *data, uint32_t len)
{
	uint32_t at;

	for (at = 0; at < len; at += 8)
		hca_mmio_write(w->p.fixture->hca[side], TINY_BAR_DM, AT + offset + at,
			       (const uint8_t *)data + at, len - at < 8 ? len - at : 8);
}

static bool same(struct world *w, unsigned int side, uint32_t offset, const void *data, uint32_t len)
{
	uint8_t now[LEN];

	hca_mmio_read(w->p.fixture->hca[side], TINY_BAR_DM, AT + offset, now, len);
	return !memcmp(now, data, len);
}

static void world_new(struct world *w, uint8_t type)
{
	memset(w, 0, sizeof(*w));
	pair_new(&w->p, type, NULL, NULL, 1, LEN);
	for (unsigned int i = 0; i < 2; i++) {
		w->key[i] = dm_mr(w->p.fixture, i, AT, SIZE, FIXTURE_ALL);
		fixture_fill(w->p.mem[i], LEN, 20 + i);
	}
}

static void done(struct world *w, uint8_t status)
{
	fixture_run(w->p.fixture);
	fixture_expect(w->p.scq[0], status);
}

static struct hca_sge dm_sge(const struct world *w, unsigned int side, uint64_t addr, uint32_t len)
{
	return (struct hca_sge){.addr = addr, .length = len, .lkey = w->key[side]};
}

static void bar(void)
{
	const uint64_t end = TINY_DM_SIZE;
	uint8_t in[16], out[16];
	struct world w;
	struct hca *hca;

	world_new(&w, HCASIM_QPT_RC);
	hca = w.p.fixture->hca[0];
	fixture_fill(in, sizeof(in), 3);
	hca_mmio_write(hca, TINY_BAR_DM, end - 8, in, 16);
	hca_mmio_read(hca, TINY_BAR_DM, end - 8, out, 16);
	CU_ASSERT_EQUAL(memcmp(in, out, 8), 0);
	memset(in, 0, sizeof(in)); /* behind the end there is nothing */
	CU_ASSERT_EQUAL(memcmp(in, out + 8, 8), 0);
	hca_mmio_write(hca, TINY_BAR_DM, end, in, 16);
	hca_mmio_write(hca, TINY_BAR_DM, UINT64_MAX - 7, in, 16);
	hca_mmio_read(hca, TINY_BAR_DM, UINT64_MAX - 7, out, 16);
	CU_ASSERT_EQUAL(memcmp(in, out, 16), 0);
	hca_dm_clear(hca, end - 4096, 4096);
	hca_mmio_read(hca, TINY_BAR_DM, end - 8, out, 8);
	CU_ASSERT_EQUAL(memcmp(in, out, 8), 0);
	pair_free(&w.p);
}

static void regions(void)
{
	struct hca_mr_attr a = {.pdn = FIXTURE_PD, .pasid = HCA_PASID_DEVICE, .va = TINY_DM_SIZE};
	struct world w;
	struct hca *hca;
	uint32_t key;

	world_new(&w, HCASIM_QPT_RC);
	hca = w.p.fixture->hca[0];
	CU_ASSERT_EQUAL(hca_mr_create(hca, &a, &key), 0); /* of no bytes */
	a.length = 1;
	CU_ASSERT_EQUAL(hca_mr_create(hca, &a, &key), -EINVAL);
	a.va = 1;
	a.length = TINY_DM_SIZE;
	CU_ASSERT_EQUAL(hca_mr_create(hca, &a, &key), -EINVAL);
	a.va = UINT64_MAX;
	a.length = 1;
	CU_ASSERT_EQUAL(hca_mr_create(hca, &a, &key), -EINVAL);
	pair_free(&w.p);
}

/* Device memory at both ends: no payload crosses PCIe. */
static bool count_payload(struct fixture *fixture, unsigned int side, const struct hca_dma *d)
{
	if (d->class_ == HCA_DMA_PAYLOAD && d->pasid != HCA_PASID_DEVICE)
		fixture->n++;
	return true;
}

static void write_and_read(void)
{
	struct world w;

	world_new(&w, HCASIM_QPT_RC);
	w.p.fixture->dma = count_payload;
	put(&w, 0, 8, w.p.mem[0], 5000);
	fixture_send(w.p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, dm_sge(&w, 0, 8, 5000), 100,
		     w.key[1]);
	done(&w, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_TRUE(same(&w, 1, 100, w.p.mem[0], 5000));
	put(&w, 1, 0, w.p.mem[1], 5000);
	fixture_send(w.p.qp[0], HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED, dm_sge(&w, 0, 16, 5000), 0,
		     w.key[1]);
	done(&w, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_TRUE(same(&w, 0, 16, w.p.mem[1], 5000));
	CU_ASSERT_EQUAL(w.p.fixture->n, 0);
	pair_free(&w.p);
}

/* The packet's bytes go to host and device memory in turn; whichever is done last, all are in their places. */
static void mixed_lists(void)
{
	struct hca_sge from[3], to[3];
	struct tiny_wqe t = {.op = HCASIM_WQE_OP_SEND, .flags = HCA_WR_SIGNALED};
	uint8_t whole[3000];
	struct world w;

	for (unsigned int first = 0; first < 2; first++) { /* which kind is first and last */
		world_new(&w, HCASIM_QPT_RC);
		fixture_fill(whole, sizeof(whole), 9);
		for (uint32_t i = 0; i < 3; i++) {
			const bool dm = i % 2 == first;

			from[i] = dm ? dm_sge(&w, 0, 1000 * i, 1000)
				     : fixture_sge(w.p.mem[0] + 1000 * i, 1000, w.p.key[0]);
			to[i] = dm ? dm_sge(&w, 1, 1000 * i, 1000)
				   : fixture_sge(w.p.mem[1] + 1000 * i, 1000, w.p.key[1]);
			if (dm)
				put(&w, 0, 1000 * i, whole + 1000 * i, 1000);
			else
				memcpy(w.p.mem[0] + 1000 * i, whole + 1000 * i, 1000);
		}
		fixture_recv(w.p.qp[1], to, 3);
		fixture_put(w.p.qp[0], &t, NULL, from, 3);
		fixture_ring(w.p.qp[0]);
		done(&w, HCASIM_CQE_STATUS_OK);
		fixture_expect(w.p.rcq[1], HCASIM_CQE_STATUS_OK);
		for (uint32_t i = 0; i < 3; i++)
			CU_ASSERT_TRUE(i % 2 == first
					       ? same(&w, 1, 1000 * i, whole + 1000 * i, 1000)
					       : !memcmp(w.p.mem[1] + 1000 * i, whole + 1000 * i, 1000));
		pair_free(&w.p);
	}
}

static void atomics(void)
{
	struct tiny_wqe t = {.op = HCASIM_WQE_OP_ATOMIC_FA, .flags = HCA_WR_SIGNALED, .swap_add = 5};
	const uint64_t start = 37, sum = 42, swapped = 99;
	struct hca_sge sge;
	struct world w;

	world_new(&w, HCASIM_QPT_RC);
	put(&w, 1, 64, &start, 8);
	t.remote_addr = 64;
	t.rkey = w.key[1];
	sge = dm_sge(&w, 0, 8, 8);
	fixture_put(w.p.qp[0], &t, NULL, &sge, 1);
	fixture_ring(w.p.qp[0]);
	done(&w, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_TRUE(same(&w, 0, 8, &start, 8));
	CU_ASSERT_TRUE(same(&w, 1, 64, &sum, 8));
	t.op = HCASIM_WQE_OP_ATOMIC_CS;
	t.compare = sum;
	t.swap_add = swapped;
	fixture_put(w.p.qp[0], &t, NULL, &sge, 1);
	fixture_ring(w.p.qp[0]);
	done(&w, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_TRUE(same(&w, 0, 8, &sum, 8));
	CU_ASSERT_TRUE(same(&w, 1, 64, &swapped, 8));
	pair_free(&w.p);
}

static void refused(uint64_t addr, uint32_t len, uint64_t raddr, uint32_t access, uint8_t status)
{
	struct world w;

	world_new(&w, HCASIM_QPT_RC);
	w.key[1] = dm_mr(w.p.fixture, 1, AT, SIZE, access);
	fixture_send(w.p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, dm_sge(&w, 0, addr, len), raddr,
		     w.key[1]);
	done(&w, status);
	pair_free(&w.p);
}

static void bounds_and_rights(void)
{
	refused(SIZE - 8, 8, SIZE - 8, FIXTURE_ALL, HCASIM_CQE_STATUS_OK);
	refused(SIZE - 7, 8, 0, FIXTURE_ALL, HCASIM_CQE_STATUS_LOC_PROT_ERR);
	refused(UINT64_MAX, 8, 0, FIXTURE_ALL, HCASIM_CQE_STATUS_LOC_PROT_ERR);
	refused(0, 8, SIZE - 7, FIXTURE_ALL, HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	refused(0, 8, 0, HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_REMOTE_READ,
		HCASIM_CQE_STATUS_REM_ACCESS_ERR);
}

static uint8_t byte_at(struct hca *hca, uint64_t offset)
{
	uint8_t byte;

	hca_mmio_read(hca, TINY_BAR_DM, offset, &byte, 1);
	return byte;
}

/* Bytes in the ranges behind the memory; accesses of other sizes, or to ranges of other operations, do nothing. */
static void operations(void)
{
	struct hca_personality pers = tiny_personality;
	const uint64_t size = pers.dm.size, add = size, set = 2 * size;
	const uint8_t two[2] = {3, 3};
	struct fixture *fixture;
	uint8_t wide[2];
	struct hca *hca;

	pers.dm_ops = 1u << HCA_DM_OP_ADD | 1u << HCA_DM_OP_TEST_SET;
	fixture = fixture_new_family(&pers, NULL, 1);
	hca = fixture->hca[0];
	hca_mmio_write(hca, TINY_BAR_DM, add + size - 1, two, 1);
	hca_mmio_write(hca, TINY_BAR_DM, add + size - 1, two, 1);
	CU_ASSERT_EQUAL(byte_at(hca, size - 1), 6);
	CU_ASSERT_EQUAL(byte_at(hca, set + size - 1), 6);
	CU_ASSERT_EQUAL(byte_at(hca, set + size - 1), 1);
	hca_mmio_write(hca, TINY_BAR_DM, add, two, 2);
	hca_mmio_write(hca, TINY_BAR_DM, set, two, 1);
	hca_mmio_write(hca, TINY_BAR_DM, 3 * size, two, 1);
	CU_ASSERT_EQUAL(byte_at(hca, 0), 0);
	hca_mmio_read(hca, TINY_BAR_DM, set, wide, 2);
	CU_ASSERT_EQUAL(byte_at(hca, add), 0);
	CU_ASSERT_EQUAL(byte_at(hca, 3 * size), 0);
	CU_ASSERT_EQUAL(byte_at(hca, 0), 0);
	pers.dm_ops = 0;
	hca_mmio_write(hca, TINY_BAR_DM, add, two, 1);
	CU_ASSERT_EQUAL(byte_at(hca, set), 0);
	CU_ASSERT_EQUAL(byte_at(hca, 0), 0);
	fixture_free(fixture);
}

const struct test device_memory_tests[] = {
	{"operations", operations},
	{"through the BAR", bar},
	{"regions", regions},
	{"WRITE and READ", write_and_read},
	{"lists of both kinds of memory", mixed_lists},
	{"atomics", atomics},
	{"bounds and rights", bounds_and_rights},
	{NULL, NULL},
};
