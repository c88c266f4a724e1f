/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How long something may take that may never come. Seconds of a clock on the wall say little on a busy host,
 * where neither this process nor what it waits for may have had a processor meanwhile. So a wait spins, and is
 * over when it has used that much of a processor itself: schedulers are fair, and what it waits for had as much.
 */
#ifndef CONFORM_WATCHDOG_H
#define CONFORM_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

struct watchdog {
	uint64_t used, end; /* nanoseconds of this thread, and of the wall: before that no wait is over */
	uint64_t most;
};

struct watchdog watchdog(unsigned int ms);
/* To be asked again and again by the thread that began it, without a pause. */
bool watchdog_expired(const struct watchdog *p);
/* From now on waits are for a peer on another host, too, whose processors nobody counts: they last twice their time at most. */
void watchdog_remote(void);
/* A file descriptor can be read; 0 ms: now. */
bool watchdog_readable(int fd, unsigned int ms);
/* Whether any wait of this process has timed out since the last call. */
bool watchdog_lost(void);

#endif
