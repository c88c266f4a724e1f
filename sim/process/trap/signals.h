/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef HCASIM_PROCESS_SIGNALS_H
#define HCASIM_PROCESS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

/* Installs our SIGSEGV handler; to the application its own action still looks installed. 0 or -errno. */
int signals_install(void);
/* Makes the next SIGSEGV end the process. */
void signals_default(void);
/* Passes a fault that is not ours to the application's action. */
void signals_chain(int sig, siginfo_t *info, void *context);
/* trap.c: true if the fault was ours and was handled. */
bool trap_handle(siginfo_t *info, ucontext_t *uc);

#endif
