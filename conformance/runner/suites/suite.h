/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The suites outside the matrix test what a table of single requests cannot express. A scenario is a sequence of
 * actions; the cell's line has the requests that it posts, their numbers, and the expected status.
 */
#ifndef CONFORM_SUITES_SUITE_H
#define CONFORM_SUITES_SUITE_H

#include "execute/execute.h"
#include "suites/scenario.h"

void run_suite_cell(struct runner *r, const struct cell *cell, struct result *res);

/* The context of a scenario. */
struct kit {
	struct runner *r;
	const struct cell *cell;
	struct result *res;
	struct link *l;
	_Atomic unsigned int checks; /* so far; some scenarios have two threads */
	unsigned int wrong;          /* number of the check that is turned round; 0: none */
};

#endif
