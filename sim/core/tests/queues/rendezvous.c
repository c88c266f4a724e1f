// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rendezvous of tag matching, and connections that end meanwhile. */
#include "tagged.h"

/* The adapter reads the data, and tells the peer. */
static void rendezvous(void)
{
	struct hcasim_tmh fin;
	struct tiny_cqe c;
	struct tagged s;

	tagged_new(&s, true, 256);
	add(&s, 2, 9, 0xff, 5001);
	recv_fin(&s);
	request(&s, 9, 5000, s.from_key);
	c = matched(&s, 2, MATCH);
	CU_ASSERT_EQUAL(c.tm_tag, 9);
	CU_ASSERT_EQUAL(c.tm_priv, 0xabcd);
	c = matched(&s, 2, DATA);
	CU_ASSERT_EQUAL(c.byte_count, 5000);
	CU_ASSERT_EQUAL(c.tm_tag, 0);
	CU_ASSERT_EQUAL(memcmp(s.to + 2 * SLOT, s.from + 8 * SLOT, 5000), 0);
	CU_ASSERT_EQUAL(fixture_expect(s.rcq, HCASIM_CQE_STATUS_OK).byte_count, BOTH);
	memcpy(&fin, s.from + SLOT, sizeof(fin));
	CU_ASSERT_EQUAL(fin.opcode, HCASIM_TMH_OP_FIN);
	CU_ASSERT_EQUAL(fin.tag, htobe64(9));
	CU_ASSERT_EQUAL(fin.app_ctx, htobe32(0xabcd));
	CU_ASSERT_EQUAL(memcmp(s.from + TMH, s.from + SLOT + TMH, BOTH - TMH), 0);
	fixture_expect_none(s.tcq);
	tagged_free(&s);
}

/* More at once than the adapter's own queue holds. */
static void many_rendezvous(void)
{
	struct tagged s;
	unsigned int i, done = 0, left;
	struct tiny_cqe c;

	tagged_new(&s, true, 256);
	for (i = 0; i < 60; i++) {
		if (i % TAGS == 0)
			for (left = 0; left < TAGS && i + left < 60; left++)
				add(&s, (uint16_t)left, 0, 0, 4000);
		recv_fin(&s);
		request(&s, i, 3000, s.from_key);
	}
	fixture_settle(s.fixture, 100 * MS);
	while (fixture_poll(s.tcq, &c)) {
		CU_ASSERT_EQUAL(c.status, HCASIM_CQE_STATUS_OK);
		done += !!(c.tm & DATA);
	}
	CU_ASSERT_EQUAL(done, 60);
	tagged_free(&s);
}

/* The buffer is too short, or the send queue is the software's: both headers are in the buffer. */
static void incomplete(void)
{
	struct tagged s;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		tagged_new(&s, i, 256);
		add(&s, 2, 9, 0xff, 4000);
		request(&s, 9, i ? 4001 : 1000, s.from_key);
		CU_ASSERT_EQUAL(expect(&s, HCASIM_CQE_OP_TM_RECV, 2, HANDLE | MATCH | DATA,
				       HCASIM_CQE_STATUS_TM_RNDV_INCOMPLETE)
					.byte_count,
				BOTH);
		CU_ASSERT_EQUAL(memcmp(s.to + 2 * SLOT, s.from, BOTH), 0);
		CU_ASSERT_EQUAL(fixture_query(s.dst), HCASIM_QPS_RTS);
		tagged_free(&s);
	}
}

/* The peer refuses the READ: the entry ends with its status, and no FIN is sent. Those behind it are flushed. */
static void refused(void)
{
	struct tagged s;

	tagged_new(&s, true, 256);
	add(&s, 2, 9, 0xff, 4000);
	recv_fin(&s);
	request(&s, 9, 1000, s.from_key ^ 0xff);
	matched(&s, 2, MATCH);
	expect(&s, HCASIM_CQE_OP_TM_RECV, 2, HANDLE, HCASIM_CQE_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(fixture_query(s.dst), HCASIM_QPS_ERR);
	fixture_expect(s.scq, HCASIM_CQE_STATUS_OK); /* the request itself */
	CU_ASSERT_EQUAL(fixture_expect(s.rcq, HCASIM_CQE_STATUS_WR_FLUSH_ERR).byte_count, 0);
	tagged_free(&s);
}

/* A QP goes to error while a message, and while a READ, is under way: each entry ends once, flushed. */
static void flushed(void)
{
	struct tagged s;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		tagged_new(&s, true, 256);
		add(&s, 2, 9, 0xff, 8000);
		s.fixture->wire = lose;
		s.fixture->m = i;
		s.fixture->n = s.fixture->frames + 2;
		if (i)
			request(&s, 9, 8000, s.from_key);
		else
			message(&s, HCASIM_TMH_OP_EAGER, 9, TMH + 8000);
		matched(&s, 2, MATCH);
		fixture_state(s.dst, HCASIM_QPS_ERR);
		fixture_run(s.fixture);
		expect(&s, HCASIM_CQE_OP_TM_RECV, 2, HANDLE, HCASIM_CQE_STATUS_WR_FLUSH_ERR);
		fixture_expect_none(s.tcq);
		CU_ASSERT_EQUAL(fixture_events(s.fixture, 1, HCASIM_EQE_TYPE_QP_LAST_WQE_REACHED, s.dst->qpn),
				1);
		tagged_free(&s);
	}
}

const struct test rendezvous_tests[] = {
	{"rendezvous", rendezvous},
	{"many rendezvous", many_rendezvous},
	{"incomplete rendezvous", incomplete},
	{"refused rendezvous", refused},
	{"flushed", flushed},
	{NULL, NULL},
};
