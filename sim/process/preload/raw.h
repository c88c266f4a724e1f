/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef HCASIM_PROCESS_RAW_H
#define HCASIM_PROCESS_RAW_H

/* Straight to the kernel, and otherwise as libc's syscall(): -1 and errno. */
long raw_syscall(long number, ...) __attribute__((visibility("hidden")));

#endif
