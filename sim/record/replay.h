/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A machine without kernel, process and application, which does again what a record says. */
#ifndef HCASIM_RECORD_REPLAY_H
#define HCASIM_RECORD_REPLAY_H

#include "record/stream.h"

struct engine_ops;

/*
 * Issues the calls of the record, answers what the machine reads, and compares everything that it does. At the first
 * difference, prints it on stderr and ends the process with EXIT_FAILURE. False: one sentence in `err`, the record
 * cannot be replayed. Otherwise *events is the number of its events.
 */
bool replay(const char *path, const struct engine_ops *engine, uint64_t *events, char *err, size_t err_size);

#endif
