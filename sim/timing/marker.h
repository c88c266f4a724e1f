/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which packets the switch marks: RED on the queue at the moment (Zhu et al., Congestion Control for Large-Scale RDMA
 * Deployments, SIGCOMM 2015, figure 5).
 */
#ifndef HCASIM_TIMING_MARKER_H
#define HCASIM_TIMING_MARKER_H

#include <cstdint>

#include "profile/profile.h"

namespace hcasim
{

class Marker
{
	const bool enabled_;
	const double kmin_, kmax_, pmax_;
	uint64_t state_;

	double random()
	{
		state_ = state_ * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
		return double(state_ >> 11) / double(1ull << 53);
	}

      public:
	Marker(const Profile &p, uint64_t seed)
	    : enabled_(p.dcqcn.enable != 0), kmin_(p.dcqcn.kmin), kmax_(p.dcqcn.kmax), pmax_(p.dcqcn.pmax),
	      state_(seed)
	{
	}
	bool enabled() const
	{
		return enabled_;
	}
	/* A packet finds `queue` bytes before it. */
	bool marks(double queue)
	{
		if (queue <= kmin_ || queue > kmax_)
			return queue > kmax_;
		return random() < pmax_ * (queue - kmin_) / (kmax_ - kmin_);
	}
};

} // namespace hcasim
#endif
