/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Executes one cell and judges what was seen. */
#ifndef CONFORM_RUN_H
#define CONFORM_RUN_H

#include "link.h"

struct result {
	struct verdict verdict;
	struct log log;
	char seen[512]; /* what happened, in words */
	int err;        /* errno of a refusal, 0: none */
};

struct runner {
	struct dut dut;
	struct link link; /* of the last cell, if it is still good */
	uint32_t run_seed;
	uint32_t seed; /* of the cell */
};

void run_cell(struct runner *r, const struct cell *cell, struct result *res);

/* Parts that the APIs share. */
void seen(struct result *res, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void run_recv_cell(struct runner *r, const struct cell *cell, struct result *res);
void run_suite_cell(struct runner *r, const struct cell *cell, struct result *res);
void run_writev_cell(struct runner *r, const struct cell *cell, struct result *res);

#endif
