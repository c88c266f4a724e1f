// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tag matching: operations in their ring, handles and places that are used again, completions. */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define SRQN     0x321
#define NUM_TAGS 3
#define MAX_OPS  3 /* of a ring of 4 */

struct tm_fixture {
	struct fixture fixture;
	struct hcasim_srq srq;
	struct hcasim_srq_record record;
	uint8_t ring[4 * HCASIM_TM_OP_SIZE];
};

static void open_tm(struct tm_fixture *t)
{
	static const struct ibv_tm_cap cap = {.max_num_tags = NUM_TAGS, .max_ops = MAX_OPS};

	memset(t, 0, sizeof(*t));
	fixture_open(&t->fixture, &fixture_rc);
	t->srq.ctx = t->fixture.ctx;
	t->srq.pd = &t->fixture.pd;
	t->srq.vsrq.srq_type = IBV_SRQT_TM;
	t->srq.record = &t->record;
	t->srq.srqn = SRQN;
	t->srq.locking = true;
	pthread_spin_init(&t->srq.lock, PTHREAD_PROCESS_PRIVATE);
	CU_ASSERT_EQUAL_FATAL(hcasim_tm_alloc(&t->srq, &cap), 0);
	t->srq.tm->ring = t->ring;
	CU_ASSERT_EQUAL_FATAL(hcasim_table_insert(&t->fixture.ctx->srqs, SRQN, &t->srq), 0);
}

static void close_tm(struct tm_fixture *t)
{
	hcasim_tm_free(&t->srq);
	hcasim_table_free(&t->fixture.ctx->srqs);
	pthread_spin_destroy(&t->srq.lock);
	fixture_close(&t->fixture);
}

static int post(struct tm_fixture *t, struct ibv_ops_wr *wr)
{
	struct ibv_ops_wr *bad = NULL;
	int err = hcasim_post_srq_ops(&t->srq.vsrq.srq, wr, &bad);

	CU_ASSERT_PTR_EQUAL(bad, err ? wr : NULL);
	return err;
}

/* Returns the handle. */
static uint32_t add(struct tm_fixture *t, uint64_t wr_id, int flags)
{
	struct ibv_ops_wr wr = {.wr_id = wr_id, .opcode = IBV_WR_TAG_ADD, .flags = flags};

	wr.tm.add.recv_wr_id = wr_id + 1000;
	CU_ASSERT_EQUAL(post(t, &wr), 0);
	return wr.tm.handle;
}

static int del(struct tm_fixture *t, uint32_t handle, int flags)
{
	struct ibv_ops_wr wr = {.wr_id = 77, .opcode = IBV_WR_TAG_DEL, .flags = flags};

	wr.tm.handle = handle;
	return post(t, &wr);
}

static void complete(struct tm_fixture *t, uint8_t opcode, uint16_t index, uint32_t flags, uint8_t status)
{
	struct hcasim_cqe cqe = {
		.qpn_opcode = htole32((uint32_t)opcode << 24),
		.src_qpn_flags = htole32(flags),
		.srqn = htole32(SRQN),
		.wqe_index = htole16(index),
		.status = status,
	};

	fixture_cqe(&t->fixture, &cqe);
}

static void expect(struct tm_fixture *t, uint64_t wr_id, enum ibv_wc_opcode opcode, enum ibv_wc_status status,
		   unsigned int flags)
{
	struct ibv_wc wc = {};

	CU_ASSERT_EQUAL(hcasim_poll_cq(&t->fixture.cq.vcq.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, wr_id);
	CU_ASSERT_EQUAL(wc.opcode, opcode);
	CU_ASSERT_EQUAL(wc.status, status);
	CU_ASSERT_EQUAL(wc.wc_flags, flags);
}

static void expect_none(struct tm_fixture *t)
{
	struct ibv_wc wc;

	CU_ASSERT_EQUAL(hcasim_poll_cq(&t->fixture.cq.vcq.cq, 1, &wc), 0);
}

static void test_bytes(void)
{
	struct ibv_sge sge[2] = {{.addr = 0x1122334455667788, .length = 9, .lkey = 10}, {.lkey = 11}};
	struct ibv_ops_wr wr = {.opcode = IBV_WR_TAG_ADD, .flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC};
	const struct hcasim_seg_data *seg;
	const struct hcasim_tm_op *op;
	struct tm_fixture t;
	uint64_t db;

	open_tm(&t);
	add(&t, 1, 0);
	wr.tm.unexpected_cnt = 0x12345;
	wr.tm.add.tag = 0x0102030405060708;
	wr.tm.add.mask = 0x1112131415161718;
	wr.tm.add.sg_list = sge;
	wr.tm.add.num_sge = 2;
	CU_ASSERT_EQUAL(post(&t, &wr), 0);
	op = (const void *)(t.ring + HCASIM_TM_OP_SIZE);
	seg = (const void *)(op + 1);
	CU_ASSERT_EQUAL(op->opcode, HCASIM_TM_OPCODE_ADD);
	CU_ASSERT_EQUAL(op->flags, HCASIM_TM_OP_SIGNALED_MASK | HCASIM_TM_OP_SYNC_MASK);
	CU_ASSERT_EQUAL(le16toh(op->index), 1);
	CU_ASSERT_EQUAL(op->num_sge, 2);
	CU_ASSERT_EQUAL(le16toh(op->sw_count), 0x2345);
	CU_ASSERT_EQUAL(le16toh(op->handle), wr.tm.handle);
	CU_ASSERT_EQUAL(le64toh(op->tag), 0x0102030405060708);
	CU_ASSERT_EQUAL(le64toh(op->mask), 0x1112131415161718);
	CU_ASSERT_EQUAL(le64toh(seg[0].addr), 0x1122334455667788);
	CU_ASSERT_EQUAL(le32toh(seg[0].length), 9);
	CU_ASSERT_EQUAL(le32toh(seg[1].lkey), 11);
	memcpy(&db, t.fixture.ctx->uar.page + HCASIM_UAR_DB_TM, sizeof(db));
	CU_ASSERT_EQUAL(le64toh(db), 2ull << 32 | SRQN);
	close_tm(&t);
}

static void test_refused(void)
{
	struct ibv_ops_wr wr = {.opcode = IBV_WR_TAG_ADD}, *bad = NULL;
	struct tm_fixture t;

	open_tm(&t);
	wr.tm.add.num_sge = HCASIM_TM_MAX_SGE + 1;
	CU_ASSERT_EQUAL(post(&t, &wr), EINVAL);
	wr.tm.add.num_sge = -1;
	CU_ASSERT_EQUAL(post(&t, &wr), EINVAL);
	wr = (struct ibv_ops_wr){.opcode = IBV_WR_TAG_SYNC, .flags = 4};
	CU_ASSERT_EQUAL(post(&t, &wr), EINVAL);
	wr = (struct ibv_ops_wr){.opcode = IBV_WR_TAG_SYNC + 1};
	CU_ASSERT_EQUAL(post(&t, &wr), EINVAL);
	CU_ASSERT_EQUAL(del(&t, 0, 0), EINVAL); /* nothing was added */
	CU_ASSERT_EQUAL(del(&t, NUM_TAGS, 0), EINVAL);
	CU_ASSERT_EQUAL(t.srq.tm->pi, 0);
	hcasim_tm_free(&t.srq);
	CU_ASSERT_EQUAL(hcasim_post_srq_ops(&t.srq.vsrq.srq, &wr, &bad), EINVAL);
	CU_ASSERT_PTR_EQUAL(bad, &wr);
	close_tm(&t);
}

/* An entry awaits the completions of its ADD and of its message: only then is its handle free. */
static void test_handles(void)
{
	const uint32_t both = HCASIM_CQE_TM_HANDLE_MASK | HCASIM_CQE_TM_MATCH_MASK | HCASIM_CQE_TM_DATA_MASK;
	struct ibv_ops_wr wr = {.opcode = IBV_WR_TAG_ADD};
	uint32_t handle[NUM_TAGS], i;
	struct tm_fixture t;

	open_tm(&t);
	for (i = 0; i < NUM_TAGS; i++)
		handle[i] = add(&t, i, IBV_OPS_SIGNALED);
	CU_ASSERT_EQUAL(post(&t, &wr), ENOMEM); /* the ring is full */
	for (i = 0; i < NUM_TAGS; i++) {
		complete(&t, HCASIM_CQE_OP_TM_ADD, i, HCASIM_CQE_TM_SYNC_MASK, 0);
		expect(&t, i, IBV_WC_TM_ADD, IBV_WC_SUCCESS, IBV_WC_TM_SYNC_REQ);
	}
	CU_ASSERT_EQUAL(post(&t, &wr), ENOMEM); /* the list is */
	complete(&t, HCASIM_CQE_OP_TM_RECV, handle[1], HCASIM_CQE_TM_HANDLE_MASK | HCASIM_CQE_TM_MATCH_MASK,
		 0);
	expect(&t, 1001, IBV_WC_TM_RECV, IBV_WC_SUCCESS, IBV_WC_TM_MATCH);
	CU_ASSERT_EQUAL(post(&t, &wr), ENOMEM);
	complete(&t, HCASIM_CQE_OP_TM_RECV, handle[1], HCASIM_CQE_TM_HANDLE_MASK | HCASIM_CQE_TM_DATA_MASK,
		 0);
	expect(&t, 1001, IBV_WC_TM_RECV, IBV_WC_SUCCESS, IBV_WC_TM_DATA_VALID);
	CU_ASSERT_EQUAL(add(&t, 8, 0), handle[1]);
	complete(&t, HCASIM_CQE_OP_TM_RECV, handle[0], HCASIM_CQE_TM_HANDLE_MASK,
		 HCASIM_CQE_STATUS_WR_FLUSH_ERR);
	expect(&t, 1000, IBV_WC_TM_RECV, IBV_WC_WR_FLUSH_ERR, 0);
	complete(&t, HCASIM_CQE_OP_TM_RECV, handle[0], both, 0); /* names nothing any more */
	expect_none(&t);
	CU_ASSERT_EQUAL(add(&t, 9, 0), handle[0]);
	close_tm(&t);
}

/* A removed entry is free at once. A DEL that came too late says so, if it was asked to; the message has completed. */
static void test_delete(void)
{
	const uint32_t both = HCASIM_CQE_TM_HANDLE_MASK | HCASIM_CQE_TM_MATCH_MASK | HCASIM_CQE_TM_DATA_MASK;
	struct tm_fixture t;
	uint32_t handle;

	open_tm(&t);
	handle = add(&t, 1, 0);
	CU_ASSERT_EQUAL(del(&t, handle, 0), 0);
	complete(&t, HCASIM_CQE_OP_TM_DEL, 1, 0, 0);
	expect_none(&t); /* not signaled */
	CU_ASSERT_EQUAL(del(&t, handle, 0), EINVAL);
	CU_ASSERT_EQUAL(add(&t, 2, 0), handle);
	CU_ASSERT_EQUAL(del(&t, handle, IBV_OPS_SIGNALED), 0);
	complete(&t, HCASIM_CQE_OP_TM_RECV, handle, both, 0);
	complete(&t, HCASIM_CQE_OP_TM_DEL, 3, 0, HCASIM_CQE_STATUS_TM_ERR);
	expect(&t, 1002, IBV_WC_TM_RECV, IBV_WC_SUCCESS, IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID);
	expect(&t, 77, IBV_WC_TM_DEL, IBV_WC_TM_ERR, 0);
	CU_ASSERT_EQUAL(t.srq.tm->num_free, NUM_TAGS);
	close_tm(&t);
}

/* ADDs that are never signaled give their places back when their buffers are consumed. */
static void test_unsignaled(void)
{
	const uint32_t both = HCASIM_CQE_TM_HANDLE_MASK | HCASIM_CQE_TM_MATCH_MASK | HCASIM_CQE_TM_DATA_MASK;
	struct tm_fixture t;
	uint32_t i;

	open_tm(&t);
	for (i = 0; i < 70000; i++) {
		uint32_t handle = add(&t, i, 0);

		complete(&t, HCASIM_CQE_OP_TM_RECV, handle, both, 0);
		expect(&t, i + 1000, IBV_WC_TM_RECV, IBV_WC_SUCCESS, IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID);
		if (CU_get_number_of_failures())
			break;
	}
	close_tm(&t);
}

int main(void)
{
	static const struct fixture_test tests[] = {
		{"bytes of an operation", test_bytes},
		{"refused", test_refused},
		{"handles", test_handles},
		{"delete", test_delete},
		{"never signaled", test_unsignaled},
		{},
	};

	return fixture_main("tag matching", tests);
}
