// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Flow steering and multicast groups. */
#include <errno.h>

#include "devices/common/common.h"

static struct hca *hca_of(const struct drv_qp *qp)
{
	return qp->pd->ctx->dev->hca;
}

/* A UD QP over RoCE has no use for frames that are not RoCE. */
int common_create_flow(struct drv_flow *base, const struct hca_flow_attr *attr)
{
	struct hca_flow_attr a = *attr;

	if (base->qp->type != HCASIM_QPT_RAW_PACKET)
		return -EOPNOTSUPP;
	a.qpn = base->qp->qpn;
	return common_add_flow(base->qp->pd->ctx->dev, (struct common_flow *)base, &a);
}

int common_add_flow(struct drv_device *dev, struct common_flow *flow, const struct hca_flow_attr *attr)
{
	flow->base.dev = dev;
	return hca_flow_create(dev->hca, attr, &flow->id);
}

int common_destroy_flow(struct drv_flow *base)
{
	return hca_flow_destroy(base->dev->hca, ((struct common_flow *)base)->id);
}

int common_attach_mcast(struct drv_qp *qp, const uint8_t gid[16])
{
	struct common_dev *n = common_dev(qp->dev);
	int ret;

	if (n->num_mcasts == n->max_mcasts)
		return -ENOMEM;
	ret = hca_mcast_attach(hca_of(qp), qp->qpn, gid);
	n->num_mcasts += !ret;
	return ret;
}

int common_detach_mcast(struct drv_qp *qp, const uint8_t gid[16])
{
	int ret = hca_mcast_detach(hca_of(qp), qp->qpn, gid);

	common_dev(qp->dev)->num_mcasts -= !ret;
	return ret;
}
