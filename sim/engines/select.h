/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Send engines by name: the C engine, those of shared libraries, and two in lockstep. */
#ifndef HCASIM_ENGINES_SELECT_H
#define HCASIM_ENGINES_SELECT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct engine_ops;

struct engine_choice {
	/* "c"; the path of a shared library (core/engine.h, engine_plugin); or "lockstep:" and one of these */
	const char *name;
	const char *wave; /* for a lockstep pair: struct lockstep_config */
	/* For a lockstep pair: the first difference (struct lockstep_config). */
	void (*stop)(const char *report);
};

/*
 * The engine, for struct hca_config; it lives until the process ends. NULL: `err` is one sentence that names the
 * field and its value. One lockstep pair per process.
 */
const struct engine_ops *engine_select(const struct engine_choice *choice, char *err, size_t err_size);

#ifdef __cplusplus
}
#endif
#endif
