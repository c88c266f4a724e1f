/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The time that the adapter's unit for atomics takes for one, before its DMA read. The core serves one atomic at a time: the next one
 * begins when the write of this one is on its way.
 */
#ifndef HCASIM_TIMING_ATOMIC_UNIT_H
#define HCASIM_TIMING_ATOMIC_UNIT_H

#include <functional>

#include "alarm.h"
#include "ring.h"

namespace hcasim
{

class AtomicUnit : public sc_core::sc_module
{
	const hca_ps time_;
	const std::function<void(hca_dma *)> go_on_;
	struct Due {
		hca_ps at;
		hca_dma *dma;
	};
	Ring<Due> due_;
	Alarm alarm_{"alarm"};

	void run()
	{
		alarm_.fired();
		while (!due_.empty() && due_.front().at <= now_ps())
			go_on_(due_.pop().dma);
		if (!due_.empty())
			alarm_.set(due_.front().at);
	}

      public:
	SC_HAS_PROCESS(AtomicUnit);
	AtomicUnit(sc_core::sc_module_name name, hca_ps time, std::function<void(hca_dma *)> go_on)
	    : sc_module(name), time_(time), go_on_(std::move(go_on))
	{
		SC_METHOD(run);
		sensitive << alarm_.event();
		dont_initialize();
	}
	void serve(hca_dma *dma)
	{
		due_.push({now_ps() + time_, dma});
		alarm_.set(due_.front().at);
	}
};

} // namespace hcasim
#endif
