// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "plain_host.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace hcasim;

PlainHost::PlainHost(sc_core::sc_module_name name, std::function<void(uint32_t vector)> irq)
    : sc_module(name), arrivals_(this, &PlainHost::arrived), irq_(std::move(irq))
{
	tx_.register_nb_transport_bw(this, &PlainHost::response);
	rx_.register_nb_transport_fw(this, &PlainHost::receive);
}

void PlainHost::send(Tlp *tlp)
{
	tlm::tlm_phase phase = tlm::BEGIN_REQ;
	sc_core::sc_time t = sc_core::sc_time(100, sc_core::SC_NS);

	if (tx_->nb_transport_fw(*tlp, phase, t) != tlm::TLM_COMPLETED)
		return;
	delete[] tlp->get_data_ptr();
	tlp->release();
}

/* The device has taken a store or a load. */
tlm::tlm_sync_enum PlainHost::response(TlpPayload &tlp, tlm::tlm_phase &phase, sc_core::sc_time &)
{
	if (phase == tlm::END_REQ)
		return tlm::TLM_ACCEPTED;
	delete[] tlp.get_data_ptr();
	tlp.release();
	return tlm::TLM_COMPLETED;
}

static uint8_t *copy(const void *data, uint32_t size)
{
	uint8_t *bytes = new uint8_t[size];

	memcpy(bytes, data, size);
	return bytes;
}

void PlainHost::store(unsigned int, unsigned int bar, uint64_t offset, const void *data, uint32_t size, bool)
{
	Tlp *tlp = tlps_.get(TlpType::MWr, offset, size, copy(data, size));

	tlp->header.bar = uint8_t(bar);
	stores++;
	send(tlp);
}

void PlainHost::load(unsigned int, unsigned int bar, uint64_t offset, uint32_t size,
		     void (*done)(void *arg, const void *data, uint32_t size), void *arg)
{
	Tlp *tlp = tlps_.get(TlpType::MRd, offset, size, nullptr);

	tlp->header.bar = uint8_t(bar);
	tlp->header.tag = tag_;
	loads_[tag_++] = {done, arg};
	send(tlp);
}

/* Buffers without end: the credits of every TLP are back when it arrives. */
tlm::tlm_sync_enum PlainHost::receive(TlpPayload &tlp, tlm::tlm_phase &phase, sc_core::sc_time &t)
{
	tlp.acquire();
	arrivals_.notify(tlp, phase, t);
	phase = tlm::END_REQ;
	return tlm::TLM_UPDATED;
}

void PlainHost::arrived(TlpPayload &tlp, const tlm::tlm_phase &)
{
	tlm::tlm_phase phase = tlm::BEGIN_RESP;
	sc_core::sc_time t;
	const TlpType type = tlp_header(tlp).type;

	if (type == TlpType::MRd) {
		read(tlp);
	} else {
		if (type == TlpType::MWr)
			write(tlp);
		else if (type == TlpType::MsiX)
			irq_(*reinterpret_cast<const uint32_t *>(tlp.get_data_ptr()));
		else
			answer(tlp);
		interrupts += type == TlpType::MsiX;
		tlp.set_response_status(tlm::TLM_OK_RESPONSE);
		rx_->nb_transport_bw(tlp, phase, t);
	}
	tlp.release();
}

/* Completions of at most 64 bytes, none of which crosses a line. */
void PlainHost::read(const TlpPayload &tlp)
{
	const uint32_t len = tlp.get_data_length();
	uint32_t done = 0;

	reads++;
	do {
		const uint64_t addr = tlp.get_address() + done;
		const uint32_t part = std::min(len - done, uint32_t(64 - addr % 64));
		Tlp *cpl = tlps_.get(TlpType::CplD, addr, part, copy(reinterpret_cast<void *>(addr), part));

		cpl->header.requester = tlp_header(tlp).requester;
		cpl->header.tag = tlp_header(tlp).tag;
		cpl->header.byte_count = len - done;
		done += part;
		send(cpl);
	} while (done < len);
}

void PlainHost::write(const TlpPayload &tlp)
{
	writes++;
	memcpy(reinterpret_cast<void *>(tlp.get_address()), tlp.get_data_ptr(), tlp.get_data_length());
}

void PlainHost::answer(const TlpPayload &tlp)
{
	const Load load = loads_.at(tlp_header(tlp).tag);

	loads_.erase(tlp_header(tlp).tag);
	load.done(load.arg, tlp.get_data_ptr(), tlp.get_data_length());
}
