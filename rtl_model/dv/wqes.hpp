// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Random native WQEs: most of them legal, others with one or two things wrong.
#ifndef HCASIM_RTL_DV_WQES_HPP
#define HCASIM_RTL_DV_WQES_HPP

#include <hcasim_hw.h>
#include <hcasim_verbs.h>
#include <hcasim_wr.h>

#include "ref.h"
#include "tb.hpp"

// The blocks from its ring index to the producer index, at least one.
struct RandomWqe {
	Bytes bytes; // whole blocks
	uint8_t op;
};

struct Kinds {
	uint32_t max_sge;   // SGEs are shorter; if this is over 1 MiB, some are of any length
	bool bad_headers;   // of TSO requests, now and then
	bool legal = false; // nothing is wrong, but for a list of SGEs that is too long
};

RandomWqe random_wqe(Random &random, const struct ref_qp &qp, uint16_t index, const Kinds &kinds);

#endif
