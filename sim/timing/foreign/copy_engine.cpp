// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "copy_engine.h"

#include <algorithm>
#include <cstring>

using namespace hcasim;

static constexpr uint64_t MSI_ADDRESS = 0xfee00000;

CopyEngine::CopyEngine(sc_core::sc_module_name name) : sc_module(name), arrivals_(this, &CopyEngine::arrived)
{
	tx_.register_nb_transport_bw(this, &CopyEngine::response);
	rx_.register_nb_transport_fw(this, &CopyEngine::receive);
}

/* Every TLP takes 100 ns here; a model of a link would count its bytes. */
void CopyEngine::send(Tlp *tlp)
{
	const bool posted = tlp->header.type == TlpType::MWr || tlp->header.type == TlpType::MsiX;
	tlm::tlm_phase phase = tlm::BEGIN_REQ;
	sc_core::sc_time t(100, sc_core::SC_NS);

	tlp->header.requester = tlp->header.type == TlpType::CplD ? tlp->header.requester : 0x0100;
	tlp->header.pasid = posted || tlp->header.type == TlpType::MRd ? uint32_t(registers_[PASID]) : 0;
	if (tx_->nb_transport_fw(*tlp, phase, t) == tlm::TLM_COMPLETED || tlp->header.type == TlpType::MRd)
		tlp->release();
}

/* The host is through with a posted TLP or a completion. */
tlm::tlm_sync_enum CopyEngine::response(TlpPayload &tlp, tlm::tlm_phase &phase, sc_core::sc_time &)
{
	if (phase == tlm::END_REQ)
		return tlm::TLM_ACCEPTED;
	if (tlp.get_response_status() != tlm::TLM_OK_RESPONSE)
		registers_[STATUS] = UINT64_MAX;
	tlp.release();
	return tlm::TLM_COMPLETED;
}

tlm::tlm_sync_enum CopyEngine::receive(TlpPayload &tlp, tlm::tlm_phase &phase, sc_core::sc_time &t)
{
	arrivals_.notify(tlp, phase, t);
	return tlm::TLM_ACCEPTED;
}

void CopyEngine::arrived(TlpPayload &tlp, const tlm::tlm_phase &)
{
	tlm::tlm_phase phase = tlm::BEGIN_RESP;
	sc_core::sc_time t(10, sc_core::SC_NS);

	switch (tlp_header(tlp).type) {
	case TlpType::MWr:
	case TlpType::MsiX:
		store(tlp);
		break;
	case TlpType::MRd:
		load(tlp);
		break;
	case TlpType::CplD:
	case TlpType::Cpl:
		completion(tlp);
		break;
	}
	tlp.set_response_status(tlm::TLM_OK_RESPONSE);
	rx_->nb_transport_bw(tlp, phase, t);
}

void CopyEngine::store(const TlpPayload &tlp)
{
	const uint64_t reg = tlp.get_address() / 8;

	if (reg >= STATUS || tlp.get_data_length() != 8)
		return;
	memcpy(&registers_[reg], tlp.get_data_ptr(), 8);
	if (reg != LENGTH)
		return;
	registers_[LENGTH] = std::min<uint64_t>(registers_[LENGTH], sizeof(data_));
	got_ = 0;
	send(tlps_.get(TlpType::MRd, registers_[SOURCE], uint32_t(registers_[LENGTH]), nullptr));
}

void CopyEngine::load(const TlpPayload &tlp)
{
	const uint64_t reg = tlp.get_address() / 8;
	Tlp *answer =
		tlps_.get(TlpType::CplD, tlp.get_address(), std::min(tlp.get_data_length(), 8u), answer_);

	memset(answer_, 0, sizeof(answer_));
	if (reg < NUM_REGISTERS)
		memcpy(answer_, &registers_[reg], sizeof(answer_));
	answer->header.requester = tlp_header(tlp).requester;
	answer->header.tag = tlp_header(tlp).tag;
	answer->header.byte_count = answer->get_data_length();
	send(answer);
}

void CopyEngine::completion(const TlpPayload &tlp)
{
	const uint32_t len = tlp.get_data_length();

	if (tlp_header(tlp).status != CplStatus::Success || tlp_header(tlp).poisoned ||
	    len > registers_[LENGTH] - got_) {
		registers_[STATUS] = UINT64_MAX;
		return;
	}
	memcpy(data_ + got_, tlp.get_data_ptr(), len);
	got_ += len;
	if (got_ < registers_[LENGTH])
		return;
	registers_[STATUS]++;
	for (uint32_t done = 0; done < got_; done += 128)
		send(tlps_.get(TlpType::MWr, registers_[DESTINATION] + done, std::min(got_ - done, 128u),
			       data_ + done));
	send(tlps_.get(TlpType::MsiX, MSI_ADDRESS, 4, &vector_));
}
