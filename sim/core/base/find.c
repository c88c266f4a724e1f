// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Objects by number, and references on them. */
#include "core/base/base.h"

struct qp *qp_find(const struct hca *hca, uint32_t qpn)
{
	uint32_t i = qpn - CORE_FIRST_QPN;

	return i < hca->cfg.max_qp ? hca->qp[i] : NULL;
}

struct cq *cq_find(const struct hca *hca, uint32_t cqn)
{
	return cqn && cqn <= hca->cfg.max_cq ? hca->cq[cqn] : NULL;
}

struct srq *srq_find(const struct hca *hca, uint32_t srqn)
{
	return srqn && srqn <= hca->cfg.max_srq ? hca->srq[srqn] : NULL;
}

void qp_get(struct qp *qp)
{
	qp->refs++;
}

void qp_put(struct hca *hca, struct qp *qp)
{
	if (--qp->refs)
		return;
	list_del(&qp->all);
	free(qp->rq.slots);
	free(qp->resp.saved);
	free(qp);
}
