// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Deadlines: a binary heap of timers, which are members of their owners. */
#include "core/base/base.h"

static void place(struct hca *hca, uint32_t pos, struct timer *t)
{
	hca->heap[pos - 1] = t;
	t->pos = pos;
}

static void sift_up(struct hca *hca, uint32_t pos, struct timer *t)
{
	while (pos > 1 && hca->heap[pos / 2 - 1]->deadline > t->deadline) {
		place(hca, pos, hca->heap[pos / 2 - 1]);
		pos /= 2;
	}
	place(hca, pos, t);
}

static void sift_down(struct hca *hca, uint32_t pos, struct timer *t)
{
	for (;;) {
		uint32_t kid = pos * 2;

		if (kid > hca->heap_count)
			break;
		if (kid < hca->heap_count && hca->heap[kid]->deadline < hca->heap[kid - 1]->deadline)
			kid++;
		if (hca->heap[kid - 1]->deadline >= t->deadline)
			break;
		place(hca, pos, hca->heap[kid - 1]);
		pos = kid;
	}
	place(hca, pos, t);
}

void timer_set(struct hca *hca, struct timer *t, hca_ps deadline)
{
	if (hca->dying)
		return;
	timer_cancel(hca, t);
	if (hca->heap_count == hca->heap_cap) {
		uint32_t cap = hca->heap_cap * 2;
		struct timer **heap = realloc(hca->heap, cap * sizeof(*heap));

		if (!heap)
			return; /* without memory the timeout is lost */
		hca->heap = heap;
		hca->heap_cap = cap;
	}
	t->deadline = deadline;
	sift_up(hca, ++hca->heap_count, t);
}

void timer_cancel(struct hca *hca, struct timer *t)
{
	uint32_t pos = t->pos;
	struct timer *last;

	if (!pos)
		return;
	t->pos = 0;
	last = hca->heap[--hca->heap_count];
	if (last == t)
		return;
	if (pos > 1 && hca->heap[pos / 2 - 1]->deadline > last->deadline)
		sift_up(hca, pos, last);
	else
		sift_down(hca, pos, last);
}

hca_ps timer_first(const struct hca *hca)
{
	return hca->heap_count ? hca->heap[0]->deadline : HCA_PS_NEVER;
}

/* A timer that is set for a time in the past meanwhile waits for the next call. */
void timer_run(struct hca *hca)
{
	hca_ps now = hca_now(hca);
	uint32_t budget = hca->heap_count;

	while (budget-- && timer_first(hca) <= now) {
		struct timer *t = hca->heap[0];

		timer_cancel(hca, t);
		t->fire(hca, t);
	}
}
