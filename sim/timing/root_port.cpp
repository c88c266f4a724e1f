// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "root_port.h"

#include <algorithm>
#include <cstring>

namespace hcasim
{

static constexpr size_t JOIN_MAX = 16; /* writes in one call */

/* Why stores wait, for observers. */
static constexpr char STORE_CREDITS[] = "store_credits", STORE_QUEUE[] = "store_queue";

RootPort::RootPort(sc_core::sc_module_name name, const Profile &p, const PcieModel &model,
		   const machine_host_ops *ops, void *ctx, unsigned int adapter, hca *h, StageStarter &stages)
    : sc_module(name), model_(model), ops_(ops), ctx_(ctx), adapter_(adapter), hca_(h), stages_(stages),
      memory_(ops, ctx), read_latency_(p.root.read_latency), store_latency_(p.root.store_latency),
      interleave_(p.root.interleave), wc_(p.root.wc_buffers, p.root.wc_age, *this),
      store_queue_(size_t(p.root.store_queue)),
      store_credits_(uint32_t(p.pcie.store_headers), uint32_t(p.pcie.store_data))
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

void RootPort::watch(Watch *watch)
{
	watch_ = watch;
}

/* ---- The CPU's side ---- */

bool RootPort::room() const
{
	return cpu_.size() < store_queue_;
}

/* Nothing passes an access that stalls: the CPU does not go on. */
bool RootPort::must_stall(bool absorbed) const
{
	return !stalled_.empty() || (!absorbed && !room());
}

bool RootPort::absorbs(const Stalled &s)
{
	return s.wc && wc_.absorbs(s.bar, s.offset, uint32_t(s.data.size()));
}

void RootPort::stall(Stalled s)
{
	stalled_.push(std::move(s));
	if (watch_)
		watch_->stall("cpu", now_ps(), STORE_QUEUE);
}

void RootPort::store(unsigned int bar, uint64_t offset, const void *data, uint32_t size, bool wc)
{
	const uint8_t *bytes = static_cast<const uint8_t *>(data);
	Stalled s;

	if (!must_stall(wc && wc_.absorbs(bar, offset, size))) {
		do_store(bar, offset, data, size, wc);
		return;
	}
	s.bar = bar;
	s.offset = offset;
	s.data.assign(bytes, bytes + size);
	s.wc = wc;
	stall(std::move(s));
}

void RootPort::load(unsigned int bar, uint64_t offset, uint32_t size,
		    void (*done)(void *arg, const void *data, uint32_t size), void *arg)
{
	Stalled s;

	if (!must_stall(false)) {
		do_load(bar, offset, size, done, arg);
		return;
	}
	s.bar = bar;
	s.offset = offset;
	s.size = size;
	s.done = done;
	s.arg = arg;
	stall(std::move(s));
}

/* There may be room again: for lines whose age has come, and for CPUs that stall. */
void RootPort::proceed(hca_ps now)
{
	while (room() && wc_.expire(now))
		;
	while (!stalled_.empty() && (room() || absorbs(stalled_.front()))) {
		const Stalled s = stalled_.pop();

		if (s.done)
			do_load(s.bar, s.offset, s.size, s.done, s.arg);
		else
			do_store(s.bar, s.offset, s.data.data(), uint32_t(s.data.size()), s.wc);
	}
	if (watch_ && stalled_.empty())
		watch_->stall("cpu", now, nullptr);
	if (room())
		alarm_.set(wc_.next_expiry());
}

CpuRequest *RootPort::request(unsigned int bar, uint64_t offset, uint32_t size)
{
	CpuRequest *req = endpoint_->cpu_requests.get();

	req->bar = bar;
	req->offset = offset;
	req->size = size;
	cpu_.push(req);
	return req;
}

void RootPort::wc_write(unsigned int bar, uint64_t offset, const void *data, uint32_t size)
{
	memcpy(request(bar, offset, size)->data, data, size);
}

void RootPort::do_store(unsigned int bar, uint64_t offset, const void *data, uint32_t size, bool wc)
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

void RootPort::do_load(unsigned int bar, uint64_t offset, uint32_t size,
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
	store_blocked_ = !cpu_.front()->load && !store_credits_.available(now, cpu_.front()->size, retry);
	if (watch_)
		watch_->stall("store", now, store_blocked_ ? STORE_CREDITS : nullptr);
	if (store_blocked_)
		return false;
	CpuRequest *req = cpu_.pop();

	/* Not here, where the link asks for one TLP. */
	if (!stalled_.empty() || wc_.next_expiry() <= now_ps())
		alarm_.set(now_ps());
	tlp = {};
	tlp.type = req->load ? TlpType::MRd : TlpType::MWr;
	tlp.deliver = true;
	tlp.tag = req->tag;
	tlp.len = req->size;
	tlp.addr = req->offset;
	tlp.bar = req->bar;
	tlp.owner = req;
	tlp.data = req->data;
	tlp.extra = store_latency_;
	return true;
}

/* Reads at the root port that can be executed together with `first`: one call for the application's memory. */
void RootPort::gather(Transfer *first, hca_ps now)
{
	uint32_t bytes = first->dma->len;

	together_.assign(1, first);
	first->moved = true;
	if (first->dma->pasid == HCA_PASID_KERNEL)
		return;
	for (size_t i = 0; i < reads_.size() && reads_[i].at < now + read_latency_; i++) {
		Transfer *t = endpoint_->request(reads_[i].tag).transfer;

		if (t->moved || t->dma->pasid != first->dma->pasid)
			continue;
		bytes += t->dma->len;
		if (bytes > HostMemory::TOGETHER)
			return;
		together_.push_back(t);
		t->moved = true;
	}
}

/*
 * The host's memory is read for all MRds of a transfer when the data of the first is due, or when another
 * read is due and the MRd has arrived: writes that were submitted earlier have landed by then, and one call
 * to the application's memory costs as much as several small ones.
 */
void RootPort::fetch(Transfer *first, hca_ps now)
{
	if (first->moved)
		return;
	gather(first, now);
	dmas_.clear();
	for (Transfer *t : together_)
		dmas_.push_back(t->dma);
	const bool all = dmas_.size() > 1 && memory_.read_together(dmas_);

	for (Transfer *t : together_)
		t->status = all ? 0 : memory_.read(t->dma);
}

/* Completions of several reads are interleaved. */
void RootPort::refill(hca_ps now)
{
	while (completing_.size() < interleave_ && !reads_.empty() && reads_.front().at <= now) {
		uint16_t tag = reads_.pop().tag;

		fetch(endpoint_->request(tag).transfer, now);
		completing_.push(tag);
	}
	if (completing_.empty() && !reads_.empty())
		alarm_.set(reads_.front().at);
}

bool RootPort::next_completion(Tlp &tlp)
{
	if (completing_.empty())
		return false;
	uint16_t tag = completing_.pop();
	ReadRequest &r = endpoint_->request(tag);
	uint32_t left = r.len - r.sent;

	tlp = {};
	tlp.type = TlpType::Cpl; /* Unsupported Request: one completion without data ends the read */
	tlp.tag = tag;
	tlp.addr = r.addr + r.sent;
	tlp.dma = r.transfer->dma;
	if (r.transfer->status == 0) {
		tlp.type = TlpType::CplD;
		tlp.len = model_.completion_chunk(tlp.addr, left);
		tlp.data = r.data + r.sent;
	}
	tlp.last = r.transfer->status || tlp.len == left;
	r.sent += tlp.len;
	if (!tlp.last)
		completing_.push(tag);
	refill(now_ps());
	return true;
}

void RootPort::store_taken(uint32_t size, hca_ps at)
{
	store_credits_.give(size, at);
	if (store_blocked_)
		down_->kick();
}

/* Completions need no credits: the endpoint advertises infinite ones. */
void RootPort::sent(const Tlp &tlp, hca_ps arrival)
{
	if (tlp.type == TlpType::MWr)
		store_credits_.take(tlp.len);
	if (tlp.last)
		endpoint_->completed(tlp.tag, arrival);
}

/* ---- Up ---- */

void RootPort::arrive(const Tlp &tlp)
{
	switch (tlp.type) {
	case TlpType::MWr:
		write_arrived(tlp);
		break;
	case TlpType::MsiX:
		interrupt_arrived(tlp);
		break;
	case TlpType::MRd: /* read_sent() */
		break;
	case TlpType::CplD:
	case TlpType::Cpl:
		answer_arrived(tlp);
		break;
	}
	stages_.start_ready();
}

void RootPort::interrupt_arrived(const Tlp &tlp)
{
	Transfer *t = static_cast<Transfer *>(tlp.owner);
	unsigned int vector = t->vector;

	landing_.pop();
	endpoint_->release(t);
	ops_->irq(ctx_, adapter_, vector);
}

void RootPort::posted_sent(Transfer *t)
{
	landing_.push(t);
}

static bool overlap(const hca_dma *a, const hca_dma *b)
{
	for (uint32_t i = 0; i < a->nseg; i++)
		for (uint32_t j = 0; j < b->nseg; j++)
			if (a->seg[i].addr < b->seg[j].addr + b->seg[j].len &&
			    b->seg[j].addr < a->seg[i].addr + a->seg[i].len)
				return true;
	return false;
}

/* Writes without further conditions to the memory of one application, each to its own place. */
static bool may_join(const std::vector<hca_dma *> &before, const Transfer *first, const Transfer *t)
{
	if (t->kind != Transfer::WRITE || t->dma->pasid != first->dma->pasid || t->dma->split ||
	    t->dma->pasid == HCA_PASID_KERNEL || before.size() == JOIN_MAX)
		return false;
	return std::none_of(before.begin(), before.end(),
			    [t](const hca_dma *dma) { return overlap(dma, t->dma); });
}

/*
 * Writes behind `first` on the link, with no other posted TLP in between, are executed with it, in order: one call
 * for the application's memory. Their results are reported when they arrive. If one fails, each is tried separately.
 */
void RootPort::land(Transfer *first)
{
	uint32_t bytes = 0;

	together_.clear();
	dmas_.clear();
	for (size_t i = 0; i < landing_.size() && may_join(dmas_, first, landing_[i]); i++) {
		bytes += landing_[i]->dma->len;
		if (bytes > HostMemory::TOGETHER)
			break;
		together_.push_back(landing_[i]);
		dmas_.push_back(landing_[i]->dma);
	}
	if (dmas_.size() > 1 && memory_.write_together(dmas_)) {
		for (Transfer *t : together_)
			t->moved = true;
		return;
	}
	first->moved = true;
	first->status = memory_.write(first->dma);
}

/* The last TLP of a write: the earlier ones were buffered; all of it is written now. */
void RootPort::write_arrived(const Tlp &tlp)
{
	Transfer *t = static_cast<Transfer *>(tlp.owner);
	hca_dma *dma = t->dma;

	if (!t->moved)
		land(t);
	landing_.pop();
	dma->status = t->status;
	endpoint_->release(t);
	hca_dma_done(hca_, dma);
}

void RootPort::read_sent(uint16_t tag, hca_ps arrival)
{
	reads_.push({arrival + read_latency_, tag});
	if (completing_.empty())
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

	alarm_.fired();
	proceed(now);
	refill(now);
	if (waiting())
		down_->kick();
}

} // namespace hcasim
