// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Device memory: where a context maps it. */
#include "driver.h"

_Static_assert(HCASIM_DM_PAGE_SIZE == COMMON_PAGE_SIZE, "device memory is given out in pages");

struct hcasim_alloc_dm_resp native_dm_resp(const struct drv_dm *base)
{
	const struct common_dm *dm = (const struct common_dm *)base;

	return (struct hcasim_alloc_dm_resp){
		.mmap_offset = NATIVE_MMAP_DM + (uint64_t)dm->first * HCASIM_DM_PAGE_SIZE,
		.mmap_size = (uint64_t)dm->num * HCASIM_DM_PAGE_SIZE,
		.length = base->length,
	};
}

int native_alloc_dm(struct drv_dm *dm, uint32_t log_align, struct drv_udata *u)
{
	const int ret = common_alloc_dm(dm, log_align);
	struct hcasim_alloc_dm_resp resp;

	if (ret)
		return ret;
	resp = native_dm_resp(dm);
	common_udata_put(u, &resp, sizeof(resp));
	return 0;
}
