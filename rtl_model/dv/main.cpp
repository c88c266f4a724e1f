// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// rtl_test [SUITE [FIRST [COUNT]]]: the module tests, or one suite of them; its random tests with COUNT seeds (1) from FIRST
// on. A test that fails says its seed.
#include <CUnit/Basic.h>
#include <cstdio>
#include <cstdlib>

#include "stream.hpp"

extern const struct test queue_tests[], list_tests[], cache_tests[], guide_tests[], pack_tests[],
	icrc_tests[], header_tests[], wqe_decode_tests[], gather_tests[], engine_frame_tests[],
	send_path_tests[], wave_tests[], assertion_tests[];

static const struct {
	const char *name;
	const struct test *tests;
} suites[] = {
	{"pack", pack_tests},           {"icrc", icrc_tests},
	{"gather", gather_tests},       {"engine_frame", engine_frame_tests},
	{"send_path", send_path_tests},
#if RTL_BYTES == 64 // these do not depend on it, or only describe this width
	{"queues", queue_tests},        {"list", list_tests},
	{"cache", cache_tests},         {"guide", guide_tests},
	{"header", header_tests},       {"wqe_decode", wqe_decode_tests},
	{"waves", wave_tests},          {"assertions", assertion_tests},
#endif
};

static bool add(const char *name, const struct test *t)
{
	CU_pSuite suite = CU_add_suite(name, nullptr, nullptr);

	for (; suite && t->name; t++)
		if (!CU_add_test(suite, t->name, t->fn))
			return false;
	return suite;
}

// False: not a number from 1 to the largest seed.
static bool number(const char *text, uint32_t *out)
{
	char *end;
	const unsigned long v = strtoul(text, &end, 10);

	*out = (uint32_t)v;
	return *text >= '0' && *text <= '9' && !*end && v && v <= UINT32_MAX;
}

static bool set_seeds(int argc, char **argv)
{
	uint32_t first = 1, count = 1;

	for (int i = 2; i < argc; i++)
		if (i > 3 || !number(argv[i], i == 2 ? &first : &count)) {
			fprintf(stderr, "%s: '%s' is no %s\n", argv[0], argv[i],
				i == 2 ? "seed" : "number of seeds");
			return false;
		}
	if (argc > 2)
		Seeds::set(first, count);
	return true;
}

int main(int argc, char **argv)
{
	unsigned int failed;

	if (!set_seeds(argc, argv))
		return 2;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	for (const auto &s : suites)
		if ((argc < 2 || !strcmp(argv[1], s.name)) && !add(s.name, s.tests))
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
