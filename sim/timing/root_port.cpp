// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "root_port.h"

#include <cstring>

namespace hcasim
{

RootPort::RootPort(sc_core::sc_module_name name, const Profile &p, const PcieModel &model,
		   const machine_host_ops *ops, void *ctx, unsigned int adapter, hca *h)
    : sc_module(name), model_(model), ops_(ops), ctx_(ctx), adapter_(adapter), hca_(h), memory_(ops, ctx),
      read_latency_(p.root.read_latency), store_latency_(p.root.store_latency),
      interleave_(p.root.interleave), wc_(p.root.wc_buffers, p.root.wc_age, *this)
{
	SC_METHOD(run);
	sensitive << alarm_.event();
	dont_initialize();
}

void RootPort::connect(Endpoint *endpoint, PcieDirection *down)
{
	endpoint_ = endpoint;
	down_ = down;
}

/* ---- The CPU's side ---- */

CpuRequest *RootPort::request(unsigned int bar, uint64_t offset, uint32_t size)
{
	CpuRequest *req = endpoint_->cpu_requests.get();

	req->bar = bar;
	req->offset = offset;
	req->size = size;
	req->ready = now_ps() + store_latency_;
	cpu_.push(req);
	return req;
}

void RootPort::wc_write(unsigned int bar, uint64_t offset, const void *data, uint32_t size)
{
	memcpy(request(bar, offset, size)->data, data, size);
}

void RootPort::store(unsigned int bar, uint64_t offset, const void *data, uint32_t size, bool wc)
{
	if (wc) {
		wc_.store(now_ps(), bar, offset, data, size);
		alarm_.set(wc_.next_expiry());
	} else {
		wc_.flush();
		for (uint32_t done = 0, part; done < size;
		     done += part) { /* a TLP is at most one line here */
			part = std::min<uint32_t>(size - done, sizeof(CpuRequest::data));
			wc_write(bar, offset + done, static_cast<const uint8_t *>(data) + done, part);
		}
	}
	down_->kick();
}

void RootPort::load(unsigned int bar, uint64_t offset, uint32_t size,
		    void (*done)(void *arg, const void *data, uint32_t size), void *arg)
{
	wc_.flush();
	CpuRequest *req = request(bar, offset, std::min<uint32_t>(size, sizeof(CpuRequest::data)));

	req->load = true;
	req->tag = tag_++;
	req->done = done;
	req->arg = arg;
	down_->kick();
}

/* ---- Down ---- */

bool RootPort::waiting() const
{
	return !cpu_.empty() || !completing_.empty();
}

bool RootPort::next(hca_ps now, Tlp &tlp, hca_ps &retry)
{
	cpu_turn_ = !cpu_turn_;
	if (cpu_turn_)
		return next_cpu(now, tlp, retry) || next_completion(tlp);
	return next_completion(tlp) || next_cpu(now, tlp, retry);
}

bool RootPort::next_cpu(hca_ps now, Tlp &tlp, hca_ps &retry)
{
	if (cpu_.empty())
		return false;
	CpuRequest *req = cpu_.front();

	if (req->ready > now) {
		retry = std::min(retry, req->ready);
		return false;
	}
	cpu_.pop();
	tlp = {req->load ? TlpType::MRd : TlpType::MWr,
	       true,
	       req->tag,
	       req->size,
	       req->offset,
	       req,
	       req->data,
	       nullptr};
	return true;
}

void RootPort::refill()
{
	while (completing_.size() < interleave_ && !backlog_.empty())
		completing_.push(backlog_.pop());
}

bool RootPort::next_completion(Tlp &tlp)
{
	if (completing_.empty())
		return false;
	uint16_t tag = completing_.pop();
	ReadRequest &r = endpoint_->request(tag);
	uint32_t left = r.len - r.sent;

	if (r.transfer->status) { /* Unsupported Request: one completion without data ends the read */
		tlp = {TlpType::Cpl, true, tag, 0, r.addr, r.transfer, nullptr, r.transfer->dma};
		refill();
		return true;
	}
	uint32_t len = model_.completion_chunk(r.addr + r.sent, left);

	tlp = {TlpType::CplD,   len == left,    tag, len, r.addr + r.sent, r.transfer,
	       r.data + r.sent, r.transfer->dma};
	r.sent += len;
	if (len < left)
		completing_.push(tag);
	else
		refill();
	return true;
}

/* The endpoint advertises enough credits for what a CPU stores, and infinite ones for completions. */
void RootPort::sent(const Tlp &, hca_ps)
{
}

/* ---- Up ---- */

void RootPort::arrive(const Tlp &tlp)
{
	Transfer *t = static_cast<Transfer *>(tlp.owner);

	switch (tlp.type) {
	case TlpType::MWr:
		return write_arrived(tlp);
	case TlpType::MRd:
		return read_arrived(tlp);
	case TlpType::MsiX: {
		unsigned int vector = t->vector;

		endpoint_->release(t);
		return ops_->irq(ctx_, adapter_, vector);
	}
	case TlpType::CplD:
	case TlpType::Cpl:
		return answer_arrived(tlp);
	}
}

/* The last TLP of a write: what came before it lay in the root port's buffer; all of it lands now. */
void RootPort::write_arrived(const Tlp &tlp)
{
	Transfer *t = static_cast<Transfer *>(tlp.owner);
	hca_dma *dma = t->dma;

	dma->status = memory_.write(dma);
	endpoint_->release(t);
	hca_dma_done(hca_, dma);
}

/*
 * The host's memory is read for all MRds of a transfer when the first arrives: writes submitted earlier
 * have landed by then, and one call to the application's memory costs as much as several small ones.
 */
void RootPort::read_arrived(const Tlp &tlp)
{
	Transfer *t = static_cast<Transfer *>(tlp.owner);

	if (!t->fetched) {
		t->fetched = true;
		t->status = memory_.read(t->dma);
	}
	reads_.push({now_ps() + read_latency_, tlp.tag});
	alarm_.set(reads_.front().at);
}

void RootPort::answer_arrived(const Tlp &tlp)
{
	Transfer *t = static_cast<Transfer *>(tlp.owner);
	CpuRequest *req = t->cpu;

	endpoint_->release(t);
	req->done(req->arg, req->data, req->size);
	endpoint_->cpu_requests.put(req);
}

void RootPort::run()
{
	hca_ps now = now_ps();
	bool more = false;

	alarm_.fired();
	for (; !reads_.empty() && reads_.front().at <= now; more = true)
		backlog_.push(reads_.pop().tag);
	if (wc_.next_expiry() <= now) {
		wc_.expire(now);
		more = true;
	}
	refill();
	if (more)
		down_->kick();
	if (!reads_.empty())
		alarm_.set(reads_.front().at);
	alarm_.set(wc_.next_expiry());
}

} // namespace hcasim
