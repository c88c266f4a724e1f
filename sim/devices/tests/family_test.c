// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Which operations a device family must have. */
#include <errno.h>
#include <string.h>

#include "core/personality.h"
#include "devices/driver.h"
#include "devices/family.h"
#include "suite.h"

static char err[256];

static void every_family_is_complete(void)
{
	static const char *const names[] = {"native", "mlx5", "rxe"};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CU_ASSERT_EQUAL(device_family_check(device_family(names[i]), err, sizeof(err)), 0);
}

static void required(void)
{
	struct drv_ops ops = *device_family("native");

	ops.query_port = NULL;
	CU_ASSERT_EQUAL(device_family_check(&ops, err, sizeof(err)), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "'native': no query_port, which every family needs"));
}

static void together(void)
{
	const struct drv_ops *native = device_family("native");
	struct hca_personality formats = *native->personality;
	struct drv_ops ops = *native;

	ops.create_ah = NULL;
	CU_ASSERT_EQUAL(device_family_check(&ops, err, sizeof(err)), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "no create_ah, which destroy_ah needs"));
	ops.destroy_ah = NULL;
	CU_ASSERT_EQUAL(device_family_check(&ops, err, sizeof(err)), 0);
	formats.decode_rqe = NULL;
	ops.personality = &formats;
	CU_ASSERT_EQUAL(device_family_check(&ops, err, sizeof(err)), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "no decode_rqe, which rq_record_pi needs"));
}

static CU_TestInfo tests[] = {
	{"every family is complete", every_family_is_complete},
	{"required operations", required},
	{"operations that come together", together},
	CU_TEST_INFO_NULL,
};

int main(void)
{
	return suite_run("operations of a family", NULL, NULL, tests);
}
