/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One direction of a PCIe link: takes TLPs from the queues of its sender one at a time, occupies the lanes for the
 * time of their bytes, and delivers them in order one latency later. TLPs are moved into the transmit buffer shortly
 * before the lanes are free, as many as fit.
 */
#ifndef HCASIM_TIMING_PCIE_LINK_H
#define HCASIM_TIMING_PCIE_LINK_H

#include "alarm.h"
#include "pcie_model.h"
#include "ring.h"

struct trace;
struct hca_dma;

namespace hcasim
{

struct Tlp {
	TlpType type;
	bool deliver; /* its arrival is an event; otherwise the sender's end tells what follows from it */
	bool last;    /* of the completions of one MRd */
	uint16_t tag;
	uint32_t len;              /* data bytes; of a MRd: bytes asked for */
	uint64_t addr;             /* of a load or store of a CPU: offset in the BAR */
	uint8_t bar;               /* of a load or store of a CPU */
	void *owner;               /* the transfer that it belongs to */
	const void *data;          /* for traces: the bytes it carries */
	const struct hca_dma *dma; /* for traces: why; NULL for MMIO and interrupts */
	hca_ps extra; /* latency of its own, the same for all that are delivered in one direction */
};

/* The sending end. */
class TlpSource
{
      public:
	virtual ~TlpSource() = default;
	/* The next TLP that may be sent at `now`; if none: false, and when to check again unless kicked. */
	virtual bool next(hca_ps now, Tlp &tlp, hca_ps &retry) = 0;
	virtual bool waiting() const = 0;
	/* Time at which the last TLP reaches the other end. */
	virtual void sent(const Tlp &tlp, hca_ps arrival) = 0;
};

class TlpSink
{
      public:
	virtual ~TlpSink() = default;
	virtual void arrive(const Tlp &tlp) = 0;
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
	TlpSink &sink_;
	Alarm alarm_{"alarm"};
	hca_ps free_at_ = 0;
	bool running_ = false;
	struct Flight {
		hca_ps at;
		Tlp tlp;
	};
	Ring<Flight> flight_;
	struct trace *trace_;
	unsigned int adapter_;
	bool up_;

	void run();
	void pump();
	void start(const Tlp &tlp, hca_ps now);
	void log(const Tlp &tlp, hca_ps start, hca_ps arrival);

      public:
	SC_HAS_PROCESS(PcieDirection);
	PcieDirection(sc_core::sc_module_name name, const PcieModel &model, hca_ps latency, hca_ps lookahead,
		      TlpSource &source, TlpSink &sink, bool up);
	void watch(struct trace *trace, unsigned int adapter);
	/* The source has something that it did not have before. */
	void kick();
};

} // namespace hcasim
#endif
