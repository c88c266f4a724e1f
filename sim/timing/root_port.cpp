// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "root_port.h"

#include <algorithm>
#include <cstring>

namespace hcasim
{

static constexpr uint16_t REQUESTER_ID = 0; /* bus 0, device 0, function 0 */

/* Why stores wait, for observers. */
static constexpr char STORE_CREDITS[] = "store_credits", STORE_QUEUE[] = "store_queue",
		      SHARED_LINE[] = "shared_line";

RootPort::RootPort(sc_core::sc_module_name name, const Profile &p, const PcieModel &model,
		   const machine_host_ops *ops, void *ctx, unsigned int adapter)
    : sc_module(name), model_(model), ops_(ops), ctx_(ctx), adapter_(adapter), memory_(ops, ctx),
      down_("down", model, p.pcie.latency, model.bytes_ps(p.pcie.transmit_buffer), *this, false),
      read_latency_(p.root.read_latency), store_latency_(p.root.store_latency),
      late_by_(hca_ps(p.pcie.completion_timeout * 1.5)), credit_latency_(to_sc(p.pcie.latency)),
      interleave_(p.root.interleave),
      cpus_({unsigned(p.root.wc_buffers), hca_ps(p.root.wc_age), hca_ps(p.root.shared_line)}, *this),
      store_queue_(size_t(p.root.store_queue)),
      store_credits_(uint32_t(p.pcie.store_headers), uint32_t(p.pcie.store_data)),
      wakeup_(hca_ps(p.cpu.wakeup))
{
	if (p.iommu.entries)
		iommu_ = std::make_unique<Iommu>(p);
	tx_.register_nb_transport_bw(this, &RootPort::response);
	rx_.register_nb_transport_fw(this, &RootPort::receive);
	SC_METHOD(run);
	sensitive << alarm_.event();
	dont_initialize();
	SC_METHOD(arrive);
	sensitive << arrivals_.event();
	dont_initialize();
	SC_METHOD(wake);
	sensitive << wakeups_.event();
	dont_initialize();
}

void RootPort::watch(Watch *watch)
{
	watch_ = watch;
	if (iommu_)
		iommu_->watch(watch);
}

/* ---- The CPU's side ---- */

bool RootPort::room() const
{
	return cpu_.size() < store_queue_;
}

void RootPort::say_stall()
{
	if (watch_)
		watch_->stall("cpu", now_ps(),
			      !cpus_.stalled()      ? nullptr
			      : cpus_.shares_line() ? SHARED_LINE
						    : STORE_QUEUE);
}

/* What is due already waits for room, which next_cpu() makes. */
void RootPort::set_alarm()
{
	if (!cpus_.due(now_ps()))
		alarm_.set(cpus_.next());
}

void RootPort::access(unsigned int cpu, const CpuAccess &a, const void *data)
{
	if (cpus_.access(cpu, a, data))
		down_.kick();
	else
		say_stall();
	set_alarm();
}

void RootPort::store(unsigned int cpu, unsigned int bar, uint64_t offset, const void *data, uint32_t size,
		     bool wc)
{
	access(cpu, {bar, offset, size, wc, nullptr, nullptr}, data);
}

void RootPort::load(unsigned int cpu, unsigned int bar, uint64_t offset, uint32_t size,
		    void (*done)(void *arg, const void *data, uint32_t size), void *arg)
{
	access(cpu, {bar, offset, size, false, done, arg}, nullptr);
}

void RootPort::proceed(hca_ps now)
{
	if (cpus_.proceed(now))
		down_.kick();
	say_stall();
	set_alarm();
}

CpuRequest *RootPort::request(unsigned int bar, uint64_t offset, uint32_t size)
{
	CpuRequest *req = requests_.get();

	req->bar = bar;
	req->offset = offset;
	req->size = size;
	cpu_.push(req);
	return req;
}

void RootPort::wc_write(unsigned int bar, uint64_t offset, const void *data, uint32_t size)
{
	memcpy(request(bar, offset, size)->data, data, size);
	stores_++;
}

void RootPort::read(const CpuAccess &load)
{
	CpuRequest *req =
		request(load.bar, load.offset, std::min<uint32_t>(load.size, sizeof(CpuRequest::data)));

	req->load = true;
	req->tag = tag_++;
	req->done = load.done;
	req->arg = load.arg;
}

/* ---- Down ---- */

bool RootPort::waiting() const
{
	return !cpu_.empty() || !completing_.empty();
}

Tlp *RootPort::next(hca_ps now, hca_ps &retry)
{
	Tlp *tlp;

	cpu_turn_ = !cpu_turn_;
	tlp = cpu_turn_ ? next_cpu(now, retry) : next_completion();
	if (tlp)
		return tlp;
	return cpu_turn_ ? next_completion() : next_cpu(now, retry);
}

Tlp *RootPort::next_cpu(hca_ps now, hca_ps &retry)
{
	if (cpu_.empty())
		return nullptr;
	load_blocked_ = cpu_.front()->load && loads_[cpu_.front()->tag];
	if (load_blocked_)
		return nullptr;
	store_blocked_ = !cpu_.front()->load && !store_credits_.available(now, cpu_.front()->size, retry);
	if (watch_)
		watch_->stall("store", now, store_blocked_ ? STORE_CREDITS : nullptr);
	if (store_blocked_)
		return nullptr;
	CpuRequest *req = cpu_.pop();
	Tlp *tlp = tlps_.get(req->load ? TlpType::MRd : TlpType::MWr, req->offset, req->size,
			     req->load ? nullptr : req->data);

	if (req->load)
		loads_[req->tag] = req;

	/* Not here, where the link asks for one TLP. */
	if (cpus_.due(now_ps()))
		alarm_.set(now_ps());
	tlp->owner = req;
	tlp->extra = store_latency_;
	tlp->header.requester = REQUESTER_ID;
	tlp->header.tag = req->tag;
	tlp->header.bar = req->bar;
	tlp->header.poisoned = fault_ && !req->load && fault_->store_poisoned();
	return tlp;
}

/* ---- What the device says to TLPs that went down ---- */

static bool last_completion(const Tlp &tlp)
{
	return tlp.header.type == TlpType::Cpl || tlp.header.byte_count == tlp.get_data_length();
}

/* Completions need no credits: the endpoint advertises infinite ones. */
void RootPort::sent(Tlp &tlp, const sc_core::sc_time &delay)
{
	const TlpType type = tlp.header.type;
	tlm::tlm_phase phase = tlm::BEGIN_REQ;
	sc_core::sc_time t = delay;

	if (type == TlpType::MWr)
		store_credits_.take(tlp.get_data_length());
	tlm::tlm_sync_enum said = tx_->nb_transport_fw(tlp, phase, t);

	if (said != tlm::TLM_ACCEPTED)
		give_credits(tlp, now_ps() + t.value());
	if (said == tlm::TLM_COMPLETED)
		consumed(tlp);
}

void RootPort::give_credits(Tlp &tlp, hca_ps at)
{
	tlp.credited = true;
	if (tlp.header.type == TlpType::MWr)
		store_credits_.give(tlp.get_data_length(), at);
}

/* The device has taken a store or load, or has buffers again for what it still has. */
tlm::tlm_sync_enum RootPort::response(TlpPayload &payload, tlm::tlm_phase &phase, sc_core::sc_time &t)
{
	Tlp &tlp = static_cast<Tlp &>(payload);

	if (!tlp.credited)
		give_credits(tlp, now_ps() + t.value());
	if (phase != tlm::END_REQ)
		consumed(tlp);
	down_.go_on();
	return phase == tlm::END_REQ ? tlm::TLM_ACCEPTED : tlm::TLM_COMPLETED;
}

void RootPort::consumed(Tlp &tlp)
{
	if (tlp.header.type == TlpType::MWr) {
		requests_.put(static_cast<CpuRequest *>(tlp.owner));
		stores_--;
	} else if (tlp.header.type != TlpType::MRd && last_completion(tlp)) {
		end(static_cast<Read *>(tlp.owner));
	}
	tlp.release();
}

/* ---- Up ---- */

/* Nothing passes a request whose address is being translated. Interrupts and completions have none. */
hca_ps RootPort::translate(const TlpPayload &tlp, hca_ps arrival)
{
	const TlpHeader &h = tlp_header(tlp);

	translated_ = std::max(translated_, arrival);
	if (h.type == TlpType::MWr || h.type == TlpType::MRd)
		translated_ = std::max(translated_, iommu_->translate(h.pasid, tlp.get_address(),
								      tlp.get_data_length(), arrival));
	return translated_;
}

tlm::tlm_sync_enum RootPort::receive(TlpPayload &tlp, tlm::tlm_phase &phase, sc_core::sc_time &t)
{
	const TlpHeader &h = tlp_header(tlp);
	const hca_ps arrival = now_ps() + t.value(), at = iommu_ ? translate(tlp, arrival) : arrival;

	switch (h.type) {
	case TlpType::MRd:
		read_sent(tlp, h, at);
		break;
	case TlpType::MWr:
	case TlpType::MsiX:
		landing_.push({&tlp, &h, false});
		landing_whole_ += !h.more;
		[[fallthrough]];
	case TlpType::CplD:
	case TlpType::Cpl:
		if (!h.more)
			flight_.push({at, &tlp, h.type});
		break;
	}
	if (!flight_.empty())
		arrivals_.set(flight_.front().at);
	phase = tlm::END_REQ;
	t += credit_latency_;
	if (at != arrival)
		t += to_sc(at - arrival);
	return tlm::TLM_UPDATED;
}

void RootPort::read_sent(TlpPayload &tlp, const TlpHeader &h, hca_ps arrival)
{
	Read *r = read_pool_.get();

	tlp.acquire();
	r->at = arrival + read_latency_;
	r->tlp = &tlp;
	r->header = &h;
	if (fault_)
		r->fault = fault_->read();
	reads_.push(r);
	if (completing_.empty())
		alarm_.set(reads_.front()->at);
}

void RootPort::arrive()
{
	const hca_ps now = now_ps();

	arrivals_.fired();
	while (!flight_.empty() && flight_.front().at <= now) {
		const Arrival a = flight_.pop();

		if (a.type == TlpType::MWr || a.type == TlpType::MsiX)
			posted_arrived();
		else
			answer_arrived(*a.tlp);
	}
	if (!flight_.empty())
		arrivals_.set(flight_.front().at);
}

void RootPort::respond(TlpPayload &tlp)
{
	tlm::tlm_phase phase = tlm::BEGIN_RESP;
	sc_core::sc_time t;

	rx_->nb_transport_bw(tlp, phase, t);
}

/* The last TLP of a write: the earlier ones were buffered; all of it is written now. */
void RootPort::posted_arrived()
{
	bool more;

	if (landing_.front().header->type == TlpType::MsiX) {
		landing_whole_--;
		interrupt_arrived(*landing_.pop().tlp);
		return;
	}
	if (!landing_.front().moved)
		land();
	landing_whole_--;
	do {
		const Posted p = landing_.pop();

		more = p.header->more; /* before the device has the TLP again */
		respond(*p.tlp);
	} while (more);
}

/* The CPU has taken the interrupt, and the thread that waits for it runs. */
void RootPort::wake()
{
	wakeups_.fired();
	while (!interrupts_.empty() && interrupts_.front().at <= now_ps())
		ops_->irq(ctx_, adapter_, interrupts_.pop().vector);
	if (!interrupts_.empty())
		wakeups_.set(interrupts_.front().at);
}

void RootPort::interrupt_arrived(TlpPayload &tlp)
{
	uint32_t vector = 0;

	memcpy(&vector, tlp.get_data_ptr(), std::min<size_t>(tlp.get_data_length(), sizeof(vector)));
	interrupts_.push({now_ps() + wakeup_, vector});
	if (wakeup_)
		wakeups_.set(interrupts_.front().at);
	else
		wake();
	tlp.set_response_status(tlm::TLM_OK_RESPONSE);
	respond(tlp);
}

/* A load that is not supported reads as ones (PCIe 2.3.2, note). */
void RootPort::answer_arrived(TlpPayload &tlp)
{
	const TlpHeader &h = tlp_header(tlp);
	CpuRequest *req = h.tag < NUM_TAGS ? loads_[h.tag] : nullptr;

	tlp.set_response_status(req ? tlm::TLM_OK_RESPONSE : tlm::TLM_COMMAND_ERROR_RESPONSE);
	if (req) {
		loads_[h.tag] = nullptr;
		memset(req->data, 0xff, req->size);
		if (h.type == TlpType::CplD && h.status == CplStatus::Success && !h.poisoned)
			memcpy(req->data, tlp.get_data_ptr(), std::min(req->size, tlp.get_data_length()));
		req->done(req->arg, req->data, req->size);
		requests_.put(req);
	}
	respond(tlp);
	if (req && load_blocked_)
		down_.kick();
}

void RootPort::run()
{
	hca_ps now = now_ps();

	alarm_.fired();
	proceed(now);
	refill(now);
	if (waiting())
		down_.kick();
}

} // namespace hcasim
