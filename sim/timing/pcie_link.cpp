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

void log_tlp(struct trace *trace, unsigned int adapter, bool up, const Tlp &tlp, hca_ps start, hca_ps arrival)
{
	static const char *const names[] = {"MWr", "MRd", "CplD", "Cpl", "MSI-X"};
	const TlpHeader &h = tlp.header;
	struct trace_tlp rec = {};

	rec.start = start;
	rec.arrival = arrival;
	rec.adapter = adapter;
	rec.up = up;
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
		rec.relaxed = h.relaxed;
	}
	rec.request = h.type == TlpType::MWr || h.type == TlpType::MRd;
	trace_tlp(trace, &rec);
}

} // namespace hcasim
