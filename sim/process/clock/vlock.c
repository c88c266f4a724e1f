// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "process/clock/vlock.h"

static void try_again(struct server *s, struct vthread *t)
{
	t->retry = false;
	vthread_answer(s, t);
}

void vlock_wait(struct server *s, struct vthread *t)
{
	const uint64_t lock = vthread_head(t)->ring.offset;

	if (t->retry) {
		try_again(s, t);
		return;
	}
	/* One that found the lock taken again keeps its place. */
	if (t->lock != lock)
		t->arrival = ++s->arrivals;
	t->lock = lock;
	t->state = LOCKED_OUT;
}

static bool waits_for(const struct vthread *t, const struct conn *c, uint64_t lock)
{
	return t->conn == c && t->num && (t->state == LOCKED_OUT || t->state == STOPS) &&
	       vthread_head(t)->kind == OP_LOCK && vthread_head(t)->ring.offset == lock;
}

/* Those that are due at this moment, but have not arrived, come last. */
static uint64_t place(const struct vthread *t)
{
	return t->lock == vthread_head(t)->ring.offset ? t->arrival : UINT64_MAX;
}

void vlock_release(struct server *s, struct vthread *t)
{
	const uint64_t lock = vthread_head(t)->ring.offset;
	struct vthread *other, *first = NULL;

	vthread_head(t)->kind = OP_TURN;
	LIST_FOREACH(other, &s->threads, link)
	if (waits_for(other, t->conn, lock) && (!first || place(other) < place(first)))
		first = other;
	if (first)
		try_again(s, first);
}

bool vlock_retry(struct server *s)
{
	struct vthread *t;
	bool any = false;

	LIST_FOREACH(t, &s->threads, link)
	if (t->state == LOCKED_OUT) {
		t->state = STOPS;
		t->retry = true;
		any = true;
	}
	return any;
}
