/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef HCASIM_PROCESS_GUARDIAN_H
#define HCASIM_PROCESS_GUARDIAN_H

#include "devices/driver.h"
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

/* Listens on `fd` until the device process `child` has ended; cleans up if a signal ended
 * it. A device process that hangs when a signal or the end of `launcher` (-1: none) tells it to end, so
 * that `steps` is not counted on, is killed. Returns what the guardian exits with. */
int guardian_run(const struct drv_ops *ops, int fd, int launcher, pid_t child, const _Atomic uint64_t *steps);

#endif
