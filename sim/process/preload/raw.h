/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef HCASIM_PROCESS_RAW_H
#define HCASIM_PROCESS_RAW_H

/* System call without going through libc's functions; returns -1 and errno, like libc's syscall(). */
long raw_syscall(long number, ...) __attribute__((visibility("hidden")));

#endif
