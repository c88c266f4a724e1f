// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "watch.h"

#include "trace/trace.h"

namespace hcasim
{

Watch::~Watch()
{
	for (const auto &[where, s] : stalls_)
		if (s.cause)
			trace_stall(trace_, s.since, now_ps(), adapter_, where.c_str(), s.cause);
	for (const auto &[qpn, s] : qp_stalls_)
		end_qp(qpn, s);
}

/* ---- Steps ---- */

void Watch::saw_work(uint32_t qpn, uint16_t index)
{
	extra_.qpn = qpn;
	extra_.of_wqe = true;
	extra_.index = index;
}

void Watch::saw_step(hca_stage stage, const hca_seen &seen)
{
	hca_seen &s = seen_[stage];

	s = seen;
	if (extra_.of_wqe && (stage == HCA_STAGE_DECODE || stage == HCA_STAGE_COMPLETE)) {
		s.qpn = extra_.qpn;
		s.of_wqe = true;
		s.index = extra_.index;
	}
	if (stage == HCA_STAGE_TX)
		s.number = extra_.number;
	if (stage == HCA_STAGE_DOORBELL)
		store_ = stores_.empty() ? 0 : stores_.pop();
}

void Watch::doorbells(uint32_t count, bool stored)
{
	while (stores_.size() < count)
		stores_.push(stored ? now_ps() : 0);
}

void Watch::step(hca_stage stage, hca_ps start, const hca_work &work)
{
	const struct trace_step s = {start,
				     now_ps(),
				     adapter_,
				     hca_stage_name(stage),
				     work,
				     seen_[stage],
				     stage == HCA_STAGE_DOORBELL ? store_ : 0};

	trace_step(trace_, &s);
	seen_[stage] = {};
}

/* ---- Stalls ---- */

void Watch::stall(const char *where, hca_ps at, const char *cause)
{
	Stall &s = stalls_[where];

	if (s.cause == cause)
		return;
	if (s.cause && at > s.since)
		trace_stall(trace_, s.since, at, adapter_, where, s.cause);
	s.since = at;
	s.cause = cause;
}

void Watch::end_qp(uint32_t qpn, const QpStall &s)
{
	if (s.cause && now_ps() > s.since)
		trace_qp_stall(trace_, s.since, now_ps(), adapter_, qpn, s.index, s.cause);
}

void Watch::qp_stall(uint32_t qpn, uint16_t index, const char *cause)
{
	QpStall &s = qp_stalls_[qpn];

	end_qp(qpn, s);
	if (!cause) {
		qp_stalls_.erase(qpn);
		return;
	}
	s.since = now_ps();
	s.cause = cause;
	s.index = index;
}

/* ---- Levels ---- */

void Watch::range(const char *name, uint32_t initial, uint32_t max)
{
	levels_[name] = initial;
	trace_range(trace_, adapter_, name, initial, max);
}

void Watch::level(const char *name, uint32_t value)
{
	uint32_t &last = levels_[name];

	if (value == last)
		return;
	last = value;
	trace_level(trace_, now_ps(), adapter_, name, value);
}

void Watch::change(const char *name, hca_ps at, int32_t by)
{
	trace_change(trace_, at, adapter_, name, by);
}

void Watch::lookup(const char *cache, const CacheKey &key, hca_ps since, hca_ps end, bool hit)
{
	const struct trace_lookup l = {since, end, adapter_, cache, key.table, key.number, hit};

	trace_lookup(trace_, &l);
}

void Watch::core(hca *h)
{
	for (int i = 0; i < HCA_NUM_LEVELS; i++) {
		hca_level level = static_cast<hca_level>(i);

		this->level(hca_level_name(level), hca_level_now(h, level));
	}
}

} // namespace hcasim
