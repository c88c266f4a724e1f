// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* On-demand paging: page faults of each queue and operation, what the answer does, and pages that go away. */
#include "fixture.h"
#include "core/memory/odp.h"

#define LEN  20000u
#define ALL  (FIXTURE_ALL | HCASIM_ACCESS_ON_DEMAND)
#define MTU  1024u
#define PAGE FIXTURE_PAGE

/* A pair whose side `side` has an on-demand region over its memory. */
static uint32_t odp_new(struct pair *p, uint8_t type, unsigned int side, const struct fixture_path *path)
{
	pair_new(p, type, path, NULL, 0, LEN);
	return fixture_mr(p->fixture, side, p->mem[side], LEN, ALL);
}

static uint64_t pages(const void *mem, uint64_t len)
{
	return (((uintptr_t)mem + len - 1) / PAGE) - (uintptr_t)mem / PAGE + 1;
}

static uint64_t faults(struct pair *p, unsigned int side)
{
	struct hca_counters c;

	hca_counters(p->fixture->hca[side], &c);
	return c.num_page_faults;
}

/* ---- The send queue ---- */

static void gather_from(uint8_t type, uint8_t op)
{
	struct fixture_path path = {.mtu = 3, .retry = 255, .timeout = 1};
	struct hca_sge sge[2];
	struct pair p;
	uint32_t key = odp_new(&p, type, 0, &path);
	struct tiny_wqe w = {.op = op, .flags = HCA_WR_SIGNALED, .rkey = p.key[1]};

	w.remote_addr = (uintptr_t)p.mem[1];
	sge[0] = fixture_sge(p.mem[0], 3000, key);
	sge[1] = fixture_sge(p.mem[0] + 12000, 3000, key);
	fixture_put(p.qp[0], &w, NULL, sge, 2);
	fixture_ring(p.qp[0]);
	/* It waits for the host as long as that takes: no retry is counted, nothing leaves. */
	fixture_settle(p.fixture, 10 * MS);
	fixture_expect_none(p.scq[0]);
	CU_ASSERT_EQUAL(p.fixture->frames, 0);
	CU_ASSERT_EQUAL(fixture_page_answer(p.fixture, 0, true), 2);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(p.mem[1], p.mem[0], 3000), 0);
	CU_ASSERT_EQUAL(memcmp(p.mem[1] + 3000, p.mem[0] + 12000, 3000), 0);
	CU_ASSERT_EQUAL(faults(&p, 0), pages(p.mem[0], 3000) + pages(p.mem[0] + 12000, 3000));
	/* Once more: they are there now. */
	fixture_put(p.qp[0], &w, NULL, sge, 2);
	fixture_ring(p.qp[0]);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(fixture_page_request(p.fixture, 0), 0);
	pair_free(&p);
}

static void gather(void)
{
	gather_from(HCASIM_QPT_RC, HCASIM_WQE_OP_RDMA_WRITE);
	gather_from(HCASIM_QPT_UC, HCASIM_WQE_OP_RDMA_WRITE);
}

/* The second of two packets, whose page went while the first was acknowledged. */
static void gather_again(void)
{
	struct pair p;
	uint32_t key = odp_new(&p, HCASIM_QPT_RC, 0, NULL);
	uint8_t *second = p.mem[0] + 2 * PAGE;

	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, fixture_sge(p.mem[0], LEN, key),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(fixture_page_answer(p.fixture, 0, true), 1);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(hca_mr_unmap(p.fixture->hca[0], FIXTURE_PASID, (uintptr_t)second, 1), 1);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, fixture_sge(p.mem[0], LEN, key),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_run(p.fixture);
	fixture_expect_none(p.scq[0]);
	CU_ASSERT_EQUAL(fixture_page_answer(p.fixture, 0, true), 1);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(p.mem[1], p.mem[0], LEN), 0);
	pair_free(&p);
}

static void send_refused(void)
{
	static const uint8_t op[] = {HCASIM_WQE_OP_RDMA_WRITE, HCASIM_WQE_OP_RDMA_READ,
				     HCASIM_WQE_OP_ATOMIC_FA};
	unsigned int i;

	for (i = 0; i < sizeof(op); i++) {
		struct pair p;
		uint32_t key = odp_new(&p, HCASIM_QPT_RC, 0, NULL);

		uint8_t *at = (uint8_t *)(((uintptr_t)p.mem[1] + 7) & ~7ull);

		fixture_send(p.qp[0], op[i], HCA_WR_SIGNALED, fixture_sge(p.mem[0], 8, key), (uintptr_t)at,
			     p.key[1]);
		fixture_run(p.fixture);
		fixture_page_answer(p.fixture, 0, false);
		CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_PROT_ERR).vendor_err,
				HCASIM_VENDOR_ERR_DMA_FAULT);
		CU_ASSERT_EQUAL(fixture_query(p.qp[0]), HCASIM_QPS_ERR);
		pair_free(&p);
	}
}

/* Answers to a READ and an atomic have no place to go: dropped, and asked for again when they have. */
static void result(void)
{
	struct fixture_path path = {.mtu = 3, .retry = 255, .timeout = 1};
	uint64_t *remote, before;
	struct pair p;
	uint32_t key = odp_new(&p, HCASIM_QPT_RC, 0, &path);

	remote = (uint64_t *)(((uintptr_t)p.mem[1] + 7) & ~7ull);
	before = *remote;
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED, fixture_sge(p.mem[0] + 64, 5000, key),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_settle(p.fixture, 10 * MS);
	fixture_expect_none(p.scq[0]);
	CU_ASSERT_EQUAL(fixture_page_answer(p.fixture, 0, true), 1);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(p.mem[0] + 64, p.mem[1], 5000), 0);
	hca_mr_unmap(p.fixture->hca[0], FIXTURE_PASID, 0, UINT64_MAX);
	fixture_send(p.qp[0], HCASIM_WQE_OP_ATOMIC_FA, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 8, key),
		     (uintptr_t)remote, p.key[1]);
	fixture_settle(p.fixture, 10 * MS);
	fixture_expect_none(p.scq[0]);
	CU_ASSERT_EQUAL(fixture_page_answer(p.fixture, 0, true), 1);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], &before, 8), 0);
	pair_free(&p);
}

/* An answer that comes when nobody waits any more. */
static void late_answers(void)
{
	struct pair p;
	uint32_t key = odp_new(&p, HCASIM_QPT_RC, 0, NULL), token;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		fixture_send(p.qp[0], HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 100, key), 0,
			     0);
		fixture_run(p.fixture);
		token = fixture_page_request(p.fixture, 0);
		CU_ASSERT_NOT_EQUAL_FATAL(token, 0);
		if (i == 3)
			hca_qp_destroy(p.fixture->hca[0], p.qp[0]->qpn);
		else
			fixture_state(p.qp[0], i ? HCASIM_QPS_RESET : HCASIM_QPS_ERR);
		fixture_run(p.fixture);
		if (!i)
			fixture_expect(p.scq[0], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(hca_page_response(p.fixture->hca[0], token, i & 1), 0);
		CU_ASSERT_EQUAL(hca_page_response(p.fixture->hca[0], token, true), -EINVAL);
		CU_ASSERT_EQUAL(hca_page_request(p.fixture->hca[0], token, NULL, 0), -EINVAL);
		fixture_run(p.fixture);
		fixture_expect_none(p.scq[0]);
		if (i < 3) {
			fixture_state(p.qp[0], HCASIM_QPS_RESET);
			fixture_state(p.qp[1], HCASIM_QPS_RESET);
			fixture_connect(p.qp[0], p.qp[1], NULL);
		}
	}
	pair_free(&p);
}

/* The region goes while its pages are asked for: its key is looked at again. */
static void region_gone(void)
{
	struct pair p;
	uint32_t key = odp_new(&p, HCASIM_QPT_RC, 0, NULL), token;
	struct hca_page_range range;

	fixture_send(p.qp[0], HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 100, key), 0, 0);
	fixture_run(p.fixture);
	token = fixture_page_request(p.fixture, 0);
	CU_ASSERT_EQUAL(hca_page_request(p.fixture->hca[0], token, &range, 1), 1);
	CU_ASSERT_EQUAL(hca_mr_destroy(p.fixture->hca[0], key), 0);
	CU_ASSERT_EQUAL(hca_mr_map(p.fixture->hca[0], &range, false), -EINVAL);
	CU_ASSERT_EQUAL(hca_page_response(p.fixture->hca[0], token, true), 0);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_PROT_ERR).vendor_err,
			HCASIM_VENDOR_ERR_BAD_LKEY);
	pair_free(&p);
}

/* ---- The responder ---- */

/* Target of a SEND: its first packet is inside one page, the message is not. */
static uint8_t *buffer(const struct pair *p)
{
	return (uint8_t *)(((uintptr_t)p->mem[1] + PAGE - 1) & ~(PAGE - 1)) + 24;
}

static void post(struct pair *p, uint8_t op, uint32_t key)
{
	struct hca_sge sge = fixture_sge(buffer(p), 12000, key);
	uint8_t *at = (uint8_t *)(((uintptr_t)p->mem[1] + 7) & ~7ull);
	uint64_t eight = 8;

	if (op == HCASIM_WQE_OP_SEND)
		fixture_recv(p->qp[1], &sge, 1);
	if (op == HCASIM_WQE_OP_ATOMIC_WRITE) {
		struct tiny_wqe w = {.op = op,
				     .flags = HCA_WR_SIGNALED | HCA_WR_INLINE,
				     .num_sge = 8,
				     .rkey = key,
				     .remote_addr = (uintptr_t)at};

		fixture_put(p->qp[0], &w, NULL, &eight, 1);
		fixture_ring(p->qp[0]);
		return;
	}
	fixture_send(p->qp[0], op, HCA_WR_SIGNALED,
		     fixture_sge(p->mem[0], op == HCASIM_WQE_OP_ATOMIC_FA ? 8 : 5000, p->key[0]),
		     (uintptr_t)at, key);
}

static const uint8_t requests[] = {HCASIM_WQE_OP_SEND, HCASIM_WQE_OP_RDMA_WRITE, HCASIM_WQE_OP_RDMA_READ,
				   HCASIM_WQE_OP_ATOMIC_FA, HCASIM_WQE_OP_ATOMIC_WRITE};

/* An RNR NAK, until the pages are there; one request of pages, whose answer is for the whole message. */
static void rnr(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(requests); i++) {
		struct fixture_path path = {.mtu = 3, .retry = 255};
		struct hca_counters c;
		struct pair p;
		uint32_t key = odp_new(&p, HCASIM_QPT_RC, 1, &path);

		post(&p, requests[i], key);
		fixture_settle(p.fixture, 3 * MS); /* min_rnr_timer 12: 0.64 ms */
		fixture_expect_none(p.scq[0]);
		hca_counters(p.fixture->hca[0], &c);
		CU_ASSERT_TRUE(c.rnr_nak_retry_err >= 4 && c.local_ack_timeout_err == 0);
		fixture_page_answer(p.fixture, 1, true);
		fixture_settle(p.fixture, MS);
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
		CU_ASSERT_EQUAL(fixture_page_request(p.fixture, 1), 0);
		if (requests[i] == HCASIM_WQE_OP_SEND) {
			fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
			CU_ASSERT_EQUAL(memcmp(buffer(&p), p.mem[0], 5000), 0);
			CU_ASSERT_EQUAL(faults(&p, 1), pages(buffer(&p), 12000));
		}
		CU_ASSERT_EQUAL(fixture_query(p.qp[1]), HCASIM_QPS_RTS);
		pair_free(&p);
	}
}

static void rnr_refused(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(requests); i++) {
		const bool send = requests[i] == HCASIM_WQE_OP_SEND;
		struct pair p;
		uint32_t key = odp_new(&p, HCASIM_QPT_RC, 1, NULL);

		post(&p, requests[i], key);
		fixture_settle(p.fixture, MS);
		fixture_page_answer(p.fixture, 1, false);
		fixture_settle(p.fixture, MS);
		fixture_expect(p.scq[0],
			       send ? HCASIM_CQE_STATUS_REM_OP_ERR : HCASIM_CQE_STATUS_REM_ACCESS_ERR);
		if (send)
			fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_LOC_PROT_ERR);
		CU_ASSERT_EQUAL(fixture_query(p.qp[1]), HCASIM_QPS_ERR);
		pair_free(&p);
	}
}

/* RNR NAKs of page faults count as any others do. */
static void rnr_exhausted(void)
{
	struct fixture_path path = {.rnr_retry = 1};
	struct pair p;
	uint32_t key = odp_new(&p, HCASIM_QPT_RC, 1, &path);

	post(&p, HCASIM_WQE_OP_RDMA_WRITE, key);
	fixture_settle(p.fixture, 10 * MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_RNR_RETRY_EXC_ERR);
	pair_free(&p);
}

/* What the receive WQE has room for but the message does not need may be missing. */
static void hints(void)
{
	uint32_t token;
	struct hca_page_range range[4];
	struct pair p;
	uint32_t key = odp_new(&p, HCASIM_QPT_RC, 1, NULL);

	post(&p, HCASIM_WQE_OP_SEND, key);
	fixture_settle(p.fixture, MS);
	token = fixture_page_request(p.fixture, 1);
	CU_ASSERT_EQUAL(hca_page_request(p.fixture->hca[1], token, range, 4), 2);
	CU_ASSERT_TRUE(!range[0].hint && range[0].write && range[1].hint);
	CU_ASSERT_EQUAL(range[0].len, pages(buffer(&p), MTU) * PAGE);
	hca_mr_map(p.fixture->hca[1], &range[0], false);
	CU_ASSERT_EQUAL(hca_page_response(p.fixture->hca[1], token, true), 0);
	fixture_settle(p.fixture, MS);
	fixture_page_answer(p.fixture, 1, true); /* the message was longer: a fault in its middle */
	fixture_settle(p.fixture, MS);
	fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(buffer(&p), p.mem[0], 5000), 0);
	pair_free(&p);
}

/* Takes the pages away when the second response packet leaves. */
static enum untimed_fate pull(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	if (from == 1 && ++fixture->n == 2)
		hca_mr_unmap(fixture->hca[1], FIXTURE_PASID, 0, UINT64_MAX);
	return UNTIMED_DELIVER;
}

static void read_interrupted(void)
{
	const struct hca_config cfg = {
		.num_ports = 1, .max_qp = 2, .max_cq = 4, .max_mr = 8, .gather_depth = 1, .tx_depth = 1};
	struct fixture_path path = {.mtu = 3, .retry = 255};
	struct hca_page_range all = {0};
	struct pair p;
	uint32_t key;

	pair_new(&p, HCASIM_QPT_RC, &path, &cfg, 0, LEN);
	key = fixture_mr(p.fixture, 1, p.mem[1], LEN, ALL);
	all = (struct hca_page_range){.key = key, .va = (uintptr_t)p.mem[1], .len = LEN, .write = true};
	CU_ASSERT_EQUAL(hca_mr_map(p.fixture->hca[1], &all, true), 0);
	p.fixture->wire = pull;
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED,
		     fixture_sge(p.mem[0], 10 * MTU, p.key[0]), (uintptr_t)p.mem[1], key);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED,
		     fixture_sge(p.mem[0] + 10 * MTU, 5 * MTU, p.key[0]), (uintptr_t)p.mem[1] + 10 * MTU,
		     key);
	fixture_run(p.fixture);
	fixture_expect_none(p.scq[0]);
	fixture_page_answer(p.fixture, 1, true); /* the rest of the first */
	fixture_settle(p.fixture, MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_page_answer(p.fixture, 1, true);
	fixture_settle(p.fixture, MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], 15 * MTU), 0);
	pair_free(&p);
}

/* A READ that waits for its pages is not overtaken by the WRITE behind it. */
static void read_in_order(void)
{
	struct pair p;
	uint32_t key = odp_new(&p, HCASIM_QPT_RC, 1, NULL);
	uint8_t before[64];

	memcpy(before, p.mem[1], sizeof(before));
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED,
		     fixture_sge(p.mem[0] + 8192, 64, p.key[0]), (uintptr_t)p.mem[1], key);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 64, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_settle(p.fixture, MS);
	fixture_expect_none(p.scq[0]);
	fixture_page_answer(p.fixture, 1, true);
	fixture_settle(p.fixture, MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(p.mem[0] + 8192, before, sizeof(before)), 0);
	CU_ASSERT_EQUAL(memcmp(p.mem[1], p.mem[0], 64), 0);
	pair_free(&p);
}

static void by_window(void)
{
	struct tiny_wqe bind = {.op = HCASIM_WQE_OP_BIND_MW, .ud_qpn = FIXTURE_ALL, .ud_qkey = 1};
	struct pair p;
	uint32_t key = odp_new(&p, HCASIM_QPT_RC, 1, NULL), mw, region;

	region = fixture_mr(p.fixture, 1, p.mem[1], LEN, ALL | HCASIM_ACCESS_MW_BIND);
	CU_ASSERT_NOT_EQUAL(key, region);
	CU_ASSERT_EQUAL(hca_mw_create(p.fixture->hca[1], FIXTURE_PD, 1, &mw), 0);
	bind.remote_addr = (uintptr_t)p.mem[1];
	bind.rkey = mw;
	bind.imm = mw + 1;
	bind.inv_rkey = region;
	bind.compare = LEN;
	fixture_put(p.qp[1], &bind, NULL, NULL, 0);
	fixture_ring(p.qp[1]);
	fixture_run(p.fixture);
	post(&p, HCASIM_WQE_OP_RDMA_WRITE, mw + 1);
	fixture_settle(p.fixture, MS);
	fixture_expect_none(p.scq[0]);
	fixture_page_answer(p.fixture, 1, true);
	fixture_settle(p.fixture, MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	CU_ASSERT_TRUE(key_present(p.fixture->hca[1], region, (uintptr_t)p.mem[1] + 8, 5000, true));
	CU_ASSERT_FALSE(key_present(p.fixture->hca[1], key, (uintptr_t)p.mem[1] + 8, 1, true));
	pair_free(&p);
}

/* ---- Unreliable: the message is lost, the next one arrives ---- */

static void lost(uint8_t op)
{
	struct pair p;
	uint32_t key = odp_new(&p, HCASIM_QPT_UC, 1, NULL);

	post(&p, op, key);
	fixture_settle(p.fixture, MS);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect_none(p.rcq[1]);
	fixture_page_answer(p.fixture, 1, true);
	post(&p, op, key);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	if (op == HCASIM_WQE_OP_SEND)
		CU_ASSERT_EQUAL(fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK).byte_count, 5000);
	CU_ASSERT_EQUAL(p.fixture->hca[1]->count[1].rx_dropped, packets_of(5000, MTU));
	pair_free(&p);
}

static void unreliable(void)
{
	lost(HCASIM_WQE_OP_SEND);
	lost(HCASIM_WQE_OP_RDMA_WRITE);
}

static void datagram(void)
{
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_SEND, .flags = HCA_WR_SIGNALED, .ud_qkey = 7};
	struct hca_av av = {.hop_limit = 9, .port = 1};
	struct hca_sge from, into;
	struct pair p;
	uint32_t key = odp_new(&p, HCASIM_QPT_UD, 1, NULL);
	unsigned int i;

	untimed_gid(1, 1, av.dgid);
	untimed_mac(1, 1, av.dmac);
	fixture_ud_up(p.qp[0], 7);
	fixture_ud_up(p.qp[1], 7);
	w.ud_qpn = p.qp[1]->qpn;
	from = fixture_sge(p.mem[0], 64, p.key[0]);
	into = fixture_sge(p.mem[1], 500, key);
	fixture_recv(p.qp[1], &into, 1);
	for (i = 0; i < 2; i++) {
		fixture_put(p.qp[0], &w, &av, &from, 1);
		fixture_ring(p.qp[0]);
		fixture_run(p.fixture);
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
		if (!i) {
			fixture_expect_none(p.rcq[1]);
			fixture_page_answer(p.fixture, 1, true);
		}
	}
	CU_ASSERT_EQUAL(fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK).byte_count, 64 + HCASIM_GRH_SIZE);
	CU_ASSERT_EQUAL(p.fixture->hca[1]->count[1].rx_dropped, 1);
	pair_free(&p);
}

static void unreliable_refused(void)
{
	struct pair p;
	uint32_t key = odp_new(&p, HCASIM_QPT_UC, 1, NULL);

	post(&p, HCASIM_WQE_OP_RDMA_WRITE, key);
	fixture_settle(p.fixture, MS);
	fixture_page_answer(p.fixture, 1, false);
	CU_ASSERT_EQUAL(fixture_query(p.qp[1]), HCASIM_QPS_RTS);
	post(&p, HCASIM_WQE_OP_SEND, key);
	fixture_settle(p.fixture, MS);
	fixture_page_answer(p.fixture, 1, false);
	fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(fixture_query(p.qp[1]), HCASIM_QPS_ERR);
	pair_free(&p);
}

const struct test paging_tests[] = {
	{"send queue waits", gather},
	{"a page in the middle", gather_again},
	{"send queue is refused", send_refused},
	{"result has no place", result},
	{"late answers", late_answers},
	{"region gone", region_gone},
	{"responder not ready", rnr},
	{"responder is refused", rnr_refused},
	{"RNR retries", rnr_exhausted},
	{"rest of a receive", hints},
	{"READ interrupted", read_interrupted},
	{"READ in order", read_in_order},
	{"by a window", by_window},
	{"unreliable", unreliable},
	{"datagram", datagram},
	{"unreliable is refused", unreliable_refused},
	{NULL, NULL},
};
