/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two send engines side by side as one. Every op goes to both. The port calls of the first are executed and recorded
 * with their results; those of the second must be the same calls with the same arguments in the same order, and get
 * the recorded results. The results of the ops, and the state of the QPs after each op, must be the same, too.
 */
#ifndef HCASIM_ENGINES_LOCKSTEP_H
#define HCASIM_ENGINES_LOCKSTEP_H

#include "core/engine.h"

struct lockstep_config { /* of the pairs that are created from here on */
	const struct engine_ops *first, *second;
	/*
	 * Called at the first difference, inside the op, with a report of several lines whose last one is
	 * lockstep_report.what. If it returns, or is NULL, the first engine continues alone.
	 */
	void (*stop)(const char *report);
	/* File for a waveform of the second engine, if it can write one (engine_ops.wave); NULL: none. */
	const char *wave;
	uint32_t wave_cycles; /* that it has at least */
};
extern struct lockstep_config lockstep_config; /* two C engines, unless set */
extern const struct engine_ops lockstep_engine;

struct lockstep_report {
	uint64_t ops, port_calls; /* compared */
	bool differs;
	char what[320]; /* the first difference: op, port, field, and both values */
};
extern struct lockstep_report lockstep_report; /* of all pairs since it was zeroed */

#endif
