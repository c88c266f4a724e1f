/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The main() of a test program with one suite. */
#ifndef HCASIM_DEVICES_TESTS_SUITE_H
#define HCASIM_DEVICES_TESTS_SUITE_H

#include <CUnit/CUnit.h>

/* The exit status. `init` and `cleanup` may be NULL; `tests` ends with CU_TEST_INFO_NULL. */
int suite_run(const char *name, CU_InitializeFunc init, CU_CleanupFunc cleanup, const CU_TestInfo *tests);

#endif
