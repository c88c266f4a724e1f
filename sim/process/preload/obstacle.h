/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Programs into which no library can be preloaded, and which so do not see the simulated adapters. */
#ifndef HCASIM_PROCESS_PRELOAD_OBSTACLE_H
#define HCASIM_PROCESS_PRELOAD_OBSTACLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * False: the program at `path` can be preloaded if this process executes it (or it is not a program). True: `text` is
 * the reason, one sentence without newline. Exported for `hcasim run`.
 */
bool hcasim_obstacle(const char *path, char *text, size_t size);

#endif
