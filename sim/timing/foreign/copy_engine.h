/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* An example of docs/pcie-port.md: a device that copies up to 512 bytes in host memory, and then raises an interrupt. */
#ifndef FOREIGN_COPY_ENGINE_H
#define FOREIGN_COPY_ENGINE_H

#include <tlm_utils/passthrough_target_socket.h>
#include <tlm_utils/peq_with_cb_and_phase.h>
#include <tlm_utils/simple_initiator_socket.h>

#include "timing/pcie_port.h"

/* BAR 0 has registers of 8 bytes. A store to LENGTH starts; STATUS: copies done, or all ones after a failure. */
class CopyEngine : public sc_core::sc_module, public hcasim::PciePort
{
      public:
	enum Register { SOURCE, DESTINATION, PASID, LENGTH, STATUS, NUM_REGISTERS };
	static constexpr uint32_t VECTOR = 3;

	explicit CopyEngine(sc_core::sc_module_name name);
	hcasim::TlpInitiatorSocket &tx() override
	{
		return tx_;
	}
	hcasim::TlpTargetSocket &rx() override
	{
		return rx_;
	}

      private:
	tlm_utils::simple_initiator_socket<CopyEngine, 32, hcasim::PcieProtocol> tx_{"tx"};
	tlm_utils::passthrough_target_socket<CopyEngine, 32, hcasim::PcieProtocol> rx_{"rx"};
	tlm_utils::peq_with_cb_and_phase<CopyEngine, hcasim::PcieProtocol> arrivals_;
	hcasim::TlpPool tlps_;
	uint64_t registers_[NUM_REGISTERS] = {};
	uint8_t data_[512] = {}, answer_[8] = {};
	uint32_t got_ = 0;
	const uint32_t vector_ = VECTOR;

	tlm::tlm_sync_enum receive(hcasim::TlpPayload &tlp, tlm::tlm_phase &phase, sc_core::sc_time &t);
	tlm::tlm_sync_enum response(hcasim::TlpPayload &tlp, tlm::tlm_phase &phase, sc_core::sc_time &t);
	void arrived(hcasim::TlpPayload &tlp, const tlm::tlm_phase &phase);
	void store(const hcasim::TlpPayload &tlp);
	void load(const hcasim::TlpPayload &tlp);
	void completion(const hcasim::TlpPayload &tlp);
	void send(hcasim::Tlp *tlp);
};

#endif
