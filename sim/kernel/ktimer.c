// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Timers of the stand-in, in simulated time: one alarm of the first adapter serves them all. */
#include "kernel/priv.h"

static void set_alarm(struct kernel *k)
{
	const struct ktimer *first = TAILQ_FIRST(&k->timers);

	kdev_ops(&k->dev[0])->set_alarm(&k->dev[0].drv, first ? first->at : HCA_PS_NEVER);
}

void ktimer_cancel(struct ktimer *t)
{
	struct kernel *k = t->k;
	bool first;

	if (!k)
		return;
	first = t == TAILQ_FIRST(&k->timers);
	TAILQ_REMOVE(&k->timers, t, link);
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
	struct ktimer *before;

	ktimer_cancel(t);
	t->k = k;
	t->at = k->cfg.now(k->cfg.now_arg) + delay;
	/* Most timers are set for later than all others. */
	TAILQ_FOREACH_REVERSE(before, &k->timers, ktimer_list, link)
	{
		if (before->at <= t->at)
			break;
	}
	if (before)
		TAILQ_INSERT_AFTER(&k->timers, before, t, link);
	else
		TAILQ_INSERT_HEAD(&k->timers, t, link);
	if (!before)
		set_alarm(k);
}

void ktimers_run(struct kernel *k)
{
	const hca_ps now = k->cfg.now(k->cfg.now_arg);
	struct ktimer *t;

	while ((t = TAILQ_FIRST(&k->timers)) && t->at <= now) {
		ktimer_cancel(t);
		t->fire(t);
	}
	set_alarm(k);
}
