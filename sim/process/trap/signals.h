/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef HCASIM_PROCESS_SIGNALS_H
#define HCASIM_PROCESS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

/* Our SIGSEGV handler is in place from now on; the application's stays what it believes it is.
 * 0 or -errno. */
int signals_install(void);
/* The next SIGSEGV ends the process. */
void signals_default(void);
/* A fault that is not ours: what the application installed. */
void signals_chain(int sig, siginfo_t *info, void *context);
/* trap.c: true if the fault was ours and is dealt with. */
bool trap_handle(siginfo_t *info, ucontext_t *uc);

#endif
