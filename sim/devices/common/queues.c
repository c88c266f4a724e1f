// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues, shared receive queues and queue pairs: what does not depend on where their rings are. */
#include <errno.h>

#include "devices/common/common.h"

int common_create_cq(struct drv_cq *cq, const struct hca_cq_attr *attr)
{
	struct common_dev *n = common_dev(cq->ctx->dev);
	int ret = hca_cq_create(n->dev->hca, attr, &cq->cqn);

	if (ret)
		return ret;
	ret = common_enter(&n->cqs, cq->cqn, cq);
	if (ret)
		hca_cq_destroy(n->dev->hca, cq->cqn);
	return ret;
}

int common_moderate_cq(struct drv_cq *cq, uint16_t count, uint16_t us)
{
	return hca_cq_moderate(cq->ctx->dev->hca, cq->cqn, count, us);
}

/* Event queues may still have events of an object that is destroyed, whose number may be reused by another one. */
static void forget(struct common_dev *n, struct common_objects *t, uint32_t number)
{
	common_eqs_poll(n);
	common_enter(t, number, NULL);
}

int common_destroy_cq(struct drv_cq *cq)
{
	struct common_dev *n = common_dev(cq->ctx->dev);
	const int ret = hca_cq_destroy(n->dev->hca, cq->cqn);

	if (!ret)
		forget(n, &n->cqs, cq->cqn);
	return ret;
}

int common_create_srq(struct drv_srq *srq, const struct hca_srq_attr *attr)
{
	struct common_dev *n = common_dev(srq->pd->ctx->dev);
	int ret = hca_srq_create(n->dev->hca, attr, &srq->srqn);

	if (ret)
		return ret;
	ret = common_enter(&n->srqs, srq->srqn, srq);
	if (ret)
		hca_srq_destroy(n->dev->hca, srq->srqn);
	return ret;
}

int common_modify_srq_limit(struct drv_srq *srq, uint32_t limit)
{
	return hca_srq_arm(srq->pd->ctx->dev->hca, srq->srqn, limit);
}

int common_query_srq_limit(struct drv_srq *srq, uint32_t *limit)
{
	return hca_srq_query(srq->pd->ctx->dev->hca, srq->srqn, limit);
}

int common_destroy_srq(struct drv_srq *srq)
{
	struct common_dev *n = common_dev(srq->pd->ctx->dev);
	const int ret = hca_srq_destroy(n->dev->hca, srq->srqn);

	if (!ret)
		forget(n, &n->srqs, srq->srqn);
	return ret;
}

int common_create_qp(struct drv_qp *qp, const struct hca_qp_attr_create *attr)
{
	struct common_dev *n = common_dev(qp->dev);
	int ret = hca_qp_create(n->dev->hca, attr, &qp->qpn);

	if (ret)
		return ret;
	ret = common_enter(&n->qps, qp->qpn, qp);
	if (ret)
		hca_qp_destroy(n->dev->hca, qp->qpn);
	return ret;
}

int common_query_qp(struct drv_qp *qp, struct hca_qp_attr *attr)
{
	return qp->rss ? -EOPNOTSUPP : hca_qp_query(qp->dev->hca, qp->qpn, attr);
}

int common_destroy_qp(struct drv_qp *qp)
{
	struct common_dev *n = common_dev(qp->dev);
	const int ret = hca_qp_destroy(n->dev->hca, qp->qpn);

	if (!ret)
		forget(n, &n->qps, qp->qpn);
	return ret;
}
