// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tag matching: the list and its operations, matches, unexpected messages, and messages that are none. */
#include "tagged.h"

/* Each kind of operation, done and refused; which of them complete. */
static void operations(void)
{
	struct tiny_tm_op del = {.op = HCASIM_TM_OPCODE_DEL, .handle = 3}, bad = del;
	struct tiny_tm_op sync = {.op = HCASIM_TM_OPCODE_SYNC, .signaled = 1, .sync = 1};
	struct tagged s;

	tagged_new(&s, true, 256);
	add(&s, 3, 1, 1, 64);
	fixture_expect_none(s.tcq);
	op(&s, del); /* removes it, so it completes although it is not signaled */
	expect(&s, HCASIM_CQE_OP_TM_DEL, 1, 0, HCASIM_CQE_STATUS_OK);
	op(&s, del);
	fixture_expect_none(s.tcq);
	del.signaled = 1;
	op(&s, del);
	expect(&s, HCASIM_CQE_OP_TM_DEL, 3, 0, HCASIM_CQE_STATUS_TM_ERR);
	op(&s, sync);
	expect(&s, HCASIM_CQE_OP_TM_SYNC, 4, 0, HCASIM_CQE_STATUS_OK);
	sync.sw_count = 1;
	op(&s, sync);
	expect(&s, HCASIM_CQE_OP_TM_SYNC, 5, SYNC, HCASIM_CQE_STATUS_OK);
	sync.sw_count = 0;
	op(&s, sync);
	expect(&s, HCASIM_CQE_OP_TM_SYNC, 6, 0, HCASIM_CQE_STATUS_OK);
	bad.handle = TAGS;
	op(&s, bad);
	expect(&s, HCASIM_CQE_OP_TM_DEL, 7, 0, HCASIM_CQE_STATUS_LOC_QP_OP_ERR);
	add(&s, 2, 1, 1, 64);
	add(&s, 2, 5, 5, 64);
	expect(&s, HCASIM_CQE_OP_TM_ADD, 9, 0, HCASIM_CQE_STATUS_LOC_QP_OP_ERR);
	tagged_free(&s);
}

/* An entry of another index is stale; an index outside the ring, another page, and no SRQ, are ignored. */
static void hostile(void)
{
	uint64_t v = (uint64_t)(1ull) << TINY_DB_INDEX;
	struct tagged s;

	tagged_new(&s, true, 256);
	ring_ops(&s, OPS + 1);
	ring_ops(&s, 0xffff);
	hca_mmio_write(s.fixture->hca[1], TINY_BAR_UAR, TINY_DB_TM, &v, sizeof(v));
	v |= (uint64_t)s.srqn;
	hca_mmio_write(s.fixture->hca[1], TINY_BAR_UAR, TINY_UAR_PAGE + TINY_DB_TM, &v, sizeof(v));
	fixture_run(s.fixture);
	fixture_expect_none(s.tcq);
	put_op(&s, (struct tiny_tm_op){.op = HCASIM_TM_OPCODE_ADD});
	s.ops[4] = 99; /* its index */
	ring_ops(&s, 1);
	CU_ASSERT_EQUAL(expect(&s, HCASIM_CQE_OP_TM_SYNC, 0, 0, HCASIM_CQE_STATUS_LOC_QP_OP_ERR).vendor_err,
			HCASIM_VENDOR_ERR_STALE_WQE);
	fixture_ring_at(s.dst, 1); /* the QP has no send queue of the software */
	fixture_run(s.fixture);
	CU_ASSERT_EQUAL(fixture_query(s.dst), HCASIM_QPS_RTS);
	tagged_free(&s);
}

/* The first entry that matches, by the mask of the entry; the header is not in the buffer. */
static void matching(void)
{
	struct tiny_cqe c;
	struct tagged s;

	tagged_new(&s, true, 256);
	add(&s, 0, 0x10, 0xff, 100);
	add(&s, 1, 0, 0, 100); /* any */
	add(&s, 2, 0x10, ~0ull, 100);
	message(&s, HCASIM_TMH_OP_EAGER, 0x510, TMH + 100);
	c = matched(&s, 0, MATCH | DATA);
	CU_ASSERT_EQUAL(c.byte_count, 100);
	CU_ASSERT_EQUAL(c.tm_tag, 0x510);
	CU_ASSERT_EQUAL(c.tm_priv, 0xabcd);
	CU_ASSERT_EQUAL(memcmp(s.to, s.from + TMH, 100), 0);
	message(&s, HCASIM_TMH_OP_EAGER, 0x10, TMH);
	CU_ASSERT_EQUAL(matched(&s, 1, MATCH | DATA).byte_count, 0);
	message(&s, HCASIM_TMH_OP_EAGER, 0x10, TMH + 1);
	matched(&s, 2, MATCH | DATA);
	fixture_expect_none(s.tcq);
	tagged_free(&s);
}

/* Of a message of several packets the match completes with the first, the data with the last. */
static void long_message(void)
{
	struct tiny_cqe c;
	struct tagged s;

	tagged_new(&s, true, 256);
	add(&s, 0, 7, 7, 5000);
	message(&s, HCASIM_TMH_OP_EAGER, 7, TMH + 5000);
	c = matched(&s, 0, MATCH);
	CU_ASSERT_EQUAL(c.tm_tag, 7);
	c = matched(&s, 0, DATA);
	CU_ASSERT_EQUAL(c.byte_count, 5000);
	CU_ASSERT_EQUAL(c.tm_tag, 0);
	CU_ASSERT_EQUAL(memcmp(s.to, s.from + TMH, 5000), 0);
	add(&s, 0, 7, 7, 5000);
	message(&s, HCASIM_TMH_OP_EAGER, 7, TMH + 5001); /* one byte too long: as for any receive */
	matched(&s, 0, MATCH);
	expect(&s, HCASIM_CQE_OP_TM_RECV, 0, HANDLE, HCASIM_CQE_STATUS_LOC_LEN_ERR);
	CU_ASSERT_EQUAL(fixture_query(s.dst), HCASIM_QPS_ERR);
	tagged_free(&s);
}

/* After an unexpected message, entries that are added do not match until software has told that it handled it. */
static void phases(void)
{
	struct tiny_tm_op sync = {.op = HCASIM_TM_OPCODE_SYNC, .signaled = 1};
	struct tagged s;
	unsigned int i;

	tagged_new(&s, true, 256);
	for (i = 10; i < 16; i++)
		post(&s, (uint16_t)i);
	add(&s, 0, 1, 0xff, 64);
	message(&s, HCASIM_TMH_OP_EAGER, 2, TMH + 20);
	CU_ASSERT_EQUAL(unexpected(&s, 10).byte_count, TMH + 20);
	CU_ASSERT_EQUAL(memcmp(s.to + 10 * SLOT, s.from, TMH + 20), 0);
	add(&s, 1, 2, 0xff, 64); /* disabled */
	message(&s, HCASIM_TMH_OP_EAGER, 2, TMH + 20);
	unexpected(&s, 11);
	message(&s, HCASIM_TMH_OP_EAGER, 1, TMH + 20);
	matched(&s, 0, MATCH | DATA); /* it was there before */
	op(&s, sync);                 /* tells nothing */
	expect(&s, HCASIM_CQE_OP_TM_SYNC, 2, SYNC, HCASIM_CQE_STATUS_OK);
	count(&s, 1); /* two were unexpected */
	message(&s, HCASIM_TMH_OP_EAGER, 2, TMH + 20);
	unexpected(&s, 12);
	count(&s, 3);
	message(&s, HCASIM_TMH_OP_EAGER, 2, TMH + 20);
	matched(&s, 1, MATCH | DATA);
	tagged_free(&s);
}

/* Not more than a quarter of the counters' range may be open: then completions ask for it. */
static void many_unexpected(void)
{
	struct tagged s;
	uint32_t i;

	tagged_new(&s, true, 256);
	for (i = 0; i <= HCASIM_TM_MAX_SYNC_DIFF + 1; i++) {
		post(&s, 9);
		message(&s, HCASIM_TMH_OP_EAGER, i, TMH);
		if (fixture_expect(s.tcq, HCASIM_CQE_STATUS_OK).tm !=
		    (i >= HCASIM_TM_MAX_SYNC_DIFF ? SYNC : 0)) {
			CU_FAIL("SYNC");
			break;
		}
		fixture_cq_sync(s.tcq);
		fixture_expect(s.scq, HCASIM_CQE_STATUS_OK);
		fixture_cq_sync(s.scq);
	}
	tagged_free(&s);
}

/* What takes no part in matching is delivered complete, and is not counted. */
static void no_tag(void)
{
	static const struct {
		uint8_t opcode;
		uint32_t len;
	} messages[] = {
		{HCASIM_TMH_OP_NO_TAG, TMH + 9}, {HCASIM_TMH_OP_FIN, BOTH},
		{HCASIM_TMH_OP_EAGER, TMH - 1}, /* no complete header */
		{HCASIM_TMH_OP_RNDV, BOTH - 1},  {HCASIM_TMH_OP_RNDV, HCASIM_TM_MAX_RNDV_HDR + 1},
		{HCASIM_TMH_OP_RNDV, 5000},      {77, TMH + 9},
		{HCASIM_TMH_OP_EAGER, 0},
	};
	struct tagged s;
	size_t i;

	tagged_new(&s, true, 256);
	add(&s, 0, 0, 0, SLOT); /* would match everything */
	for (i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		post(&s, 20);
		message(&s, messages[i].opcode, 3, messages[i].len);
		CU_ASSERT_EQUAL(expect(&s, HCASIM_CQE_OP_TM_NO_TAG, 20, 0, HCASIM_CQE_STATUS_OK).byte_count,
				messages[i].len);
		CU_ASSERT_EQUAL(memcmp(s.to + 20 * SLOT, s.from, messages[i].len), 0);
	}
	add(&s, 1, 5, 5, SLOT); /* still in agreement: enabled at once */
	message(&s, HCASIM_TMH_OP_EAGER, 5, TMH);
	matched(&s, 0, MATCH | DATA);
	message(&s, HCASIM_TMH_OP_EAGER, 5, TMH);
	matched(&s, 1, MATCH | DATA);
	tagged_free(&s);
}

/* A message that finds neither an entry nor a receive waits (RNR), and may match then. */
static void nothing_posted(void)
{
	struct tagged s;

	tagged_new(&s, true, 256);
	message(&s, HCASIM_TMH_OP_EAGER, 5, TMH + 4);
	fixture_expect_none(s.tcq);
	add(&s, 4, 5, 0xff, 64);
	fixture_settle(s.fixture, 100 * MS);
	matched(&s, 4, MATCH | DATA);
	tagged_free(&s);
}

static bool refuse_write(struct fixture *fixture, unsigned int side, const struct hca_dma *dma)
{
	return !(side == 1 && dma->class_ == HCA_DMA_PAYLOAD && dma->write);
}

/* The host refuses the buffer: one completion, with the error, whichever packet it was. */
static void unwritable(void)
{
	struct tagged s;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		tagged_new(&s, true, 256);
		add(&s, 2, 9, 0xff, 8000);
		s.fixture->dma = refuse_write;
		message(&s, HCASIM_TMH_OP_EAGER, 9, i ? TMH + 100 : TMH + 8000);
		expect(&s, HCASIM_CQE_OP_TM_RECV, 2, HANDLE | (i ? MATCH | DATA : 0),
		       HCASIM_CQE_STATUS_LOC_PROT_ERR);
		fixture_expect_none(s.tcq);
		tagged_free(&s);
	}
}

/* A full CQ holds operations back, and runs over with them as with others. */
static void full_cq(void)
{
	struct tiny_tm_op sync = {.op = HCASIM_TM_OPCODE_SYNC, .signaled = 1};
	struct tagged s;
	unsigned int i;

	tagged_new(&s, true, 4);
	for (i = 0; i < 4; i++)
		op(&s, sync);
	for (i = 0; i < 4; i++)
		fixture_expect(s.tcq, HCASIM_CQE_STATUS_OK);
	fixture_cq_sync(s.tcq);
	for (i = 0; i < 4; i++)
		op(&s, sync);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_CQ_ERR, s.tcq->cqn), 0);
	op(&s, sync);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_CQ_ERR, s.tcq->cqn), 1);
	CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_SRQ_ERR, s.srqn), 1);
	CU_ASSERT_EQUAL(fixture_query(s.dst), HCASIM_QPS_ERR);
	tagged_free(&s);
}

/* Random bytes as headers: every message completes once, and nothing is lost. */
static void fuzz(void)
{
	struct tagged s;
	unsigned int i, k;
	struct tiny_cqe c;

	tagged_new(&s, true, 256);
	for (i = 0; i < 2000; i++) {
		uint32_t len = (uint32_t)(fixture_random(s.fixture) % 80);
		unsigned int last = 0;

		post(&s, 20);
		add(&s, (uint16_t)(i % TAGS), fixture_random(s.fixture) & 1, 1, SLOT);
		recv_fin(&s);
		for (k = 0; k < len; k++)
			s.from[k] = (uint8_t)fixture_random(s.fixture);
		s.from[0] &= 3;
		if (len >= BOTH) /* no rendezvous: its address would be wrong, and end the connection */
			s.from[0] |= s.from[0] == HCASIM_TMH_OP_RNDV ? 2 : 0;
		fixture_send(s.src, HCASIM_WQE_OP_SEND, HCA_WR_SIGNALED, fixture_sge(s.from, len, s.from_key),
			     0, 0);
		fixture_run(s.fixture);
		while (fixture_poll(s.tcq, &c)) {
			if (c.op == HCASIM_CQE_OP_TM_RECV || c.op == HCASIM_CQE_OP_TM_NO_TAG)
				last += !(c.tm & HANDLE) || c.tm & DATA;
			fixture_cq_sync(s.tcq);
		}
		if (last != 1) {
			CU_FAIL("completions");
			break;
		}
		count(&s, (uint16_t)i);
		fixture_expect(s.scq, HCASIM_CQE_STATUS_OK);
		fixture_cq_sync(s.scq);
	}
	tagged_free(&s);
}

/* Who may have such a queue; it can be destroyed with entries in it, and reset leaves no request behind. */
static void life(void)
{
	struct hca_qp_attr_create ud = {.type = HCASIM_QPT_UD};
	struct tagged s;
	uint32_t n;

	tagged_new(&s, true, 256);
	ud.send_cqn = ud.recv_cqn = s.tcq->cqn;
	ud.srqn = s.srqn;
	CU_ASSERT_EQUAL(hca_qp_create(s.fixture->hca[1], &ud, &n), -EINVAL);
	CU_ASSERT_EQUAL(hca_cq_destroy(s.fixture->hca[1], s.tcq->cqn), -EBUSY);
	add(&s, 1, 9, 9, 8000);
	add(&s, 2, 9, 9, 8000);
	s.fixture->wire = lose;
	s.fixture->m = 1;
	s.fixture->n = s.fixture->frames + 2;
	request(&s, 9, 8000, s.from_key);
	fixture_state(s.dst, HCASIM_QPS_RESET);
	CU_ASSERT_EQUAL(hca_qp_destroy(s.fixture->hca[1], s.dst->qpn), 0);
	CU_ASSERT_EQUAL(hca_srq_destroy(s.fixture->hca[1], s.srqn), 0);
	put_op(&s, (struct tiny_tm_op){.op = HCASIM_TM_OPCODE_SYNC, .signaled = 1});
	ring_ops(&s, s.op_pi);
	tagged_free(&s);
}

const struct test tag_tests[] = {
	{"operations", operations},
	{"hostile operations", hostile},
	{"matching", matching},
	{"a long message", long_message},
	{"unexpected messages", phases},
	{"many unexpected messages", many_unexpected},
	{"no tag", no_tag},
	{"nothing posted", nothing_posted},
	{"a buffer that cannot be written", unwritable},
	{"a full CQ", full_cq},
	{"random headers", fuzz},
	{"life", life},
	{NULL, NULL},
};
