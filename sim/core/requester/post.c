// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What doorbells say of a send queue. */
#include "core/requester/requester.h"

/*
 * The producer index is 16 bits of a ring of at most 32768 basic blocks. One that lies outside the
 * ring, counted from the oldest slot still in use, is stale or nonsense.
 */
void sq_posted(struct qp *qp, uint16_t pi)
{
	uint16_t known = (uint16_t)(qp->sq.pi - qp->sq.retired), told = (uint16_t)(pi - qp->sq.retired);

	if (told > known && told <= qp->sq.ring.entries)
		qp->sq.pi = pi;
}

/* The pushed bytes stand for the ring's if nothing posted before them is still to be fetched. */
static bool push_usable(const struct hca *hca, const struct qp *qp, uint16_t index)
{
	return qp->a.state == HCASIM_QPS_RTS && !qp->sq.fetching && qp->sq.fetched == qp->sq.pi &&
	       qp->sq.fetched == index && hca->fetch_room;
}

void sq_pushed(struct hca *hca, struct qp *qp, uint16_t index, uint32_t len, struct fetch **push)
{
	uint32_t bb = hca->pers->wqebb_size, n = (len + bb - 1) / bb;
	bool usable = *push && push_usable(hca, qp, index);
	uint16_t pi = (uint16_t)(index + n);
	struct fetch *f = *push;

	sq_posted(qp, pi);
	if (!usable || qp->sq.pi != pi)
		return;
	*push = NULL;
	f->qp = qp;
	f->epoch = qp->epoch;
	f->index = index;
	f->num_bb = n;
	qp_get(qp);
	hca->fetch_room--;
	qp->sq.fetching = true;
	qp->sq.fetched = qp->sq.pi;
	fetch_queue(hca, f);
}
