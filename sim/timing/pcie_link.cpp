// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "pcie_link.h"

#include "trace/trace.h"

namespace hcasim
{

bool Credits::available(hca_ps now, uint32_t bytes, hca_ps &retry)
{
	while (!returns_.empty() && returns_.front().at <= now) {
		Return r = returns_.pop();

		headers_ += r.headers;
		bytes_ += r.bytes;
	}
	if (headers_ >= 1 && bytes_ >= units(bytes))
		return true;
	if (!returns_.empty())
		retry = std::min(retry, returns_.front().at);
	return false;
}

void Credits::take(uint32_t bytes)
{
	headers_--;
	bytes_ -= units(bytes);
}

void Credits::give(uint32_t bytes, hca_ps at)
{
	returns_.push({at, 1, units(bytes)});
}

PcieDirection::PcieDirection(sc_core::sc_module_name name, const PcieModel &model, hca_ps latency,
			     hca_ps lookahead, TlpSource &source, bool up)
    : sc_module(name), model_(model), latency_(latency), lookahead_(lookahead), source_(source), up_(up)
{
	SC_METHOD(run);
	sensitive << alarm_.event();
	dont_initialize();
}

void PcieDirection::watch(struct trace *trace, unsigned int adapter)
{
	trace_ = trace;
	adapter_ = adapter;
}

void PcieDirection::run()
{
	alarm_.fired();
	kick();
}

void PcieDirection::kick()
{
	if (!held_)
		pump();
}

void PcieDirection::hold()
{
	held_ = true;
}

void PcieDirection::go_on()
{
	held_ = false;
	alarm_.clear();
	pump();
}

void PcieDirection::pump()
{
	hca_ps now = now_ps(), retry = HCA_PS_NEVER;

	while (source_.waiting() && free_at_ <= now + lookahead_) {
		hca_ps at = std::max(now, free_at_);
		Tlp *tlp = source_.next(at, retry);

		if (!tlp) {
			alarm_.set(retry);
			break;
		}
		start(*tlp, at);
		retry = HCA_PS_NEVER;
	}
	if (source_.waiting() && free_at_ > now + lookahead_)
		alarm_.set(free_at_);
}

void PcieDirection::start(Tlp &tlp, hca_ps now)
{
	const uint32_t data = tlp.header.type == TlpType::MRd ? 0 : tlp.get_data_length();

	free_at_ = now + model_.tlp_ps(tlp.header.type, data);
	const hca_ps arrival = free_at_ + latency_ + tlp.extra;

	if (trace_)
		log(tlp, now, arrival);
	source_.sent(tlp, arrival);
}

void PcieDirection::log(const Tlp &tlp, hca_ps start, hca_ps arrival)
{
	static const char *const names[] = {"MWr", "MRd", "CplD", "Cpl", "MSI-X"};
	const TlpHeader &h = tlp.header;
	struct trace_tlp rec = {};

	rec.start = start;
	rec.arrival = arrival;
	rec.adapter = adapter_;
	rec.up = up_;
	rec.type = names[static_cast<int>(h.type)];
	rec.addr = tlp.get_address();
	rec.bar = h.bar;
	rec.len = tlp.get_data_length();
	rec.tag = h.tag;
	rec.tagged = h.type != TlpType::MWr && h.type != TlpType::MsiX;
	rec.data = h.type == TlpType::MRd || h.type == TlpType::Cpl ? nullptr : tlp.get_data_ptr();
	rec.dma = h.purpose >= 0;
	if (rec.dma) {
		rec.class_ = static_cast<hca_dma_class>(h.purpose);
		rec.pasid = h.pasid;
		rec.qpn = h.qpn;
		rec.tph = {h.hinted, h.ph, h.st};
	}
	rec.request = h.type == TlpType::MWr || h.type == TlpType::MRd;
	trace_tlp(trace_, &rec);
}

} // namespace hcasim
