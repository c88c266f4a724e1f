// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Objects by number, and references on them. */
#include "core/base/base.h"

struct qp *qp_find(const struct hca *hca, uint32_t qpn)
{
	return numbers_find(&hca->qp, qpn);
}

struct cq *cq_find(const struct hca *hca, uint32_t cqn)
{
	return numbers_find(&hca->cq, cqn);
}

struct srq *srq_find(const struct hca *hca, uint32_t srqn)
{
	return numbers_find(&hca->srq, srqn);
}

void qp_get(struct qp *qp)
{
	qp->refs++;
}

void qp_put(struct hca *hca, struct qp *qp)
{
	if (--qp->refs)
		return;
	free(qp->rq.slots);
	free(qp->resp.saved);
	free(qp->rndv);
	free(qp);
}
