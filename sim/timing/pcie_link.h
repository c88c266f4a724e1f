/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The sending half of one end of a PCIe link: takes TLPs from the queues of its sender one at a time, occupies the
 * lanes for the time of their bytes, and says when each arrives, one latency later. TLPs are moved into the transmit
 * buffer shortly before the lanes are free, as many as fit.
 */
#ifndef HCASIM_TIMING_PCIE_LINK_H
#define HCASIM_TIMING_PCIE_LINK_H

#include "alarm.h"
#include "pcie_model.h"
#include "ring.h"

struct trace;

namespace hcasim
{

/* Flow-control credits of one kind, which return some time after their TLP arrived (PCIe 2.6.1). */
class Credits
{
	struct Return {
		hca_ps at;
		uint32_t headers, bytes;
	};
	Ring<Return> returns_;
	uint32_t headers_, bytes_;

      public:
	Credits(uint32_t headers, uint32_t bytes) : headers_(headers), bytes_(bytes)
	{
	}
	/* A data credit is 16 bytes. */
	static uint32_t units(uint32_t bytes)
	{
		return (bytes + 15) & ~15u;
	}
	uint32_t headers() const
	{
		return headers_;
	}
	uint32_t bytes() const
	{
		return bytes_;
	}
	/* Are there credits for one TLP now? Otherwise `retry` is lowered to when some come back. */
	bool available(hca_ps now, uint32_t bytes, hca_ps &retry);
	void take(uint32_t bytes);
	/* They come back. Calls are in the order of `at`. */
	void give(uint32_t bytes, hca_ps at);
	void take(uint32_t bytes, hca_ps back_at)
	{
		take(bytes);
		give(bytes, back_at);
	}
};

void log_tlp(struct trace *trace, unsigned int adapter, bool up, const Tlp &tlp, hca_ps start,
	     hca_ps arrival);

/*
 * A template, since it calls its source several times for each TLP. Source has:
 *
 *   Tlp *next(hca_ps now, hca_ps &retry)    the next TLP that may be sent at `now`; if none: NULL, and when to check
 *                                           again unless kicked
 *   bool waiting() const                    it has TLPs
 *   void sent(Tlp &, const sc_time &delay)  it is on its way, and after `delay` from now all of it is at the other end
 *
 * Times are those of SystemC: made for each TLP from picoseconds, they are calls of its library.
 */
template <class Source>
class PcieDirection : public sc_core::sc_module
{
	const PcieModel &model_;
	const sc_core::sc_time latency_, lookahead_;
	Source &source_;
	Alarm alarm_{"alarm"};
	sc_core::sc_time free_at_;
	bool held_ = false;
	struct trace *trace_ = nullptr;
	unsigned int adapter_ = 0;
	const bool up_;

	void run()
	{
		alarm_.fired();
		kick();
	}
	void pump()
	{
		const sc_core::sc_time &now = sc_core::sc_time_stamp();
		hca_ps retry = HCA_PS_NEVER;

		while (source_.waiting()) {
			if (free_at_ > now + lookahead_) {
				alarm_.set(free_at_.value());
				return;
			}
			const sc_core::sc_time at = std::max(now, free_at_);
			Tlp *tlp = source_.next(at.value(), retry);

			if (!tlp) {
				alarm_.set(retry);
				return;
			}
			start(*tlp, now, at);
			retry = HCA_PS_NEVER;
		}
	}
	void start(Tlp &tlp, const sc_core::sc_time &now, const sc_core::sc_time &at)
	{
		const uint32_t data = tlp.header.type == TlpType::MRd ? 0 : tlp.get_data_length();

		free_at_ = at + model_.tlp_time(tlp.header.type, data);
		sc_core::sc_time delay = free_at_ - now + latency_;

		if (tlp.extra)
			delay += to_sc(tlp.extra);
		if (trace_)
			log_tlp(trace_, adapter_, up_, tlp, at.value(), (now + delay).value());
		source_.sent(tlp, delay);
	}

      public:
	SC_HAS_PROCESS(PcieDirection);
	PcieDirection(sc_core::sc_module_name name, const PcieModel &model, hca_ps latency, hca_ps lookahead,
		      Source &source, bool up)
	    : sc_module(name), model_(model), latency_(to_sc(latency)), lookahead_(to_sc(lookahead)),
	      source_(source), up_(up)
	{
		SC_METHOD(run);
		sensitive << alarm_.event();
		dont_initialize();
	}
	void watch(struct trace *trace, unsigned int adapter)
	{
		trace_ = trace;
		adapter_ = adapter;
	}
	/* The source has something that it did not have before. */
	void kick()
	{
		if (!held_)
			pump();
	}
	/* Nothing is sent until go_on(): the source may get several things at once. */
	void hold()
	{
		held_ = true;
	}
	void go_on()
	{
		held_ = false;
		alarm_.clear();
		pump();
	}
};

} // namespace hcasim
#endif
