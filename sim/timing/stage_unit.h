/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One pipeline stage of the adapter: lets the core do a step when the cycles that it takes are over. */
#ifndef HCASIM_TIMING_STAGE_UNIT_H
#define HCASIM_TIMING_STAGE_UNIT_H

#include "profile.h"
#include "units.h"

namespace hcasim
{

class Adapter;

class StageUnit : public sc_core::sc_module
{
	Adapter &adapter_;
	hca *const hca_;
	const hca_stage stage_;
	const StageCost cost_;
	const double period_;
	sc_core::sc_event through_{"through"};
	bool busy_ = false;

	void run();
	hca_ps occupancy(const hca_work &work) const;

      public:
	SC_HAS_PROCESS(StageUnit);
	StageUnit(sc_core::sc_module_name name, const Profile &p, Adapter &adapter, hca *h, hca_stage stage);
	/* Begins with the work at its head, if it is idle and there is some; false otherwise. */
	bool start();
};

} // namespace hcasim
#endif
