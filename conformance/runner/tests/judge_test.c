/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Every check of the judge accepts right data, rejects wrong data, and names the fault. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "judge/judge.h"
#include "suites.h"

static const struct wc_expect want = {
	.wr_id = 7,
	.opcode = IBV_WC_RECV,
	.qp_num = 0x11,
	.check_len = true,
	.byte_len = 100,
	.check_src = true,
	.src_qp = 0x22,
	.with_imm = true,
	.with_grh = true,
};

static struct ibv_wc right(void)
{
	return (struct ibv_wc){
		.wr_id = 7,
		.opcode = IBV_WC_RECV,
		.qp_num = 0x11,
		.byte_len = 100,
		.src_qp = 0x22,
		.wc_flags = IBV_WC_WITH_IMM | IBV_WC_GRH,
	};
}

/* There must be exactly one fault, and it must contain `word`. */
static void expect_fault(const struct wc_expect *expected, struct ibv_wc wc, const char *word)
{
	struct verdict v = {0};

	judge_wc(&v, "responder", expected, &wc);
	CU_ASSERT_EQUAL(v.num, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(v.fault[0], word));
}

static void test_wc_right(void)
{
	struct verdict v = {0};
	struct ibv_wc wc = right();

	judge_wc(&v, "responder", &want, &wc);
	CU_ASSERT_EQUAL(v.num, 0);
}

#define WRONG(field, value)                                                                                  \
	do {                                                                                                 \
		struct ibv_wc wc = right();                                                                  \
		wc.field = value;                                                                            \
		expect_fault(&want, wc, #field);                                                             \
	} while (0)

static void test_wc_fields(void)
{
	WRONG(wr_id, 8);
	WRONG(qp_num, 0x12);
	WRONG(opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	WRONG(byte_len, 101);
	WRONG(src_qp, 0x23);
	WRONG(imm_data, htobe32(1));
	WRONG(wc_flags, IBV_WC_WITH_IMM);
	WRONG(wc_flags, IBV_WC_WITH_IMM | IBV_WC_GRH | IBV_WC_WITH_INV);
	WRONG(status, IBV_WC_REM_ACCESS_ERR);
}

static void test_wc_invalidated(void)
{
	struct wc_expect inv = {.opcode = IBV_WC_RECV, .with_inv = true, .inv_rkey = 5};
	struct ibv_wc wc = {.opcode = IBV_WC_RECV, .wc_flags = IBV_WC_WITH_INV, .invalidated_rkey = 6};

	expect_fault(&inv, wc, "invalidated_rkey");
}

/* After an error only wr_id, status and qp_num are checked: other fields may be anything; success is a fault. */
static void test_wc_error_expected(void)
{
	struct wc_expect err = {.status = IBV_WC_LOC_LEN_ERR, .qp_num = 1, .check_len = true, .byte_len = 3};
	struct ibv_wc wc = {.status = IBV_WC_LOC_LEN_ERR, .qp_num = 1, .opcode = 99, .wc_flags = 0xff};
	struct verdict v = {0};

	judge_wc(&v, "requester", &err, &wc);
	CU_ASSERT_EQUAL(v.num, 0);
	wc.status = IBV_WC_SUCCESS;
	expect_fault(&err, wc, "status");
}

/* Erratum FRAME-QPN: a received frame may have 0 where others have the number of their queue. */
static void test_wc_of_frame(void)
{
	struct wc_expect frame = {.opcode = IBV_WC_RECV, .qp_num = 1, .frame = true};
	struct ibv_wc wc = {.opcode = IBV_WC_RECV};
	struct verdict v = {0};

	judge_wc(&v, "responder", &frame, &wc);
	wc.qp_num = 1;
	judge_wc(&v, "responder", &frame, &wc);
	CU_ASSERT_EQUAL(v.num, 0);
	wc.qp_num = 2;
	expect_fault(&frame, wc, "qp_num");
	wc.qp_num = 0;
	frame.status = wc.status = IBV_WC_WR_FLUSH_ERR;
	expect_fault(&frame, wc, "qp_num");
	frame = (struct wc_expect){.opcode = IBV_WC_RECV, .qp_num = 1};
	wc.status = IBV_WC_SUCCESS;
	expect_fault(&frame, wc, "qp_num");
}

static void test_extra_and_missing(void)
{
	struct ibv_wc wc = right();
	struct verdict v = {0};

	judge_extra_wc(&v, "requester", &wc);
	judge_missing_wc(&v, "responder", &want);
	CU_ASSERT_EQUAL(v.num, 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(v.fault[0], "nothing asked for"));
	CU_ASSERT_PTR_NOT_NULL(strstr(v.fault[1], "did not come"));
}

static void test_bytes(void)
{
	uint8_t image[64] = {0}, memory[64] = {0};
	struct verdict v = {0};

	judge_bytes(&v, "memory", image, memory, sizeof(image));
	CU_ASSERT_EQUAL(v.num, 0);
	memory[41] = 1;
	judge_bytes(&v, "memory", image, memory, sizeof(image));
	CU_ASSERT_EQUAL(v.num, 1);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(v.fault[0], "1 bytes are wrong, the first at offset 41: 0x01, expected 0x00"));
	memory[41] = 0;
	memory[63] = 0xff;
	judge_bytes(&v, "memory", image, memory, sizeof(image));
	CU_ASSERT_EQUAL(v.num, 2);
}

static unsigned int post_faults(enum post_expect post, int bad_wr, int rc, int bad)
{
	struct cell cell = {.post = post, .bad_wr = bad_wr};
	struct verdict v = {0};

	judge_post(&v, &cell, rc, bad, EINVAL);
	return v.num;
}

static void test_post(void)
{
	CU_ASSERT_EQUAL(post_faults(POST_OK, 0, 0, -1), 0);
	CU_ASSERT_EQUAL(post_faults(POST_OK, 0, EINVAL, 0), 1);
	CU_ASSERT_EQUAL(post_faults(POST_REFUSED, 0, EINVAL, -1), 0);
	CU_ASSERT_EQUAL(post_faults(POST_REFUSED, 1, EINVAL, 1), 0);
	CU_ASSERT_EQUAL(post_faults(POST_REFUSED, 1, EINVAL, 0), 1);
	CU_ASSERT_EQUAL(post_faults(POST_REFUSED, 0, 0, -1), 1);
	CU_ASSERT_EQUAL(post_faults(POST_ANY, 0, 0, -1), 0);
	CU_ASSERT_EQUAL(post_faults(POST_ANY, 0, EINVAL, 0), 0);
	CU_ASSERT_EQUAL(post_faults(POST_ANY, 1, EINVAL, 0), 1);
	CU_ASSERT_EQUAL(post_faults(POST_REFUSED, 0, ENOMEM, 0), 1);
	CU_ASSERT_EQUAL(post_faults(POST_ANY, 0, ENOMEM, 0), 1);
}

static unsigned int other_faults(enum post_expect post, int rc)
{
	struct verdict v = {0};

	judge_other(&v, post, rc);
	return v.num;
}

static void test_other(void)
{
	CU_ASSERT_EQUAL(other_faults(POST_OK, 0), 0);
	CU_ASSERT_EQUAL(other_faults(POST_OK, EINVAL), 1);
	CU_ASSERT_EQUAL(other_faults(POST_REFUSED, ENOMEM), 0);
	CU_ASSERT_EQUAL(other_faults(POST_REFUSED, 0), 1);
}

static unsigned int create_faults(enum create_expect create, int want_errno, int err)
{
	struct cell cell = {.create = create, .create_errno = want_errno};
	struct verdict v = {0};

	judge_create(&v, &cell, err);
	return v.num;
}

static void test_create(void)
{
	CU_ASSERT_EQUAL(create_faults(CREATE_OK, 0, 0), 0);
	CU_ASSERT_EQUAL(create_faults(CREATE_OK, 0, ENOMEM), 1);
	CU_ASSERT_EQUAL(create_faults(CREATE_REFUSED, EOPNOTSUPP, EOPNOTSUPP), 0);
	CU_ASSERT_EQUAL(create_faults(CREATE_REFUSED, EOPNOTSUPP, EINVAL), 1);
	CU_ASSERT_EQUAL(create_faults(CREATE_REFUSED, 0, EINVAL), 0);
	CU_ASSERT_EQUAL(create_faults(CREATE_REFUSED, EOPNOTSUPP, 0), 1);
}

static void test_event(void)
{
	struct verdict v = {0};

	judge_event(&v, 1, true);
	judge_event(&v, 0, false);
	judge_event(&v, -1, true);
	CU_ASSERT_EQUAL(v.num, 0);
	judge_event(&v, 1, false);
	judge_event(&v, 0, true);
	CU_ASSERT_EQUAL(v.num, 2);
}

/* More faults than fit are counted, not written past the end. */
static void test_many_faults(void)
{
	struct verdict v = {0};

	for (int i = 0; i < VERDICT_MAX + 5; i++)
		fault(&v, "fault %d", i);
	CU_ASSERT_EQUAL(v.num, VERDICT_MAX + 5);
	CU_ASSERT_STRING_EQUAL(v.fault[VERDICT_MAX - 1], "fault 11");
}

static void expect_observation(const struct verdict *v, unsigned int i, const char *check, const char *value)
{
	CU_ASSERT_TRUE_FATAL(i < v->num_observed);
	CU_ASSERT_STRING_EQUAL(v->observed[i].check, check);
	CU_ASSERT_STRING_EQUAL(v->observed[i].value, value);
}

/* Each check has a name that stays, and a value that is the same in each run. */
static void test_observations(void)
{
	struct verdict v = {0};
	struct ibv_wc wc = right();

	wc.byte_len = 7;
	wc.wc_flags = IBV_WC_WITH_IMM | IBV_WC_WITH_INV;
	judge_wc(&v, "responder", &want, &wc);
	wc.qp_num++;
	judge_wc(&v, "responder", &want, &wc); /* what was seen before is recorded once */
	fault(&v, "QP 0x%x: %s of %u%% were sent, %s", 0x17, "half", 50u, "and no more");
	CU_ASSERT_EQUAL(v.num_observed, 4);
	expect_observation(&v, 0, "responder.wc.byte_len", "7");
	expect_observation(&v, 1, "responder.wc.wc_flags", "WITH_IMM | WITH_INV");
	expect_observation(&v, 2, "responder.wc.qp_num", "another");
	expect_observation(&v, 3, "qp-0x-of-were-sent-", "17,half,50,and no more");
	CU_ASSERT_EQUAL(v.num, 6);
	fault(&v, "it was taken");
	expect_observation(&v, 4, "it-was-taken", "yes");
}

/* A completion of a request that nobody built: only its wr_id is free. */
static void test_foreign(void)
{
	struct wc_expect foreign = {.foreign = true, .status = IBV_WC_LOC_QP_OP_ERR, .qp_num = want.qp_num};
	struct verdict v = {0};
	struct ibv_wc wc = right();

	wc.wr_id = ~wc.wr_id;
	wc.status = IBV_WC_LOC_QP_OP_ERR;
	judge_wc(&v, "requester", &foreign, &wc);
	CU_ASSERT_EQUAL(v.num, 0);
	wc.status = IBV_WC_WR_FLUSH_ERR;
	judge_wc(&v, "requester", &foreign, &wc);
	CU_ASSERT_EQUAL(v.num, 1);
}

/* What is excused is no fault, with exactly this value. */
static void test_excused(void)
{
	json_t *excuses = json_pack("{s:s}", "responder.wc.byte_len", "7");
	struct verdict v = {.excuses = excuses};
	struct ibv_wc wc = right();

	wc.byte_len = 7;
	judge_wc(&v, "responder", &want, &wc);
	CU_ASSERT_EQUAL(v.num, 0);
	CU_ASSERT_EQUAL(v.num_observed, 1);
	CU_ASSERT_TRUE(v.observed[0].excused);
	judge_wc(&v, "requester", &want, &wc);
	wc.byte_len = 8;
	judge_wc(&v, "responder", &want, &wc);
	CU_ASSERT_EQUAL(v.num, 2);
	CU_ASSERT_FALSE(v.observed[1].excused);
	CU_ASSERT_FALSE(v.observed[2].excused);
	json_decref(excuses);
}

CU_TestInfo judge_tests[] = {
	{"a right completion", test_wc_right},
	{"each wrong field of a completion", test_wc_fields},
	{"a wrong invalidated rkey", test_wc_invalidated},
	{"a completion in error", test_wc_error_expected},
	{"a completion of a frame", test_wc_of_frame},
	{"completions too many and too few", test_extra_and_missing},
	{"wrong bytes", test_bytes},
	{"return value and bad_wr", test_post},
	{"postings next to the cell's", test_other},
	{"creation", test_create},
	{"events", test_event},
	{"many faults", test_many_faults},
	{"names and values of observations", test_observations},
	{"a completion of no request", test_foreign},
	{"excused observations", test_excused},
	CU_TEST_INFO_NULL,
};
