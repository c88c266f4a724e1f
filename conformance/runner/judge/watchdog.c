/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "judge/watchdog.h"

#define COURTESY 20000000 /* nanoseconds from its beginning, in which a wait makes room for others */

static atomic_bool in_vain;
static bool remote_peer;

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

struct watchdog watchdog(unsigned int ms)
{
	uint64_t most = ms * 1000000ull;

	return (struct watchdog){now(CLOCK_THREAD_CPUTIME_ID), now(CLOCK_MONOTONIC) + most, most};
}

bool watchdog_expired(const struct watchdog *p)
{
	uint64_t wall = now(CLOCK_MONOTONIC);

	/* what is awaited needs a processor, too; a wait that lasts goes on by its own time, which this does not use */
	if (wall < p->end - p->most + COURTESY)
		sched_yield();
	/* a thread has never used more than has gone by: the clock that needs no system call is asked first */
	if (wall < p->end)
		return false;
	if (now(CLOCK_THREAD_CPUTIME_ID) - p->used < p->most && !(remote_peer && wall >= p->end + p->most))
		return false;
	atomic_store(&in_vain, true);
	return true;
}

void watchdog_remote(void)
{
	remote_peer = true;
}

bool watchdog_readable(int fd, unsigned int ms)
{
	struct watchdog p = watchdog(ms);
	struct pollfd wanted = {.fd = fd, .events = POLLIN};

	while (poll(&wanted, 1, 0) != 1)
		if (!ms || watchdog_expired(&p))
			return false;
	return true;
}

bool watchdog_lost(void)
{
	return atomic_exchange(&in_vain, false);
}
