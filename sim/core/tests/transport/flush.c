// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* FLUSH and ATOMIC WRITE (IBTA annex A19): rights, levels, order, the wire, and requests that come twice. */
#include "fixture.h"

#define LEN    8192
#define FLUSHY (FIXTURE_ALL | HCASIM_ACCESS_FLUSH_GLOBAL)

static void put_flush(struct pair *p, uint32_t key, uint64_t off, uint64_t len, uint32_t type, uint32_t level,
		      uint32_t flags)
{
	struct tiny_wqe t = {
		.op = HCASIM_WQE_OP_FLUSH,
		.flags = flags,
		.remote_addr = (uintptr_t)p->mem[1] + off,
		.rkey = key,
		.compare = len,
		.ud_qpn = type,
		.ud_qkey = level,
	};

	fixture_put(p->qp[0], &t, NULL, NULL, 0);
	fixture_ring(p->qp[0]);
}

static void put_value(struct pair *p, uint32_t key, uint64_t off, uint64_t value)
{
	struct tiny_wqe t = {
		.op = HCASIM_WQE_OP_ATOMIC_WRITE,
		.flags = HCA_WR_SIGNALED | HCA_WR_INLINE,
		.remote_addr = (uintptr_t)p->mem[1] + off,
		.rkey = key,
		.num_sge = 8,
	};

	fixture_put(p->qp[0], &t, NULL, &value, 0);
	fixture_ring(p->qp[0]);
}

static void rights(void)
{
	static const struct {
		uint32_t access, type, level;
		uint64_t off, len;
		uint8_t status;
	} t[] = {
		{FLUSHY, HCASIM_FLUSH_TYPE_GLOBAL, HCASIM_FLUSH_LEVEL_RANGE, 0, LEN, HCASIM_CQE_STATUS_OK},
		{FLUSHY, HCASIM_FLUSH_TYPE_GLOBAL, HCASIM_FLUSH_LEVEL_RANGE, 8, 0, HCASIM_CQE_STATUS_OK},
		{FLUSHY, HCASIM_FLUSH_TYPE_GLOBAL, HCASIM_FLUSH_LEVEL_RANGE, 1, LEN,
		 HCASIM_CQE_STATUS_REM_ACCESS_ERR},
		/* Of a whole region, address and length say nothing. */
		{FLUSHY, HCASIM_FLUSH_TYPE_GLOBAL, HCASIM_FLUSH_LEVEL_MR, 1, 2 * LEN, HCASIM_CQE_STATUS_OK},
		{FIXTURE_ALL, HCASIM_FLUSH_TYPE_GLOBAL, HCASIM_FLUSH_LEVEL_MR, 0, 0,
		 HCASIM_CQE_STATUS_REM_ACCESS_ERR},
		{FLUSHY, HCASIM_FLUSH_TYPE_PERSISTENT, HCASIM_FLUSH_LEVEL_RANGE, 0, 8,
		 HCASIM_CQE_STATUS_REM_ACCESS_ERR},
		{FLUSHY, HCASIM_FLUSH_TYPE_PERSISTENT | HCASIM_FLUSH_TYPE_GLOBAL, HCASIM_FLUSH_LEVEL_MR, 0, 8,
		 HCASIM_CQE_STATUS_REM_ACCESS_ERR},
		{FLUSHY, 0, HCASIM_FLUSH_LEVEL_RANGE, 0, 8, HCASIM_CQE_STATUS_REM_INV_REQ_ERR},
		{FLUSHY, 4, HCASIM_FLUSH_LEVEL_RANGE, 0, 8, HCASIM_CQE_STATUS_REM_INV_REQ_ERR},
		{FLUSHY, HCASIM_FLUSH_TYPE_GLOBAL, 2, 0, 8, HCASIM_CQE_STATUS_REM_INV_REQ_ERR},
	};
	struct pair p;
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint32_t key;

		pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, LEN);
		key = fixture_mr(p.fixture, 1, p.mem[1], LEN, t[i].access);
		put_flush(&p, key, t[i].off, t[i].len, t[i].type, t[i].level, HCA_WR_SIGNALED);
		fixture_run(p.fixture);
		CU_ASSERT_EQUAL(fixture_expect(p.scq[0], t[i].status).wqe_op, HCASIM_WQE_OP_FLUSH);
		CU_ASSERT_EQUAL(fixture_query(p.qp[1]), t[i].status ? HCASIM_QPS_ERR : HCASIM_QPS_RTS);
		pair_free(&p);
	}
}

/* The bytes on the wire, by hand: opcode 0x1c, FETH before RETH; the answer is a READ response of no bytes. */
static enum untimed_fate look_at_wire(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	const uint8_t *bth = pkt->data + 14 + 20 + 8;

	if (from == 0 && bth[0] == 0x1c) {
		CU_ASSERT_EQUAL(memcmp(bth + 12, "\0\0\0\x11", 4), 0);   /* MR, GLOBAL */
		CU_ASSERT_EQUAL(memcmp(bth + 28, "\0\0\x01\x23", 4), 0); /* length */
		CU_ASSERT_EQUAL(pkt->len, 14 + 20 + 8 + 12 + 4 + 16 + 4);
		fixture->n++;
	} else if (from == 0 && bth[0] == 0x1d) {
		CU_ASSERT_EQUAL(memcmp(bth + 24, "\0\0\0\x08", 4), 0);
		CU_ASSERT_EQUAL(pkt->len, 14 + 20 + 8 + 12 + 16 + 8 + 4);
		fixture->n++;
	} else if (from == 1 && bth[0] == 0x10) {
		CU_ASSERT_EQUAL(pkt->len, 14 + 20 + 8 + 12 + 4 + 4);
		fixture->m++;
	}
	return UNTIMED_DELIVER;
}

static void wire(void)
{
	uint64_t value = 0x0102030405060708;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, LEN);
	p.fixture->wire = look_at_wire;
	put_flush(&p, fixture_mr(p.fixture, 1, p.mem[1], LEN, FLUSHY), 0, 0x123, HCASIM_FLUSH_TYPE_GLOBAL,
		  HCASIM_FLUSH_LEVEL_MR, HCA_WR_SIGNALED);
	put_value(&p, p.key[1], 16, value);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(p.fixture->n, 2);
	CU_ASSERT_EQUAL(p.fixture->m, 2);
	CU_ASSERT_EQUAL(p.fixture->frames, 4);
	CU_ASSERT_EQUAL(memcmp(p.mem[1] + 16, &value, 8), 0);
	pair_free(&p);
}

/* The answer leaves when what was written before is there, also where acknowledges do not wait for that. */
static struct pair *watched;

static enum untimed_fate landed(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	if (from == 1 && pkt->data[14 + 20 + 8] == 0x10) {
		fixture->n++;
		CU_ASSERT_EQUAL(memcmp(watched->mem[0], watched->mem[1], 4000), 0);
	}
	return UNTIMED_DELIVER;
}

static void order(void)
{
	struct hca_config cfg = {
		.num_ports = 1, .max_qp = 16, .max_cq = 16, .max_mr = 16, .max_mw = 1, .max_rd_atomic = 16};
	struct hca_counters c;
	struct pair p;
	uint64_t seed;

	for (seed = 0; seed < 20; seed++) {
		cfg.acks_after_landing = seed & 1;
		pair_new(&p, HCASIM_QPT_RC, NULL, &cfg, seed, LEN);
		watched = &p;
		p.fixture->wire = landed;
		fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, 0, fixture_sge(p.mem[0], 4000, p.key[0]),
			     (uintptr_t)p.mem[1], p.key[1]);
		put_flush(&p, fixture_mr(p.fixture, 1, p.mem[1], LEN, FLUSHY), 0, 4000,
			  HCASIM_FLUSH_TYPE_GLOBAL, HCASIM_FLUSH_LEVEL_RANGE, HCA_WR_SIGNALED);
		/* What follows is answered behind it: nothing is sent twice. */
		fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED,
			     fixture_sge(p.mem[0] + 4096, 64, p.key[0]), (uintptr_t)p.mem[1] + 4096,
			     p.key[1]);
		fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED,
			     fixture_sge(p.mem[0] + 6000, 64, p.key[0]), (uintptr_t)p.mem[1] + 6000,
			     p.key[1]);
		fixture_run(p.fixture);
		CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK).wqe_op, HCASIM_WQE_OP_FLUSH);
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
		CU_ASSERT_TRUE(p.fixture->n >= 2); /* the FLUSH's, and the READ's */
		hca_counters(p.fixture->hca[0], &c);
		CU_ASSERT_EQUAL(c.retransmissions, 0);
		pair_free(&p);
	}
}

/* PSNs of what comes back never go back. */
static enum untimed_fate ascending(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	uint32_t psn = (uint32_t)pkt->data[51] << 16 | (uint32_t)pkt->data[52] << 8 | pkt->data[53];

	if (from == 1) {
		CU_ASSERT_TRUE(psn_sub(psn, fixture->n) < CORE_PSN_HALF);
		fixture->n = psn;
	}
	return UNTIMED_DELIVER;
}

/*
 * Acknowledges and answers leave in the order of the requests, also where acknowledges do not wait for the data:
 * on a good wire nobody misses one, so nothing times out and nothing is sent twice.
 */
static void answers_in_order(void)
{
	static const uint8_t ops[] = {HCASIM_WQE_OP_RDMA_WRITE, HCASIM_WQE_OP_RDMA_READ,
				      HCASIM_WQE_OP_ATOMIC_FA, HCASIM_WQE_OP_FLUSH};
	struct hca_config cfg = {
		.num_ports = 1, .max_qp = 16, .max_cq = 16, .max_mr = 16, .max_mw = 1, .max_rd_atomic = 16};
	struct fixture_path path = {.mtu = 1};
	struct hca_counters c;
	struct pair p;
	uint64_t seed;
	uint32_t key;
	unsigned int i;

	for (seed = 1; seed <= 2000; seed++) {
		cfg.acks_after_landing = seed & 1;
		pair_new(&p, HCASIM_QPT_RC, &path, &cfg, seed, LEN);
		p.fixture->wire = ascending;
		key = fixture_mr(p.fixture, 1, p.mem[1], LEN, FLUSHY);
		for (i = 0; i < 40; i++) {
			uint8_t op = ops[fixture_random(p.fixture) % sizeof(ops)];
			uint32_t len = op == HCASIM_WQE_OP_ATOMIC_FA ? 8 : fixture_random(p.fixture) % 600;

			if (op == HCASIM_WQE_OP_FLUSH)
				put_flush(&p, key, 0, len, HCASIM_FLUSH_TYPE_GLOBAL, HCASIM_FLUSH_LEVEL_RANGE,
					  HCA_WR_SIGNALED);
			else
				fixture_send(p.qp[0], op, HCA_WR_SIGNALED,
					     fixture_sge(p.mem[0], len, p.key[0]), (uintptr_t)p.mem[1],
					     p.key[1]);
		}
		fixture_run(p.fixture);
		for (i = 0; i < 40; i++)
			fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
		hca_counters(p.fixture->hca[0], &c);
		CU_ASSERT_EQUAL(c.retransmissions, 0);
		CU_ASSERT_EQUAL(c.local_ack_timeout_err, 0);
		pair_free(&p);
	}
}

static void values(void)
{
	static const struct {
		uint64_t off;
		uint32_t qp_access, key_access;
		uint8_t status;
	} t[] = {
		{8, 0, FIXTURE_ALL, HCASIM_CQE_STATUS_OK},
		{LEN - 8, 0, FIXTURE_ALL, HCASIM_CQE_STATUS_OK},
		{4, 0, FIXTURE_ALL, HCASIM_CQE_STATUS_REM_INV_REQ_ERR},
		{LEN, 0, FIXTURE_ALL, HCASIM_CQE_STATUS_REM_ACCESS_ERR},
		{8, 0, FIXTURE_ALL & ~HCASIM_ACCESS_REMOTE_WRITE, HCASIM_CQE_STATUS_REM_ACCESS_ERR},
		{8, HCASIM_ACCESS_REMOTE_READ, FIXTURE_ALL, HCASIM_CQE_STATUS_REM_INV_REQ_ERR},
	};
	uint64_t value = 0x1122334455667788, before;
	struct pair p;
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fixture_path path = {.access = t[i].qp_access};

		pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, LEN + 8);
		memcpy(&before, p.mem[1] + t[i].off, 8);
		put_value(&p, fixture_mr(p.fixture, 1, p.mem[1], LEN, t[i].key_access), t[i].off, value);
		fixture_run(p.fixture);
		fixture_expect(p.scq[0], t[i].status);
		CU_ASSERT_EQUAL(memcmp(p.mem[1] + t[i].off, t[i].status ? &before : &value, 8), 0);
		pair_free(&p);
	}
}

/* The answer is lost: the request comes again, and is answered without being done again. */
static enum untimed_fate lose_answer(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	if (from != 1 || pkt->data[14 + 20 + 8] != 0x10 || fixture->n++)
		return UNTIMED_DELIVER;
	memset(watched->mem[1] + 16, 0x5a, 8); /* somebody writes there meanwhile */
	return UNTIMED_DROP;
}

static void twice(void)
{
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, LEN);
	watched = &p;
	p.fixture->wire = lose_answer;
	put_value(&p, p.key[1], 16, 77);
	fixture_settle(p.fixture, 500 * MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(p.fixture->n, 2);
	CU_ASSERT_EQUAL(p.mem[1][16], 0x5a);
	p.fixture->n = 0;
	put_flush(&p, fixture_mr(p.fixture, 1, p.mem[1], LEN, FLUSHY), 0, 8, HCASIM_FLUSH_TYPE_GLOBAL,
		  HCASIM_FLUSH_LEVEL_RANGE, HCA_WR_SIGNALED);
	fixture_settle(p.fixture, 500 * MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(p.fixture->n, 2);
	pair_free(&p);
}

/* More of them than may be outstanding; and a fence waits for all (erratum FENCE-SCOPE). */
static enum untimed_fate count_open(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	uint8_t op = pkt->data[14 + 20 + 8];

	if (from == 0 && op == 0x1d)
		fixture->n++;
	if (from == 1 && op == 0x10)
		fixture->n--;
	if (from == 0 && op == 0x0a) /* the fenced WRITE */
		CU_ASSERT_EQUAL(fixture->n, 0);
	CU_ASSERT_TRUE(fixture->n <= 4);
	return UNTIMED_DELIVER;
}

static void limits(void)
{
	struct pair p;
	unsigned int i;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 3, LEN);
	p.fixture->wire = count_open;
	for (i = 0; i < 20; i++)
		put_value(&p, p.key[1], 8 * i, i);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED | HCA_WR_FENCE,
		     fixture_sge(p.mem[0], 64, p.key[0]), (uintptr_t)p.mem[1] + 4096, p.key[1]);
	fixture_run(p.fixture);
	for (i = 0; i < 21; i++)
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	for (i = 0; i < 20; i++)
		CU_ASSERT_EQUAL(p.mem[1][8 * i], i);
	pair_free(&p);
}

const struct test flush_tests[] = {
	{"rights, levels, types", rights},
	{"the wire", wire},
	{"FLUSH after the writes before it", order},
	{"answers in order", answers_in_order},
	{"ATOMIC WRITE", values},
	{"lost answers", twice},
	{"outstanding, and fenced", limits},
	{NULL, NULL},
};
