/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CONFORM_TESTS_SUITES_H
#define CONFORM_TESTS_SUITES_H

#include <CUnit/CUnit.h>

extern CU_TestInfo judge_tests[];
extern CU_TestInfo cell_tests[];
extern CU_TestInfo watchdog_tests[];
extern CU_TestInfo made_tests[];

#endif
