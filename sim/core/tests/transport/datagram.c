// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Unreliable transports: UD with its Q_Key and GRH, UC with its gaps. */
#include "fixture.h"

#define QKEY 0x11223344

static struct hca_av av_to(unsigned int side)
{
	struct hca_av av = {.hop_limit = 9, .traffic_class = 0x5c, .port = 1};

	untimed_gid(side, 1, av.dgid);
	untimed_mac(side, 1, av.dmac);
	return av;
}

static void ud_pair(struct pair *p)
{
	pair_new(p, HCASIM_QPT_UD, NULL, NULL, 0, 8192);
	fixture_ud_up(p->qp[0], QKEY);
	fixture_ud_up(p->qp[1], QKEY);
}

static void ud_send(struct pair *p, uint8_t op, uint32_t flags, uint32_t len, uint32_t qkey)
{
	struct tiny_wqe w = {.op = op, .flags = flags, .ud_qpn = p->qp[1]->qpn, .ud_qkey = qkey, .imm = 77};
	struct hca_sge sge = fixture_sge(p->mem[0], len, p->key[0]);
	struct hca_av av = av_to(1);

	fixture_put(p->qp[0], &w, &av, &sge, 1);
	fixture_ring(p->qp[0]);
	fixture_run(p->fixture);
}

/* An address that is one of another port. */
static void ud_other_port(void)
{
	struct hca_av av = av_to(1);
	struct hca_sge sge;
	struct tiny_cqe c;
	struct pair p;

	for (av.port = 0; av.port < 3; av.port += 2) {
		struct tiny_wqe w = {.op = HCASIM_WQE_OP_SEND, .flags = HCA_WR_SIGNALED, .ud_qkey = QKEY};

		ud_pair(&p);
		w.ud_qpn = p.qp[1]->qpn;
		sge = fixture_sge(p.mem[0], 8, p.key[0]);
		fixture_put(p.qp[0], &w, &av, &sge, 1);
		fixture_ring(p.qp[0]);
		fixture_run(p.fixture);
		c = fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_QP_OP_ERR);
		CU_ASSERT_EQUAL(c.vendor_err, HCASIM_VENDOR_ERR_BAD_SEGMENT);
		CU_ASSERT_EQUAL(fixture_query(p.qp[0]), HCASIM_QPS_SQE);
		pair_free(&p);
	}
}

/* It goes nowhere: it has no address. */
static void ud_nop(void)
{
	const struct tiny_wqe nop = {.op = HCASIM_WQE_OP_NOP, .flags = HCA_WR_SIGNALED};
	const struct hca_av none = {0};
	const struct hca_sge sge = {0};
	struct pair p;

	ud_pair(&p);
	fixture_put(p.qp[0], &nop, &none, &sge, 0);
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(fixture_query(p.qp[0]), HCASIM_QPS_RTS);
	pair_free(&p);
}

static void ud_good(void)
{
	static const uint32_t lens[] = {0, 1, 64, 1023, 4096};
	struct hca_sge sge[2];
	uint8_t gid[16];
	struct tiny_cqe c;
	unsigned int i;
	struct pair p;

	ud_pair(&p);
	for (i = 0; i < 5; i++) {
		sge[0] = fixture_sge(p.mem[1], 20, p.key[1]); /* the GRH lies across two SGEs */
		sge[1] = fixture_sge(p.mem[1] + 20, 4116, p.key[1]);
		memset(p.mem[1], 0xee, 8192);
		fixture_recv(p.qp[1], sge, 2);
		ud_send(&p, HCASIM_WQE_OP_SEND_IMM, HCA_WR_SIGNALED, lens[i], QKEY);
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
		c = fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
		CU_ASSERT_EQUAL(c.byte_count, lens[i] + 40);
		CU_ASSERT_EQUAL(c.src_qpn, p.qp[0]->qpn);
		CU_ASSERT_EQUAL(c.flags, TINY_CQE_GRH | TINY_CQE_IMM);
		CU_ASSERT_EQUAL(c.imm, 77);
		/* RoCEv2: 20 bytes, then the IPv4 header as it came */
		CU_ASSERT_EQUAL(p.mem[1][20], 0x45);
		CU_ASSERT_EQUAL(p.mem[1][21], 0x5c);
		CU_ASSERT_EQUAL(p.mem[1][28], 9);
		untimed_gid(0, 1, gid);
		CU_ASSERT_EQUAL(memcmp(p.mem[1] + 32, gid + 12, 4), 0);
		untimed_gid(1, 1, gid);
		CU_ASSERT_EQUAL(memcmp(p.mem[1] + 36, gid + 12, 4), 0);
		CU_ASSERT_EQUAL(memcmp(p.mem[1] + 40, p.mem[0], lens[i]), 0);
		CU_ASSERT_EQUAL(p.mem[1][40 + lens[i]], 0xee);
	}
	pair_free(&p);
}

static void ud_with_grh(bool v1)
{
	/* An engine that builds the frames makes none of RoCEv1. */
	const bool possible = !v1 || !untimed_engine || !untimed_engine->frame;
	static const uint8_t gids[2][16] = {{0xfe, 0x80, [15] = 1}, {0xfe, 0x80, [15] = 2}};
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_SEND, .flags = HCA_WR_SIGNALED, .ud_qkey = QKEY};
	struct hca_av av = av_to(1);
	struct hca_sge sge;
	struct pair p;

	ud_pair(&p);
	CU_ASSERT_EQUAL(hca_gid_set(p.fixture->hca[0], 1, 3, gids[0], v1), possible ? 0 : -EOPNOTSUPP);
	hca_gid_set(p.fixture->hca[1], 1, 0, gids[1], v1);
	if (!possible) {
		pair_free(&p);
		return;
	}
	w.ud_qpn = p.qp[1]->qpn;
	av.sgid_index = 3;
	av.flow_label = 0xabcde;
	memcpy(av.dgid, gids[1], 16);
	sge = fixture_sge(p.mem[1], 200, p.key[1]);
	fixture_recv(p.qp[1], &sge, 1);
	sge = fixture_sge(p.mem[0], 99, p.key[0]);
	fixture_put(p.qp[0], &w, &av, &sge, 1);
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK).byte_count, 139);
	CU_ASSERT_EQUAL(p.mem[1][0] >> 4, 6);
	CU_ASSERT_EQUAL(p.mem[1][1], 0xca); /* traffic class 5c, flow label abcde */
	CU_ASSERT_EQUAL(p.mem[1][6], v1 ? 0x1b : 17);
	CU_ASSERT_EQUAL(memcmp(p.mem[1] + 8, gids[0], 16), 0);
	CU_ASSERT_EQUAL(memcmp(p.mem[1] + 24, gids[1], 16), 0);
	CU_ASSERT_EQUAL(memcmp(p.mem[1] + 40, p.mem[0], 99), 0);
	pair_free(&p);
}

static void ud_ipv6(void)
{
	ud_with_grh(false);
}

static void ud_v1(void)
{
	ud_with_grh(true);
}

static void ud_qkey(void)
{
	struct hca_counters c;
	struct hca_sge sge;
	struct pair p;

	ud_pair(&p);
	sge = fixture_sge(p.mem[1], 8192, p.key[1]);
	fixture_recv(p.qp[1], &sge, 1);
	ud_send(&p, HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED, 64, QKEY + 1);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect_none(p.rcq[1]);
	hca_counters(p.fixture->hca[1], &c);
	CU_ASSERT_EQUAL(c.rx_dropped, 1);
	/* The high bit asks for the QP's own Q_Key (IBTA 10.2.5). */
	ud_send(&p, HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED, 64, 0x80000001);
	fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	pair_free(&p);
}

static void ud_no_room(void)
{
	struct hca_sge sge;
	struct pair p;

	ud_pair(&p);
	ud_send(&p, HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED, 64, QKEY); /* nothing posted */
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	sge = fixture_sge(p.mem[1], 103, p.key[1]); /* one byte short: dropped, and the receive waits on */
	fixture_recv(p.qp[1], &sge, 1);
	ud_send(&p, HCASIM_WQE_OP_SEND, 0, 64, QKEY);
	fixture_expect_none(p.rcq[1]);
	ud_send(&p, HCASIM_WQE_OP_SEND, 0, 63, QKEY);
	CU_ASSERT_EQUAL(fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK).byte_count, 103);
	pair_free(&p);
}

/* A failed datagram stops the send queue only; RTS again, it goes on. */
static void ud_error(void)
{
	struct hca_sge sge;
	struct pair p;

	ud_pair(&p);
	ud_send(&p, HCASIM_WQE_OP_SEND, 0, 4097, QKEY);
	ud_send(&p, HCASIM_WQE_OP_SEND, 0, 64, QKEY);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_LEN_ERR).vendor_err,
			HCASIM_VENDOR_ERR_MSG_TOO_LONG);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(fixture_query(p.qp[0]), HCASIM_QPS_SQE);
	sge = fixture_sge(p.mem[0], 8192, p.key[0]);
	fixture_state(p.qp[0], HCASIM_QPS_RTS);
	sge = fixture_sge(p.mem[1], 8192, p.key[1]);
	fixture_recv(p.qp[1], &sge, 1);
	ud_send(&p, HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED, 64, QKEY);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	ud_send(&p, HCASIM_WQE_OP_RDMA_WRITE, 0, 64, QKEY);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_QP_OP_ERR).vendor_err,
			HCASIM_VENDOR_ERR_BAD_OPCODE);
	pair_free(&p);
}

/* ---- UC ---- */

static enum untimed_fate drop_nth(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	return fixture->m++ == fixture->n ? UNTIMED_DROP : UNTIMED_DELIVER;
}

/* Three messages of four packets; packet `n` is lost. The other two arrive whole. */
static void uc_lose(uint8_t op, unsigned int n)
{
	struct fixture_path path = {.mtu = 1};
	unsigned int i, lost = n / 4;
	struct pair p;

	pair_new(&p, HCASIM_QPT_UC, &path, NULL, 0, 4096);
	memset(p.mem[1], 0xee, 4096);
	for (i = 0; i < 3; i++) {
		struct hca_sge sge = fixture_sge(p.mem[1] + i * 1000, 1000, p.key[1]);

		fixture_recv(p.qp[1], &sge, 1);
	}
	p.fixture->wire = drop_nth;
	p.fixture->n = n;
	for (i = 0; i < 3; i++)
		fixture_send(p.qp[0], op, HCA_WR_SIGNALED, fixture_sge(p.mem[0] + i * 1000, 1000, p.key[0]),
			     (uintptr_t)p.mem[1] + i * 1000, p.key[1]);
	fixture_run(p.fixture);
	for (i = 0; i < 3; i++)
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	if (op == HCASIM_WQE_OP_SEND) { /* receives are consumed by the messages that arrived */
		CU_ASSERT_EQUAL(memcmp(p.mem[1], p.mem[0] + (lost == 0 ? 1000 : 0), 1000), 0);
		CU_ASSERT_EQUAL(memcmp(p.mem[1] + 1000, p.mem[0] + (lost == 2 ? 1000 : 2000), 1000), 0);
	} else {
		for (i = 0; i < 3; i++)
			if (i != lost)
				CU_ASSERT_EQUAL(memcmp(p.mem[1] + i * 1000, p.mem[0] + i * 1000, 1000), 0);
	}
	if (op != HCASIM_WQE_OP_RDMA_WRITE) {
		CU_ASSERT_EQUAL(fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK).wqe_index, 0);
		CU_ASSERT_EQUAL(fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK).byte_count, 1000);
	}
	fixture_expect_none(p.rcq[1]);
	CU_ASSERT_EQUAL(fixture_query(p.qp[1]), HCASIM_QPS_RTS);
	pair_free(&p);
}

static void uc_gaps(void)
{
	static const uint8_t ops[] = {HCASIM_WQE_OP_SEND, HCASIM_WQE_OP_RDMA_WRITE,
				      HCASIM_WQE_OP_RDMA_WRITE_IMM};
	unsigned int o, n;

	for (o = 0; o < 3; o++)
		for (n = 0; n < 12; n++)
			uc_lose(ops[o], n);
}

static void uc_errors(void)
{
	struct pair p;

	pair_new(&p, HCASIM_QPT_UC, NULL, NULL, 0, 4096);
	/* The peer silently drops what it does not allow. */
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 8, p.key[0]),
		     0, p.key[1]);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 8, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], 8), 0);
	/* A local error: SQE. READ is not for UC. */
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, 0, fixture_sge(p.mem[0], 8, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_QP_OP_ERR);
	CU_ASSERT_EQUAL(fixture_query(p.qp[0]), HCASIM_QPS_SQE);
	pair_free(&p);
}

const struct test datagram_tests[] = {
	{"UD", ud_good},
	{"address of another port", ud_other_port},
	{"UD NOP", ud_nop},
	{"UD over IPv6", ud_ipv6},
	{"UD over RoCEv1", ud_v1},
	{"Q_Key", ud_qkey},
	{"UD without room", ud_no_room},
	{"UD errors and SQE", ud_error},
	{"UC gaps", uc_gaps},
	{"UC errors", uc_errors},
	{NULL, NULL},
};
