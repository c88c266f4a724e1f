/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The adapter's end of the PCIe link: turns DMA transfers, interrupts and answers to CPU loads into TLPs,
 * and completions back into finished transfers.
 */
#ifndef HCASIM_TIMING_ENDPOINT_H
#define HCASIM_TIMING_ENDPOINT_H

#include "cpu_request.h"
#include "pcie_link.h"
#include "pool.h"
#include "stage_starter.h"
#include "watch.h"

namespace hcasim
{

/* One thing that goes up the link, in one or more TLPs. */
struct Transfer {
	enum Kind : uint8_t { WRITE, READ, MSIX, ANSWER } kind = WRITE;
	hca_dma *dma = nullptr;
	CpuRequest *cpu = nullptr; /* ANSWER: the load */
	uint32_t vector = 0;
	uint64_t order = 0;                       /* of submission */
	uint32_t seg = 0, seg_done = 0, done = 0; /* how far TLPs were made */
	uint32_t open = 0;                        /* MRds whose last completion is still to come */
	bool issued = false;                      /* every MRd was sent */
	bool moved = false;                       /* the root port read or wrote the host's memory */
	int status = 0;
};

/* One MRd under way. */
struct ReadRequest {
	Transfer *transfer;
	uint64_t addr;
	uint32_t len, sent; /* asked for, and completed by the root port */
	const uint8_t *data;
};

class RootPort;

class Endpoint : public sc_core::sc_module, public TlpSource, public TlpSink
{
	const PcieModel &model_;
	hca *const hca_;
	StageStarter &stages_;
	PcieDirection *up_ = nullptr;
	RootPort *root_ = nullptr;
	Watch *watch_ = nullptr; /* NULL: nobody wants events */
	hca_ps next_at_ = 0;     /* time of the last next(): when the TLP leaves */
	const hca_ps read_latency_, credit_latency_;
	const double read_ps_per_byte_;
	const hca_ps dm_latency_;
	const double dm_ps_per_byte_;
	Alarm alarm_{"alarm"};
	Credits posted_credits_, nonposted_credits_;
	Ring<Transfer *> posted_, reads_, answers_;
	const bool doorbell_waits_;
	Ring<CpuRequest *> arrived_; /* of CPUs, not taken yet */
	Pool<Transfer> transfers_;
	std::vector<ReadRequest> requests_; /* by tag */
	struct FreeTag {
		hca_ps at; /* when its last completion is in */
		uint16_t tag;
	};
	Ring<FreeTag> free_tags_;
	uint64_t order_ = 0;
	bool posted_turn_ = true;
	struct Finished {
		hca_ps at;
		Transfer *transfer;
	};
	Ring<Finished> finished_; /* reads on their way through the read FIFO */
	hca_ps fifo_free_ = 0;
	struct Local {
		hca_ps at;
		hca_dma *dma;
	};
	Ring<Local> local_; /* transfers to and from device memory: the link is not involved */
	hca_ps dm_free_ = 0;

	void run();
	void finish_local(hca_ps now);
	void local(hca_dma *dma);
	void submit(Transfer *t, Ring<Transfer *> &queue);
	bool behind_posted(const Transfer *t);
	bool next_posted(hca_ps now, Tlp &tlp, hca_ps &retry);
	bool next_read(hca_ps now, Tlp &tlp, hca_ps &retry);
	bool next_answer(Tlp &tlp);
	void write_tlp(Transfer *t, Tlp &tlp);
	void cpu_request(CpuRequest *req);
	const char *read_stall(hca_ps now, hca_ps &retry);
	void took(const char *credits, hca_ps back_at, uint32_t units);
	void look();

      public:
	Pool<CpuRequest> cpu_requests; /* shared with the root port; stores are given back here */

	SC_HAS_PROCESS(Endpoint);
	Endpoint(sc_core::sc_module_name name, const Profile &p, const PcieModel &model, hca *h,
		 StageStarter &stages);
	void connect(PcieDirection *up, RootPort *root);
	void watch(Watch *watch);

	/* Passes what arrived from CPUs to the core, as far as there is room: after every call of the core. */
	void take_requests();
	uint32_t held() const
	{
		return uint32_t(arrived_.size());
	}
	void dma(hca_dma *dma);
	void msix(unsigned int vector);
	ReadRequest &request(uint16_t tag)
	{
		return requests_[tag];
	}
	/* The last completion of a MRd is on its way and will be in at `arrival`. Called in that order. */
	void completed(uint16_t tag, hca_ps arrival);
	/* The host end is through with a write, an interrupt or an answer. */
	void release(Transfer *t)
	{
		transfers_.put(t);
	}

	bool next(hca_ps now, Tlp &tlp, hca_ps &retry) override;
	bool waiting() const override;
	void sent(const Tlp &tlp, hca_ps arrival) override;
	void arrive(const Tlp &tlp) override;
};

} // namespace hcasim
#endif
