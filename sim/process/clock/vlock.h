/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Locks on the virtual clock (threads/locks.c): a thread that finds one taken waits here. Each release lets one thread try
 * again, the one that has waited longest. A program can release locks in ways that are not seen here (a condition
 * variable's wait does), so all try again when a thread has fallen asleep or has ended, or nothing else happens.
 */
#ifndef HCASIM_PROCESS_VLOCK_H
#define HCASIM_PROCESS_VLOCK_H

#include "process/clock/vthread.h"

/* The first entry of `t`, which is due, is an OP_LOCK: it waits, or tries again. */
void vlock_wait(struct server *s, struct vthread *t);
/* It is an OP_UNLOCK, and becomes an OP_TURN: `t` goes on after the thread that tries again now. */
void vlock_release(struct server *s, struct vthread *t);
/* All that wait may try again. False: none does. */
bool vlock_retry(struct server *s);

#endif
