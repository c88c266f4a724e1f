// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Payload that is in the completion instead of memory. */
#include "fixture.h"

#define LIMIT 8
#define LAST  56 /* offset in memory: its bytes differ from those at 0 */

static unsigned int payload_writes[2]; /* of each side */

static bool count(struct fixture *fixture, unsigned int side, const struct hca_dma *dma)
{
	payload_writes[side] +=
		dma->write && (dma->class_ == HCA_DMA_PAYLOAD || dma->class_ == HCA_DMA_ATOMIC);
	return true;
}

static void begin(struct pair *p, uint8_t type, const struct fixture_path *path)
{
	fixture_inline = LIMIT;
	pair_new(p, type, path, NULL, 0, 4096);
	fixture_inline = 0;
	p->fixture->dma = count;
	payload_writes[0] = payload_writes[1] = 0;
}

static struct tiny_cqe receive(struct pair *p, uint32_t len)
{
	struct hca_sge sge = fixture_sge(p->mem[1], 4096, p->key[1]);

	fixture_recv(p->qp[1], &sge, 1);
	fixture_send(p->qp[0], HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED, fixture_sge(p->mem[0], len, p->key[0]), 0,
		     0);
	fixture_run(p->fixture);
	fixture_expect(p->scq[0], HCASIM_CQE_STATUS_OK);
	return fixture_expect(p->rcq[1], HCASIM_CQE_STATUS_OK);
}

static void receives_of(uint8_t type)
{
	uint8_t before[LIMIT + 1];
	struct tiny_cqe c;
	struct pair p;

	begin(&p, type, NULL);
	memcpy(before, p.mem[1], sizeof(before));
	c = receive(&p, 0);
	CU_ASSERT_EQUAL(c.payload_len, 0);
	c = receive(&p, LIMIT);
	CU_ASSERT_EQUAL(c.payload_len, LIMIT);
	CU_ASSERT_EQUAL(c.byte_count, LIMIT);
	CU_ASSERT_EQUAL(memcmp(&c.tm_tag, p.mem[0], LIMIT), 0);
	CU_ASSERT_EQUAL(memcmp(p.mem[1], before, sizeof(before)), 0);
	CU_ASSERT_EQUAL(payload_writes[1], 0);
	c = receive(&p, LIMIT + 1);
	CU_ASSERT_EQUAL(c.payload_len, 0);
	CU_ASSERT_EQUAL(memcmp(p.mem[1], p.mem[0], LIMIT + 1), 0);
	CU_ASSERT_EQUAL(payload_writes[1], 1);
	pair_free(&p);
}

static void receives(void)
{
	receives_of(HCASIM_QPT_RC);
	receives_of(HCASIM_QPT_UC);
}

/* The last packet of a long message is short, but not alone. */
static void long_message(void)
{
	struct fixture_path path = {.mtu = 1};
	struct tiny_cqe c;
	struct pair p;

	begin(&p, HCASIM_QPT_RC, &path);
	c = receive(&p, 256 + 4);
	CU_ASSERT_EQUAL(c.payload_len, 0);
	CU_ASSERT_EQUAL(memcmp(p.mem[1], p.mem[0], 256 + 4), 0);
	pair_free(&p);
}

/* RDMA WRITE with immediate data takes a receive, but its payload goes to the address that it names. */
static void writes(void)
{
	struct hca_sge none;
	struct tiny_cqe c;
	struct pair p;

	begin(&p, HCASIM_QPT_RC, NULL);
	none = fixture_sge(NULL, 0, 0);
	fixture_recv(p.qp[1], &none, 1);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE_IMM, HCA_WR_SIGNALED,
		     fixture_sge(p.mem[0], LIMIT, p.key[0]), (uintptr_t)p.mem[1] + LAST, p.key[1]);
	fixture_run(p.fixture);
	c = fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.payload_len, 0);
	CU_ASSERT_EQUAL(memcmp(p.mem[1] + LAST, p.mem[0], LIMIT), 0);
	pair_free(&p);
}

/* Keys and lengths are checked as if the payload were written. */
static void refused_receive(uint32_t room, uint32_t key_of, uint8_t status)
{
	struct hca_sge sge;
	struct pair p;

	begin(&p, HCASIM_QPT_RC, NULL);
	sge = fixture_sge(p.mem[1], room, p.key[1] ^ key_of);
	fixture_recv(p.qp[1], &sge, 1);
	fixture_send(p.qp[0], HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED, fixture_sge(p.mem[0], LIMIT, p.key[0]), 0,
		     0);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(fixture_expect(p.rcq[1], status).payload_len, 0);
	pair_free(&p);
}

static void refused_receives(void)
{
	refused_receive(LIMIT - 1, 0, HCASIM_CQE_STATUS_LOC_LEN_ERR);
	refused_receive(LIMIT, 0x100, HCASIM_CQE_STATUS_LOC_PROT_ERR);
}

static void put(struct pair *p, uint8_t op, uint32_t flags, uint32_t len, uint64_t at)
{
	const struct tiny_wqe w = {.op = op,
				   .flags = flags,
				   .remote_addr = (uintptr_t)p->mem[1] + at,
				   .rkey = p->key[1],
				   .swap_add = 1};
	const struct hca_sge sge = fixture_sge(p->mem[0] + at, len, p->key[0]);

	fixture_put(p->qp[0], &w, NULL, &sge, 1);
}

/* Long, unsignaled, short: each result goes where it belongs, although their completions come later. */
static void results(void)
{
	uint8_t before[4096];
	struct tiny_cqe c;
	struct pair p;

	begin(&p, HCASIM_QPT_RC, NULL);
	memcpy(before, p.mem[0], sizeof(before));
	put(&p, HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED, 2000, 1024);
	put(&p, HCASIM_WQE_OP_RDMA_READ, 0, LIMIT, 0);
	put(&p, HCASIM_WQE_OP_RDMA_READ, 0, 0, 0);
	put(&p, HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED, LIMIT, 16);
	put(&p, HCASIM_WQE_OP_ATOMIC_FA, HCA_WR_SIGNALED, 8, 32);
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	c = fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.payload_len, 0);
	CU_ASSERT_EQUAL(memcmp(p.mem[0] + 1024, p.mem[1] + 1024, 2000), 0);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], LIMIT), 0);
	c = fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.payload_len, LIMIT);
	CU_ASSERT_EQUAL(memcmp(&c.tm_tag, p.mem[1] + 16, LIMIT), 0);
	c = fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.payload_len, 8);
	CU_ASSERT_EQUAL(c.tm_tag + 1, *(uint64_t *)(p.mem[1] + 32));
	CU_ASSERT_EQUAL(memcmp(p.mem[0] + 16, before + 16, 32), 0);
	CU_ASSERT_EQUAL(payload_writes[0], 3); /* two packets, and the unsignaled READ */
	pair_free(&p);
}

/* A result whose completion is flushed, and those of READs that come after RESET. */
static void results_lost(void)
{
	struct tiny_cqe c;
	struct pair p;

	begin(&p, HCASIM_QPT_RC, NULL);
	put(&p, HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED, LIMIT, 0);
	put(&p, HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED, LIMIT, 4096); /* out of bounds */
	put(&p, HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED, LIMIT, 16);
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK).payload_len, LIMIT);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_WR_FLUSH_ERR).payload_len, 0);
	fixture_state(p.qp[0], HCASIM_QPS_RESET);
	fixture_state(p.qp[1], HCASIM_QPS_RESET);
	p.qp[0]->pi = 0;
	memset(p.qp[0]->rec, 0, sizeof(*p.qp[0]->rec));
	fixture_connect(p.qp[0], p.qp[1], NULL);
	put(&p, HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED, LIMIT, 24);
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	c = fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.payload_len, LIMIT);
	CU_ASSERT_EQUAL(memcmp(&c.tm_tag, p.mem[1] + 24, LIMIT), 0);
	pair_free(&p);
}

/* A READ whose response is lost is repeated; a result is kept once. */
static enum untimed_fate lose_one(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	return from == 1 && !fixture->n++ ? UNTIMED_DROP : UNTIMED_DELIVER;
}

static void results_repeated(void)
{
	struct tiny_cqe c;
	struct pair p;
	int i;

	begin(&p, HCASIM_QPT_RC, NULL);
	p.fixture->wire = lose_one;
	for (i = 0; i < 3; i++)
		put(&p, HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED, LIMIT, 8u * i);
	fixture_ring(p.qp[0]);
	fixture_settle(p.fixture, 3000 * MS);
	for (i = 0; i < 3; i++) {
		c = fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
		CU_ASSERT_EQUAL(memcmp(&c.tm_tag, p.mem[1] + 8 * i, LIMIT), 0);
	}
	CU_ASSERT_EQUAL(payload_writes[0], 0);
	pair_free(&p);
}

const struct test payload_tests[] = {{"receives", receives},
				     {"long message", long_message},
				     {"writes with immediate data", writes},
				     {"refused receives", refused_receives},
				     {"results", results},
				     {"lost results", results_lost},
				     {"repeated results", results_repeated},
				     {NULL, NULL}};
