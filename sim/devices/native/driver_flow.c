// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Flow steering and multicast groups. */
#include <errno.h>

#include "driver.h"

static struct hca *hca_of(const struct drv_qp *qp)
{
	return qp->pd->ctx->dev->hca;
}

/* A UD QP over RoCE has no use for frames that are not RoCE. */
int native_create_flow(struct drv_flow *base, const struct hca_flow_attr *attr)
{
	struct hca_flow_attr a = *attr;

	if (base->qp->type != HCASIM_QPT_RAW_PACKET)
		return -EOPNOTSUPP;
	a.qpn = base->qp->qpn;
	return hca_flow_create(hca_of(base->qp), &a, &((struct native_flow *)base)->id);
}

int native_destroy_flow(struct drv_flow *base)
{
	return hca_flow_destroy(hca_of(base->qp), ((struct native_flow *)base)->id);
}

int native_attach_mcast(struct drv_qp *qp, const uint8_t gid[16])
{
	return hca_mcast_attach(hca_of(qp), qp->qpn, gid);
}

int native_detach_mcast(struct drv_qp *qp, const uint8_t gid[16])
{
	return hca_mcast_detach(hca_of(qp), qp->qpn, gid);
}
