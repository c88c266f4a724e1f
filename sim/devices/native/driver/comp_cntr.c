// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion counters: in the adapter, which programs ask by system call. */
#include <errno.h>

#include "driver.h"

static struct hca *hca_of(const struct drv_comp_cntr *cntr)
{
	return cntr->ctx->dev->hca;
}

static int create(struct drv_comp_cntr *cntr, uint32_t type)
{
	if (type != HCA_COMP_TYPE_WRS && type != HCA_COMP_TYPE_BYTES)
		return -EOPNOTSUPP;
	return hca_comp_cntr_create(hca_of(cntr), (enum hca_comp_type)type, &cntr->id);
}

static int destroy(struct drv_comp_cntr *cntr)
{
	return hca_comp_cntr_destroy(hca_of(cntr), cntr->id);
}

static int modify(struct drv_comp_cntr *cntr, enum hca_comp_entry entry, bool add, uint64_t value)
{
	if (add)
		return hca_comp_cntr_add(hca_of(cntr), cntr->id, entry, value);
	return hca_comp_cntr_set(hca_of(cntr), cntr->id, entry, value);
}

static int read_value(const struct drv_comp_cntr *cntr, enum hca_comp_entry entry, uint64_t *value)
{
	return hca_comp_cntr_read(hca_of(cntr), cntr->id, entry, value);
}

static int attach(struct drv_qp *qp, const struct drv_comp_cntr *cntr, uint32_t ops)
{
	struct hca_qp_attr attr;
	const int ret = common_query_qp(qp, &attr);

	if (ret)
		return ret;
	if (attr.state != HCASIM_QPS_RESET && attr.state != HCASIM_QPS_INIT)
		return -EINVAL;
	return hca_qp_comp_cntr(hca_of(cntr), qp->qpn, cntr->id, ops);
}

const struct drv_comp_cntr_ops native_comp_cntr_ops = {
	.create = create,
	.destroy = destroy,
	.modify = modify,
	.read = read_value,
	.attach = attach,
};
