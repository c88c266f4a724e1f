/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* For tests of counters: which ones have moved. */
#ifndef HCASIM_CORE_TESTS_COUNTED_H
#define HCASIM_CORE_TESTS_COUNTED_H

#include "fixture.h"

/* As pair_free(), and remembers which counters of the two adapters have moved. */
void counted_free(struct pair *p);

#endif
