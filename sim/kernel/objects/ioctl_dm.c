// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ioctl methods of device memory, and regions of it: drivers/infiniband/core/uverbs_std_types_dm.c and _mr.c. */
#include <errno.h>

#include "kernel/uverbs/ioctl.h"

int m_dm_alloc(struct call *c)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	struct uobj *u = attr_get(c, UVERBS_ATTR_ALLOC_DM_HANDLE)->obj;
	const struct attr_val *resp = attr_get(c, DM_ALLOC_RESP);
	struct drv_udata *udata;
	struct drv_dm *dm;
	uint64_t length;
	uint32_t log_align;
	int ret;

	if (!ops->alloc_dm)
		return -EOPNOTSUPP;
	ret = attr_copy_from(c, UVERBS_ATTR_ALLOC_DM_LENGTH, &length, sizeof(length));
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &log_align, sizeof(log_align));
	if (!ret)
		ret = driver_attr(c, resp, &udata);
	if (ret)
		return ret;
	dm = drv_alloc(ops->sz_dm, u);
	if (!dm)
		return -ENOMEM;
	dm->ctx = c->f->ctx;
	dm->length = length;
	ret = ops->alloc_dm(dm, log_align, udata);
	if (ret) {
		drv_free(dm);
		return ret;
	}
	u->drv = dm;
	return driver_attr_done(c, resp);
}

static int make_dm_mr(struct call *c, struct uobj *u, uint64_t offset, uint32_t access)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	struct uobj *pd = attr_get(c, UVERBS_ATTR_REG_DM_MR_PD_HANDLE)->obj;
	struct uobj *dm = attr_get(c, UVERBS_ATTR_REG_DM_MR_DM_HANDLE)->obj;
	struct drv_mr *mr = verbs_mr_alloc(u, pd, 0, NULL);
	int ret;

	if (!mr)
		return -ENOMEM;
	ret = ops->reg_dm_mr(mr, dm->drv, offset, u->mr.length, access);
	if (verbs_mr_registered(u, mr, ret, pd, dm))
		return ret;
	u->mr.access = access;
	u->mr.fixed = true;
	return attr_put_keys(c, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, mr);
}

int m_reg_dm_mr(struct call *c)
{
	struct uobj *u = attr_get(c, UVERBS_ATTR_REG_DM_MR_HANDLE)->obj;
	const struct drv_dm *dm = attr_get(c, UVERBS_ATTR_REG_DM_MR_DM_HANDLE)->obj->drv;
	uint64_t offset;
	uint32_t access;
	int ret;

	ret = attr_copy_from(c, UVERBS_ATTR_REG_DM_MR_OFFSET, &offset, sizeof(offset));
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_REG_DM_MR_LENGTH, &u->mr.length, sizeof(u->mr.length));
	if (!ret)
		ret = attr_flags32(c, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, VERBS_ACCESS_FLAGS, &access);
	if (ret)
		return ret;
	/*
	 * The kernel does not know where the provider maps the memory, so addresses of the region begin at 0.
	 */
	if (!(access & IB_UVERBS_ACCESS_ZERO_BASED) || access & IB_UVERBS_ACCESS_ON_DEMAND)
		return -EINVAL;
	ret = verbs_check_access(c->f->dev, access);
	if (ret)
		return ret;
	if (offset > dm->length || u->mr.length > dm->length - offset)
		return -EINVAL;
	return make_dm_mr(c, u, offset, access);
}
