// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Extended QPs where the loaded libibverbs has a shorter struct ibv_qp_ex than the headers (layout.c). */
#include <string.h>

#include "fixture.h"

#define FILL 0xa5

static const size_t sizes[] = {
	sizeof(struct ibv_qp_ex),
	offsetof(struct ibv_qp_ex, wr_flush),
	offsetof(struct ibv_qp_ex, wr_atomic_write),
};

/* The library's own is the one that it was built with: the fixture's is that of the headers. */
static void test_loaded(void)
{
	CU_ASSERT_EQUAL(hcasim_qp_ex_size(), sizeof(struct ibv_qp_ex));
}

/* Its functions, the mark right behind them, and nothing else of what stands there. */
static void test_extend(void)
{
	uint8_t *base, untouched[sizeof(struct verbs_qp)];
	const uint32_t mask = VERBS_QP_EX;
	struct fixture fixture;
	size_t i, from;

	fixture_open(&fixture, &fixture_rc);
	base = (uint8_t *)&fixture.qp.vqp;
	memset(untouched, FILL, sizeof(untouched));
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fixture.ctx->qp_ex_size = sizes[i];
		from = offsetof(struct ibv_qp_ex, wr_atomic_cmp_swp);
		memset(base + from, FILL, sizeof(fixture.qp.vqp) - from);
		memset(base + sizes[i], 0, sizeof(mask));
		hcasim_qp_fill_wr_ops(&fixture.qp);
		CU_ASSERT_NOT_EQUAL(memcmp(&fixture_qpx(&fixture)->wr_abort, untouched, sizeof(void *)), 0);
		CU_ASSERT_EQUAL(memcmp(base + sizes[i], &mask, sizeof(mask)), 0);
		from = sizes[i] + sizeof(mask);
		CU_ASSERT_EQUAL(memcmp(base + from, untouched, sizeof(fixture.qp.vqp) - from), 0);
	}
	fixture_close(&fixture);
}

/* A program that knows of a function must not call what stands in its place. */
static void test_absent(void)
{
	CU_ASSERT_EQUAL(hcasim_absent_send_ops(sizes[0]), 0);
	CU_ASSERT_EQUAL(hcasim_absent_send_ops(sizes[1]), IBV_QP_EX_WITH_FLUSH);
	CU_ASSERT_EQUAL(hcasim_absent_send_ops(sizes[2]), IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE);
}

int main(void)
{
	static const struct fixture_test tests[] = {
		{"the libibverbs that is loaded", test_loaded},
		{"functions and mark", test_extend},
		{"operations without a function", test_absent},
		{},
	};

	return fixture_main("layout", tests);
}
