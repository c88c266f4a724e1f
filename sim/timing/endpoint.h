/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The adapter's end of the PCIe link: turns DMA transfers, interrupts and answers to CPU loads into TLPs,
 * and completions back into finished transfers.
 */
#ifndef HCASIM_TIMING_ENDPOINT_H
#define HCASIM_TIMING_ENDPOINT_H

#include <tlm_utils/passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>

#include "../core/hca.h"
#include "fault.h"
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
	TlpFields fields; /* the same in all of its TLPs */
	uint32_t vector = 0;
	uint64_t order = 0;                       /* of submission */
	uint32_t seg = 0, seg_done = 0, done = 0; /* how far TLPs were made */
	uint32_t open = 0;                        /* MRds whose last completion is still to come */
	bool issued = false;                      /* every MRd was sent */
	int status = 0;
	/* ANSWER: to a load of a CPU */
	uint64_t offset = 0;
	uint32_t size = 0;
	uint8_t answer[64] = {};
};

/* One MRd under way. */
struct ReadRequest {
	Transfer *transfer = nullptr; /* NULL: the tag is free */
	uint32_t len = 0, got = 0;
	uint8_t *to = nullptr;
	uint64_t number = 0; /* of all reads */
};

class Endpoint : public sc_core::sc_module, public PciePort
{
	const PcieModel &model_;
	hca *const hca_;
	StageStarter &stages_;
	PcieDirection<Endpoint> up_;
	tlm_utils::simple_initiator_socket<Endpoint, 32, PcieProtocol> tx_{"tx"};
	tlm_utils::passthrough_target_socket<Endpoint, 32, PcieProtocol> rx_{"rx"};
	Watch *watch_ = nullptr; /* NULL: nobody wants events */
	hca_ps next_at_ = 0;     /* time of the last next(): when the TLP leaves */
	const hca_ps read_latency_;
	const sc_core::sc_time credit_latency_;
	const double read_ps_per_byte_;
	const hca_ps dm_latency_;
	const double dm_ps_per_byte_;
	Alarm alarm_{"alarm"}, arrivals_{"arrivals"};
	Credits posted_credits_, nonposted_credits_;
	Ring<Transfer *> posted_, reads_, answers_;
	const bool doorbell_waits_;
	struct Arrival {
		hca_ps at;
		TlpPayload *tlp;
	};
	Ring<Arrival> flight_;       /* stores and loads of CPUs, on their way here */
	Ring<TlpPayload *> arrived_; /* not taken yet */
	Ring<TlpPayload *> taken_;   /* their sender is not told yet */
	bool arriving_ = false;
	TlpPool tlps_;
	Pool<Transfer> transfers_;
	std::vector<ReadRequest> requests_; /* by tag */
	struct FreeTag {
		hca_ps at; /* when its last completion is in */
		uint16_t tag;
	};
	Ring<FreeTag> free_tags_;
	Ring<FreeTag> kept_tags_; /* of reads that timed out, and when they may be used again */
	uint64_t order_ = 0;
	const hca_ps completion_timeout_;
	struct Deadline {
		hca_ps at;
		uint16_t tag;
		uint64_t number; /* of the read that had the tag */
	};
	Ring<Deadline> deadlines_; /* of reads; the first one is not done */
	uint64_t reads_sent_ = 0;
	Fault *fault_ = nullptr; /* NULL: there are none */
	bool posted_turn_ = true;
	struct Finished {
		hca_ps at;
		Transfer *transfer;
	};
	Ring<Finished> finished_; /* reads on their way through the read FIFO */
	struct Consumed {
		hca_ps at;
		Tlp *tlp;
	};
	Ring<Consumed> consumed_; /* the host end was through with them when they were sent */
	hca_ps fifo_free_ = 0;
	struct Local {
		hca_ps at;
		hca_dma *dma;
	};
	Ring<Local> local_; /* transfers to and from device memory: the link is not involved */
	hca_ps dm_free_ = 0;

	void run();
	void arrive();
	void finish_local(hca_ps now);
	void local(hca_dma *dma);
	void submit(Transfer *t, Ring<Transfer *> &queue);
	bool behind_posted(const Transfer *t);
	Tlp *next_posted(hca_ps now, hca_ps &retry);
	Tlp *next_read(hca_ps now, hca_ps &retry);
	Tlp *next_answer();
	Tlp *write_tlp(Transfer *t);
	Tlp *part(Transfer *t, TlpType type, uint64_t addr, uint32_t len, const void *data, bool last);
	void take_request(TlpPayload &tlp);
	void take_arrived();
	void respond();
	void completion(TlpPayload &tlp, const TlpHeader &h, hca_ps arrival);
	void completed(uint16_t tag, hca_ps arrival, bool in_time);
	bool have_tag(hca_ps now, hca_ps &retry);
	void drop_deadlines();
	void consumed(Tlp &tlp);
	void take_credits(const Tlp &tlp);
	void give_credits(Tlp &tlp, hca_ps at);
	const char *read_stall(hca_ps now, hca_ps &retry);
	void change(const char *what, hca_ps at, int32_t by);
	void look();
	tlm::tlm_sync_enum receive(TlpPayload &tlp, tlm::tlm_phase &phase, sc_core::sc_time &t);
	tlm::tlm_sync_enum response(TlpPayload &tlp, tlm::tlm_phase &phase, sc_core::sc_time &t);

      public:
	SC_HAS_PROCESS(Endpoint);
	Endpoint(sc_core::sc_module_name name, const Profile &p, const PcieModel &model, hca *h,
		 StageStarter &stages);
	void watch(Watch *watch);
	void watch(struct trace *trace, unsigned int adapter)
	{
		up_.watch(trace, adapter);
	}
	TlpInitiatorSocket &tx() override
	{
		return tx_;
	}
	TlpTargetSocket &rx() override
	{
		return rx_;
	}

	void inject(Fault *fault)
	{
		fault_ = fault;
	}
	/* When the oldest read times out that has no completion yet; HCA_PS_NEVER: there is none. */
	hca_ps deadline() const
	{
		return deadlines_.empty() ? HCA_PS_NEVER : deadlines_.front().at;
	}
	/* Ends the reads whose time is over as ones that failed (PCIe 2.8). */
	void expire(hca_ps now);
	/* Passes what arrived from CPUs to the core, as far as there is room: after every call of the core. */
	void take_requests();
	bool has_requests() const
	{
		return !arrived_.empty() || !taken_.empty();
	}
	uint32_t held() const
	{
		return uint32_t(arrived_.size());
	}
	void dma(hca_dma *dma);
	void msix(unsigned int vector);

	/* Of PcieDirection's source. */
	Tlp *next(hca_ps now, hca_ps &retry);
	bool waiting() const;
	void sent(Tlp &tlp, const sc_core::sc_time &delay);
};

} // namespace hcasim
#endif
