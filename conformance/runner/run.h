/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Executes one cell of any kind and judges what was seen. */
#ifndef CONFORM_RUN_H
#define CONFORM_RUN_H

#include "execute/execute.h"

void run_cell(struct runner *r, const struct cell *cell, struct result *res);

#endif
