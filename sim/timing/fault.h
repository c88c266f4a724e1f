/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Seeded faults of the wire: the same seed and frames give the same faults. */
#ifndef HCASIM_TIMING_FAULT_H
#define HCASIM_TIMING_FAULT_H

#include <string>

#include "../core/hca.h"

namespace hcasim
{

class Fault
{
	double loss_ = 0, dup_ = 0, reorder_ = 0, corrupt_ = 0;
	uint64_t state_;
	bool active_ = false;

	uint64_t random();
	bool chance(double p);
	bool item(const std::string &text, std::string &err);

      public:
	struct Fate {
		bool lost, doubled, late;
		uint32_t flip; /* bit of the frame that is inverted; 0: none */
	};

	explicit Fault(uint64_t seed) : state_(seed)
	{
	}
	/* "loss=0.01,dup=0.01,reorder=0.01,corrupt=0.001": probabilities per frame. */
	bool parse(const char *spec, std::string &err);
	bool active() const
	{
		return active_;
	}
	Fate fate(uint32_t frame_len);
};

} // namespace hcasim
#endif
