// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What doorbells say of a send queue. */
#include "core/requester/sq.h"

/*
 * The producer index is 16 bits of a ring of at most 32768 basic blocks. One that lies outside the
 * ring, counted from the oldest slot still in use, is stale or nonsense.
 */
void sq_posted(struct sq *sq, uint16_t pi)
{
	uint16_t known = (uint16_t)(sq->pi - sq->retired), told = (uint16_t)(pi - sq->retired);

	if (told > known && told <= sq->c.ring.entries)
		sq->pi = pi;
}

/* The pushed bytes stand for the ring's if nothing posted before them is still to be fetched. */
static bool push_usable(const struct sq *sq, uint16_t index)
{
	return sq->c.state == HCASIM_QPS_RTS && !sq->fetching && sq->fetched == sq->pi &&
	       sq->fetched == index && sq->e->fetch_room;
}

void sq_pushed(struct sq *sq, uint16_t index, const void *wqe, uint32_t len)
{
	uint32_t bb = sq->e->cfg.pers->wqebb_size, n = (len + bb - 1) / bb;
	struct fetch *f = push_usable(sq, index) ? fetch_get(sq->e) : NULL;
	uint16_t pi = (uint16_t)(index + n);

	sq_posted(sq, pi);
	if (!f)
		return;
	if (sq->pi != pi) {
		fetch_put(sq->e, f);
		return;
	}
	memcpy(f->data, wqe, len);
	f->sq = sq;
	f->epoch = sq->epoch;
	f->index = index;
	f->num_bb = n;
	sq_get(sq);
	sq->e->fetch_room--;
	sq->fetching = true;
	sq->fetched = sq->pi;
	fetch_queue(sq->e, f);
}
