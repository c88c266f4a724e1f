/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Between the two files of the pair. */
#ifndef HCASIM_CORE_TESTS_PAIR_IMPL_H
#define HCASIM_CORE_TESTS_PAIR_IMPL_H

#include "pair.h"

#define MAX_QPS 64 /* whose states are compared */

struct engine {
	const struct engine_ops *ops[2];
	struct engine *engine[2];
	const struct engine_ports *ports; /* the adapter's */
	void *host;
	bool second;  /* the second one runs */
	bool differs; /* it no longer runs */
	bool inside;  /* the first one is inside a port that may call ops */
	const char *op;
	uint8_t *log; /* port calls of the op: arguments and answers */
	size_t len, room, at;
	uint32_t qpn[MAX_QPS];
	unsigned int num_qps;
};

extern const struct engine_ports pair_ports;
void pair_difference(struct engine *e, const char *what);

#endif
