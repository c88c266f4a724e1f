// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets that an adapter refuses: each for one reason, which its counter and the observer name. The last test of the
 * suite "counters" checks that every counter of spec/counters.yaml has moved here or in counters.c.
 */
#include "counted.h"
#include "core/wire/frame.h"

#define QKEY         0x11223344
#define BTH          (ETH_LEN + IPV4_LEN + UDP_LEN)
#define REASON(name) HCASIM_COUNTER_REFUSED_##name

/* One request of side 0, which side 1 refuses. Zero takes the usual: a WRITE of 8 bytes on RC. */
struct refusal {
	uint8_t reason;
	uint8_t kind, nak; /* of hca_refused */
	uint8_t type, op;
	uint32_t len;
	int32_t addr, key; /* added to those of side 1 */
	uint16_t at;       /* of the frame: this byte gets other bits, and the frame a right ICRC */
	uint8_t flip;
	void (*prepare)(struct pair *p);
};

static const struct refusal *now;
static unsigned int told; /* how often the observer was called, with */
static struct hca_refused last;

static void observe(void *host, const struct hca_refused *r)
{
	told++;
	last = *r;
}

static void put_icrc(const struct fixture *fixture, struct hca_packet *pkt)
{
	const uint32_t icrc = htole32(icrc_frame(fixture->hca[0]->icrc_seed, pkt->data, pkt->len - 4));

	memcpy(pkt->data + pkt->len - 4, &icrc, 4);
}

static enum untimed_fate change(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	pkt->number = 7 + from;
	if (from || fixture->n++)
		return UNTIMED_DELIVER;
	pkt->data[now->at] ^= now->flip;
	if (now->reason != REASON(ICRC))
		put_icrc(fixture, pkt);
	return UNTIMED_DELIVER;
}

static void post(struct pair *p)
{
	struct hca_sge sge = fixture_sge(p->mem[0], now->len ? now->len : 8, p->key[0]);
	struct tiny_wqe w = {.op = now->op ? now->op : HCASIM_WQE_OP_RDMA_WRITE,
			     .remote_addr = (uintptr_t)p->mem[1] + (uint64_t)(int64_t)now->addr,
			     .rkey = p->key[1] + (uint32_t)now->key,
			     .inv_rkey = p->key[1],
			     .compare = 8};
	struct hca_av av = {.hop_limit = 9, .port = 1};

	if (p->qp[0]->type == HCASIM_QPT_UD) {
		untimed_gid(1, 1, av.dgid);
		untimed_mac(1, 1, av.dmac);
		w.ud_qpn = p->qp[1]->qpn;
		w.ud_qkey = QKEY + (uint32_t)now->key;
	}
	fixture_put(p->qp[0], &w, p->qp[0]->type == HCASIM_QPT_UD ? &av : NULL, &sge,
		    w.op != HCASIM_WQE_OP_FLUSH);
	fixture_ring(p->qp[0]);
	fixture_run(p->fixture);
}

static void check(struct pair *p)
{
	struct hca_counters c;
	uint64_t sum = 0;

	hca_port_counters(p->fixture->hca[1], 1, &c);
	for (unsigned int i = HCASIM_FIRST_REASON; i < HCASIM_NUM_COUNTERS; i++)
		sum += c.of[i];
	if (c.of[now->reason] != 1 || sum != 1 || told != 1 || last.reason != now->reason)
		fprintf(stderr, "%s: counted %lu of %lu, told %u times, last %s\n",
			hcasim_counter_name(now->reason), c.of[now->reason], sum, told,
			hcasim_counter_name(last.reason));
	CU_ASSERT(c.of[now->reason] == 1 && sum == 1);
	CU_ASSERT(told == 1 && last.reason == now->reason);
	CU_ASSERT(last.aeth_kind == now->kind && (!now->kind || last.nak == now->nak));
	CU_ASSERT_EQUAL(c.rx_dropped, !now->kind || now->reason == REASON(GAP));
	CU_ASSERT_EQUAL(c.rnr_nak_sent, now->kind == HCASIM_AETH_KIND_RNR);
	CU_ASSERT_EQUAL(c.seq_nak_sent, now->kind == HCASIM_AETH_KIND_NAK && now->nak == HCASIM_NAK_PSN_SEQ);
	CU_ASSERT_EQUAL(last.port, 1);
	CU_ASSERT(last.number == 7 || now->reason == REASON(MEMORY));
}

static void refuse(const struct refusal *r)
{
	const struct hca_config cfg = {
		.num_ports = 2, .max_qp = 16, .max_cq = 16, .max_mr = 16, .max_mw = 4, .max_rd_atomic = 4};
	const struct fixture_path path = {.psn = 0x101};
	struct pair p;

	now = r;
	told = 0;
	memset(&last, 0, sizeof(last));
	pair_new(&p, r->type ? r->type : HCASIM_QPT_RC, &path, &cfg, 0, 8192);
	if (r->type == HCASIM_QPT_UD) {
		fixture_ud_up(p.qp[0], QKEY);
		fixture_ud_up(p.qp[1], QKEY);
	}
	p.fixture->wire = change;
	p.fixture->hca[1]->ops.saw_refused = observe;
	if (r->prepare)
		r->prepare(&p);
	post(&p);
	check(&p);
	counted_free(&p);
}

/* ---- What is different at side 1 ---- */

static void port_down(struct pair *p)
{
	hca_port_set(p->fixture->hca[1], 1, false, 5);
}

static void steered(struct pair *p)
{
	const struct hca_flow_attr a = {.action = HCA_FLOW_DROP, .port = 1, .table = HCA_FLOW_ROCE_RX};
	uint32_t id;

	CU_ASSERT_EQUAL(hca_flow_create(p->fixture->hca[1], &a, &id), 0);
}

static void reset(struct pair *p)
{
	fixture_state(p->qp[1], HCASIM_QPS_RESET);
}

static void modify(struct pair *p, const struct hca_qp_attr *a, uint32_t mask)
{
	CU_ASSERT_EQUAL(hca_qp_modify(p->fixture->hca[1], p->qp[1]->qpn, a, mask), 0);
}

static void other_port(struct pair *p)
{
	modify(p, &(struct hca_qp_attr){.port = 2}, HCASIM_QP_ATTR_PORT);
}

static void no_reads(struct pair *p)
{
	modify(p, &(struct hca_qp_attr){.max_dest_rd_atomic = 0}, HCASIM_QP_ATTR_MAX_DEST_RD_ATOMIC);
}

static void no_rights(struct pair *p)
{
	modify(p, &(struct hca_qp_attr){.access = HCASIM_ACCESS_LOCAL_WRITE}, HCASIM_QP_ATTR_ACCESS_FLAGS);
}

static const uint8_t other_gid[16] = {[10] = 0xff, 0xff, 10, 9, 9, 9};

static void other_destination(struct pair *p)
{
	hca_gid_set(p->fixture->hca[1], 1, 0, other_gid, false);
}

static void other_source(struct pair *p)
{
	hca_gid_set(p->fixture->hca[0], 1, 0, other_gid, false);
}

/* The GID of a side becomes one of RoCEv1, and with it what the side sends. */
static void roce_v1(struct pair *p, unsigned int side)
{
	uint8_t gid[16];

	untimed_gid(side, 1, gid);
	CU_ASSERT_EQUAL(hca_gid_set(p->fixture->hca[side], 1, 0, gid, true), 0);
}

static void v1_to_v2(struct pair *p)
{
	roce_v1(p, 0);
}

static void v2_to_v1(struct pair *p)
{
	roce_v1(p, 1);
}

static void receive(struct pair *p, uint32_t len, uint32_t key)
{
	const struct hca_sge sge = fixture_sge(p->mem[1], len, key);

	fixture_recv(p->qp[1], &sge, 1);
}

static void good_receive(struct pair *p)
{
	receive(p, 4096, p->key[1]);
}

static void short_receive(struct pair *p)
{
	receive(p, 47, p->key[1]); /* a datagram of 8 bytes needs 48 */
}

static void receive_of_4(struct pair *p)
{
	receive(p, 4, p->key[1]);
}

static void bad_receive_key(struct pair *p)
{
	receive(p, 4096, p->key[1] + 1);
}

static void bad_receive_wqe(struct pair *p)
{
	good_receive(p);
	p->qp[1]->rq[0] ^= 0xff;
}

static uint32_t region(struct pair *p, uint32_t pdn, uint32_t access)
{
	const struct hca_mr_attr a = {.pdn = pdn,
				      .access = access,
				      .pasid = FIXTURE_PASID,
				      .va = (uintptr_t)p->mem[1],
				      .iova = (uintptr_t)p->mem[1],
				      .length = 4096};
	uint32_t key;

	CU_ASSERT_EQUAL(hca_mr_create(p->fixture->hca[1], &a, &key), 0);
	return key;
}

static void other_domain(struct pair *p)
{
	p->key[1] = region(p, FIXTURE_PD + 1, FIXTURE_ALL);
}

static void no_remote_rights(struct pair *p)
{
	p->key[1] = region(p, FIXTURE_PD, HCASIM_ACCESS_LOCAL_WRITE);
}

static void no_pages(struct pair *p)
{
	p->key[1] = region(p, FIXTURE_PD, FIXTURE_ALL | HCASIM_ACCESS_ON_DEMAND);
}

static bool no_payload(struct fixture *fixture, unsigned int side, const struct hca_dma *dma)
{
	return !side || dma->class_ != HCA_DMA_PAYLOAD;
}

static void no_memory(struct pair *p)
{
	p->fixture->dma = no_payload;
}

#define NAK(code) .kind = HCASIM_AETH_KIND_NAK, .nak = HCASIM_NAK_##code
#define RNR       .kind = HCASIM_AETH_KIND_RNR
#define UC        .type = HCASIM_QPT_UC
#define UD        .type = HCASIM_QPT_UD, .op = HCASIM_WQE_OP_SEND
#define SEND      .op = HCASIM_WQE_OP_SEND
#define READ      .op = HCASIM_WQE_OP_RDMA_READ
#define ATOMIC    .op = HCASIM_WQE_OP_ATOMIC_FA

/* Flips: 0x0a is RDMA WRITE Only, 0x04 SEND Only; 0x20 makes UC of RC. */
static const struct refusal refusals[] = {
	{REASON(PORT_DOWN), .prepare = port_down},
	{REASON(MALFORMED), .at = BTH + 1, .flip = 1}, /* transport header version */
	{REASON(ICRC), .at = BTH + 16, .flip = 1},
	{REASON(NO_RECEIVER), .at = ETH_TYPE, .flip = 1},
	{REASON(STEERED), .prepare = steered},
	{REASON(NO_QP), .at = BTH + 7, .flip = 0x40},
	{REASON(QP_STATE), .prepare = reset},
	{REASON(TRANSPORT), .at = BTH, .flip = 0x20},
	{REASON(WRONG_PORT), .prepare = other_port},
	{REASON(PKEY), .at = BTH + 3, .flip = 1},
	{REASON(PKEY), UD, .at = BTH + 3, .flip = 1, .prepare = good_receive},
	{REASON(ROCE_VERSION), .at = ETH_LEN, .prepare = v1_to_v2},
	{REASON(ROCE_VERSION), UC, .at = ETH_LEN, .prepare = v2_to_v1},
	{REASON(DGID), .prepare = other_destination},
	{REASON(DGID), UD, .at = ETH_LEN, .prepare = v1_to_v2},
	{REASON(SGID), .prepare = other_source},
	{REASON(QKEY), UD, .key = 1, .prepare = good_receive},
	{REASON(CNP), SEND, .len = 16, .at = BTH, .flip = 0x04 ^ 0x81},
	{REASON(GAP), NAK(PSN_SEQ), .at = BTH + 10, .flip = 2},
	{REASON(DUPLICATE), ATOMIC, .at = BTH + 11, .flip = 1}, /* none was before it */
	{REASON(ORDER), NAK(INV_REQ), SEND, .at = BTH, .flip = 0x04 ^ 0x02},
	{REASON(ORDER), UC, SEND, .at = BTH, .flip = 0x04 ^ 0x02},
	{REASON(LENGTH), NAK(INV_REQ), SEND, .at = BTH, .flip = 0x04 ^ 0x00, .prepare = good_receive},
	{REASON(FLUSH_TYPE), NAK(INV_REQ), .op = HCASIM_WQE_OP_FLUSH},
	{REASON(NO_RECEIVE), RNR, SEND},
	{REASON(NO_RECEIVE), UC, SEND},
	{REASON(NO_RECEIVE), UD},
	{REASON(RECEIVE_WQE), NAK(REM_OP), SEND, .prepare = bad_receive_wqe},
	{REASON(RECEIVE_KEY), NAK(REM_OP), SEND, .prepare = bad_receive_key},
	{REASON(RECEIVE_KEY), UD, .prepare = bad_receive_key},
	{REASON(RECEIVE_SPACE), NAK(INV_REQ), SEND, .prepare = receive_of_4},
	{REASON(RECEIVE_SPACE), UC, SEND, .prepare = receive_of_4},
	{REASON(DATAGRAM_SPACE), UD, .prepare = short_receive},
	{REASON(PERMISSION), NAK(INV_REQ), .prepare = no_rights},
	{REASON(PERMISSION), NAK(INV_REQ), READ, .prepare = no_rights},
	{REASON(PERMISSION), NAK(INV_REQ), ATOMIC, .prepare = no_rights},
	{REASON(PERMISSION), UC, .prepare = no_rights},
	{REASON(RKEY), NAK(REM_ACCESS), .key = 1},
	{REASON(RKEY), NAK(REM_ACCESS), READ, .key = 1},
	{REASON(RKEY), NAK(REM_ACCESS), ATOMIC, .key = 1},
	{REASON(RKEY), UC, .key = 1},
	{REASON(RKEY_PD), NAK(REM_ACCESS), .prepare = other_domain},
	{REASON(RKEY_RANGE), NAK(REM_ACCESS), .addr = 8185},
	{REASON(RKEY_ACCESS), NAK(REM_ACCESS), .prepare = no_remote_rights},
	{REASON(INVALIDATE), UC, .op = HCASIM_WQE_OP_SEND_INV, .prepare = good_receive},
	{REASON(ATOMIC_ALIGNMENT), NAK(INV_REQ), ATOMIC, .addr = 4},
	{REASON(RD_ATOMIC), NAK(INV_REQ), READ, .prepare = no_reads},
	{REASON(RD_ATOMIC), NAK(INV_REQ), ATOMIC, .prepare = no_reads},
	{REASON(PAGES), RNR, .prepare = no_pages},
	{REASON(PAGES), UC, .prepare = no_pages},
	{REASON(MEMORY), NAK(REM_ACCESS), .prepare = no_memory},
	{REASON(MEMORY), NAK(REM_ACCESS), READ, .prepare = no_memory},
};

static void each_reason(void)
{
	for (unsigned int i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		refuse(&refusals[i]);
}

/* Misaligned, not permitted, or a wrong key: the requester's counters tell the two classes apart. */
static void requester(void)
{
	static const struct refusal atomics[] = {
		{REASON(ATOMIC_ALIGNMENT), NAK(INV_REQ), ATOMIC, .addr = 4},
		{REASON(RKEY), NAK(REM_ACCESS), ATOMIC, .key = 1},
		{REASON(RECEIVE_KEY), NAK(REM_OP), SEND, .prepare = bad_receive_key},
	};

	for (unsigned int i = 0; i < 3; i++) {
		struct hca_counters c[2];
		struct pair p;

		now = &atomics[i];
		pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
		if (now->prepare)
			now->prepare(&p);
		post(&p);
		hca_counters(p.fixture->hca[0], &c[0]);
		hca_counters(p.fixture->hca[1], &c[1]);
		CU_ASSERT(c[0].req_cqe_error == 1 && !c[0].req_cqe_flush_error);
		CU_ASSERT_EQUAL(c[0].req_remote_invalid_request, i == 0);
		CU_ASSERT_EQUAL(c[1].resp_remote_invalid_request, i == 0);
		CU_ASSERT_EQUAL(c[0].req_remote_access_errors, i == 1);
		CU_ASSERT_EQUAL(c[1].resp_remote_access_errors, i == 1);
		CU_ASSERT_EQUAL(c[0].req_remote_operation_errors, i == 2);
		CU_ASSERT_EQUAL(c[1].resp_remote_operation_errors, i == 2);
		counted_free(&p);
	}
}

static enum untimed_fate lose_first(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	return from || fixture->n++ ? UNTIMED_DELIVER : UNTIMED_DROP;
}

/* UC: the rest of a message whose beginning is lost. */
static void skipped(void)
{
	struct hca_counters c;
	struct pair p;

	pair_new(&p, HCASIM_QPT_UC, NULL, NULL, 0, 8192);
	p.fixture->wire = lose_first;
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, 0, fixture_sge(p.mem[0], 4096, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_run(p.fixture);
	hca_counters(p.fixture->hca[1], &c);
	CU_ASSERT(c.refused_gap == 1 && c.refused_skipped == 2 && c.rx_dropped == 3);
	CU_ASSERT(c.out_of_sequence == 1 && !c.seq_nak_sent);
	counted_free(&p);
}

/* Frames that the receive FIFO has no room for, and one of a port that does not exist. */
static void fifo(void)
{
	const struct hca_config cfg = {
		.num_ports = 1, .max_qp = 4, .max_cq = 8, .max_mr = 4, .max_rd_atomic = 1, .rx_depth = 2};
	struct hca_counters c;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, &cfg, 0, 4096);
	for (unsigned int i = 0; i < 5; i++) {
		struct hca_packet *pkt = hca_packet_alloc(64);

		pkt->len = 64;
		memset(pkt->data, 0, 64);
		hca_rx(p.fixture->hca[1], i < 4 ? 1 : 9, pkt);
	}
	fixture_run(p.fixture);
	hca_counters(p.fixture->hca[1], &c);
	CU_ASSERT(c.refused_rx_fifo == 3 && c.refused_no_receiver == 2 && c.rx_raw_frames == 2);
	counted_free(&p);
}

/* Management datagrams that the driver does not fetch. */
static void gsi(void)
{
	static const uint8_t mad[HCA_MAD_SIZE];
	struct hca_av av = {.hop_limit = 9, .port = 1};
	struct hca_counters c;
	struct hca_mad got;
	unsigned int n = 0;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	untimed_gid(1, 1, av.dgid);
	untimed_mac(1, 1, av.dmac);
	for (unsigned int i = 0; i < 300; i++) {
		CU_ASSERT_EQUAL(hca_gsi_send(p.fixture->hca[0], 1, &av, mad), 0);
		fixture_run(p.fixture);
	}
	while (hca_gsi_recv(p.fixture->hca[1], &got))
		n++;
	hca_counters(p.fixture->hca[1], &c);
	CU_ASSERT(n < 300 && c.refused_gsi_full == 300 - n && c.rx_packets == 300);
	counted_free(&p);
}

/* The driver is told which version a datagram came as, and one that the port has no GID for is refused. */
static void gsi_v1(void)
{
	static const uint8_t mad[HCA_MAD_SIZE];
	struct hca_av av = {.hop_limit = 9, .port = 1};
	struct hca_counters c;
	struct hca_mad got;
	uint8_t gid[16];
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	untimed_gid(1, 1, av.dgid);
	untimed_mac(1, 1, av.dmac);
	untimed_gid(0, 1, gid);
	hca_gid_set(p.fixture->hca[0], 1, 1, gid, true);
	for (unsigned int both = 0; both < 2; both++) {
		for (av.sgid_index = 0; av.sgid_index < 2; av.sgid_index++) {
			CU_ASSERT_EQUAL(hca_gsi_send(p.fixture->hca[0], 1, &av, mad), 0);
			fixture_run(p.fixture);
			CU_ASSERT_EQUAL(hca_gsi_recv(p.fixture->hca[1], &got), both || !av.sgid_index);
			CU_ASSERT_EQUAL(got.v1, both && av.sgid_index);
		}
		hca_gid_set(p.fixture->hca[1], 1, 1, av.dgid, true);
	}
	hca_counters(p.fixture->hca[1], &c);
	CU_ASSERT_EQUAL(c.refused_dgid, 1);
	counted_free(&p);
}

/* An XRC request that names no SRQ. */
static void xrc(void)
{
	const struct tiny_wqe w = {.op = HCASIM_WQE_OP_SEND, .inv_rkey = 3};
	struct hca_counters c;
	struct hca_sge sge;
	struct fixture_qp *qp[2];
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	qp[0] = fixture_qp(p.fixture, 0, HCASIM_QPT_XRC_SEND, p.scq[0], p.rcq[0]);
	qp[1] = fixture_qp(p.fixture, 1, HCASIM_QPT_XRC_RECV, p.scq[1], p.rcq[1]);
	fixture_connect(qp[0], qp[1], NULL);
	sge = fixture_sge(p.mem[0], 8, p.key[0]);
	fixture_put(qp[0], &w, NULL, &sge, 1);
	fixture_ring(qp[0]);
	fixture_run(p.fixture);
	hca_counters(p.fixture->hca[1], &c);
	CU_ASSERT(c.refused_xrc_srq == 1 && c.resp_remote_invalid_request == 1);
	counted_free(&p);
}

const struct test refusal_tests[] = {
	{"each reason", each_reason},
	{"requester and responder", requester},
	{"rest of a message", skipped},
	{"receive FIFO", fifo},
	{"management datagrams", gsi},
	{"management datagrams of RoCEv1", gsi_v1},
	{"XRC", xrc},
	{NULL, NULL},
};
