/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef HCASIM_PROCESS_GUARDIAN_H
#define HCASIM_PROCESS_GUARDIAN_H

#include "devices/driver.h"
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads from `fd` until the device process `child` has ended; cleans up if a signal ended it. Kills a device process
 * whose `with->steps` does not increase after a signal or the end of `launcher` (-1: none) has asked it to end. Returns the
 * guardian's exit status.
 */
struct crash_shared;
int guardian_run(int fd, int launcher, pid_t child, const struct crash_shared *with);

#endif
