/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two send engines side by side as one. Every op goes to both. The first one's port calls are carried out and recorded
 * with their answers; the second one's must be the same, and get the recorded answers. What the ops return, and the
 * state of every QP after each op, must be the same too.
 */
#ifndef HCASIM_CORE_TESTS_PAIR_H
#define HCASIM_CORE_TESTS_PAIR_H

#include "core/engine.h"

extern const struct engine_ops pair_engine;
extern const struct engine_ops *pair_second; /* the second one of pairs created from here on */

struct pair_report {
	uint64_t ops, port_calls; /* compared */
	bool differs;
	char what[160]; /* the first difference */
};
extern struct pair_report pair_report; /* of all pairs since it was zeroed */

#endif
