// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "stage_unit.h"

#include <cmath>

#include "adapter.h"

namespace hcasim
{

StageUnit::StageUnit(sc_core::sc_module_name name, const Profile &p, Adapter &adapter, hca *h,
		     hca_stage stage)
    : sc_module(name), adapter_(adapter), hca_(h), stage_(stage), cost_(p.engine.stage[stage]),
      period_(1e6 / p.engine.clock_mhz)
{
	SC_METHOD(run);
	sensitive << through_;
	dont_initialize();
}

/* From now to the clock edge at which the step is through: whole cycles, at least one. */
hca_ps StageUnit::occupancy(const hca_work &work) const
{
	double cycles = cost_.fixed + cost_.per_item * work.items;
	double now = now_ps();

	if (cost_.bytes_per_cycle > 0)
		cycles += work.bytes / cost_.bytes_per_cycle;
	double edge = std::ceil(now / period_) + std::max(1.0, std::ceil(cycles));

	return hca_ps(std::llround(edge * period_ - now));
}

bool StageUnit::start()
{
	hca_work work = {};

	if (busy_ || !adapter_.may_run(stage_) || !hca_stage_pending(hca_, stage_, &work))
		return false;
	busy_ = true;
	through_.notify(to_sc(occupancy(work)));
	return true;
}

void StageUnit::run()
{
	hca_work work = {};

	busy_ = false;
	/* The work at the head when the stage started may have been removed with its queue pair. */
	if (hca_stage_pending(hca_, stage_, &work))
		hca_stage_step(hca_, stage_);
	start();
	adapter_.start_ready();
}

} // namespace hcasim
