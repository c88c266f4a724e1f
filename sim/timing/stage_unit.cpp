// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "stage_unit.h"

#include <cmath>

namespace hcasim
{

StageUnit::StageUnit(sc_core::sc_module_name name, const Profile &p, StageHost &adapter, hca *h,
		     hca_stage stage)
    : sc_module(name), adapter_(adapter), hca_(h), stage_(stage), cost_(p.engine.stages[stage]),
      period_(1e6 / p.engine.clock)
{
	SC_METHOD(run);
	sensitive << through_;
	dont_initialize();
}

/* Whole cycles, at least one. */
double StageUnit::cost(const hca_work &work) const
{
	double cycles = cost_.fixed + cost_.per_item * work.items;

	if (cost_.width > 0)
		cycles += work.bytes / cost_.width;
	return std::max(1.0, std::ceil(cycles));
}

/* From now to the clock edge at which the step is through. */
hca_ps StageUnit::occupancy(double cycles) const
{
	double now = now_ps();

	return hca_ps(std::llround((std::ceil(now / period_) + cycles) * period_ - now));
}

bool StageUnit::start()
{
	hca_work work = {};

	if (busy_ || !adapter_.may_run(stage_) || !hca_stage_pending(hca_, stage_, &work))
		return false;
	busy_ = true;
	started_ = now_ps();
	work_ = work;
	cycles_ = cost(work);
	early_ = hca_stage_counted(hca_, stage_);
	if (early_)
		step_early();
	adapter_.stepped(stage_, work, uint32_t(cycles_));
	through_.notify(to_sc(occupancy(cycles_)));
	return true;
}

/*
 * The engine knows its cycles only after its step. What the step hands out leaves when they are over; but TX streams:
 * its frame, and then the completion of an unreliable send, leave when it starts.
 */
void StageUnit::step_early()
{
	if (stage_ == HCA_STAGE_TX)
		adapter_.step(stage_);
	else
		adapter_.step_held(stage_, held_);
	if (hca_step_cycles(hca_))
		cycles_ = hca_step_cycles(hca_);
}

void StageUnit::run()
{
	hca_work work = {};

	busy_ = false;
	/* The work at the head when the stage started may have been removed with its queue pair. */
	if (early_)
		adapter_.release(held_);
	else if (hca_stage_pending(hca_, stage_, &work))
		adapter_.step(stage_);
	adapter_.through(stage_, started_, work_);
	start();
	adapter_.start_ready();
}

} // namespace hcasim
