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

/* The sending end. */
class TlpSource
{
      public:
	virtual ~TlpSource() = default;
	/* The next TLP that may be sent at `now`; if none: NULL, and when to check again unless kicked. */
	virtual Tlp *next(hca_ps now, hca_ps &retry) = 0;
	virtual bool waiting() const = 0;
	/* It is on its way, and at `arrival` all of it is at the other end. */
	virtual void sent(Tlp &tlp, hca_ps arrival) = 0;
};

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

class PcieDirection : public sc_core::sc_module
{
	const PcieModel &model_;
	const hca_ps latency_, lookahead_;
	TlpSource &source_;
	Alarm alarm_{"alarm"};
	hca_ps free_at_ = 0;
	bool held_ = false;
	struct trace *trace_ = nullptr;
	unsigned int adapter_ = 0;
	const bool up_;

	void run();
	void pump();
	void start(Tlp &tlp, hca_ps now);
	void log(const Tlp &tlp, hca_ps start, hca_ps arrival);

      public:
	SC_HAS_PROCESS(PcieDirection);
	PcieDirection(sc_core::sc_module_name name, const PcieModel &model, hca_ps latency, hca_ps lookahead,
		      TlpSource &source, bool up);
	void watch(struct trace *trace, unsigned int adapter);
	/* The source has something that it did not have before. */
	void kick();
	/* Nothing is sent until go_on(): the source may get several things at once. */
	void hold();
	void go_on();
};

} // namespace hcasim
#endif
