// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The simulated machine has MACHINE_CPUS CPUs, and each thread that accesses a BAR is on one of its own, the lowest
 * that is free, until its application ends or another thread gets its number (trap/thread.c). If there are more
 * threads than CPUs, they share.
 */
#include "process/device/server.h"

static unsigned int least_used(const struct server *s)
{
	unsigned int best = 0;

	for (unsigned int cpu = 1; cpu < MACHINE_CPUS && s->cpu_users[best]; cpu++)
		if (s->cpu_users[cpu] < s->cpu_users[best])
			best = cpu;
	return best;
}

unsigned int cpu_of(struct server *s, struct shared_ring *ring, unsigned int thread)
{
	uint16_t *cpu = &ring->cpu[thread % RING_THREADS]; /* the number is the application's */

	if (!*cpu) {
		*cpu = (uint16_t)(least_used(s) + 1);
		s->cpu_users[*cpu - 1]++;
	}
	return *cpu - 1u;
}

void cpus_release(struct server *s, struct shared_ring *ring)
{
	for (unsigned int i = 0; i < RING_THREADS; i++)
		if (ring->cpu[i])
			s->cpu_users[ring->cpu[i] - 1]--;
}
