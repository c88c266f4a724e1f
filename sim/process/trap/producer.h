/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The application's end of the ring. For the fault handler, too: only system calls, atomics and thread-local memory.
 */
#ifndef HCASIM_PROCESS_PRODUCER_H
#define HCASIM_PROCESS_PRODUCER_H

#include "process/ring.h"

/*
 * Waits for room: a full queue of posted writes makes a processor wait, too. False: the device process is gone. What was
 * put is seen after producer_kick().
 */
bool producer_put(struct ring *ring, const struct ring_op *op);
void producer_kick(struct ring *ring);

/* A slot for an answer, waiting for a free one; its number is `index`. NULL: the device process is gone. */
struct ring_reply *producer_take_reply(struct ring *ring, unsigned int *index);
/* False: the device process is gone; the slot stays taken and is not used again. */
bool producer_await(struct ring_reply *reply);
void producer_free_reply(struct ring_reply *reply);

/* The calling thread's identifier on the virtual clock; 0 otherwise. */
uint32_t producer_tid(void);
/*
 * Virtual clock: puts an entry that has no data but `about`, its offset, and waits until it is answered. False: this
 * process has no ring on a virtual clock. Keeps errno.
 */
bool producer_ask(enum ring_kind kind, uint64_t about);

#endif
