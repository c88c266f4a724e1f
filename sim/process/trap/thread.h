/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The numbers of the application's threads, for the device process: a thread runs on a CPU of its own. */
#ifndef HCASIM_PROCESS_THREAD_H
#define HCASIM_PROCESS_THREAD_H

#include "process/ring.h"

/*
 * The number of the calling thread, below RING_THREADS: the lowest that no living thread of the process has when the
 * thread comes first. If all are taken, several threads share one. For the fault handler.
 */
uint16_t thread_number(struct ring *ring);
/* The calling thread ends: another may have its number. */
void thread_number_free(void);

#endif
