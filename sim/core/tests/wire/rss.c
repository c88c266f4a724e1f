// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Receive side scaling: the hash, and which work queue gets a frame. */
#include "fixture.h"
#include "core/ingress/ingress.h"
#include "core/wire/frame.h"

#define NUM_WQS 4
#define RECVS   4 /* at each: as many of the vectors meet at one */

/* The key and the vectors of "Verifying the RSS Hash Calculation" (Microsoft, Windows drivers). */
static const uint8_t key[HCA_RSS_KEY] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
					 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
					 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
					 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

static const struct vector {
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
	uint32_t ports, addresses; /* the hash with ports, and without */
} vectors[] = {
	{{66, 9, 149, 187}, {161, 142, 100, 80}, 2794, 1766, 0x51ccc178, 0x323e8fc2},
	{{199, 92, 111, 2}, {65, 69, 140, 83}, 14230, 4739, 0xc626b0ea, 0xd718262a},
	{{24, 19, 198, 95}, {12, 22, 207, 184}, 12898, 38024, 0x5c2b394a, 0xd2d0a5de},
	{{38, 27, 205, 30}, {209, 142, 163, 6}, 48228, 2217, 0xafc7327f, 0x82989176},
	{{153, 39, 163, 191}, {202, 188, 127, 2}, 44251, 1303, 0x10e828a2, 0x5d1809c5},
};
#define NUM_VECTORS (sizeof(vectors) / sizeof(vectors[0]))

/* Its vectors of IPv6. */
static const struct vector vectors6[] = {
	{{0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x1f, 0xff, [15] = 7},
	 {0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x00, 0x03, [15] = 1},
	 2794,
	 1766,
	 0x40207d3d,
	 0x2cc18cd5},
	{{0x3f, 0xfe, 0x05, 0x01, 0x00, 0x08, 0, 0, 0x02, 0x60, 0x97, 0xff, 0xfe, 0x40, 0xef, 0xab},
	 {0xff, 0x02, [15] = 1},
	 14230,
	 4739,
	 0xdde51bbf,
	 0x0f0c461c},
	{{0x3f, 0xfe, 0x19, 0x00, 0x45, 0x45, 0x00, 0x03, 0x02, 0x00, 0xf8, 0xff, 0xfe, 0x21, 0x67, 0xcf},
	 {0xfe, 0x80, [8] = 0x02, 0x00, 0xf8, 0xff, 0xfe, 0x21, 0x67, 0xcf},
	 44251,
	 38024,
	 0x02d1feef,
	 0x4b61e985},
};
#define NUM_VECTORS6 (sizeof(vectors6) / sizeof(vectors6[0]))

static void check_hash(const struct vector *v, unsigned int n, unsigned int len)
{
	uint8_t data[36];

	for (; n; n--, v++) {
		memcpy(data, v->src, len);
		memcpy(data + len, v->dst, len);
		put16(data + 2 * len, v->sport);
		put16(data + 2 * len + 2, v->dport);
		CU_ASSERT_EQUAL(rss_toeplitz(key, data, 2 * len + 4), v->ports);
		CU_ASSERT_EQUAL(rss_toeplitz(key, data, 2 * len), v->addresses);
	}
}

static void toeplitz(void)
{
	check_hash(vectors, NUM_VECTORS, 4);
	check_hash(vectors6, NUM_VECTORS6, 16);
}

/* Work queues are the receiving halves of the QPs of the fixture: rings and records are theirs. */
struct rss_setup {
	struct pair p;
	struct fixture_cq *cq[NUM_WQS];
	uint32_t wqn[NUM_WQS], rss;
	struct tiny_qp_record *rec[NUM_WQS];
};

static int make_rss(struct rss_setup *r, uint32_t fields, uint8_t log_size)
{
	struct hca_rss rss = {.log_size = log_size, .wqn = r->wqn, .fields = fields};
	struct hca_qp_attr_create attr = {.type = HCASIM_QPT_RAW_PACKET, .pdn = FIXTURE_PD, .rss = &rss};

	memcpy(rss.key, key, sizeof(key));
	return hca_qp_create(r->p.fixture->hca[1], &attr, &r->rss);
}

static void make_wq(struct rss_setup *r, unsigned int i)
{
	struct fixture *fixture = r->p.fixture;
	struct fixture_cq *cq = fixture_cq(fixture, 1, 64);
	struct fixture_qp *like = fixture_qp(fixture, 1, HCASIM_QPT_RAW_PACKET, cq, cq);
	struct hca_sge sge = fixture_sge(r->p.mem[1], 4096, r->p.key[1]);
	struct hca_qp_attr_create attr = {
		.type = HCASIM_QPT_RAW_PACKET,
		.wq = true,
		.pdn = FIXTURE_PD,
		.recv_cqn = cq->cqn,
		.rq = {FIXTURE_PASID, (uintptr_t)like->rq, like->rq_wqes, like->rq_stride},
		.record = (uintptr_t)like->rec,
	};

	unsigned int n;

	r->cq[i] = cq;
	r->rec[i] = like->rec;
	CU_ASSERT_EQUAL(hca_qp_create(fixture->hca[1], &attr, &r->wqn[i]), 0);
	for (n = 0; n < RECVS; n++)
		fixture_recv(like, &sge, 1);
}

static void start(struct rss_setup *r, uint32_t fields)
{
	struct hca_flow_attr flow = {.port = 1, .kind = HCA_FLOW_ALL_DEFAULT};
	unsigned int i;
	uint32_t id;

	pair_new(&r->p, HCASIM_QPT_RAW_PACKET, NULL, NULL, 0, 16384);
	for (i = 0; i < NUM_WQS; i++) {
		make_wq(r, i);
		CU_ASSERT_EQUAL(hca_wq_modify(r->p.fixture->hca[1], r->wqn[i], HCA_WQ_RDY), 0);
	}
	CU_ASSERT_EQUAL(make_rss(r, fields, 2), 0);
	flow.qpn = r->rss;
	CU_ASSERT_EQUAL(hca_flow_create(r->p.fixture->hca[1], &flow, &id), 0);
}

/* An IP header without a sum, and as much as a TCP header: the ports of UDP are at the same place. */
static uint32_t frame_of(uint8_t *m, const struct vector *v, unsigned int ip, uint8_t proto)
{
	const uint32_t l4_off = ETH_LEN + (ip == 4 ? IPV4_LEN : IPV6_LEN);
	uint8_t *l3 = m + ETH_LEN, *l4 = m + l4_off;

	memset(m, 0, l4_off + TCP_LEN);
	untimed_mac(1, 1, m);
	m[6] = 2;
	put16(m + ETH_TYPE, ip == 4 ? ETH_TYPE_IPV4 : ETH_TYPE_IPV6);
	l3[0] = ip == 4 ? 0x45 : 0x60;
	if (ip == 4) {
		put16(l3 + IPV4_TOTAL, IPV4_LEN + TCP_LEN);
		l3[IPV4_PROTO] = proto;
		memcpy(l3 + IPV4_SRC, v->src, 4);
		memcpy(l3 + IPV4_DST, v->dst, 4);
	} else {
		put16(l3 + IPV6_PAYLOAD, TCP_LEN);
		l3[IPV6_NEXT] = proto;
		memcpy(l3 + IPV6_SRC, v->src, 16);
		memcpy(l3 + IPV6_DST, v->dst, 16);
	}
	put16(l4, v->sport);
	put16(l4 + L4_DPORT, v->dport);
	l4[TCP_DATA] = 0x50;
	return l4_off + TCP_LEN;
}

static void send(struct rss_setup *r, const struct vector *v, unsigned int ip, uint8_t proto)
{
	const uint32_t len = frame_of(r->p.mem[0], v, ip, proto);

	fixture_send(r->p.qp[0], HCASIM_WQE_OP_SEND, 0, fixture_sge(r->p.mem[0], len, r->p.key[0]), 0, 0);
	fixture_run(r->p.fixture);
}

/* Completions at the work queues, as a bit each; they are polled. They have this hash, of these fields. */
static unsigned int arrived_with(struct rss_setup *r, uint32_t hash, uint32_t fields)
{
	const uint64_t want = (uint64_t)fields << 32 | hash;
	struct tiny_cqe cqe;
	unsigned int i, got = 0;

	for (i = 0; i < NUM_WQS; i++)
		while (fixture_poll(r->cq[i], &cqe))
			got |= cqe.qpn == r->wqn[i] && !cqe.status && cqe.tm_tag == want ? 1u << i : 1u << 31;
	return got;
}

static unsigned int arrived(struct rss_setup *r)
{
	return arrived_with(r, 0, 0);
}

static uint64_t dropped(const struct rss_setup *r)
{
	struct hca_counters c;

	hca_counters(r->p.fixture->hca[1], &c);
	return c.rx_dropped;
}

/* Each vector goes where its hash says: with the ports of one protocol, and without ports. */
static void spread_over(const struct vector *first, unsigned int n, unsigned int ip, uint32_t addresses,
			uint32_t ports)
{
	const bool tcp = ports & HCASIM_RSS_FIELD_SRC_PORT_TCP;
	const uint8_t proto = tcp ? IP_PROTO_TCP : IP_PROTO_UDP, other = tcp ? IP_PROTO_UDP : IP_PROTO_TCP;
	const struct vector *v;
	struct rss_setup r;

	start(&r, addresses | ports);
	for (v = first; v < first + n; v++) {
		send(&r, v, ip, proto);
		CU_ASSERT_EQUAL(arrived_with(&r, v->ports, addresses | ports),
				1u << (v->ports & (NUM_WQS - 1)));
	}
	CU_ASSERT_EQUAL(dropped(&r), 0);
	send(&r, first, ip, other);      /* it has none of these ports, */
	send(&r, first, 10 - ip, proto); /* or addresses */
	CU_ASSERT_EQUAL(arrived(&r), 0);
	CU_ASSERT_EQUAL(dropped(&r), 2);
	pair_free(&r.p);
	start(&r, addresses);
	for (v = first; v < first + n; v++) {
		send(&r, v, ip, other);
		CU_ASSERT_EQUAL(arrived_with(&r, v->addresses, addresses),
				1u << (v->addresses & (NUM_WQS - 1)));
	}
	pair_free(&r.p);
}

static void spread(void)
{
	spread_over(vectors, NUM_VECTORS, 4, HCASIM_RSS_FIELD_SRC_IPV4 | HCASIM_RSS_FIELD_DST_IPV4,
		    HCASIM_RSS_FIELD_SRC_PORT_TCP | HCASIM_RSS_FIELD_DST_PORT_TCP);
	spread_over(vectors6, NUM_VECTORS6, 6, HCASIM_RSS_FIELD_SRC_IPV6 | HCASIM_RSS_FIELD_DST_IPV6,
		    HCASIM_RSS_FIELD_SRC_PORT_UDP | HCASIM_RSS_FIELD_DST_PORT_UDP);
}

static void states(void)
{
	const unsigned int to = vectors[0].addresses & (NUM_WQS - 1);
	struct tiny_cqe cqe;
	unsigned int n;
	struct hca *hca;
	struct rss_setup r;

	start(&r, HCASIM_RSS_FIELD_SRC_IPV4 | HCASIM_RSS_FIELD_DST_IPV4);
	hca = r.p.fixture->hca[1];
	CU_ASSERT_EQUAL(hca_wq_modify(hca, r.wqn[to], HCA_WQ_ERR), 0);
	fixture_settle(r.p.fixture, MS);
	for (n = 0; n < RECVS; n++) { /* what was posted is flushed */
		CU_ASSERT_TRUE(fixture_poll(r.cq[to], &cqe));
		CU_ASSERT_EQUAL(cqe.status, HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	}
	send(&r, vectors, 4, IP_PROTO_UDP);
	CU_ASSERT_EQUAL(dropped(&r), 1);
	CU_ASSERT_EQUAL(hca_wq_modify(hca, r.wqn[to], HCA_WQ_RDY), -EINVAL);
	CU_ASSERT_EQUAL(hca_wq_modify(hca, r.wqn[to], HCA_WQ_RESET), 0);
	CU_ASSERT_EQUAL(hca_wq_modify(hca, r.wqn[to], HCA_WQ_ERR), -EINVAL);
	send(&r, vectors, 4, IP_PROTO_UDP);
	CU_ASSERT_EQUAL(dropped(&r), 2);
	r.rec[to]->rq_pi = 0;
	CU_ASSERT_EQUAL(hca_wq_modify(hca, r.wqn[to], HCA_WQ_RDY), 0);
	send(&r, vectors, 4, IP_PROTO_UDP); /* it has no receive */
	CU_ASSERT_EQUAL(dropped(&r), 3);
	CU_ASSERT_EQUAL(arrived(&r), 0);
	pair_free(&r.p);
}

static void refused(void)
{
	const uint32_t wrong[] = {HCASIM_RSS_FIELD_SRC_IPV4 | HCASIM_RSS_FIELD_SRC_IPV6,
				  HCASIM_RSS_FIELD_SRC_PORT_TCP | HCASIM_RSS_FIELD_DST_PORT_UDP, 1u << 8,
				  1u << 31, 0 /* without a hash the table has one entry */};
	struct hca *hca;
	struct rss_setup r;
	unsigned int i;

	start(&r, HCASIM_RSS_FIELD_SRC_IPV4);
	hca = r.p.fixture->hca[1];
	CU_ASSERT_EQUAL(hca_qp_destroy(hca, r.wqn[0]), -EBUSY);
	CU_ASSERT_EQUAL(hca_qp_destroy(hca, r.rss), 0);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CU_ASSERT_EQUAL(make_rss(&r, wrong[i], 2), -EINVAL);
	CU_ASSERT_EQUAL(make_rss(&r, HCASIM_RSS_FIELD_SRC_IPV4, 12), -EINVAL); /* more than 2048 */
	CU_ASSERT_EQUAL(make_rss(&r, 0, 0), 0);
	r.wqn[0] = r.p.qp[1]->qpn; /* no work queue */
	CU_ASSERT_EQUAL(make_rss(&r, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(hca_wq_modify(hca, r.wqn[0], HCA_WQ_RDY), -EINVAL);
	pair_free(&r.p);
}

/* A flow may name one of the work queues: its frames go there whatever their hash is. */
static void direct(void)
{
	struct hca_flow_attr flow = {.port = 1, .kind = HCA_FLOW_NORMAL, .action = HCA_FLOW_TO_QP};
	struct rss_setup r;
	uint32_t id;

	start(&r, HCASIM_RSS_FIELD_SRC_IPV4 | HCASIM_RSS_FIELD_DST_IPV4);
	flow.qpn = r.wqn[2];
	CU_ASSERT_EQUAL(hca_flow_create(r.p.fixture->hca[1], &flow, &id), 0);
	for (const struct vector *v = vectors; v < vectors + RECVS; v++) {
		send(&r, v, 4, IP_PROTO_UDP);
		CU_ASSERT_EQUAL(arrived(&r), 1u << 2);
	}
	pair_free(&r.p);
}

const struct test rss_tests[] = {
	{"Toeplitz hash", toeplitz},        {"spread by hash", spread}, {"one work queue", direct},
	{"states of a work queue", states}, {"refusals", refused},      {NULL, NULL},
};
