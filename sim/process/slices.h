/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef HCASIM_PROCESS_SLICES_H
#define HCASIM_PROCESS_SLICES_H

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 100000 /* the shortest that the scheduler accepts */

/*
 * With short slices the scheduler runs the calling thread, and those that it creates, soon after a wake-up, but not for
 * long (EEVDF, Linux 6.12; no effect without it).
 */
static inline void short_slices(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {.size = sizeof(attr), .nice = getpriority(PRIO_PROCESS, 0), .runtime = SLICE_NS};

	if (sched_getscheduler(0) == SCHED_OTHER)
		syscall(SYS_sched_setattr, 0, &attr, 0);
}

#endif
