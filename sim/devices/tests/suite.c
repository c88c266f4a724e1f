// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>

#include <CUnit/Basic.h>

#include "suite.h"

int suite_run(const char *name, CU_InitializeFunc init, CU_CleanupFunc cleanup, const CU_TestInfo *tests)
{
	CU_SuiteInfo suites[] = {
		{.pName = name, .pInitFunc = init, .pCleanupFunc = cleanup, .pTests = (CU_TestInfo *)tests},
		CU_SUITE_INFO_NULL};
	unsigned int failures;

	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
		return EXIT_FAILURE;
	CU_basic_run_tests();
	failures = CU_get_number_of_failures() + CU_get_number_of_suites_failed();
	CU_cleanup_registry();
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
