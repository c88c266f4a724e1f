/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One CUnit suite as a program: a list of tests, basic summary, exit status. */
#ifndef HCASIM_TIMING_TESTS_SUITE_H
#define HCASIM_TIMING_TESTS_SUITE_H

#include <CUnit/Basic.h>
#include <cstdio>
#include <initializer_list>
#include <string>

struct TestCase {
	const char *name;
	void (*run)();
};

inline int run_suite(const char *suite, std::initializer_list<TestCase> tests)
{
	unsigned int failed = 1;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	CU_pSuite s = CU_add_suite(suite, nullptr, nullptr);

	for (const TestCase &t : tests)
		CU_add_test(s, t.name, t.run);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	if (CU_basic_run_tests() == CUE_SUCCESS)
		failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}

inline bool contains(const std::string &text, const std::string &part)
{
	bool found = text.find(part) != std::string::npos;

	if (!found)
		fprintf(stderr, "'%s' does not contain '%s'\n", text.c_str(), part.c_str());
	return found;
}

#endif
