/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A mix: work requests of one kind, and how they are posted; and what a machine made of them. */
#ifndef HCASIM_CALIBRATE_MIX_H
#define HCASIM_CALIBRATE_MIX_H

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "timing/machine.h"

struct Mix {
	std::string name;
	uint8_t op = 0;     /* HCASIM_WQE_OP_* */
	uint32_t size = 0;  /* bytes of payload */
	uint32_t sges = 1;  /* the payload in that many pieces; 0: inline */
	uint32_t batch = 1; /* WQEs per doorbell */
	bool push = false;  /* BlueFlame in place of a doorbell */
	uint32_t mss = 0;   /* TSO */
};

/* Steps of a stage by their size: (bytes, items, cycles), and how often. */
struct StageLoad {
	bool counted = false; /* the engine counts the cycles */
	uint64_t steps = 0, cycles = 0;
	std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> sizes;
};

struct Result {
	hca_ps latency = 0;              /* from the store of a single WQE's doorbell to its CQE */
	double per_wqe = 0;              /* ps between CQEs of WQEs that are all posted */
	uint32_t wqes = 0;               /* of the loads */
	StageLoad stage[HCA_NUM_STAGES]; /* of the adapter that sends */
};

/* Throws std::string. */
Result measure(const Mix &mix, const char *profile, const struct engine_ops *engine);

#endif
