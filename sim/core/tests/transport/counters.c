// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What adapters count: traffic, retries, completions. With refusals.c each counter moves. */
#include "counted.h"
#include "core/wire/frame.h"

#define BTH (ETH_LEN + IPV4_LEN + UDP_LEN)

static bool moved[HCASIM_NUM_COUNTERS];

static struct hca_counters counters(const struct pair *p, unsigned int side)
{
	struct hca_counters c;

	hca_counters(p->fixture->hca[side], &c);
	return c;
}

void counted_free(struct pair *p)
{
	for (unsigned int side = 0; side < 2; side++) {
		const struct hca_counters c = counters(p, side);

		for (unsigned int i = 0; i < HCASIM_NUM_COUNTERS; i++)
			moved[i] |= c.of[i];
	}
	pair_free(p);
}

static void request(struct pair *p, uint8_t op, uint32_t len)
{
	fixture_send(p->qp[0], op, 0, fixture_sge(p->mem[0], len, p->key[0]), (uintptr_t)p->mem[1],
		     p->key[1]);
}

static void receive(struct pair *p)
{
	const struct hca_sge sge = fixture_sge(p->mem[1], p->len, p->key[1]);

	fixture_recv(p->qp[1], &sge, 1);
}

static enum untimed_fate weigh(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	if (!from)
		fixture->n += pkt->len;
	else
		fixture->m += pkt->len;
	return UNTIMED_DELIVER;
}

/* Packets, octets of their frames, and requests by kind. */
static void traffic(void)
{
	struct hca_counters a, b;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 8192);
	p.fixture->wire = weigh;
	receive(&p);
	request(&p, HCASIM_WQE_OP_SEND, 3000);
	request(&p, HCASIM_WQE_OP_RDMA_WRITE, 3000);
	request(&p, HCASIM_WQE_OP_RDMA_READ, 3000);
	request(&p, HCASIM_WQE_OP_ATOMIC_FA, 8);
	fixture_run(p.fixture);
	a = counters(&p, 0);
	b = counters(&p, 1);
	CU_ASSERT(b.rx_send_requests == 1 && b.rx_write_requests == 1 && b.rx_read_requests == 1 &&
		  b.rx_atomic_requests == 1 && b.receives == 1 && a.sends == 1 && a.wqes == 4);
	CU_ASSERT(a.tx_packets == 3 + 3 + 1 + 1 && b.rx_packets == a.tx_packets);
	CU_ASSERT(a.rx_packets == b.tx_packets && b.tx_packets > 3 + 1);
	CU_ASSERT(a.tx_octets == p.fixture->n && b.rx_octets == a.tx_octets);
	CU_ASSERT(b.tx_octets == p.fixture->m && a.rx_octets == b.tx_octets);
	CU_ASSERT(a.tx_unicast_packets == a.tx_packets && !a.tx_multicast_packets);
	CU_ASSERT(!a.rx_send_requests && !a.receives && !b.sends && !b.rx_dropped);
	CU_ASSERT(!a.retransmissions && !a.req_cqe_error && !b.resp_cqe_error);
	counted_free(&p);
}

/* The untimed wire knows no groups of Ethernet. */
static enum untimed_fate to_group(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	hca_rx(fixture->hca[!from], 1, hca_packet_dup(pkt));
	return UNTIMED_DROP;
}

/* A datagram to a group, whose frame goes to a group of Ethernet. */
static void multicast(void)
{
	static const uint8_t group[16] = {[10] = 0xff, 0xff, 239, 1, 2, 3};
	static const uint8_t mac[6] = {0x01, 0x00, 0x5e, 1, 2, 3};
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_SEND, .ud_qpn = 0xffffff, .ud_qkey = 5};
	struct hca_av av = {.hop_limit = 9, .port = 1};
	struct hca_sge sge;
	struct pair p;

	pair_new(&p, HCASIM_QPT_UD, NULL, NULL, 0, 8192);
	fixture_ud_up(p.qp[0], 5);
	fixture_ud_up(p.qp[1], 5);
	p.fixture->wire = to_group;
	CU_ASSERT_EQUAL(hca_mcast_attach(p.fixture->hca[1], p.qp[1]->qpn, group), 0);
	memcpy(av.dgid, group, 16);
	memcpy(av.dmac, mac, 6);
	receive(&p);
	sge = fixture_sge(p.mem[0], 8, p.key[0]);
	fixture_put(p.qp[0], &w, &av, &sge, 1);
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	CU_ASSERT(counters(&p, 0).tx_multicast_packets == 1 && !counters(&p, 0).tx_unicast_packets);
	CU_ASSERT(counters(&p, 1).rx_multicast_packets == 1 && counters(&p, 1).receives == 1);
	counted_free(&p);
}

/* Frames of raw QPs are not RoCEv2 packets. */
static void raw(void)
{
	struct pair p;

	pair_new(&p, HCASIM_QPT_RAW_PACKET, NULL, NULL, 0, 8192);
	memset(p.mem[0], 0, 64);
	untimed_mac(1, 1, p.mem[0]);
	request(&p, HCASIM_WQE_OP_SEND, 64);
	fixture_run(p.fixture);
	CU_ASSERT(counters(&p, 0).tx_raw_frames == 1 && !counters(&p, 0).tx_packets);
	CU_ASSERT(counters(&p, 1).rx_raw_frames == 1 && !counters(&p, 1).rx_packets);
	CU_ASSERT(counters(&p, 1).refused_no_receiver == 1);
	counted_free(&p);
}

/* ---- Losses ---- */

/* Loses the first packet with opcode fixture->n, of either side. */
static enum untimed_fate lose_once(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	if (fixture->m || pkt->data[BTH] != fixture->n)
		return UNTIMED_DELIVER;
	fixture->m = 1;
	return UNTIMED_DROP;
}

static void lose(uint8_t op, uint8_t opcode, struct hca_counters *a, struct hca_counters *b)
{
	const struct fixture_path path = {.mtu = 1, .timeout = 10};
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 8192);
	p.fixture->wire = lose_once;
	p.fixture->n = opcode;
	request(&p, op, 2000);
	fixture_settle(p.fixture, 1000 * MS);
	CU_ASSERT_EQUAL(p.fixture->m, 1);
	*a = counters(&p, 0);
	*b = counters(&p, 1);
	CU_ASSERT_EQUAL(a->retries, a->packet_seq_err + a->implied_nak_seq_err + a->local_ack_timeout_err);
	CU_ASSERT(a->retries == 1 && a->retransmissions == 1);
	CU_ASSERT(!a->req_cqe_error && !a->req_transport_retries_exceeded);
	counted_free(&p);
}

/* Each way to notice a loss, at both ends. */
static void losses(void)
{
	struct hca_counters a, b;

	lose(HCASIM_WQE_OP_RDMA_WRITE, HCASIM_BTH_OP_RC_RDMA_WRITE_MIDDLE, &a, &b);
	CU_ASSERT(a.packet_seq_err == 1 && a.seq_nak_received == 1 && b.seq_nak_sent == 1);
	CU_ASSERT(b.out_of_sequence == 6 && b.refused_gap == 6 && b.rx_dropped == 6 && !b.duplicate_request);
	lose(HCASIM_WQE_OP_RDMA_WRITE, HCASIM_BTH_OP_RC_ACKNOWLEDGE, &a, &b);
	CU_ASSERT(a.local_ack_timeout_err == 1 && b.duplicate_request == 8 && !b.out_of_sequence);
	CU_ASSERT(b.rx_write_requests == 1 && !b.seq_nak_sent);
	lose(HCASIM_WQE_OP_RDMA_READ, HCASIM_BTH_OP_RC_RDMA_READ_RESPONSE_MIDDLE, &a, &b);
	CU_ASSERT(a.implied_nak_seq_err == 1 && b.duplicate_request == 1 && b.rx_read_requests == 1);
}

static enum untimed_fate lose_all(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	return UNTIMED_DROP;
}

/* The last timeout, or RNR NAK, is not followed by a retry. */
static void exhausted(void)
{
	const struct fixture_path path = {.timeout = 8, .retry = 3, .rnr_retry = 2, .rnr_timer = 1};
	struct hca_counters a, b;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 4096);
	p.fixture->wire = lose_all;
	request(&p, HCASIM_WQE_OP_RDMA_WRITE, 8);
	request(&p, HCASIM_WQE_OP_RDMA_WRITE, 8);
	fixture_settle(p.fixture, 20 * MS);
	a = counters(&p, 0);
	CU_ASSERT(a.local_ack_timeout_err == 3 && a.req_transport_retries_exceeded == 1);
	CU_ASSERT(a.req_cqe_error == 2 && a.req_cqe_flush_error == 1);
	counted_free(&p);
	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 4096);
	request(&p, HCASIM_WQE_OP_SEND, 8);
	fixture_settle(p.fixture, 20 * MS);
	a = counters(&p, 0);
	b = counters(&p, 1);
	CU_ASSERT(b.rnr_nak_sent == 3 && b.refused_no_receive == 3 && !a.rnr_nak_sent && !b.rnr_nak_received);
	CU_ASSERT(a.rnr_nak_received == 3 && a.rnr_nak_retry_err == 2 && a.req_rnr_retries_exceeded == 1);
	CU_ASSERT(!b.rx_dropped && b.rx_send_requests == 3);
	counted_free(&p);
}

/* ---- Receives ---- */

static void receives(void)
{
	struct hca_counters b;
	struct hca_sge sge;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	sge = fixture_sge(p.mem[1], 4, p.key[1]);
	fixture_recv(p.qp[1], &sge, 1);
	receive(&p);
	request(&p, HCASIM_WQE_OP_SEND, 8);
	fixture_settle(p.fixture, 1000 * MS);
	b = counters(&p, 1);
	CU_ASSERT(b.resp_local_length_error == 1 && b.resp_cqe_error == 2 && b.resp_cqe_flush_error == 1);
	CU_ASSERT(!b.receives && counters(&p, 0).req_remote_invalid_request == 1);
	counted_free(&p);
}

/* ---- The port and the adapter ---- */

static void port(void)
{
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	hca_port_set(p.fixture->hca[0], 1, false, 5);
	hca_port_set(p.fixture->hca[0], 1, false, 5);
	request(&p, HCASIM_WQE_OP_RDMA_WRITE, 8);
	fixture_run(p.fixture);
	CU_ASSERT(counters(&p, 0).tx_discards == 1 && !counters(&p, 0).tx_packets);
	hca_port_set(p.fixture->hca[0], 1, true, 5);
	CU_ASSERT_EQUAL(counters(&p, 0).link_downed, 1);
	CU_ASSERT_EQUAL(counters(&p, 1).link_downed, 0);
	counted_free(&p);
}

/* What belongs to a port is not counted at the other one; doorbells belong to both. */
static void ports(void)
{
	const struct hca_config cfg = {
		.num_ports = 2, .max_qp = 4, .max_cq = 8, .max_mr = 4, .max_rd_atomic = 1};
	struct hca_counters one, two;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, &cfg, 0, 4096);
	request(&p, HCASIM_WQE_OP_RDMA_WRITE, 8);
	fixture_run(p.fixture);
	hca_port_counters(p.fixture->hca[0], 1, &one);
	hca_port_counters(p.fixture->hca[0], 2, &two);
	CU_ASSERT(one.tx_packets == 1 && one.rx_packets == 1 && one.tx_octets && one.doorbells == 1);
	CU_ASSERT(!two.tx_packets && !two.rx_packets && !two.tx_octets && two.doorbells == 1);
	counted_free(&p);
}

static enum untimed_fate mark(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	if (!from)
		hca_packet_mark(pkt);
	return UNTIMED_DELIVER;
}

static void congestion(void)
{
	const struct hca_config cfg = {.num_ports = 1,
				       .max_qp = 4,
				       .max_cq = 8,
				       .max_mr = 4,
				       .max_rd_atomic = 1,
				       .dcqcn = {.on = true,
						 .cnp_interval = MS,
						 .alpha_timer = MS,
						 .rate_timer = MS,
						 .byte_counter = 1000000,
						 .fast_recovery = 5,
						 .g = 256,
						 .additive = 1000,
						 .hyper = 1000,
						 .min_rate = 1000}};
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, &cfg, 0, 4096);
	p.fixture->wire = mark;
	request(&p, HCASIM_WQE_OP_RDMA_WRITE, 8);
	fixture_run(p.fixture);
	CU_ASSERT(counters(&p, 1).np_ecn_marked_roce_packets == 1 && counters(&p, 1).np_cnp_sent == 1);
	CU_ASSERT(counters(&p, 0).rp_cnp_handled == 1 && !counters(&p, 0).np_cnp_sent);
	counted_free(&p);
}

/* A push in one piece, and one whose rest does not come. */
static void pushes(void)
{
	struct tiny_wqe w = {
		.op = HCASIM_WQE_OP_RDMA_WRITE, .flags = HCA_WR_SIGNALED | HCA_WR_INLINE, .num_sge = 100};
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	w.remote_addr = (uintptr_t)p.mem[1];
	w.rkey = p.key[1];
	for (unsigned int torn = 0; torn < 2; torn++) {
		const uint8_t *wqe =
			p.qp[0]->sq + (size_t)fixture_put(p.qp[0], &w, NULL, p.mem[0], 0) * TINY_BB;

		for (unsigned int at = 0; at < 192 - 128 * torn; at += 64)
			hca_mmio_write(p.fixture->hca[0], TINY_BAR_UAR, TINY_BF + at, wqe + at, 64);
		fixture_settle(p.fixture, MS);
	}
	CU_ASSERT(counters(&p, 0).bf_pushes == 1 && counters(&p, 0).bf_torn == 1);
	CU_ASSERT(counters(&p, 0).cqes == 2 && counters(&p, 0).doorbells == 2);
	fixture_arm(p.scq[0], 1, false);
	fixture_ring_at(p.qp[0], p.qp[0]->pi);
	w.num_sge = 8;
	fixture_put(p.qp[0], &w, NULL, p.mem[0], 0);
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	CU_ASSERT(counters(&p, 0).eqes > 0);
	counted_free(&p);
}

static void pages(void)
{
	struct hca_page_range range = {.pasid = FIXTURE_PASID, .len = 4096, .write = true, .writable = true};
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 8192);
	range.key = fixture_mr(p.fixture, 0, p.mem[0], 8192, FIXTURE_ALL | HCASIM_ACCESS_ON_DEMAND);
	range.va = (uintptr_t)p.mem[0] & ~4095ull;
	CU_ASSERT_EQUAL(hca_mr_map(p.fixture->hca[0], &range, false), 0);
	range.va += 4096;
	CU_ASSERT_EQUAL(hca_mr_map(p.fixture->hca[0], &range, true), 0);
	CU_ASSERT_EQUAL(hca_mr_unmap(p.fixture->hca[0], FIXTURE_PASID, range.va, 1), 1);
	CU_ASSERT(counters(&p, 0).num_page_faults == 1 && counters(&p, 0).num_prefetch == 1);
	CU_ASSERT_EQUAL(counters(&p, 0).num_invalidations, 1);
	counted_free(&p);
}

/* The last one: no counter has stayed 0. */
static void each_moves(void)
{
	for (unsigned int i = 0; i < HCASIM_NUM_COUNTERS; i++) {
		if (!moved[i])
			fprintf(stderr, "no test has moved the counter %s\n", hcasim_counter_name(i));
		CU_ASSERT(moved[i]);
	}
}

static void refusals(void)
{
	for (const struct test *t = refusal_tests; t->name; t++)
		t->fn();
}

const struct test counter_tests[] = {
	{"traffic", traffic},
	{"multicast", multicast},
	{"raw frames", raw},
	{"losses", losses},
	{"exhausted", exhausted},
	{"receives", receives},
	{"port", port},
	{"two ports", ports},
	{"congestion", congestion},
	{"pushes", pushes},
	{"pages", pages},
	{"refusals", refusals},
	{"each moves", each_moves},
	{NULL, NULL},
};
