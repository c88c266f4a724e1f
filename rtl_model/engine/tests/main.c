// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* rtl_engine_test [SUITE]: the C engine and the RTL engine in lockstep, in the runs of the core's suites. */
#include <stdio.h>
#include <stdlib.h>

#include "engines/lockstep.h"
#include "fixture.h"
#include "rtl_engine.h"

void native_wqes(void); /* native.cpp */
void native_decoded_outside(void);
void native_all_met(void);
void native_wave(void);
void native_configs(void);
void many_queue_pairs(void); /* many.cpp */
void many_cache(void);
void many_cycles(void);
void many_pushes(void);

static const struct test native_tests[] = {
	{"random WQEs", native_wqes},
	{"random WQEs, decoded outside", native_decoded_outside},
	{"all operations met", native_all_met},
	{"waveform", native_wave},
	{"configurations that are refused", native_configs},
	{NULL, NULL},
};

static const struct test many_tests[] = {
	{"more QPs than contexts in the cache", many_queue_pairs},
	{"hits and misses", many_cache},
	{"more pushes than records", many_pushes},
	{"cycles of 64 bytes inline", many_cycles},
	{NULL, NULL},
};

static const struct {
	const char *name;
	const struct test *tests;
} suites[] = {
	{"native", native_tests},
	{"many", many_tests},
	{"rc", rc_tests},
	{"flush", flush_tests},
	{"errors", error_tests},
	{"states", state_tests},
	{"faults", fault_tests},
	{"fuzz", fuzz_tests},
	{"datagrams", datagram_tests},
	{"raws", raw_tests},
	{"groups", group_tests},
	{"pacing", pacing_tests},
	{"sched", sched_tests},
	{"doorbells", doorbell_tests},
	{"cqs", cq_tests},
	{"srqs", srq_tests},
	{"windows", window_tests},
	{"xrc_windows", xrc_window_tests},
	{"paging", paging_tests},
	{"device_memory", device_memory_tests},
	{"hints", hint_tests},
};

static void no_difference(void)
{
	if (lockstep_report.differs)
		fprintf(stderr, "  %s, after %llu ops\n", lockstep_report.what,
			(unsigned long long)lockstep_report.ops);
	CU_ASSERT_FALSE(lockstep_report.differs);
	CU_ASSERT_TRUE(lockstep_report.ops > 100);
	CU_ASSERT_TRUE(lockstep_report.port_calls > 10);
	printf("(%llu ops, %llu port calls) ", (unsigned long long)lockstep_report.ops,
	       (unsigned long long)lockstep_report.port_calls);
}

static bool add(const char *name, const struct test *t)
{
	CU_pSuite suite = CU_add_suite(name, NULL, NULL);

	for (; suite && t->name; t++)
		if (!CU_add_test(suite, t->name, t->fn))
			return false;
	return suite && CU_add_test(suite, "no difference", no_difference);
}

int main(int argc, char **argv)
{
	unsigned int failed, i;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	untimed_engine = &lockstep_engine;
	lockstep_config.second = &rtl_engine;
	for (i = 0; i < sizeof(suites) / sizeof(suites[0]); i++)
		if ((argc < 2 || !strcmp(argv[1], suites[i].name)) && !add(suites[i].name, suites[i].tests))
			return 1;
	if (!CU_get_registry()->uiNumberOfTests) {
		fprintf(stderr, "%s: there is no suite '%s'\n", argv[0], argv[1]);
		return 2;
	}
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures() + CU_get_number_of_suites_failed();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}
