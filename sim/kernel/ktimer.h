/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Timers of the stand-in, in simulated time. */
#ifndef HCASIM_KERNEL_KTIMER_H
#define HCASIM_KERNEL_KTIMER_H

#include <sys/queue.h>

#include "kernel/kernel.h"

#define MS_PS 1000000000ull

struct ktimer {
	TAILQ_ENTRY(ktimer) link;
	struct kernel *k; /* NULL: not set */
	hca_ps at;
	void (*fire)(struct ktimer *t);
};
TAILQ_HEAD(ktimer_list, ktimer);

void ktimer_set(struct kernel *k, struct ktimer *t, hca_ps delay);
void ktimer_set_ms(struct kernel *k, struct ktimer *t, uint64_t ms);
void ktimer_cancel(struct ktimer *t);
/* Fires what is due. */
void ktimers_run(struct kernel *k);

#endif
