// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Two C engines side by side in all the runs of the other suites, and one of them with a fault. */
#include <stdio.h>

#include "fixture.h"
#include "pair.h"

extern const struct engine_ops planted_engine; /* tests/CMakeLists.txt says what is wrong with it */

static void run(const struct test *t)
{
	untimed_engine = &pair_engine;
	for (; t->name; t++)
		t->fn();
	untimed_engine = NULL;
}

static void same(const struct test *t)
{
	pair_second = &c_engine;
	memset(&pair_report, 0, sizeof(pair_report));
	run(t);
	if (pair_report.differs)
		fprintf(stderr, "  %s\n", pair_report.what);
	CU_ASSERT_FALSE(pair_report.differs);
	CU_ASSERT_TRUE(pair_report.ops > 100);
	CU_ASSERT_TRUE(pair_report.port_calls > 100);
}

static void fuzz(void)
{
	same(fuzz_tests);
}

static void faults(void)
{
	same(fault_tests);
}

static void connected(void)
{
	same(rc_tests);
	same(flush_tests);
	same(error_tests);
	same(state_tests);
}

static void datagrams(void)
{
	same(datagram_tests);
	same(raw_tests);
}

static void memory(void)
{
	same(window_tests);
	same(xrc_window_tests);
	same(paging_tests);
}

/* The fault is found, at the port or in the state where it first shows. */
static void planted(void)
{
	pair_second = &planted_engine;
	memset(&pair_report, 0, sizeof(pair_report));
	run(fault_tests);
	CU_ASSERT_TRUE(pair_report.differs);
	CU_ASSERT_TRUE(strlen(pair_report.what) > 0);
	printf("(%s, after %llu ops) ", pair_report.what, (unsigned long long)pair_report.ops);
}

const struct test lockstep_tests[] = {
	{"fuzz", fuzz},
	{"faults on the wire", faults},
	{"connected QPs", connected},
	{"datagrams and frames", datagrams},
	{"windows and pages", memory},
	{"a planted fault", planted},
	{NULL, NULL},
};
