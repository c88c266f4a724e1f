/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Special handling for a program under valgrind. Without valgrind each of these takes a few instructions. */
#ifndef HCASIM_PROCESS_PRELOAD_VALGRIND_H
#define HCASIM_PROCESS_PRELOAD_VALGRIND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

struct insn;

bool valgrind_runs(void);
/* The signal handler to install; `plain` without valgrind. */
typedef void valgrind_handler(int sig, siginfo_t *info, void *context);
valgrind_handler *valgrind_handler_of(valgrind_handler *plain);
/*
 * Checks, with the handler installed, that signal frames have the current registers at a store. 0, or
 * -ENOTSUP after a message that names valgrind's option.
 */
int valgrind_check(void);
/*
 * Corrects what differs in valgrind's signal frame from one of Linux, where `insn` (NULL: not decoded yet)
 * accesses memory.
 */
void valgrind_amend(ucontext_t *uc, const struct insn *insn);
/* True if the fault is the one that valgrind_check() made. */
bool valgrind_probed(const siginfo_t *info, ucontext_t *uc);
/* Tells memcheck not to report writes to [addr, addr + len), which is inaccessible. */
void valgrind_mapped(void *addr, size_t len);

#endif
