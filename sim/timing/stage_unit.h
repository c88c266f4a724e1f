/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One pipeline stage of the adapter: lets the core do a step when the cycles that it takes are over. The cycles are
 * those of the profile, or those that the send engine counts in its own stages.
 */
#ifndef HCASIM_TIMING_STAGE_UNIT_H
#define HCASIM_TIMING_STAGE_UNIT_H

#include <memory>

#include "profile.h"
#include "units.h"

namespace hcasim
{

class Adapter;
struct Held;

class StageUnit : public sc_core::sc_module
{
	Adapter &adapter_;
	hca *const hca_;
	const hca_stage stage_;
	const StageCost cost_;
	const double period_;
	sc_core::sc_event through_{"through"};
	bool busy_ = false;
	bool early_ = false; /* the step was done when it started */
	double cycles_ = 0;
	const std::unique_ptr<Held> held_; /* of an early step */

	void run();
	void step_early();
	double cost(const hca_work &work) const;
	hca_ps occupancy(double cycles) const;

      public:
	SC_HAS_PROCESS(StageUnit);
	StageUnit(sc_core::sc_module_name name, const Profile &p, Adapter &adapter, hca *h, hca_stage stage);
	~StageUnit() override;
	/* Begins with the work at its head, if it is idle and there is some; false otherwise. */
	bool start();
};

} // namespace hcasim
#endif
