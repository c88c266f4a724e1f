/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An example of docs/pcie-port.md: a host end without caches, buffers and credits. Its memory is that of this process;
 * every TLP takes 100 ns.
 */
#ifndef FOREIGN_PLAIN_HOST_H
#define FOREIGN_PLAIN_HOST_H

#include <functional>
#include <map>

#include <tlm_utils/passthrough_target_socket.h>
#include <tlm_utils/peq_with_cb_and_phase.h>
#include <tlm_utils/simple_initiator_socket.h>

#include "timing/pcie_port.h"

class PlainHost : public sc_core::sc_module, public hcasim::PcieHost
{
      public:
	unsigned int reads = 0, writes = 0, interrupts = 0, stores = 0; /* TLPs */

	PlainHost(sc_core::sc_module_name name, std::function<void(uint32_t vector)> irq);
	hcasim::TlpInitiatorSocket &tx() override
	{
		return tx_;
	}
	hcasim::TlpTargetSocket &rx() override
	{
		return rx_;
	}
	void store(unsigned int cpu, unsigned int bar, uint64_t offset, const void *data, uint32_t size,
		   bool wc) override;
	void load(unsigned int cpu, unsigned int bar, uint64_t offset, uint32_t size,
		  void (*done)(void *arg, const void *data, uint32_t size), void *arg) override;
	uint64_t memory_writes() const override
	{
		return writes;
	}

      private:
	tlm_utils::simple_initiator_socket<PlainHost, 32, hcasim::PcieProtocol> tx_{"tx"};
	tlm_utils::passthrough_target_socket<PlainHost, 32, hcasim::PcieProtocol> rx_{"rx"};
	tlm_utils::peq_with_cb_and_phase<PlainHost, hcasim::PcieProtocol> arrivals_;
	hcasim::TlpPool tlps_;
	const std::function<void(uint32_t vector)> irq_;
	struct Load {
		void (*done)(void *arg, const void *data, uint32_t size);
		void *arg;
	};
	std::map<uint16_t, Load> loads_; /* by tag */
	uint16_t tag_ = 0;

	tlm::tlm_sync_enum receive(hcasim::TlpPayload &tlp, tlm::tlm_phase &phase, sc_core::sc_time &t);
	tlm::tlm_sync_enum response(hcasim::TlpPayload &tlp, tlm::tlm_phase &phase, sc_core::sc_time &t);
	void arrived(hcasim::TlpPayload &tlp, const tlm::tlm_phase &phase);
	void read(const hcasim::TlpPayload &tlp);
	void write(const hcasim::TlpPayload &tlp);
	void answer(const hcasim::TlpPayload &tlp);
	void send(hcasim::Tlp *tlp);
};

#endif
