/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <CUnit/Basic.h>

#include "suites.h"

int main(void)
{
	CU_SuiteInfo suites[] = {
		{"judge", NULL, NULL, NULL, NULL, judge_tests},
		{"cell", NULL, NULL, NULL, NULL, cell_tests},
		{"watchdog", NULL, NULL, NULL, NULL, watchdog_tests},
		{"made", NULL, NULL, NULL, NULL, made_tests},
		CU_SUITE_INFO_NULL,
	};
	unsigned int failures;

	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
		return 2;
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures ? 1 : 0;
}
