/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef HCASIM_PROCESS_LOCKS_H
#define HCASIM_PROCESS_LOCKS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Threads that wait for what is at `lock`, or are about to, and for others that share the counter. */
_Atomic unsigned int *lock_waiters(const void *lock) __attribute__((visibility("hidden")));
/*
 * Around the release of `lock`: if any wait, one of them goes on first. Some may be awake, and not wait any more when
 * lock_released() is called, so `awaited` is what lock_awaited() said before the release.
 */
bool lock_awaited(const void *lock) __attribute__((visibility("hidden")));
void lock_released(const void *lock, bool awaited) __attribute__((visibility("hidden")));

#endif
