/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Programs linked to their own libibverbs, which LD_LIBRARY_PATH must not replace; providers. */
#ifndef HCASIM_PROCESS_PRELOAD_VERBS_H
#define HCASIM_PROCESS_PRELOAD_VERBS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether a folder of DT_RUNPATH or DT_RPATH of the program at `path` has a libibverbs. Uses only system calls and
 * the stack. Exported for `hcasim run`.
 */
bool hcasim_brings_verbs(const char *path);

/* The folder, of PATH_MAX bytes, of the libibverbs to which a function belongs; false: it is not known. */
bool verbs_folder(const void *function, char *folder);

/*
 * A file of a provider that belongs to the libibverbs of `folder`, or is hcasim's own: the one that is loaded, if any;
 * false: there is none.
 */
bool verbs_provider(const char *folder, const char *name, char *file, size_t size, bool *loaded);

#endif
