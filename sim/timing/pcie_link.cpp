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
			     hca_ps lookahead, TlpSource &source, TlpSink &sink, bool up)
    : sc_module(name), model_(model), latency_(latency), lookahead_(lookahead), source_(source), sink_(sink),
      trace_(nullptr), adapter_(0), up_(up)
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
	hca_ps now = now_ps();

	alarm_.fired();
	running_ = true;
	while (!flight_.empty() && flight_.front().at <= now) {
		Flight f = flight_.pop();

		sink_.arrive(f.tlp);
	}
	running_ = false;
	pump();
}

void PcieDirection::kick()
{
	if (!running_) /* otherwise run() pumps when it is through with the arrivals */
		pump();
}

void PcieDirection::pump()
{
	hca_ps now = now_ps(), retry = HCA_PS_NEVER;
	Tlp tlp;

	while (source_.waiting() && free_at_ <= now + lookahead_) {
		hca_ps at = std::max(now, free_at_);

		if (!source_.next(at, tlp, retry)) {
			alarm_.set(retry);
			break;
		}
		start(tlp, at);
		retry = HCA_PS_NEVER;
	}
	if (source_.waiting() && free_at_ > now + lookahead_)
		alarm_.set(free_at_);
	if (!flight_.empty())
		alarm_.set(flight_.front().at);
}

void PcieDirection::start(const Tlp &tlp, hca_ps now)
{
	uint32_t data = tlp.type == TlpType::MRd ? 0 : tlp.len;

	free_at_ = now + model_.tlp_ps(tlp.type, data);
	hca_ps arrival = free_at_ + latency_ + tlp.extra;

	source_.sent(tlp, arrival);
	if (tlp.deliver)
		flight_.push({arrival, tlp});
	if (trace_)
		log(tlp, now, arrival);
}

void PcieDirection::log(const Tlp &tlp, hca_ps start, hca_ps arrival)
{
	static const char *const names[] = {"MWr", "MRd", "CplD", "Cpl", "MSI-X"};
	struct trace_tlp rec = {};

	rec.start = start;
	rec.arrival = arrival;
	rec.adapter = adapter_;
	rec.up = up_;
	rec.type = names[static_cast<int>(tlp.type)];
	rec.addr = tlp.addr;
	rec.bar = tlp.bar;
	rec.len = tlp.len;
	rec.tag = tlp.tag;
	rec.tagged = tlp.type != TlpType::MWr && tlp.type != TlpType::MsiX;
	rec.data = tlp.type == TlpType::MRd || tlp.type == TlpType::Cpl ? nullptr : tlp.data;
	rec.dma = tlp.dma;
	rec.request = tlp.type == TlpType::MWr || tlp.type == TlpType::MRd;
	trace_tlp(trace_, &rec);
}

} // namespace hcasim
