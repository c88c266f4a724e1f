// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "endpoint.h"

#include <cerrno>
#include <cstring>

namespace hcasim
{

static bool is_posted(const Tlp &tlp)
{
	return tlp.header.type == TlpType::MWr || tlp.header.type == TlpType::MsiX;
}

/* Message addresses of interrupts lie here on x86 (Intel SDM 3A, 11.11.1). */
static constexpr uint64_t MSI_ADDRESS = 0xfee00000;

/* Bus 1, device 0, function 0: behind the root port. */
static constexpr uint16_t REQUESTER_ID = 0x0100;

/* Why a TLP has to wait, for observers. */
static constexpr char POSTED_CREDITS[] = "posted_credits", NONPOSTED_CREDITS[] = "nonposted_credits",
		      TAGS[] = "tags", ORDER[] = "order";

Endpoint::Endpoint(sc_core::sc_module_name name, const Profile &p, const PcieModel &model, hca *h,
		   StageStarter &stages)
    : sc_module(name), model_(model), hca_(h), stages_(stages),
      up_("up", model, p.pcie.latency, model.bytes_ps(p.pcie.transmit_buffer), *this, true),
      read_latency_(p.engine.read_latency), credit_latency_(to_sc(p.pcie.latency)),
      read_ps_per_byte_(8000.0 / p.engine.read_rate), dm_latency_(p.engine.dm_latency),
      dm_ps_per_byte_(8000.0 / p.engine.dm_rate), posted_credits_(p.pcie.posted_headers, p.pcie.posted_data),
      nonposted_credits_(p.pcie.nonposted_headers, 0), doorbell_waits_(p.fifo.doorbell_waits),
      requests_(size_t(p.pcie.tags)), completion_timeout_(hca_ps(p.pcie.completion_timeout))
{
	for (size_t tag = 0; tag < requests_.size(); tag++)
		free_tags_.push({0, uint16_t(tag)});
	tx_.register_nb_transport_bw(this, &Endpoint::response);
	rx_.register_nb_transport_fw(this, &Endpoint::receive);
	SC_METHOD(run);
	sensitive << alarm_.event();
	dont_initialize();
	SC_METHOD(arrive);
	sensitive << arrivals_.event();
	dont_initialize();
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

void Endpoint::submit(Transfer *t, Ring<Transfer *> &queue)
{
	t->order = ++order_;
	queue.push(t);
	look();
	up_.kick();
}

/* The core has copied the bytes: model the memory's port and the latency. */
void Endpoint::local(hca_dma *dma)
{
	dm_free_ = std::max(now_ps(), dm_free_) + hca_ps(dma->len * dm_ps_per_byte_);
	local_.push({dm_free_ + dm_latency_, dma});
	alarm_.set(local_.front().at);
}

static void set_fields(TlpFields &f, const hca_dma &dma)
{
	f.requester = REQUESTER_ID;
	f.pasid = dma.pasid;
	f.hinted = dma.tph.on;
	f.ph = dma.tph.ph;
	f.st = dma.tph.st;
	f.relaxed = dma.relaxed;
	f.split = dma.split;
	f.purpose = int8_t(dma.class_);
	f.qpn = dma.qpn;
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
	set_fields(t->fields, *dma);
	dma->host_priv = t;
	submit(t, dma->write ? posted_ : reads_);
}

void Endpoint::msix(unsigned int vector)
{
	Transfer *t = transfers_.get();

	t->kind = Transfer::MSIX;
	t->fields.requester = REQUESTER_ID;
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

Tlp *Endpoint::next(hca_ps now, hca_ps &retry)
{
	Tlp *tlp;

	next_at_ = now;
	if (!answers_.empty() && !behind_posted(answers_.front()))
		return next_answer();
	posted_turn_ = !posted_turn_;
	if (posted_turn_) {
		tlp = next_posted(now, retry);
		return tlp ? tlp : next_read(now, retry);
	}
	tlp = next_read(now, retry);
	return tlp ? tlp : next_posted(now, retry);
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

Tlp *Endpoint::part(Transfer *t, TlpType type, uint64_t addr, uint32_t len, const void *data, bool last)
{
	Tlp *tlp = tlps_.get(type, addr, len, data, t->fields);

	tlp->owner = t;
	tlp->header.more = !last;
	return tlp;
}

Tlp *Endpoint::write_tlp(Transfer *t)
{
	uint64_t addr;
	uint32_t len;

	if (t->kind == Transfer::MSIX) {
		posted_.pop();
		return part(t, TlpType::MsiX, MSI_ADDRESS, 4, &t->vector, true);
	}
	const uint8_t *data = static_cast<const uint8_t *>(t->dma->buf) + t->done;
	const bool last = cut(t, addr, len,
			      [this](uint64_t at, uint32_t left) { return model_.write_chunk(at, left); });

	if (last)
		posted_.pop();
	return part(t, TlpType::MWr, addr, len, data, last);
}

Tlp *Endpoint::next_posted(hca_ps now, hca_ps &retry)
{
	const bool may =
		!posted_.empty() && posted_credits_.available(now, model_.write_chunk(0, UINT32_MAX), retry);

	if (watch_)
		watch_->stall("posted", now, may || posted_.empty() ? nullptr : POSTED_CREDITS);
	return may ? write_tlp(posted_.front()) : nullptr;
}

bool Endpoint::have_tag(hca_ps now, hca_ps &retry)
{
	for (; !kept_tags_.empty() && kept_tags_.front().at <= now; change("tags", now, 1))
		free_tags_.push(kept_tags_.pop());
	if (free_tags_.empty() && !kept_tags_.empty())
		retry = std::min(retry, kept_tags_.front().at);
	return !free_tags_.empty();
}

/* Why the first read cannot be sent; NULL: it can. */
const char *Endpoint::read_stall(hca_ps now, hca_ps &retry)
{
	if (!have_tag(now, retry))
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

Tlp *Endpoint::next_read(hca_ps now, hca_ps &retry)
{
	const char *stall = reads_.empty() ? nullptr : read_stall(now, retry);
	uint64_t addr;
	uint32_t len;

	if (watch_)
		watch_->stall("read", now, stall);
	if (stall || reads_.empty())
		return nullptr;
	Transfer *t = reads_.front();
	uint16_t tag = free_tags_.pop().tag;
	uint8_t *to = static_cast<uint8_t *>(t->dma->buf) + t->done;

	t->issued =
		cut(t, addr, len, [this](uint64_t at, uint32_t left) { return model_.read_chunk(at, left); });
	t->open++;
	requests_[tag] = {t, len, 0, to, ++reads_sent_};
	deadlines_.push({now + completion_timeout_, tag, reads_sent_});
	if (t->issued)
		reads_.pop();
	Tlp *tlp = part(t, TlpType::MRd, addr, len, nullptr, t->issued);

	tlp->header.tag = tag;
	return tlp;
}

Tlp *Endpoint::next_answer()
{
	Transfer *t = answers_.pop();
	const bool refused = fault_ && fault_->load_unsupported();
	Tlp *tlp = part(t, refused ? TlpType::Cpl : TlpType::CplD, t->offset, refused ? 0 : t->size,
			t->answer, true);

	if (refused)
		tlp->header.status = CplStatus::UnsupportedRequest;

	tlp->header.byte_count = t->size;
	return tlp;
}

/* ---- What the host end says to TLPs that went up ---- */

void Endpoint::change(const char *what, hca_ps at, int32_t by)
{
	if (watch_)
		watch_->change(what, at, by);
}

/* Completions need no credits: the host end advertises infinite ones. */
void Endpoint::take_credits(const Tlp &tlp)
{
	const uint32_t len = tlp.get_data_length();

	if (tlp.header.type == TlpType::MRd) {
		nonposted_credits_.take(0);
		change("nonposted_headers", next_at_, -1);
		change("tags", next_at_, -1);
	} else if (is_posted(tlp)) {
		posted_credits_.take(len);
		change("posted_headers", next_at_, -1);
		change("posted_data", next_at_, -int32_t(Credits::units(len)));
	}
}

void Endpoint::give_credits(Tlp &tlp, hca_ps at)
{
	const uint32_t len = tlp.get_data_length();

	tlp.credited = true;
	if (tlp.header.type == TlpType::MRd) {
		nonposted_credits_.give(0, at);
		change("nonposted_headers", at, 1);
	} else if (is_posted(tlp)) {
		posted_credits_.give(len, at);
		change("posted_headers", at, 1);
		change("posted_data", at, int32_t(Credits::units(len)));
	}
}

void Endpoint::sent(Tlp &tlp, const sc_core::sc_time &delay)
{
	const bool read = tlp.header.type == TlpType::MRd;
	const hca_ps now = now_ps();
	tlm::tlm_phase phase = tlm::BEGIN_REQ;
	sc_core::sc_time t = delay;

	take_credits(tlp);
	tlm::tlm_sync_enum said = tx_->nb_transport_fw(tlp, phase, t);

	if (said != tlm::TLM_ACCEPTED)
		give_credits(tlp, now + t.value());
	if (read) {
		tlp.release();
	} else if (said == tlm::TLM_COMPLETED) { /* not before it would have arrived */
		consumed_.push({now + delay.value(), &tlp});
		alarm_.set(consumed_.front().at);
	}
	look();
}

/* The host end is through with a write, an interrupt or an answer; or has buffers again for what it still has. */
tlm::tlm_sync_enum Endpoint::response(TlpPayload &payload, tlm::tlm_phase &phase, sc_core::sc_time &t)
{
	Tlp &tlp = static_cast<Tlp &>(payload);

	if (!tlp.credited)
		give_credits(tlp, now_ps() + t.value());
	if (phase == tlm::END_REQ) {
		up_.kick();
		return tlm::TLM_ACCEPTED;
	}
	consumed(tlp);
	return tlm::TLM_COMPLETED;
}

void Endpoint::consumed(Tlp &tlp)
{
	Transfer *t = static_cast<Transfer *>(tlp.owner);
	const bool last = !tlp.header.more;

	if (tlp.get_response_status() != tlm::TLM_OK_RESPONSE)
		t->status = -EFAULT;
	tlp.release();
	if (!last)
		return;
	hca_dma *dma = t->dma;
	const int status = t->status;

	up_.hold();
	transfers_.put(t);
	if (dma) {
		dma->status = status;
		hca_dma_done(hca_, dma);
	}
	stages_.start_ready();
	up_.go_on();
}

/* ---- Down ---- */

tlm::tlm_sync_enum Endpoint::receive(TlpPayload &tlp, tlm::tlm_phase &, sc_core::sc_time &t)
{
	const TlpHeader &h = tlp_header(tlp);

	if (h.type == TlpType::CplD || h.type == TlpType::Cpl) {
		completion(tlp, h, now_ps() + t.value());
		return tlm::TLM_COMPLETED;
	}
	flight_.push({now_ps() + t.value(), &tlp});
	arrivals_.set(flight_.front().at);
	return tlm::TLM_ACCEPTED;
}

void Endpoint::arrive()
{
	arrivals_.fired();
	arriving_ = true;
	while (!flight_.empty() && flight_.front().at <= now_ps())
		arrived_.push(flight_.pop().tlp);
	take_arrived();
	stages_.start_ready();
	arriving_ = false;
	respond();
	if (!flight_.empty())
		arrivals_.set(flight_.front().at);
}

/* In order: a load does not pass stores either. */
void Endpoint::take_arrived()
{
	while (!arrived_.empty() && !(doorbell_waits_ && hca_level_now(hca_, HCA_LEVEL_DOORBELL) ==
								 hca_level_max(hca_, HCA_LEVEL_DOORBELL))) {
		TlpPayload *tlp = arrived_.pop();

		take_request(*tlp);
		taken_.push(tlp);
	}
}

/* Their credits go back, and the root port sends what waits for them. */
void Endpoint::respond()
{
	while (!taken_.empty()) {
		TlpPayload *tlp = taken_.pop();
		tlm::tlm_phase phase = tlm::BEGIN_RESP;
		sc_core::sc_time t = credit_latency_;

		tlp->set_response_status(tlm::TLM_OK_RESPONSE);
		rx_->nb_transport_bw(*tlp, phase, t);
	}
}

void Endpoint::take_requests()
{
	take_arrived();
	if (!arriving_)
		respond();
}

/* Its data is copied now, and is looked at when the last completion is in. */
void Endpoint::completion(TlpPayload &tlp, const TlpHeader &h, hca_ps arrival)
{
	const uint32_t len = h.type == TlpType::CplD ? tlp.get_data_length() : 0;
	ReadRequest *r = h.tag < requests_.size() ? &requests_[h.tag] : nullptr;

	tlp.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE); /* unexpected completion (2.3.2) */
	if (!r || !r->transfer || len > r->len - r->got)
		return;
	tlp.set_response_status(tlm::TLM_OK_RESPONSE);
	if (len)
		memcpy(r->to + r->got, tlp.get_data_ptr(), len);
	r->got += len;
	if (h.status != CplStatus::Success || h.poisoned)
		r->transfer->status = -EFAULT;
	if (h.status != CplStatus::Success || r->got == r->len)
		completed(h.tag, arrival, true);
}

/* Those of reads that are done, from the front. */
void Endpoint::drop_deadlines()
{
	while (!deadlines_.empty()) {
		const Deadline &d = deadlines_.front();

		if (requests_[d.tag].transfer && requests_[d.tag].number == d.number)
			return;
		deadlines_.pop();
	}
}

void Endpoint::expire(hca_ps now)
{
	while (deadline() <= now) {
		const uint16_t tag = deadlines_.front().tag;

		requests_[tag].transfer->status = -EFAULT;
		completed(tag, now, false);
	}
}

/*
 * A transfer is done with the last completion of its last MRd, and then passes the read FIFO. The tag of a read that timed
 * out is kept for as long again: a completion that comes late must not be taken for that of another read (PCIe 2.8).
 */
void Endpoint::completed(uint16_t tag, hca_ps arrival, bool in_time)
{
	Transfer *t = requests_[tag].transfer;
	const bool starved = free_tags_.empty();

	requests_[tag].transfer = nullptr;
	drop_deadlines();
	if (in_time) {
		free_tags_.push({arrival, tag});
		change("tags", arrival, 1);
	} else {
		kept_tags_.push({arrival + completion_timeout_, tag});
	}
	if (--t->open == 0 && t->issued) {
		fifo_free_ = std::max(arrival + read_latency_, fifo_free_) +
			     hca_ps(t->dma->len * read_ps_per_byte_);
		finished_.push({fifo_free_, t});
		alarm_.set(finished_.front().at);
	}
	look();
	if (starved)
		up_.kick();
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
	while (!consumed_.empty() && consumed_.front().at <= now)
		consumed(*consumed_.pop().tlp);
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
	if (!consumed_.empty())
		alarm_.set(consumed_.front().at);
}

/* A store or load of a CPU reaches the core. */
void Endpoint::take_request(TlpPayload &tlp)
{
	const TlpHeader &h = tlp_header(tlp);
	const uint32_t size = tlp.get_data_length();

	if (h.type == TlpType::MWr) {
		if (h.poisoned)
			hca_mmio_poisoned(hca_, h.bar, tlp.get_address());
		else
			hca_mmio_write(hca_, h.bar, tlp.get_address(), tlp.get_data_ptr(), size);
		if (watch_)
			watch_->doorbells(hca_level_now(hca_, HCA_LEVEL_DOORBELL), true);
		return;
	}
	Transfer *t = transfers_.get();

	t->kind = Transfer::ANSWER;
	t->fields.requester = h.requester;
	t->fields.tag = h.tag;
	t->offset = tlp.get_address();
	t->size = size;
	hca_mmio_read(hca_, h.bar, t->offset, t->answer, size);
	submit(t, answers_);
}

} // namespace hcasim
