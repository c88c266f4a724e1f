/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "patience.h"

#define COURTESY 20000000 /* nanoseconds from its beginning, in which a wait makes room for others */

static atomic_bool in_vain;
static bool remote;

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

struct patience patience(unsigned int ms)
{
	uint64_t most = ms * 1000000ull;

	return (struct patience){now(CLOCK_THREAD_CPUTIME_ID), now(CLOCK_MONOTONIC) + most, most};
}

bool patience_over(const struct patience *p)
{
	uint64_t wall = now(CLOCK_MONOTONIC);

	/* what is awaited needs a processor, too; a wait that lasts goes on by its own time, which this does not use */
	if (wall < p->end - p->most + COURTESY)
		sched_yield();
	/* a thread has never used more than has gone by: the clock that needs no system call is asked first */
	if (wall < p->end)
		return false;
	if (now(CLOCK_THREAD_CPUTIME_ID) - p->used < p->most && !(remote && wall >= p->end + p->most))
		return false;
	atomic_store(&in_vain, true);
	return true;
}

void patience_remote(void)
{
	remote = true;
}

bool patience_readable(int fd, unsigned int ms)
{
	struct patience p = patience(ms);
	struct pollfd wanted = {.fd = fd, .events = POLLIN};

	while (poll(&wanted, 1, 0) != 1)
		if (!ms || patience_over(&p))
			return false;
	return true;
}

bool patience_lost(void)
{
	return atomic_exchange(&in_vain, false);
}
