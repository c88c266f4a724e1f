/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The host's end of the PCIe link: carries the CPU's stores and loads down, performs writes, reads and
 * interrupts that come up when they arrive, and sends completions.
 */
#ifndef HCASIM_TIMING_ROOT_PORT_H
#define HCASIM_TIMING_ROOT_PORT_H

#include "cpu_request.h"
#include "endpoint.h"
#include "host_memory.h"
#include "pcie_link.h"
#include "write_combine.h"

namespace hcasim
{

class RootPort : public sc_core::sc_module, public TlpSource, public TlpSink, public WcSink
{
	const PcieModel &model_;
	const machine_host_ops *ops_;
	void *ctx_;
	unsigned int adapter_;
	hca *const hca_;
	StageStarter &stages_;
	HostMemory memory_;
	Endpoint *endpoint_ = nullptr;
	PcieDirection *down_ = nullptr;
	const hca_ps read_latency_, store_latency_;
	const size_t interleave_;
	WriteCombine wc_;
	Alarm alarm_{"alarm"};
	Ring<CpuRequest *> cpu_; /* to go down, in program order */
	const size_t store_queue_;
	Credits store_credits_;      /* of the endpoint, for stores */
	bool store_blocked_ = false; /* the next one waits for them */
	Watch *watch_ = nullptr;     /* NULL: nobody wants events */
	/* What CPUs do next, in program order, once there is room. */
	struct Stalled {
		unsigned int bar = 0;
		uint64_t offset = 0;
		std::vector<uint8_t> data; /* of a store */
		bool wc = false;
		uint32_t size = 0;
		void (*done)(void *arg, const void *data, uint32_t size) = nullptr; /* of a load */
		void *arg = nullptr;
	};
	Ring<Stalled> stalled_;
	struct Ready {
		hca_ps at; /* when its data is there */
		uint16_t tag;
	};
	Ring<Ready> reads_;                /* memory is being read, or they wait for a turn */
	Ring<uint16_t> completing_;        /* a completion each in turn */
	Ring<Transfer *> landing_;         /* writes and interrupts on their way up, in order */
	std::vector<Transfer *> together_; /* read or written at once */
	std::vector<hca_dma *> dmas_;      /* of them */
	bool cpu_turn_ = false;
	uint8_t tag_ = 0;

	void run();
	void refill(hca_ps now);
	void gather(Transfer *first, hca_ps now);
	void fetch(Transfer *first, hca_ps now);
	void land(Transfer *first);
	void write_arrived(const Tlp &tlp);
	void answer_arrived(const Tlp &tlp);
	void interrupt_arrived(const Tlp &tlp);
	bool next_cpu(hca_ps now, Tlp &tlp, hca_ps &retry);
	bool next_completion(Tlp &tlp);
	CpuRequest *request(unsigned int bar, uint64_t offset, uint32_t size);
	bool room() const;
	bool must_stall(bool absorbed) const;
	bool absorbs(const Stalled &s);
	void stall(Stalled s);
	void proceed(hca_ps now);
	void do_store(unsigned int bar, uint64_t offset, const void *data, uint32_t size, bool wc);
	void do_load(unsigned int bar, uint64_t offset, uint32_t size,
		     void (*done)(void *arg, const void *data, uint32_t size), void *arg);

      public:
	SC_HAS_PROCESS(RootPort);
	RootPort(sc_core::sc_module_name name, const Profile &p, const PcieModel &model,
		 const machine_host_ops *ops, void *ctx, unsigned int adapter, hca *h, StageStarter &stages);
	void connect(Endpoint *endpoint, PcieDirection *down);
	void watch(Watch *watch);

	/* While the queue is full, stores that do not stay in a write-combining buffer, and loads, are done later. */
	void store(unsigned int bar, uint64_t offset, const void *data, uint32_t size, bool wc);
	void load(unsigned int bar, uint64_t offset, uint32_t size,
		  void (*done)(void *arg, const void *data, uint32_t size), void *arg);

	/* Stores and loads that have not been done, because a CPU stalls. */
	size_t stalled() const
	{
		return stalled_.size();
	}
	size_t queued() const
	{
		return cpu_.size();
	}
	/* The endpoint has taken a store; its credits are back at `at`. Called in that order. */
	void store_taken(uint32_t size, hca_ps at);
	/* The endpoint sent the last TLP of a write, or an interrupt. Called in that order. */
	void posted_sent(Transfer *t);
	/* The endpoint sent a MRd, which arrives at `arrival`. Called in that order. */
	void read_sent(uint16_t tag, hca_ps arrival);

	bool next(hca_ps now, Tlp &tlp, hca_ps &retry) override;
	bool waiting() const override;
	void sent(const Tlp &tlp, hca_ps arrival) override;
	void arrive(const Tlp &tlp) override;
	void wc_write(unsigned int bar, uint64_t offset, const void *data, uint32_t size) override;
};

} // namespace hcasim
#endif
