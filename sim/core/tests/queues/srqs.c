// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues: who takes which WQE, the limit, errors, and the last WQE of a QP. */
#include "fixture.h"
#include "core/queues/queues.h"

#define ENTRIES 32
#define STRIDE  64
#define SRQ_PD  9 /* not the QPs' */
#define MSG     64

struct shared { /* RC pairs or UD QPs; those of side 1 receive from one SRQ */
	struct fixture *fixture;
	struct fixture_cq *scq, *rcq;
	struct fixture_qp *src[2], *dst[2];
	uint8_t *from, *to, *ring;
	struct tiny_srq_record *rec;
	uint32_t srqn, from_key, to_key, pi;
};

static uint32_t srq_mr(struct shared *s, uint32_t more)
{
	struct hca_mr_attr a = {.pdn = SRQ_PD, .access = FIXTURE_ALL | more, .pasid = FIXTURE_PASID};
	uint32_t key = 0;

	a.va = a.iova = (uintptr_t)s->to;
	a.length = 65536;
	CU_ASSERT_EQUAL_FATAL(hca_mr_create(s->fixture->hca[1], &a, &key), 0);
	return key;
}

static void shared_new_family(struct shared *s, uint8_t type, const struct hca_personality *pers)
{
	struct hca_config cfg = {.num_ports = 1, .max_qp = 64, .max_cq = 64, .max_mr = 64, .max_srq = 4};
	struct hca_srq_attr attr = {.pdn = SRQ_PD};
	unsigned int i;

	memset(s, 0, sizeof(*s));
	s->fixture = fixture_new_family(pers, &cfg, 0);
	s->scq = fixture_cq(s->fixture, 0, 256);
	s->rcq = fixture_cq(s->fixture, 1, 256);
	s->ring = fixture_alloc(s->fixture, ENTRIES * STRIDE);
	s->rec = fixture_alloc(s->fixture, sizeof(*s->rec));
	attr.ring = (struct hca_ring){FIXTURE_PASID, (uintptr_t)s->ring, ENTRIES, STRIDE};
	attr.record = (uintptr_t)s->rec;
	CU_ASSERT_EQUAL_FATAL(hca_srq_create(s->fixture->hca[1], &attr, &s->srqn), 0);
	s->fixture->srqn = s->srqn;
	for (i = 0; i < 2; i++) {
		s->src[i] = fixture_qp(s->fixture, 0, type, s->scq, s->scq);
		s->dst[i] = fixture_qp(s->fixture, 1, type, s->rcq, s->rcq);
		if (type != HCASIM_QPT_UD)
			fixture_connect(s->src[i], s->dst[i], NULL);
	}
	s->from = fixture_alloc(s->fixture, 65536);
	s->to = fixture_alloc(s->fixture, 65536);
	fixture_fill(s->from, 65536, 5);
	s->from_key = fixture_mr(s->fixture, 0, s->from, 65536, FIXTURE_ALL);
	s->to_key = srq_mr(s, 0);
}

static void shared_new(struct shared *s, uint8_t type)
{
	shared_new_family(s, type, &tiny_personality);
}

static void shared_free(struct shared *s)
{
	void *mem[] = {s->ring, s->rec, s->from, s->to};
	unsigned int i;

	fixture_free(s->fixture);
	for (i = 0; i < 4; i++)
		free(mem[i]);
}

/* A receive of `len` bytes at `off`, named by `tag`. */
static void post(struct shared *s, uint16_t tag, uint32_t off, uint32_t len)
{
	struct tiny_rqe *r = (struct tiny_rqe *)(s->ring + (size_t)(s->pi % ENTRIES) * STRIDE);

	r->index = (uint16_t)s->pi;
	r->num_sge = 1;
	r->tag = tag;
	r->sge[0] = fixture_sge(s->to + off, len, s->to_key);
	s->rec->pi = htobe32(++s->pi);
}

static void send(struct shared *s, unsigned int qp, uint32_t off, uint32_t len)
{
	fixture_send(s->src[qp], HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED,
		     fixture_sge(s->from + off, len, s->from_key), 0, 0);
}

static struct tiny_cqe received(struct shared *s, unsigned int qp, uint16_t tag, uint8_t status)
{
	struct tiny_cqe c = fixture_expect(s->rcq, status);

	CU_ASSERT_EQUAL(c.qpn, s->dst[qp]->qpn);
	CU_ASSERT_EQUAL(c.srqn, s->srqn);
	CU_ASSERT_EQUAL(c.wqe_index, tag);
	return c;
}

/* Both QPs take from the queue, in its order, over its end; completions name tags, not places. */
static void two_qps(void)
{
	struct shared s;
	unsigned int i;

	shared_new(&s, HCASIM_QPT_RC);
	for (i = 0; i < 5 * ENTRIES; i++) {
		uint16_t tag = (uint16_t)(1000 + i * 7 % 101);

		post(&s, tag, i % 16 * MSG, MSG);
		send(&s, i % 3 & 1, i % 8 * MSG, MSG);
		fixture_run(s.fixture);
		CU_ASSERT_EQUAL(received(&s, i % 3 & 1, tag, HCASIM_CQE_STATUS_OK).byte_count, MSG);
		CU_ASSERT_EQUAL(memcmp(s.to + i % 16 * MSG, s.from + i % 8 * MSG, MSG), 0);
		fixture_cq_sync(s.rcq);
		fixture_expect(s.scq, HCASIM_CQE_STATUS_OK);
		fixture_cq_sync(s.scq);
	}
	shared_free(&s);
}

static void take_four(struct shared *s, const uint16_t place[4])
{
	unsigned int k;

	for (k = 0; k < 4; k++) {
		send(s, k & 1, k * MSG, MSG);
		fixture_run(s->fixture);
		received(s, k & 1, place[k], HCASIM_CQE_STATUS_OK);
		fixture_cq_sync(s->rcq);
		fixture_expect(s->scq, HCASIM_CQE_STATUS_OK);
		fixture_cq_sync(s->scq);
	}
}

/* A family whose queue is a linked list: WQEs are taken in the order of the links, and completions name places. */
static void linked(void)
{
	uint16_t at = 0, place[4];
	struct shared s;
	unsigned int i;

	shared_new_family(&s, HCASIM_QPT_RC, &tiny_linked_personality);
	for (i = 0; i < 6 * ENTRIES; i++) {
		struct tiny_rqe *r = (struct tiny_rqe *)(s.ring + (size_t)at * STRIDE);

		r->index = at; /* tiny_decode_rqe() compares it */
		r->tag = 0xffff;
		r->next = (uint16_t)((at * 5 + 7) % ENTRIES);
		r->num_sge = 1;
		r->sge[0] = fixture_sge(s.to + i % 16 * MSG, MSG, s.to_key);
		s.rec->pi = htobe32(++s.pi);
		place[i % 4] = at;
		at = r->next;
		if (i % 4 == 3) /* four are posted before the first is used */
			take_four(&s, place);
	}
	shared_free(&s);
}

/* Free-running indices of which only the low bits are known. */
static void index_bits(void)
{
	CU_ASSERT_EQUAL(index_extend(0xfffe, 3, 16), 0x10003);
	CU_ASSERT_EQUAL(index_extend(0x10003, 0xfffe, 16), 0xfffe);
	CU_ASSERT_EQUAL(index_extend(0xfffffffe, 1, 16), 1);
	CU_ASSERT_EQUAL(index_extend(0x12ffffff, 0, 24), 0x13000000);
	CU_ASSERT_EQUAL(index_extend(0x12ffffff, 0xffffff, 24), 0x12ffffff);
	CU_ASSERT_EQUAL(index_extend(5, 0x80000005, 32), 0x80000005);
}

/* An empty queue is RNR to the sender, who goes on once something is posted. */
static void empty(void)
{
	struct shared s;

	shared_new(&s, HCASIM_QPT_RC);
	send(&s, 0, 0, MSG);
	send(&s, 1, MSG, MSG);
	fixture_run(s.fixture);
	fixture_expect_none(s.rcq);
	post(&s, 1, 0, MSG);
	post(&s, 2, MSG, MSG);
	fixture_settle(s.fixture, 100 * MS);
	fixture_expect(s.rcq, HCASIM_CQE_STATUS_OK);
	fixture_expect(s.rcq, HCASIM_CQE_STATUS_OK);
	fixture_expect(s.scq, HCASIM_CQE_STATUS_OK);
	fixture_expect(s.scq, HCASIM_CQE_STATUS_OK);
	shared_free(&s);
}

static void datagrams(void)
{
	struct tiny_wqe w = {.op = HCASIM_WQE_OP_SEND, .ud_qkey = 11};
	struct hca_av av = {.hop_limit = 64, .port = 1};
	struct hca_sge sge;
	struct shared s;
	unsigned int i;

	shared_new(&s, HCASIM_QPT_UD);
	untimed_gid(1, 1, av.dgid);
	untimed_mac(1, 1, av.dmac);
	fixture_ud_up(s.src[0], 11);
	for (i = 0; i < 2; i++) {
		fixture_ud_up(s.dst[i], 11);
		post(&s, (uint16_t)(20 + i), i * 256, 256);
	}
	for (i = 0; i < 2; i++) {
		w.ud_qpn = s.dst[1 - i]->qpn;
		sge = fixture_sge(s.from, MSG, s.from_key);
		fixture_put(s.src[0], &w, &av, &sge, 1);
		fixture_ring(s.src[0]);
		fixture_run(s.fixture);
		CU_ASSERT_EQUAL(received(&s, 1 - i, (uint16_t)(20 + i), HCASIM_CQE_STATUS_OK).byte_count,
				MSG + HCASIM_GRH_SIZE);
	}
	shared_free(&s);
}

/* IBTA 10.2.9.4: one event when fewer than the limit are left, and at once if they are already. */
static void limit(void)
{
	uint32_t left = 99;
	struct shared s;
	unsigned int i;

	shared_new(&s, HCASIM_QPT_RC);
	for (i = 0; i < 6; i++)
		post(&s, (uint16_t)i, i * MSG, MSG);
	CU_ASSERT_EQUAL(hca_srq_arm(s.fixture->hca[1], s.srqn, ENTRIES + 1), -EINVAL);
	CU_ASSERT_EQUAL(hca_srq_arm(s.fixture->hca[1], s.srqn, 4), 0);
	fixture_run(s.fixture);
	for (i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(hca_srq_query(s.fixture->hca[1], s.srqn, &left), 0);
		CU_ASSERT_EQUAL(left, i < 3 ? 4 : 0);
		send(&s, 0, 0, MSG);
		fixture_run(s.fixture);
		CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_SRQ_LIMIT, s.srqn), i == 2);
	}
	/* Two are left; the record says that two more have come since. */
	post(&s, 10, 0, MSG);
	post(&s, 11, 0, MSG);
	CU_ASSERT_EQUAL(hca_srq_arm(s.fixture->hca[1], s.srqn, 4), 0);
	fixture_run(s.fixture);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_SRQ_LIMIT, s.srqn), 0);
	CU_ASSERT_EQUAL(hca_srq_arm(s.fixture->hca[1], s.srqn, 5), 0);
	fixture_run(s.fixture);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_SRQ_LIMIT, s.srqn), 1);
	shared_free(&s);
}

/* rdma_rxe: a limit that is armed too late is noticed when the next WQE is taken. */
static void late_limit(void)
{
	struct hca_personality pers;
	struct shared s;

	shared_new(&s, HCASIM_QPT_RC);
	pers = *s.fixture->hca[1]->pers;
	pers.only_new_events = true;
	s.fixture->hca[1]->pers = &pers;
	for (unsigned int i = 0; i < 2; i++)
		post(&s, (uint16_t)i, i * MSG, MSG);
	CU_ASSERT_EQUAL(hca_srq_arm(s.fixture->hca[1], s.srqn, 4), 0);
	fixture_run(s.fixture);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_SRQ_LIMIT, s.srqn), 0);
	send(&s, 0, 0, MSG);
	fixture_run(s.fixture);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_SRQ_LIMIT, s.srqn), 1);
	shared_free(&s);
}

static enum untimed_fate lose_last(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	return from == 0 && fixture->frames > fixture->n ? UNTIMED_DROP : UNTIMED_DELIVER;
}

/*
 * A message holds its WQE while others pass it. When its QP goes to error, that WQE alone is flushed,
 * the event says that none is left, and the other QP goes on with the queue.
 */
static void last_wqe(void)
{
	struct shared s;

	shared_new(&s, HCASIM_QPT_RC);
	post(&s, 7, 0, 8192);
	post(&s, 3, 8192, MSG);
	post(&s, 5, 8192 + MSG, MSG);
	s.fixture->wire = lose_last;
	s.fixture->n = s.fixture->frames + 2; /* its first packets only */
	send(&s, 0, 0, 8192);
	fixture_run(s.fixture);
	s.fixture->wire = NULL;
	send(&s, 1, 0, MSG);
	fixture_run(s.fixture);
	received(&s, 1, 3, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_QP_LAST_WQE_REACHED, s.dst[0]->qpn), 0);
	fixture_state(s.dst[0], HCASIM_QPS_ERR);
	fixture_run(s.fixture);
	received(&s, 0, 7, HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	fixture_expect_none(s.rcq);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_QP_LAST_WQE_REACHED, s.dst[0]->qpn), 1);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_QP_LAST_WQE_REACHED, s.dst[1]->qpn), 0);
	send(&s, 1, 0, MSG);
	fixture_run(s.fixture);
	received(&s, 1, 5, HCASIM_CQE_STATUS_OK);
	shared_free(&s);
}

static bool refuse_record(struct fixture *fixture, unsigned int side, const struct hca_dma *dma)
{
	return !(side == 1 && dma->class_ == (fixture->n ? HCA_DMA_RQE : HCA_DMA_RECORD));
}

/* The host refuses the queue's memory: the queue is in error, and so is every QP that needs it. */
static void unreadable(void)
{
	struct shared s;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		shared_new(&s, HCASIM_QPT_RC);
		post(&s, 1, 0, MSG);
		s.fixture->n = i;
		s.fixture->dma = refuse_record;
		send(&s, 0, 0, MSG);
		fixture_run(s.fixture);
		CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_SRQ_ERR, s.srqn), 1);
		CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_QP_FATAL, s.dst[0]->qpn), 1);
		CU_ASSERT_EQUAL(fixture_query(s.dst[0]), HCASIM_QPS_ERR);
		fixture_expect(s.scq, HCASIM_CQE_STATUS_REM_OP_ERR);
		CU_ASSERT_EQUAL(fixture_query(s.dst[1]), HCASIM_QPS_RTS);
		shared_free(&s);
	}
}

/* Keys of the queue's WQEs are of its own protection domain, not of the QP's. */
static void keys(void)
{
	struct shared s;

	shared_new(&s, HCASIM_QPT_RC);
	s.to_key = fixture_mr(s.fixture, 1, s.to, 65536, FIXTURE_ALL);
	post(&s, 1, 0, MSG);
	send(&s, 0, 0, MSG);
	fixture_run(s.fixture);
	CU_ASSERT_EQUAL(received(&s, 0, 1, HCASIM_CQE_STATUS_LOC_PROT_ERR).vendor_err,
			HCASIM_VENDOR_ERR_LKEY_PD);
	shared_free(&s);
}

/* ---- Page faults ---- */

/* As on mlx5. The pages of WQE 1 are missing, those of WQE 2 are not; a message of three packets. */
static void paged_new(struct shared *s)
{
	static struct hca_personality pers;
	uint32_t plain;

	pers = tiny_personality;
	pers.srq_fault_completes = true;
	shared_new_family(s, HCASIM_QPT_RC, &pers);
	plain = s->to_key;
	s->to_key = srq_mr(s, HCASIM_ACCESS_ON_DEMAND);
	post(s, 1, 0, 8192);
	s->to_key = plain;
	post(s, 2, 8192, 8192);
	send(s, 0, 0, 3000);
	fixture_settle(s->fixture, 3 * MS); /* several RNR NAKs */
	CU_ASSERT_EQUAL(received(s, 0, 1, HCASIM_CQE_STATUS_REM_ABORT_ERR).vendor_err,
			HCASIM_VENDOR_ERR_PAGE_FAULT);
	fixture_expect_none(s->rcq); /* while pages are asked for, no other WQE is taken */
	fixture_expect_none(s->scq);
}

/* The WQE completes for the provider, which posts it again; the message, which comes again, takes the next one. */
static void fault_completes(void)
{
	struct hca_counters c;
	struct shared s;

	paged_new(&s);
	CU_ASSERT_EQUAL(fixture_page_answer(s.fixture, 1, true), 2);
	fixture_settle(s.fixture, 3 * MS);
	CU_ASSERT_EQUAL(received(&s, 0, 2, HCASIM_CQE_STATUS_OK).byte_count, 3000);
	CU_ASSERT_EQUAL(memcmp(s.to + 8192, s.from, 3000), 0);
	fixture_expect(s.scq, HCASIM_CQE_STATUS_OK);
	hca_counters(s.fixture->hca[1], &c);
	CU_ASSERT_EQUAL(c.resp_cqe_error, 0);
	shared_free(&s);
}

/* Nothing is mapped there: the QP fails, and its queue serves the other one. */
static void fault_refused(void)
{
	struct shared s;

	paged_new(&s);
	fixture_page_answer(s.fixture, 1, false);
	fixture_settle(s.fixture, MS);
	fixture_expect(s.scq, HCASIM_CQE_STATUS_REM_OP_ERR);
	fixture_expect_none(s.rcq);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_QP_FATAL, s.dst[0]->qpn), 1);
	CU_ASSERT_EQUAL(fixture_query(s.dst[0]), HCASIM_QPS_ERR);
	send(&s, 1, 0, MSG);
	fixture_run(s.fixture);
	received(&s, 1, 2, HCASIM_CQE_STATUS_OK);
	shared_free(&s);
}

/* ---- XRC ---- */

/* An XRC pair, and an SRQ of `domain` that completes to a CQ of its own. */
static void xrc_new_cq(struct shared *s, uint32_t domain, uint32_t cqes)
{
	struct hca_config cfg = {
		.num_ports = 1, .max_qp = 64, .max_cq = 64, .max_mr = 64, .max_srq = 4, .max_rd_atomic = 4};
	struct hca_srq_attr attr = {.pdn = SRQ_PD, .xrcdn = domain};

	memset(s, 0, sizeof(*s));
	s->fixture = fixture_new(&cfg, 0);
	s->scq = fixture_cq(s->fixture, 0, 256);
	s->rcq = fixture_cq(s->fixture, 1, cqes);
	s->ring = fixture_alloc(s->fixture, ENTRIES * STRIDE);
	s->rec = fixture_alloc(s->fixture, sizeof(*s->rec));
	attr.ring = (struct hca_ring){FIXTURE_PASID, (uintptr_t)s->ring, ENTRIES, STRIDE};
	attr.record = (uintptr_t)s->rec;
	attr.cqn = s->rcq->cqn;
	CU_ASSERT_EQUAL_FATAL(hca_srq_create(s->fixture->hca[1], &attr, &s->srqn), 0);
	CU_ASSERT_EQUAL(hca_cq_destroy(s->fixture->hca[1], s->rcq->cqn), -EBUSY);
	s->src[0] = fixture_qp(s->fixture, 0, HCASIM_QPT_XRC_SEND, s->scq, NULL);
	s->dst[0] = fixture_qp(s->fixture, 1, HCASIM_QPT_XRC_RECV, NULL, NULL);
	fixture_connect(s->src[0], s->dst[0], NULL);
	s->from = fixture_alloc(s->fixture, 65536);
	s->to = fixture_alloc(s->fixture, 65536);
	fixture_fill(s->from, 65536, 5);
	s->from_key = fixture_mr(s->fixture, 0, s->from, 65536, FIXTURE_ALL);
	s->to_key = srq_mr(s, 0);
}

static void xrc_new(struct shared *s, uint32_t domain)
{
	xrc_new_cq(s, domain, 256);
}

static void xrc_put(struct shared *s, uint8_t op, uint32_t len, uint32_t srqn)
{
	struct tiny_wqe w = {.op = op,
			     .flags = HCA_WR_SIGNALED,
			     .inv_rkey = srqn,
			     .remote_addr = (uintptr_t)s->to,
			     .rkey = s->to_key};
	struct hca_sge sge = fixture_sge(s->from, len, s->from_key);

	fixture_put(s->src[0], &w, NULL, &sge, 1);
	fixture_ring(s->src[0]);
	fixture_run(s->fixture);
}

/*
 * A message of several packets arrives in the SRQ that it names, and completes to that SRQ's CQ; keys of
 * RDMA are of the SRQ's protection domain.
 */
static void xrc(void)
{
	struct shared s;

	xrc_new(&s, FIXTURE_XRC_DOMAIN);
	post(&s, 41, 0, 8192);
	xrc_put(&s, HCASIM_WQE_OP_SEND, 5000, s.srqn);
	fixture_expect(s.scq, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(received(&s, 0, 41, HCASIM_CQE_STATUS_OK).byte_count, 5000);
	CU_ASSERT_EQUAL(memcmp(s.from, s.to, 5000), 0);
	memset(s.to, 0, 8192);
	xrc_put(&s, HCASIM_WQE_OP_RDMA_WRITE, 3000, s.srqn);
	fixture_expect(s.scq, HCASIM_CQE_STATUS_OK);
	CU_ASSERT_EQUAL(memcmp(s.from, s.to, 3000), 0);
	s.to_key = fixture_mr(s.fixture, 1, s.to, 65536, FIXTURE_ALL); /* of another domain */
	xrc_put(&s, HCASIM_WQE_OP_RDMA_WRITE, 8, s.srqn);
	fixture_expect(s.scq, HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	shared_free(&s);
}

/* An SRQ that is none, or of another XRC domain. */
static void xrc_wrong_srq(void)
{
	struct shared s;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		xrc_new(&s, i ? FIXTURE_XRC_DOMAIN : FIXTURE_XRC_DOMAIN + 1);
		post(&s, 1, 0, MSG);
		xrc_put(&s, HCASIM_WQE_OP_SEND, MSG, i ? s.srqn + 1 : s.srqn);
		fixture_expect(s.scq, HCASIM_CQE_STATUS_REM_INV_REQ_ERR);
		fixture_expect_none(s.rcq);
		CU_ASSERT_EQUAL(fixture_query(s.dst[0]), HCASIM_QPS_ERR);
		shared_free(&s);
	}
}

/* The SRQ goes while a message is in it: the rest is refused, nothing completes any more. */
static void xrc_srq_gone(void)
{
	struct shared s;

	xrc_new(&s, FIXTURE_XRC_DOMAIN);
	post(&s, 1, 0, 8192);
	s.fixture->wire = lose_last;
	s.fixture->n = s.fixture->frames + 2;
	xrc_put(&s, HCASIM_WQE_OP_SEND, 8192, s.srqn);
	s.fixture->wire = NULL;
	CU_ASSERT_EQUAL(hca_srq_destroy(s.fixture->hca[1], s.srqn), 0);
	CU_ASSERT_EQUAL(hca_cq_destroy(s.fixture->hca[1], s.rcq->cqn), 0);
	fixture_settle(s.fixture, 2000 * MS);
	fixture_expect(s.scq, HCASIM_CQE_STATUS_REM_INV_REQ_ERR);
	fixture_expect_none(s.rcq);
	shared_free(&s);
}

/*
 * The SRQ's CQ runs over: CQ, SRQ and the QP that delivers are told, what was completed before is intact, and
 * later requests for the SRQ are refused.
 */
static void xrc_cq_overrun(void)
{
	struct fixture_qp *a, *b;
	struct shared s;
	uint16_t i;

	xrc_new_cq(&s, FIXTURE_XRC_DOMAIN, 4);
	for (i = 0; i < 6; i++)
		post(&s, i, i * MSG, MSG);
	for (i = 0; i < 5; i++)
		xrc_put(&s, HCASIM_WQE_OP_SEND, MSG, s.srqn);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_CQ_ERR, s.rcq->cqn), 1);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_SRQ_ERR, s.srqn), 1);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_QP_FATAL, s.dst[0]->qpn), 1);
	CU_ASSERT_EQUAL(fixture_query(s.dst[0]), HCASIM_QPS_ERR);
	for (i = 0; i < 4; i++)
		received(&s, 0, i, HCASIM_CQE_STATUS_OK);
	fixture_expect_none(s.rcq);
	a = fixture_qp(s.fixture, 0, HCASIM_QPT_XRC_SEND, s.scq, NULL);
	b = fixture_qp(s.fixture, 1, HCASIM_QPT_XRC_RECV, NULL, NULL);
	fixture_connect(a, b, NULL);
	s.src[0] = a;
	while (fixture_poll(s.scq, &(struct tiny_cqe){0}))
		;
	xrc_put(&s, HCASIM_WQE_OP_SEND, MSG, s.srqn);
	fixture_expect(s.scq, HCASIM_CQE_STATUS_REM_OP_ERR);
	CU_ASSERT_EQUAL(fixture_query(b), HCASIM_QPS_ERR);
	shared_free(&s);
}

static void life(void)
{
	struct hca_srq_attr attr = {.ring = {FIXTURE_PASID, 4096, ENTRIES, STRIDE}};
	uint32_t srqn, more[3], i;
	struct shared s;
	struct hca *hca;

	shared_new(&s, HCASIM_QPT_RC);
	hca = s.fixture->hca[1];
	CU_ASSERT_EQUAL(hca_srq_destroy(hca, s.srqn), -EBUSY);
	CU_ASSERT_EQUAL(hca_srq_destroy(hca, 0), -EINVAL);
	CU_ASSERT_EQUAL(hca_srq_query(hca, 77777, &srqn), -EINVAL);
	for (i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(hca_srq_create(hca, &attr, &more[i]), 0);
	CU_ASSERT_EQUAL(hca_srq_create(hca, &attr, &srqn), -ENOMEM);
	/* Gone while it is being read. */
	CU_ASSERT_EQUAL(hca_srq_arm(hca, more[0], 1), 0);
	CU_ASSERT_EQUAL(hca_srq_destroy(hca, more[0]), 0);
	fixture_run(s.fixture);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_SRQ_LIMIT, more[0]), 0);
	shared_free(&s);
}

const struct test srq_tests[] = {
	{"two QPs", two_qps},
	{"linked list", linked},
	{"index bits", index_bits},
	{"empty", empty},
	{"datagrams", datagrams},
	{"limit", limit},
	{"late limit", late_limit},
	{"last WQE", last_wqe},
	{"unreadable", unreadable},
	{"keys", keys},
	{"page fault", fault_completes},
	{"page fault, nothing mapped", fault_refused},
	{"life", life},
	{"XRC", xrc},
	{"XRC, wrong SRQ", xrc_wrong_srq},
	{"XRC, SRQ gone", xrc_srq_gone},
	{"XRC, CQ overrun", xrc_cq_overrun},
	{NULL, NULL},
};
