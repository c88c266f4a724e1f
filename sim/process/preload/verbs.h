/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Programs linked to their own libibverbs, which LD_LIBRARY_PATH must not replace. */
#ifndef HCASIM_PROCESS_PRELOAD_VERBS_H
#define HCASIM_PROCESS_PRELOAD_VERBS_H

#include <stdbool.h>

/*
 * Whether a folder of DT_RUNPATH or DT_RPATH of the program at `path` has a libibverbs. Uses only system calls and
 * the stack. Exported for `hcasim run`.
 */
bool hcasim_brings_verbs(const char *path);

#endif
