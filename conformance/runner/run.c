/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>

#include "run.h"

#include "suites/suite.h"

/* The contents of a cell's messages depend on its id and the seed of the run, not on earlier cells (FNV-1a). */
static uint32_t seed_of(uint32_t seed, const char *id)
{
	uint32_t hash = 2166136261u ^ seed * 16777619u;

	for (; *id; id++)
		hash = (hash ^ (uint8_t)*id) * 16777619u;
	return hash;
}

void run_cell(struct runner *r, const struct cell *cell, struct result *res)
{
	const unsigned int timeout_ms = r->dut.timeout_ms;
	bool good = false;

	if (cell->timeout_ms)
		r->dut.timeout_ms = cell->timeout_ms;
	errno = 0;
	res->verdict.excuses = cell->excuses;
	r->seed = seed_of(r->run_seed, cell->id);
	if (cell->api == API_RECV || cell->api == API_SRQ)
		run_recv_cell(r, cell, res);
	else if (cell->api == API_WRITEV)
		run_writev_cell(r, cell, res);
	else if (cell->api == API_SUITE)
		run_suite_cell(r, cell, res);
	else
		good = run_matrix_cell(r, cell, res);
	if (!good)
		link_destroy(&r->link);
	r->dut.timeout_ms = timeout_ms;
}
