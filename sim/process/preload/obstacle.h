/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Programs that no preload library gets into, and so never see the simulated adapters. */
#ifndef HCASIM_PROCESS_PRELOAD_OBSTACLE_H
#define HCASIM_PROCESS_PRELOAD_OBSTACLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * False: nothing stands in the way of the program at `path` if this process executes it (or it is no program). True:
 * `text` is one sentence, without newline, that says what does. Exported: `hcasim run` asks, too.
 */
bool hcasim_obstacle(const char *path, char *text, size_t size);

#endif
