/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A sender, and a receiver with a tag list: what the tests of tag matching have in common. */
#ifndef HCASIM_CORE_TESTS_TAGGED_H
#define HCASIM_CORE_TESTS_TAGGED_H

#include "fixture.h"

#define ENTRIES 64
#define STRIDE  64
#define OPS     64
#define TAGS    8
#define SLOT    8192 /* memory of a buffer */
#define MEM     (32 * SLOT)
#define TMH     sizeof(struct hcasim_tmh)
#define BOTH    (TMH + sizeof(struct hcasim_rvh))

#define MATCH  TINY_CQE_TM_MATCH
#define DATA   TINY_CQE_TM_DATA
#define SYNC   TINY_CQE_TM_SYNC
#define HANDLE TINY_CQE_TM_HANDLE

struct tagged { /* side 0 sends, side 1 matches */
	struct fixture *fixture;
	struct fixture_cq *scq, *rcq, *tcq;
	struct fixture_qp *src, *dst;
	uint8_t *from, *to, *ring, *ops;
	struct tiny_srq_record *rec;
	uint32_t srqn, from_key, to_key, pi;
	uint16_t op_pi;
};

static inline void tagged_new(struct tagged *s, bool own_sq, uint32_t cqes)
{
	struct hca_config cfg = {
		.num_ports = 1, .max_qp = 64, .max_cq = 64, .max_mr = 64, .max_srq = 4, .max_rd_atomic = 4};
	struct hca_srq_attr attr = {.pdn = FIXTURE_PD, .num_tags = TAGS};

	memset(s, 0, sizeof(*s));
	s->fixture = fixture_new(&cfg, 0);
	s->scq = fixture_cq(s->fixture, 0, 256);
	s->rcq = fixture_cq(s->fixture, 0, 256);
	s->tcq = fixture_cq(s->fixture, 1, cqes);
	s->ring = fixture_alloc(s->fixture, ENTRIES * STRIDE);
	s->ops = fixture_alloc(s->fixture, OPS * sizeof(struct tiny_tm_op));
	s->rec = fixture_alloc(s->fixture, sizeof(*s->rec));
	attr.ring = (struct hca_ring){FIXTURE_PASID, (uintptr_t)s->ring, ENTRIES, STRIDE};
	attr.tag_ops = (struct hca_ring){FIXTURE_PASID, (uintptr_t)s->ops, OPS, sizeof(struct tiny_tm_op)};
	attr.record = (uintptr_t)s->rec;
	attr.cqn = s->tcq->cqn;
	CU_ASSERT_EQUAL_FATAL(hca_srq_create(s->fixture->hca[1], &attr, &s->srqn), 0);
	s->src = fixture_qp(s->fixture, 0, HCASIM_QPT_RC, s->scq, s->rcq);
	s->fixture->srqn = s->srqn;
	s->fixture->no_sq = own_sq;
	s->dst = fixture_qp(s->fixture, 1, HCASIM_QPT_RC, s->tcq, s->tcq);
	fixture_connect(s->src, s->dst, NULL);
	s->from = fixture_alloc(s->fixture, MEM);
	s->to = fixture_alloc(s->fixture, MEM);
	fixture_fill(s->from, MEM, 5);
	s->from_key = fixture_mr(s->fixture, 0, s->from, MEM, FIXTURE_ALL);
	s->to_key = fixture_mr(s->fixture, 1, s->to, MEM, FIXTURE_ALL);
}

static inline void tagged_free(struct tagged *s)
{
	void *mem[] = {s->ring, s->ops, s->rec, s->from, s->to};
	unsigned int i;

	fixture_free(s->fixture);
	for (i = 0; i < 5; i++)
		free(mem[i]);
}

/* ---- What software does ---- */

static inline void ring_ops(struct tagged *s, uint16_t pi)
{
	uint64_t v = (uint64_t)s->srqn | (uint64_t)((uint64_t)pi) << TINY_DB_INDEX;

	hca_mmio_write(s->fixture->hca[1], TINY_BAR_UAR, TINY_DB_TM, &v, sizeof(v));
	fixture_run(s->fixture);
}

static inline void put_op(struct tagged *s, struct tiny_tm_op op)
{
	op.index = s->op_pi;
	memcpy(s->ops + (size_t)(s->op_pi++ % OPS) * sizeof(struct tiny_tm_op), &op, sizeof(op));
}

static inline void op(struct tagged *s, struct tiny_tm_op o)
{
	put_op(s, o);
	ring_ops(s, s->op_pi);
}

/* A buffer of `len` bytes in slot `handle` of the memory, in two pieces; no completion. */
static inline void add(struct tagged *s, uint16_t handle, uint64_t tag, uint64_t mask, uint32_t len)
{
	uint8_t *at = s->to + (size_t)handle * SLOT;

	op(s, (struct tiny_tm_op){.op = HCASIM_TM_OPCODE_ADD,
				  .handle = handle,
				  .tag = tag,
				  .mask = mask,
				  .num_sge = 2,
				  .sge = {fixture_sge(at, len / 2, s->to_key),
					  fixture_sge(at + len / 2, len - len / 2, s->to_key)}});
}

static inline void count(struct tagged *s, uint16_t sw_count)
{
	op(s, (struct tiny_tm_op){.op = HCASIM_TM_OPCODE_SYNC, .sync = 1, .sw_count = sw_count});
}

/* A receive for what does not match, in slot `tag`. */
static inline void post(struct tagged *s, uint16_t tag)
{
	struct tiny_rqe *r = (struct tiny_rqe *)(s->ring + (size_t)(s->pi % ENTRIES) * STRIDE);

	*r = (struct tiny_rqe){.index = (uint16_t)s->pi, .num_sge = 1, .tag = tag};
	r->sge[0] = fixture_sge(s->to + (size_t)tag * SLOT, SLOT, s->to_key);
	s->rec->pi = htobe32(++s->pi);
}

static inline void message(struct tagged *s, uint8_t opcode, uint64_t tag, uint32_t len)
{
	const struct hcasim_tmh tmh = {.opcode = opcode, .app_ctx = htobe32(0xabcd), .tag = htobe64(tag)};

	memcpy(s->from, &tmh, sizeof(tmh));
	fixture_send(s->src, HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED, fixture_sge(s->from, len, s->from_key), 0,
		     0);
	fixture_run(s->fixture);
}

/* A request for `len` bytes of slot 8 of the sender's memory. */
static inline void request(struct tagged *s, uint64_t tag, uint32_t len, uint32_t rkey)
{
	const struct hcasim_rvh rvh = {
		.va = htobe64((uintptr_t)s->from + 8 * SLOT), .rkey = htobe32(rkey), .len = htobe32(len)};

	memcpy(s->from + TMH, &rvh, sizeof(rvh));
	message(s, HCASIM_TMH_OP_RNDV, tag, HCASIM_TM_MAX_RNDV_HDR);
}

static inline void recv_fin(struct tagged *s)
{
	struct hca_sge sge = fixture_sge(s->from + SLOT, SLOT, s->from_key);

	fixture_recv(s->src, &sge, 1);
}

static inline struct tiny_cqe expect(struct tagged *s, uint8_t op, uint16_t index, uint8_t flags,
				     uint8_t status)
{
	struct tiny_cqe c = fixture_expect(s->tcq, status);

	CU_ASSERT_EQUAL(c.op, op);
	CU_ASSERT_EQUAL(c.wqe_index, index);
	CU_ASSERT_EQUAL(c.tm, flags);
	CU_ASSERT_EQUAL(c.srqn, s->srqn);
	fixture_cq_sync(s->tcq);
	return c;
}

static inline struct tiny_cqe matched(struct tagged *s, uint16_t handle, uint8_t flags)
{
	return expect(s, HCASIM_CQE_OP_TM_RECV, handle, HANDLE | flags, HCASIM_CQE_STATUS_OK);
}

static inline struct tiny_cqe unexpected(struct tagged *s, uint16_t tag)
{
	return expect(s, HCASIM_CQE_OP_TM_RECV, tag, 0, HCASIM_CQE_STATUS_OK);
}

/* Frames of side m after the n-th. */
static inline enum untimed_fate lose(struct fixture *fixture, unsigned int from, struct hca_packet *pkt)
{
	return from == fixture->m && fixture->frames > fixture->n ? UNTIMED_DROP : UNTIMED_DELIVER;
}

#endif
