// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Deadlines: a heap of timers, which are members of their owners. */
#include "core/base/base.h"

void timer_set(struct hca *hca, struct timer *t, hca_ps deadline)
{
	if (hca->dying)
		return;
	timer_cancel(hca, t);
	(void)heap_add(&hca->timers, &t->at, deadline); /* without memory the timeout is lost */
}

void timer_cancel(struct hca *hca, struct timer *t)
{
	heap_remove(&hca->timers, &t->at);
}

hca_ps timer_first(const struct hca *hca)
{
	const struct heap_node *first = heap_first(&hca->timers);

	return first ? first->key : HCA_PS_NEVER;
}

/* A timer that is set for a time in the past meanwhile waits for the next call. */
void timer_run(struct hca *hca)
{
	hca_ps now = hca_now(hca);
	uint32_t budget = hca->timers.count;

	while (budget-- && timer_first(hca) <= now) {
		struct timer *t = heap_entry(heap_first(&hca->timers), struct timer, at);

		timer_cancel(hca, t);
		t->fire(hca, t);
	}
}
