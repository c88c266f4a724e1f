/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Each adds its suite to the registry; false: it could not. */
#ifndef HCASIM_CONTAINERS_TESTS_SUITES_H
#define HCASIM_CONTAINERS_TESTS_SUITES_H

#include <stdbool.h>

bool add_bits(void);
bool add_heap(void);
bool add_numbers(void);
bool add_table(void);

#endif
