/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Timers of the simulated kernel, in simulated time. */
#ifndef HCASIM_KERNEL_KTIMER_H
#define HCASIM_KERNEL_KTIMER_H

#include "containers/heap.h"
#include "kernel/kernel.h"

#define MS_PS 1000000000ull

struct ktimer {
	struct heap_node at; /* ordered by expiry time */
	struct kernel *k;    /* NULL: not set */
	void (*fire)(struct ktimer *t);
};

void ktimer_set(struct kernel *k, struct ktimer *t, hca_ps delay);
void ktimer_set_ms(struct kernel *k, struct ktimer *t, uint64_t ms);
void ktimer_cancel(struct ktimer *t);
/* Fires the timers that are due. */
void ktimers_run(struct kernel *k);

#endif
