/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The C engine, but one of its port calls, or one answer of an op, is altered. */
#ifndef HCASIM_CORE_TESTS_ALTERED_H
#define HCASIM_CORE_TESTS_ALTERED_H

#include "core/engine.h"

const struct engine_ops *altered_engine(void);
/* Names of the ports, then of the ops that answer, as the lockstep engine reports them; NULL ends the list. */
extern const char *const altered_places[];
extern const char *altered_place; /* from here on, until it was; NULL: nothing is altered */

#endif
