// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Deadlines: a heap of timers that live inside their owners. */
#include "core/base/base.h"

void timer_set(struct hca *hca, struct timer *t, hca_ps deadline)
{
	if (hca->dying)
		return;
	timer_cancel(hca, t);
	/* Without memory the timeout is lost, as the packet it stands for might be. */
	(void)heap_add(&hca->timers, &t->at, deadline);
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

/* One that is set again while this runs for a time that has passed already waits for the next call. */
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
