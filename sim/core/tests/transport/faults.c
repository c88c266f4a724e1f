// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reliable connections on a bad wire: what is delivered is exact whatever is lost, doubled or out of order. */

#include "fixture.h"

static uint32_t rd_out(struct pair *p, unsigned int side)
{
	struct hca *hca = p->fixture->hca[side];
	struct engine_state s;

	hca->eng->state(hca->engine, p->qp[side]->qpn, &s);
	return s.rd_out;
}

static enum untimed_fate bad_wire(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	switch (fixture_random(fixture) % fixture->n) {
	case 0:
		return UNTIMED_DROP;
	case 1:
		return UNTIMED_TWICE;
	case 2:
		return UNTIMED_LATE;
	case 3: /* a bit flips: the ICRC notices */
		pkt->data[42 + fixture_random(fixture) % (pkt->len - 42)] ^= 0x10;
		return UNTIMED_DELIVER;
	default:
		return UNTIMED_DELIVER;
	}
}

#define OPS 40

/* Random work in both directions, each operation with memory of its own. */
static void post_work(struct pair *p, unsigned int side, const uint8_t *op, const uint32_t *len)
{
	unsigned int i;

	for (i = 0; i < OPS; i++) {
		uint8_t *local = p->mem[side] + i * 4096, *remote = p->mem[!side] + (OPS + i) * 4096;
		struct tiny_wqe w = {.op = op[i],
				     .flags = HCA_WR_SIGNALED,
				     .remote_addr = (uintptr_t)remote,
				     .rkey = p->key[!side],
				     .swap_add = 1};
		struct hca_sge sge = fixture_sge(local, len[i], p->key[side]), into;

		if (op[i] == HCASIM_WQE_OP_ATOMIC_FA) { /* all count on one word */
			w.remote_addr = (uintptr_t)p->mem[!side] + 2 * OPS * 4096;
			sge.length = 8;
		}
		into = fixture_sge(remote, len[i], p->key[!side]);
		if (op[i] == HCASIM_WQE_OP_SEND || op[i] == HCASIM_WQE_OP_RDMA_WRITE_IMM)
			fixture_recv(p->qp[!side], &into, 1);
		fixture_put(p->qp[side], &w, NULL, &sge, 1);
	}
	fixture_ring(p->qp[side]);
}

static void check_work(struct pair *p, unsigned int side, const uint8_t *op, const uint32_t *len)
{
	uint64_t counter, count = 0, got;
	unsigned int i;

	for (i = 0; i < OPS; i++) {
		uint8_t *local = p->mem[side] + i * 4096, *remote = p->mem[!side] + (OPS + i) * 4096;

		fixture_expect(p->scq[side], HCASIM_CQE_STATUS_OK);
		if (op[i] == HCASIM_WQE_OP_SEND || op[i] == HCASIM_WQE_OP_RDMA_WRITE_IMM)
			CU_ASSERT_EQUAL(fixture_expect(p->rcq[!side], HCASIM_CQE_STATUS_OK).byte_count,
					len[i]);
		if (op[i] == HCASIM_WQE_OP_ATOMIC_FA) {
			memcpy(&got, local, 8);
			CU_ASSERT_EQUAL(got, count);
			count++;
		} else if (op[i] != HCASIM_WQE_OP_NOP) {
			CU_ASSERT_EQUAL(memcmp(local, remote, len[i]), 0);
		}
	}
	memcpy(&counter, p->mem[!side] + 2 * OPS * 4096, 8);
	CU_ASSERT_EQUAL(counter, count);
	CU_ASSERT_EQUAL(rd_out(p, side), 0);
	fixture_expect_none(p->scq[side]);
	fixture_expect_none(p->rcq[!side]);
}

static void run_bad_wire(uint64_t seed, unsigned int odds, const struct hca_config *cfg)
{
	static const uint8_t choice[] = {HCASIM_WQE_OP_SEND,           HCASIM_WQE_OP_RDMA_WRITE,
					 HCASIM_WQE_OP_RDMA_WRITE_IMM, HCASIM_WQE_OP_RDMA_READ,
					 HCASIM_WQE_OP_ATOMIC_FA,      HCASIM_WQE_OP_NOP};
	struct fixture_path path = {.mtu = (uint8_t)(1 + seed % 5), .psn = 0xffffe0, .timeout = 1};
	uint8_t op[2][OPS];
	uint32_t len[2][OPS];
	unsigned int i, side;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, cfg, seed, (2 * OPS + 1) * 4096);
	p.fixture->wire = bad_wire;
	p.fixture->n = odds;
	for (side = 0; side < 2; side++) {
		memset(p.mem[side] + 2 * OPS * 4096, 0, 8);
		for (i = 0; i < OPS; i++) {
			op[side][i] = choice[fixture_random(p.fixture) % sizeof(choice)];
			len[side][i] = (uint32_t)(fixture_random(p.fixture) % 4097);
		}
	}
	post_work(&p, 0, op[0], len[0]);
	post_work(&p, 1, op[1], len[1]);
	fixture_settle(p.fixture, 100000 * MS);
	check_work(&p, 0, op[0], len[0]);
	check_work(&p, 1, op[1], len[1]);
	pair_free(&p);
}

static void random_faults(void)
{
	struct hca_config posted = {
		.num_ports = 1, .max_qp = 4, .max_cq = 8, .max_mr = 8, .max_rd_atomic = 4};
	uint64_t seed;

	for (seed = 1; seed <= 60; seed++)
		run_bad_wire(seed, 12 + seed % 40, seed & 1 ? &posted : NULL);
}

/* Drops the first frame with a given opcode. */
static enum untimed_fate drop_once(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	if (fixture->m || pkt->data[42] != fixture->n)
		return UNTIMED_DELIVER;
	fixture->m = 1;
	return UNTIMED_DROP;
}

static void lose(uint8_t op, uint8_t opcode, uint32_t len, struct hca_counters *counters)
{
	struct fixture_path path = {.mtu = 1, .timeout = 10};
	struct hca_sge into;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 8192);
	p.fixture->wire = drop_once;
	p.fixture->n = opcode;
	into = fixture_sge(p.mem[1], 8192, p.key[1]);
	fixture_recv(p.qp[1], &into, 1);
	fixture_send(p.qp[0], op, HCA_WR_SIGNALED, fixture_sge(p.mem[0], len, p.key[0]), (uintptr_t)p.mem[1],
		     p.key[1]);
	fixture_settle(p.fixture, 1000 * MS);
	CU_ASSERT_EQUAL(p.fixture->m, 1);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], len), 0);
	hca_counters(p.fixture->hca[0], counters);
	pair_free(&p);
}

static void single_losses(void)
{
	struct hca_counters c;

	lose(HCASIM_WQE_OP_SEND, HCASIM_BTH_OP_RC_SEND_MIDDLE, 2000, &c);
	CU_ASSERT_EQUAL(c.packet_seq_err, 1);
	CU_ASSERT_EQUAL(c.local_ack_timeout_err, 0);
	lose(HCASIM_WQE_OP_SEND, HCASIM_BTH_OP_RC_SEND_LAST, 2000, &c);
	CU_ASSERT_EQUAL(c.local_ack_timeout_err, 1);
	lose(HCASIM_WQE_OP_RDMA_WRITE, HCASIM_BTH_OP_RC_ACKNOWLEDGE, 2000, &c);
	CU_ASSERT_EQUAL(c.local_ack_timeout_err, 1);
	lose(HCASIM_WQE_OP_RDMA_READ, HCASIM_BTH_OP_RC_RDMA_READ_REQUEST, 2000, &c);
	CU_ASSERT_EQUAL(c.local_ack_timeout_err, 1);
	lose(HCASIM_WQE_OP_RDMA_READ, HCASIM_BTH_OP_RC_RDMA_READ_RESPONSE_MIDDLE, 2000, &c);
	CU_ASSERT_EQUAL(c.local_ack_timeout_err, 0);
	CU_ASSERT_EQUAL(c.retransmissions, 1);
	lose(HCASIM_WQE_OP_RDMA_READ, HCASIM_BTH_OP_RC_RDMA_READ_RESPONSE_LAST, 2000, &c);
	CU_ASSERT_EQUAL(c.local_ack_timeout_err, 1);
}

/* What the peer says is kept back; READ requests are counted. */
#define KEPT 2
static struct hca_packet *kept[KEPT];

static enum untimed_fate keep_answers(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	if (!from) {
		fixture->m += pkt->data[42] == HCASIM_BTH_OP_RC_RDMA_READ_REQUEST;
		return UNTIMED_DELIVER;
	}
	if (fixture->n == KEPT)
		return UNTIMED_DELIVER;
	kept[fixture->n++] = hca_packet_dup(pkt);
	return UNTIMED_DROP;
}

static void post_write_nop_read(struct pair *p)
{
	struct tiny_wqe nop = {.op = HCASIM_WQE_OP_NOP, .flags = HCA_WR_SIGNALED};

	fixture_send(p->qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED,
		     fixture_sge(p->mem[0], 64, p->key[0]), (uintptr_t)p->mem[1], p->key[1]);
	fixture_put(p->qp[0], &nop, NULL, NULL, 0);
	fixture_send(p->qp[0], HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED,
		     fixture_sge(p->mem[0] + 64, 64, p->key[0]), (uintptr_t)p->mem[1], p->key[1]);
}

/*
 * The answers come when all was just about to be sent again. What has been answered then is not asked for once
 * more, nor counted as an outstanding READ, whatever local operations stand between.
 */
static void late_answers(void)
{
	struct fixture_path path = {.timeout = 8, .rd_atomic = 1};
	unsigned int i;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 4096);
	p.fixture->wire = keep_answers;
	post_write_nop_read(&p);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(p.fixture->n, KEPT);
	CU_ASSERT_EQUAL(p.fixture->m, 1);
	untimed_advance(p.fixture->u, untimed_next_timer(p.fixture->u)); /* the timeout */
	for (i = 0; i < KEPT; i++)
		hca_rx(p.fixture->hca[0], 1, kept[i]);
	for (i = 0; i < KEPT; i++)
		hca_stage_step(p.fixture->hca[0], HCA_STAGE_RX);
	fixture_run(p.fixture);
	for (i = 0; i < 3; i++)
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(p.fixture->m, 1);
	CU_ASSERT_EQUAL(rd_out(&p, 0), 0);
	pair_free(&p);
}

static enum untimed_fate drop_all(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	return UNTIMED_DROP;
}

static void retries_exhausted(void)
{
	struct fixture_path path = {.timeout = 8, .retry = 3};
	struct hca_counters c;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 4096);
	p.fixture->wire = drop_all;
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, 0, fixture_sge(p.mem[0], 64, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, 0, fixture_sge(p.mem[0], 64, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	/* 4.096 us * 2^8 for the first and each of three more: 4.19 ms */
	fixture_settle(p.fixture, 4 * MS);
	fixture_expect_none(p.scq[0]);
	fixture_settle(p.fixture, MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_RETRY_EXC_ERR);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(fixture_query(p.qp[0]), HCASIM_QPS_ERR);
	hca_counters(p.fixture->hca[0], &c);
	CU_ASSERT_EQUAL(c.local_ack_timeout_err, 3); /* each followed by a retry */
	CU_ASSERT_EQUAL(c.tx_packets, 8);
	pair_free(&p);
}

static void no_timeout(void)
{
	struct fixture_path path = {.timeout = 255};
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 4096);
	p.fixture->wire = drop_all;
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, 0, fixture_sge(p.mem[0], 64, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(untimed_next_timer(p.fixture->u), HCA_PS_NEVER);
	pair_free(&p);
}

static void no_timer_when_idle(void)
{
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, 0, fixture_sge(p.mem[0], 64, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(untimed_next_timer(p.fixture->u), HCA_PS_NEVER);
	pair_free(&p);
}

static void rnr(void)
{
	struct fixture_path path = {.rnr_timer = 12 /* 0.64 ms */};
	struct hca_counters c;
	struct hca_sge sge;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 4096);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, 0, fixture_sge(p.mem[0], 8, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_send(p.qp[0], HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 64, p.key[0]), 0, 0);
	fixture_send(p.qp[0], HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED, fixture_sge(p.mem[0] + 64, 64, p.key[0]),
		     0, 0);
	fixture_settle(p.fixture, 20 * MS); /* infinite */
	fixture_expect_none(p.scq[0]);
	hca_counters(p.fixture->hca[0], &c);
	CU_ASSERT_TRUE(c.rnr_nak_retry_err >= 20 && c.rnr_nak_retry_err <= 32);
	CU_ASSERT_EQUAL(c.packet_seq_err, 0);
	CU_ASSERT_EQUAL(c.local_ack_timeout_err, 0);
	sge = fixture_sge(p.mem[1] + 1024, 64, p.key[1]);
	fixture_recv(p.qp[1], &sge, 1);
	sge = fixture_sge(p.mem[1] + 1088, 64, p.key[1]);
	fixture_recv(p.qp[1], &sge, 1);
	fixture_settle(p.fixture, MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1] + 1024, 128), 0);
	pair_free(&p);
}

static void rnr_exhausted(void)
{
	struct fixture_path path = {.rnr_timer = 1, .rnr_retry = 2};
	struct hca_counters c;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 4096);
	fixture_send(p.qp[0], HCASIM_WQE_OP_SEND, 0, fixture_sge(p.mem[0], 64, p.key[0]), 0, 0);
	fixture_settle(p.fixture, MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_RNR_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(fixture_query(p.qp[0]), HCASIM_QPS_ERR);
	CU_ASSERT_EQUAL(fixture_query(p.qp[1]), HCASIM_QPS_RTS);
	hca_counters(p.fixture->hca[0], &c);
	CU_ASSERT_EQUAL(c.rnr_nak_retry_err, 2);
	pair_free(&p);
}

static enum untimed_fate drop_every_other(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	return !from && fixture->n++ & 1 ? UNTIMED_DROP : UNTIMED_DELIVER;
}

/* A peer that says again and again that it is not ready is there: losses in between do not add up. */
static void rnr_and_losses(void)
{
	struct fixture_path path = {.rnr_timer = 1, .timeout = 8, .retry = 3};
	struct hca_counters c;
	struct hca_sge into;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 4096);
	p.fixture->wire = drop_every_other;
	fixture_send(p.qp[0], HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 64, p.key[0]), 0, 0);
	fixture_settle(p.fixture, 20 * MS);
	fixture_expect_none(p.scq[0]);
	hca_counters(p.fixture->hca[0], &c);
	CU_ASSERT_TRUE(c.local_ack_timeout_err > 8 && c.rnr_nak_retry_err > 8);
	into = fixture_sge(p.mem[1], 64, p.key[1]);
	fixture_recv(p.qp[1], &into, 1);
	fixture_settle(p.fixture, 20 * MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	pair_free(&p);
}

/* A write with immediate that meets an empty receive queue has not written before it is ready. */
static void rnr_write_imm(void)
{
	struct fixture_path path = {.rnr_timer = 1, .mtu = 1};
	struct hca_sge sge;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 4096);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE_IMM, HCA_WR_SIGNALED,
		     fixture_sge(p.mem[0], 1000, p.key[0]), (uintptr_t)p.mem[1], p.key[1]);
	fixture_settle(p.fixture, MS);
	fixture_expect_none(p.scq[0]);
	sge = fixture_sge(NULL, 0, 0);
	fixture_recv(p.qp[1], &sge, 0);
	fixture_settle(p.fixture, MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK).op, HCASIM_CQE_OP_RECV_WRITE_IMM);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], 1000), 0);
	pair_free(&p);
}

const struct test fault_tests[] = {
	{"random faults, exact delivery", random_faults},
	{"late answers, local operations", late_answers},
	{"single losses", single_losses},
	{"retries exhausted", retries_exhausted},
	{"timeout 0 waits for ever", no_timeout},
	{"no timer when idle", no_timer_when_idle},
	{"RNR", rnr},
	{"RNR retries exhausted", rnr_exhausted},
	{"RNR and losses", rnr_and_losses},
	{"RNR of a write with immediate", rnr_write_imm},
	{NULL, NULL},
};
