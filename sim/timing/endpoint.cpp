// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "endpoint.h"

#include "root_port.h"

namespace hcasim
{

/* Message addresses of interrupts lie here on x86 (Intel SDM 3A, 11.11.1). */
static constexpr uint64_t MSI_ADDRESS = 0xfee00000;

/* Why a TLP has to wait, for observers. */
static constexpr char POSTED_CREDITS[] = "posted_credits", NONPOSTED_CREDITS[] = "nonposted_credits",
		      TAGS[] = "tags", ORDER[] = "order";

Endpoint::Endpoint(sc_core::sc_module_name name, const Profile &p, const PcieModel &model, hca *h,
		   StageStarter &stages)
    : sc_module(name), model_(model), hca_(h), stages_(stages), read_latency_(p.engine.read_latency),
      credit_latency_(p.pcie.latency), read_ps_per_byte_(8000.0 / p.engine.read_rate),
      dm_latency_(p.engine.dm_latency), dm_ps_per_byte_(8000.0 / p.engine.dm_rate),
      posted_credits_(p.pcie.posted_headers, p.pcie.posted_data),
      nonposted_credits_(p.pcie.nonposted_headers, 0), doorbell_waits_(p.fifo.doorbell_waits),
      requests_(size_t(p.pcie.tags))
{
	for (size_t tag = 0; tag < requests_.size(); tag++)
		free_tags_.push({0, uint16_t(tag)});
	SC_METHOD(run);
	sensitive << alarm_.event();
	dont_initialize();
}

void Endpoint::connect(PcieDirection *up, RootPort *root)
{
	up_ = up;
	root_ = root;
}

void Endpoint::watch(Watch *watch)
{
	watch_ = watch;
	watch_->range("posted_queue", 0, 0);
	watch_->range("read_queue", 0, 0);
	watch_->range("read_fifo", 0, 0);
	watch_->range("posted_headers", posted_credits_.headers(), posted_credits_.headers());
	watch_->range("posted_data", posted_credits_.bytes(), posted_credits_.bytes());
	watch_->range("nonposted_headers", nonposted_credits_.headers(), nonposted_credits_.headers());
	watch_->range("tags", uint32_t(free_tags_.size()), uint32_t(free_tags_.size()));
}

void Endpoint::look()
{
	if (!watch_)
		return;
	watch_->level("posted_queue", uint32_t(posted_.size()));
	watch_->level("read_queue", uint32_t(reads_.size()));
	watch_->level("read_fifo", uint32_t(finished_.size()));
}

/* Credits, or a tag, that the TLP takes which leaves now. */
void Endpoint::took(const char *credits, hca_ps back_at, uint32_t units)
{
	if (!watch_)
		return;
	watch_->change(credits, next_at_, -int32_t(units));
	watch_->change(credits, back_at, int32_t(units));
}

void Endpoint::submit(Transfer *t, Ring<Transfer *> &queue)
{
	t->order = ++order_;
	queue.push(t);
	look();
	up_->kick();
}

/* The core has copied the bytes: model the memory's port and the latency. */
void Endpoint::local(hca_dma *dma)
{
	dm_free_ = std::max(now_ps(), dm_free_) + hca_ps(dma->len * dm_ps_per_byte_);
	local_.push({dm_free_ + dm_latency_, dma});
	alarm_.set(local_.front().at);
}

void Endpoint::dma(hca_dma *dma)
{
	if (dma->pasid == HCA_PASID_DEVICE) {
		local(dma);
		return;
	}
	Transfer *t = transfers_.get();

	t->kind = dma->write ? Transfer::WRITE : Transfer::READ;
	t->dma = dma;
	dma->host_priv = t;
	submit(t, dma->write ? posted_ : reads_);
}

void Endpoint::msix(unsigned int vector)
{
	Transfer *t = transfers_.get();

	t->kind = Transfer::MSIX;
	t->vector = vector;
	submit(t, posted_);
}

bool Endpoint::waiting() const
{
	return !posted_.empty() || !reads_.empty() || !answers_.empty();
}

/* Neither reads nor completions pass posted writes that were submitted before them (PCIe 2.4.1). */
bool Endpoint::behind_posted(const Transfer *t)
{
	return !posted_.empty() && posted_.front()->order < t->order;
}

bool Endpoint::next(hca_ps now, Tlp &tlp, hca_ps &retry)
{
	next_at_ = now;
	if (!answers_.empty() && !behind_posted(answers_.front()))
		return next_answer(tlp);
	posted_turn_ = !posted_turn_;
	if (posted_turn_)
		return next_posted(now, tlp, retry) || next_read(now, tlp, retry);
	return next_read(now, tlp, retry) || next_posted(now, tlp, retry);
}

/* The next piece of a scatter list, of at most what `chunk` allows. */
template <class Chunk>
static bool cut(Transfer *t, uint64_t &addr, uint32_t &len, Chunk chunk)
{
	const hca_dma *dma = t->dma;

	while (t->seg < dma->nseg && t->seg_done == dma->seg[t->seg].len) {
		t->seg++;
		t->seg_done = 0;
	}
	if (t->seg < dma->nseg) {
		addr = dma->seg[t->seg].addr + t->seg_done;
		len = chunk(addr, dma->seg[t->seg].len - t->seg_done);
	} else { /* a transfer of no bytes is one TLP that enables none of them */
		addr = dma->nseg ? dma->seg[0].addr : 0;
		len = 0;
	}
	t->seg_done += len;
	t->done += len;
	return t->done >= dma->len;
}

static void fill(Tlp &tlp, TlpType type, uint32_t len, uint64_t addr, Transfer *t, const void *data)
{
	tlp = {};
	tlp.type = type;
	tlp.len = len;
	tlp.addr = addr;
	tlp.owner = t;
	tlp.data = data;
	tlp.dma = t->dma;
}

void Endpoint::write_tlp(Transfer *t, Tlp &tlp)
{
	if (t->kind == Transfer::MSIX) {
		fill(tlp, TlpType::MsiX, 4, MSI_ADDRESS, t, &t->vector);
		tlp.deliver = true;
		posted_.pop();
		return;
	}
	fill(tlp, TlpType::MWr, 0, 0, t, static_cast<const uint8_t *>(t->dma->buf) + t->done);
	tlp.deliver = cut(t, tlp.addr, tlp.len,
			  [this](uint64_t addr, uint32_t left) { return model_.write_chunk(addr, left); });
	if (tlp.deliver)
		posted_.pop();
}

bool Endpoint::next_posted(hca_ps now, Tlp &tlp, hca_ps &retry)
{
	const bool may =
		!posted_.empty() && posted_credits_.available(now, model_.write_chunk(0, UINT32_MAX), retry);

	if (watch_)
		watch_->stall("posted", now, may || posted_.empty() ? nullptr : POSTED_CREDITS);
	if (!may)
		return false;
	write_tlp(posted_.front(), tlp);
	return true;
}

/* Why the first read cannot be sent; NULL: it can. */
const char *Endpoint::read_stall(hca_ps now, hca_ps &retry)
{
	if (free_tags_.empty())
		return TAGS;
	if (behind_posted(reads_.front()))
		return ORDER;
	if (!nonposted_credits_.available(now, 0, retry))
		return NONPOSTED_CREDITS;
	if (free_tags_.front().at <= now)
		return nullptr;
	retry = std::min(retry, free_tags_.front().at);
	return TAGS;
}

bool Endpoint::next_read(hca_ps now, Tlp &tlp, hca_ps &retry)
{
	const char *stall = reads_.empty() ? nullptr : read_stall(now, retry);

	if (watch_)
		watch_->stall("read", now, stall);
	if (stall || reads_.empty())
		return false;
	Transfer *t = reads_.front();
	uint16_t tag = free_tags_.pop().tag;
	const uint8_t *data = static_cast<const uint8_t *>(t->dma->buf) + t->done;

	fill(tlp, TlpType::MRd, 0, 0, t, nullptr);
	tlp.tag = tag;
	t->issued = cut(t, tlp.addr, tlp.len,
			[this](uint64_t addr, uint32_t left) { return model_.read_chunk(addr, left); });
	t->open++;
	requests_[tag] = {t, tlp.addr, tlp.len, 0, data};
	if (t->issued)
		reads_.pop();
	return true;
}

bool Endpoint::next_answer(Tlp &tlp)
{
	Transfer *t = answers_.pop();

	fill(tlp, TlpType::CplD, t->cpu->size, t->cpu->offset, t, t->cpu->data);
	tlp.tag = t->cpu->tag;
	tlp.deliver = true;
	return true;
}

void Endpoint::sent(const Tlp &tlp, hca_ps arrival)
{
	if (tlp.type == TlpType::MRd) {
		nonposted_credits_.take(0, arrival + credit_latency_);
		took("nonposted_headers", arrival + credit_latency_, 1);
		if (watch_)
			watch_->change("tags", next_at_, -1);
		root_->read_sent(tlp.tag, arrival);
	} else if (tlp.type != TlpType::CplD) {
		posted_credits_.take(tlp.len, arrival + credit_latency_);
		took("posted_headers", arrival + credit_latency_, 1);
		took("posted_data", arrival + credit_latency_, Credits::units(tlp.len));
		if (tlp.deliver)
			root_->posted_sent(static_cast<Transfer *>(tlp.owner));
	}
	look();
}

void Endpoint::arrive(const Tlp &tlp)
{
	arrived_.push(static_cast<CpuRequest *>(tlp.owner));
	take_requests();
	stages_.start_ready();
}

/* In order: a load does not pass stores either. */
void Endpoint::take_requests()
{
	while (!arrived_.empty() && !(doorbell_waits_ && hca_level_now(hca_, HCA_LEVEL_DOORBELL) ==
								 hca_level_max(hca_, HCA_LEVEL_DOORBELL))) {
		CpuRequest *req = arrived_.pop();

		if (!req->load)
			root_->store_taken(req->size, now_ps() + credit_latency_);
		cpu_request(req);
	}
}

/* A transfer is done with the last completion of its last MRd, and then passes the read FIFO. */
void Endpoint::completed(uint16_t tag, hca_ps arrival)
{
	Transfer *t = requests_[tag].transfer;
	const bool starved = free_tags_.empty();

	free_tags_.push({arrival, tag});
	if (watch_)
		watch_->change("tags", arrival, 1);
	if (--t->open == 0 && t->issued) {
		fifo_free_ = std::max(arrival + read_latency_, fifo_free_) +
			     hca_ps(t->dma->len * read_ps_per_byte_);
		finished_.push({fifo_free_, t});
		alarm_.set(finished_.front().at);
	}
	look();
	if (starved)
		up_->kick();
}

void Endpoint::finish_local(hca_ps now)
{
	while (!local_.empty() && local_.front().at <= now)
		hca_dma_done(hca_, local_.pop().dma);
}

void Endpoint::run()
{
	hca_ps now = now_ps();

	alarm_.fired();
	finish_local(now);
	while (!finished_.empty() && finished_.front().at <= now) {
		Transfer *t = finished_.pop().transfer;
		hca_dma *dma = t->dma;

		dma->status = t->status;
		transfers_.put(t);
		hca_dma_done(hca_, dma);
	}
	look();
	stages_.start_ready();
	if (!finished_.empty())
		alarm_.set(finished_.front().at);
	if (!local_.empty())
		alarm_.set(local_.front().at);
}

void Endpoint::cpu_request(CpuRequest *req)
{
	if (!req->load) {
		hca_mmio_write(hca_, req->bar, req->offset, req->data, req->size);
		if (watch_)
			watch_->doorbells(hca_level_now(hca_, HCA_LEVEL_DOORBELL), true);
		cpu_requests.put(req);
		return;
	}
	hca_mmio_read(hca_, req->bar, req->offset, req->data, req->size);
	Transfer *t = transfers_.get();

	t->kind = Transfer::ANSWER;
	t->cpu = req;
	submit(t, answers_);
}

} // namespace hcasim
