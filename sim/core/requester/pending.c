// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tags of operations that are pending outside the engine. A tag is reused after its last use by the core. */
#include "core/requester/sq.h"

static bool more(struct engine *e)
{
	uint32_t i, n = e->num_pending ? 2 * e->num_pending : 64;
	struct pending *p = realloc(e->pending, n * sizeof(*p));

	if (!p)
		return false;
	memset(p + e->num_pending, 0, (n - e->num_pending) * sizeof(*p));
	for (i = e->num_pending; i < n; i++)
		p[i].next_free = i + 1 < n ? i + 1 : NO_TAG;
	e->free_pending = e->num_pending;
	e->pending = p;
	e->num_pending = n;
	return true;
}

uint32_t pending_new(struct sq *sq, enum pending_kind kind, struct wqe *w)
{
	struct engine *e = sq->e;
	uint32_t tag = e->free_pending;

	if (tag == NO_TAG) {
		if (!more(e))
			return NO_TAG;
		tag = e->free_pending;
	}
	e->free_pending = e->pending[tag].next_free;
	e->pending[tag] = (struct pending){.kind = kind, .sq = sq, .epoch = sq->epoch, .wqe = w};
	sq_get(sq);
	if (w)
		w->refs++;
	return tag;
}

struct pending *pending_of(struct engine *e, uint32_t tag)
{
	return &e->pending[tag];
}

void pending_end(struct engine *e, uint32_t tag)
{
	struct pending *p = &e->pending[tag];

	if (p->wqe)
		wqe_put(e, p->wqe);
	sq_put(p->sq);
	*p = (struct pending){.next_free = e->free_pending};
	e->free_pending = tag;
}

bool pending_fresh(const struct pending *p)
{
	return !p->sq->dead && p->sq->epoch == p->epoch;
}

void sq_get(struct sq *sq)
{
	sq->refs++;
}

void sq_put(struct sq *sq)
{
	if (!--sq->refs)
		free(sq);
}
