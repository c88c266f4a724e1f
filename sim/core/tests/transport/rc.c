// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reliable connections on a good wire. */
#include "fixture.h"

static void write_one(void)
{
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 64, p.key[0]),
		     (uintptr_t)p.mem[1] + 128, p.key[1]);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect_none(p.scq[0]);
	fixture_expect_none(p.rcq[1]);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1] + 128, 64), 0);
	CU_ASSERT_EQUAL(p.fixture->frames, 2);
	pair_free(&p);
}

static void send_one(void)
{
	struct hca_sge sge;
	struct tiny_cqe c;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	sge = fixture_sge(p.mem[1], 4096, p.key[1]);
	fixture_recv(p.qp[1], &sge, 1);
	fixture_send(p.qp[0], HCASIM_WQE_OP_SEND_IMM, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 100, p.key[0]),
		     0, 0);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	c = fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.byte_count, 100);
	CU_ASSERT_EQUAL(c.imm, htobe32(0xabcd1234));
	CU_ASSERT_EQUAL(c.flags, TINY_CQE_IMM);
	CU_ASSERT_EQUAL(c.op, HCASIM_CQE_OP_RECV);
	CU_ASSERT_EQUAL(c.src_qpn, p.qp[0]->qpn);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], 100), 0);
	/* The next one has no immediate data, and shows nobody else's. */
	fixture_recv(p.qp[1], &sge, 1);
	fixture_send(p.qp[0], HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 100, p.key[0]), 0,
		     0);
	fixture_run(p.fixture);
	c = fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.flags, 0);
	CU_ASSERT_EQUAL(c.imm, 0);
	pair_free(&p);
}

static void read_one(void)
{
	struct tiny_cqe c;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 8192);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 5000, p.key[0]),
		     (uintptr_t)p.mem[1] + 7, p.key[1]);
	fixture_run(p.fixture);
	c = fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(c.byte_count, 5000);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1] + 7, 5000), 0);
	pair_free(&p);
}

static void atomics(void)
{
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_ATOMIC_FA, .flags = HCA_WR_SIGNALED, .swap_add = 5};
	struct hca_sge sge;
	uint64_t *remote, *local;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	local = (uint64_t *)p.mem[0];
	remote = (uint64_t *)p.mem[1];
	*remote = UINT64_MAX - 1;
	w.remote_addr = (uintptr_t)remote;
	w.rkey = p.key[1];
	sge = fixture_sge(&local[0], 8, p.key[0]);
	fixture_put(p.qp[0], &w, NULL, &sge, 1);
	w.op = HCASIM_WQE_OP_ATOMIC_CS;
	w.compare = 3;
	w.swap_add = 99;
	sge.addr += 8;
	fixture_put(p.qp[0], &w, NULL, &sge, 1);
	sge.addr += 8;
	fixture_put(p.qp[0], &w, NULL, &sge, 1);
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK).byte_count, 8);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(local[0], UINT64_MAX - 1);
	CU_ASSERT_EQUAL(local[1], 3);
	CU_ASSERT_EQUAL(local[2], 99);
	CU_ASSERT_EQUAL(*remote, 99);
	pair_free(&p);
}

/* Every length around every multiple of every MTU, by every operation, split unevenly over SGEs. */
static void one_length(struct pair *p, uint8_t op, uint32_t len, uint32_t mtu)
{
	struct tiny_wqe w = {.op = op,
			     .flags = HCA_WR_SIGNALED,
			     .rkey = p->key[1],
			     .remote_addr = (uintptr_t)p->mem[1] + 16};
	uint32_t a = len / 3, b = len / 5, frames = p->fixture->frames,
		 packets = len ? (len + mtu - 1) / mtu : 1;
	bool recv = op == HCASIM_WQE_OP_SEND || op == HCASIM_WQE_OP_RDMA_WRITE_IMM;
	bool read = op == HCASIM_WQE_OP_RDMA_READ;
	struct hca_sge sge[4] = {fixture_sge(p->mem[0] + 16, a, p->key[0]), fixture_sge(NULL, 0, 0),
				 fixture_sge(p->mem[0] + 16 + a, b, p->key[0]),
				 fixture_sge(p->mem[0] + 16 + a + b, len - a - b, p->key[0])};
	struct hca_sge into[2] = {fixture_sge(p->mem[1] + 16, len / 2, p->key[1]),
				  fixture_sge(p->mem[1] + 16 + len / 2, len - len / 2 + 8, p->key[1])};
	struct tiny_cqe c;

	fixture_fill(p->mem[0], p->len, len);
	fixture_fill(p->mem[1], p->len, len + 100);
	if (recv)
		fixture_recv(p->qp[1], into, 2);
	fixture_put(p->qp[0], &w, NULL, sge, 4);
	fixture_ring(p->qp[0]);
	fixture_run(p->fixture);
	fixture_expect(p->scq[0], HCASIM_CQE_STATUS_OK);
	if (recv) {
		c = fixture_expect(p->rcq[1], HCASIM_CQE_STATUS_OK);
		CU_ASSERT_EQUAL(c.byte_count, len);
	}
	CU_ASSERT_EQUAL(memcmp(p->mem[0] + 16, p->mem[1] + 16, len), 0);
	/* What lies around the target has not been touched. */
	fixture_fill(p->mem[read ? 1 : 0], p->len, len + (read ? 0 : 100));
	CU_ASSERT_EQUAL(memcmp(p->mem[0], p->mem[1], 16), 0);
	CU_ASSERT_EQUAL(memcmp(p->mem[0] + 16 + len, p->mem[1] + 16 + len, p->len - len - 16), 0);
	CU_ASSERT_EQUAL(p->fixture->frames - frames, packets + 1);
	fixture_cq_sync(p->scq[0]);
	fixture_cq_sync(p->rcq[1]);
}

static void segmentation(void)
{
	static const uint8_t ops[] = {HCASIM_WQE_OP_SEND, HCASIM_WQE_OP_RDMA_WRITE,
				      HCASIM_WQE_OP_RDMA_WRITE_IMM, HCASIM_WQE_OP_RDMA_READ};
	uint8_t m;
	unsigned int o, k;
	int d;

	for (m = 1; m <= 5; m++) {
		struct fixture_path path = {.mtu = m, .psn = 0xfffff0};
		uint32_t mtu = 128u << m;
		struct pair p;

		pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 16384);
		for (o = 0; o < sizeof(ops); o++) {
			for (k = 1; k <= 3; k++)
				for (d = -1; d <= 1; d++)
					one_length(&p, ops[o], (uint32_t)((int)(k * mtu) + d), mtu);
			one_length(&p, ops[o], 0, mtu);
			one_length(&p, ops[o], 1, mtu);
			one_length(&p, ops[o], 3, mtu);
		}
		pair_free(&p);
	}
}

static void inline_data(void)
{
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_RDMA_WRITE, .flags = HCA_WR_SIGNALED | HCA_WR_INLINE};
	struct fixture_path path = {.mtu = 1};
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 4096);
	w.remote_addr = (uintptr_t)p.mem[1];
	w.rkey = p.key[1];
	w.num_sge = 500; /* two packets */
	fixture_put(p.qp[0], &w, NULL, p.mem[0] + 33, 0);
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(p.mem[0] + 33, p.mem[1], 500), 0);
	pair_free(&p);
}

/* Inline bytes, then those of an SGE: the border is at each place in a packet, and in the second one. */
static void inline_and_sges(void)
{
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_RDMA_WRITE, .flags = HCA_WR_SIGNALED | TINY_LEAD};
	struct fixture_path path = {.mtu = 1};
	uint8_t data[300 + sizeof(struct hca_sge)];
	struct hca_sge sge;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 4096);
	w.remote_addr = (uintptr_t)p.mem[1];
	w.rkey = p.key[1];
	for (uint32_t lead = 1; lead <= 300; lead++) {
		w.swap_add = lead;
		fixture_fill(p.mem[0], 4096, lead);
		sge = fixture_sge(p.mem[0] + lead, 700, p.key[0]);
		memcpy(data, p.mem[0], lead);
		memcpy(data + lead, &sge, sizeof(sge));
		fixture_put(p.qp[0], &w, NULL, data, 1);
		fixture_ring(p.qp[0]);
		fixture_run(p.fixture);
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
		fixture_cq_sync(p.scq[0]);
		CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], lead + 700), 0);
	}
	sge.lkey ^= 0x100;
	memcpy(data + w.swap_add, &sge, sizeof(sge));
	fixture_put(p.qp[0], &w, NULL, data, 1);
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_PROT_ERR);
	pair_free(&p);
}

/* The queue's 16-bit index, the PSN and the CQ's phase all turn. */
static void indices_turn(void)
{
	struct fixture_path path = {.psn = 0xffff00};
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_RDMA_WRITE};
	struct hca_sge sge;
	unsigned int i, k;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 4096);
	w.remote_addr = (uintptr_t)p.mem[1];
	w.rkey = p.key[1];
	for (i = 0; i < 3000; i++) {
		for (k = 0; k < 20; k++) { /* 2 basic blocks each: WQEs also lie across the ring's end */
			w.flags = k == 19 ? HCA_WR_SIGNALED : 0;
			sge = fixture_sge(p.mem[0] + i % 1000, 8, p.key[0]);
			fixture_put(p.qp[0], &w, NULL, &sge, 1);
			if (k == 7)
				fixture_ring(p.qp[0]);
		}
		fixture_ring(p.qp[0]);
		fixture_run(p.fixture);
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
		fixture_cq_sync(p.scq[0]);
	}
	fixture_expect_none(p.scq[0]);
	CU_ASSERT_EQUAL(fixture_query(p.qp[0]), HCASIM_QPS_RTS);
	pair_free(&p);
}

/* Not more READs and atomics are outstanding than max_rd_atomic says. */
static enum untimed_fate count_reads(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	uint8_t op = pkt->data[42];

	if (op == HCASIM_BTH_OP_RC_RDMA_READ_REQUEST)
		fixture->n++;
	if (op == HCASIM_BTH_OP_RC_RDMA_READ_RESPONSE_ONLY || op == HCASIM_BTH_OP_RC_RDMA_READ_RESPONSE_LAST)
		fixture->n--;
	if (fixture->n > fixture->m)
		fixture->m = fixture->n;
	return UNTIMED_DELIVER;
}

static void outstanding_reads(void)
{
	struct fixture_path path = {.rd_atomic = 3};
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_RDMA_READ, .flags = HCA_WR_SIGNALED};
	struct hca_sge sge;
	unsigned int i;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 7, 65536);
	p.fixture->wire = count_reads;
	w.remote_addr = (uintptr_t)p.mem[1];
	w.rkey = p.key[1];
	for (i = 0; i < 40; i++) {
		sge = fixture_sge(p.mem[0] + i * 1500, 1500, p.key[0]);
		w.remote_addr = (uintptr_t)p.mem[1] + i * 1500;
		fixture_put(p.qp[0], &w, NULL, &sge, 1);
	}
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	for (i = 0; i < 40; i++)
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(p.fixture->m, 3);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], 60000), 0);
	pair_free(&p);
}

/* A fenced SEND leaves when the data of the READ before it is in memory. */
static enum untimed_fate note_order(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	uint8_t op = pkt->data[42];

	if (op == HCASIM_BTH_OP_RC_RDMA_READ_RESPONSE_ONLY)
		fixture->n = 1;
	if (op == HCASIM_BTH_OP_RC_RDMA_WRITE_ONLY)
		fixture->m = fixture->n + 1;
	return UNTIMED_DELIVER;
}

static unsigned int fence_order(uint32_t flags)
{
	struct pair p;
	unsigned int m;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	p.fixture->wire = note_order;
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, 0, fixture_sge(p.mem[0], 512, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, flags | HCA_WR_SIGNALED,
		     fixture_sge(p.mem[0], 512, p.key[0]), (uintptr_t)p.mem[1] + 1024, p.key[1]);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	m = p.fixture->m;
	if (flags & HCA_WR_FENCE)
		CU_ASSERT_EQUAL(memcmp(p.mem[1], p.mem[1] + 1024, 512), 0);
	pair_free(&p);
	return m;
}

static void fence(void)
{
	CU_ASSERT_EQUAL(fence_order(0), 1);
	CU_ASSERT_EQUAL(fence_order(HCA_WR_FENCE), 2);
}

static void loopback(void)
{
	struct fixture *fixture = fixture_new(NULL, 0);
	struct fixture_cq *cq = fixture_cq(fixture, 0, 64);
	struct fixture_qp *a = fixture_qp(fixture, 0, HCASIM_QPT_RC, cq, cq),
			  *b = fixture_qp(fixture, 0, HCASIM_QPT_RC, cq, cq);
	uint8_t *mem = fixture_alloc(fixture, 256);
	uint32_t key = fixture_mr(fixture, 0, mem, 256, FIXTURE_ALL);

	fixture_connect(a, b, NULL);
	memset(mem, 0x5a, 64);
	fixture_send(a, HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, fixture_sge(mem, 64, key),
		     (uintptr_t)mem + 128, key);
	fixture_run(fixture);
	fixture_expect(cq, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(mem, mem + 128, 64), 0);
	fixture_connect(a, a, NULL); /* a QP that talks to itself */
	fixture_free(fixture);
	free(mem);
}

/* Any order of stages, the shallowest FIFOs: nothing gets stuck. */
static void tiny_fifos(void)
{
	struct hca_config cfg = {.num_ports = 1,
				 .max_qp = 16,
				 .max_cq = 16,
				 .max_mr = 16,
				 .max_rd_atomic = 4,
				 .doorbell_depth = 1,
				 .fetch_depth = 1,
				 .gather_depth = 1,
				 .tx_depth = 1,
				 .rx_depth = 2,
				 .rx_writes = 1,
				 .cqe_writes = 1};
	uint64_t seed;

	for (seed = 1; seed < 40; seed++) {
		unsigned int i;
		struct pair p;

		cfg.acks_after_landing = seed & 1;
		pair_new(&p, HCASIM_QPT_RC, NULL, &cfg, seed, 65536);
		for (i = 0; i < 24; i++) {
			struct hca_sge sge = fixture_sge(p.mem[!(i & 1)] + i * 2500, 2500, p.key[!(i & 1)]);

			fixture_recv(p.qp[0], &sge, 1);
			sge = fixture_sge(p.mem[1] + i * 2500, 2500, p.key[1]);
			fixture_recv(p.qp[1], &sge, 1);
		}
		for (i = 0; i < 24; i++) {
			static const uint8_t ops[] = {HCASIM_WQE_OP_SEND, HCASIM_WQE_OP_RDMA_WRITE,
						      HCASIM_WQE_OP_RDMA_READ};
			uint8_t op = ops[i % 3];

			fixture_send(p.qp[0], op, HCA_WR_SIGNALED,
				     fixture_sge(p.mem[0] + i * 2500, 2500, p.key[0]),
				     (uintptr_t)p.mem[1] + i * 2500, p.key[1]);
			fixture_send(p.qp[1], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED,
				     fixture_sge(p.mem[1] + 62000, 3000, p.key[1]),
				     (uintptr_t)p.mem[0] + 62000, p.key[0]);
		}
		fixture_settle(p.fixture, 1000 * MS);
		for (i = 0; i < 24; i++) {
			fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
			fixture_expect(p.scq[1], HCASIM_CQE_STATUS_OK);
		}
		pair_free(&p);
	}
}

#define UDP_SPORT 34 /* in a frame over IPv4 */

static uint16_t port_seen[2]; /* of the last frame from each side */

static enum untimed_fate see_port(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	const unsigned int at = pkt->data[12] == 0x08 ? UDP_SPORT : UDP_SPORT + 20;

	port_seen[from] = (uint16_t)(pkt->data[at] << 8 | pkt->data[at + 1]);
	return UNTIMED_DELIVER;
}

static void write_again(struct pair *p)
{
	fixture_send(p->qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED,
		     fixture_sge(p->mem[0], 64, p->key[0]), (uintptr_t)p->mem[1], p->key[1]);
	fixture_run(p->fixture);
	fixture_expect(p->scq[0], HCASIM_CQE_STATUS_OK);
}

/* Requests and acknowledges leave from the port that software has set; a new path has the adapter's choice again. */
static void udp_source_port(void)
{
	struct hca_qp_attr attr;
	uint16_t chosen[2];
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	p.fixture->wire = see_port;
	write_again(&p);
	memcpy(chosen, port_seen, sizeof(chosen));
	for (unsigned int side = 0; side < 2; side++)
		CU_ASSERT_EQUAL(hca_qp_udp_sport(p.fixture->hca[side], p.qp[side]->qpn, 55555), 0);
	write_again(&p);
	CU_ASSERT_TRUE(port_seen[0] == 55555 && port_seen[1] == 55555);
	CU_ASSERT_EQUAL(hca_qp_query(p.fixture->hca[0], p.qp[0]->qpn, &attr), 0);
	CU_ASSERT_EQUAL(hca_qp_modify(p.fixture->hca[0], p.qp[0]->qpn, &attr, HCASIM_QP_ATTR_MIN_RNR_TIMER),
			0);
	write_again(&p);
	CU_ASSERT_EQUAL(port_seen[0], 55555);
	CU_ASSERT_EQUAL(hca_qp_modify(p.fixture->hca[0], p.qp[0]->qpn, &attr, HCASIM_QP_ATTR_AV), 0);
	write_again(&p);
	CU_ASSERT_EQUAL(port_seen[0], chosen[0]);
	CU_ASSERT_EQUAL(hca_qp_udp_sport(p.fixture->hca[1], p.qp[1]->qpn, 0), 0);
	write_again(&p);
	CU_ASSERT_EQUAL(port_seen[1], chosen[1]);
	CU_ASSERT_EQUAL(hca_qp_udp_sport(p.fixture->hca[1], 0xfffff, 1), -EINVAL);
	pair_free(&p);
	pair_new(&p, HCASIM_QPT_UD, NULL, NULL, 0, 4096);
	CU_ASSERT_EQUAL(hca_qp_udp_sport(p.fixture->hca[0], p.qp[0]->qpn, 1), -EINVAL);
	pair_free(&p);
}

const struct test rc_tests[] = {
	{"UDP source port", udp_source_port},
	{"one write", write_one},
	{"one send", send_one},
	{"one read", read_one},
	{"atomics", atomics},
	{"segmentation at every MTU", segmentation},
	{"inline", inline_data},
	{"indices turn", indices_turn},
	{"max_rd_atomic", outstanding_reads},
	{"fence", fence},
	{"loopback", loopback},
	{"tiny FIFOs", tiny_fifos},
	{NULL, NULL},
};

/* The RTL engine refuses them. */
const struct test inline_sge_tests[] = {
	{"inline and SGEs", inline_and_sges},
	{NULL, NULL},
};
