// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Two C engines side by side in all the runs of the other suites, and one of them with a fault. */
#include <stdio.h>

#include "altered.h"
#include "fixture.h"
#include "engines/lockstep.h"

extern const struct engine_ops planted_engine; /* tests/CMakeLists.txt says what is wrong with it */

static void run(const struct test *t)
{
	untimed_engine = &lockstep_engine;
	for (; t->name; t++)
		t->fn();
	untimed_engine = NULL;
}

static void same(const struct test *t)
{
	lockstep_config.second = &c_engine;
	memset(&lockstep_report, 0, sizeof(lockstep_report));
	run(t);
	if (lockstep_report.differs)
		fprintf(stderr, "  %s\n", lockstep_report.what);
	CU_ASSERT_FALSE(lockstep_report.differs);
	CU_ASSERT_TRUE(lockstep_report.ops > 100);
	CU_ASSERT_TRUE(lockstep_report.port_calls > 10);
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
	same(payload_tests);
	same(flush_tests);
	same(error_tests);
	same(state_tests);
}

static void datagrams(void)
{
	same(datagram_tests);
	same(raw_tests);
	same(steering_tests);
	same(pacing_tests);
	same(sched_tests);
}

static void queues(void)
{
	same(doorbell_tests);
	same(cq_tests);
	same(srq_tests);
}

static void memory(void)
{
	same(window_tests);
	same(xrc_window_tests);
	same(paging_tests);
	same(device_memory_tests);
	same(hint_tests);
}

/* The fault is found, at the port or in the state where it first shows. */
static void planted(void)
{
	lockstep_config.second = &planted_engine;
	memset(&lockstep_report, 0, sizeof(lockstep_report));
	run(fault_tests);
	CU_ASSERT_TRUE(lockstep_report.differs);
	CU_ASSERT_TRUE(strlen(lockstep_report.what) > 0);
	printf("(%s, after %llu ops) ", lockstep_report.what, (unsigned long long)lockstep_report.ops);
}

/* At each port, and at each op that answers, one thing is altered: found where it was. */
static void altered(void)
{
	static const struct test *const suites[] = {rc_tests,    window_tests, error_tests,
						    state_tests, paging_tests, fault_tests};
	const char *const *place;
	const struct test *t;
	unsigned int i;

	for (place = altered_places; *place; place++) {
		memset(&lockstep_report, 0, sizeof(lockstep_report));
		lockstep_config.second = altered_engine();
		untimed_engine = &lockstep_engine;
		altered_place = *place;
		for (i = 0; i < sizeof(suites) / sizeof(suites[0]); i++)
			for (t = suites[i]; t->name && !lockstep_report.differs; t++)
				t->fn();
		untimed_engine = NULL;
		CU_ASSERT_TRUE(lockstep_report.differs);
		CU_ASSERT_PTR_NOT_NULL(strstr(lockstep_report.what, *place));
		if (!strstr(lockstep_report.what, *place))
			fprintf(stderr, "  %s was altered, found: \"%s\"\n", *place, lockstep_report.what);
	}
	altered_place = NULL;
}

const struct test lockstep_tests[] = {
	{"fuzz", fuzz},
	{"faults on the wire", faults},
	{"connected QPs", connected},
	{"datagrams and frames", datagrams},
	{"windows and pages", memory},
	{"queues", queues},
	{"each port altered", altered},
	{"a planted fault", planted},
	{NULL, NULL},
};
