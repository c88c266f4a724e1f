/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Backtraces of the program's stores and calls, for the trace. */
#ifndef HCASIM_PROCESS_STACK_H
#define HCASIM_PROCESS_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "process/ring.h"

/* Before the first stack_of(), outside signal handlers: the unwinder is loaded. */
void stack_prepare(void);
bool stack_prepared(void);
/*
 * The number of the caller's backtrace in the ring's table, from 1 on; 0: there is none, or the table is full. `pc`: the
 * backtrace starts at this instruction of a signal frame; 0: at the caller. For the fault handler, too.
 */
uint16_t stack_of(struct ring *ring, uint64_t pc);

#endif
