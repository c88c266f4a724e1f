// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <CUnit/Basic.h>

#include "suites.h"

int main(void)
{
	unsigned int failed = 1;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	CU_basic_set_mode(CU_BRM_VERBOSE);
	if (add_bits() && add_heap() && add_numbers() && add_table() && CU_basic_run_tests() == CUE_SUCCESS)
		failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}
