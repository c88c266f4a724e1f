/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "judge/watchdog.h"

#define COURTESY 20000000 /* nanoseconds after its start during which a wait yields the processor */

static atomic_bool expired_once;
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

	/* the awaited process needs a processor, too; a longer wait must use its own time, which yielding does not */
	if (wall < p->end - p->most + COURTESY)
		sched_yield();
	/* a thread cannot use more time than has elapsed: read the clock that needs no system call first */
	if (wall < p->end)
		return false;
	if (now(CLOCK_THREAD_CPUTIME_ID) - p->used < p->most && !(remote_peer && wall >= p->end + p->most))
		return false;
	atomic_store(&expired_once, true);
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
	return atomic_exchange(&expired_once, false);
}
