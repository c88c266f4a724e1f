/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The host's end of the PCIe link: carries the CPU's stores and loads down, performs writes, reads and
 * interrupts that come up when they arrive, and sends completions.
 */
#ifndef HCASIM_TIMING_ROOT_PORT_H
#define HCASIM_TIMING_ROOT_PORT_H

#include <tlm_utils/passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>

#include "cpu_request.h"
#include "cpus.h"
#include "fault.h"
#include "host_memory.h"
#include "memory/iommu.h"
#include "pcie_link.h"
#include "pool.h"
#include "watch.h"

namespace hcasim
{

/* Buffers that keep their memory while nobody uses them. */
class ReadBuffers
{
      public:
	struct Buffer {
		std::unique_ptr<uint8_t[]> bytes;
		uint32_t size, users;
	};

	Buffer *get(uint32_t size);
	void put(Buffer *b) /* of one user */
	{
		if (--b->users == 0)
			free_.push_back(b);
	}

      private:
	std::vector<std::unique_ptr<Buffer>> all_;
	std::vector<Buffer *> free_;
};

class RootPort : public sc_core::sc_module, public PcieHost, public CpuSink
{
	const PcieModel &model_;
	const machine_host_ops *ops_;
	void *ctx_;
	unsigned int adapter_;
	HostMemory memory_;
	PcieDirection<RootPort> down_;
	tlm_utils::simple_initiator_socket<RootPort, 32, PcieProtocol> tx_{"tx"};
	tlm_utils::passthrough_target_socket<RootPort, 32, PcieProtocol> rx_{"rx"};
	TlpPool tlps_;
	const hca_ps read_latency_, store_latency_, late_by_;
	const sc_core::sc_time credit_latency_;
	const size_t interleave_;
	std::unique_ptr<Iommu> iommu_; /* NULL: there is none */
	hca_ps translated_ = 0;        /* when the last request from the device was */
	Cpus cpus_;
	Alarm alarm_{"alarm"}, arrivals_{"arrivals"}, wakeups_{"wakeups"};
	Pool<CpuRequest> requests_;
	Ring<CpuRequest *> cpu_; /* to go down, in order */
	size_t stores_ = 0;      /* there, and on the link */
	const size_t store_queue_;
	Credits store_credits_;      /* of the endpoint, for stores */
	bool store_blocked_ = false; /* the next one waits for them */
	Watch *watch_ = nullptr;     /* NULL: nobody wants events */
	bool load_blocked_ = false;  /* the next one waits for its tag */
	static constexpr size_t NUM_TAGS = 256;
	CpuRequest *loads_[NUM_TAGS] = {}; /* under way, by tag */
	struct Read {                      /* a MRd of the device */
		hca_ps at = 0;             /* when its data is there */
		TlpPayload *tlp = nullptr;
		const TlpHeader *header = nullptr;
		ReadBuffers::Buffer *buffer = nullptr; /* NULL: not read yet */
		const uint8_t *data = nullptr;
		uint32_t sent = 0;
		size_t transfer = 0; /* that it is read with */
		bool failed = false;
		ReadFault fault = ReadFault::None;
	};
	Fault *fault_ = nullptr; /* NULL: there are none */
	Pool<Read> read_pool_;
	ReadBuffers buffers_;
	Ring<Read *> reads_;      /* memory is being read, or they wait for a turn */
	Ring<Read *> completing_; /* a completion each in turn */
	Ring<Read *> late_;       /* by --fault: their completions come when the device has given up */
	struct Arrival {
		hca_ps at;
		TlpPayload *tlp;
		TlpType type;
	};
	Ring<Arrival> flight_; /* the last of each write, interrupts and answers on their way up, in order */
	struct Posted {
		TlpPayload *tlp;
		const TlpHeader *header;
		bool moved; /* it is in the host's memory, or was refused */
	};
	Ring<Posted> landing_;     /* writes and interrupts on their way up, in order */
	size_t landing_whole_ = 0; /* those of them whose last TLP is sent */
	struct Interrupt {
		hca_ps at; /* when the thread that waits for it runs */
		uint32_t vector;
	};
	Ring<Interrupt> interrupts_;
	const hca_ps wakeup_;
	std::vector<HostTransfer> together_; /* read or written at once */
	size_t num_together_ = 0;
	std::vector<Read *> fetched_; /* with them */
	bool cpu_turn_ = false;
	uint8_t tag_ = 0;

	void run();
	void arrive();
	void refill(hca_ps now);
	HostTransfer &new_transfer(const TlpPayload &first, const TlpHeader &h);
	size_t add_read(Read *first, size_t i);
	void gather(Read *first, hca_ps now);
	void fetch(Read *first, hca_ps now);
	size_t add_write(size_t from);
	size_t join(size_t behind);
	void land();
	hca_ps translate(const TlpPayload &tlp, hca_ps arrival);
	void read_sent(TlpPayload &tlp, const TlpHeader &h, hca_ps arrival);
	void end(Read *r);
	void posted_arrived();
	void interrupt_arrived(TlpPayload &tlp);
	void wake();
	void answer_arrived(TlpPayload &tlp);
	void respond(TlpPayload &tlp);
	Tlp *next_cpu(hca_ps now, hca_ps &retry);
	Tlp *next_completion();
	void give_credits(Tlp &tlp, hca_ps at);
	void consumed(Tlp &tlp);
	tlm::tlm_sync_enum receive(TlpPayload &tlp, tlm::tlm_phase &phase, sc_core::sc_time &t);
	tlm::tlm_sync_enum response(TlpPayload &tlp, tlm::tlm_phase &phase, sc_core::sc_time &t);
	CpuRequest *request(unsigned int bar, uint64_t offset, uint32_t size);
	void access(unsigned int cpu, const CpuAccess &a, const void *data);
	void proceed(hca_ps now);
	void say_stall();
	void set_alarm();

      public:
	SC_HAS_PROCESS(RootPort);
	RootPort(sc_core::sc_module_name name, const Profile &p, const PcieModel &model,
		 const machine_host_ops *ops, void *ctx, unsigned int adapter);
	void watch(Watch *watch);
	void watch(struct trace *trace, unsigned int adapter)
	{
		down_.watch(trace, adapter);
	}
	void inject(Fault *fault)
	{
		fault_ = fault;
	}
	TlpInitiatorSocket &tx() override
	{
		return tx_;
	}
	TlpTargetSocket &rx() override
	{
		return rx_;
	}

	/* While the queue is full, stores that do not stay in a write-combining buffer, and loads, are done later. */
	void store(unsigned int cpu, unsigned int bar, uint64_t offset, const void *data, uint32_t size,
		   bool wc) override;
	void load(unsigned int cpu, unsigned int bar, uint64_t offset, uint32_t size,
		  void (*done)(void *arg, const void *data, uint32_t size), void *arg) override;

	/* When the oldest completion is due that is later than the device waits; HCA_PS_NEVER: there is none. */
	hca_ps deadline() const
	{
		return late_.empty() ? HCA_PS_NEVER : late_.front()->at;
	}
	void expire(hca_ps now);

	/* Stores and loads that have not been done, because a CPU stalls. */
	size_t stalled() const
	{
		return cpus_.stalled();
	}
	bool stalls(unsigned int cpu) const override
	{
		return cpus_.stalled(cpu);
	}
	bool stores_under_way() const override
	{
		return stores_ || cpus_.hold_stores();
	}
	uint64_t memory_writes() const override
	{
		return memory_.writes();
	}
	size_t queued() const
	{
		return cpu_.size();
	}

	/* Of PcieDirection's source. */
	Tlp *next(hca_ps now, hca_ps &retry);
	bool waiting() const;
	void sent(Tlp &tlp, const sc_core::sc_time &delay);

	void wc_write(unsigned int bar, uint64_t offset, const void *data, uint32_t size) override;
	bool room() const override;
	void read(const CpuAccess &load) override;
};

} // namespace hcasim
#endif
