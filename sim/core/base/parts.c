// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Change notification, to the host and to the parts of the adapter (struct parts). */
#include "core/base/base.h"

bool hca_stage_pending(const struct hca *hca, enum hca_stage stage, struct hca_work *work)
{
	struct hca_work none = {0};
	struct hca_work *w = work ? work : &none;

	*w = (struct hca_work){.items = 1};
	return hca->parts->stage[stage].pending(hca, w);
}

void hca_stage_step(struct hca *hca, enum hca_stage stage)
{
	hca->step_cycles = 0;
	if (hca->ops.saw_step)
		observe_step(hca, stage);
	else
		hca->parts->stage[stage].step(hca);
	hca_announce(hca);
}

void hca_announce(struct hca *hca)
{
	uint32_t now, fresh;
	hca_ps first = timer_first(hca);

	if (hca->dying)
		return;
	now = hca->parts->pending(hca);
	fresh = now & ~hca->was_pending;
	hca->was_pending = now;
	for (; fresh; fresh &= fresh - 1)
		if (hca->ops.stage_ready)
			hca->ops.stage_ready(hca->host, (enum hca_stage)__builtin_ctz(fresh));
	if (first != hca->told_deadline) {
		hca->told_deadline = first;
		if (hca->ops.timer)
			hca->ops.timer(hca->host, first);
	}
}

void hca_changed(struct hca *hca, enum hca_context what, uint32_t number)
{
	if (hca->ops.changed && !hca->dying)
		hca->ops.changed(hca->host, what, number);
}

/* Retires finished WQEs, and queues the QP for the stages it has work for. */
void qp_update(struct hca *hca, struct qp *qp)
{
	if (qp->dead)
		return;
	hca->parts->changed(hca, qp);
	if (hca->ops.saw_stall)
		observe_qp(hca, qp);
}

/* ERR (IBTA 10.3.1.6): sends and receives nothing any more; both queues are flushed. */
void qp_error(struct hca *hca, struct qp *qp)
{
	if (qp->a.state == HCASIM_QPS_ERR || qp->a.state == HCASIM_QPS_RESET)
		return;
	qp->a.state = HCASIM_QPS_ERR;
	hca->parts->failed(hca, qp);
}
