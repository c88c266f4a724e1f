/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The border between the two ends of a PCIe link, for SystemC models of others: TLM-2.0 sockets that carry TLPs.
 * docs/pcie-port.md has the rules with an example. PCIe clauses are of the Base Specification 5.0.
 */
#ifndef HCASIM_TIMING_PCIE_PORT_H
#define HCASIM_TIMING_PCIE_PORT_H

#include <cstdint>
#include <memory>
#include <vector>

#include <systemc>
#include <tlm>

namespace hcasim
{

/* MsiX is a MWr to the interrupt address range. A completion without data that failed is a Cpl. */
enum class TlpType : uint8_t { MWr, MRd, CplD, Cpl, MsiX };

/* Completion status (2.2.9.1). */
enum class CplStatus : uint8_t { Success = 0, UnsupportedRequest = 1, CompleterAbort = 4 };

/* What the header of a TLP says that a generic payload does not. */
struct TlpFields {
	TlpType type = TlpType::MWr;
	CplStatus status = CplStatus::Success; /* of a completion */
	bool poisoned = false;                 /* EP: the data is known to be bad (2.7.2) */
	uint8_t bar = 0;                       /* of a request that goes down */
	uint16_t requester = 0;                /* bus, device and function; a completion has its request's */
	uint16_t tag = 0;                      /* of a MRd and its completions */
	uint32_t byte_count =
		0;            /* of a completion: bytes of its request from this TLP's first on (2.2.9.1) */
	uint32_t pasid = 0;   /* address space of a request that goes up; 0: no PASID prefix (6.20) */
	bool relaxed = false; /* relaxed ordering (2.4.1): the models here do not use it */
	bool hinted = false;  /* a processing hint and a steering tag come with the request (6.17) */
	uint8_t ph = 0, st = 0;

	/*
	 * Not on the link; zero is always right. `more`: another TLP continues what this one begins, and the receiver
	 * may wait for it. `split`: the last bytes become visible to CPUs strictly after the others. `purpose` and
	 * `qpn`: for traces; -1: none, otherwise enum hca_dma_class.
	 */
	bool more = false;
	uint8_t split = 0;
	int8_t purpose = -1;
	uint32_t qpn = 0;
};

/*
 * What makes a generic payload a TLP. The payload's own attributes:
 *   address          of a request: of its first enabled byte. BAR requests: offset in `bar`. Completions: of the first byte
 *   data_length      bytes that the TLP carries; of a MRd: bytes asked for. Contiguous: the byte enables follow from it
 *   data_ptr         the bytes; not of a MRd or a Cpl. Valid until the receiver is done with the TLP
 *   response_status  set by the receiver of a posted request: anything but TLM_OK_RESPONSE: the address space refused it
 */
struct TlpHeader : tlm::tlm_extension<TlpHeader>, TlpFields {
	/* First and last double word's byte enables (2.2.5) of `len` bytes at `addr`. */
	static uint8_t first_be(uint64_t addr, uint32_t len)
	{
		const unsigned int from = addr & 3, to = len < 4 - from ? from + len : 4;

		return uint8_t((1u << to) - (1u << from));
	}
	static uint8_t last_be(uint64_t addr, uint32_t len)
	{
		const uint32_t end = (addr & 3) + len;

		return end <= 4 ? 0 : uint8_t((1u << ((end - 1) % 4 + 1)) - 1);
	}

	tlm::tlm_extension_base *clone() const override
	{
		return new TlpHeader(*this);
	}
	void copy_from(const tlm::tlm_extension_base &from) override
	{
		*this = static_cast<const TlpHeader &>(from);
	}
};

/* The sockets of base protocol do not bind to these: the extension is mandatory, and the phases have rules of their own. */
struct PcieProtocol {
	using tlm_payload_type = tlm::tlm_generic_payload;
	using tlm_phase_type = tlm::tlm_phase;
};
using TlpPayload = PcieProtocol::tlm_payload_type;
using TlpInitiatorSocket = tlm::tlm_initiator_socket<32, PcieProtocol>;
using TlpTargetSocket = tlm::tlm_target_socket<32, PcieProtocol>;

inline TlpHeader &tlp_header(const TlpPayload &tlp)
{
	return *tlp.get_extension<TlpHeader>();
}

/* One end of a link. */
class PciePort
{
      public:
	virtual ~PciePort() = default;
	virtual TlpInitiatorSocket &tx() = 0; /* TLPs that it sends */
	virtual TlpTargetSocket &rx() = 0;    /* TLPs that it receives */
};

/* The host's end, which also does what the CPUs of a machine say. Calls are as in timing/machine.h. */
class PcieHost : public PciePort
{
      public:
	virtual void store(unsigned int cpu, unsigned int bar, uint64_t offset, const void *data,
			   uint32_t size, bool wc) = 0;
	virtual void load(unsigned int cpu, unsigned int bar, uint64_t offset, uint32_t size,
			  void (*done)(void *arg, const void *data, uint32_t size), void *arg) = 0;
	/* CPU `cpu` has stores or loads that have not been done, and does nothing else until they are. */
	virtual bool stalls(unsigned int cpu) const
	{
		return false;
	}
	/* Stores of any CPU have not reached the device yet. */
	virtual bool stores_under_way() const
	{
		return false;
	}
	/* How often the device wrote to memory so far, so that CPUs that poll look again. */
	virtual uint64_t memory_writes() const = 0;
};

inline void connect(PciePort &a, PciePort &b)
{
	a.tx().bind(b.rx());
	b.tx().bind(a.rx());
}

/* A payload with its header: one object, which SystemC does not delete. */
struct Tlp : TlpPayload {
	struct Header : TlpHeader {
		void free() override
		{
		}
	} header;
	void *owner = nullptr; /* the sender's: what it belongs to */
	uint64_t extra = 0;    /* the sender's: ps that it takes longer than the link does */
	bool credited = false; /* the sender's: its credits are back, or on their way */

	explicit Tlp(tlm::tlm_mm_interface *mm) : TlpPayload(mm)
	{
		set_extension<TlpHeader>(&header);
	}
	~Tlp() override
	{
		clear_extension<TlpHeader>(&header); /* it is gone before the payload */
	}
};

/* Payloads of one sender. It outlives the simulation's last call of the other end. */
class TlpPool : public tlm::tlm_mm_interface
{
	std::vector<std::unique_ptr<Tlp>> all_;
	std::vector<Tlp *> free_;

      public:
	/* With one reference, the sender's. `like`: what its header says, but for the type. */
	Tlp *get(TlpType type, uint64_t addr, uint32_t len, const void *data,
		 const TlpFields &like = TlpFields())
	{
		if (free_.empty()) {
			all_.push_back(std::make_unique<Tlp>(this));
			free_.push_back(all_.back().get());
		}
		Tlp *tlp = free_.back();

		free_.pop_back();
		static_cast<TlpFields &>(tlp->header) = like;
		tlp->header.type = type;
		tlp->extra = 0;
		tlp->credited = false;
		tlp->set_command(type == TlpType::MRd ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND);
		tlp->set_address(addr);
		tlp->set_data_length(len);
		tlp->set_streaming_width(len);
		tlp->set_data_ptr(static_cast<unsigned char *>(const_cast<void *>(data)));
		tlp->set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
		tlp->acquire();
		return tlp;
	}
	void free(TlpPayload *tlp) override
	{
		free_.push_back(static_cast<Tlp *>(tlp));
	}
};

} // namespace hcasim

/* Models of others, for machine_config: asked once for each adapter. Without an answer it is ours. */
struct pcie_parts {
	virtual ~pcie_parts() = default;
	/* A device in place of the adapter, which then has no link: its driver's commands must not be used. */
	virtual std::unique_ptr<hcasim::PciePort> endpoint(unsigned int adapter)
	{
		return nullptr;
	}
	virtual std::unique_ptr<hcasim::PcieHost> root(unsigned int adapter)
	{
		return nullptr;
	}
};

#endif
