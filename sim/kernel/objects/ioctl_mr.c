// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ioctl methods of memory regions and of DMA handles: drivers/infiniband/core/uverbs_std_types_mr.c and _dmah.c. */
#include <errno.h>

#include "kernel/uverbs/ioctl.h"
#include "kernel/newer_abi.h"

#define PH_BITS 3u /* PCIe base specification 6.2, 2.2.7.1: a processing hint has two bits */

static int dmah_cpu(struct call *c, struct drv_dmah *d)
{
	d->has_cpu = true;
	if (attr_copy_from(c, ABI_ATTR_ALLOC_DMAH_CPU_ID, &d->cpu, sizeof(d->cpu)))
		return -EFAULT;
	return c->t->ops->may_run_on(c->t, d->cpu) ? 0 : -EPERM;
}

int m_dmah_alloc(struct call *c)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	struct uobj *u = attr_get(c, ABI_ATTR_ALLOC_DMAH_HANDLE)->obj;
	const struct attr_val *type = attr_get(c, ABI_ATTR_ALLOC_DMAH_TPH_MEM_TYPE);
	struct drv_dmah *d = drv_alloc(sizeof(*d), u);
	int ret = 0;

	if (!d)
		return -ENOMEM;
	u->drv = d;
	if (!ops->alloc_dmah)
		return -EOPNOTSUPP;
	if (attr_get(c, ABI_ATTR_ALLOC_DMAH_CPU_ID))
		ret = dmah_cpu(c, d);
	if (!ret && attr_get(c, ABI_ATTR_ALLOC_DMAH_PH)) {
		d->has_ph = true;
		ret = attr_copy_from(c, ABI_ATTR_ALLOC_DMAH_PH, &d->ph, sizeof(d->ph));
	}
	if (ret)
		return ret;
	if (d->ph & ~PH_BITS)
		return -EINVAL;
	d->has_mem_type = type;
	d->mem_type = type ? (uint8_t)type->data : 0;
	return ops->alloc_dmah(d);
}

static int get_u64(struct call *c, uint16_t id, uint64_t *out)
{
	const int ret = attr_copy_from(c, id, out, sizeof(*out));

	return ret == -ENOENT ? 0 : ret;
}

/* Checks that the attributes fit the kind of memory. */
static int check_kind(struct call *c)
{
	const bool addr = attr_get(c, ABI_ATTR_REG_MR_ADDR), offset = attr_get(c, ABI_ATTR_REG_MR_FD_OFFSET);

	if (attr_get(c, ABI_ATTR_REG_MR_FD))
		return offset && !addr ? 0 : -EINVAL;
	return addr && !offset ? 0 : -EINVAL;
}

static int reg_pages(struct call *c, struct uobj *u, struct uobj *pd, struct uobj *dmah,
		     struct ib_uverbs_reg_mr *cmd)
{
	uint64_t start = 0;
	int ret;

	ret = get_u64(c, ABI_ATTR_REG_MR_ADDR, &start);
	if (!ret)
		ret = attr_flags32(c, ABI_ATTR_REG_MR_ACCESS_FLAGS, VERBS_ACCESS_FLAGS, &cmd->access_flags);
	if (ret)
		return ret;
	/* Regions with on-demand paging have no steering: mlx5_ib_reg_user_mr(). */
	if (dmah && (cmd->access_flags & IB_UVERBS_ACCESS_ON_DEMAND))
		return -EOPNOTSUPP;
	cmd->start = start;
	return verbs_reg_mr(c, u, pd, cmd, dmah);
}

static int reg_fd(struct call *c, struct uobj *u, struct uobj *pd, struct uobj *dmah,
		  const struct ib_uverbs_reg_mr *cmd)
{
	struct dmabuf_range r = {
		.fd = (int)attr_get(c, ABI_ATTR_REG_MR_FD)->data, .length = cmd->length, .iova = cmd->hca_va};
	const int ret = get_u64(c, ABI_ATTR_REG_MR_FD_OFFSET, &r.offset);

	return ret ? ret : verbs_reg_dmabuf_mr(c, u, &r, ABI_ATTR_REG_MR_ACCESS_FLAGS, pd, dmah);
}

int m_reg_mr(struct call *c)
{
	struct uobj *u = attr_get(c, ABI_ATTR_REG_MR_HANDLE)->obj;
	struct uobj *pd = attr_get(c, ABI_ATTR_REG_MR_PD_HANDLE)->obj;
	const struct attr_val *dmah = attr_get(c, ABI_ATTR_REG_MR_DMA_HANDLE);
	uint64_t iova = 0, length = 0;
	struct ib_uverbs_reg_mr cmd = {0};
	int ret;

	ret = check_kind(c);
	if (!ret)
		ret = get_u64(c, ABI_ATTR_REG_MR_IOVA, &iova);
	if (!ret)
		ret = get_u64(c, ABI_ATTR_REG_MR_LENGTH, &length);
	if (ret)
		return ret;
	cmd.length = length;
	cmd.hca_va = iova;
	if (attr_get(c, ABI_ATTR_REG_MR_FD))
		ret = reg_fd(c, u, pd, dmah ? dmah->obj : NULL, &cmd);
	else
		ret = reg_pages(c, u, pd, dmah ? dmah->obj : NULL, &cmd);
	return ret ? ret : attr_put_keys(c, ABI_ATTR_REG_MR_RESP_LKEY, ABI_ATTR_REG_MR_RESP_RKEY, u->drv);
}

int m_query_port_speed(struct call *c)
{
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	uint64_t port, speed;
	int ret;

	ret = call_context(c);
	if (!ret)
		ret = attr_const(c, ABI_ATTR_QUERY_PORT_SPEED_PORT_NUM, UINT32_MAX, &port);
	if (ret)
		return ret;
	if (!ops->query_port_speed)
		return -EOPNOTSUPP;
	if (port > UINT8_MAX || !kdev_port_valid(c->f->dev, (uint32_t)port))
		return -EINVAL;
	speed = ops->query_port_speed(&c->f->dev->drv, (uint8_t)port);
	return attr_copy_to(c, ABI_ATTR_QUERY_PORT_SPEED_RESP, &speed, sizeof(speed));
}
