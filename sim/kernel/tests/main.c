// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "harness.h"

int main(void)
{
	unsigned int failed;

	if (CU_initialize_registry())
		return 1;
	add_object_suite();
	add_growth_suite();
	add_ioctl_suite();
	add_write_suite();
	add_state_suite();
	add_event_suite();
	add_records_suite();
	add_log_suite();
	add_methods_suite();
	add_srq_suite();
	add_sysfs_suite();
	add_flow_suite();
	add_wq_suite();
	add_dm_suite();
	add_comp_cntr_suite();
	add_dmah_suite();
	add_dmabuf_suite();
	add_odp_suite();
	add_ucma_suite();
	add_ucma_hostile_suite();
	add_releases_suite();
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures() + CU_get_number_of_suites_failed();
	CU_cleanup_registry();
	return failed != 0;
}
