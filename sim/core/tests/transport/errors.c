// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What goes wrong in a work request, at either end: status, order, states and events. */
#include "fixture.h"

/* A good WRITE, the bad request, and two more that are flushed. Returns the error completion. */
static struct tiny_cqe one_bad(struct pair *p, const struct tiny_wqe *bad, const struct hca_sge *sge,
			       uint32_t n, uint8_t status)
{
	struct tiny_cqe c;
	uint16_t index;

	fixture_send(p->qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED,
		     fixture_sge(p->mem[0], 8, p->key[0]), (uintptr_t)p->mem[1], p->key[1]);
	index = fixture_put(p->qp[0], bad, NULL, sge, n);
	fixture_send(p->qp[0], HCASIM_WQE_OP_RDMA_WRITE, 0, fixture_sge(p->mem[0], 8, p->key[0]),
		     (uintptr_t)p->mem[1], p->key[1]);
	fixture_run(p->fixture);
	fixture_expect(p->scq[0], HCASIM_CQE_STATUS_OK);
	c = fixture_expect(p->scq[0], status);
	CU_ASSERT_EQUAL(c.wqe_index, index);
	CU_ASSERT_EQUAL(c.num_bb, 2);
	fixture_expect(p->scq[0], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	/* Posted after the transition: flushed too. */
	fixture_send(p->qp[0], HCASIM_WQE_OP_RDMA_WRITE, 0, fixture_sge(p->mem[0], 8, p->key[0]),
		     (uintptr_t)p->mem[1], p->key[1]);
	fixture_run(p->fixture);
	fixture_expect(p->scq[0], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	fixture_expect_none(p->scq[0]);
	CU_ASSERT_EQUAL(fixture_query(p->qp[0]), HCASIM_QPS_ERR);
	return c;
}

static void local(uint8_t op, struct hca_sge sge, uint8_t status, uint8_t vendor)
{
	struct tiny_wqe w = {.op = op};
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	w.remote_addr = (uintptr_t)p.mem[1];
	w.rkey = p.key[1];
	sge.addr += (uintptr_t)p.mem[0];
	sge.lkey += p.key[0];
	CU_ASSERT_EQUAL(one_bad(&p, &w, &sge, 1, status).vendor_err, vendor);
	CU_ASSERT_EQUAL(fixture_query(p.qp[1]), HCASIM_QPS_RTS);
	pair_free(&p);
}

static void local_errors(void)
{
	local(HCASIM_WQE_OP_SEND, fixture_sge(NULL, 8, 1), HCASIM_CQE_STATUS_LOC_PROT_ERR,
	      HCASIM_VENDOR_ERR_BAD_LKEY);
	local(HCASIM_WQE_OP_SEND, fixture_sge((void *)4090, 8, 0), HCASIM_CQE_STATUS_LOC_PROT_ERR,
	      HCASIM_VENDOR_ERR_LKEY_RANGE);
	local(HCASIM_WQE_OP_RDMA_WRITE, fixture_sge(NULL, UINT32_MAX, 0), HCASIM_CQE_STATUS_LOC_LEN_ERR,
	      HCASIM_VENDOR_ERR_MSG_TOO_LONG);
	local(HCASIM_WQE_OP_RDMA_READ, fixture_sge(NULL, 8, 0x100), HCASIM_CQE_STATUS_LOC_PROT_ERR,
	      HCASIM_VENDOR_ERR_BAD_LKEY);
	local(HCASIM_WQE_OP_ATOMIC_FA, fixture_sge(NULL, 4, 0), HCASIM_CQE_STATUS_LOC_LEN_ERR,
	      HCASIM_VENDOR_ERR_BAD_SEGMENT);
	local(HCASIM_WQE_OP_TSO, fixture_sge(NULL, 8, 0), HCASIM_CQE_STATUS_LOC_QP_OP_ERR,
	      HCASIM_VENDOR_ERR_BAD_OPCODE);
	local(HCASIM_WQE_OP_LOCAL_INV, fixture_sge(NULL, 8, 0), HCASIM_CQE_STATUS_MW_BIND_ERR,
	      HCASIM_VENDOR_ERR_BAD_RKEY);
	local(200, fixture_sge(NULL, 8, 0), HCASIM_CQE_STATUS_LOC_QP_OP_ERR, HCASIM_VENDOR_ERR_BAD_OPCODE);
}

static void read_needs_local_write(void)
{
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_RDMA_READ};
	struct hca_sge sge;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	w.remote_addr = (uintptr_t)p.mem[1];
	w.rkey = p.key[1];
	sge = fixture_sge(p.mem[0], 8, fixture_mr(p.fixture, 0, p.mem[0], 4096, 0));
	CU_ASSERT_EQUAL(one_bad(&p, &w, &sge, 1, HCASIM_CQE_STATUS_LOC_PROT_ERR).vendor_err,
			HCASIM_VENDOR_ERR_LKEY_ACCESS);
	pair_free(&p);
}

/* The peer refuses. `event` at the peer. */
static void remote(uint8_t op, int64_t addr, uint32_t key, uint32_t len, uint32_t access, uint8_t status,
		   uint8_t event)
{
	struct fixture_path path = {.access = access};
	struct tiny_wqe w = {.op = op};
	struct hca_sge sge;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 4096);
	w.remote_addr = (uintptr_t)p.mem[1] + (uint64_t)addr;
	w.rkey = p.key[1] + key;
	sge = fixture_sge(p.mem[0], len, p.key[0]);
	one_bad(&p, &w, &sge, 1, status);
	CU_ASSERT_EQUAL(fixture_query(p.qp[1]), HCASIM_QPS_ERR);
	CU_ASSERT_EQUAL(fixture_events(p.fixture, 1, event, p.qp[1]->qpn), 1);
	pair_free(&p);
}

static void remote_errors(void)
{
	static const uint8_t ops[] = {HCASIM_WQE_OP_RDMA_WRITE, HCASIM_WQE_OP_RDMA_READ,
				      HCASIM_WQE_OP_ATOMIC_CS};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		remote(ops[i], 0, 1, 8, FIXTURE_ALL, HCASIM_CQE_STATUS_REM_ACCESS_ERR,
		       HCASIM_EQE_TYPE_QP_ACCESS_ERR);
		remote(ops[i], 4096, 0, 8, FIXTURE_ALL, HCASIM_CQE_STATUS_REM_ACCESS_ERR,
		       HCASIM_EQE_TYPE_QP_ACCESS_ERR);
		remote(ops[i], -8, 0, 8, FIXTURE_ALL, HCASIM_CQE_STATUS_REM_ACCESS_ERR,
		       HCASIM_EQE_TYPE_QP_ACCESS_ERR);
	}
	remote(HCASIM_WQE_OP_RDMA_READ, 0, 0, 8, HCASIM_ACCESS_REMOTE_WRITE,
	       HCASIM_CQE_STATUS_REM_INV_REQ_ERR, HCASIM_EQE_TYPE_QP_REQ_ERR);
	remote(HCASIM_WQE_OP_ATOMIC_FA, 0, 0, 8, HCASIM_ACCESS_REMOTE_WRITE,
	       HCASIM_CQE_STATUS_REM_INV_REQ_ERR, HCASIM_EQE_TYPE_QP_REQ_ERR);
	remote(HCASIM_WQE_OP_ATOMIC_FA, 4, 0, 8, FIXTURE_ALL, HCASIM_CQE_STATUS_REM_INV_REQ_ERR,
	       HCASIM_EQE_TYPE_QP_REQ_ERR);
}

/* A request whose answer the own memory does not take: `key` off the peer's key. */
static void answer_refused(uint8_t op, uint32_t key, uint8_t status)
{
	struct tiny_wqe w = {.op = op, .swap_add = 2, .compare = 1};
	const uint64_t one = 1;
	struct hca_sge sge;
	uint64_t word;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	memcpy(p.mem[1] + 64, &one, 8);
	w.remote_addr = (uintptr_t)p.mem[1] + 64;
	w.rkey = p.key[1] + key;
	sge = fixture_sge(p.mem[0], 8, p.key[0] + 1);
	one_bad(&p, &w, &sge, 1, status);
	memcpy(&word, p.mem[1] + 64, 8);
	CU_ASSERT_EQUAL(word, key || op == HCASIM_WQE_OP_RDMA_READ ? 1
			      : op == HCASIM_WQE_OP_ATOMIC_CS      ? 2
								   : 3);
	pair_free(&p);
}

/* Local memory is looked at when the answer lands: the peer's error comes first, and an atomic has been executed. */
static void answers_and_local_keys(void)
{
	static const uint8_t ops[] = {HCASIM_WQE_OP_RDMA_READ, HCASIM_WQE_OP_ATOMIC_CS,
				      HCASIM_WQE_OP_ATOMIC_FA};
	unsigned int i;

	for (i = 0; i < sizeof(ops); i++) {
		answer_refused(ops[i], 0, HCASIM_CQE_STATUS_LOC_PROT_ERR);
		answer_refused(ops[i], 1, HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	}
}

/* A WRITE with immediate to memory that may not be written: one packet takes a receive, a longer one has not yet. */
static void write_imm(uint8_t type, uint32_t len, unsigned int receives, uint8_t send_status,
		      uint8_t recv_status)
{
	struct fixture_path path = {.mtu = 1};
	unsigned int events;
	struct pair p;

	pair_new(&p, type, &path, NULL, 0, 4096);
	for (events = 0; events < receives; events++)
		fixture_recv(p.qp[1], &(struct hca_sge){0}, 1);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE_IMM, HCA_WR_SIGNALED,
		     fixture_sge(p.mem[0], len, p.key[0]), (uintptr_t)p.mem[1], p.key[1] + 1);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], send_status);
	if (receives && recv_status)
		fixture_expect(p.rcq[1], recv_status);
	if (receives > 1)
		fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	fixture_expect_none(p.rcq[1]);
	events = type == HCASIM_QPT_RC && recv_status != HCASIM_CQE_STATUS_LOC_ACCESS_ERR;
	CU_ASSERT_EQUAL(fixture_events(p.fixture, 1, HCASIM_EQE_TYPE_QP_ACCESS_ERR, p.qp[1]->qpn), events);
	pair_free(&p);
}

static void write_imm_refused(void)
{
	write_imm(HCASIM_QPT_RC, 256, 2, HCASIM_CQE_STATUS_REM_ACCESS_ERR, HCASIM_CQE_STATUS_LOC_ACCESS_ERR);
	write_imm(HCASIM_QPT_RC, 257, 2, HCASIM_CQE_STATUS_REM_ACCESS_ERR, HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	write_imm(HCASIM_QPT_RC, 256, 0, HCASIM_CQE_STATUS_REM_ACCESS_ERR, 0);
	write_imm(HCASIM_QPT_UC, 256, 1, HCASIM_CQE_STATUS_OK, 0);
}

/* Of no bytes, neither key nor address matters, at either end. */
static void nothing_is_not_checked(void)
{
	static const uint8_t ops[] = {HCASIM_WQE_OP_RDMA_WRITE, HCASIM_WQE_OP_RDMA_READ};
	unsigned int i;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	for (i = 0; i < 2; i++) {
		fixture_send(p.qp[0], ops[i], HCA_WR_SIGNALED, fixture_sge((void *)12345, 0, 0), 999, 0xdead);
		fixture_run(p.fixture);
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	}
	pair_free(&p);
}

static void read_limit_zero(void)
{
	struct fixture_path path = {.rd_atomic = 255};
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_RDMA_READ};
	struct hca_sge sge;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 4096);
	w.remote_addr = (uintptr_t)p.mem[1];
	w.rkey = p.key[1];
	sge = fixture_sge(p.mem[0], 8, p.key[0]);
	CU_ASSERT_EQUAL(one_bad(&p, &w, &sge, 1, HCASIM_CQE_STATUS_LOC_QP_OP_ERR).vendor_err,
			HCASIM_VENDOR_ERR_RD_ATOMIC_LIMIT);
	pair_free(&p);
}

/* Receive WQEs that cannot take the message. */
static void receive(struct hca_sge sge, uint8_t send_status, uint8_t recv_status, uint8_t vendor)
{
	struct hca_sge good;
	struct tiny_cqe c;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	sge.addr += (uintptr_t)p.mem[1];
	sge.lkey += p.key[1];
	good = fixture_sge(p.mem[1], 64, p.key[1]);
	fixture_recv(p.qp[1], &good, 1);
	fixture_recv(p.qp[1], &sge, 1);
	fixture_recv(p.qp[1], &good, 1);
	fixture_send(p.qp[0], HCASIM_WQE_OP_SEND, 0, fixture_sge(p.mem[0], 64, p.key[0]), 0, 0);
	fixture_send(p.qp[0], HCASIM_WQE_OP_SEND, 0, fixture_sge(p.mem[0], 64, p.key[0]), 0, 0);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], send_status);
	fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_OK);
	c = fixture_expect(p.rcq[1], recv_status);
	CU_ASSERT_EQUAL(c.vendor_err, vendor);
	CU_ASSERT_EQUAL(c.wqe_index, 1);
	c = fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(c.wqe_index, 2);
	fixture_recv(p.qp[1], &good, 1); /* posted in ERR: no doorbell tells */
	fixture_settle(p.fixture, 100 * MS);
	c = fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(c.wqe_index, 3);
	fixture_expect_none(p.rcq[1]);
	pair_free(&p);
}

static void receive_errors(void)
{
	receive(fixture_sge(NULL, 63, 0), HCASIM_CQE_STATUS_REM_INV_REQ_ERR, HCASIM_CQE_STATUS_LOC_LEN_ERR,
		HCASIM_VENDOR_ERR_RQ_TOO_SHORT);
	receive(fixture_sge(NULL, 64, 1), HCASIM_CQE_STATUS_REM_OP_ERR, HCASIM_CQE_STATUS_LOC_PROT_ERR,
		HCASIM_VENDOR_ERR_BAD_LKEY);
	receive(fixture_sge((void *)4090, 64, 0), HCASIM_CQE_STATUS_REM_OP_ERR,
		HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_VENDOR_ERR_LKEY_RANGE);
}

/* ---- Memory that the host refuses ---- */

static bool refuse_payload(struct fixture *fixture, unsigned int side, const struct hca_dma *dma)
{
	return side != fixture->n || dma->write != (bool)fixture->m ||
	       (dma->class_ != HCA_DMA_PAYLOAD && dma->class_ != HCA_DMA_ATOMIC);
}

static void fault(uint8_t op, unsigned int side, bool write, uint8_t send_status, uint32_t len, bool landing)
{
	struct hca_config cfg = {.num_ports = 1,
				 .max_qp = 4,
				 .max_cq = 8,
				 .max_mr = 8,
				 .max_rd_atomic = 4,
				 .acks_after_landing = landing};
	struct fixture_path path = {.mtu = 1};
	/* of a WRITE with immediate, only its last packet has taken a receive */
	uint8_t recv_status = op == HCASIM_WQE_OP_SEND ? HCASIM_CQE_STATUS_LOC_PROT_ERR
			      : op == HCASIM_WQE_OP_RDMA_WRITE_IMM && len <= 256
				      ? HCASIM_CQE_STATUS_LOC_ACCESS_ERR
				      : HCASIM_CQE_STATUS_WR_FLUSH_ERR;
	struct hca_sge sge;
	struct tiny_cqe c;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, &cfg, 0, 4096);
	p.fixture->dma = refuse_payload;
	p.fixture->n = side;
	p.fixture->m = write;
	sge = fixture_sge(p.mem[1], 4096, p.key[1]);
	fixture_recv(p.qp[1], &sge, 1);
	fixture_recv(p.qp[1], &sge, 1);
	fixture_send(p.qp[0], op, HCA_WR_SIGNALED, fixture_sge(p.mem[0], len, p.key[0]), (uintptr_t)p.mem[1],
		     p.key[1]);
	fixture_send(p.qp[0], op, HCA_WR_SIGNALED, fixture_sge(p.mem[0], len, p.key[0]), (uintptr_t)p.mem[1],
		     p.key[1]);
	fixture_settle(p.fixture, 10000 * MS);
	if (side == 0 || landing) {
		c = fixture_expect(p.scq[0], send_status);
		if (side == 0)
			CU_ASSERT_EQUAL(c.vendor_err, HCASIM_VENDOR_ERR_DMA_FAULT);
		fixture_expect(p.scq[0], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(fixture_query(p.qp[0]), HCASIM_QPS_ERR);
	}
	if (side == 1) {
		CU_ASSERT_EQUAL(fixture_query(p.qp[1]), HCASIM_QPS_ERR);
		fixture_expect(p.rcq[1], recv_status);
		fixture_expect(p.rcq[1], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
		fixture_expect_none(p.rcq[1]);
	}
	pair_free(&p);
}

static void dma_faults(void)
{
	uint32_t len;

	for (len = 8; len <= 3000; len += 1496) {
		fault(HCASIM_WQE_OP_SEND, 0, false, HCASIM_CQE_STATUS_LOC_PROT_ERR, len, true);
		fault(HCASIM_WQE_OP_RDMA_WRITE, 0, false, HCASIM_CQE_STATUS_LOC_PROT_ERR, len, true);
		fault(HCASIM_WQE_OP_RDMA_READ, 0, true, HCASIM_CQE_STATUS_LOC_PROT_ERR, len, true);
		fault(HCASIM_WQE_OP_SEND, 1, true, HCASIM_CQE_STATUS_REM_OP_ERR, len, true);
		fault(HCASIM_WQE_OP_RDMA_WRITE, 1, true, HCASIM_CQE_STATUS_REM_ACCESS_ERR, len, true);
		fault(HCASIM_WQE_OP_RDMA_WRITE_IMM, 1, true, HCASIM_CQE_STATUS_REM_ACCESS_ERR, len, true);
		fault(HCASIM_WQE_OP_RDMA_READ, 1, false, HCASIM_CQE_STATUS_REM_ACCESS_ERR, len, true);
		fault(HCASIM_WQE_OP_SEND, 1, true, HCASIM_CQE_STATUS_REM_OP_ERR, len, false);
		fault(HCASIM_WQE_OP_RDMA_WRITE, 1, true, HCASIM_CQE_STATUS_REM_ACCESS_ERR, len, false);
	}
	fault(HCASIM_WQE_OP_ATOMIC_FA, 0, true, HCASIM_CQE_STATUS_LOC_PROT_ERR, 8, true);
	fault(HCASIM_WQE_OP_ATOMIC_FA, 1, true, HCASIM_CQE_STATUS_REM_ACCESS_ERR, 8, true);
	fault(HCASIM_WQE_OP_ATOMIC_FA, 1, false, HCASIM_CQE_STATUS_REM_ACCESS_ERR, 8, true);
}

/* A result that the host refuses is known late: what the peer has acknowledged behind it is flushed. */
static void acknowledged_behind_a_fault(void)
{
	struct tiny_cqe c;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	p.fixture->dma = refuse_payload;
	p.fixture->n = 0;
	p.fixture->m = true;
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 4096, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 8, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 8, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_settle(p.fixture, 10000 * MS);
	c = fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(c.vendor_err, HCASIM_VENDOR_ERR_DMA_FAULT);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	fixture_expect_none(p.scq[0]);
	pair_free(&p);
}

/* The peer's answer becomes a NAK with a code that RC does not have (of RD, or reserved), and is whole again. */
static enum untimed_fate forge_nak(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	uint32_t l3 = pkt->data[12] == 0x86 ? 40 : 20, crc;

	if (from == 0)
		return UNTIMED_DELIVER;
	pkt->data[14 + l3 + 8 + 12] = (uint8_t)(HCASIM_AETH_KIND_NAK << 5 | fixture->n);
	crc = htole32(icrc_frame(icrc_seed(), pkt->data, pkt->len - 4));
	memcpy(pkt->data + pkt->len - 4, &crc, 4);
	return UNTIMED_DELIVER;
}

static void bad_responses(void)
{
	static const uint8_t codes[] = {HCASIM_NAK_INV_RD_REQ, 5, 31};
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_SEND};
	struct fixture_cq *cq;
	unsigned int i;
	struct pair p;

	for (i = 0; i < sizeof(codes); i++) {
		pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
		cq = p.scq[0];
		p.fixture->n = codes[i];
		p.fixture->wire = forge_nak;
		fixture_put(p.qp[0], &w, NULL, NULL, 0);
		fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, 0, fixture_sge(p.mem[0], 8, p.key[0]),
			     (uintptr_t)p.mem[1], p.key[1]);
		fixture_recv(p.qp[1], &(struct hca_sge){0}, 1);
		fixture_run(p.fixture);
		fixture_expect(cq, HCASIM_CQE_STATUS_BAD_RESP_ERR);
		fixture_expect(cq, HCASIM_CQE_STATUS_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(fixture_query(p.qp[0]), HCASIM_QPS_ERR);
		pair_free(&p);
	}
}

/* READs before a refused request are answered; it fails, in order. */
static void reads_before_a_nak(void)
{
	struct fixture_path path = {.mtu = 1};
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, &path, NULL, 0, 8192);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_READ, HCA_WR_SIGNALED, fixture_sge(p.mem[0], 8000, p.key[0]),
		     (uintptr_t)p.mem[1], p.key[1]);
	fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, 0, fixture_sge(p.mem[0], 8, p.key[0]), 0, 0);
	fixture_run(p.fixture);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_OK);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(memcmp(p.mem[0], p.mem[1], 8000), 0);
	pair_free(&p);
}

/* A region that goes while a message uses it. */
static enum untimed_fate drop_region(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	if (++fixture->n == 5)
		hca_mr_destroy(fixture->hca[fixture->m >> 31], fixture->m & 0x7fffffff);
	return UNTIMED_DELIVER;
}

static void region_goes(void)
{
	static const uint8_t status[2] = {HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_CQE_STATUS_REM_ACCESS_ERR};
	struct hca_config cfg = {.num_ports = 1,
				 .max_qp = 4,
				 .max_cq = 8,
				 .max_mr = 8,
				 .max_rd_atomic = 4,
				 .acks_after_landing = 1,
				 .gather_depth = 1,
				 .tx_depth = 1};
	struct fixture_path path = {.mtu = 1};
	unsigned int side;

	for (side = 0; side < 2; side++) {
		struct pair p;

		pair_new(&p, HCASIM_QPT_RC, &path, &cfg, 0, 65536);
		p.fixture->wire = drop_region;
		p.fixture->m = p.key[side] | side << 31;
		fixture_send(p.qp[0], HCASIM_WQE_OP_RDMA_WRITE, 0, fixture_sge(p.mem[0], 60000, p.key[0]),
			     (uintptr_t)p.mem[1], p.key[1]);
		fixture_run(p.fixture);
		fixture_expect(p.scq[0], status[side]);
		pair_free(&p);
	}
}

static void stale_and_torn_wqes(void)
{
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_RDMA_WRITE};
	struct hca_sge sge;
	struct tiny_cqe c;
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	w.remote_addr = (uintptr_t)p.mem[1];
	w.rkey = p.key[1];
	sge = fixture_sge(p.mem[0], 8, p.key[0]);
	fixture_put(p.qp[0], &w, NULL, &sge, 1);
	fixture_ring_at(p.qp[0], 4); /* two basic blocks that nobody wrote */
	fixture_run(p.fixture);
	c = fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_QP_OP_ERR);
	CU_ASSERT_EQUAL(c.vendor_err, HCASIM_VENDOR_ERR_STALE_WQE);
	CU_ASSERT_EQUAL(c.wqe_index, 2);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	pair_free(&p);

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	fixture_put(p.qp[0], &w, NULL, &sge, 1);
	fixture_ring_at(p.qp[0], 1); /* half of it */
	fixture_run(p.fixture);
	c = fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_QP_OP_ERR);
	CU_ASSERT_EQUAL(c.vendor_err, HCASIM_VENDOR_ERR_BAD_SIZE);
	pair_free(&p);
}

static bool refuse_wqes(struct fixture *fixture, unsigned int side, const struct hca_dma *dma)
{
	return dma->class_ != HCA_DMA_WQE;
}

static void ring_unreadable(void)
{
	struct pair p;

	pair_new(&p, HCASIM_QPT_RC, NULL, NULL, 0, 4096);
	p.fixture->dma = refuse_wqes;
	fixture_send(p.qp[0], HCASIM_WQE_OP_SEND, 0, fixture_sge(p.mem[0], 8, p.key[0]), 0, 0);
	fixture_run(p.fixture);
	CU_ASSERT_EQUAL(fixture_expect(p.scq[0], HCASIM_CQE_STATUS_LOC_QP_OP_ERR).vendor_err,
			HCASIM_VENDOR_ERR_DMA_FAULT);
	fixture_expect(p.scq[0], HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	fixture_expect_none(p.scq[0]);
	pair_free(&p);
}

const struct test error_tests[] = {
	{"local errors", local_errors},
	{"READ needs local write", read_needs_local_write},
	{"remote errors", remote_errors},
	{"local memory of an answer", answers_and_local_keys},
	{"WRITE with immediate refused", write_imm_refused},
	{"zero length is not checked", nothing_is_not_checked},
	{"max_rd_atomic 0", read_limit_zero},
	{"receive errors", receive_errors},
	{"DMA faults", dma_faults},
	{"acknowledged behind a fault", acknowledged_behind_a_fault},
	{"bad responses", bad_responses},
	{"READs before a NAK", reads_before_a_nak},
	{"region goes in mid-message", region_goes},
	{"stale WQEs", stale_and_torn_wqes},
	{"unreadable ring", ring_unreadable},
	{NULL, NULL},
};
