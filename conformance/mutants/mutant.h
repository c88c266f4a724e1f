/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Included first by the copies of source files that hcasim_conform/mutants/plant.py makes, and by nothing else: the
 * environment variable HCASIM_MUTANT names the one active fault.
 */
#ifndef HCASIM_MUTANT_H
#define HCASIM_MUTANT_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool mutant_is(const char *id)
{
	const char *chosen = getenv("HCASIM_MUTANT");

	return chosen && !strcmp(chosen, id);
}

/* Evaluated once at each place, since the places are in the packet and doorbell paths. */
#define MUTANT_ON(id)                                                                                        \
	(__extension__({                                                                                     \
		static signed char on_;                                                                      \
		if (!on_)                                                                                    \
			on_ = mutant_is(id) ? 1 : -1;                                                        \
		on_ > 0;                                                                                     \
	}))

#endif
