// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The WQEs that the second engine says have retired, against what the first one has done: each WQE once, in the order of the
 * ring, with the result of its completion.
 */
#include <hcasim_core.h>

#include "engines/lockstep_impl.h"

static struct lockstep_qp *find(struct engine *e, uint32_t qpn)
{
	unsigned int i;

	for (i = 0; i < e->num_qps; i++)
		if (e->qp[i].qpn == qpn)
			return &e->qp[i];
	return NULL;
}

void lockstep_completes(struct engine *e, uint32_t qpn)
{
	e->completes = e->ops[0]->completion(e->engine[0], qpn, &e->completed);
}

#define SAME(field, expected)                                                                                \
	do {                                                                                                 \
		if (!e->differs && r->field != (expected))                                                   \
			lockstep_difference(e, "retired: %s is %u, expected %u", #field,                     \
					    (unsigned int)r->field, (unsigned int)(expected));               \
	} while (0)

/* The WQE whose completion was taken is the first one that the op retires; those behind it have no completion. */
static void compare(struct engine *e, const struct engine_retired *r, const struct lockstep_qp *qp)
{
	const struct engine_completion c =
		e->completes ? e->completed : (struct engine_completion){r->wqe_op,
									 r->num_bb,
									 HCASIM_CQE_STATUS_OK,
									 HCASIM_VENDOR_ERR_NONE,
									 qp->retired,
									 0,
									 0};

	SAME(index, qp->retired);
	SAME(index, c.wqe_index);
	SAME(wqe_op, c.wqe_op);
	SAME(num_bb, c.num_bb);
	SAME(status, c.status);
	SAME(vendor_err, c.vendor_err);
	if (!e->differs && (r->fetched > r->completed || (r->issued && r->issued < r->fetched)))
		lockstep_difference(e, "retired: fetched in cycle %llu, issued in %llu, completed in %llu",
				    (unsigned long long)r->fetched, (unsigned long long)r->issued,
				    (unsigned long long)r->completed);
	e->completes = false;
}

void lockstep_retired(struct engine *e, const struct engine_retired *r)
{
	struct lockstep_qp *qp = find(e, r->qpn);

	if (e->differs)
		return;
	e->op_qpn = r->qpn;
	if (!qp) {
		lockstep_difference(e, "retired: there is no QP %u", r->qpn);
		return;
	}
	if (r->order != e->num_retired)
		lockstep_difference(e, "retired: order is %llu, expected %llu", (unsigned long long)r->order,
				    (unsigned long long)e->num_retired);
	e->num_retired++;
	compare(e, r, qp);
	qp->retired = (uint16_t)(r->index + r->num_bb);
}

/* An engine that never reports one has no retire trace. */
void lockstep_compare_retired(struct engine *e)
{
	const struct lockstep_qp *qp = e->num_retired ? find(e, e->op_qpn) : NULL;
	struct engine_state s;

	if (e->differs || !qp)
		return;
	e->ops[0]->state(e->engine[0], qp->qpn, &s);
	if (s.retired != qp->retired)
		lockstep_difference(e, "retired: QP %u is at index %u, %s reported up to %u", qp->qpn,
				    s.retired, lockstep_second_name(e), qp->retired);
}

void lockstep_forget_retired(struct engine *e, uint32_t qpn)
{
	struct lockstep_qp *qp = find(e, qpn);

	if (qp)
		qp->retired = 0;
}
