/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One pipeline stage of the adapter: lets the core do a step when the cycles that it takes are over. The cycles are
 * those of the profile, or those that the send engine counts in its own stages.
 *
 * A step starts in one of the stage's units, occupies it for its interval, and hands out its results after its
 * latency. Steps start and end in the order of the core's queues, whatever their sizes: GATHER, TX and RX must keep
 * the order of all packets, the other stages that of each QP, and the core has one queue a stage. The core does one
 * step at a time, the one at the head, when its latency is over. A step behind it, which started before that, is only
 * looked at then; hca_stage_since() says when it was there, so that it starts in the past and ends when it would have.
 *
 * A step whose contexts are not in the adapter's caches starts when they are there; the stage does nothing else meanwhile.
 */
#ifndef HCASIM_TIMING_STAGE_UNIT_H
#define HCASIM_TIMING_STAGE_UNIT_H

#include <vector>

#include "memory/context_cache.h"
#include "profile/profile.h"
#include "stage_starter.h"
#include "units.h"

namespace hcasim
{

/* What a step of the core hands out, if it leaves later: new work of stages, and reads. */
struct Held {
	uint32_t named = 0; /* bits by enum hca_stage */
	std::vector<hca_dma *> dma;
};

/* What a stage needs of its adapter. */
class StageHost : public StageStarter
{
      public:
	/* Is there room behind the stage that the core does not know of? */
	virtual bool may_run(hca_stage stage) const = 0;
	/* Since when the stage has work and room behind it. */
	virtual hca_ps ready_since(hca_stage stage) const = 0;
	/* What the step at its head needs and the adapter has not got; each calls `waiter` when it is there. */
	virtual unsigned int need(hca_stage stage, CacheWaiter &waiter) = 0;
	virtual void step(hca_stage stage) = 0;
	/* A step of the core whose results stay in `held` until release(). */
	virtual void step_held(hca_stage stage, Held &held) = 0;
	virtual void release(Held &held) = 0;
	/* For observers: a step has started, and occupies its unit for so long. */
	virtual void stepped(hca_stage stage, const hca_work &work, uint32_t cycles) = 0;
	/* For observers: a step that started at `start` is through. */
	virtual void through(hca_stage stage, hca_ps start, const hca_work &work) = 0;
};

class StageUnit : public sc_core::sc_module, public CacheWaiter
{
	StageHost &adapter_;
	hca *const hca_;
	const hca_stage stage_;
	const StageFigures cost_;
	const double period_;
	struct Cycles { /* what a step of this size takes, and how long it occupies its unit */
		double items;
		uint32_t bytes;
		double latency, interval;
	} cycles_ = {-1, UINT32_MAX, 0, 0}; /* of the last one: mostly the next one has the same size */
	sc_core::sc_event through_{"through"};
	bool busy_ = false;
	unsigned int missing_ = 0;      /* contexts that are being read before the step starts */
	bool early_ = false;            /* the step was done when it started */
	std::vector<hca_ps> unit_free_; /* when each unit can start a step */
	hca_ps started_ = 0;            /* the step, in its unit */
	hca_ps ended_ = 0;              /* the step before it */
	hca_work work_ = {};
	Held held_; /* of an early step */

	void run();
	bool begin(bool next);
	void enter(bool next);
	double step_early();
	double items(const hca_work &work) const;
	const Cycles &cycles(const hca_work &work);
	double edge(hca_ps at) const;

      public:
	SC_HAS_PROCESS(StageUnit);
	StageUnit(sc_core::sc_module_name name, const Profile &p, StageHost &adapter, hca *h,
		  hca_stage stage);
	/* Begins with the work at its head, if it is idle and there is some; false otherwise. */
	bool start();
	/* A step is under way. */
	bool busy() const
	{
		return busy_ && !missing_;
	}
	/* It waits for contexts. */
	bool starved() const
	{
		return missing_;
	}
	void filled(const hca_dma &read) override;
};

} // namespace hcasim
#endif
