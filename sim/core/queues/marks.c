// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/queues/queues.h"

static void set(uint16_t *mark, uint16_t value)
{
	__atomic_store_n(mark, value, __ATOMIC_RELEASE);
}

void marks_clear(struct qp *qp)
{
	if (!qp->marks)
		return;
	set(&qp->marks->sq, 0);
	set(&qp->marks->rq, 0);
}

int hca_qp_marks(struct hca *hca, uint32_t qpn, struct hca_marks *marks)
{
	struct qp *qp = qp_find(hca, qpn);

	if (!qp)
		return -EINVAL;
	qp->marks = marks;
	hca->marks |= marks != NULL;
	marks_clear(qp);
	return 0;
}

void marks_note(struct hca *hca, struct dma_ctx *c, const struct hca_cpl *cpl)
{
	const struct qp *qp = hca->marks ? qp_find(hca, cpl->qpn) : NULL;
	const bool send = cpl->op == HCASIM_CQE_OP_REQ;

	c->mark.epoch = 0;
	if (!qp || !qp->marks)
		return;
	c->mark.qpn = qp->qpn;
	c->mark.epoch = qp->epoch;
	c->mark.send = send;
	c->mark.index = (uint16_t)(cpl->wqe_index + (send ? cpl->num_bb : 1));
}

void marks_set(struct hca *hca, const struct dma_ctx *c)
{
	const struct qp *qp = c->mark.epoch ? qp_find(hca, c->mark.qpn) : NULL;

	if (qp && qp->marks && qp->epoch == c->mark.epoch)
		set(c->mark.send ? &qp->marks->sq : &qp->marks->rq, c->mark.index);
}
