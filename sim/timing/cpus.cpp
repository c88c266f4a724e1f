// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "cpus.h"

#include <algorithm>

namespace hcasim
{

Cpus::Cpu &Cpus::get(unsigned int cpu)
{
	if (cpu >= cpus_.size())
		cpus_.resize(cpu + 1);
	if (!cpus_[cpu])
		cpus_[cpu].reset(new Cpu{{figures_.wc_buffers, figures_.wc_age, sink_}, {}, 0});
	return *cpus_[cpu];
}

/* A store takes its line from the CPU that stored to it last, which costs time: one CPU after the other. */
hca_ps Cpus::ready_at(unsigned int cpu, const CpuAccess &a)
{
	hca_ps ready = now_ps();

	if (!figures_.shared_line || a.done)
		return ready;
	for (uint64_t at = 0; at < a.size; at += WriteCombine::LINE - (a.offset + at) % WriteCombine::LINE) {
		const uint64_t line = uint64_t(a.bar) << 58 | (a.offset + at) / WriteCombine::LINE;
		Line &l = lines_.emplace(line, Line{cpu, 0}).first->second;

		if (l.cpu != cpu)
			l = {cpu, std::max(now_ps(), l.free) + figures_.shared_line};
		ready = std::max(ready, l.free);
	}
	return ready;
}

/* Nothing leaves because of it. */
bool Cpus::absorbs(const Cpu &c, const CpuAccess &a) const
{
	return a.wc && !a.done && c.wc.absorbs(a.bar, a.offset, a.size) &&
	       std::none_of(cpus_.begin(), cpus_.end(), [&](const auto &other) {
		       return other && other.get() != &c && other->wc.ahead_of(a.bar, a.offset, a.size);
	       });
}

bool Cpus::possible(const Cpu &c, const CpuAccess &a) const
{
	return c.ready <= now_ps() && (sink_.room() || absorbs(c, a));
}

/*
 * Where two CPUs store to one line, or one of them to another BAR (a copy to device memory and its doorbell), a correct
 * driver has a lock and a fence in between, which are not seen here: what the other CPU has in its buffers leaves first.
 */
void Cpus::perform(Cpu &c, const CpuAccess &a, const void *data)
{
	const uint8_t *bytes = static_cast<const uint8_t *>(data);

	if (!a.done)
		for (const auto &other : cpus_)
			if (other && other.get() != &c)
				other->wc.make_way(a.bar, a.offset, a.size);
	if (!a.done && a.wc) {
		c.wc.store(now_ps(), a.bar, a.offset, data, a.size);
		return;
	}
	c.wc.flush();
	if (a.done) {
		sink_.read(a);
		return;
	}
	for (uint32_t done = 0, part; done < a.size; done += part) { /* a TLP is at most one line here */
		part = std::min<uint32_t>(a.size - done, WriteCombine::LINE);
		sink_.wc_write(a.bar, a.offset + done, bytes + done, part);
	}
}

bool Cpus::access(unsigned int cpu, const CpuAccess &a, const void *data)
{
	const uint8_t *bytes = static_cast<const uint8_t *>(data);
	Cpu &c = get(cpu);

	if (c.stalled.empty()) {
		c.ready = ready_at(cpu, a);
		if (possible(c, a)) {
			perform(c, a, data);
			return true;
		}
	}
	c.stalled.push({a, a.done ? std::vector<uint8_t>() : std::vector<uint8_t>(bytes, bytes + a.size)});
	return false;
}

bool Cpus::proceed_one(unsigned int cpu)
{
	Cpu *c = cpus_[cpu].get();

	if (!c || c->stalled.empty() || !possible(*c, c->stalled.front().access))
		return false;
	const Stalled s = c->stalled.pop();

	perform(*c, s.access, s.data.data());
	if (!c->stalled.empty())
		c->ready = ready_at(cpu, c->stalled.front().access);
	return true;
}

/* There may be room again: for lines whose age has come, and for CPUs that stall, which take turns. */
bool Cpus::proceed(hca_ps now)
{
	bool any = false;

	while (sink_.room()) {
		Cpu *c = oldest_line();

		if (!c || !c->wc.expire(now))
			break;
		any = true;
	}
	for (size_t tries = 0; tries < cpus_.size(); tries++) {
		turn_ = (turn_ + 1) % cpus_.size();
		if (proceed_one(unsigned(turn_))) {
			any = true;
			tries = size_t(-1); /* all of them again */
		}
	}
	return any;
}

Cpus::Cpu *Cpus::oldest_line() const
{
	Cpu *oldest = nullptr;

	for (const auto &c : cpus_)
		if (c && (!oldest || c->wc.next_expiry() < oldest->wc.next_expiry()))
			oldest = c.get();
	return oldest;
}

hca_ps Cpus::next() const
{
	const Cpu *oldest = oldest_line();
	hca_ps at = oldest ? oldest->wc.next_expiry() : HCA_PS_NEVER;

	for (const auto &c : cpus_)
		if (c && !c->stalled.empty())
			at = std::min(at, c->ready);
	return at;
}

bool Cpus::due(hca_ps now) const
{
	return next() <= now;
}

size_t Cpus::stalled() const
{
	size_t n = 0;

	for (const auto &c : cpus_)
		n += c ? c->stalled.size() : 0;
	return n;
}

bool Cpus::hold_stores() const
{
	return std::any_of(cpus_.begin(), cpus_.end(),
			   [](const auto &c) { return c && (!c->wc.empty() || !c->stalled.empty()); });
}

bool Cpus::shares_line() const
{
	return stalled() && std::all_of(cpus_.begin(), cpus_.end(), [](const auto &c) {
		       return !c || c->stalled.empty() || c->ready > now_ps();
	       });
}

} // namespace hcasim
