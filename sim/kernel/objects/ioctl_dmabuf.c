// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions of dma-bufs: drivers/infiniband/core/uverbs_std_types_mr.c and umem_dmabuf.c. The device uses a
 * separate address space for each dma-buf.
 */
#include <errno.h>

#include "kernel/uverbs/ioctl.h"

#define DMABUF_ACCESS                                                                                        \
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ |       \
	 IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_RELAXED_ORDERING)

static int attach(struct call *c, const struct dmabuf_range *r, struct dmabuf **out)
{
	struct dmabuf *d;
	int ret;

	if (r->offset + r->length < r->offset)
		return -EINVAL;
	ret = c->t->ops->dmabuf_get(c->t, r->fd, &d);
	if (ret)
		return ret;
	if (!r->length || r->offset + r->length > d->size) {
		d->put(d);
		return -EINVAL;
	}
	*out = d;
	return 0;
}

static void put_dmabuf(struct uobj *u)
{
	u->mr.dmabuf->put(u->mr.dmabuf);
}

static int make_mr(struct uobj *u, const struct dmabuf_range *r, uint32_t access, struct uobj *pd,
		   struct uobj *dmah)
{
	const struct drv_ops *ops = kdev_ops(u->file->dev);
	struct drv_mr *mr = verbs_mr_alloc(u, pd, u->mr.dmabuf->pasid, dmah);
	int ret;

	if (!mr)
		return -ENOMEM;
	ret = ops->reg_mr(mr, r->offset, r->length, r->iova, access, NULL);
	return verbs_mr_registered(u, mr, ret, pd, dmah);
}

int verbs_reg_dmabuf_mr(struct call *c, struct uobj *u, const struct dmabuf_range *r, uint16_t access_attr,
			struct uobj *pd, struct uobj *dmah)
{
	uint32_t access;
	int ret;

	if ((r->offset ^ r->iova) & (KPAGE_SIZE - 1))
		return -EINVAL;
	ret = attr_flags32(c, access_attr, DMABUF_ACCESS, &access);
	if (!ret)
		ret = verbs_check_access(c->f->dev, access);
	if (!ret)
		ret = attach(c, r, &u->mr.dmabuf);
	if (ret)
		return ret;
	u->forget = put_dmabuf;
	u->mr.length = r->length;
	u->mr.iova = r->iova;
	u->mr.access = access;
	u->mr.fixed = true;
	return make_mr(u, r, access, pd, dmah);
}

int m_reg_dmabuf_mr(struct call *c)
{
	struct uobj *u = attr_get(c, UVERBS_ATTR_REG_DMABUF_MR_HANDLE)->obj;
	struct dmabuf_range r = {0};
	int ret;

	ret = attr_copy_from(c, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &r.offset, sizeof(r.offset));
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &r.length, sizeof(r.length));
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &r.iova, sizeof(r.iova));
	if (!ret)
		ret = attr_copy_from(c, UVERBS_ATTR_REG_DMABUF_MR_FD, &r.fd, sizeof(r.fd));
	if (!ret)
		ret = verbs_reg_dmabuf_mr(c, u, &r, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS,
					  attr_get(c, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE)->obj, NULL);
	if (ret)
		return ret;
	return attr_put_keys(c, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY,
			     u->drv);
}
