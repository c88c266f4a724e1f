// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "stage_unit.h"

#include <algorithm>
#include <cmath>

namespace hcasim
{

StageUnit::StageUnit(sc_core::sc_module_name name, const Profile &p, StageHost &adapter, hca *h,
		     hca_stage stage)
    : sc_module(name), adapter_(adapter), hca_(h), stage_(stage), cost_(p.engine.stages[stage]),
      period_(1e6 / p.engine.clock), early_(hca_stage_counted(h, stage)),
      unit_free_(early_ ? 1 : size_t(cost_.units))
{
	SC_METHOD(run);
	sensitive << through_;
	dont_initialize();
}

/* Whole cycles, at least one. */
static double cost(double items, uint32_t bytes, double fixed, double per_item, double width)
{
	double cycles = fixed + per_item * items;

	if (width > 0)
		cycles += bytes / width;
	return std::max(1.0, std::ceil(cycles));
}

/* The descriptors of a message are those of its first packet. */
double StageUnit::items(const hca_work &work) const
{
	hca_seen head;

	if (stage_ != HCA_STAGE_PACKETISE || cost_.items_again == 1)
		return work.items;
	hca_stage_head(hca_, stage_, &head);
	return head.later ? cost_.items_again * work.items : work.items;
}

const StageUnit::Cycles &StageUnit::cycles(const hca_work &work)
{
	const double n = items(work);

	if (n != cycles_.items || work.bytes != cycles_.bytes)
		cycles_ = {
			n, work.bytes, cost(n, work.bytes, cost_.fixed, cost_.per_item, cost_.width),
			cost(n, work.bytes, cost_.interval, cost_.interval_per_item, cost_.interval_width)};
	return cycles_;
}

/* The number of the clock edge at or after `at`. */
double StageUnit::edge(hca_ps at) const
{
	return std::ceil(double(int64_t(at)) / period_);
}

bool StageUnit::start()
{
	return begin(false);
}

/* `next`: another step has just ended. */
bool StageUnit::begin(bool next)
{
	hca_work work = {};

	if (busy_ || !adapter_.may_run(stage_) || !hca_stage_pending(hca_, stage_, &work))
		return false;
	busy_ = true;
	work_ = work;
	missing_ = adapter_.need(stage_, *this);
	if (!missing_)
		enter(next);
	return true;
}

/* What was at the head may have been removed with its queue pair, or be behind something else now. */
void StageUnit::filled(const hca_dma &read)
{
	if (read.status)
		hca_context_lost(hca_, read.qpn);
	if (--missing_)
		return;
	busy_ = adapter_.may_run(stage_) && hca_stage_pending(hca_, stage_, &work_);
	if (busy_)
		enter(false);
	adapter_.start_ready();
}

/*
 * Into the unit that is free first. A step that waited while another one was in the stage started as soon as it was
 * there, after the other one, and a unit was free. The cycles that an engine counts are latency and interval.
 */
void StageUnit::enter(bool next)
{
	auto unit = std::min_element(unit_free_.begin(), unit_free_.end());
	const hca_ps now = now_ps(), since = next ? hca_stage_since(hca_, stage_) : 0;
	const hca_ps there = since ? std::max({since, started_, adapter_.ready_since(stage_)}) : now;

	started_ = std::max(std::min(there, now), *unit);
	const double first = edge(started_), taken = early_ ? step_early() : cycles(work_).latency,
		     occupied = early_ ? taken : cycles_.interval;

	*unit = round_ps((first + occupied) * period_);
	adapter_.stepped(stage_, work_, uint32_t(occupied));
	through_.notify(to_sc(std::max(round_ps((first + taken) * period_), now) - now));
}

/*
 * The engine knows its cycles only after its step. What the step hands out leaves when they are over; but TX streams:
 * its frame, and then the completion of an unreliable send, leave when it starts.
 */
double StageUnit::step_early()
{
	if (stage_ == HCA_STAGE_TX)
		adapter_.step(stage_);
	else
		adapter_.step_held(stage_, held_);
	return hca_step_cycles(hca_) ? hca_step_cycles(hca_) : cycles(work_).latency;
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
	/* Observers see one step at a time: the latency of the first, and what each of the next ones adds. */
	adapter_.through(stage_, std::max(started_, ended_), work_);
	ended_ = now_ps();
	begin(true);
	adapter_.start_ready();
}

} // namespace hcasim
