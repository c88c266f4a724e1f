// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The root port's half that moves data: what the device reads and writes in the host's memory. */
#include "root_port.h"

#include <algorithm>

namespace hcasim
{

static constexpr size_t JOIN_MAX = 16; /* writes in one call */

/* ---- Reads of the device ---- */

ReadBuffers::Buffer *ReadBuffers::get(uint32_t size)
{
	if (free_.empty()) {
		all_.push_back(std::make_unique<Buffer>());
		free_.push_back(all_.back().get());
	}
	Buffer *b = free_.back();

	free_.pop_back();
	if (b->size < size) {
		b->bytes.reset(new uint8_t[size]);
		b->size = size;
	}
	b->users = 0;
	return b;
}

/* The next one of `together_`, to the address space of `first`. */
HostTransfer &RootPort::new_transfer(const TlpPayload &first, const TlpHeader &h)
{
	if (together_.size() == num_together_)
		together_.emplace_back();
	HostTransfer &t = together_[num_together_++];

	t.pasid = h.pasid;
	t.split = h.split;
	t.len = 0;
	t.data = first.get_data_ptr();
	t.segs.clear();
	t.copied.clear();
	return t;
}

/* A piece that continues the one before is part of it. */
static void add_piece(HostTransfer &t, const TlpPayload &tlp)
{
	const uint64_t addr = tlp.get_address();
	const uint32_t len = tlp.get_data_length();

	if (!t.segs.empty() && t.segs.back().addr + t.segs.back().len == addr)
		t.segs.back().len += len;
	else if (len)
		t.segs.push_back({addr, len, 0});
	t.len += len;
}

/* Bytes that are not in a row with those before are copied. */
static void add_bytes(HostTransfer &t, const uint8_t *data, uint32_t len)
{
	if (t.copied.empty() && data == t.data + t.len)
		return;
	if (t.copied.empty())
		t.copied.assign(t.data, t.data + t.len);
	t.copied.insert(t.copied.end(), data, data + len);
	t.data = t.copied.data();
}

/* One more transfer: `first`, and the MRds from reads_[i] on that continue it. Returns which is behind them. */
size_t RootPort::add_read(Read *first, size_t i)
{
	HostTransfer &t = new_transfer(*first->tlp, *first->header);
	Read *r = first;

	while (true) {
		add_piece(t, *r->tlp);
		r->transfer = num_together_ - 1;
		fetched_.push_back(r);
		if (!r->header->more || i == reads_.size())
			return i;
		r = reads_[i++];
	}
}

/* Reads at the root port that can be executed together with `first`: one call for the application's memory. */
void RootPort::gather(Read *first, hca_ps now)
{
	num_together_ = 0;
	fetched_.clear();
	size_t i = add_read(first, 0);
	uint32_t bytes = together_[0].len;

	if (together_[0].pasid == HCA_PASID_KERNEL)
		return;
	while (i < reads_.size() && reads_[i]->at < now + read_latency_) {
		Read *r = reads_[i++];

		if (r->buffer || r->header->pasid != together_[0].pasid)
			continue;
		const size_t before = fetched_.size();

		i = add_read(r, i);
		bytes += together_[num_together_ - 1].len;
		if (bytes > HostMemory::TOGETHER) {
			num_together_--;
			fetched_.resize(before);
			return;
		}
	}
}

/*
 * The host's memory is read for all MRds of a transfer when the data of the first is due, or when another
 * read is due and the MRd has arrived: writes that were submitted earlier have landed by then, and one call
 * to the application's memory costs as much as several small ones.
 */
void RootPort::fetch(Read *first, hca_ps now)
{
	uint32_t len = 0;

	if (first->buffer)
		return;
	gather(first, now);
	for (size_t i = 0; i < num_together_; i++)
		len += together_[i].len;
	ReadBuffers::Buffer *buffer = buffers_.get(len);
	uint8_t *to = buffer->bytes.get();

	for (size_t i = 0; i < num_together_; to += together_[i++].len)
		together_[i].data = to;
	const bool all = num_together_ > 1 && memory_.read_together(together_, num_together_);

	for (size_t i = 0; i < num_together_; i++)
		together_[i].failed = !all && memory_.read(together_[i]);
	to = buffer->bytes.get();
	for (Read *r : fetched_) {
		r->buffer = buffer;
		r->data = to;
		r->failed = together_[r->transfer].failed;
		to += r->tlp->get_data_length();
	}
	buffer->users = uint32_t(fetched_.size());
}

/* Completions of several reads are interleaved. */
void RootPort::refill(hca_ps now)
{
	while (completing_.size() < interleave_ && !reads_.empty() && reads_.front()->at <= now) {
		Read *r = reads_.pop();

		fetch(r, now);
		r->failed |= r->fault == ReadFault::Unsupported;
		if (r->fault == ReadFault::Lost) {
			end(r);
		} else if (r->fault == ReadFault::Late) {
			r->at += late_by_;
			late_.push(r);
		} else {
			completing_.push(r);
		}
	}
	if (completing_.empty() && !reads_.empty())
		alarm_.set(reads_.front()->at);
}

void RootPort::expire(hca_ps now)
{
	bool any = false;

	for (; !late_.empty() && late_.front()->at <= now; any = true)
		completing_.push(late_.pop());
	if (any)
		down_.kick();
}

Tlp *RootPort::next_completion()
{
	if (completing_.empty())
		return nullptr;
	Read *r = completing_.pop();
	const uint64_t addr = r->tlp->get_address() + r->sent;
	const uint32_t left = r->tlp->get_data_length() - r->sent;
	const uint32_t len = r->failed ? 0 : model_.completion_chunk(addr, left);
	/* One completion without data ends a read that fails. */
	Tlp *tlp =
		tlps_.get(r->failed ? TlpType::Cpl : TlpType::CplD, addr, len, r->data + r->sent, *r->header);

	tlp->header.status = r->failed ? CplStatus::UnsupportedRequest : CplStatus::Success;
	tlp->header.byte_count = left;
	tlp->header.poisoned = r->fault == ReadFault::Poisoned;
	tlp->owner = r;
	r->sent += len;
	if (!r->failed && len < left)
		completing_.push(r);
	refill(now_ps());
	return tlp;
}

void RootPort::end(Read *r)
{
	r->tlp->release();
	buffers_.put(r->buffer);
	read_pool_.put(r);
}

/* ---- Writes of the device ---- */

/* The whole write that begins at landing_[from], as one more transfer. Returns which is behind it. */
size_t RootPort::add_write(size_t from)
{
	HostTransfer &t = new_transfer(*landing_[from].tlp, *landing_[from].header);
	bool more = true;

	for (; more; from++) {
		const Posted &p = landing_[from];

		add_bytes(t, p.tlp->get_data_ptr(), p.tlp->get_data_length());
		add_piece(t, *p.tlp);
		more = p.header->more;
	}
	return from;
}

static bool overlap(const HostTransfer &a, const HostTransfer &b)
{
	for (const hca_dma_seg &x : a.segs)
		for (const hca_dma_seg &y : b.segs)
			if (x.addr < y.addr + y.len && y.addr < x.addr + x.len)
				return true;
	return false;
}

/* The last one of them: writes without further conditions to the memory of one application, each to its own place. */
static bool may_join(const std::vector<HostTransfer> &all, size_t n)
{
	const HostTransfer &t = all[n - 1];

	if (t.pasid != all[0].pasid || t.split || t.pasid == HCA_PASID_KERNEL || n > JOIN_MAX)
		return false;
	return std::none_of(all.begin(), all.begin() + ptrdiff_t(n - 1),
			    [&t](const HostTransfer &before) { return overlap(before, t); });
}

/* Adds those from landing_[behind] on that can be executed with the first one. Returns which is behind them. */
size_t RootPort::join(size_t behind)
{
	uint32_t bytes = together_[0].len;

	if (!may_join(together_, 1))
		return behind;
	for (size_t whole = landing_whole_ - 1; whole && landing_[behind].header->type == TlpType::MWr;
	     whole--) {
		const size_t next = add_write(behind);

		bytes += together_[num_together_ - 1].len;
		if (!may_join(together_, num_together_) || bytes > HostMemory::TOGETHER) {
			num_together_--;
			break;
		}
		behind = next;
	}
	return behind;
}

/*
 * Writes behind the first on the link, with no other posted TLP in between, are executed with it, in order: one call
 * for the application's memory. Their results are reported when they arrive. If one fails, each is tried separately.
 */
void RootPort::land()
{
	num_together_ = 0;
	const size_t first = add_write(0);
	size_t behind = join(first);
	bool good = num_together_ > 1 && memory_.write_together(together_, num_together_);

	if (!good) {
		behind = first;
		good = memory_.write(together_[0]) == 0;
	}
	for (size_t i = 0; i < behind; i++) {
		landing_[i].moved = true;
		landing_[i].tlp->set_response_status(good ? tlm::TLM_OK_RESPONSE
							  : tlm::TLM_ADDRESS_ERROR_RESPONSE);
	}
}

} // namespace hcasim
