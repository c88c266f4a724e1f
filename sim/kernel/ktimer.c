// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Timers of the simulated kernel, in simulated time. All of them use one alarm of the first adapter. */
#include "kernel/priv.h"

static void set_alarm(struct kernel *k)
{
	const struct heap_node *first = heap_first(&k->timers);

	kdev_ops(&k->dev[0])->set_alarm(&k->dev[0].drv, first ? first->key : HCA_PS_NEVER);
}

void ktimer_cancel(struct ktimer *t)
{
	struct kernel *k = t->k;
	bool first;

	if (!k)
		return;
	first = heap_first(&k->timers) == &t->at;
	heap_remove(&k->timers, &t->at);
	t->k = NULL;
	if (first)
		set_alarm(k);
}

void ktimer_set_ms(struct kernel *k, struct ktimer *t, uint64_t ms)
{
	ktimer_set(k, t, ms * MS_PS);
}

void ktimer_set(struct kernel *k, struct ktimer *t, hca_ps delay)
{
	ktimer_cancel(t);
	/* Out of memory: the timer does not fire, as if the datagram it waits for were lost. */
	if (!heap_add(&k->timers, &t->at, k->cfg.now(k->cfg.now_arg) + delay))
		return;
	t->k = k;
	if (heap_first(&k->timers) == &t->at)
		set_alarm(k);
}

void ktimers_run(struct kernel *k)
{
	const hca_ps now = k->cfg.now(k->cfg.now_arg);
	struct heap_node *first;

	while ((first = heap_first(&k->timers)) && first->key <= now) {
		struct ktimer *t = heap_entry(first, struct ktimer, at);

		ktimer_cancel(t);
		t->fire(t);
	}
	set_alarm(k);
}
