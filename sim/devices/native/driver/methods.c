// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ioctl methods of the driver: what it answered when a PD or device memory was allocated. */
#include "driver.h"

#include <rdma/ib_user_ioctl_cmds.h>

#define QUERY_HANDLE UVERBS_ID_DRIVER_NS
#define QUERY_RESP   (UVERBS_ID_DRIVER_NS + 1)

static const struct attr_spec pd_query[] = {
	IDR(QUERY_HANDLE, UVERBS_OBJECT_PD, ACCESS_READ, M_),
	OUT(QUERY_RESP, sizeof(uint32_t), M_),
};
static const struct attr_spec dm_query[] = {
	IDR(QUERY_HANDLE, UVERBS_OBJECT_DM, ACCESS_READ, M_),
	OUT_MIN(QUERY_RESP, 0, M_),
};

static int query_pd(struct drv_call *c)
{
	const uint32_t pdn = common_pdn(c->ops->object(c, QUERY_HANDLE));

	return c->ops->put(c, QUERY_RESP, &pdn, sizeof(pdn));
}

static int query_dm(struct drv_call *c)
{
	const struct hcasim_alloc_dm_resp resp = native_dm_resp(c->ops->object(c, QUERY_HANDLE));

	return c->ops->put(c, QUERY_RESP, &resp, sizeof(resp));
}

const struct drv_method native_methods[NATIVE_NUM_METHODS] = {
	DRV_METHOD(UVERBS_OBJECT_PD, UVERBS_ID_DRIVER_NS, query_pd, pd_query),
	DRV_METHOD(UVERBS_OBJECT_DM, UVERBS_ID_DRIVER_NS, query_dm, dm_query),
};
