// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* core_test [SUITE]: every suite, or one. */
#include <stdio.h>

#include "fixture.h"

static const struct {
	const char *name;
	const struct test *tests;
} suites[] = {
	{"rc", rc_tests},
	{"inline_sges", inline_sge_tests},
	{"payloads", payload_tests},
	{"faults", fault_tests},
	{"errors", error_tests},
	{"datagrams", datagram_tests},
	{"cqs", cq_tests},
	{"doorbells", doorbell_tests},
	{"states", state_tests},
	{"fuzz", fuzz_tests},
	{"srqs", srq_tests},
	{"tags", tag_tests},
	{"rendezvous", rendezvous_tests},
	{"keys", keys_tests},
	{"numbers", number_tests},
	{"packets", packet_tests},
	{"windows", window_tests},
	{"flush", flush_tests},
	{"raws", raw_tests},
	{"offloads", offload_tests},
	{"steering", steering_tests},
	{"edits", edit_tests},
	{"tunnels", tunnel_tests},
	{"groups", group_tests},
	{"pacing", pacing_tests},
	{"sched", sched_tests},
	{"congestion", congestion_tests},
	{"xrc_windows", xrc_window_tests},
	{"indirect", indirect_tests},
	{"paging", paging_tests},
	{"pages", pages_tests},
	{"device_memory", device_memory_tests},
	{"hints", hint_tests},
	{"lockstep", lockstep_tests},
	{"rss", rss_tests},
	{"refusals", refusal_tests},
	{"counters", counter_tests},
	{"comp_cntrs", comp_cntr_tests},
};

static bool add(const char *name, const struct test *t)
{
	CU_pSuite suite = CU_add_suite(name, NULL, NULL);

	for (; suite && t->name; t++)
		if (!CU_add_test(suite, t->name, t->fn))
			return false;
	return suite;
}

int main(int argc, char **argv)
{
	unsigned int failed, i;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
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
