/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Executes cells on a link and judges what was observed: one function for each kind of cell. */
#ifndef CONFORM_EXECUTE_H
#define CONFORM_EXECUTE_H

#include "link/link.h"

struct result {
	struct verdict verdict;
	struct log log;
	char seen[512]; /* what happened, in words */
	int err;        /* errno of a refusal, 0: not refused */
};

struct runner {
	struct dut dut;
	struct link link; /* of the last cell, if it can be used again */
	uint32_t run_seed;
	uint32_t seed; /* of the cell */
};

/* Appends to `seen`. */
void seen(struct result *res, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A cell of the matrix: API_WR or API_POST. True: the next cell may use the same link. */
bool run_matrix_cell(struct runner *r, const struct cell *cell, struct result *res);
void run_recv_cell(struct runner *r, const struct cell *cell, struct result *res);
void run_writev_cell(struct runner *r, const struct cell *cell, struct result *res);

#endif
