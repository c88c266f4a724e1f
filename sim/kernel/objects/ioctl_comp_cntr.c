// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ioctl methods of completion counters: drivers/infiniband/core/uverbs_std_types_comp_cntr.c, _qp.c and _device.c. */
#include <errno.h>

#include "kernel/newer_abi.h"
#include "kernel/uverbs/ioctl.h"

static const struct drv_comp_cntr_ops *ops_of(const struct call *c)
{
	return kdev_ops(c->f->dev)->comp_cntr;
}

int m_query_comp_cntr_caps(struct call *c)
{
	const uint64_t max_value = UINT64_MAX;
	const uint32_t max = HCA_COMP_CNTR_MAX, attach_ops = (1u << HCA_COMP_OPS) - 1;
	int ret = call_context(c);

	if (ret)
		return ret;
	if (!ops_of(c))
		return -EOPNOTSUPP;
	ret = attr_copy_optional(c, ABI_ATTR_COMP_CNTR_CAPS_MAX_COUNTERS, &max, sizeof(max));
	if (!ret)
		ret = attr_copy_optional(c, ABI_ATTR_COMP_CNTR_CAPS_MAX_VALUE, &max_value, sizeof(max_value));
	return ret ? ret
		   : attr_copy_optional(c, ABI_ATTR_COMP_CNTR_CAPS_ATTACH_OPS, &attach_ops,
					sizeof(attach_ops));
}

static int destroy(struct uobj *u)
{
	return kdev_ops(u->file->dev)->comp_cntr->destroy(u->drv);
}

int m_comp_cntr_create(struct call *c)
{
	struct uobj *u = attr_get(c, ABI_ATTR_CREATE_COMP_CNTR_HANDLE)->obj;
	struct drv_comp_cntr *cntr;
	uint32_t type = 0;
	int ret = 0;

	if (!ops_of(c))
		return -EOPNOTSUPP;
	if (attr_get(c, COMP_CNTR_TYPE))
		ret = attr_copy_from(c, COMP_CNTR_TYPE, &type, sizeof(type));
	if (ret)
		return ret;
	cntr = drv_alloc(sizeof(*cntr), u);
	if (!cntr)
		return -ENOMEM;
	cntr->ctx = c->f->ctx;
	ret = ops_of(c)->create(cntr, type);
	if (ret) {
		drv_free(cntr);
		return ret;
	}
	u->drv = cntr;
	u->drop = destroy;
	return 0;
}

static int get_entry(struct call *c, uint16_t id, enum hca_comp_entry *entry)
{
	uint64_t v;
	const int ret = attr_const(c, id, UINT32_MAX, &v);

	if (ret)
		return ret;
	*entry = (enum hca_comp_entry)v;
	return v < HCA_COMP_ENTRIES ? 0 : -EINVAL;
}

int m_comp_cntr_modify(struct call *c)
{
	struct drv_comp_cntr *cntr = attr_get(c, ABI_ATTR_MODIFY_COMP_CNTR_HANDLE)->obj->drv;
	enum hca_comp_entry entry;
	uint64_t op, value;
	int ret;

	ret = get_entry(c, ABI_ATTR_MODIFY_COMP_CNTR_ENTRY, &entry);
	if (!ret)
		ret = attr_const(c, ABI_ATTR_MODIFY_COMP_CNTR_OP, UINT32_MAX, &op);
	if (!ret)
		ret = attr_copy_from(c, ABI_ATTR_MODIFY_COMP_CNTR_VALUE, &value, sizeof(value));
	if (ret)
		return ret;
	if (op > ABI_COMP_CNTR_OP_INC)
		return -EINVAL;
	return ops_of(c)->modify(cntr, entry, op == ABI_COMP_CNTR_OP_INC, value);
}

int m_comp_cntr_read(struct call *c)
{
	const struct drv_comp_cntr *cntr = attr_get(c, ABI_ATTR_READ_COMP_CNTR_HANDLE)->obj->drv;
	enum hca_comp_entry entry;
	uint64_t value;
	int ret;

	ret = get_entry(c, ABI_ATTR_READ_COMP_CNTR_ENTRY, &entry);
	if (!ret)
		ret = ops_of(c)->read(cntr, entry, &value);
	return ret ? ret : attr_copy_to(c, ABI_ATTR_READ_COMP_CNTR_RESP_VALUE, &value, sizeof(value));
}

/* The driver checks the QP's state, as that of EFA does. */
int m_qp_attach_comp_cntr(struct call *c)
{
	struct uobj *qp = attr_get(c, ABI_ATTR_QP_ATTACH_COMP_CNTR_HANDLE)->obj;
	struct uobj *cntr = attr_get(c, ABI_ATTR_QP_ATTACH_COMP_CNTR_CNTR_HANDLE)->obj;
	uint32_t ops;
	int ret;

	if (!ops_of(c))
		return -EOPNOTSUPP;
	ret = attr_flags32(c, ABI_ATTR_QP_ATTACH_COMP_CNTR_OP_MASK, (1u << HCA_COMP_OPS) - 1, &ops);
	if (ret)
		return ret;
	return ops ? ops_of(c)->attach(qp->drv, cntr->drv, ops) : -EINVAL;
}
