/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Time limits for events that may never come. Elapsed time is no measure on a busy host, where neither this process nor
 * the one it waits for may have had a processor. So a wait spins, and expires when it has used that much processor time
 * itself: schedulers are fair, so the awaited process had as much.
 */
#ifndef CONFORM_WATCHDOG_H
#define CONFORM_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

struct watchdog {
	uint64_t used, end; /* nanoseconds: thread time at the start; elapsed time of the earliest expiry */
	uint64_t most;
};

struct watchdog watchdog(unsigned int ms);
/* To be polled without a pause by the thread that created it. */
bool watchdog_expired(const struct watchdog *p);
/* For a peer on another host, whose processor time is unknown: waits expire after twice their limit in elapsed time. */
void watchdog_remote(void);
/* Waits until a file descriptor can be read; 0 ms: does not wait. */
bool watchdog_readable(int fd, unsigned int ms);
/* Whether any wait of this process has timed out since the last call. */
bool watchdog_lost(void);

#endif
