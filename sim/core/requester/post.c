// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Doorbells of a send queue. */
#include "core/requester/sq.h"

/*
 * The producer index is 16 bits for a ring of at most 32768 basic blocks. Ignore an index outside the ring, counted
 * from the oldest slot in use: it is stale or invalid.
 */
void sq_posted(struct sq *sq, uint16_t pi)
{
	uint16_t known = (uint16_t)(sq->pi - sq->retired), posted = (uint16_t)(pi - sq->retired);

	if (posted > known && posted <= sq->c.ring.entries)
		sq->pi = pi;
}

/* The pushed bytes replace a read of the ring if that could begin and everything posted before has been fetched. */
static bool push_usable(const struct sq *sq, uint16_t index)
{
	return sq->c.state == HCASIM_QPS_RTS && sq->fetched == sq->pi && sq->fetched == index &&
	       sq_may_read(sq) && sq->e->fetch_room;
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
	fetch_begin(sq, f, n);
	fetch_arrived(sq, f);
}
